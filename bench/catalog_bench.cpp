// How long it takes to open a folder of 64 plugins, in this process and as the command `dsakit
// list`, process start included.
#include <benchmark/benchmark.h>

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "catalog/catalog.hpp"
#include "typical.hpp"

namespace dsakit::bench {
namespace {

const PluginFolder& folder() {
  static const PluginFolder folder;
  return folder;
}

void catalog_open(benchmark::State& state) {
  SearchDir dir;
  dir.path = folder().path();
  dir.origin = "API";
  std::size_t used = 0;
  for (auto _ : state) {
    const auto catalog = Catalog::open_plugins({dir});
    used = catalog->solver().ids().size();
  }
  if (used != kBackends) state.SkipWithError("expected every plugin to be used");
}
BENCHMARK(catalog_open)->Unit(benchmark::kMillisecond);

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

// Its time is the processor time of the child, user and system.
void list_command(benchmark::State& state) {
  const std::string search = "DSAKIT_PLUGIN_PATH=" + folder().path();
  std::string program = BENCH_PROGRAM, command = "list";
  char* const arguments[] = {program.data(), command.data(), nullptr};
  std::string variable = search;
  char* const variables[] = {variable.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  for (auto _ : state) {
    pid_t child = 0;
    int status = -1;
    rusage usage{};
    if (posix_spawn(&child, BENCH_PROGRAM, &actions, nullptr, arguments, variables) != 0 ||
        wait4(child, &status, 0, &usage) != child || status != 0) {
      state.SkipWithError("dsakit list failed");
      break;
    }
    state.SetIterationTime(seconds(usage.ru_utime) + seconds(usage.ru_stime));
  }
  posix_spawn_file_actions_destroy(&actions);
}
BENCHMARK(list_command)->Unit(benchmark::kMillisecond)->UseManualTime();

}  // namespace
}  // namespace dsakit::bench
