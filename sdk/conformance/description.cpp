#include "sdk/conformance/description.hpp"

#include <algorithm>

#include "dsakit/kv_layout.hpp"

namespace dsakit::conformance {

std::vector<std::string> Description::all_features() const {
  std::vector<std::string> all = features;
  const auto imply = [&](bool used, const char* name) {
    if (used && std::ranges::find(all, name) == all.end()) all.emplace_back(name);
  };
  imply(sink, "attn_sink");
  imply(lengths && !ragged, "topk_length");
  imply(topk2 > 0, "second_cache");
  imply(max_logits, "max_logits");
  return all;
}

std::string describe(const Description& d) {
  const auto number = [](const char* name, std::int64_t value) {
    return std::string(name) + " " + std::to_string(value);
  };
  std::string text = d.phase + ", " + number("tokens", d.batch) +
                     (d.s_q == 1 ? "" : " x " + std::to_string(d.s_q)) + ", " +
                     number("heads", d.heads) + ", " + number("topk", d.topk) + ", " +
                     number("pages", d.pages) + " of " + std::to_string(d.page_size);
  if (d.topk2 > 0)
    text += ", " + number("topk2", d.topk2) + ", " + number("pages2", d.pages2) + " of " +
            std::to_string(d.page_size2);
  const std::pair<bool, const char*> flags[] = {{d.ragged, "ragged"},
                                                {d.wide_indices, "int64 indices"},
                                                {d.flat_cache, "flat cache"},
                                                {d.invalid > 0, "invalid indices"},
                                                {d.lengths, "topk_length"},
                                                {d.sink, "sink"},
                                                {d.odd_strides, "odd strides"},
                                                {d.page_gap > 0, "distant pages"},
                                                {d.unselected_nan, "NaN elsewhere"}};
  for (const auto& [set, name] : flags)
    if (set) text += std::string(", ") + name;
  const Description neutral;
  const std::pair<const std::string*, const std::string*> tokens[] = {
      {&d.lse_base, &neutral.lse_base},   {&d.lse_sink, &neutral.lse_sink},
      {&d.lse_empty, &neutral.lse_empty}, {&d.q_dtype, &neutral.q_dtype},
      {&d.out_dtype, &neutral.out_dtype}, {&d.kv_scale, &neutral.kv_scale}};
  for (const auto& [value, usual] : tokens)
    if (*value != *usual) text += ", " + *value;
  return text;
}

OwnedConfig::OwnedConfig(const Description& description)
    : text_(description), features_(description.all_features()) {
  const KvLayout* layout = find_kv_layout(text_.layout);
  for (const std::string& name : features_) feature_names_.push_back(name.c_str());
  for (const auto& [name, value] : text_.dims) dims_.push_back({name.c_str(), value.c_str()});
  config.size = sizeof(config);
  config.device_type = text_.device.device_type;
  config.device_id = text_.device.device_id;
  config.sm_count = text_.threads;
  config.row = text_.row.empty() ? nullptr : text_.row.c_str();
  config.phase = text_.phase.c_str();
  config.model_family = text_.model_family.c_str();
  config.kv_layout = text_.layout.c_str();
  config.kv_scale = text_.kv_scale.c_str();
  config.index_mode = text_.ragged ? "ragged" : "physical";
  config.invalid_index = text_.invalid_index.c_str();
  config.q_dtype = text_.q_dtype.c_str();
  config.out_dtype = text_.out_dtype.c_str();
  config.lse = text_.lse_base.c_str();
  config.lse_sink = text_.lse_sink.c_str();
  config.lse_empty = text_.lse_empty.c_str();
  config.compute = text_.compute.c_str();
  config.features = feature_names_.data();
  config.feature_count = feature_names_.size();
  config.dims = dims_.data();
  config.dim_count = dims_.size();
  config.heads = text_.heads;
  config.d_qk = text_.d_qk != 0 || layout == nullptr ? text_.d_qk : layout->d_qk();
  config.d_v = text_.d_v != 0 || layout == nullptr ? text_.d_v : layout->d_v;
  config.topk = text_.topk;
  config.topk2 = text_.topk2;
  config.page_size = text_.page_size;
  config.page_size2 = text_.page_size2;
  config.index_kpool = text_.index_kpool;
  config.max_tokens = text_.tokens();
}

}  // namespace dsakit::conformance
