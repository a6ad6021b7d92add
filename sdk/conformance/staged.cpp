#include "sdk/conformance/staged.hpp"

#include <algorithm>
#include <new>

#include "dsakit/kv_layout.hpp"

namespace dsakit::conformance {

Staged::Staged(DeviceMemory& memory, Problem& problem, const std::vector<HostTensor*>& more)
    : memory_(memory), problem_(problem) {
  if (memory_.is_host()) return;
  memory_.use();
  for (HostTensor* tensor : problem.tensors()) add(*tensor);
  for (HostTensor* tensor : more) add(*tensor);
  add_workspace();
}

Staged::~Staged() {
  for (void* memory : owned_) memory_.release(memory);
}

void Staged::add(HostTensor& tensor) {
  const std::uint64_t bytes = tensor.bytes();
  if (bytes == 0) return;
  void* made = memory_.allocate(bytes);
  if (made == nullptr) throw std::bad_alloc();
  owned_.push_back(made);
  regions_.push_back({tensor.base(), bytes, static_cast<std::byte*>(made), &tensor});
}

void Staged::add_workspace() {
  const Problem::Workspace& workspace = problem_.workspace();
  if (workspace.start == nullptr) return;
  const std::uint64_t bytes = workspace.bytes + Problem::kCanaryBytes;
  void* made = memory_.allocate(bytes + workspace.alignment);
  if (made == nullptr) throw std::bad_alloc();
  owned_.push_back(made);
  const auto at = reinterpret_cast<std::uintptr_t>(made);
  const std::uintptr_t past = at % workspace.alignment;
  auto* start = static_cast<std::byte*>(made) + (past == 0 ? 0 : workspace.alignment - past);
  regions_.push_back({workspace.start, bytes, start, nullptr});
}

bool Staged::upload() {
  return std::ranges::all_of(regions_, [&](const Region& region) { return upload(region); }) &&
         memory_.synchronise();
}

bool Staged::upload_tensors() {
  return std::ranges::all_of(
             regions_,
             [&](const Region& region) { return region.tensor == nullptr || upload(region); }) &&
         memory_.synchronise();
}

bool Staged::upload(const Region& region) {
  if (region.tensor == nullptr)
    return memory_.fill(region.device, Problem::kCanary, region.bytes) &&
           memory_.fill(region.device, std::byte{0}, problem_.workspace().zero_bytes);
  if (region.tensor->sparse) return upload_pages(region);
  return memory_.upload(region.device, region.host, region.bytes);
}

// A pool of distant pages: all NaN but for the pages.
bool Staged::upload_pages(const Region& region) {
  const HostTensor& pool = *region.tensor;
  const KvLayout& layout = *find_kv_layout(problem_.description().layout);
  const std::int64_t element = pool.view.dtype.bits / 8;
  std::int64_t page = layout.page_bytes(pool.shape.size() > 2 ? pool.shape[1] : 1);
  if (pool.shape.size() > 2) page = std::max(page, pool.shape[1] * pool.strides[1] * element);
  bool good = memory_.fill(region.device, std::byte{0xFF}, region.bytes);
  for (std::int64_t i = 0; good && i < pool.shape[0]; ++i) {
    const auto from =
        pool.view.byte_offset + static_cast<std::uint64_t>(i * pool.strides[0] * element);
    const std::uint64_t bytes = std::min(static_cast<std::uint64_t>(page), region.bytes - from);
    good = memory_.upload(region.device + from, region.host + from, bytes);
  }
  return good;
}

bool Staged::download(const HostTensor& tensor) {
  for (const Region& region : regions_)
    if (region.tensor == &tensor && !tensor.sparse)
      return memory_.download(region.host, region.device, region.bytes);
  return true;
}

bool Staged::download_canary() {
  for (const Region& region : regions_)
    if (region.tensor == nullptr) {
      const std::uint64_t bytes = region.bytes - Problem::kCanaryBytes;
      return memory_.download(region.host + bytes, region.device + bytes, Problem::kCanaryBytes);
    }
  return true;
}

bool Staged::download_outputs() {
  if (memory_.is_host()) return true;
  return memory_.synchronise() && download(problem_.out) && download(problem_.lse) &&
         download(problem_.max_logits) && download_canary();
}

bool Staged::download_all() {
  if (memory_.is_host()) return true;
  return memory_.synchronise() && std::ranges::all_of(regions_, [&](const Region& region) {
           return region.tensor == nullptr ? download_canary() : download(*region.tensor);
         });
}

void* Staged::translate(void* host) const {
  const auto* at = static_cast<const std::byte*>(host);
  for (const Region& region : regions_)
    if (at >= region.host && at < region.host + region.bytes)
      return region.device + (at - region.host);
  return host;
}

const DLTensor* Staged::translate(const DLTensor* host) {
  if (host == nullptr) return nullptr;
  DLTensor& made = tensors_.emplace_back(*host);
  made.data = translate(host->data);
  if (host->device.device_type == kDLCPU && host->device.device_id == 0)
    made.device = memory_.device();
  return &made;
}

const dsakit_kv_cache* Staged::translate(const dsakit_kv_cache* host) {
  if (host == nullptr) return nullptr;
  dsakit_kv_cache& made = caches_.emplace_back(*host);
  made.data = translate(host->data);
  made.scale = translate(host->scale);
  return &made;
}

const dsakit_run_args& Staged::args() {
  args_ = problem_.args;
  if (memory_.is_host()) return args_;
  tensors_.clear();
  caches_.clear();
  for (const DLTensor* dsakit_run_args::*field :
       {&dsakit_run_args::q, &dsakit_run_args::q_scale, &dsakit_run_args::indices,
        &dsakit_run_args::indptr, &dsakit_run_args::topk_length, &dsakit_run_args::indices2,
        &dsakit_run_args::indptr2, &dsakit_run_args::topk_length2, &dsakit_run_args::attn_sink,
        &dsakit_run_args::out, &dsakit_run_args::lse, &dsakit_run_args::max_logits})
    args_.*field = translate(args_.*field);
  args_.kv = translate(args_.kv);
  args_.kv2 = translate(args_.kv2);
  args_.workspace = translate(args_.workspace);
  return args_;
}

dsakit_kv_args Staged::args(const dsakit_kv_args& host) {
  dsakit_kv_args made = host;
  if (memory_.is_host()) return made;
  tensors_.clear();
  caches_.clear();
  made.kv = translate(host.kv);
  made.slots = translate(host.slots);
  made.rows = translate(host.rows);
  return made;
}

}  // namespace dsakit::conformance
