// Model facts and what the user adds → the solver's request, each value with its origin.
#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "device/family.hpp"
#include "device/model_config.hpp"
#include "manifest/arch.hpp"

namespace dsakit {
namespace {

constexpr std::string_view kHiSparse = "hisparse";
constexpr std::string_view kAttnSink = "attn_sink";

std::string subject_of(const ModelFacts& model) {
  if (!model.architecture.empty()) return model.architecture;
  return model.family.empty() ? model.file : model.family;
}

std::optional<Origin> typed_origin(const RequestOptions& options, const std::string& key) {
  const auto it = options.origins.find(key);
  if (it == options.origins.end()) return std::nullopt;
  return it->second;
}

Diagnostic not_sparse(Code code, const ModelFacts& model, const RequestOptions& options) {
  Diagnostic d = Diagnostic(code)
                     .with("subject", subject_of(model))
                     .from({fmt::format("architectures[0] = {}", model.architecture), model.file});
  if (code == Code::E0303) {
    if (const auto origin = typed_origin(options, std::string(kHiSparse))) {
      d.origins.insert(d.origins.begin(), *origin);
    }
  }
  d.notes.push_back(fmt::format("{}: {}", subject_of(model), model.why));
  std::vector<std::string_view> sparse;
  for (const ModelFamily& family : model_families()) sparse.push_back(family.name);
  d.notes.push_back(fmt::format("families that are sparse where config.json has an index_topk: {}",
                                fmt::join(sparse, ", ")));
  return d;
}

bool is_token(std::string_view text) {
  constexpr std::string_view kOther = "_.+-";
  return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || kOther.find(c) != kOther.npos;
  });
}

Diagnostic wrong(const std::string& key, std::string allowed, std::string found,
                 const RequestOptions& options) {
  Diagnostic d = Diagnostic(Code::E0402)
                     .with("key", key)
                     .with("allowed", std::move(allowed))
                     .with("found", std::move(found));
  if (const auto origin = typed_origin(options, key)) d.origins.push_back(*origin);
  return d;
}

// Fills one request; the first wrong value is kept.
class Builder {
 public:
  Builder(const ModelFacts& model, const RequestOptions& options)
      : model_(model), options_(options) {}

  tl::expected<Request, Diagnostic> build() {
    request_.subject = subject_of(model_);
    request_.choice = options_.choice;
    request_.mtp = options_.mtp;
    add_device();
    add_heads();
    add_model();
    add_features();
    add_kv_dtype();
    add_page_size();
    add_version("runtime_cuda", options_.runtime_cuda);
    add_version("runtime_hip", options_.runtime_hip);
    add_version("driver", options_.driver);
    for (const auto& [dim, value] : options_.extra) put(dim, value, {});
    if (error_) return tl::unexpected(std::move(*error_));
    return std::move(request_);
  }

 private:
  void fail(Diagnostic d) {
    if (!error_) error_ = std::move(d);
  }

  // The user's own origin of `dim` wins over `derived`.
  void put(const std::string& dim, Value value, const Origin& derived) {
    request_.values.insert_or_assign(dim, std::move(value));
    const Origin origin = typed_origin(options_, dim).value_or(derived);
    if (!origin.text.empty()) request_.origins.insert_or_assign(dim, origin);
  }

  Origin from_model(std::string text) const { return {std::move(text), model_.file}; }

  void add_device() {
    if (options_.device.empty()) return;
    const auto device = device_or_error(options_.device);
    const Origin origin = typed_origin(options_, "arch")
                              .value_or(typed_origin(options_, "device").value_or(Origin{}));
    if (!device) {
      Diagnostic d = device.error();
      if (!origin.text.empty()) d.origins.push_back(origin);
      return fail(std::move(d));
    }
    put("platform", std::string((*device)->platform), origin);
    put("arch", std::string((*device)->name), origin);
  }

  void add_heads() {
    if (!model_.heads) return;
    const int heads = *model_.heads;
    if (options_.tp < 1 || heads % options_.tp != 0) {
      Diagnostic d = Diagnostic(Code::E0504)
                         .with("tp", options_.tp)
                         .with("heads", heads)
                         .with("subject", subject_of(model_));
      if (const auto origin = typed_origin(options_, "tp")) d.origins.push_back(*origin);
      d.origins.push_back(from_model(fmt::format("num_attention_heads = {}", heads)));
      return fail(std::move(d));
    }
    std::string text = fmt::format("num_attention_heads = {}", heads);
    if (options_.tp > 1) text += fmt::format(", divided by --tp {}", options_.tp);
    put("heads", heads / options_.tp, from_model(std::move(text)));
    request_.head_split = {heads, options_.tp, typed_origin(options_, "tp").value_or(Origin{})};
  }

  // The origin of what follows from the architecture alone.
  Origin from_architecture() const {
    if (model_.architecture.empty()) return {};
    return from_model(fmt::format("architectures[0] = {}", model_.architecture));
  }

  void add_geometry() {
    if (!model_.d_v) return;
    const ModelFamily* const family = find_family(model_.family);
    if (family != nullptr && family->rope_inside) {
      put("d_v", *model_.d_v, from_architecture());
      if (model_.d_qk) put("d_qk", *model_.d_qk, from_architecture());
      return;
    }
    const std::string latent = fmt::format("kv_lora_rank = {}", *model_.d_v);
    put("d_v", *model_.d_v, from_model(latent));
    if (!model_.d_qk || !model_.rope) return;
    put("d_qk", *model_.d_qk,
        from_model(fmt::format("{}, qk_rope_head_dim = {}", latent, *model_.rope)));
  }

  void add_model() {
    if (model_.family.empty()) return;
    put("model_family", model_.family, from_architecture());
    add_geometry();
    if (model_.index_row_width && model_.index_topk) {
      std::string text = fmt::format("index_topk = {}", *model_.index_topk);
      if (model_.index_kpool > 1) text += fmt::format(", index_kpool = {}", model_.index_kpool);
      put("topk", *model_.index_row_width, from_model(std::move(text)));
    }
    put("index_kpool", model_.index_kpool,
        model_.index_kpool > 1 ? from_model(fmt::format("index_kpool = {}", model_.index_kpool))
                               : Origin{});
  }

  void add_features() {
    Set features;
    for (const std::string& name : options_.features) {
      if (!is_token(name)) {
        return fail(wrong("features", "names of letters a-z, digits and _.+-", name, options_));
      }
      features.emplace_back(resolve_alias(name));
    }
    if (model_.sinks) {
      features.emplace_back(kAttnSink);
      request_.model_features = {std::string(kAttnSink)};
    }
    if (options_.hisparse) features.emplace_back(kHiSparse);
    std::ranges::sort(features);
    features.erase(std::unique(features.begin(), features.end()), features.end());
    Origin origin = options_.hisparse
                        ? typed_origin(options_, std::string(kHiSparse)).value_or(Origin{})
                        : Origin{};
    if (origin.text.empty() && model_.sinks) origin = from_model("attention sinks");
    if (!features.empty()) put("features", std::move(features), origin);
  }

  void add_kv_dtype() {
    if (!is_token(options_.kv_dtype)) {
      return fail(
          wrong("kv_dtype", "auto or the name of a KV-cache dtype", options_.kv_dtype, options_));
    }
    put("kv_dtype", std::string(resolve_alias(options_.kv_dtype)), {});
  }

  void add_page_size() {
    if (!options_.page_size) return;
    if (*options_.page_size < 1) {
      return fail(wrong("page_size",
                        fmt::format("an integer from 1 to {}", std::numeric_limits<int>::max()),
                        fmt::format("{}", *options_.page_size), options_));
    }
    put("page_size", *options_.page_size, {});
  }

  void add_version(const std::string& dim, const std::string& text) {
    if (text.empty()) return;
    const auto version = parse_version(text);
    if (!version) return fail(wrong(dim, "1 to 4 dotted integers", text, options_));
    put(dim, *version, {fmt::format("{} {}", dim, text), "this machine"});
  }

  const ModelFacts& model_;
  const RequestOptions& options_;
  Request request_;
  std::optional<Diagnostic> error_;
};

}  // namespace

tl::expected<Request, Diagnostic> make_request(const ModelFacts& model,
                                               const RequestOptions& options) {
  const bool hisparse =
      options.hisparse || std::ranges::find(options.features, kHiSparse) != options.features.end();
  if (!model.is_dsa) {
    return tl::unexpected(not_sparse(hisparse ? Code::E0303 : Code::E0308, model, options));
  }
  return Builder(model, options).build();
}

}  // namespace dsakit
