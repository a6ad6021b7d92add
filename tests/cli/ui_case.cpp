#include "cli/ui_case.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "cli.hpp"
#include "support/fake_plugin.hpp"

namespace dsakit::test {
namespace {

namespace fs = std::filesystem;

std::string replace_all(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

DetectedDevice make_device(const std::string& device, const std::string& platform, int ordinal,
                           const std::string& name) {
  DetectedDevice out;
  out.device = device;
  out.platform = platform;
  out.ordinal = ordinal;
  out.name = name;
  return out;
}

Detection detection_of(const fs::path& file) {
  Detection out;
  if (!fs::exists(file)) {
    out.devices.push_back(make_device("cpu", "cpu", 0, "Test CPU"));
    out.notes.push_back({"cuda", "libcuda.so.1: not found"});
    return out;
  }
  std::istringstream lines(read_file(file));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string device;
    std::string platform;
    std::string rest;
    words >> device >> platform >> std::ws;
    std::getline(words, rest);
    if (device == "-") {
      out.notes.push_back({platform, rest});
      continue;
    }
    const auto same =
        std::count_if(out.devices.begin(), out.devices.end(),
                      [&](const DetectedDevice& d) { return d.platform == platform; });
    out.devices.push_back(make_device(device, platform, static_cast<int>(same), rest));
  }
  return out;
}

void run_line(const std::vector<std::string>& words, const std::string& plugins,
              const fs::path& folder, std::istream& in, std::ostream& out, UiResult& result) {
  std::vector<std::string> environment{"HOME=/nonexistent",
                                       "DSAKIT_PLUGIN_PATH=" + plugins + "/empty"};
  std::size_t at = 0;
  while (at < words.size() && words[at] != "dsakit") environment.push_back(words[at++]);
  if (at == words.size())
    throw std::runtime_error("no `dsakit` in a command line of " + folder.string());
  const Environment parsed = parse_environment(environment, false);
  const cli::Surroundings surroundings{
      parsed, [&folder] { return detection_of(folder / "devices"); }, in, out, out, false, false};
  result.exit = cli::run(
      std::vector<std::string>(words.begin() + static_cast<std::ptrdiff_t>(at) + 1, words.end()),
      surroundings);
}

}  // namespace

std::filesystem::path ui_case_folder(const std::string& name) {
  return fs::path(DSAKIT_TESTS_DIR) / "cli/ui" / name;
}

std::vector<std::string> ui_case_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(fs::path(DSAKIT_TESTS_DIR) / "cli/ui")) {
    if (fs::exists(entry.path() / "cmd")) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

UiResult run_ui_case(const std::string& name, const std::string& plugins) {
  const fs::path folder = ui_case_folder(name);
  fs::current_path(fs::path(DSAKIT_TESTS_DIR) / "cli/data");
  const std::string build = fs::read_symlink("/proc/self/exe").parent_path().parent_path().string();
  std::istringstream commands(read_file(folder / "cmd"));
  std::istringstream in(fs::exists(folder / "stdin") ? read_file(folder / "stdin") : "");
  std::ostringstream out;
  UiResult result;
  for (std::string line; std::getline(commands, line);) {
    if (line.empty()) continue;
    line = replace_all(replace_all(line, "$PLUGINS", plugins), "$BUILD", build);
    run_line(split_words(line), plugins, folder, in, out, result);
  }
  result.text = replace_all(replace_all(out.str(), plugins, "$PLUGINS"), build, "$BUILD");
  return result;
}

std::vector<std::string> split_words(const std::string& line) {
  std::vector<std::string> words;
  std::string word;
  bool open = false;
  char quote = '\0';
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote == '\0' && c == ' ') {
      if (open) words.push_back(std::move(word));
      word.clear();
      open = false;
    } else if (quote == '\0' && (c == '\'' || c == '"')) {
      quote = c;
      open = true;
    } else if (c == quote && quote != '\0') {
      quote = '\0';
    } else {
      if (c == '\\' && quote != '\'' && i + 1 < line.size()) ++i;
      word += line[i];
      open = true;
    }
  }
  if (open) words.push_back(std::move(word));
  return words;
}

void make_ui_plugins(const fs::path& folder) {
  const auto plugin = [&](const std::string& file, FakePlugin content) {
    write_file(folder / file, plugin_bytes(content));
  };
  fs::create_directories(folder / "empty");
  plugin("good/libdsakit_flashmla_kv.so", {.manifest = small_manifest("flashmla_kv")});
  plugin("good/libdsakit_tiny_cpu.so",
         {.manifest = read_file(fs::path(DSAKIT_TESTS_DIR) / "cli/data/tiny_cpu.json"),
          .needed = {"libstdc++.so.6", "libc.so.6"},
          .soname = "libdsakit_tiny_cpu.so"});
  plugin("proven/libdsakit_proven.so",
         {.manifest = read_file(fs::path(DSAKIT_TESTS_DIR) / "cli/data/evidence/proven.json")});
  plugin("second/libdsakit_flashmla_kv.so", {.manifest = small_manifest("flashmla_kv", "sm_100")});
  plugin("second/libdsakit_tiny_cpu.so",
         {.manifest = read_file(fs::path(DSAKIT_TESTS_DIR) / "cli/data/tiny_cpu.json"),
          .needed = {"libstdc++.so.6", "libc.so.6"},
          .soname = "libdsakit_tiny_cpu.so"});
  fs::create_symlink("libdsakit_flashmla_kv.so", folder / "second/libdsakit_link.so");

  const std::string whole = plugin_bytes({.manifest = small_manifest("cut")});
  write_file(folder / "broken/libdsakit_cut.so", whole.substr(0, whole.size() / 2));
  write_file(folder / "broken/libdsakit_text.so", "#!/bin/sh\n");
  plugin("broken/libdsakit_nonote.so", {});
  std::string damaged = plugin_bytes({.manifest = small_manifest("damaged")});
  damaged[damaged.find("a test backend")] = 'A';
  write_file(folder / "broken/libdsakit_damaged.so", damaged);
  plugin("broken/libdsakit_badjson.so", {.manifest = R"({"schema":1,)"});
  plugin("broken/libdsakit_badrow.so",
         {.manifest = replace_all(small_manifest("badrow"), R"(["prefill","decode"])", "7")});
  plugin("broken/libdsakit_future.so",
         {.manifest = replace_all(small_manifest("future"), R"("schema":1)", R"("schema":99)")});
  fs::create_directories(folder / "broken/libdsakit_folder.so");
  plugin("broken/libdsakit_fine.so", {.manifest = small_manifest("fine")});

  plugin("lint/libdsakit_flags.so", {.manifest = small_manifest("flags"),
                                     .needed = {"libcuda.so.1"},
                                     .runpath = "/opt/build/lib",
                                     .static_tls = true});
  plugin("lint/libdsakit_clean.so", {.manifest = small_manifest("clean"), .needed = {"libc.so.6"}});
  write_file(folder / "config/dsakit/config.json",
             R"({"backend":{"decode":"tilelang"},"policy":{"kv_dtype":["bf16"]}})");
  write_file(folder / "config_wrong/dsakit/config.json", R"({"backend":{"encode":"tilelang"}})");
  const auto with_dim = [](const std::string& id, const std::string& declaration) {
    return replace_all(small_manifest(id), R"("common":)",
                       R"("dims":{"acme.x":)" + declaration + R"(},"common":)");
  };
  plugin("dims/libdsakit_a.so",
         {.manifest = with_dim("a", R"({"type":"int","neutral":1,"doc":"d"})")});
  plugin("dims/libdsakit_b.so",
         {.manifest = with_dim("b", R"({"type":"token","neutral":"n","doc":"d"})")});
}

}  // namespace dsakit::test
