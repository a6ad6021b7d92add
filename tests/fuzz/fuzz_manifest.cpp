// Manifests: a refusal says path, found and allowed; what is accepted is stable under a round trip,
// and of a catalogue of such a manifest resolve and validate say the same.
#include <algorithm>

#include "catalog/catalog.hpp"
#include "diag/render.hpp"
#include "fuzz/fuzz.hpp"
#include "manifest/schema.hpp"

using namespace dsakit;

namespace {

constexpr std::string_view kRequests[] = {
    R"({"id":"few"})",
    R"({"arch":"sm_90","model_family":"deepseek_v32","kv_dtype":"auto","features":["hisparse"],"topk":2048})",
    R"({"arch":"gfx942","heads":16,"page_size":64,"kv_dtype":"fp8_e4m3","phases":["prefill","decode"],"decode":"acme"})"};

void ask(std::string_view manifest) {
  const auto catalog = Catalog::from_texts({{"f", std::string(manifest)}}, "fuzz");
  const Solver& solver = catalog->solver();
  for (const std::string_view line : kRequests) {
    const auto request = parse_request(line, solver.dimensions(), "fuzz");
    if (!request) continue;  // the catalogue may declare such a dimension otherwise
    const Answer answer = solver.resolve(*request);
    fuzz::require(solver.validate(*request).ok() == answer.ok(), "validate agrees with resolve");
    fuzz::require(answer.ok() || !answer.diagnostics.empty(), "a rejection has a reason");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text(data, size);
  (void)parse_manifest(text, "f", ManifestKind::source);
  const auto parsed = parse_manifest(text, "f");
  if (!parsed) {
    if (parsed.error().code == Code::E0107)
      fuzz::require(parsed.error().fields.size() == 4, "a refusal is complete");
    fuzz::require(!render_text(parsed.error()).empty(), "a refusal has a text");
    return 0;
  }
  const std::string canonical = canonical_manifest(parsed->manifest);
  // Defaults and escapes can make canonical text longer than what was written.
  if (canonical.size() <= 64 * 1024) {
    const auto again = parse_manifest(canonical, "f");
    fuzz::require(again.has_value(), "canonical bytes are accepted");
    fuzz::require(canonical_manifest(again->manifest) == canonical, "canonical bytes are stable");
  }
  if (size % 8 == 0) ask(text);  // it takes as long as ten readings
  for (const Diagnostic& finding : lint_rows(parsed->manifest, "f")) (void)render_json(finding);
  for (const Row& row : parsed->manifest.rows) {
    for (const auto& [dim, predicate] : row.where) {
      fuzz::require(!predicate_text(predicate).empty(), "a predicate has a text");
    }
  }
  return 0;
}
