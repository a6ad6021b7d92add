// The launches that made this project necessary, by name, in catalogue sglang.
#include <algorithm>

#include "device/model_config.hpp"
#include "diag/render.hpp"
#include "golden/support.hpp"

namespace dsakit::golden {
namespace {

Json hisparse(const std::string& device, const std::string& kv_dtype,
              const std::string& family = "glm_moe_dsa") {
  return golden_request(device, family, kv_dtype, true);
}

bool has_code(const Answer& answer, Code code) {
  return std::any_of(answer.diagnostics.begin(), answer.diagnostics.end(),
                     [&](const Diagnostic& d) { return d.code == code; });
}

std::string model(const std::string& name) {
  return std::string(DSAKIT_TESTS_DIR) + "/golden/models/" + name + ".json";
}

TEST(Seeds, HiSparseOnSm120ResolvesAndValidates) {
  const Json request = hisparse("sm_120", "fp8_e4m3");
  EXPECT_EQ(outcome(resolve(sglang(), request)),
            "flashinfer_sparse_mla/flashinfer_sparse_mla/fp8_656_g128");
  const Json typed =
      with(with(request, "prefill", "flashinfer_sparse_mla"), "decode", "flashinfer_sparse_mla");
  EXPECT_TRUE(sglang().solver().validate(parse(sglang(), typed)).ok());
}

TEST(Seeds, HiSparseOnSm120WithARealModel) {
  const auto facts = read_model_config(model("glm-5.2-fp8"));
  ASSERT_TRUE(facts);
  RequestOptions options;
  options.device = "sm_120";
  options.kv_dtype = "fp8_e4m3";
  options.hisparse = true;
  const auto request = make_request(*facts, options);
  ASSERT_TRUE(request);
  EXPECT_EQ(outcome(sglang().solver().resolve(*request)),
            "flashinfer_sparse_mla/flashinfer_sparse_mla/fp8_656_g128");
}

TEST(Seeds, HiSparseOnSm90AndSm100RoutesByDtype) {
  for (const char* device : {"sm_90", "sm_100"}) {
    EXPECT_EQ(outcome(resolve(sglang(), hisparse(device, "fp8_e4m3"))),
              "flashmla_kv/flashmla_kv/fp8_656_g128");
    EXPECT_EQ(outcome(resolve(sglang(), hisparse(device, "bf16"))),
              "flashmla_sparse/flashmla_sparse/bf16_1152");
  }
}

// The sessions that a refusal names are those of this GPU, model and dtype, and the suggestions
// follow them.
void expect_only_flashmla_kv(const Answer& answer, const char* phase) {
  const Json json = Json::parse(to_json(answer));
  const Json& refusal = json["diagnostics"][0];
  EXPECT_EQ(refusal["code"], "E0203");
  EXPECT_EQ(
      refusal["sessions"],
      Json::array(
          {{{"prefill", "flashmla_kv"}, {"decode", "flashmla_kv"}, {"kv_dtype", "fp8_e4m3"}}}));
  bool suggested = false;
  for (const Json& suggestion : json["suggestions"]) {
    const Json value = suggestion["set"].value(phase, Json());
    EXPECT_TRUE(value.is_null() || value == "flashmla_kv") << suggestion;
    suggested |= value == "flashmla_kv";
  }
  EXPECT_TRUE(suggested) << json;
}

TEST(Seeds, TypedFlashmlaSparseWithFp8UnderHiSparseIsRefusedWithWhatIsAllowed) {
  for (const char* device : {"sm_90", "sm_100"}) {
    for (const char* phase : {"prefill", "decode"}) {
      const Answer answer =
          resolve(sglang(), with(hisparse(device, "fp8_e4m3"), phase, "flashmla_sparse"));
      ASSERT_FALSE(answer.ok());
      expect_only_flashmla_kv(answer, phase);
    }
  }
}

TEST(Seeds, WithoutHiSparseTheFp8PrefillRowIsAccepted) {
  const Json request = golden_request("sm_90", "glm_moe_dsa", "fp8_e4m3", false);
  EXPECT_EQ(outcome(resolve(sglang(), with(request, "prefill", "flashmla_sparse"))),
            "flashmla_sparse/flashmla_kv/fp8_656_g128");
}

TEST(Seeds, HiSparseOnGfx942GivesTilelangAndAcceptsAiter) {
  EXPECT_EQ(outcome(resolve(sglang(), hisparse("gfx942", "bf16"))), "tilelang/tilelang/bf16_1152");
  EXPECT_EQ(outcome(resolve(sglang(), hisparse("gfx942", "fp8_e4m3"))),
            "tilelang/tilelang/fp8_576_pt_fnuz");
  const Json aiter = with(with(hisparse("gfx942", "bf16"), "prefill", "aiter"), "decode", "aiter");
  EXPECT_EQ(outcome(resolve(sglang(), aiter)), "aiter/aiter/bf16_1152");
}

TEST(Seeds, AForeignKvDtypeIsRefusedWithTheAcceptedSpellings) {
  const Answer answer = resolve(sglang(), hisparse("sm_90", "fp8_e5m2"));
  EXPECT_FALSE(answer.ok());
  EXPECT_TRUE(has_code(answer, Code::E0406)) << to_json(answer);
  const std::string text = to_json(answer);
  for (const char* spelling : {"bf16", "bfloat16", "fp8_e4m3"}) {
    EXPECT_NE(text.find(spelling), std::string::npos) << spelling << " is not in " << text;
  }
}

TEST(Seeds, AModelWithoutSparseAttentionIsRefusedFirst) {
  const auto facts = read_model_config(model("llama-3.1-8b"));
  ASSERT_TRUE(facts);
  RequestOptions options;
  options.device = "no_such_device";
  options.kv_dtype = "fp8_e5m2";
  options.choice[index(Phase::decode)] = Typed{"no_such_backend", {}};
  options.hisparse = true;
  const auto refused = make_request(*facts, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::E0303);
}

TEST(Seeds, RowsOf576And656BytesAreNotPaired) {
  const Json request = golden_request("sm_100", "glm_moe_dsa", "fp8_e4m3", false);
  const Answer answer =
      resolve(sglang(), with(with(request, "prefill", "trtllm"), "decode", "flashmla_kv"));
  EXPECT_FALSE(answer.ok());
  EXPECT_TRUE(has_code(answer, Code::E0305)) << to_json(answer);
  const std::string text = to_json(answer);
  EXPECT_NE(text.find("fp8_576_pt"), std::string::npos) << text;
  EXPECT_NE(text.find("fp8_656_g128"), std::string::npos) << text;
}

TEST(Catalogue, IsReadWithoutAComplaint) {
  EXPECT_EQ(sglang().entries().size(), catalog_texts("sglang").size());
  for (const CatalogEntry& entry : sglang().entries()) {
    EXPECT_EQ(entry.status, CatalogEntry::Status::used) << entry.file;
    EXPECT_TRUE(entry.diagnostics.empty()) << entry.file << "\n"
                                           << render_text(entry.diagnostics.front());
  }
}

}  // namespace
}  // namespace dsakit::golden
