// Serves a handful of requests twice: all together, joining and leaving a running batch, and one by
// one. Both must give the same tokens.
//
// usage: host_engine [PLUGIN_FOLDER…]
#include <cstdio>
#include <string>
#include <vector>

#include "engine.hpp"

namespace {

using host_engine::Engine;
using host_engine::Settings;

struct Prompt {
  std::size_t length, wanted;
};
constexpr Prompt kPrompts[] = {{40, 12}, {3, 20}, {129, 6}, {1, 1}, {64, 16}, {17, 9}};

// `deterministic`: a token's bits depend on its own inputs alone, whatever else is in the batch.
constexpr const char* kRequest =
    R"({"platform":"cpu","arch":"cpu","model_family":"glm_moe_dsa","kv_dtype":"fp8_e4m3","page_size":16,)"
    R"("heads":8,"topk":64,"d_qk":576,"d_v":512,"features":["deterministic"]})";

std::vector<int> words(std::size_t length) {
  std::vector<int> prompt(length);
  for (std::size_t i = 0; i < length; ++i) prompt[i] = static_cast<int>(i * i + length) % 1000;
  return prompt;
}

// The tokens of each request; empty if something failed.
std::vector<std::vector<int>> serve(const Settings& settings, bool together) {
  std::string error;
  auto engine = Engine::start(settings, error);
  if (!engine) {
    std::fprintf(stderr, "no engine: %s\n", error.c_str());
    return {};
  }
  if (together) std::printf("%s\n", engine->answer().c_str());
  int steps = 0;
  for (const Prompt& prompt : kPrompts) {
    engine->submit(words(prompt.length), prompt.wanted);
    if (together) continue;
    while (engine->step()) ++steps;
  }
  while (together && engine->step()) ++steps;
  if (!engine->error().empty()) {
    std::fprintf(stderr, "%s\n", engine->error().c_str());
    return {};
  }
  std::printf("%s: %zu requests, %d rounds, at most %zu at once\n",
              together ? "together" : "one by one", engine->results().size(), steps,
              engine->most_running());
  std::vector<std::vector<int>> tokens;
  for (const auto& [id, all] : engine->results()) tokens.push_back(all);
  return tokens;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  settings.request = kRequest;
  settings.plugin_dirs.assign(argv + 1, argv + argc);
  settings.pages = 20;
  settings.max_batch = 4;
  const auto together = serve(settings, true);
  const auto alone = serve(settings, false);
  const bool same = !together.empty() && together == alone;
  std::printf("%s\n", same ? "the same tokens" : "DIFFERENT tokens");
  return same ? 0 : 1;
}
