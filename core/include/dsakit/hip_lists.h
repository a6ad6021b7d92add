/* Extension `dsakit.hip_lists/1` of plugins for AMD GPUs: turns index rows into ragged lists and
 * back, on the device, for an engine that keeps the form which a backend does not take.
 *
 *   const dsakit_hip_lists* lists = plugin->extension(DSAKIT_HIP_LISTS);
 *
 * Rows: int32 [tokens][width], of which an entry counts if it is in 0 ... slots - 1 and, where
 * there are lengths, before its token's length. Ragged: int32 indptr[tokens + 1] and
 * indices[indptr[tokens]], token t having the entries indptr[t] ... indptr[t + 1] - 1.
 *
 * Structs and errors follow plugin_abi.h. All pointers are device memory. Functions are enqueued on
 * the stream, allocate nothing and wait for nothing; they are capture-safe once an instance of the
 * plugin exists on the device, which loads the kernels. Any thread.
 */
#ifndef DSAKIT_HIP_LISTS_H
#define DSAKIT_HIP_LISTS_H

#include "dsakit/plugin_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DSAKIT_HIP_LISTS "dsakit.hip_lists/1"

typedef struct dsakit_hip_lists_args {
  uint32_t size;
  int32_t device_id;
  int64_t tokens;         /* at most 67108863 */
  int64_t width;          /* entries of a row; tokens * width is at most INT32_MAX */
  int64_t slots;          /* of the pool; at most INT32_MAX + 1 */
  int32_t* rows;          /* read by to_ragged, written by to_rows; may be NULL without entries */
  int64_t row_stride;     /* elements, at least width */
  const int32_t* lengths; /* [tokens], of to_ragged; NULL: width */
  int32_t* indptr;        /* written by to_ragged, read by to_rows if there are entries */
  int32_t* indices;       /* the same; to_ragged may write tokens * width entries */
  void* stream;           /* hipStream_t */
} dsakit_hip_lists_args;
#define DSAKIT_HIP_LISTS_ARGS_SIZE_V1 80u

/* Functions fail with INVALID for arguments that cannot be, NO_DEVICE, UNSUPPORTED or DEVICE. */
typedef struct dsakit_hip_lists {
  uint32_t size;
  uint32_t reserved;

  /* Keeps the entries that count, in their order. */
  dsakit_rc (*to_ragged)(const dsakit_hip_lists_args* args, dsakit_error* error);

  /* Writes the first `width` entries of each list, and -1 behind them. Entries are copied as they
   * are; `slots` and `lengths` are not looked at. */
  dsakit_rc (*to_rows)(const dsakit_hip_lists_args* args, dsakit_error* error);
} dsakit_hip_lists;
#define DSAKIT_HIP_LISTS_SIZE_V1 24u

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
