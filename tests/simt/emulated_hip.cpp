// A HIP runtime without a GPU: its kernels run in the wave64 emulator, its memory is the host's.
// The conformance kit and `dsakit run` reach it as libamdhip64.so.6, so that a plugin is judged as
// it is, with the kernels' own source.
//
// Invariants: it says that it is no hardware (dsakit_emulated_device), so records of it give the
// level `emulated`. Work of a stream runs on the stream's thread; what HIP forbids while a stream
// is captured breaks the capture here, too. Any thread.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <string_view>

#include "emulated_kernel.hpp"
#include "emulated_stream.hpp"
#include "plugins_hip/code_object.hpp"

namespace dsakit::simt {
namespace {

// Results of the HIP interface.
constexpr int kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kInvalidImage = 200,
              kInvalidDevice = 101, kInvalidHandle = 400, kNotFound = 500, kNotReady = 600,
              kCaptureUnsupported = 900, kCaptureInvalidated = 901;
constexpr std::size_t kMemory = std::size_t{8} << 30;
constexpr std::size_t kAlignment = 256;
constexpr unsigned kMultiprocessors = 8;  // few, so that few tokens fill them

// Names of the kernels that a bundle has for this GPU.
using Module = std::set<std::string, std::less<>>;

struct Event {
  std::atomic<bool> reached{true};
};

struct Runtime {
  std::mutex mutex;
  std::map<std::uintptr_t, std::size_t> memory;  // address → bytes
  std::size_t used = 0;
  std::set<Stream*> streams;
  std::set<Stream*> captured;
  bool broken = false;  // something that a capture forbids was done during one
  Stream fallback;      // the default stream

  // Whether a call that may wait or allocate is allowed now.
  bool may_wait() {
    const std::lock_guard lock(mutex);
    if (captured.empty()) return true;
    broken = true;
    return false;
  }
};

// Never destroyed: streams outlive main() where a plugin leaves them.
Runtime& runtime() {
  static Runtime* const one = new Runtime;
  return *one;
}

Stream& stream_of(void* handle) {
  return handle == nullptr ? runtime().fallback : *static_cast<Stream*>(handle);
}

// Behind all work of the default stream.
template <class Work>
int now(Work&& work) {
  if (!runtime().may_wait()) return kCaptureUnsupported;
  runtime().fallback.wait();
  work();
  return kSuccess;
}

int launch(const EmulatedKernel& kernel, unsigned workgroups, unsigned lds, const void* arguments,
           void* stream) {
  const auto* bytes = static_cast<const std::byte*>(arguments);
  // std::max_align_t is 16 bytes here, as is what operator new gives.
  auto copy = std::make_shared<std::vector<std::byte>>(bytes, bytes + kernel.argument_bytes);
  stream_of(stream).add({NodeType::kernel, [&kernel, workgroups, lds, copy] {
                           kernel.run(workgroups, lds, copy->data());
                         }});
  return kSuccess;
}

}  // namespace
}  // namespace dsakit::simt

using namespace dsakit::simt;  // NOLINT: the C functions below are all there is

extern "C" {

int dsakit_emulated_device() {
  return 1;
}

int hipInit(unsigned) {
  return kSuccess;
}
int hipGetDeviceCount(int* count) {
  *count = 1;
  return kSuccess;
}
int hipGetDevicePropertiesR0600(void* properties, int device) {
  if (device != 0) return kInvalidDevice;
  char* const bytes = static_cast<char*>(properties);
  std::memset(bytes, 0, 2048);
  std::strcpy(bytes, "wave64 emulator of " EMULATED_ARCH);
  std::strcpy(bytes + 1160, EMULATED_ARCH);
  return kSuccess;
}
int hipDeviceGetName(char* name, int length, int) {
  std::strncpy(name, "wave64 emulator of " EMULATED_ARCH, static_cast<std::size_t>(length));
  return kSuccess;
}
int hipDeviceTotalMem(std::size_t* bytes, int) {
  *bytes = kMemory;
  return kSuccess;
}
int hipRuntimeGetVersion(int* version) {
  *version = 60000000;
  return kSuccess;
}
int hipDriverGetVersion(int* version) {
  return hipRuntimeGetVersion(version);
}
int hipDeviceGet(int* handle, int device) {
  *handle = device;
  return device == 0 ? kSuccess : kInvalidDevice;
}
int hipSetDevice(int device) {
  return device == 0 ? kSuccess : kInvalidDevice;
}
int hipGetDevice(int* device) {
  *device = 0;
  return kSuccess;
}
int hipDeviceGetAttribute(int* value, int attribute, int device) {
  constexpr int kMultiprocessorCount = 63;
  *value = attribute == kMultiprocessorCount ? static_cast<int>(kMultiprocessors) : 0;
  return device == 0 ? kSuccess : kInvalidDevice;
}
int hipDevicePrimaryCtxRetain(void** context, int) {
  *context = &runtime();
  return kSuccess;
}
int hipDevicePrimaryCtxRelease(int) {
  return kSuccess;
}
int hipCtxSetCurrent(void*) {
  return kSuccess;
}
int hipDeviceGetPCIBusId(char* text, int length, int) {
  std::strncpy(text, "0000:00:00.0", static_cast<std::size_t>(length));
  return kSuccess;
}

const char* hipGetErrorString(int error) {
  constexpr std::pair<int, const char*> kTexts[] = {
      {kSuccess, "no error"},
      {kInvalidValue, "invalid argument"},
      {kOutOfMemory, "out of memory"},
      {kInvalidImage, "device kernel image is invalid"},
      {kInvalidDevice, "invalid device ordinal"},
      {kInvalidHandle, "invalid resource handle"},
      {kNotFound, "named symbol not found"},
      {kNotReady, "device not ready"},
      {kCaptureUnsupported, "operation not permitted when stream is capturing"},
      {kCaptureInvalidated, "operation failed due to a previous error during capture"}};
  const auto* const found = std::ranges::find(kTexts, error, &std::pair<int, const char*>::first);
  return found == std::end(kTexts) ? "unknown error" : found->second;
}
const char* hipGetErrorName(int error) {
  return hipGetErrorString(error);
}
int hipDrvGetErrorString(int error, const char** text) {
  *text = hipGetErrorString(error);
  return kSuccess;
}
int hipGetLastError() {
  return kSuccess;
}

int hipMalloc(void** memory, std::size_t bytes) {
  Runtime& here = runtime();
  if (!here.may_wait()) return kCaptureUnsupported;
  const std::lock_guard lock(here.mutex);
  if (bytes > kMemory - here.used) return kOutOfMemory;
  *memory =
      ::operator new (std::max<std::size_t>(bytes, 1), std::align_val_t{kAlignment}, std::nothrow);
  if (*memory == nullptr) return kOutOfMemory;
  std::memset(*memory, 0xEE, bytes);
  here.used += bytes;
  here.memory[reinterpret_cast<std::uintptr_t>(*memory)] = bytes;
  return kSuccess;
}
int hipFree(void* memory) {
  Runtime& here = runtime();
  if (memory == nullptr) return kSuccess;
  if (!here.may_wait()) return kCaptureUnsupported;
  for (Stream* stream : here.streams) stream->wait();
  here.fallback.wait();
  const std::lock_guard lock(here.mutex);
  const auto found = here.memory.find(reinterpret_cast<std::uintptr_t>(memory));
  if (found == here.memory.end()) return kInvalidValue;
  here.used -= found->second;
  here.memory.erase(found);
  ::operator delete (memory, std::align_val_t{kAlignment});
  return kSuccess;
}
int hipMemGetInfo(std::size_t* available, std::size_t* all) {
  const std::lock_guard lock(runtime().mutex);
  *available = kMemory - runtime().used;
  *all = kMemory;
  return kSuccess;
}
int hipMemcpyHtoD(void* to, const void* from, std::size_t bytes) {
  return now([&] { std::memcpy(to, from, bytes); });
}
int hipMemcpyDtoH(void* to, const void* from, std::size_t bytes) {
  return hipMemcpyHtoD(to, from, bytes);
}
int hipMemsetD8(void* to, unsigned char value, std::size_t bytes) {
  return now([&] { std::memset(to, value, bytes); });
}
int hipMemsetD8Async(void* to, unsigned char value, std::size_t bytes, void* stream) {
  stream_of(stream).add({NodeType::fill, [=] { std::memset(to, value, bytes); }});
  return kSuccess;
}
int hipMemsetAsync(void* to, int value, std::size_t bytes, void* stream) {
  return hipMemsetD8Async(to, static_cast<unsigned char>(value), bytes, stream);
}
int hipDeviceSynchronize() {
  Runtime& here = runtime();
  if (!here.may_wait()) return kCaptureUnsupported;
  std::set<Stream*> all;
  {
    const std::lock_guard lock(here.mutex);
    all = here.streams;
  }
  for (Stream* stream : all) stream->wait();
  here.fallback.wait();
  return kSuccess;
}

int hipStreamCreateWithFlags(void** stream, unsigned) {
  auto made = std::make_unique<Stream>();
  const std::lock_guard lock(runtime().mutex);
  runtime().streams.insert(made.get());
  *stream = made.release();
  return kSuccess;
}
int hipStreamDestroy(void* stream) {
  Runtime& here = runtime();
  if (stream == nullptr) return kInvalidHandle;
  auto* const it = static_cast<Stream*>(stream);
  it->wait();
  const std::lock_guard lock(here.mutex);
  here.streams.erase(it);
  delete it;
  return kSuccess;
}
int hipStreamSynchronize(void* stream) {
  if (!runtime().may_wait()) return kCaptureUnsupported;
  stream_of(stream).wait();
  return kSuccess;
}
int hipStreamQuery(void* stream) {
  return stream_of(stream).idle() ? kSuccess : kNotReady;
}
int hipStreamIsCapturing(void* stream, int* status) {
  *status = stream_of(stream).captured() ? 1 : 0;
  return kSuccess;
}
int hipLaunchHostFunc(void* stream, void (*function)(void*), void* data) {
  stream_of(stream).add({NodeType::host, [=] { function(data); }});
  return kSuccess;
}

int hipStreamBeginCapture(void* stream, int) {
  Runtime& here = runtime();
  if (stream == nullptr || !stream_of(stream).begin_capture()) return kInvalidValue;
  const std::lock_guard lock(here.mutex);
  here.captured.insert(static_cast<Stream*>(stream));
  here.broken = false;
  return kSuccess;
}
int hipStreamEndCapture(void* stream, void** graph) {
  Runtime& here = runtime();
  auto made = stream_of(stream).end_capture();
  if (made == nullptr) return kInvalidValue;
  const std::lock_guard lock(here.mutex);
  here.captured.erase(static_cast<Stream*>(stream));
  *graph = here.broken ? nullptr : made.release();
  return here.broken ? kCaptureInvalidated : kSuccess;
}
int hipGraphGetNodes(void* graph, void** nodes, std::size_t* count) {
  auto& all = static_cast<Graph*>(graph)->nodes;
  if (nodes == nullptr) {
    *count = all.size();
    return kSuccess;
  }
  *count = std::min(*count, all.size());
  for (std::size_t i = 0; i < *count; ++i) nodes[i] = &all[i];
  return kSuccess;
}
int hipGraphNodeGetType(void* node, int* type) {
  *type = static_cast<int>(static_cast<Node*>(node)->type);
  return kSuccess;
}
int hipGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long) {
  *executable = new Graph(*static_cast<Graph*>(graph));
  return kSuccess;
}
int hipGraphLaunch(void* executable, void* stream) {
  for (const Node& node : static_cast<Graph*>(executable)->nodes) stream_of(stream).add(node);
  return kSuccess;
}
int hipGraphExecDestroy(void* executable) {
  delete static_cast<Graph*>(executable);
  return kSuccess;
}
int hipGraphDestroy(void* graph) {
  return hipGraphExecDestroy(graph);
}

int hipEventCreateWithFlags(void** event, unsigned) {
  *event = new Event;
  return kSuccess;
}
int hipEventDestroy(void* event) {
  delete static_cast<Event*>(event);
  return kSuccess;
}
int hipEventRecord(void* event, void* stream) {
  auto* const it = static_cast<Event*>(event);
  it->reached = false;
  stream_of(stream).add({NodeType::host, [it] {
                           it->reached = true;
                           it->reached.notify_all();
                         }});
  return kSuccess;
}
int hipEventSynchronize(void* event) {
  static_cast<Event*>(event)->reached.wait(false);
  return kSuccess;
}
// An emulator has no times.
int hipEventElapsedTime(float*, void*, void*) {
  return kInvalidHandle;
}

int hipModuleLoadData(void** module, const void* image) {
  auto kernels = dsakit::test::kernels_of(dsakit::test::code_object(image, EMULATED_ARCH));
  if (kernels.empty()) return kInvalidImage;
  auto loaded = std::make_unique<Module>();
  for (const auto& [name, facts] : kernels) loaded->insert(name);
  *module = loaded.release();
  return kSuccess;
}
int hipModuleUnload(void* module) {
  delete static_cast<Module*>(module);
  return kSuccess;
}
int hipModuleGetFunction(void** function, void* module, const char* name) {
  if (!static_cast<const Module*>(module)->contains(name)) return kNotFound;
  const auto all = emulated_kernels();
  const auto found = std::ranges::find(all, std::string_view(name), &EmulatedKernel::name);
  if (found == all.end()) return kNotFound;
  *function = const_cast<EmulatedKernel*>(&*found);
  return kSuccess;
}
int hipFuncSetAttribute(const void*, int, int) {
  return kSuccess;
}
int hipModuleLaunchKernel(void* function, unsigned x, unsigned y, unsigned z, unsigned threads,
                          unsigned threads_y, unsigned threads_z, unsigned lds, void* stream,
                          void** parameters, void** extra) {
  // extra: 1, buffer, 2, address of its size, 3
  const auto& kernel = *static_cast<const EmulatedKernel*>(function);
  if (x == 0 || y != 1 || z != 1 || threads != kernel.threads || threads_y != 1 || threads_z != 1)
    return kInvalidValue;
  if (parameters != nullptr) return launch(kernel, x, lds, parameters[0], stream);
  if (extra == nullptr || *static_cast<const std::size_t*>(extra[3]) != kernel.argument_bytes)
    return kInvalidValue;
  return launch(kernel, x, lds, extra[1], stream);
}

}  // extern "C"
