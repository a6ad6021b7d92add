/* dsakit's C API: ask which attention backends can run a model on a device, and why.
 *
 * Every answer is the JSON of framework "Answers"; the CLI prints the same bytes. Handles are
 * immutable after creation and may be used from any thread; strings returned through `out` belong
 * to the caller and are freed with dsakit_string_free(). Nothing throws, nothing terminates the
 * process.
 */
#ifndef DSAKIT_DSAKIT_H
#define DSAKIT_DSAKIT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define DSAKIT_API __attribute__((visibility("default")))
#else
#define DSAKIT_API
#endif

typedef struct dsakit_catalog dsakit_catalog;

/* Exit codes of the CLI as well: 0 yes, 1 no, 2 malformed input, 3 environment. */
typedef int32_t dsakit_status;
#define DSAKIT_OK 0
#define DSAKIT_REJECTED 1
#define DSAKIT_INVALID 2
#define DSAKIT_ENVIRONMENT 3

/* [any-thread] Version of the library, "0.1.0"; static storage. */
DSAKIT_API const char* dsakit_version(void);

/* [any-thread] Opens a catalogue: NULL or "local" (plugins found), "sglang", or a folder of
 * manifest files. `plugin_dirs` (may be NULL) are searched first. On failure *catalog is NULL and
 * *error_json (may be NULL) receives a diagnostic object. */
DSAKIT_API dsakit_status dsakit_catalog_open(const char* name, const char* const* plugin_dirs,
                                             size_t plugin_dir_count, dsakit_catalog** catalog,
                                             char** error_json);
/* [any-thread] NULL is allowed. */
DSAKIT_API void dsakit_catalog_close(dsakit_catalog* catalog);

/* [any-thread] `request_json` is one object in batch form; `policy_json` may be NULL. *answer_json
 * always receives an answer, also for malformed input. Returns OK, REJECTED or INVALID. */
DSAKIT_API dsakit_status dsakit_resolve(const dsakit_catalog* catalog, const char* request_json,
                                        const char* policy_json, char** answer_json);
DSAKIT_API dsakit_status dsakit_validate(const dsakit_catalog* catalog, const char* request_json,
                                         const char* policy_json, char** answer_json);
DSAKIT_API dsakit_status dsakit_explain(const dsakit_catalog* catalog, const char* request_json,
                                        const char* policy_json, char** answer_json);

/* [any-thread] A request in batch form from a model's config.json and options
 * {"device","kv_dtype","page_size","tp","hisparse","mtp","features","prefill","decode"};
 * `options_json` may be NULL. On failure *request_json receives an error answer, or a rejected one
 * (REJECTED) for a model without sparse attention. */
DSAKIT_API dsakit_status dsakit_request_from_config(const char* config_path,
                                                    const char* options_json, char** request_json);

/* [any-thread] Frees a string returned by this API; NULL is allowed. */
DSAKIT_API void dsakit_string_free(char* text);

#ifdef __cplusplus
}
#endif
#endif
