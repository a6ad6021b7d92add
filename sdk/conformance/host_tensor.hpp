// A tensor in host memory with strides of its own, as tests build them.
//
// Invariants: `view` points into this object, so it does not move while a call uses it. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "dsakit/plugin_abi.h"

namespace dsakit::conformance {

inline constexpr DLDataType kFp32{kDLFloat, 32, 1};

// A tensor with its own memory and strides.
struct HostTensor {
  DLTensor view{};
  std::vector<std::int64_t> shape, strides;
  std::vector<std::byte> memory;
  std::shared_ptr<std::byte> sparse;  // instead of memory, where only few pages are ever touched
  std::uint64_t sparse_bytes = 0;

  // `strides` in elements; empty: compact. Memory is filled with `fill`, and has `lead` more bytes
  // on both sides of the elements.
  void make(DLDataType type, std::vector<std::int64_t> extents,
            std::vector<std::int64_t> element_strides, std::byte fill, std::uint64_t lead = 0);
  std::uint64_t bytes() const { return sparse ? sparse_bytes : memory.size(); }
  std::byte* base() { return sparse ? sparse.get() : memory.data(); }
  std::byte* at(std::int64_t element_offset);
  // Offset of an element, in elements.
  std::int64_t offset(std::span<const std::int64_t> index) const;
};

// Address space of which only what is touched costs memory; zero. Throws std::bad_alloc.
std::shared_ptr<std::byte> map_untouched(std::uint64_t bytes);

// A normal value within 4 standard deviations.
float normal(std::mt19937& random, float amplitude);

// `value` rounded to nearest even as bf16, fp16 or fp32.
void write_value(std::byte* to, DLDataType type, float value);
// An int32 or int64 element.
void write_integer(HostTensor& tensor, std::int64_t offset, std::int64_t value);

}  // namespace dsakit::conformance
