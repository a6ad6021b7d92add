// Manifests: a refusal says path, found and allowed; what is accepted is stable under a round trip.
#include <algorithm>

#include "diag/render.hpp"
#include "fuzz/fuzz.hpp"
#include "manifest/schema.hpp"

using namespace dsakit;

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
  for (const Diagnostic& finding : lint_rows(parsed->manifest, "f")) (void)render_json(finding);
  for (const Row& row : parsed->manifest.rows) {
    for (const auto& [dim, predicate] : row.where) {
      fuzz::require(!predicate_text(predicate).empty(), "a predicate has a text");
    }
  }
  return 0;
}
