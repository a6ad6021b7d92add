// A host engine that links an installed dsakit: asks once with an answer and once without.
#include <dsakit/dsakit.hpp>

#include <cstdio>

namespace {

constexpr const char* kRequest =
    R"({"platform":"cuda","arch":"sm_90","model_family":"glm_moe_dsa","kv_dtype":"fp8_e4m3","page_size":64,)"
    R"("heads":64,"topk":2048,"d_qk":576,"d_v":512,"features":["hisparse"]})";

}  // namespace

int main() {
  dsakit::api::Result error;
  const auto catalog = dsakit::api::Catalog::open("sglang", {}, &error);
  if (!catalog) {
    std::printf("no catalogue: %s\n", error.json.c_str());
    return 1;
  }
  const auto accepted = catalog.resolve(kRequest);
  const bool picked = accepted.json.find(R"("decode":"flashmla_kv")") != std::string::npos;
  std::printf("%s\n", accepted && picked ? "ok flashmla_kv" : accepted.json.c_str());

  const auto refused =
      catalog.resolve(R"({"platform":"cuda","arch":"sm_90","model_family":"nobody"})");
  std::printf("%s\n", refused.status == DSAKIT_REJECTED ? "rejected" : refused.json.c_str());
  return dsakit::api::Catalog::open("no such catalogue") ? 1 : 0;
}
