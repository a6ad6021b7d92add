#include "bench/clocks.hpp"

#include "device/driver_library.hpp"

namespace dsakit::cli {
namespace {

constexpr unsigned kMultiprocessorClock = 1;

}  // namespace

struct ClockReader::Library {
  int (*init)();
  int (*find)(const char*, void**);
  int (*now)(void*, unsigned, unsigned*);
  int (*most)(void*, unsigned, unsigned*);
};

ClockReader::ClockReader(const std::string& pci_address, const std::vector<std::string>& libraries)
    : library_(std::make_unique<Library>()) {
  const DriverLibrary opened(libraries);
  if (!opened) return;
  library_->init = opened.function<int()>("nvmlInit_v2");
  library_->find = opened.function<int(const char*, void**)>("nvmlDeviceGetHandleByPciBusId_v2");
  library_->now = opened.function<int(void*, unsigned, unsigned*)>("nvmlDeviceGetClockInfo");
  library_->most = opened.function<int(void*, unsigned, unsigned*)>("nvmlDeviceGetMaxClockInfo");
  if (!library_->init || !library_->find || library_->init() != 0 ||
      library_->find(pci_address.c_str(), &gpu_) != 0)
    gpu_ = nullptr;
}

ClockReader::~ClockReader() = default;

int ClockReader::now() const {
  unsigned mhz = 0;
  if (gpu_ == nullptr || library_->now == nullptr ||
      library_->now(gpu_, kMultiprocessorClock, &mhz) != 0)
    return 0;
  return static_cast<int>(mhz);
}

int ClockReader::most() const {
  unsigned mhz = 0;
  if (gpu_ == nullptr || library_->most == nullptr ||
      library_->most(gpu_, kMultiprocessorClock, &mhz) != 0)
    return 0;
  return static_cast<int>(mhz);
}

}  // namespace dsakit::cli
