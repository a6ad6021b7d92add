// Reads and writes safetensors files: an 8-byte little-endian length, a JSON header, tensor bytes.
// Files come from anywhere, so every number in them is checked before it is used: bounded header,
// no overlap, no gap, no product that overflows, nothing past the end of the file.
//
// Invariants: reading maps no memory and allocates at most the bytes that the file really has. One
// thread an object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "diag/diagnostic.hpp"
#include "dsakit/plugin_abi.h"

namespace dsakit::cli {

struct TensorFileEntry {
  std::string dtype;  // the file's name of it: BF16, F32, U8, I32 ...
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, end = 0;  // bytes behind the header

  std::uint64_t bytes() const { return end - begin; }
};

class TensorFile {
 public:
  // Reads the header. E0101 unreadable, E0801 malformed.
  static tl::expected<TensorFile, Diagnostic> open(const std::string& file);

  const std::string& file() const { return file_; }
  const std::map<std::string, TensorFileEntry>& tensors() const { return tensors_; }
  const TensorFileEntry* find(const std::string& name) const;

  // A tensor's bytes. E0101 if they cannot be read (any more).
  tl::expected<std::vector<std::byte>, Diagnostic> read(const TensorFileEntry& entry) const;

 private:
  std::string file_;
  std::uint64_t data_ = 0;  // where the tensors start
  std::map<std::string, TensorFileEntry> tensors_;
};

struct NamedTensor {
  std::string name;
  const DLTensor* tensor;  // compact, host memory
};

// Writes the tensors in this order. E0803.
tl::expected<void, Diagnostic> write_tensor_file(const std::string& file,
                                                 const std::vector<NamedTensor>& tensors);

// The DLPack dtype of a file's dtype name, of bits 0 if it has none here; and the reverse, empty.
DLDataType tensor_file_dtype(const std::string& name);
std::string tensor_file_dtype_name(DLDataType type);

}  // namespace dsakit::cli
