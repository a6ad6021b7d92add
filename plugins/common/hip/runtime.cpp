#include "common/hip/runtime.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "device/hip_abi.hpp"

namespace dsakit::hip {
namespace {

constexpr int kMultiprocessorCount = 63;  // hipDeviceAttributeMultiprocessorCount

// HIP_LAUNCH_PARAM_BUFFER_POINTER, …_SIZE and …_END.
void* launch_key(std::uintptr_t number) {
  return reinterpret_cast<void*>(number);
}

// The functions of one runtime; null where it lacks one.
class Library {
 public:
  int (*get_device_count)(int*) = nullptr;
  int (*get_device)(int*) = nullptr;
  int (*set_device)(int) = nullptr;
  int (*get_attribute)(int*, int, int) = nullptr;
  int (*get_properties)(void*, int) = nullptr;
  int (*module_load_data)(void**, const void*) = nullptr;
  int (*module_get_function)(Function*, void*, const char*) = nullptr;
  int (*module_launch)(Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                       unsigned, void*, void**, void**) = nullptr;
  const char* (*get_error_string)(int) = nullptr;
  std::string why_not;  // empty: opened

  // Opened once; a runtime that is missing stays missing.
  static const Library& get() {
    static const Library* const one = new Library;
    return *one;
  }

 private:
  Library() {
    void* const handle = open();
    if (handle == nullptr) return;
    const auto find = [handle]<class F>(const char* name, F*& function) {
      function = reinterpret_cast<F*>(::dlsym(handle, name));
      return function != nullptr;
    };
    find("hipGetDeviceCount", get_device_count);
    find("hipGetDevice", get_device);
    find("hipSetDevice", set_device);
    find("hipDeviceGetAttribute", get_attribute);
    find("hipModuleLoadData", module_load_data);
    find("hipModuleGetFunction", module_get_function);
    find("hipModuleLaunchKernel", module_launch);
    find("hipGetErrorString", get_error_string);
    if (!find("hipGetDevicePropertiesR0600", get_properties))
      find("hipGetDeviceProperties", get_properties);
  }

  void* open() {
    for (const char* name : kHipLibraries) {
      if (void* const handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
        why_not.clear();
        return handle;
      }
      const char* const reason = ::dlerror();
      if (!why_not.empty()) why_not += "; ";
      why_not += reason != nullptr ? reason : name;
    }
    return nullptr;
  }
};

template <class F, class... Arguments>
int call(F* function, Arguments... arguments) {
  return function == nullptr ? kMissingFunction : function(arguments...);
}

// Bundles that were loaded, by device.
struct Modules {
  std::mutex mutex;
  std::map<std::pair<const void*, int>, void*> loaded;
};

// A number of HIP's own is passed on as such.
dsakit_rc fail(sdk::Error& error, dsakit_rc rc, int status, const char* what) {
  const std::string text = error_text(status);
  if (status == kMissingFunction) return error.fail(rc, "%s: %s", what, text.c_str());
  return error.fail(rc, DSAKIT_DOMAIN_HIP, status, "%s: %s", what, text.c_str());
}

// Whether a list such as "gfx942, gfx950" has the name.
bool names(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(", "), list.size());
    if (list.substr(0, end) == name) return true;
    list.remove_prefix(std::min(end + 2, list.size()));
  }
  return false;
}

}  // namespace

const char* why_no_runtime() {
  const Library& library = Library::get();
  return library.why_not.empty() ? nullptr : library.why_not.c_str();
}

std::string error_text(int status) {
  if (status == kMissingFunction) return "the HIP runtime lacks this function";
  const Library& library = Library::get();
  const char* const said =
      library.get_error_string != nullptr ? library.get_error_string(status) : nullptr;
  return (said != nullptr ? std::string(said) : "error") + " (" + std::to_string(status) + ")";
}

int device_count(int& count) {
  count = 0;
  return call(Library::get().get_device_count, &count);
}

int multiprocessors(int device, int& count) {
  return call(Library::get().get_attribute, &count, kMultiprocessorCount, device);
}

int device_arch(int device, std::string& arch) {
  HipProperties properties;
  const int status = call(Library::get().get_properties, properties.data(), device);
  if (status == kSuccess) arch = properties.arch();
  return status;
}

int find_function(const Bundle& bundle, int device, const char* name, Function& function) {
  static Modules* const modules = new Modules;
  const std::lock_guard lock(modules->mutex);
  void*& module = modules->loaded[{bundle.data, device}];
  if (module == nullptr) {
    const int status =
        call(Library::get().module_load_data, &module, static_cast<const void*>(bundle.data));
    if (status != kSuccess) {
      module = nullptr;
      return status;
    }
  }
  return call(Library::get().module_get_function, &function, module, name);
}

int launch(const Launch& launch, void* stream) {
  std::size_t bytes = launch.argument_bytes;
  void* extra[] = {launch_key(1), const_cast<void*>(launch.argument), launch_key(2), &bytes,
                   launch_key(3)};
  return call(Library::get().module_launch, launch.function, launch.workgroups, 1U, 1U,
              launch.threads, 1U, 1U, launch.dynamic_lds, stream, static_cast<void**>(nullptr),
              static_cast<void**>(extra));
}

DeviceScope::DeviceScope(int device) {
  const Library& library = Library::get();
  status_ = call(library.get_device, &before_);
  if (status_ != kSuccess || before_ == device) return;
  status_ = call(library.set_device, device);
  changed_ = status_ == kSuccess;
}

DeviceScope::~DeviceScope() {
  if (changed_) call(Library::get().set_device, before_);
}

dsakit_rc failed(sdk::Error& error, int status, const char* what) {
  return fail(error, DSAKIT_RC_DEVICE, status, what);
}

dsakit_rc probe(const char* plugin, const Bundle& bundle, std::int32_t device_type,
                std::int32_t device_id, sdk::Error& error) {
  if (device_type != kDLROCM)
    return error.fail(DSAKIT_RC_NO_DEVICE, "%s runs on HIP devices only", plugin);
  if (const char* const why = why_no_runtime())
    return error.fail(DSAKIT_RC_NO_DEVICE, "no HIP runtime: %s", why);
  int count = 0;
  if (const int status = device_count(count); status != kSuccess)
    return fail(error, DSAKIT_RC_NO_DEVICE, status, "no HIP device");
  if (device_id < 0 || device_id >= count)
    return error.fail(DSAKIT_RC_NO_DEVICE, "there is no HIP device %d", device_id);
  std::string arch;
  if (const int status = device_arch(device_id, arch); status != kSuccess)
    return fail(error, DSAKIT_RC_NO_DEVICE, status, "asking the HIP device what it is");
  if (names(bundle.targets, arch)) return DSAKIT_RC_OK;
  return error.fail(DSAKIT_RC_UNSUPPORTED, "HIP device %d is %s, the kernels are for %s", device_id,
                    arch.empty() ? "of an unknown arch" : arch.c_str(), bundle.targets);
}

}  // namespace dsakit::hip
