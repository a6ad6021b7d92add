// Strict JSON: what is read and written again is read as the same.
#include "fuzz/fuzz.hpp"
#include "manifest/json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto value = dsakit::parse_strict_json(dsakit::fuzz::text(data, size));
  if (!value) {
    dsakit::fuzz::require(!value.error().empty(), "a refusal has a reason");
    return 0;
  }
  const auto reference = nlohmann::json::parse(data, data + size, nullptr, false);
  dsakit::fuzz::require(reference == *value, "the library reads the same value");
  const std::string canonical = dsakit::canonical_json(*value);
  dsakit::JsonLimits larger;
  larger.max_bytes *= 8;  // escapes may take more room than what they stand for
  const auto again = dsakit::parse_strict_json(canonical, larger);
  dsakit::fuzz::require(again && *again == *value, "the canonical text is the same value");
  dsakit::fuzz::require(dsakit::canonical_json(*again) == canonical,
                        "the canonical text is stable");
  dsakit::fuzz::require(dsakit::json_excerpt(*value).size() <= 60, "an excerpt is short");
  return 0;
}
