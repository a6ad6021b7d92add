// A real model configuration gets the same answer as the request of its family in the enumeration:
// the predicates on shapes accept the shapes that real models have.
#include <filesystem>
#include <map>

#include "device/model_config.hpp"
#include "golden/support.hpp"

namespace dsakit::golden {
namespace {

std::vector<ModelFacts> sparse_models() {
  std::vector<ModelFacts> models;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(DSAKIT_TESTS_DIR) + "/golden/models")) {
    if (entry.path().extension() != ".json") continue;
    auto facts = read_model_config(entry.path().string());
    if (facts && facts->is_dsa) models.push_back(*std::move(facts));
  }
  return models;
}

std::string outcome_with_dtype(const Answer& answer) {
  return outcome(answer) + "/" + backend(answer, Phase::mtp) + "/" + answer.kv_dtype;
}

// Many models ask the same: each distinct request is answered once.
std::string cached_outcome(const Request& request) {
  static std::map<std::string, std::string> known;
  std::string key = request.mtp ? "mtp" : "";
  for (const auto& [dim, value] : request.values) key += ";" + dim + "=" + value_json(value);
  const auto [entry, fresh] = known.try_emplace(key);
  if (fresh) entry->second = outcome_with_dtype(sglang().solver().resolve(request));
  return entry->second;
}

void expect_same(const ModelFacts& model, const RequestOptions& options) {
  Json golden = golden_request(options.device, model.family, options.kv_dtype, options.hisparse);
  if (options.mtp) golden["phases"] = {"prefill", "decode", "mtp"};
  const auto request = make_request(model, options);
  ASSERT_TRUE(request) << model.file;
  EXPECT_EQ(cached_outcome(*request), cached_outcome(parse(sglang(), golden)))
      << model.file << " --tp " << options.tp << "\n"
      << golden;
}

// DeepSeek V4 has no row in this catalogue: its models are refused as their family is.
class Models : public testing::TestWithParam<const char*> {};

TEST_P(Models, AnswerAsTheirFamily) {
  struct Flags {
    bool hisparse, mtp;
    int tp;
  };
  int models = 0;
  for (const ModelFacts& model : sparse_models()) {
    if (model.family != GetParam()) continue;
    ++models;
    for (const KnownDevice& device : known_devices()) {
      for (const char* kv_dtype : {"auto", "bf16", "fp8_e4m3"}) {
        for (const Flags& flags :
             {Flags{false, false, 1}, {true, false, 1}, {false, true, 1}, {false, false, 8}}) {
          RequestOptions options;
          options.device = device.name;
          options.kv_dtype = kv_dtype;
          options.hisparse = flags.hisparse;
          options.mtp = flags.mtp;
          options.tp = flags.tp;
          expect_same(model, options);
        }
      }
    }
  }
  EXPECT_GT(models, 0);
}

INSTANTIATE_TEST_SUITE_P(Golden, Models,
                         testing::Values("deepseek_v32", "glm_moe_dsa", "glm5_next", "hyv4",
                                         "longcat", "deepseek_v4", "deepseek_v41"),
                         [](const auto& family) { return family.param; });

}  // namespace
}  // namespace dsakit::golden
