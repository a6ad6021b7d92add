// The clocks of a GPU through NVML, the driver's own library, opened at run time. One thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace dsakit::cli {

class ClockReader {
 public:
  // Of the GPU with this PCI address ("0000:0a:00.0"). It answers 0 MHz where NVML is missing.
  explicit ClockReader(const std::string& pci_address,
                       const std::vector<std::string>& libraries = {"libnvidia-ml.so.1"});
  ~ClockReader();
  ClockReader(const ClockReader&) = delete;
  ClockReader& operator=(const ClockReader&) = delete;

  // Of the multiprocessors now, and at most; MHz, 0: unknown.
  int now() const;
  int most() const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
  void* gpu_ = nullptr;
};

}  // namespace dsakit::cli
