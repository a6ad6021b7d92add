/* dsakit's C API: ask which attention backends can run a model on a device, and why; then load the
 * chosen ones and run attention through them.
 *
 *   catalogue -> request -> dsakit_session_open() -> dsakit_attention_create() for each phase
 *             -> dsakit_attention_append() and _run() every step -> _destroy()
 *
 * Every answer is the JSON of framework "Answers"; the CLI prints the same bytes. Catalogues and
 * sessions are immutable after creation and may be used from any thread; an attention instance runs
 * on one thread at a time. Strings returned through `out` belong to the caller and are freed with
 * dsakit_string_free(). Nothing throws, nothing terminates the process.
 */
#ifndef DSAKIT_DSAKIT_H
#define DSAKIT_DSAKIT_H

#include <stddef.h>
#include <stdint.h>

#include "dsakit/plugin_abi.h"

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

/* Backends that were chosen for one request, loaded. Plugins stay loaded for the life of the
 * process; the catalogue may be closed before the session, the session before its instances. */
typedef struct dsakit_session dsakit_session;
/* One instance of a backend: a phase, a device, fixed sizes. */
typedef struct dsakit_attention dsakit_attention;

/* [any-thread] Resolves `request_json` as dsakit_resolve() does, loads the chosen plugins and
 * answers the session. *answer_json (may be NULL) always receives an answer: the session, or why
 * there is none (REJECTED, INVALID), or why a plugin cannot be loaded (ENVIRONMENT, E0701 to
 * E0706; REJECTED, E0707, for catalogues without code). On failure *session is NULL. */
DSAKIT_API dsakit_status dsakit_session_open(const dsakit_catalog* catalog,
                                             const char* request_json, const char* policy_json,
                                             dsakit_session** session, char** answer_json);
/* [any-thread] NULL is allowed. */
DSAKIT_API void dsakit_session_close(dsakit_session* session);

/* What the engine decides beyond the request. Zero every field that is not wanted. */
typedef struct dsakit_attention_options {
  uint32_t size;     /* sizeof(dsakit_attention_options) */
  int32_t device_id; /* ordinal on its platform */
  int32_t sm_count;  /* multiprocessors (cpu: threads) to count on; 0: all */
  uint32_t reserved0;
  int64_t max_tokens; /* most query tokens T of one run */
  int64_t topk2;      /* feature second_cache: width of its index row, else 0 */
  int64_t page_size2; /* tokens a page of the second cache, else 0 */
} dsakit_attention_options;
#define DSAKIT_ATTENTION_OPTIONS_SIZE_V1 40u

/* [any-thread] Makes an instance for "prefill", "decode" or "mtp". Its configuration is the
 * request, settled by what the chosen row provides; sizes (heads, topk, d_qk, d_v, page_size) must
 * be known. On failure *attention is NULL and *error_json (may be NULL) receives a diagnostic
 * object: E0708 no such device, E0709 the plugin refuses what its manifest accepts, E0710 a size is
 * unknown, E0711 the session has no such phase, E0712 memory or driver, E0713 the plugin breaks its
 * contract, E0402 the options are unusable. May allocate and synchronise. */
DSAKIT_API dsakit_status dsakit_attention_create(const dsakit_session* session, const char* phase,
                                                 const dsakit_attention_options* options,
                                                 dsakit_attention** attention, char** error_json);
/* [any-thread] The instance must be idle; NULL is allowed. */
DSAKIT_API void dsakit_attention_destroy(dsakit_attention* attention);

/* [any-thread] What the instance was created with: heads, d_qk, d_v, topk, page_size, kv_layout ...
 * Valid until the instance is destroyed. NULL for NULL. */
DSAKIT_API const dsakit_config* dsakit_attention_config(const dsakit_attention* attention);

/* The calls below are those of the plugin's table: arguments, shapes, units and maths are
 * documented there (plugin_abi.h). They answer a dsakit_rc and fill `error` (may be NULL; set its
 * size first). A null instance is INVALID. Whatever the plugin throws becomes INTERNAL. */

/* [any-thread] Bytes and alignment of the workspace that run needs for up to `tokens` query tokens;
 * set workspace->size first. INVALID outside 0 ... max_tokens. */
DSAKIT_API dsakit_rc dsakit_attention_workspace(const dsakit_attention* attention, int64_t tokens,
                                                dsakit_workspace* workspace, dsakit_error* error);
/* [one-thread-per-instance] Host work for the runs that follow with the same shapes; never during
 * graph capture. OK where the plugin has nothing to prepare. */
DSAKIT_API dsakit_rc dsakit_attention_prepare(dsakit_attention* attention,
                                              const dsakit_run_args* args, dsakit_error* error);
/* [one-thread-per-instance] [capture-safe] Attention of T query tokens over the selected keys:
 * out [T, h, d_v], lse [T, h]. Allocates nothing; the library adds no lock and no synchronisation.
 * INVALID, WORKSPACE, DEVICE. */
DSAKIT_API dsakit_rc dsakit_attention_run(dsakit_attention* attention, const dsakit_run_args* args,
                                          dsakit_error* error);
/* [one-thread-per-instance] [capture-safe] Quantises rows [n, d_qk] into slots of the paged cache,
 * in the instance's kv_layout. UNSUPPORTED if the plugin lacks it; INVALID. */
DSAKIT_API dsakit_rc dsakit_attention_append(dsakit_attention* attention,
                                             const dsakit_kv_args* args, dsakit_error* error);
/* [one-thread-per-instance] [capture-safe] Reads slots back as bf16 or fp32 rows [n, d_qk].
 * UNSUPPORTED if the plugin lacks it; INVALID. */
DSAKIT_API dsakit_rc dsakit_attention_dequant(dsakit_attention* attention,
                                              const dsakit_kv_args* args, dsakit_error* error);

/* [any-thread] Frees a string returned by this API; NULL is allowed. */
DSAKIT_API void dsakit_string_free(char* text);

#ifdef __cplusplus
}
#endif
#endif
