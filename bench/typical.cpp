#include "typical.hpp"

#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace dsakit::bench {
namespace {

using nlohmann::json;

constexpr std::array kArchs{"sm_90", "sm_100f", "sm_120f", "sm_80-sm_89"};
constexpr std::array kPhaseSets{"prefill", "decode"};

json typical_row(int backend, int arch, int phase) {
  const bool fp8 = (backend + arch) % 2 == 0;
  json where{{"arch", {kArchs.at(static_cast<std::size_t>(arch))}},
             {"phase", {kPhaseSets.at(static_cast<std::size_t>(phase))}},
             {"kv_dtype", {fp8 ? "fp8_e4m3" : "bf16"}},
             {"heads", {{"one_of", {8, 16, 32, 64, 128}}}},
             {"topk", {{"min", 64}, {"max", 4096}, {"multiple_of", 64}}},
             {"runtime_cuda", {{"min", "12.8"}}}};
  if (phase == 1) where["phase"].push_back("mtp");
  return {{"name", fmt::format("{}-{}", kArchs.at(static_cast<std::size_t>(arch)), phase)},
          {"rank", 100 + backend % 7},
          {"where", where},
          {"provides", {{"kv_layout", fp8 ? "fp8_656_g128" : "bf16_1152"}}}};
}

}  // namespace

std::string typical_manifest(int number) {
  json rows = json::array();
  for (int arch = 0; arch < static_cast<int>(kArchs.size()); ++arch) {
    for (int phase = 0; phase < static_cast<int>(kPhaseSets.size()); ++phase) {
      rows.push_back(typical_row(number, arch, phase));
    }
  }
  return json{{"schema", 1},
              {"id", fmt::format("acme.b{:03}", number)},
              {"version", {1, 0, 0}},
              {"abi", {{"min", 1}, {"max", 1}}},
              {"summary", "A backend for benchmarks, in the shape of a real one"},
              {"vendor", "acme"},
              {"license", "Apache-2.0"},
              {"common",
               {{"platform", {"cuda"}},
                {"model_family", {"deepseek_v32", "glm_moe_dsa", "longcat"}},
                {"kv_scale", "*"},
                {"page_size", {{"one_of", {1, 64}}}},
                {"d_qk", {{"one_of", {576}}}},
                {"d_v", {{"one_of", {512}}}},
                {"index_kpool", {{"one_of", {1}}}},
                {"features", {{"subset", {"cuda_graph", "hisparse", "topk_length"}}}}}},
              {"rows", rows}}
      .dump();
}

std::string typical_request(std::string_view device) {
  return json{{"platform", "cuda"},
              {"arch", device},
              {"model_family", "glm_moe_dsa"},
              {"heads", 64},
              {"d_qk", 576},
              {"d_v", 512},
              {"topk", 2048},
              {"page_size", 64},
              {"kv_dtype", "fp8_e4m3"},
              {"features", {"cuda_graph", "topk_length"}}}
      .dump();
}

}  // namespace dsakit::bench
