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

// Of `dsakit bench`: every combination is measured.
struct BenchOptions {
  std::vector<int> heads{8, 16, 32, 64, 128}, topk{2048}, tokens{1, 8};
  int pool = 65536;      // tokens that the cache holds
  double seconds = 0.3;  // that a shape is repeated for
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
  std::optional<std::string> evidence;                  // conform: folder of records
  std::string tier = "reduced";

  bool json() const { return format == "json"; }
};

}  // namespace dsakit::cli
