// dsakit run and bench on the cpu plugin with small sizes: verdicts, numbers that must be there,
// refusals with their codes.
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli.hpp"
#include "run/engine.hpp"
#include "run/memory.hpp"
#include "run/safetensors.hpp"
#include "run/sequences.hpp"
#include "support/fake_plugin.hpp"

namespace dsakit::cli::run_cases {
namespace {

using nlohmann::json;

struct Ran {
  int exit = 0;
  std::string out, err;
};

Detection cpu_only() {
  return {{{"cpu", "cpu", 0, "Test CPU", 0, "", "", ""}}, {}};
}

Ran run_dsakit(const std::vector<std::string>& args, const Detection& detection = cpu_only()) {
  const Environment environment = parse_environment(
      {"HOME=/nonexistent", std::string("DSAKIT_PLUGIN_PATH=") + CPU_PLUGIN_DIR}, false);
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  Ran ran;
  ran.exit = run(args, {environment, [&] { return detection; }, in, out, err});
  ran.out = out.str();
  ran.err = err.str();
  return ran;
}

// A small job; sizes come from `more`.
std::vector<std::string> small_run(const std::vector<std::string>& more) {
  std::vector<std::string> args{"run", "--batch",          "2", "--context", "96",  "--steps",
                                "2",   "--prefill-tokens", "3", "--format",  "json"};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

std::string model(const std::string& name) {
  return std::string(DSAKIT_TESTS_DIR) + "/golden/models/" + name + ".json";
}

std::string sized(int heads, int topk, const std::string& more = "") {
  return "{\"platform\":\"cpu\",\"arch\":\"cpu\",\"model_family\":\"deepseek_v32\",\"heads\":" +
         std::to_string(heads) + ",\"topk\":" + std::to_string(topk) + ",\"d_qk\":576,\"d_v\":512" +
         more + "}";
}

TEST(RunCommand, RealModelsPassOnTheCpu) {
  for (const char* dtype : {"bf16", "fp8_e4m3"}) {
    const Ran ran = run_dsakit(
        small_run({"--model-config", model("glm-5.2"), "--kv-cache-dtype", dtype, "--tp", "8"}));
    ASSERT_EQ(ran.exit, 0) << ran.out << ran.err;
    const json report = json::parse(ran.out);
    EXPECT_EQ(report["verdict"], "pass");
    EXPECT_EQ(report["answer"]["kv_dtype"], dtype);
    EXPECT_EQ(report["cache"]["wrong_rows"], 0);
    EXPECT_EQ(report["cache"]["appended"], 2 * (96 + 2));
    ASSERT_EQ(report["phases"].size(), 2u);
    EXPECT_EQ(report["phases"][0]["rows_checked"], 2 * 3 * 8);
    EXPECT_EQ(report["phases"][1]["rows_checked"], 2 * 2 * 8);
    EXPECT_EQ(report["phases"][1]["seconds"].size(), 2u);
    for (const json& phase : report["phases"]) {
      EXPECT_GT(phase["out"]["elements"], 0);
      EXPECT_EQ(phase["out"]["outside"], 0);
      EXPECT_GT(phase["out"]["max_error"], 0.0) << "a result in bf16 has an error";
    }
  }
}

TEST(RunCommand, EveryLayoutAndConventionOfTheCpuPasses) {
  for (const std::string more :
       {R"(,"kv_dtype":"fp8_e4m3","kv_layout":"fp8_576_pt")",
        R"(,"kv_dtype":"fp8_e4m3","kv_layout":"fp8_576_pt_fnuz")",
        R"(,"kv_dtype":"fp8_e4m3","kv_scale":"pow2_fp32","page_size":3)",
        R"(,"kv_dtype":"bf16","features":["attn_sink","topk_length"],"lse_sink":"included")",
        R"(,"kv_dtype":"bf16","index_mode":"ragged","lse":"log2","page_size":1)",
        R"(,"kv_dtype":"bf16","q_dtype":"fp32","out_dtype":"fp16","lse":"none")",
        R"(,"kv_dtype":"bf16","q_dtype":"fp16","out_dtype":"fp32","phases":["decode"])",
        R"(,"kv_dtype":"bf16","phases":["prefill","decode","mtp"])",
        R"(,"kv_dtype":"bf16","index_kpool":4)"}) {
    const Ran ran = run_dsakit(small_run({"--request", sized(3, 35, more)}));
    EXPECT_EQ(ran.exit, 0) << more << ran.out << ran.err;
  }
  const std::string v4 =
      R"({"platform":"cpu","arch":"cpu","model_family":"deepseek_v4","heads":2,"topk":40,"d_qk":512,)"
      R"("d_v":512,"kv_dtype":"fp8_e4m3","kv_layout":"v4_584","page_size":7})";
  const Ran ran = run_dsakit(small_run({"--request", v4}));
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
}

TEST(RunCommand, TextSaysWhatWasCheckedAndPass) {
  const Ran ran = run_dsakit({"run", "--model-config", model("deepseek-v3.2"), "--tp", "64",
                              "--batch", "1", "--context", "80", "--steps", "1"});
  ASSERT_EQ(ran.exit, 0) << ran.out << ran.err;
  for (const char* text :
       {"answer", "cpu 0: Test CPU", "max error", "LSE error", "rows checked", "reference indexer",
        "bytes as the reference codec writes them", "\nPASS\n"})
    EXPECT_NE(ran.out.find(text), std::string::npos) << text << "\n" << ran.out;
}

TEST(RunCommand, DevicesAreTriedInOrderAndToldWhyNot) {
  Detection detection = cpu_only();
  detection.devices.insert(detection.devices.begin(),
                           {"sm_90", "cuda", 0, "Test GPU", 0, "", "", ""});
  const std::vector<std::string> model_args{"--model-config", model("glm-5.2"), "--tp", "32"};
  const Ran tried = run_dsakit(small_run(model_args), detection);
  ASSERT_EQ(tried.exit, 0) << tried.out << tried.err;
  const json report = json::parse(tried.out);
  EXPECT_EQ(report["device"], "cpu 0: Test CPU");
  const std::string diagnostics = report["answer"]["diagnostics"].dump();
  EXPECT_NE(diagnostics.find("W0607"), std::string::npos) << diagnostics;
  EXPECT_NE(diagnostics.find("sm_90"), std::string::npos) << diagnostics;
  auto named = model_args;
  named.insert(named.end(), {"--device", "sm_90"});
  EXPECT_NE(run_dsakit(small_run(named), detection).exit, 0) << "a named device is never changed";
}

TEST(RunCommand, ADeviceThatIsNotHereIsRefused) {
  const Ran ran = run_dsakit(small_run({"--model-config", model("glm-5.2"), "--device", "sm_120"}));
  EXPECT_EQ(ran.exit, 3);
  EXPECT_NE(ran.out.find("E0608"), std::string::npos) << ran.out;
}

TEST(RunCommand, ABackendThatCannotStartSaysWhy) {
  const Ran ran =
      run_dsakit(small_run({"--request", R"({"platform":"cpu","arch":"cpu","heads":4})"}));
  EXPECT_EQ(ran.exit, 2) << ran.out;
  EXPECT_NE(ran.out.find("E0710"), std::string::npos) << ran.out;
}

// Plugins of the host's tests, typed for both phases.
std::string typed(const char* id) {
  return sized(
      4, 16, std::string(R"(,"kv_dtype":"bf16","prefill":")") + id + R"(","decode":")" + id + "\"");
}

TEST(RunCommand, ABackendThatComputesNothingFails) {
  const Ran ran =
      run_dsakit(small_run({"--request", typed("run_correct"), "--plugin-dir", RUN_VARIANT_DIR}));
  EXPECT_EQ(ran.exit, 1) << ran.err;
  const json report = json::parse(ran.out);
  EXPECT_EQ(report["verdict"], "fail");
  EXPECT_FALSE(report["cache"]["appended_by_backend"].get<bool>());
  EXPECT_GT(report["phases"][0]["out"]["outside"], 0);
}

TEST(RunCommand, ABackendThatFailsEndsTheJob) {
  const Ran ran = run_dsakit(
      small_run({"--request", typed("run_run_throws"), "--plugin-dir", RUN_VARIANT_DIR}));
  EXPECT_EQ(ran.exit, 3) << ran.out;
  EXPECT_NE(ran.out.find("E0804"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("threw an exception"), std::string::npos) << ran.out;
}

TEST(RunCommand, ALayoutWithoutACodecCannotBeRun) {
  const auto memory = conformance::make_host_memory();
  dsakit_config config{};
  config.kv_layout = "acme_700";
  const auto cache = PagedCache::make(*memory, config, 1);
  ASSERT_FALSE(cache);
  EXPECT_EQ(cache.error().code, Code::E0805);
}

TEST(RunCommand, OutNeedsTensors) {
  EXPECT_EQ(run_dsakit({"run", "--out", "x"}).exit, 2);
}

// q, kv and indices in a file, as a user would bring them.
class TensorFiles : public testing::Test {
 protected:
  static constexpr std::int64_t kTokens = 3, kHeads = 2, kTopk = 5, kRows = 40;

  TensorFiles()
      : memory_(conformance::make_host_memory()),
        q_(*memory_, {kDLBfloat, 16, 1}, {kTokens, kHeads, 576}),
        kv_(*memory_, {kDLBfloat, 16, 1}, {kRows, 576}),
        indices_(*memory_, {kDLInt, 64, 1}, {kTokens, kTopk}),
        length_(*memory_, {kDLInt, 32, 1}, {kTokens}),
        sink_(*memory_, {kDLFloat, 32, 1}, {kHeads}) {
    for (std::size_t i = 0; i < q_.size() / 2; ++i)
      q_.as<std::uint16_t>()[i] = i % 3 == 0 ? 0x3F80 : 0xBE80;
    for (std::size_t i = 0; i < kv_.size() / 2; ++i)
      kv_.as<std::uint16_t>()[i] = i % 5 == 0 ? 0x3F00 : 0xBD80;
    for (std::int64_t i = 0; i < kTokens * kTopk; ++i)
      indices_.as<std::int64_t>()[i] = i % 4 == 3 ? -1 : i * 2;
    for (std::int64_t i = 0; i < kTokens; ++i)
      length_.as<std::int32_t>()[i] = static_cast<std::int32_t>(i + 1);
  }

  std::string write(const std::vector<NamedTensor>& tensors) {
    const std::string file = folder_ / "in.safetensors";
    EXPECT_TRUE(write_tensor_file(file, tensors));
    return file;
  }
  Ran run_file(const std::string& file, const std::vector<std::string>& more = {}) {
    std::vector<std::string> args{"run",         "--tensors", file,  "--model-family",
                                  "glm_moe_dsa", "--device",  "cpu", "--format",
                                  "json"};
    args.insert(args.end(), more.begin(), more.end());
    return run_dsakit(args);
  }

  test::TemporaryFolder folder_;
  std::unique_ptr<Memory> memory_;
  Tensor q_, kv_, indices_, length_, sink_;
};

TEST_F(TensorFiles, AreRunCheckedAndWritten) {
  const std::string file = write({{"q", q_.host()},
                                  {"kv", kv_.host()},
                                  {"indices", indices_.host()},
                                  {"topk_length", length_.host()},
                                  {"attn_sink", sink_.host()}});
  const std::string out = folder_ / "out.safetensors";
  for (const char* dtype : {"bf16", "fp8_e4m3"}) {
    const Ran ran = run_file(file, {"--kv-cache-dtype", dtype, "--out", out, "--phases", "decode"});
    ASSERT_EQ(ran.exit, 0) << ran.out << ran.err;
    EXPECT_EQ(json::parse(ran.out)["phases"][0]["rows_checked"], kTokens * kHeads);
    const auto written = TensorFile::open(out);
    ASSERT_TRUE(written);
    EXPECT_EQ(written->find("out")->shape, (std::vector<std::int64_t>{kTokens, kHeads, 512}));
    EXPECT_EQ(written->find("lse")->dtype, "F32");
  }
}

TEST_F(TensorFiles, MayHoldPackedRows) {
  const Tensor packed(*memory_, {kDLUInt, 8, 1}, {4, 10, 656});
  const std::string file =
      write({{"q", q_.host()}, {"kv", packed.host()}, {"indices", indices_.host()}});
  const Ran ran = run_file(file);
  ASSERT_EQ(ran.exit, 0) << ran.out << ran.err;
  const json report = json::parse(ran.out);
  EXPECT_EQ(report["cache"]["kv_layout"], "fp8_656_g128");
  EXPECT_EQ(report["page_size"], 10);
  EXPECT_EQ(report["cache"]["appended"], 0);
}

TEST_F(TensorFiles, ThatDoNotFitAreRefused) {
  const auto refused = [&](const std::string& file, const std::string& tensor,
                           const std::vector<std::string>& more = {}) {
    const Ran ran = run_file(file, more);
    EXPECT_EQ(ran.exit, 2) << ran.out;
    EXPECT_NE(ran.out.find("E0802"), std::string::npos) << ran.out;
    EXPECT_NE(ran.out.find("\"tensor\":\"" + tensor + "\""), std::string::npos) << ran.out;
  };
  refused(write({{"q", q_.host()}, {"kv", kv_.host()}}), "indices");
  refused(write({{"q", kv_.host()}, {"kv", kv_.host()}, {"indices", indices_.host()}}), "q");
  refused(write({{"q", q_.host()}, {"kv", sink_.host()}, {"indices", indices_.host()}}), "kv");
  refused(write({{"q", q_.host()}, {"kv", kv_.host()}, {"indices", length_.host()}}), "indices");
  refused(write({{"q", q_.host()},
                 {"kv", kv_.host()},
                 {"indices", indices_.host()},
                 {"attn_sink", length_.host()}}),
          "attn_sink");
  const std::string good =
      write({{"q", q_.host()}, {"kv", kv_.host()}, {"indices", indices_.host()}});
  refused(good, "q", {"--set", "heads=64"});
  EXPECT_EQ(run_file(good, {"--out", folder_ / "no/folder"}).exit, 3);
}

TEST(BenchCommand, MeasuresEveryShape) {
  const Ran ran =
      run_dsakit({"bench", "cpu", "--heads", "2,4", "--topk", "8", "--tokens", "1", "--pool", "64",
                  "--seconds", "0", "--kv-cache-dtype", "bf16", "--format", "json"});
  ASSERT_EQ(ran.exit, 0) << ran.out << ran.err;
  const json lines = json::parse(ran.out);
  ASSERT_EQ(lines.size(), 4u);
  for (const json& line : lines) {
    EXPECT_EQ(line["backend"], "cpu");
    EXPECT_GE(line["calls"], 3);
    EXPECT_GT(line["median_seconds"], 0.0);
    EXPECT_GT(line["gb_per_s"], 0.0);
  }
}

TEST(BenchCommand, SaysWhyAShapeIsNotMeasured) {
  const Ran ran = run_dsakit({"bench", "--heads", "2,1000", "--topk", "8", "--tokens", "1",
                              "--phases", "decode", "--pool", "64", "--seconds", "0",
                              "--kv-cache-dtype", "bf16", "--format", "json"});
  ASSERT_EQ(ran.exit, 0) << ran.out << ran.err;
  const json lines = json::parse(ran.out);
  EXPECT_FALSE(lines[0].contains("refused"));
  EXPECT_TRUE(lines[1].contains("refused"));
}

TEST(Sequences, TheSameSeedGivesTheSameListsAndNeighboursShareKeys) {
  const IndexedSequences a({1, 400, 64, 8, 1, 7});
  const IndexedSequences b({1, 400, 64, 8, 1, 7});
  std::vector<std::int32_t> first(64);
  std::vector<std::int32_t> again(64);
  std::vector<std::int32_t> next(64);
  a.select(0, 300, first);
  b.select(0, 300, again);
  EXPECT_EQ(first, again);
  a.select(0, 301, next);
  EXPECT_GT(overlap(first, next), 0.5);
  EXPECT_LT(overlap(first, next), 1.0);
  a.select(0, 9, next);
  for (std::size_t i = 0; i < next.size(); ++i)
    EXPECT_EQ(next[i] >= 0, i < 10) << "a token sees itself and what is before it";
}

}  // namespace
}  // namespace dsakit::cli::run_cases
