// Slips in requests and policies: each is refused with a code, and where another name is meant the
// message says which.
#include "solver/support.hpp"

namespace dsakit::solver_test {
namespace {

Diagnostic refused(const std::string& request) {
  const auto parsed = parse_request(request, builtin_dimensions(), "test");
  EXPECT_FALSE(parsed) << request;
  return parsed ? Diagnostic(Code::E0404) : parsed.error();
}

std::string nearest_of(const Diagnostic& diagnostic) {
  for (const Field& field : diagnostic.fields) {
    if (field.name == "nearest") return std::get<std::string>(field.value);
  }
  return "";
}

TEST(RequestKeys, OptionsPointToTheKeyThatIsMeant) {
  const std::pair<const char*, const char*> kMeant[] = {
      {"device", "arch"},   {"family", "model_family"}, {"kv_cache_dtype", "kv_dtype"},
      {"tp", "heads"},      {"hisparse", "features"},   {"decode_backend", "decode"},
      {"page", "page_size"}};
  for (const auto& [written, meant] : kMeant) {
    const Diagnostic diagnostic = refused("{\"" + std::string(written) + "\":1}");
    EXPECT_EQ(diagnostic.code, Code::E0401) << written;
    EXPECT_EQ(nearest_of(diagnostic), meant);
  }
}

TEST(RequestKeys, EmptyValuesAreRefused) {
  EXPECT_EQ(refused(R"({"arch":""})").code, Code::E0402);
  EXPECT_EQ(refused(R"({"features":[""]})").code, Code::E0402);
  EXPECT_EQ(refused(R"({"features":""})").code, Code::E0402);
  EXPECT_EQ(refused(R"({"kv_dtype":""})").code, Code::E0402);
  EXPECT_EQ(refused(R"({"decode":""})").code, Code::E0204);
}

TEST(RequestDevice, OfAnotherPlatformIsAContradiction) {
  const auto slip = [](const char* request) {
    return device_contradiction(parse_request(request, builtin_dimensions(), "test").value());
  };
  ASSERT_TRUE(slip(R"({"platform":"xpu","arch":"cpu"})"));
  EXPECT_EQ(slip(R"({"platform":"xpu","arch":"cpu"})")->code, Code::E0408);
  EXPECT_TRUE(slip(R"({"platform":"hip","arch":"sm_90"})"));
  EXPECT_FALSE(slip(R"({"platform":"cuda","arch":"sm_90"})"));
  EXPECT_FALSE(slip(R"({"platform":"xpu"})"));
  EXPECT_FALSE(slip(R"({"platform":"xpu","arch":null})"));
  EXPECT_FALSE(slip(R"({"arch":"gfx942"})"));
}

TEST(PolicyDtypes, MustNameDtypes) {
  for (const char* policy :
       {R"({"kv_dtype":[]})", R"({"kv_dtype":["auto"]})", R"({"kv_dtype":["bf16","auto"]})",
        R"({"kv_dtype":[""]})", R"({"kv_dtype":["FP8"]})"}) {
    const auto parsed = parse_policy(policy, "policy.json");
    ASSERT_FALSE(parsed) << policy;
    EXPECT_EQ(parsed.error().code, Code::E0602);
  }
  EXPECT_TRUE(parse_policy(R"({"kv_dtype":["bfloat16"]})", "policy.json"));
}

}  // namespace
}  // namespace dsakit::solver_test
