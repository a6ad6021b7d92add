// A model's config.json: any bytes give facts that agree with each other, or a coded error that
// prints; and the facts give a request.
#include "device/model_config.hpp"
#include "diag/render.hpp"
#include "fuzz/fuzz.hpp"

namespace {

using dsakit::Code;
using dsakit::Diagnostic;
using dsakit::ModelFacts;
using dsakit::fuzz::require;

void check_refusal(const Diagnostic& error) {
  require(!render_text(error).empty() && !render_json(error).empty(), "a refusal prints");
}

void check_facts(const ModelFacts& facts) {
  require(!facts.why.empty(), "the facts have a reason");
  require(facts.is_dsa == !facts.family.empty(), "a DSA model has a family");
  require(facts.is_dsa == facts.index_row_width.has_value(), "a DSA model has a row width");
  if (facts.is_dsa) {
    require(*facts.index_row_width == *facts.index_topk + facts.index_kpool - 1,
            "the row holds the top-k and the rest of the last pool");
  }
  if (facts.d_qk && facts.d_v) require(*facts.d_qk >= *facts.d_v, "keys are as wide as values");
}

dsakit::RequestOptions options_from(std::size_t size) {
  dsakit::RequestOptions options;
  options.device = "sm_90";
  options.tp = static_cast<int>(size % 5);
  options.hisparse = size % 2 == 0;
  return options;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::optional<std::string> family;
  if (size % 3 == 0) {
    const std::vector<std::string> families = dsakit::known_families();
    family = families[size / 3 % families.size()];
  }
  const auto facts =
      dsakit::parse_model_config(dsakit::fuzz::text(data, size), "fuzz.json", family);
  if (!facts) {
    const Code code = facts.error().code;
    require(code == Code::E0502 || code == Code::E0503, "a refusal is about the file");
    check_refusal(facts.error());
    return 0;
  }
  check_facts(*facts);
  const auto request = make_request(*facts, options_from(size));
  if (request) {
    require(facts->is_dsa, "only DSA models make a request");
  } else {
    check_refusal(request.error());
  }
  return 0;
}
