// The device code of the HIP plugins: every kernel by its name, for any GPU with waves of 64 lanes
// and MFMA. A GPU is asked for here, for the kinds of caches it has, and in wave.hpp.
#include "common/hip/attention.hpp"
#include "common/hip/kv_rows.hpp"
#include "common/hip/lists.hpp"
#include "common/hip/merge.hpp"

namespace dsakit::hip {

using TensorKeys = TensorScaledKeys<Fp8::e4m3fn>;
using FnuzKeys = TensorScaledKeys<Fp8::e4m3fnuz>;
using TensorRows = TensorScaledRows<Fp8::e4m3fn>;
using FnuzRows = TensorScaledRows<Fp8::e4m3fnuz>;

}  // namespace dsakit::hip

#define DSAKIT_ATTENTION(kind, keys, rope, has_rope, waves)                                \
  DSAKIT_KERNEL(waves * 64)                                                                \
  dsakit_attention_##kind##_##rope##_w##waves(dsakit::hip::AttentionArguments arguments) { \
    using Body = dsakit::hip::Attention<dsakit::hip::keys, has_rope, waves>;               \
    DSAKIT_LDS(Body::kLdsBytes, lds);                                                      \
    dsakit::hip::attend<Body>(arguments, dsakit::hip::Lds(lds));                           \
  }
#define DSAKIT_ROWS(kind, rows)                                                     \
  DSAKIT_KERNEL(64) dsakit_kv_append_##kind(dsakit::hip::RowArguments arguments) {  \
    dsakit::hip::move_row<dsakit::hip::rows, true>(arguments);                      \
  }                                                                                 \
  DSAKIT_KERNEL(64) dsakit_kv_dequant_##kind(dsakit::hip::RowArguments arguments) { \
    dsakit::hip::move_row<dsakit::hip::rows, false>(arguments);                     \
  }
#define DSAKIT_KIND(kind, keys, rows)          \
  DSAKIT_ATTENTION(kind, keys, rope, true, 1)  \
  DSAKIT_ATTENTION(kind, keys, rope, true, 4)  \
  DSAKIT_ATTENTION(kind, keys, nope, false, 1) \
  DSAKIT_ATTENTION(kind, keys, nope, false, 4) \
  DSAKIT_ROWS(kind, rows)
// Kinds of caches, with the classes of their keys and of their rows: those that rows of the
// manifests serve on the GPU that is compiled for.
#define DSAKIT_BF16(kind_of) kind_of(bf16, Bf16Keys, Bf16Rows)
#define DSAKIT_GROUPS(kind_of) kind_of(fp8_g128, GroupScaledKeys, GroupScaledRows)
#define DSAKIT_OCP(kind_of) kind_of(fp8_pt, TensorKeys, TensorRows)
#define DSAKIT_FNUZ(kind_of) kind_of(fp8_pt_fnuz, FnuzKeys, FnuzRows)
#if defined(__gfx90a__)
#define DSAKIT_KINDS(kind_of) DSAKIT_BF16(kind_of)
#elif defined(__gfx942__)
#define DSAKIT_KINDS(kind_of) DSAKIT_BF16(kind_of) DSAKIT_GROUPS(kind_of) DSAKIT_FNUZ(kind_of)
#elif defined(__gfx950__)
#define DSAKIT_KINDS(kind_of) DSAKIT_BF16(kind_of) DSAKIT_GROUPS(kind_of) DSAKIT_OCP(kind_of)
#else
#define DSAKIT_KINDS(kind_of) \
  DSAKIT_BF16(kind_of) DSAKIT_GROUPS(kind_of) DSAKIT_OCP(kind_of) DSAKIT_FNUZ(kind_of)
#endif

DSAKIT_KINDS(DSAKIT_KIND)

DSAKIT_KERNEL(64) dsakit_merge(dsakit::hip::MergeArguments arguments) {
  dsakit::hip::merge_partials(arguments);
}

// Between forms of lists.
#define DSAKIT_LIST_KERNELS(list_of)                                                 \
  list_of(dsakit_list_counts, count_entries) list_of(dsakit_list_bounds, sum_counts) \
      list_of(dsakit_list_ragged, fill_ragged) list_of(dsakit_list_rows, fill_rows)
#define DSAKIT_LIST(name, body)                                  \
  DSAKIT_KERNEL(64) name(dsakit::hip::ListArguments arguments) { \
    dsakit::hip::body(arguments);                                \
  }

DSAKIT_LIST_KERNELS(DSAKIT_LIST)
