// One edit of one manifest moves every view together: resolve, validate, the allowed set, the
// choices of help texts and the suggestions. Nothing else holds a copy of what a backend supports.
#include <algorithm>

#include "golden/support.hpp"

namespace dsakit::golden {
namespace {

constexpr const char* kBackend = "trtllm";
constexpr const char* kArch = "sm_103";

Texts without_arch(Texts texts) {
  for (auto& [file, text] : texts) {
    if (file != std::string("sglang/") + kBackend + ".json") continue;
    Json manifest = Json::parse(text);
    Json& archs = manifest["common"]["arch"];
    archs.erase(std::remove(archs.begin(), archs.end(), kArch), archs.end());
    text = manifest.dump();
  }
  return texts;
}

const Catalog& edited() {
  static const auto catalog = Catalog::from_texts(without_arch(catalog_texts("sglang")), "sglang");
  return *catalog;
}

bool mentions(const std::vector<Session>& sessions) {
  return std::any_of(sessions.begin(), sessions.end(), [](const Session& s) {
    return std::find(s.backend.begin(), s.backend.end(), kBackend) != s.backend.end();
  });
}

bool usable(const Catalog& catalog, Phase phase) {
  for (const Choice& choice : catalog.solver().choices(phase, "cuda", kArch)) {
    if (choice.id == kBackend) return choice.usable;
  }
  return false;
}

// Whether a suggestion or any text of the answer's helps names the backend.
bool hinted(const Answer& answer) {
  for (const Suggestion& suggestion : answer.suggestions) {
    if (suggestion.json.find(kBackend) != std::string::npos) return true;
  }
  for (const Diagnostic& diagnostic : answer.diagnostics) {
    for (const std::string& help : diagnostic.helps) {
      if (help.find(kBackend) != std::string::npos) return true;
    }
  }
  return false;
}

const Json kRequest = golden_request(kArch, "glm5_next", "fp8_e4m3", false);

TEST(OneEdit, TheFullCatalogueHasTheBackendInEveryView) {
  const Solver& solver = sglang().solver();
  EXPECT_EQ(outcome(resolve(sglang(), kRequest)), "trtllm/trtllm/fp8_512_pt");
  EXPECT_TRUE(solver.validate(parse(sglang(), with(kRequest, "decode", kBackend))).ok());
  EXPECT_TRUE(mentions(solver.allowed_set(parse(sglang(), kRequest))));
  EXPECT_TRUE(usable(sglang(), Phase::prefill));
  EXPECT_TRUE(usable(sglang(), Phase::decode));
  EXPECT_TRUE(hinted(resolve(sglang(), with(kRequest, "decode", "flashmla_kv"))));
}

TEST(OneEdit, RemovingOneArchMovesEveryView) {
  const Solver& solver = edited().solver();
  EXPECT_EQ(outcome(resolve(edited(), kRequest)), "rejected");
  EXPECT_FALSE(solver.validate(parse(edited(), with(kRequest, "decode", kBackend))).ok());
  EXPECT_FALSE(mentions(solver.allowed_set(parse(edited(), kRequest))));
  EXPECT_FALSE(usable(edited(), Phase::prefill));
  EXPECT_FALSE(usable(edited(), Phase::decode));
  EXPECT_FALSE(hinted(resolve(edited(), with(kRequest, "decode", "flashmla_kv"))));
}

TEST(OneEdit, AnotherBackendTakesOverWhereOneExists) {
  const Json request = golden_request(kArch, "glm_moe_dsa", "fp8_e4m3", false);
  EXPECT_EQ(outcome(resolve(sglang(), request)), "trtllm/trtllm/fp8_576_pt");
  EXPECT_EQ(outcome(resolve(edited(), request)), "flashmla_kv/flashmla_kv/fp8_656_g128");
}

TEST(OneEdit, OtherDevicesKeepTheirAnswers) {
  for (const KnownDevice& device : known_devices()) {
    if (device.name == kArch) continue;
    for (const char* family : {"deepseek_v32", "glm_moe_dsa", "glm5_next", "hyv4"}) {
      for (const char* kv_dtype : {"bf16", "fp8_e4m3"}) {
        const Json request = golden_request(std::string(device.name), family, kv_dtype, false);
        EXPECT_EQ(outcome(resolve(sglang(), request)), outcome(resolve(edited(), request)))
            << request;
      }
    }
  }
}

}  // namespace
}  // namespace dsakit::golden
