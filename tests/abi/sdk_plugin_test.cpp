// The border code of sdk/plugin.hpp: negotiation, struct sizes, exceptions, error buffers.
#include "sdk/plugin.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <stdexcept>
#include <string>

extern "C" {
extern const char dsakit_manifest_json[];
extern const std::uint64_t dsakit_manifest_json_size;
const char dsakit_manifest_json[] =
    R"({"abi":{"max":1,"min":1},"id":"probe\"er","version":[1,20,3],"x-note":{"id":"wrong","version":[9,9,9]}})";
const std::uint64_t dsakit_manifest_json_size = sizeof(dsakit_manifest_json) - 1;
}

namespace {

using dsakit::sdk::Config;
using dsakit::sdk::Error;

// What the backend saw last, and what it should do.
struct Seen {
  Config config;
  dsakit_run_args run{};
  std::string mode;
  int alive = 0;
} seen;

class Probe {
 public:
  Probe() { ++seen.alive; }
  ~Probe() { --seen.alive; }
  static dsakit_rc probe(std::int32_t, std::int32_t, Error&) {
    act();
    return DSAKIT_RC_OK;
  }
  static dsakit_rc create(const Config& config, std::unique_ptr<Probe>& made, Error&) {
    act();
    seen.config = config;
    made = std::make_unique<Probe>();
    return DSAKIT_RC_OK;
  }
  dsakit_rc workspace(std::int64_t tokens, dsakit_workspace& answer, Error& error) const {
    act();
    if (tokens < 0)
      return error.fail(DSAKIT_RC_INVALID, "tokens = %lld", static_cast<long long>(tokens));
    answer.bytes = 640;
    answer.alignment = 64;
    return DSAKIT_RC_OK;
  }
  dsakit_rc run(const dsakit_run_args& args, Error&) {
    act();
    seen.run = args;
    return DSAKIT_RC_OK;
  }

 private:
  static void act() {
    if (seen.mode == "bad_alloc") throw std::bad_alloc();
    if (seen.mode == "exception") throw std::runtime_error("went wrong");
    if (seen.mode == "number") throw 7;
  }
};

DSAKIT_PLUGIN(Probe)

class SdkPlugin : public testing::Test {
 protected:
  void SetUp() override {
    seen = Seen{};
    host.size = sizeof(host);
    host.abi_min = host.abi_max = DSAKIT_ABI_VERSION;
    host.error = &error;
    error.size = sizeof(error);
    config.size = sizeof(config);
    config.heads = 64;
    config.d_qk = 576;
    config.d_v = 512;
    config.topk = 2048;
    config.page_size = 64;
    config.index_kpool = 1;
    config.max_tokens = 8;
    plugin = dsakit_plugin_entry_v1(&host);
  }
  void TearDown() override { EXPECT_EQ(seen.alive, 0); }

  dsakit_rc create(const char* mode = "") {
    seen.mode = mode;
    dsakit_instance* instance = nullptr;
    const dsakit_rc rc = plugin->create(&config, &instance, &error);
    EXPECT_EQ(instance != nullptr, rc == DSAKIT_RC_OK);
    plugin->destroy(instance);
    return rc;
  }

  dsakit_host host{};
  dsakit_error error{};
  dsakit_config config{};
  const dsakit_plugin* plugin = nullptr;
};

TEST_F(SdkPlugin, TableRepeatsTheManifest) {
  ASSERT_NE(plugin, nullptr);
  EXPECT_STREQ(plugin->id, "probe\\\"er");
  EXPECT_EQ(plugin->version[0], 1U);
  EXPECT_EQ(plugin->version[1], 20U);
  EXPECT_EQ(plugin->version[2], 3U);
  EXPECT_EQ(plugin->manifest, dsakit_manifest_json);
  EXPECT_EQ(plugin->manifest_size, dsakit_manifest_json_size);
  EXPECT_EQ(plugin->size, sizeof(dsakit_plugin));
  EXPECT_EQ(dsakit_plugin_entry_v1(&host), plugin);
  EXPECT_FALSE(DSAKIT_HAS_FUNCTION(plugin, prepare));
  EXPECT_FALSE(DSAKIT_HAS_FUNCTION(plugin, kv_append));
  EXPECT_FALSE(DSAKIT_HAS_FUNCTION(plugin, extension));
}

TEST_F(SdkPlugin, NegotiationRefusesWhatItCannotSpeak) {
  EXPECT_EQ(dsakit_plugin_entry_v1(nullptr), nullptr);
  host.abi_min = host.abi_max = DSAKIT_ABI_VERSION + 1;
  EXPECT_EQ(dsakit_plugin_entry_v1(&host), nullptr);
  EXPECT_EQ(error.code, DSAKIT_RC_ABI);
  EXPECT_NE(std::string(error.text).find("ABI 2 to 2"), std::string::npos);
  host.abi_min = host.abi_max = 0;
  EXPECT_EQ(dsakit_plugin_entry_v1(&host), nullptr);
  host.abi_max = 9;
  EXPECT_EQ(dsakit_plugin_entry_v1(&host), plugin);
  for (const std::uint32_t size : {0U, 4U, DSAKIT_HOST_SIZE_V1 - 1}) {
    host.size = size;
    EXPECT_EQ(dsakit_plugin_entry_v1(&host), nullptr) << size;
  }
}

TEST_F(SdkPlugin, LargerStructsAreReadUpToWhatIsKnown) {
  struct {
    dsakit_config known;
    std::array<unsigned char, 64> poison;
  } larger{};
  larger.known = config;
  larger.known.size = sizeof(larger);
  larger.poison.fill(0xFF);
  dsakit_instance* instance = nullptr;
  ASSERT_EQ(plugin->create(&larger.known, &instance, &error), DSAKIT_RC_OK);
  EXPECT_EQ(seen.config.heads, 64);
  plugin->destroy(instance);
}

TEST_F(SdkPlugin, SmallStructsAreAnAbiError) {
  for (const std::uint32_t size : {0U, 1U, DSAKIT_CONFIG_SIZE_V1 - 1}) {
    config.size = size;
    EXPECT_EQ(create(), DSAKIT_RC_ABI) << size;
  }
  config.size = sizeof(config);
  dsakit_instance* instance = nullptr;
  ASSERT_EQ(plugin->create(&config, &instance, &error), DSAKIT_RC_OK);
  dsakit_run_args args{};
  EXPECT_EQ(plugin->run(instance, &args, &error), DSAKIT_RC_ABI);
  args.size = sizeof(args);
  EXPECT_EQ(plugin->run(instance, &args, &error), DSAKIT_RC_OK);
  dsakit_kv_cache cache{};
  args.kv = &cache;
  EXPECT_EQ(plugin->run(instance, &args, &error), DSAKIT_RC_ABI);
  dsakit_workspace answer{};
  EXPECT_EQ(plugin->workspace(instance, 1, &answer, &error), DSAKIT_RC_ABI);
  plugin->destroy(instance);
}

TEST_F(SdkPlugin, NullPointersAreStatuses) {
  dsakit_instance* instance = nullptr;
  EXPECT_EQ(plugin->create(nullptr, &instance, nullptr), DSAKIT_RC_INVALID);
  EXPECT_EQ(plugin->create(&config, nullptr, nullptr), DSAKIT_RC_INVALID);
  EXPECT_EQ(plugin->run(nullptr, nullptr, nullptr), DSAKIT_RC_INVALID);
  EXPECT_EQ(plugin->workspace(nullptr, 0, nullptr, nullptr), DSAKIT_RC_INVALID);
  ASSERT_EQ(plugin->create(&config, &instance, nullptr), DSAKIT_RC_OK);
  EXPECT_EQ(plugin->run(instance, nullptr, &error), DSAKIT_RC_INVALID);
  EXPECT_EQ(plugin->workspace(instance, 0, nullptr, &error), DSAKIT_RC_INVALID);
  plugin->destroy(instance);
  plugin->destroy(nullptr);
}

TEST_F(SdkPlugin, WorkspaceWritesNoMoreThanTheCallerKnows) {
  dsakit_instance* instance = nullptr;
  ASSERT_EQ(plugin->create(&config, &instance, &error), DSAKIT_RC_OK);
  dsakit_workspace answer{};
  answer.size = sizeof(answer);
  EXPECT_EQ(plugin->workspace(instance, 3, &answer, &error), DSAKIT_RC_OK);
  EXPECT_EQ(answer.bytes, 640U);
  EXPECT_EQ(answer.alignment, 64U);
  EXPECT_EQ(answer.size, sizeof(answer));
  EXPECT_EQ(plugin->workspace(instance, -1, &answer, &error), DSAKIT_RC_INVALID);
  EXPECT_STREQ(error.text, "tokens = -1");
  plugin->destroy(instance);
}

TEST_F(SdkPlugin, ExceptionsBecomeCodes) {
  EXPECT_EQ(create("bad_alloc"), DSAKIT_RC_MEMORY);
  EXPECT_EQ(create("exception"), DSAKIT_RC_INTERNAL);
  EXPECT_NE(std::string(error.text).find("went wrong"), std::string::npos);
  EXPECT_EQ(create("number"), DSAKIT_RC_INTERNAL);
  EXPECT_EQ(plugin->probe(1, 0, nullptr), DSAKIT_RC_INTERNAL);
}

TEST_F(SdkPlugin, ErrorBuffersOfAnySize) {
  config.heads = -5;
  for (const std::uint32_t size :
       {0U, 8U, 12U, 13U, 20U, std::uint32_t{sizeof(dsakit_error)}, 4096U}) {
    dsakit_error small;
    std::memset(static_cast<void*>(&small), 0x5A, sizeof(small));
    small.size = size;
    dsakit_instance* instance = nullptr;
    EXPECT_EQ(plugin->create(&config, &instance, &small), DSAKIT_RC_INVALID);
    const std::size_t room = size < 12 ? 0 : std::min<std::size_t>(size - 12, sizeof(small.text));
    for (std::size_t i = room; i < sizeof(small.text); ++i) ASSERT_EQ(small.text[i], 0x5A) << size;
    if (room > 0) {
      EXPECT_LT(std::strlen(small.text), room) << size;
    }
    EXPECT_EQ(small.code == DSAKIT_RC_INVALID, size >= 12) << size;
  }
}

TEST_F(SdkPlugin, ConfigTokens) {
  const std::array<const char*, 2> features{"attn_sink", "vendor.special"};
  config.features = features.data();
  config.feature_count = features.size();
  config.kv_layout = "fp8_656_g128";
  config.lse = "log2";
  config.lse_empty = "minus_large";
  config.lse_sink = "included";
  config.index_mode = "ragged";
  config.out_dtype = "fp32";
  ASSERT_EQ(create(), DSAKIT_RC_OK);
  EXPECT_TRUE(seen.config.attn_sink);
  EXPECT_FALSE(seen.config.topk_length);
  EXPECT_EQ(seen.config.features.size(), 2U);
  EXPECT_EQ(seen.config.layout, dsakit::find_kv_layout("fp8_656_g128"));
  EXPECT_EQ(seen.config.lse, dsakit::sdk::LseBase::log2);
  EXPECT_EQ(seen.config.lse_empty, -1e30F);
  EXPECT_TRUE(seen.config.lse_with_sink && seen.config.ragged);
  EXPECT_EQ(seen.config.out_dtype.bits, 32);
  EXPECT_EQ(seen.config.q_dtype.code, 4);

  config.lse = "log10";
  EXPECT_EQ(create(), DSAKIT_RC_UNSUPPORTED);
  EXPECT_NE(std::string(error.text).find("lse = `log10`"), std::string::npos);
}

TEST_F(SdkPlugin, ConfigSizes) {
  const auto refuses = [&](std::int64_t dsakit_config::*field, std::int64_t value) {
    const std::int64_t before = config.*field;
    config.*field = value;
    EXPECT_EQ(create(), DSAKIT_RC_INVALID) << value;
    config.*field = before;
  };
  refuses(&dsakit_config::heads, 0);
  refuses(&dsakit_config::topk, -1);
  refuses(&dsakit_config::page_size, std::int64_t{1} << 40);
  refuses(&dsakit_config::d_v, 577);
  refuses(&dsakit_config::max_tokens, -1);
  config.feature_count = 1;
  EXPECT_EQ(create(), DSAKIT_RC_INVALID);
}

}  // namespace
