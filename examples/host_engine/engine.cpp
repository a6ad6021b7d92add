#include "engine.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include <dsakit/kv_layout.hpp>

namespace host_engine {
namespace {

namespace api = dsakit::api;

constexpr DLDataType kBf16{kDLBfloat, 16, 1}, kFp32{kDLFloat, 32, 1}, kInt32{kDLInt, 32, 1},
    kInt64{kDLInt, 64, 1}, kUint8{kDLUInt, 8, 1};
constexpr int kVocabulary = 1000;
constexpr std::int64_t kAlignment = 4096;

// The toy model: bf16 values in -1 ... 1 that follow from a token and its position.
void embed(std::uint32_t salt, int token, std::int64_t position, std::int64_t count,
           std::uint16_t* out) {
  std::uint32_t state = salt ^ (static_cast<std::uint32_t>(token) * 2654435761U) ^
                        (static_cast<std::uint32_t>(position) * 40503U);
  for (std::int64_t i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    const float value = static_cast<float>(static_cast<int>(state >> 24) - 128) / 128.0F;
    out[i] = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
  }
}

// The next token, from the bits of the attention output.
int next_token(const std::uint16_t* out, std::int64_t count) {
  std::uint32_t hash = 2166136261U;
  for (std::int64_t i = 0; i < count; ++i) hash = (hash ^ out[i]) * 16777619U;
  return static_cast<int>(hash % kVocabulary);
}

// The pool as plugins see it: [pages, page_size, row].
class PagedPool {
 public:
  PagedPool(const DLTensor& bytes, const dsakit_config& config, std::int64_t pages) : data_(bytes) {
    const dsakit::KvLayout& layout = *dsakit::find_kv_layout(config.kv_layout);
    shape_[0] = pages;
    shape_[1] = config.page_size;
    shape_[2] = strides_[1] = layout.row_elements();
    strides_[0] = layout.page_bytes(config.page_size) / layout.element_bytes();
    strides_[2] = 1;
    data_.dtype = layout.element == dsakit::KvElement::bf16 ? kBf16 : kUint8;
    data_.ndim = 3;
    data_.shape = shape_;
    data_.strides = strides_;
    cache_.data = &data_;
  }
  PagedPool(const PagedPool&) = delete;
  PagedPool& operator=(const PagedPool&) = delete;
  const dsakit_kv_cache* cache() const { return &cache_; }

 private:
  std::int64_t shape_[3], strides_[3];
  DLTensor data_;
  api::KvCache cache_;
};

std::int64_t pool_bytes(const dsakit_config& config, std::int64_t pages) {
  return pages * dsakit::find_kv_layout(config.kv_layout)->page_bytes(config.page_size);
}

}  // namespace

std::optional<Engine> Engine::start(const Settings& settings, std::string& error) {
  api::Result result;
  const api::Catalog catalog = api::Catalog::open("local", settings.plugin_dirs, &result);
  if (!catalog) return error = result.json, std::nullopt;
  const api::Session session = api::Session::open(catalog, settings.request, "", &result);
  if (!session) return error = result.json, std::nullopt;
  const std::string answer = result.json;
  api::AttentionOptions options;
  options.max_tokens = settings.max_prompt;
  api::Attention prefill = session.create("prefill", options, &result);
  if (!prefill) return error = result.json, std::nullopt;
  options.max_tokens = settings.max_batch;
  api::Attention decode = session.create("decode", options, &result);
  if (!decode) return error = result.json, std::nullopt;
  if (!dsakit::find_kv_layout(decode.config().kv_layout))
    return error = "this engine does not know the layout", std::nullopt;
  return Engine(settings, answer, std::move(prefill), std::move(decode));
}

Engine::Engine(const Settings& settings, std::string answer, api::Attention prefill,
               api::Attention decode)
    : settings_(settings),
      answer_(std::move(answer)),
      prefill_(std::move(prefill)),
      decode_(std::move(decode)),
      pool_(kUint8, {pool_bytes(decode_.config(), settings.pages)}),
      workspace_(kUint8, {[&] {
                   dsakit_workspace most{}, other{};
                   prefill_.workspace(settings.max_prompt, most);
                   decode_.workspace(settings.max_batch, other);
                   return static_cast<std::int64_t>(std::max(most.bytes, other.bytes)) + kAlignment;
                 }()}),
      free_pages_(static_cast<std::size_t>(settings.pages)) {
  std::iota(free_pages_.rbegin(), free_pages_.rend(), 0);
}

int Engine::submit(std::vector<int> prompt, std::size_t wanted) {
  Sequence sequence;
  sequence.id = next_id_++;
  sequence.prompt = prompt.size();
  sequence.wanted = wanted;
  sequence.tokens = std::move(prompt);
  waiting_.push_back(std::move(sequence));
  return next_id_ - 1;
}

bool Engine::failed(const char* what, dsakit_rc rc, const dsakit_error& error) {
  error_ = std::string(what) + " answered " + std::to_string(rc) + ": " + error.text;
  return false;
}

std::int64_t Engine::slot(const Sequence& sequence, std::int64_t position) const {
  const std::int64_t page_size = config().page_size;
  return sequence.pages[static_cast<std::size_t>(position / page_size)] * page_size +
         position % page_size;
}

// Pages for this many tokens; false, and nothing taken, if there are too few.
bool Engine::reserve(Sequence& sequence, std::size_t tokens) {
  const auto page_size = static_cast<std::size_t>(config().page_size);
  const std::size_t needed = (tokens + page_size - 1) / page_size;
  if (needed > sequence.pages.size() + free_pages_.size()) return false;
  while (sequence.pages.size() < needed) {
    sequence.pages.push_back(free_pages_.back());
    free_pages_.pop_back();
  }
  return true;
}

// Sequences start in order, each with the pages for all that it will ever hold.
void Engine::admit() {
  while (!waiting_.empty() && running_.size() < static_cast<std::size_t>(settings_.max_batch)) {
    Sequence& first = waiting_.front();
    if (!reserve(first, first.prompt + first.wanted)) {
      if (running_.empty()) error_ = "the pool is too small for one request";
      return;
    }
    running_.push_back(std::move(first));
    waiting_.pop_front();
    const auto prompt = static_cast<std::int64_t>(running_.back().prompt);
    if (!advance(prefill_, {&running_.back()}, prompt)) return;
  }
}

bool Engine::step() {
  admit();
  most_running_ = std::max(most_running_, running_.size());
  std::vector<Sequence*> batch;
  for (Sequence& sequence : running_)
    if (!sequence.finished()) batch.push_back(&sequence);
  if (error_.empty() && !batch.empty()) advance(decode_, batch, 1);
  if (!error_.empty()) return false;
  for (Sequence& sequence : running_) {
    if (!sequence.finished()) continue;
    free_pages_.insert(free_pages_.end(), sequence.pages.begin(), sequence.pages.end());
    results_[sequence.id] = std::move(sequence.tokens);
    sequence.wanted = 0;
    sequence.pages.clear();
  }
  std::erase_if(running_, [](const Sequence& sequence) { return sequence.pages.empty(); });
  return !running_.empty() || !waiting_.empty();
}

bool Engine::append(api::Attention& attention, const std::vector<Sequence*>& batch,
                    std::int64_t count) {
  const std::int64_t width = config().d_qk;
  const auto rows = static_cast<std::int64_t>(batch.size()) * count;
  Tensor<std::uint16_t> values(kBf16, {rows, width});
  Tensor<std::int64_t> slots(kInt64, {rows});
  std::int64_t row = 0;
  for (const Sequence* sequence : batch) {
    const auto length = static_cast<std::int64_t>(sequence->tokens.size());
    for (std::int64_t at = length - count; at < length; ++at, ++row) {
      slots[row] = slot(*sequence, at);
      embed(1, sequence->tokens[static_cast<std::size_t>(at)], at, width,
            values.data() + row * width);
    }
  }
  const PagedPool pool(*pool_.view(), config(), settings_.pages);
  api::KvArgs args;
  args.kv = pool.cache();
  args.rows = values.view();
  args.slots = slots.view();
  api::Error error;
  const dsakit_rc rc = attention.append(args, &error);
  return rc == DSAKIT_RC_OK || failed("append", rc, error);
}

bool Engine::advance(api::Attention& attention, const std::vector<Sequence*>& batch,
                     std::int64_t count) {
  if (!append(attention, batch, count)) return false;
  const dsakit_config& config = attention.config();
  const auto tokens = static_cast<std::int64_t>(batch.size()) * count;
  Tensor<std::uint16_t> q(kBf16, {tokens, config.heads, config.d_qk});
  Tensor<std::uint16_t> out(kBf16, {tokens, config.heads, config.d_v});
  Tensor<float> lse(kFp32, {tokens, config.heads});
  Tensor<std::int32_t> indices(kInt32, {tokens, config.topk});
  for (std::int64_t t = 0; t < tokens; ++t) {
    const Sequence& sequence = *batch[static_cast<std::size_t>(t / count)];
    const std::int64_t at = static_cast<std::int64_t>(sequence.tokens.size()) - count + t % count;
    const int token = sequence.tokens[static_cast<std::size_t>(at)];
    embed(2, token, at, config.heads * config.d_qk, q.data() + t * config.heads * config.d_qk);
    // This engine's "indexer": the token itself and the most recent ones before it.
    for (std::int64_t j = 0; j < config.topk; ++j)
      indices[t * config.topk + j] =
          at - j < 0 ? -1 : static_cast<std::int32_t>(slot(sequence, at - j));
  }
  const PagedPool pool(*pool_.view(), config, settings_.pages);
  api::RunArgs args;
  args.kv = pool.cache();
  args.sm_scale = 1.0F / std::sqrt(static_cast<float>(config.d_qk));
  args.q = q.view();
  args.indices = indices.view();
  args.out = out.view();
  args.lse = lse.view();
  auto start = reinterpret_cast<std::uintptr_t>(workspace_.data());
  start = (start + kAlignment - 1) / kAlignment * kAlignment;
  dsakit_workspace need{};
  attention.workspace(tokens, need);
  args.workspace = reinterpret_cast<void*>(start);
  args.workspace_size = need.bytes;
  api::Error error;
  const dsakit_rc rc = attention.run(args, &error);
  if (rc != DSAKIT_RC_OK) return failed("run", rc, error);
  const std::int64_t row = config.heads * config.d_v;
  for (std::size_t b = 0; b < batch.size(); ++b) {
    const std::int64_t last = static_cast<std::int64_t>(b + 1) * count - 1;
    batch[b]->tokens.push_back(next_token(out.data() + last * row, row));
  }
  return true;
}

}  // namespace host_engine
