#include "bench/matrix_product.hpp"

#include <fmt/format.h>

#include "device/driver_library.hpp"

namespace dsakit::cli {
namespace {

// Of cuBLAS and its data types.
constexpr int kTransposed = 1, kPlain = 0, kBf16Data = 14, kFp32Sums = 68, kDefaultAlgorithm = -1;

}  // namespace

struct MatrixProduct::Library {
  int (*create)(void**);
  int (*destroy)(void*);
  int (*set_stream)(void*, void*);
  int (*multiply)(void*, int, int, int, int, int, const void*, const void*, int, int, const void*,
                  int, int, const void*, void*, int, int, int, int);
  void* handle = nullptr;

  explicit Library(const DriverLibrary& library) {
    const auto find = [&]<class F>(F*& to, const char* name) { to = library.function<F>(name); };
    find(create, "cublasCreate_v2");
    find(destroy, "cublasDestroy_v2");
    find(set_stream, "cublasSetStream_v2");
    find(multiply, "cublasGemmEx");
  }
};

std::vector<std::string> MatrixProduct::libraries() {
  std::vector<std::string> names{"libcublas.so.13", "libcublas.so.12", "libcublas.so"};
  for (const char* folder : {"lib64", "targets/x86_64-linux/lib"})
    names.push_back(fmt::format("/usr/local/cuda/{}/libcublas.so", folder));
  return names;
}

tl::expected<std::unique_ptr<MatrixProduct>, std::string> MatrixProduct::open(
    void* stream, const std::vector<std::string>& names) {
  const DriverLibrary opened(names);
  if (!opened) return tl::make_unexpected(opened.error());
  auto library = std::make_unique<Library>(opened);
  if (!library->create || !library->destroy || !library->set_stream || !library->multiply)
    return tl::make_unexpected(fmt::format("{} lacks functions of cuBLAS", opened.name()));
  const int result = library->create(&library->handle);
  if (result != 0) return tl::make_unexpected(fmt::format("{} answered {}", opened.name(), result));
  library->set_stream(library->handle, stream);
  return std::unique_ptr<MatrixProduct>(new MatrixProduct(std::move(library)));
}

MatrixProduct::MatrixProduct(std::unique_ptr<Library> library) : library_(std::move(library)) {}

MatrixProduct::~MatrixProduct() {
  library_->destroy(library_->handle);
}

bool MatrixProduct::enqueue(int n, const void* a, const void* b, void* c) {
  const float one = 1, zero = 0;
  return library_->multiply(library_->handle, kTransposed, kPlain, n, n, n, &one, a, kBf16Data, n,
                            b, kBf16Data, n, &zero, c, kBf16Data, n, kFp32Sums,
                            kDefaultAlgorithm) == 0;
}

}  // namespace dsakit::cli
