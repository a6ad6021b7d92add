// How long it takes to learn what one plugin file claims, without loading it. The bar speaks of
// manifest_read: the file is opened, its ELF headers are checked, the note is read and the JSON in
// it becomes a Manifest.
#include <benchmark/benchmark.h>

#include "manifest/plugin_file.hpp"
#include "manifest/schema.hpp"

namespace dsakit::bench {
namespace {

void manifest_read(benchmark::State& state) {
  for (auto _ : state) {
    const auto plugin = read_plugin_file(BENCH_PLUGIN);
    auto parsed = parse_manifest(plugin.value().manifest_json, BENCH_PLUGIN);
    benchmark::DoNotOptimize(parsed);
    if (!parsed) state.SkipWithError("the manifest was refused");
  }
}
BENCHMARK(manifest_read)->Unit(benchmark::kMicrosecond);

void read_file_only(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(read_plugin_file(BENCH_PLUGIN));
}
BENCHMARK(read_file_only)->Unit(benchmark::kMicrosecond);

void parse_only(benchmark::State& state) {
  const std::string json = read_plugin_file(BENCH_PLUGIN).value().manifest_json;
  for (auto _ : state) benchmark::DoNotOptimize(parse_manifest(json, BENCH_PLUGIN));
  state.counters["bytes"] = static_cast<double>(json.size());
}
BENCHMARK(parse_only)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace dsakit::bench
