// A driver library opened at run time, and the small parts that the CUDA and HIP probes share.
// Invariants: an opened driver is never closed (drivers register exit handlers). Any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/detect.hpp"

namespace dsakit {

class DriverLibrary {
 public:
  // Opens the first of `names` that can be opened; else error() has the loader's reasons.
  explicit DriverLibrary(const std::vector<std::string>& names);

  explicit operator bool() const { return handle_ != nullptr; }
  const std::string& error() const { return error_; }
  const std::string& name() const { return name_; }

  // The function `symbol` of type F*, or null.
  template <typename F>
  F* function(const char* symbol) const {
    return reinterpret_cast<F*>(address(symbol));
  }

 private:
  void* address(const char* symbol) const;

  void* handle_ = nullptr;
  std::string name_, error_;
};

// The first dotted number ("580.65.06") in the first of `files` that can be read; empty: none.
std::string version_in_files(const std::vector<std::string>& files);

// The devices of one platform are appended; a reason is noted where there are none.
void probe_cuda(const DriverSources& sources, Detection& detection);
void probe_hip(const DriverSources& sources, Detection& detection);

}  // namespace dsakit
