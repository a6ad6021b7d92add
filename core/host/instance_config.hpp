// From a request and the manifest row that serves it to the dsakit_config that a plugin is created
// with. The request's dimensions are the only source: what a row provides wins, then what was
// requested, then the neutral value; nothing is listed twice.
//
// Invariants: the config borrows from the object that holds it, which can be moved but not copied.
// Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "diag/diagnostic.hpp"
#include "dsakit/plugin_abi.h"
#include "manifest/manifest.hpp"
#include "solver/request.hpp"

namespace dsakit {

// What an engine decides beyond the request.
struct InstanceOptions {
  std::int32_t device_id = 0;
  std::int32_t sm_count = 0;    // multiprocessors or threads; 0: all of them
  std::int64_t max_tokens = 0;  // most query tokens of one run
  std::int64_t topk2 = 0;       // of the second cache; 0: there is none
  std::int64_t page_size2 = 0;
};

class InstanceConfig {
 public:
  // `row` is a row of `manifest`. E0710 if a size that a plugin needs is unknown.
  static tl::expected<InstanceConfig, Diagnostic> make(const Request& request,
                                                       const Manifest& manifest, const Row& row,
                                                       const DimensionTable& dims, Phase phase,
                                                       const InstanceOptions& options);

  const dsakit_config& get() const { return config_; }

 private:
  InstanceConfig() = default;
  dsakit_config config_{};
  std::vector<std::vector<char>> texts_;  // what config_ points to; moves keep the addresses
  std::vector<const char*> features_;
  std::vector<dsakit_dim> dims_;

  const char* keep(std::string_view text);
  friend class InstanceConfigBuilder;
};

}  // namespace dsakit
