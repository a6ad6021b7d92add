#include "typical.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "manifest/plugin_file.hpp"

namespace dsakit::bench {
namespace {

using nlohmann::json;

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string id_of(int number) {
  return fmt::format("acme.b{:03}", number);
}

std::string note_of(const std::string& manifest) {
  const auto note = encode_note_descriptor(manifest);
  return {reinterpret_cast<const char*>(note.data()), note.size()};
}

}  // namespace

std::string typical_manifest(int number) {
  json manifest = json::parse(read_file(BENCH_MANIFEST));
  manifest["id"] = id_of(number);
  for (json& row : manifest["rows"]) {
    row["rank"] = 100 + number % 7;
    if (number % 2 == 0) continue;
    const bool fp8 = row["where"]["kv_dtype"][0] == "fp8_e4m3";
    row["where"]["kv_dtype"][0] = fp8 ? "bf16" : "fp8_e4m3";
    row["provides"]["kv_layout"] = fp8 ? "bf16_1152" : "fp8_656_g128";
  }
  return manifest.dump();
}

std::string typical_request(std::string_view device) {
  return json{{"platform", "cuda"},
              {"arch", device},
              {"heads", 64},
              {"model_family", "glm_moe_dsa"},
              {"d_qk", 576},
              {"d_v", 512},
              {"topk", 2048},
              {"page_size", 64},
              {"kv_dtype", "fp8_e4m3"},
              {"features", {"cuda_graph", "topk_length"}}}
      .dump();
}

PluginFolder::PluginFolder() {
  path_ = (std::filesystem::temp_directory_path() / "dsakit_bench_XXXXXX").string();
  if (!mkdtemp(path_.data())) throw std::runtime_error("cannot make " + path_);
  const std::string image = read_file(BENCH_PLUGIN);
  const auto plugin = read_plugin_file(BENCH_PLUGIN);
  if (!plugin) throw std::runtime_error("cannot read the manifest of " BENCH_PLUGIN);
  const std::string old_note = note_of(plugin->manifest_json);
  const std::size_t note_at = image.find(old_note);
  const std::size_t id_at = plugin->manifest_json.find(id_of(0));
  for (int number = 0; number < kBackends; ++number) {
    const std::string id = id_of(number);
    std::string manifest = plugin->manifest_json;
    manifest.replace(id_at, id.size(), id);
    std::string copy = image;
    copy.replace(note_at, old_note.size(), note_of(manifest));
    std::ofstream(fmt::format("{}/libdsakit_{}.so", path_, id), std::ios::binary) << copy;
  }
}

PluginFolder::~PluginFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace dsakit::bench
