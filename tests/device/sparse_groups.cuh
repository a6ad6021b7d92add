// The cases that device tests of sparse attention put to a kernel, in groups, and their main
// program.
//
//   PROGRAM [plugin.so] [group ...]
//
// With a plugin file all calls go through its table. Prints a line a case and ends with "N passed,
// N failed"; exit status 1 if one failed, 2 if there is no device that can run the kernels. Needs
// about 6 GB of device memory. Single threaded.
#pragma once

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "sparse_runner.cuh"

namespace dsakit::test {

using Group = void (*)(Runner&);

inline void basic_cases(Runner& r) {
  for (int heads : {128, 64}) {
    r.run(make("one block", 1, heads, 64, 256));
    r.run(make("one block, many tokens", 9, heads, 64, 256));
    Case c = make("no rope", 1, heads, 64, 256);
    c.d_qk = 512;
    r.run(c);
    c = make("unsplit", 2, heads, 512);
    c.ctas = 1;
    r.run(c);
    r.run(make("split", 2, heads, 512));
    r.run(make("split", 3, heads, 2048, 32768));
    c = make("few groups", 7, heads, 1024);
    c.ctas = 6;
    r.run(c);
  }
}

inline void tiny_cases(Runner& r) {
  for (int heads : {80, 16}) {
    Case c = make("tiny", 3, heads, 200, 512);
    c.lengths = 0;
    c.invalid = 0.1f;
    c.sink = 1;
    r.run(c);
  }
}

inline void shapes_cases(Runner& r) {
  const int pairs[][2] = {{128, 128},  {256, 256}, {592, 128}, {1840, 256}, {1592, 384},
                          {1521, 512}, {95, 128},  {153, 256}, {114, 384},  {32, 2048}};
  for (const auto& p : pairs) {
    for (int tokens : {1, 62}) {
      Case c = make("prefill", tokens, tokens == 1 ? 128 : 64, p[1], static_cast<uint32_t>(p[0]));
      c.invalid = 0.05f;
      r.run(c);
    }
  }
  for (int topk : {1, 63, 65, 100, 133, 1999, 2112}) {
    for (int heads : {128, 64}) r.run(make("odd topk", 3, heads, topk, 8192));
  }
  for (int heads : {128, 64}) {
    Case c = make("one long token a range", heads == 128 ? 60 : 125, heads, 1088, 8192);
    r.run(c);
    c.lengths = 0;
    c.invalid = 0.02f;
    r.run(c);
    for (int tokens : {20, 40}) r.run(make("few partials", tokens, heads, 1088, 8192));
  }
  for (int d : {512, 576}) {
    Case c = make("213 tokens", 213, 128, 512);
    c.d_qk = d;
    r.run(c);
    c.heads = 64;
    r.run(c);
  }
}

inline void heads_cases(Runner& r) {
  for (int h : {1, 2, 7, 8, 16, 24, 32, 48, 63, 65, 80, 96, 127}) {
    Case c = make("heads", 5, h, 576);
    c.sink = 1;
    c.invalid = 0.02f;
    r.run(c);
    c.tokens = 40;
    c.topk = 192;
    r.run(c);
  }
}

inline void masks_cases(Runner& r) {
  for (int heads : {128, 64, 16}) {
    Case c = make("invalid", 6, heads, 700);
    c.invalid = 0.3f;
    r.run(c);
    c.name = "all invalid";
    c.invalid = 1.1f;
    c.sink = 1;
    r.run(c);
    c = make("lengths", 70, heads, 640);
    c.lengths = 0;
    r.run(c);
    c.invalid = 0.5f;
    c.tokens = 12;
    c.name = "lengths, half invalid";
    r.run(c);
    for (int length : {1, 63, 65, 133}) {
      c = make("length", 3, heads, 640);
      c.lengths = length;
      r.run(c);
    }
    c = make("length for 3 tokens", 12, heads, 300);
    c.lengths = 0;
    c.per_length = 3;
    r.run(c);
    c = make("duplicates", 3, heads, 300, 400);
    c.duplicates = true;
    r.run(c);
    for (int sink : {1, 2, 3}) {
      c = make("sink", 3, heads, 512);
      c.sink = sink;
      c.invalid = 0.9f;
      r.run(c);
    }
  }
}

// Random lengths, none and all among them, with few to many tokens a range.
inline void lengths_cases(Runner& r) {
  for (int heads : {128, 64, 16}) {
    for (int tokens : {2, 3, 17, 66, 67, 128, 131, 150, 300}) {
      Case c = make("random lengths", tokens, heads, tokens < 100 ? 2048 : 640, 8192);
      c.lengths = 0;
      c.per_length = tokens % 3 == 0 ? 3 : 1;
      r.run(c, static_cast<uint64_t>(tokens));
    }
    Case c = make("one length", 66, heads, 1088, 8192);
    for (int length : {1, 500, 1088}) {
      c.lengths = length;
      r.run(c);
    }
  }
}

inline void layout_cases(Runner& r) {
  for (uint32_t page : {1u, 2u, 53u, 57u, 61u, 64u, 69u, 256u, 576u}) {
    Case c = make("page", 3, page % 2 ? 128 : 64, 512, 8192);
    c.page_size = page;
    c.page_pad = page > 1 ? 1168 : 0;
    c.row_pad = page % 3 == 0 ? 16 : 0;
    r.run(c);
  }
  for (int heads : {128, 48}) {
    Case c = make("padded heads, strides", 5, heads, 512);
    c.head_pad = 3;
    r.run(c);
    c.out_shift = 1;
    c.name = "misaligned out";
    r.run(c);
    c.ctas = 1;
    r.run(c);
    c = make("int64 indices", 5, heads, 512);
    c.index64 = true;
    c.invalid = 0.1f;
    r.run(c);
    c = make("batched tokens", 12, heads, 512);
    c.tokens_inner = 3;
    r.run(c);
    c = make("log2, no max", 5, heads, 512);
    c.log2 = true;
    c.want_max = false;
    r.run(c);
    c = make("sink in lse", 5, heads, 512);
    c.lse_sink = true;
    c.sink = 1;
    r.run(c);
  }
  Case c = make("pool over 4 GiB", 2, 64, 512, 4000000);
  c.page_size = 64;
  r.run(c);
}

inline void traps_cases(Runner& r) {
  for (int heads : {128, 64, 16}) {
    for (Data data : {Data::kRising, Data::kPeaked, Data::kEqual, Data::kLastMaximum}) {
      Case c = make("trap", 2, heads, 2048, 16384);
      c.name += std::to_string(static_cast<int>(data));
      c.data = data;
      r.run(c);
      c.ctas = 1;
      r.run(c);
    }
    for (float scale : {0.5f, 1.0f, -0.1f}) {
      Case c = make("scale", 2, heads, 512);
      c.scale = scale;
      r.run(c);
    }
  }
}

inline void graph_cases(Runner& r) {
  for (int heads : {128, 64, 8}) {
    Case c = make("graph replay", 5, heads, 640);
    c.lengths = 0;
    c.invalid = 0.1f;
    r.run_graph(c);
  }
}

inline void sweep_cases(Runner& r) {
  for (int heads : {128, 64, 16}) {
    for (int tokens = 1; tokens <= 300; tokens += tokens < 140 ? 1 : 7) {
      Case c = make("sweep", tokens, heads, 320, 2048);
      c.invalid = 0.01f;
      r.run(c, static_cast<uint64_t>(tokens), true);
    }
  }
}

#ifdef DSAKIT_TEST_FP8
// Every kind of scales, alone and with each kind of data that makes small errors visible.
inline void scales_cases(Runner& r) {
  for (int heads : {128, 16}) {
    for (Rows rows :
         {Rows::kFp8, Rows::kFp8Pow2, Rows::kFp8Tiny, Rows::kFp8Huge, Rows::kFp8Mixed}) {
      for (Data data : {Data::kNormal, Data::kPeaked, Data::kEqual}) {
        Case c = make("scales", 3, heads, 1024, 8192);
        c.name += std::to_string(static_cast<int>(rows));
        c.name += " data" + std::to_string(static_cast<int>(data));
        c.rows = rows;
        c.data = data;
        if (rows == Rows::kFp8Huge || rows == Rows::kFp8Mixed) c.scale = 1e-5f;
        r.run(c);
        c.ctas = 1;
        r.run(c);
      }
    }
  }
}
#endif

using Groups = std::vector<std::pair<const char*, Group>>;

// Runs the groups that the command line names, or all, `own` ones of the program among them; the
// exit status.
inline int run_groups(int argc, char** argv, const Groups& own = {}) {
  Groups groups{{"tiny", tiny_cases},     {"basic", basic_cases}, {"shapes", shapes_cases},
                {"heads", heads_cases},   {"masks", masks_cases}, {"lengths", lengths_cases},
                {"layout", layout_cases}, {"traps", traps_cases}, {"graph", graph_cases}};
#ifdef DSAKIT_TEST_FP8
  groups.emplace_back("scales", scales_cases);
#endif
  groups.insert(groups.end(), own.begin(), own.end());
  groups.emplace_back("sweep", sweep_cases);
  int error = 0;
  Runner runner;
  runner.max_ctas = sp::device_ctas(0, &error);
  if (runner.max_ctas == 0) {
    std::printf("no device for these kernels: %s\n",
                cudaGetErrorString(static_cast<cudaError_t>(error)));
    return 2;
  }
  int multiprocessors = 0;
  DSAKIT_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  runner.ctas_at_once = runner.max_ctas / multiprocessors;
  std::printf("%d multiprocessors, %d CTAs at once\n", multiprocessors, runner.max_ctas);
  const std::string first = argc > 1 ? argv[1] : "";
  const bool by_plugin = first.find(".so") != std::string::npos;
  Plugin plugin_file = by_plugin ? Plugin(argv[1]) : Plugin();
  if (by_plugin) {
    runner.plugin = &plugin_file;
    --argc;
    ++argv;
  }
  for (const auto& [name, group] : groups) {
    bool wanted = argc < 2;
    for (int i = 1; i < argc; ++i) wanted |= std::strcmp(argv[i], name) == 0;
    if (wanted) group(runner);
  }
  std::printf("%d passed, %d failed\n", runner.passed, runner.failed);
  return runner.failed ? 1 : 0;
}

}  // namespace dsakit::test
