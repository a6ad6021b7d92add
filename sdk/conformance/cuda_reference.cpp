#include "sdk/conformance/cuda_reference.hpp"

#include <algorithm>
#include <limits>
#include <string_view>

#include "sdk/conformance/cuda_reference_call.hpp"

#ifdef DSAKIT_HAVE_REFERENCE_KERNEL
extern "C" const unsigned char dsakit_reference_image[];
extern "C" const std::uint64_t dsakit_reference_image_size;
#endif

namespace dsakit::conformance {
namespace {

std::span<const unsigned char> kernel_image() {
#ifdef DSAKIT_HAVE_REFERENCE_KERNEL
  return {dsakit_reference_image, dsakit_reference_image_size};
#else
  return {};
#endif
}

// Bytes from one index of an axis to the next.
std::int64_t step_of(const DLTensor& tensor, int axis) {
  std::int64_t elements = 1;
  for (int inner = axis + 1; inner < tensor.ndim; ++inner) elements *= tensor.shape[inner];
  return (tensor.strides != nullptr ? tensor.strides[axis] : elements) * tensor.dtype.bits / 8;
}

const unsigned char* start_of(const DLTensor* tensor) {
  if (tensor == nullptr || tensor->data == nullptr) return nullptr;
  return static_cast<const unsigned char*>(tensor->data) + tensor->byte_offset;
}

ReferenceTokens tokens_of(const DLTensor& tensor, bool nested) {
  ReferenceTokens made;
  made.data = start_of(&tensor);
  made.outer = step_of(tensor, 0);
  if (nested) {
    made.inner = step_of(tensor, 1);
    made.inner_count = std::max<std::int64_t>(tensor.shape[1], 1);
  }
  return made;
}

// A list and its cache; `nested`: tokens are [b, s].
ReferenceList list_of(const dsakit_kv_cache& cache, const DLTensor& indices, const DLTensor* indptr,
                      const DLTensor* length, std::int64_t tokens, bool nested) {
  ReferenceList list;
  const DLTensor& pool = *cache.data;
  list.pool = start_of(&pool);
  list.pages = pool.shape[0];
  list.page_size = pool.ndim == 2 ? 1 : pool.shape[1];
  list.page_stride = step_of(pool, 0);
  list.row_stride = pool.ndim == 2 ? 0 : step_of(pool, 1);
  list.scale = start_of(cache.scale);
  list.entry_bytes = indices.dtype.bits / 8;
  list.entry_step = step_of(indices, indices.ndim - 1);
  if (indptr != nullptr) {
    list.entries.data = start_of(&indices);
    list.indptr = start_of(indptr);
    list.indptr_step = step_of(*indptr, 0);
    list.indptr_bytes = indptr->dtype.bits / 8;
    return list;
  }
  list.entries = tokens_of(indices, nested);
  list.width = indices.shape[indices.ndim - 1];
  if (length != nullptr) {
    list.length = start_of(length);
    list.length_step = step_of(*length, 0);
    list.tokens_per_length = tokens / std::max<std::int64_t>(length->shape[0], 1);
  }
  return list;
}

ReferenceLayout layout_named(std::string_view name) {
  if (name == "v4_584") return ReferenceLayout::v4;
  if (name == "fp8_656_g128" || name == "fp8_528_g128") return ReferenceLayout::grouped;
  if (name == "fp8_576_pt" || name == "fp8_512_pt") return ReferenceLayout::per_tensor;
  if (name == "fp8_576_pt_fnuz" || name == "fp8_512_pt_fnuz")
    return ReferenceLayout::per_tensor_fnuz;
  return ReferenceLayout::bf16;
}

bool is(const char* text, std::string_view token) {
  return text != nullptr && token == text;
}

ReferenceCall describe_call(const dsakit_config& config, const dsakit_run_args& args) {
  ReferenceCall call;
  const DLTensor& q = *args.q;
  const bool nested = q.ndim == 4;
  call.tokens = q.shape[0] * (nested ? q.shape[1] : 1);
  call.heads = config.heads;
  call.d_qk = static_cast<std::int32_t>(config.d_qk);
  call.d_v = static_cast<std::int32_t>(config.d_v);
  call.q = tokens_of(q, nested);
  call.q.head = step_of(q, nested ? 2 : 1);
  call.q_type = q.dtype.bits == 32          ? ReferenceType::fp32
                : q.dtype.code == kDLBfloat ? ReferenceType::bf16
                                            : ReferenceType::fp16;
  call.layout = layout_named(config.kv_layout);
  call.list[0] =
      list_of(*args.kv, *args.indices, args.indptr, args.topk_length, call.tokens, nested);
  if (args.kv2 != nullptr)
    call.list[1] =
        list_of(*args.kv2, *args.indices2, args.indptr2, args.topk_length2, call.tokens, nested);
  call.sm_scale = static_cast<double>(args.sm_scale);
  call.empty_lse =
      is(config.lse_empty, "minus_large") ? -1e30 : std::numeric_limits<double>::infinity();
  call.log2 = is(config.lse, "log2");
  call.sink_in_lse = is(config.lse_sink, "included");
  if (args.attn_sink != nullptr) {
    call.sink = start_of(args.attn_sink);
    call.sink_step = step_of(*args.attn_sink, 0);
  }
  call.most_keys = std::max<std::int64_t>(config.topk + config.topk2, 1);
  return call;
}

// Device memory that is released at the end.
class Buffers {
 public:
  explicit Buffers(DeviceMemory& memory) : memory_(memory) {}
  ~Buffers() {
    for (void* each : made_) memory_.release(each);
  }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  template <class T>
  bool make(T*& to, std::int64_t elements) {
    to = static_cast<T*>(memory_.allocate(static_cast<std::size_t>(elements) * sizeof(T)));
    if (to != nullptr) made_.push_back(to);
    return to != nullptr;
  }

 private:
  DeviceMemory& memory_;
  std::vector<void*> made_;
};

}  // namespace

std::unique_ptr<CudaReference> CudaReference::load(GpuDevice& device) {
  if (kernel_image().empty()) return nullptr;
  void* kernel = device.load_function(kernel_image(), "dsakit_reference_attention");
  if (kernel == nullptr) return nullptr;
  return std::unique_ptr<CudaReference>(new CudaReference(device, kernel));
}

std::optional<Expected> CudaReference::attention(const dsakit_config& config,
                                                 const dsakit_run_args& args) {
  ReferenceCall call = describe_call(config, args);
  if (call.d_qk > kReferenceMostQuery) return std::nullopt;
  Expected expected{0, call.tokens, call.heads, config.d_v, {}, {}, {}};
  const std::int64_t rows = call.tokens * call.heads;
  if (rows == 0) return expected;
  const std::int64_t blocks = std::min<std::int64_t>(rows, 2048);
  Buffers buffers(device_);
  if (!buffers.make(call.out, rows * config.d_v) || !buffers.make(call.lse, rows) ||
      !buffers.make(call.max_logits, rows) || !buffers.make(call.logits, blocks * call.most_keys) ||
      !buffers.make(call.slots, blocks * call.most_keys))
    return std::nullopt;
  void* arguments[] = {&call};
  if (!device_.launch(kernel_, static_cast<unsigned>(blocks), kReferenceThreads, 0, arguments))
    return std::nullopt;
  expected.out.resize(static_cast<std::size_t>(rows * config.d_v));
  expected.lse.resize(static_cast<std::size_t>(rows));
  expected.max_logits.resize(static_cast<std::size_t>(rows));
  const auto fetch = [&](std::vector<double>& to, const double* from) {
    return device_.download(to.data(), from, to.size() * sizeof(double));
  };
  if (!fetch(expected.out, call.out) || !fetch(expected.lse, call.lse) ||
      !fetch(expected.max_logits, call.max_logits))
    return std::nullopt;
  return expected;
}

}  // namespace dsakit::conformance
