#include "host/instance_config.hpp"

#include <algorithm>
#include <limits>
#include <string_view>

#include <fmt/format.h>

namespace dsakit {
namespace {

struct TokenField {
  std::string_view dim;
  const char* dsakit_config::*field;
};
constexpr TokenField kTokenFields[] = {
    {"model_family", &dsakit_config::model_family},
    {"kv_scale", &dsakit_config::kv_scale},
    {"index_mode", &dsakit_config::index_mode},
    {"invalid_index", &dsakit_config::invalid_index},
    {"q_dtype", &dsakit_config::q_dtype},
    {"out_dtype", &dsakit_config::out_dtype},
    {"lse", &dsakit_config::lse},
    {"lse_sink", &dsakit_config::lse_sink},
    {"lse_empty", &dsakit_config::lse_empty},
    {"compute", &dsakit_config::compute},
    {"kv_layout", &dsakit_config::kv_layout},
};

struct IntegerField {
  std::string_view dim;
  std::int64_t dsakit_config::*field;
};
constexpr IntegerField kIntegerFields[] = {
    {"heads", &dsakit_config::heads},         {"topk", &dsakit_config::topk},
    {"d_qk", &dsakit_config::d_qk},           {"d_v", &dsakit_config::d_v},
    {"page_size", &dsakit_config::page_size}, {"index_kpool", &dsakit_config::index_kpool},
};

// Said by other fields: the device, the phase, the layout, the features.
constexpr std::string_view kElsewhere[] = {"platform", "arch", "phase", "kv_dtype", "features"};

// 14 is DLPack's number of oneAPI, newer than some systems' header.
struct Platform {
  std::string_view name;
  std::int32_t device_type;
};
constexpr Platform kPlatforms[] = {
    {"cpu", kDLCPU}, {"cuda", kDLCUDA}, {"hip", kDLROCM}, {"xpu", 14}};

std::string dim_text(const Value& value) {
  if (const auto* token = std::get_if<Token>(&value)) return *token;
  if (const auto* version = std::get_if<Version>(&value)) return version_text(*version);
  return value_json(value);
}

}  // namespace

class InstanceConfigBuilder {
 public:
  InstanceConfigBuilder(const Request& request, const Manifest& manifest, const Row& row,
                        const DimensionTable& dims)
      : request_(request), manifest_(manifest), row_(row), dims_(dims) {}

  tl::expected<InstanceConfig, Diagnostic> build(Phase phase, const InstanceOptions& options) {
    dsakit_config& config = out_.config_;
    config.size = sizeof(config);
    config.row = out_.keep(row_.name);
    config.phase = out_.keep(phase_name(phase));
    config.device_id = options.device_id;
    config.sm_count = options.sm_count;
    config.max_tokens = options.max_tokens;
    config.topk2 = options.topk2;
    config.page_size2 = options.page_size2;
    if (!read_platform() || !read_sizes()) return tl::make_unexpected(unknown(missing_));
    for (const TokenField& each : kTokenFields) {
      const Value value = settled(each.dim);
      if (const auto* token = std::get_if<Token>(&value)) config.*each.field = out_.keep(*token);
    }
    read_features();
    read_other_dimensions();
    return std::move(out_);
  }

 private:
  Value settled(std::string_view dim) const {
    const std::string name(dim);
    if (const auto found = row_.provides.find(name); found != row_.provides.end())
      return found->second;
    if (const auto found = request_.values.find(name); found != request_.values.end())
      return found->second;
    const int index = dims_.find(dim);
    if (index < 0 || !dims_.at(index).neutral) return Unknown{};
    return *dims_.at(index).neutral;
  }

  Diagnostic unknown(std::string_view dim) const {
    return Diagnostic(Code::E0710)
        .with("backend", manifest_.id)
        .with("dim", std::string(dim))
        .note(fmt::format(
            "the request says it with its key `{}`; a model configuration gives sizes of a model",
            dim));
  }

  bool read_platform() {
    missing_ = "platform";
    const Value value = settled(missing_);
    const auto* token = std::get_if<Token>(&value);
    const auto* found = std::ranges::find_if(
        kPlatforms, [&](const Platform& each) { return token && each.name == *token; });
    if (found == std::end(kPlatforms)) return false;
    out_.config_.device_type = found->device_type;
    return true;
  }

  bool read_sizes() {
    for (const IntegerField& each : kIntegerFields) {
      missing_ = each.dim;
      const Value value = settled(each.dim);
      const auto* number = std::get_if<std::int32_t>(&value);
      if (!number) return false;
      out_.config_.*each.field = *number;
    }
    return true;
  }

  void read_features() {
    const Value value = settled("features");
    const auto* features = std::get_if<Set>(&value);
    if (!features) return;
    for (const std::string& name : *features) out_.features_.push_back(out_.keep(name));
    out_.config_.features = out_.features_.data();
    out_.config_.feature_count = out_.features_.size();
  }

  // Whether a plugin must be told: it declared the dimension, or the value restricts it.
  bool concerns_plugin(const Dimension& dim, const Value& value) const {
    if (std::holds_alternative<Unknown>(value)) return false;
    const auto declared = [&](const Dimension& own) { return own.name == dim.name; };
    if (std::ranges::any_of(manifest_.dims, declared)) return true;
    return !dim.open && dim.neutral != value;
  }

  void read_other_dimensions() {
    const auto has_field = [](std::string_view name) {
      const auto same = [&](const auto& each) { return each.dim == name; };
      return std::ranges::any_of(kTokenFields, same) || std::ranges::any_of(kIntegerFields, same) ||
             std::ranges::find(kElsewhere, name) != std::end(kElsewhere);
    };
    for (int i = 0; i < dims_.size(); ++i) {
      const Dimension& dim = dims_.at(i);
      if (has_field(dim.name)) continue;
      const Value value = settled(dim.name);
      if (concerns_plugin(dim, value))
        out_.dims_.push_back({out_.keep(dim.name), out_.keep(dim_text(value))});
    }
    out_.config_.dims = out_.dims_.data();
    out_.config_.dim_count = out_.dims_.size();
  }

  const Request& request_;
  const Manifest& manifest_;
  const Row& row_;
  const DimensionTable& dims_;
  InstanceConfig out_;
  std::string_view missing_;
};

const char* InstanceConfig::keep(std::string_view text) {
  std::vector<char>& kept = texts_.emplace_back(text.begin(), text.end());
  kept.push_back('\0');
  return kept.data();
}

tl::expected<InstanceConfig, Diagnostic> InstanceConfig::make(
    const Request& request, const Manifest& manifest, const Row& row, const DimensionTable& dims,
    Phase phase, const InstanceOptions& options) {
  return InstanceConfigBuilder(request, manifest, row, dims).build(phase, options);
}

}  // namespace dsakit
