// Memory of a CUDA device through the driver, which is opened at run time and never linked. One
// thread; work is on the default stream of the device's primary context.
#pragma once

#include <memory>
#include <string>

#include <tl/expected.hpp>

#include "run/memory.hpp"

namespace dsakit::cli {

// `library` is the driver's name or path. Or why it cannot be used.
tl::expected<std::unique_ptr<Memory>, std::string> make_cuda_memory(
    int device_id, const std::string& library = "libcuda.so.1");

}  // namespace dsakit::cli
