// A catalogue of the size that the speed bars speak of: backends with eight rows each, shaped like
// the manifests in catalogs/ (a common part, then one row an arch, KV dtype and phase).
// Deterministic; any thread.
#pragma once

#include <string>
#include <string_view>

namespace dsakit::bench {

inline constexpr int kBackends = 64;

// The manifest JSON of backend `number`, with eight rows. The id is acme.b000 … and always of one
// length.
std::string typical_manifest(int number);

// GLM-5.2 with FP8 rows on `device`, in batch form; accepted by some of the backends on known
// devices.
std::string typical_request(std::string_view device);

}  // namespace dsakit::bench
