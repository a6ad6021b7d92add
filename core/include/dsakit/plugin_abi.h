/* The plugin C ABI, version 1: all that crosses the border between a host engine and a backend.
 *
 * Why it exists: a plugin built years apart from its host, with another compiler, must either work
 * or be refused with a code. So: plain C, one exported symbol, and rules for every struct here.
 *   - `size` comes first and is the number of bytes that the writer of the struct knows. A reader
 *     uses min(size, its own sizeof). Larger is accepted, smaller only down to DSAKIT_*_SIZE_V1;
 *     0 is an error.
 *   - Fields are appended, never moved, retyped or removed. `reserved` fields are 0.
 *   - No memory changes owner. Pointers are borrowed until the call returns, except those in
 *     dsakit_host and dsakit_plugin, which live as long as the process. Nothing is unloaded.
 *   - No function throws or ends the process; none allocates unless it says so.
 *
 * Threads: [any-thread] may run beside anything; [one-thread-per-instance] is serialised by the
 * host for each instance, and two instances are independent; [capture-safe] may run during CUDA or
 * HIP graph capture. docs/abi/v1.txt is this header's layout, generated and compared by a test.
 */
#ifndef DSAKIT_PLUGIN_ABI_H
#define DSAKIT_PLUGIN_ABI_H

#include <dlpack/dlpack.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DSAKIT_ABI_VERSION 1u
#define DSAKIT_PLUGIN_ENTRY_NAME "dsakit_plugin_entry_v1"
/* Whether a struct is long enough to hold `field`; whether a plugin has a function at all. */
#define DSAKIT_HAS_FIELD(type, ptr, field) \
  ((ptr)->size >= offsetof(type, field) + sizeof((ptr)->field))
#define DSAKIT_HAS_FUNCTION(ptr, field) \
  (DSAKIT_HAS_FIELD(dsakit_plugin, ptr, field) && (ptr)->field != NULL)

/* What a function answers. A number that the reader does not know counts as DSAKIT_RC_INTERNAL. */
typedef int32_t dsakit_rc;
#define DSAKIT_RC_OK 0
#define DSAKIT_RC_INVALID 1     /* null, wrong dtype, shape, stride, device: a caller's mistake */
#define DSAKIT_RC_UNSUPPORTED 2 /* well formed, but outside what this plugin's manifest accepts */
#define DSAKIT_RC_NO_DEVICE 3   /* no such device, or no driver that can run this plugin's code */
#define DSAKIT_RC_MEMORY 4      /* create could not allocate */
#define DSAKIT_RC_WORKSPACE 5   /* workspace too small or not aligned */
#define DSAKIT_RC_DEVICE 6      /* a driver call failed; dsakit_error has its number */
#define DSAKIT_RC_ABI 7         /* size 0, smaller than V1, or no common ABI version */
#define DSAKIT_RC_INTERNAL 8    /* a defect in the plugin; a caught exception */

/* Whose number dsakit_error.code is. */
#define DSAKIT_DOMAIN_RC 0   /* a dsakit_rc */
#define DSAKIT_DOMAIN_CUDA 1 /* cudaError_t */
#define DSAKIT_DOMAIN_HIP 2  /* hipError_t */
#define DSAKIT_DOMAIN_ERRNO 3

/* Caller-owned. `size` may end anywhere after `domain`: the text is cut and always ends in a 0 byte
 * if it has at least one. Functions take NULL where no details are wanted. Untouched on success. */
typedef struct dsakit_error {
  uint32_t size;
  int32_t code;
  uint32_t domain;
  char text[512];
} dsakit_error;
#define DSAKIT_ERROR_SIZE_V1 12u

/* What the host offers, and its half of the negotiation. */
typedef struct dsakit_host {
  uint32_t size;
  uint32_t abi_min; /* the host can drive plugins of ABI abi_min ... abi_max */
  uint32_t abi_max;
  uint32_t reserved0;
  const char* name; /* "dsakit 0.1.0"; for logs only */
  /* [any-thread] May be NULL. level: 0 error, 1 warning, 2 information. */
  void (*log)(void* context, int32_t level, const char* text);
  void* log_context;
  dsakit_error* error; /* may be NULL; why the entry answered NULL */
} dsakit_host;
#define DSAKIT_HOST_SIZE_V1 48u

/* One dimension of the request that has no field of its own below, in the text form of the
 * manifest. */
typedef struct dsakit_dim {
  const char* name;
  const char* value;
} dsakit_dim;

/* What an instance is for: the request that the solver accepted, for one row and one phase. Strings
 * are manifest tokens; NULL means the dimension's neutral value. `run` must stay inside it.
 *   kv_scale   any, pow2_fp32, ue8m0: the scales that the caches hold; also what kv_append writes
 *   features   attn_sink, topk_length, second_cache, max_logits, deterministic, ...: what run may
 * use topk       width of the index row; index_mode ragged: the most indices of a token. topk2 is
 * that of the second cache, 0 without one; so is page_size2. page_size: 1 for a flat cache */
typedef struct dsakit_config {
  uint32_t size;
  int32_t device_type; /* DLDeviceType */
  int32_t device_id;
  int32_t sm_count;  /* multiprocessors (cpu: threads) that run may count on; 0: all of them */
  const char* row;   /* name of the manifest row */
  const char* phase; /* prefill, decode, mtp */
  const char* model_family;
  const char* kv_layout; /* the row's `provides` */
  const char* kv_scale;
  const char* index_mode; /* physical, ragged */
  const char* invalid_index;
  const char* q_dtype; /* bf16, ... */
  const char* out_dtype;
  const char* lse;       /* natural, log2, none */
  const char* lse_sink;  /* excluded, included */
  const char* lse_empty; /* plus_inf, minus_large (-1e30) */
  const char* compute;   /* exact, fp8 */
  const char* const* features;
  uint64_t feature_count;
  const dsakit_dim* dims; /* extension dimensions */
  uint64_t dim_count;
  int64_t heads; /* query heads of this rank, h */
  int64_t d_qk;  /* elements of a query or key */
  int64_t d_v;   /* V is the first d_v elements of K */
  int64_t topk;
  int64_t topk2;
  int64_t page_size;
  int64_t page_size2;
  int64_t index_kpool;
  int64_t max_tokens; /* most query tokens T of one run */
} dsakit_config;
#define DSAKIT_CONFIG_SIZE_V1 224u

/* A pool of keys in the instance's kv_layout. Slot s is row s % page_size of page s / page_size;
 * slots 0 ... pages * page_size - 1 exist.
 *
 * data: element type bf16 for the bf16_* layouts, else any 8-bit type. Shape [pages, page_size,
 * row] or [pages, page_size, 1, row], or flat [rows, row], where page_size is 1; row = elements a
 * token (bf16_1152: 576, fp8_656_g128: 656, v4_584: 584). A row is contiguous; other strides are
 * free and may pass 2^31. v4_584 is never flat, and only its page stride counts (a multiple of 576,
 * at least the padded page): inside a page the layout decides where a row's parts are. scale: fp32,
 * one element, on the cache's device: the tensor scale of the fp8_576_pt and fp8_512_pt kinds; NULL
 * means 1. Ignored by layouts that carry their scales. */
typedef struct dsakit_kv_cache {
  uint32_t size;
  uint32_t reserved0;
  const DLTensor* data;
  const DLTensor* scale;
} dsakit_kv_cache;
#define DSAKIT_KV_CACHE_SIZE_V1 24u

/* Arguments of prepare and run. T = query tokens, h = heads. The tokens of q, out, lse, max_logits
 * and indices are either flat, [T, ...], or [b, s, ...] with T = b * s: the same way in all of
 * them. All tensors live on the instance's device. The last axis of q, out and indices is
 * contiguous, all other strides are free (int64; also those of lse and max_logits); NULL strides
 * mean compact. An output overlaps nothing else.
 *
 *   q              q_dtype [T, h, d_qk] or [b, s, h, d_qk]
 *   q_scale        fp32, one element; for an 8-bit q_dtype, else NULL
 *   indices        int32 or int64 slots, [T, topk] or [T, 1, topk]; ragged: [n]
 *   indptr         ragged only: int32 or int64 [T + 1], offsets into indices that never fall
 *   topk_length    feature topk_length, physical only: int32 [n], where n divides T: token t uses
 *                  entry t / (T / n). NULL: topk for all
 *   kv2 ...        feature second_cache: the same again, in the same layout; all NULL without one
 *   attn_sink      feature attn_sink: fp32 [h], natural-log units; -inf is off, +inf makes out 0
 *   out            out_dtype [T, h, d_v]
 *   lse            fp32 [T, h]; NULL: not wanted
 *   max_logits     feature max_logits: fp32 [T, h]; NULL: not wanted
 *   workspace      on the device; at least what `workspace` answers for T tokens
 *
 * Which keys token t attends to: entries j in [0, n_t) with n_t = clamp(topk_length of t, 0, topk),
 * duplicates counted each time; then those of the second cache. An index outside [0, slots) is no
 * key. Neither it nor an entry from n_t on is dereferenced or changes any result, whatever bytes
 * the pool holds. There is no causal mask. NaN in a key reaches only the tokens that selected it.
 */
typedef struct dsakit_run_args {
  uint32_t size;
  float sm_scale; /* finite */
  void* stream;   /* cudaStream_t, hipStream_t; ignored by the cpu */
  const DLTensor* q;
  const DLTensor* q_scale;
  const dsakit_kv_cache* kv;
  const DLTensor* indices;
  const DLTensor* indptr;
  const DLTensor* topk_length;
  const dsakit_kv_cache* kv2;
  const DLTensor* indices2;
  const DLTensor* indptr2;
  const DLTensor* topk_length2;
  const DLTensor* attn_sink;
  const DLTensor* out;
  const DLTensor* lse;
  const DLTensor* max_logits;
  void* workspace;
  uint64_t workspace_size; /* bytes */
} dsakit_run_args;
#define DSAKIT_RUN_ARGS_SIZE_V1 144u

/* Answer of `workspace`. The host zeroes the first zero_bytes once, before a buffer's first use;
 * run leaves them zero. One buffer serves one stream at a time. */
typedef struct dsakit_workspace {
  uint32_t size;
  uint32_t alignment; /* bytes, a power of two */
  uint64_t bytes;     /* 0: none is needed */
  uint64_t zero_bytes;
} dsakit_workspace;
#define DSAKIT_WORKSPACE_SIZE_V1 24u

/* Arguments of kv_append and kv_dequant: n rows of values beside n slots.
 *   slots   int32 or int64 [n]; a slot outside the pool is skipped; one slot twice is undefined
 *   rows    bf16 or fp32 [n, d_qk], last axis contiguous; read by append, written by dequant */
typedef struct dsakit_kv_args {
  uint32_t size;
  uint32_t reserved0;
  void* stream;
  const dsakit_kv_cache* kv;
  const DLTensor* slots;
  const DLTensor* rows;
} dsakit_kv_args;
#define DSAKIT_KV_ARGS_SIZE_V1 40u

typedef struct dsakit_instance dsakit_instance; /* the plugin's own */

/* The plugin's table; static in the plugin. Optional functions may be NULL or lie beyond `size`. */
typedef struct dsakit_plugin {
  uint32_t size;
  uint32_t abi;        /* the version chosen inside both ranges */
  const char* id;      /* equal to the manifest's */
  uint32_t version[3]; /* equal to the manifest's */
  uint32_t reserved0;
  const char* manifest;   /* the JSON inside the loaded note: same address, same bytes */
  uint64_t manifest_size; /* bytes */

  /* [any-thread] Whether this device can run the plugin's code: OK, NO_DEVICE or UNSUPPORTED. Reads
   * no data. */
  dsakit_rc (*probe)(int32_t device_type, int32_t device_id, dsakit_error* error);

  /* [any-thread] Makes an instance; may allocate and synchronise. UNSUPPORTED if no row of the
   * manifest serves the config. On failure *instance is NULL. */
  dsakit_rc (*create)(const dsakit_config* config, dsakit_instance** instance, dsakit_error* error);

  /* [any-thread] Workspace that run needs for up to `tokens` query tokens (0 ... max_tokens). Never
   * falls as tokens grow, and depends on nothing but the instance and tokens. INVALID outside the
   * range. */
  dsakit_rc (*workspace)(const dsakit_instance* instance, int64_t tokens,
                         dsakit_workspace* workspace, dsakit_error* error);

  /* [one-thread-per-instance] Optional. Host work for the runs that follow with the same shapes
   * (not values); never during capture. A run without it is correct. */
  dsakit_rc (*prepare)(dsakit_instance* instance, const dsakit_run_args* args, dsakit_error* error);

  /* [one-thread-per-instance] [capture-safe] Attention. For token t and head i over its keys k:
   *
   *   x_k        = sm_scale * <q[t,i,:], K[k,:]>
   *   P_k        = exp(x_k) / sum_k exp(x_k)
   *   out[t,i,:] = sum_k P_k * K[k,:d_v]
   *   lse[t,i]   = ln sum_k exp(x_k)          max_logits[t,i] = max_k x_k
   *
   * K is the cache's rows dequantised: value = code * scale in fp32. A sink z_i joins only the
   * denominator of P: out is multiplied by 1 / (1 + exp(z_i - lse)). lse=log2 divides by ln 2;
   * lse_sink=included adds exp(z_i) to the sum under the logarithm. No key at all, whatever the
   * sink: out 0, lse the lse_empty value, max_logits -inf. T = 0 is OK and touches nothing.
   * (Sparse MLA attention of DeepSeek-V3.2, with the conventions of its public kernels.)
   *
   * Does not allocate; does not synchronise with a GPU; on the cpu it returns when the outputs are
   * written. Two runs with equal inputs give equal bits; feature deterministic: a token's bits
   * depend on its own inputs alone, not on the rest of the batch.
   * INVALID: args contradict the text above or the config; found before any output is written.
   * WORKSPACE: too small or misaligned. DEVICE: the launch failed. */
  dsakit_rc (*run)(dsakit_instance* instance, const dsakit_run_args* args, dsakit_error* error);

  /* [any-thread] NULL is allowed. The instance must be idle. A runtime that is already gone counts
   * as success. */
  void (*destroy)(dsakit_instance* instance);

  /* [one-thread-per-instance] [capture-safe] Optional. Quantises rows into their slots in the
   * instance's kv_layout: kv_scale=any writes fp32 scales amax / 448, pow2_fp32 and ue8m0 the next
   * power of two; the *_pt kinds use the cache's scale. The bytes are the same on every backend
   * (core/kvcache is the reference). INVALID as for run. */
  dsakit_rc (*kv_append)(dsakit_instance* instance, const dsakit_kv_args* args,
                         dsakit_error* error);

  /* [one-thread-per-instance] [capture-safe] Optional. Writes the dequantised values of each slot;
   * rows whose slot is outside the pool are left alone. bf16 rows round to nearest even. INVALID as
   * for run. */
  dsakit_rc (*kv_dequant)(dsakit_instance* instance, const dsakit_kv_args* args,
                          dsakit_error* error);

  /* [any-thread] Optional. A static table for `dsakit.<name>/<revision>` or a reverse-URI id; NULL
   * if unknown. */
  const void* (*extension)(const char* id);
} dsakit_plugin;
#define DSAKIT_PLUGIN_SIZE_V1 120u

/* [any-thread] The one symbol that a plugin exports. Answers NULL, with host->error filled (ABI),
 * if no version is common to both or the host's struct is unusable. May be called more than once
 * and answers the same table. */
typedef const dsakit_plugin* (*dsakit_plugin_entry_fn)(const dsakit_host* host);

#ifdef __cplusplus
} /* extern "C" */
#endif

#include "dsakit/plugin_abi_layout.h"

#endif
