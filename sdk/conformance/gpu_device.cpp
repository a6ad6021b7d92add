#include "sdk/conformance/gpu_device.hpp"

#include <chrono>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "device/driver_library.hpp"

namespace dsakit::conformance {
namespace {

// In both interfaces results, devices and enumerations are ints, addresses are 64 bits, the rest
// pointers.
using Address = std::uint64_t;
using Handle = void*;

constexpr int kSuccess = 0;
constexpr int kNotSupported = 801;
constexpr unsigned kNonBlockingStream = 1;
constexpr int kCaptureGlobal = 0;
constexpr int kNodeAllocates = 10, kNodeFrees = 11;

Address address_of(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

// Calls a driver function that may be missing.
template <class... Parameters, class... Arguments>
int call(int (*function)(Parameters...), Arguments... arguments) {
  return function == nullptr ? kNotSupported : function(arguments...);
}

void wait_until_released(void* released) {
  while (!static_cast<std::atomic<bool>*>(released)->load())
    std::this_thread::sleep_for(std::chrono::microseconds(50));
}

}  // namespace

struct GpuDevice::Driver {
  int (*init)(unsigned);
  int (*device)(int*, int);
  int (*retain)(Handle*, int);
  int (*free_context)(int);
  int (*make_current)(Handle);
  int (*allocate)(Address*, std::size_t);
  int (*free)(Address);
  int (*to_device)(Address, const void*, std::size_t);
  int (*to_host)(void*, Address, std::size_t);
  int (*synchronise)();
  int (*fill)(Address, unsigned char, std::size_t);
  // What only streams and kernels need.
  int (*fill_later)(Address, unsigned char, std::size_t, Handle);
  int (*error_string)(int, const char**);
  int (*memory_info)(std::size_t*, std::size_t*);
  int (*pci_address)(char*, int, int);
  int (*make_stream)(Handle*, unsigned);
  int (*destroy_stream)(Handle);
  int (*wait_stream)(Handle);
  int (*query_stream)(Handle);
  int (*host_function)(Handle, void (*)(void*), void*);
  int (*begin_capture)(Handle, int);
  int (*end_capture)(Handle, Handle*);
  int (*graph_nodes)(Handle, Handle*, std::size_t*);
  int (*node_type)(Handle, int*);
  int (*instantiate)(Handle*, Handle, unsigned long long);
  int (*launch_graph)(Handle, Handle);
  int (*destroy_executable)(Handle);
  int (*destroy_graph)(Handle);
  int (*load_image)(Handle*, const void*);
  int (*find_function)(Handle*, Handle, const char*);
  int (*make_event)(Handle*, unsigned);
  int (*destroy_event)(Handle);
  int (*record_event)(Handle, Handle);
  int (*wait_event)(Handle);
  int (*between_events)(float*, Handle, Handle);
  int (*launch_kernel)(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                       Handle, void**, void**);

  int handle = 0;
  Handle context = nullptr;
  std::mutex mutex;
  std::map<Address, Address> owned;  // by the address that was handed out

  // Both drivers have the same functions under names of their own.
  Driver(const DriverLibrary& library, DLDeviceType type) {
    const auto find = [&]<class F>(F*& to, const char* cuda, const char* hip) {
      to = library.function<F>(type == kDLCUDA ? cuda : hip);
    };
    find(init, "cuInit", "hipInit");
    find(device, "cuDeviceGet", "hipDeviceGet");
    find(retain, "cuDevicePrimaryCtxRetain", "hipDevicePrimaryCtxRetain");
    find(free_context, "cuDevicePrimaryCtxRelease_v2", "hipDevicePrimaryCtxRelease");
    find(make_current, "cuCtxSetCurrent", "hipCtxSetCurrent");
    find(allocate, "cuMemAlloc_v2", "hipMalloc");
    find(free, "cuMemFree_v2", "hipFree");
    find(to_device, "cuMemcpyHtoD_v2", "hipMemcpyHtoD");
    find(to_host, "cuMemcpyDtoH_v2", "hipMemcpyDtoH");
    find(synchronise, "cuCtxSynchronize", "hipDeviceSynchronize");
    find(fill, "cuMemsetD8_v2", "hipMemsetD8");
    find(fill_later, "cuMemsetD8Async", "hipMemsetD8Async");
    find(error_string, "cuGetErrorString", "hipDrvGetErrorString");
    find(memory_info, "cuMemGetInfo_v2", "hipMemGetInfo");
    find(pci_address, "cuDeviceGetPCIBusId", "hipDeviceGetPCIBusId");
    find(make_stream, "cuStreamCreate", "hipStreamCreateWithFlags");
    find(destroy_stream, "cuStreamDestroy_v2", "hipStreamDestroy");
    find(wait_stream, "cuStreamSynchronize", "hipStreamSynchronize");
    find(query_stream, "cuStreamQuery", "hipStreamQuery");
    find(host_function, "cuLaunchHostFunc", "hipLaunchHostFunc");
    find(begin_capture, "cuStreamBeginCapture_v2", "hipStreamBeginCapture");
    find(end_capture, "cuStreamEndCapture", "hipStreamEndCapture");
    find(graph_nodes, "cuGraphGetNodes", "hipGraphGetNodes");
    find(node_type, "cuGraphNodeGetType", "hipGraphNodeGetType");
    find(instantiate, "cuGraphInstantiateWithFlags", "hipGraphInstantiateWithFlags");
    find(launch_graph, "cuGraphLaunch", "hipGraphLaunch");
    find(destroy_executable, "cuGraphExecDestroy", "hipGraphExecDestroy");
    find(destroy_graph, "cuGraphDestroy", "hipGraphDestroy");
    find(load_image, "cuModuleLoadData", "hipModuleLoadData");
    find(find_function, "cuModuleGetFunction", "hipModuleGetFunction");
    find(make_event, "cuEventCreate", "hipEventCreateWithFlags");
    find(destroy_event, "cuEventDestroy_v2", "hipEventDestroy");
    find(record_event, "cuEventRecord", "hipEventRecord");
    find(wait_event, "cuEventSynchronize", "hipEventSynchronize");
    find(between_events, "cuEventElapsedTime", "hipEventElapsedTime");
    find(launch_kernel, "cuLaunchKernel", "hipModuleLaunchKernel");
  }

  bool serves_memory() const {
    return init && device && retain && free_context && make_current && allocate && free &&
           to_device && to_host && synchronise && fill;
  }

  int start(int device_id) {
    int result = init(0);
    if (result == kSuccess) result = device(&handle, device_id);
    if (result == kSuccess) result = retain(&context, handle);
    return result == kSuccess ? make_current(context) : result;
  }
};

GpuDevice::GpuDevice(std::unique_ptr<Driver> driver, DLDevice device)
    : driver_(std::move(driver)), device_(device) {}

GpuDevice::~GpuDevice() {
  for (const auto& [handed_out, memory] : driver_->owned) driver_->free(memory);
  driver_->free_context(driver_->handle);
}

tl::expected<std::unique_ptr<GpuDevice>, std::string> GpuDevice::open(
    DLDevice device, std::vector<std::string> libraries) {
  const bool cuda = device.device_type == kDLCUDA;
  if (!cuda && device.device_type != kDLROCM)
    return tl::make_unexpected(std::string("devices of cuda and hip only"));
  if (libraries.empty())
    libraries = cuda ? DriverSources().cuda_libraries : DriverSources().hip_libraries;
  const DriverLibrary opened(libraries);
  if (!opened) return tl::make_unexpected(opened.error());
  auto driver = std::make_unique<Driver>(opened, device.device_type);
  if (!driver->serves_memory())
    return tl::make_unexpected(fmt::format("{} lacks functions of a driver", opened.name()));
  const int result = driver->start(device.device_id);
  if (result != kSuccess)
    return tl::make_unexpected(
        fmt::format("the {} driver answers error {}", cuda ? "CUDA" : "HIP", result));
  return std::unique_ptr<GpuDevice>(new GpuDevice(std::move(driver), device));
}

bool GpuDevice::done(int result) {
  if (result != kSuccess) last_error_ = result;
  return result == kSuccess;
}

std::string GpuDevice::last_error() const {
  const char* text = nullptr;
  const int error = last_error_;
  if (call(driver_->error_string, error, &text) != kSuccess || text == nullptr)
    return fmt::format("error {}", error);
  return fmt::format("error {} ({})", error, text);
}

DLDevice GpuDevice::device() const {
  return device_;
}

bool GpuDevice::use() {
  return done(driver_->make_current(driver_->context));
}

// The driver aligns to 256 bytes at least; what is missing is allocated on top.
void* GpuDevice::allocate(std::size_t bytes) {
  Address made = 0;
  if (!done(driver_->allocate(&made, bytes + kAlignment))) return nullptr;
  const Address aligned = (made + kAlignment - 1) / kAlignment * kAlignment;
  const std::lock_guard lock(driver_->mutex);
  driver_->owned[aligned] = made;
  return reinterpret_cast<void*>(aligned);
}

void GpuDevice::release(void* memory) {
  Address made = 0;
  {
    const std::lock_guard lock(driver_->mutex);
    const auto found = driver_->owned.find(address_of(memory));
    if (found == driver_->owned.end()) return;
    made = found->second;
    driver_->owned.erase(found);
  }
  done(driver_->free(made));
}

bool GpuDevice::upload(void* to, const void* from, std::size_t bytes) {
  return bytes == 0 || done(driver_->to_device(address_of(to), from, bytes));
}

bool GpuDevice::download(void* to, const void* from, std::size_t bytes) {
  return bytes == 0 || done(driver_->to_host(to, address_of(from), bytes));
}

bool GpuDevice::fill(void* to, std::byte value, std::size_t bytes) {
  return bytes == 0 ||
         done(driver_->fill(address_of(to), std::to_integer<unsigned char>(value), bytes));
}

bool GpuDevice::synchronise() {
  return done(driver_->synchronise());
}

std::optional<std::uint64_t> GpuDevice::free_bytes() {
  std::size_t free = 0;
  std::size_t all = 0;
  if (!done(call(driver_->memory_info, &free, &all))) return std::nullopt;
  return free;
}

std::string GpuDevice::pci_address() {
  char text[32] = "";
  const int length = sizeof(text);
  return done(call(driver_->pci_address, &text[0], length, driver_->handle)) ? text : "";
}

void* GpuDevice::make_stream() {
  Handle stream = nullptr;
  return done(call(driver_->make_stream, &stream, kNonBlockingStream)) ? stream : nullptr;
}

void GpuDevice::destroy_stream(void* stream) {
  if (stream != nullptr) done(call(driver_->destroy_stream, stream));
}

bool GpuDevice::wait(void* stream) {
  return done(call(driver_->wait_stream, stream));
}

bool GpuDevice::idle(void* stream) {
  return call(driver_->query_stream, stream) == kSuccess;
}

bool GpuDevice::hold(void* stream, std::atomic<bool>& released) {
  return done(
      call(driver_->host_function, stream, &wait_until_released, static_cast<void*>(&released)));
}

bool GpuDevice::begin_capture(void* stream) {
  return done(call(driver_->begin_capture, stream, kCaptureGlobal));
}

std::optional<GpuDevice::Graph> GpuDevice::end_capture(void* stream) {
  Handle captured = nullptr;
  if (!done(call(driver_->end_capture, stream, &captured)) || captured == nullptr)
    return std::nullopt;
  Graph graph;
  std::size_t count = 0;
  bool good = done(call(driver_->graph_nodes, captured, static_cast<Handle*>(nullptr), &count));
  std::vector<Handle> nodes(count);
  if (count > 0) good = good && done(call(driver_->graph_nodes, captured, nodes.data(), &count));
  for (const Handle node : nodes) {
    int type = 0;
    good = good && done(call(driver_->node_type, node, &type));
    graph.allocations += type == kNodeAllocates || type == kNodeFrees;
  }
  graph.nodes = static_cast<int>(count);
  good = good && done(call(driver_->instantiate, &graph.executable, captured, 0ULL));
  call(driver_->destroy_graph, captured);
  return good ? std::optional(graph) : std::nullopt;
}

bool GpuDevice::launch(const Graph& graph, void* stream) {
  return done(call(driver_->launch_graph, graph.executable, stream));
}

void GpuDevice::destroy(const Graph& graph) {
  if (graph.executable != nullptr) done(call(driver_->destroy_executable, graph.executable));
}

void* GpuDevice::load_function(std::span<const unsigned char> image, const char* name) {
  Handle module = nullptr;
  Handle function = nullptr;
  if (!done(call(driver_->load_image, &module, static_cast<const void*>(image.data()))))
    return nullptr;
  return done(call(driver_->find_function, &function, module, name)) ? function : nullptr;
}

bool GpuDevice::launch(void* function, unsigned blocks, unsigned threads, unsigned shared_bytes,
                       std::span<void*> arguments) {
  return done(call(driver_->launch_kernel, function, blocks, 1U, 1U, threads, 1U, 1U, shared_bytes,
                   static_cast<Handle>(nullptr), arguments.data(), static_cast<void**>(nullptr))) &&
         synchronise();
}

bool GpuDevice::enqueue(void* function, unsigned blocks, unsigned threads,
                        std::span<void*> arguments, void* stream) {
  return done(call(driver_->launch_kernel, function, blocks, 1U, 1U, threads, 1U, 1U, 0U, stream,
                   arguments.data(), static_cast<void**>(nullptr)));
}

bool GpuDevice::enqueue_fill(void* to, std::byte value, std::size_t bytes, void* stream) {
  return done(call(driver_->fill_later, address_of(to), std::to_integer<unsigned char>(value),
                   bytes, stream));
}

void* GpuDevice::make_event() {
  Handle event = nullptr;
  return done(call(driver_->make_event, &event, 0U)) ? event : nullptr;
}

void GpuDevice::destroy_event(void* event) {
  if (event != nullptr) done(call(driver_->destroy_event, event));
}

bool GpuDevice::record(void* event, void* stream) {
  return done(call(driver_->record_event, event, stream));
}

std::optional<double> GpuDevice::microseconds(void* from, void* to) {
  float milliseconds = 0;
  if (!done(call(driver_->wait_event, to)) ||
      !done(call(driver_->between_events, &milliseconds, from, to)))
    return std::nullopt;
  return 1e3 * static_cast<double>(milliseconds);
}

}  // namespace dsakit::conformance
