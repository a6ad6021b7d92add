// The bf16 matrix product of the CUDA toolkit's cuBLAS, opened at run time: the arithmetic ceiling
// of a session, by the same product as the baseline's. One thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <tl/expected.hpp>

namespace dsakit::cli {

class MatrixProduct {
 public:
  static std::vector<std::string> libraries();
  // For the current CUDA context and this stream; or why not.
  static tl::expected<std::unique_ptr<MatrixProduct>, std::string> open(
      void* stream, const std::vector<std::string>& names = libraries());
  ~MatrixProduct();
  MatrixProduct(const MatrixProduct&) = delete;
  MatrixProduct& operator=(const MatrixProduct&) = delete;

  // c = a^T * b in the stream: bf16 matrices of n * n, fp32 sums. False: refused.
  bool enqueue(int n, const void* a, const void* b, void* c);

 private:
  struct Library;
  explicit MatrixProduct(std::unique_ptr<Library> library);
  std::unique_ptr<Library> library_;
};

}  // namespace dsakit::cli
