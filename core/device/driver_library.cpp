#include "device/driver_library.hpp"

#include <dlfcn.h>

#include <fstream>

namespace dsakit {

DriverLibrary::DriverLibrary(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    handle_ = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) {
      name_ = name;
      return;
    }
    const char* const reason = ::dlerror();
    if (!error_.empty()) error_ += "; ";
    error_ += reason != nullptr ? std::string(reason) : name + ": cannot be opened";
  }
}

void* DriverLibrary::address(const char* symbol) const {
  return handle_ == nullptr ? nullptr : ::dlsym(handle_, symbol);
}

namespace {

constexpr std::string_view kDigits = "0123456789";

std::string dotted_number(std::string_view text) {
  while (!text.empty()) {
    const std::size_t start = text.find_first_of(kDigits);
    if (start == text.npos) return {};
    text.remove_prefix(start);
    std::string_view number = text.substr(0, text.find_first_not_of("0123456789."));
    text.remove_prefix(number.size());
    while (number.ends_with('.')) number.remove_suffix(1);
    if (number.find('.') != number.npos) return std::string(number);
  }
  return {};
}

}  // namespace

std::string version_in_files(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    std::ifstream in(file);
    std::string line;
    if (in && std::getline(in, line)) return dotted_number(line);
  }
  return {};
}

}  // namespace dsakit
