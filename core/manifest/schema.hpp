// Manifest JSON → Manifest, with every rule of framework §3; and back to canonical bytes.
// Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>
#include <tl/expected.hpp>

#include "diag/diagnostic.hpp"
#include "manifest/manifest.hpp"

namespace dsakit {

enum class ManifestKind {
  source,  // a manifest.json in a plugin folder: `build` is forbidden
  built,   // embedded by dsakit_add_plugin(), or a manifest-only catalogue file
};

struct ParsedManifest {
  Manifest manifest;
  std::vector<Diagnostic> warnings;  // W0110 unknown keys
};

// `file` appears in messages only. Any schema error refuses the whole manifest: E0106 (JSON), E0107
// (path, found, allowed), E0108 (newer schema).
tl::expected<ParsedManifest, Diagnostic> parse_manifest(std::string_view json,
                                                        const std::string& file,
                                                        ManifestKind kind = ManifestKind::built);

// One JSON value as a predicate on a dimension of `type`. Without a type (the dimension is declared
// in another file) its shape alone decides, and predicate_fits() is asked once the type is known.
// `path` is the JSON path for the message.
tl::expected<Predicate, Diagnostic> parse_predicate(const nlohmann::json& value,
                                                    std::optional<DimType> type,
                                                    const std::string& file,
                                                    const std::string& path);

// Whether a predicate parsed by shape can stand on a dimension of `type` (an empty {} fits int,
// set, version).
bool predicate_fits(const Predicate& predicate, DimType type);

// A value of a dimension from request or manifest JSON; the error text says what is allowed.
tl::expected<Value, std::string> parse_value(const nlohmann::json& value, DimType type);

// Canonical bytes of a manifest: sorted keys, no spaces, final newline. Stable under parse → write
// → parse.
std::string canonical_manifest(const Manifest& manifest);

// Findings of lint on a parsed manifest: each row must mention every dimension without a neutral
// value that is not open (if only with "*"); unknown arch tokens; rows that nothing can satisfy.
// W0117 each.
std::vector<Diagnostic> lint_rows(const Manifest& manifest, const std::string& file);

}  // namespace dsakit
