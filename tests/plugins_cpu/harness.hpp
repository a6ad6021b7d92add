// Runs the built cpu plugin through its table, as a host would, and compares with the reference.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "dsakit/kv_layout.hpp"
#include "sdk/conformance/compare.hpp"
#include "sdk/conformance/problem.hpp"

namespace dsakit::conformance {

// The table of the plugin file; loaded once.
const dsakit_plugin& cpu_plugin();

// The table's layouts that attention reads.
std::vector<KvLayout> attention_layouts();

// An instance for a problem's configuration.
class Instance {
 public:
  explicit Instance(const dsakit_config& config);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  dsakit_instance* get() { return instance_; }
  dsakit_workspace workspace(std::int64_t tokens);
  dsakit_rc run(const dsakit_run_args& args);
  const char* error() const { return error_.text; }

 private:
  dsakit_instance* instance_ = nullptr;
  dsakit_error error_{};
};

// Runs the problem in a fresh instance with a workspace of exactly the asked size.
void run(Problem& problem);
// Runs it and compares every output with the reference.
void run_and_compare(const Description& description);

}  // namespace dsakit::conformance
