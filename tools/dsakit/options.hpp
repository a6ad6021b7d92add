// The options that commands share, as the user typed them, in one place. Turning them into a
// request is question.hpp's, telling the parser about them options.cpp's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dsakit::cli {

// Of `dsakit run`.
struct RunOptions {
  int batch = 4, context = 8192, prefill = 32, steps = 8, threads = 0;
  std::uint64_t seed = 1;
  std::optional<float> sm_scale;
  std::optional<std::string> tensors, out;
};

// Of `dsakit bench`: every combination is measured, or the shapes of suites.
struct BenchOptions {
  std::vector<int> heads, topk, tokens;  // empty: the defaults of shape.cpp
  std::vector<std::string> suites;
  std::optional<int> pool;  // tokens that the cache, or each request's part of it, holds
  int s_q = 1;              // tokens of a request
  bool own_pools = false, random_length = false, padded = false;
  double overlap = 0, invalid = 0;  // shares of a list
  double seconds = 0.3;             // that a shape is repeated for on the cpu
  int calls = 0;                    // that are timed on a GPU; 0: by how long one takes
  std::uint64_t seed = 1;
  std::optional<std::string> svg;
};

struct Options {
  std::string format;  // text, json, markdown; empty until the command's default is known

  std::string catalog = "local";
  std::vector<std::string> plugin_dirs;

  std::optional<std::string> policy, model_config, model_family, device, kv_dtype;
  std::optional<std::string> prefill, decode, mtp_backend;
  std::optional<std::string> phases;  // a comma list
  bool mtp = false, hisparse = false;
  std::optional<int> page_size, tp;
  std::vector<std::string> features, set;

  std::optional<std::string> request;   // one request in batch form
  std::optional<std::string> requests;  // a file of them, "-" = standard input

  std::vector<std::string> targets;  // positional: ids, files, a code
  bool why = false;
  RunOptions run;
  BenchOptions bench;

  std::optional<std::string> level, check, row, junit;  // conform
  std::optional<std::string> evidence;                  // conform, bench: folder of records
  std::string tier = "reduced";

  bool json() const { return format == "json"; }
};

}  // namespace dsakit::cli
