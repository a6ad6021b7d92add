// dsakit lint: whether plugin files and manifests keep the rules. Exit code 1 on any finding.
#include <algorithm>
#include <filesystem>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "catalog/search.hpp"
#include "command.hpp"
#include "host/status.hpp"
#include "print.hpp"
#include "report.hpp"
#include "target.hpp"

namespace dsakit::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string summary(const std::vector<Diagnostic>& findings) {
  std::size_t errors = 0;
  for (const Diagnostic& finding : findings)
    errors += code_severity(finding.code) == Severity::error ? 1 : 0;
  const std::size_t warnings = findings.size() - errors;
  if (findings.empty()) return "keeps the rules";
  return fmt::format("{} error{}, {} warning{}", errors, errors == 1 ? "" : "s", warnings,
                     warnings == 1 ? "" : "s");
}

// "; code for gfx942, gfx950, 120 KiB"; empty without code for AMD GPUs.
std::string device_code_text(const std::vector<DeviceCode>& codes) {
  if (codes.empty()) return {};
  std::string targets;
  std::uint64_t bytes = 0;
  for (const DeviceCode& code : codes) {
    targets += (targets.empty() ? "" : ", ") + code.target;
    bytes += code.bytes;
  }
  return fmt::format("; code for {}, {} KiB", targets, (bytes + 1023) / 1024);
}

Json device_code_json(const std::vector<DeviceCode>& codes) {
  Json out = Json::array();
  for (const DeviceCode& code : codes)
    out.push_back({{"target", code.target}, {"bytes", code.bytes}});
  return out;
}

// The file itself, or the files of a folder that lint knows, bytewise by name.
tl::expected<std::vector<std::string>, Diagnostic> files_of(const std::string& target) {
  std::error_code error;
  if (!std::filesystem::is_directory(target, error)) return std::vector<std::string>{target};
  std::vector<std::string> files;
  const auto fail = [&target](const std::string& reason) {
    return tl::unexpected(Diagnostic(Code::E0101).with("file", target).with("reason", reason));
  };
  for (const auto& [prefix, suffix] : {std::pair{"", ".json"}, std::pair{"libdsakit_", ".so"}}) {
    const FolderListing listing = list_folder(target, prefix, suffix);
    if (!listing.error.empty()) return fail(listing.error);
    for (const std::string& name : listing.names) {
      files.push_back((std::filesystem::path(target) / name).string());
    }
  }
  if (files.empty())
    return fail("the folder holds no manifest (*.json) and no plugin (libdsakit_*.so)");
  std::ranges::sort(files);
  return files;
}

// A folder that cannot be read stands for itself, with the reason.
std::vector<std::pair<std::string, tl::expected<Target, Diagnostic>>> read_all(
    const std::vector<std::string>& targets) {
  std::vector<std::pair<std::string, tl::expected<Target, Diagnostic>>> out;
  for (const std::string& target : targets) {
    const auto files = files_of(target);
    if (!files) {
      out.emplace_back(target, tl::unexpected(files.error()));
      continue;
    }
    for (const std::string& file : *files) out.emplace_back(file, read_target(file));
  }
  return out;
}

int lint(Cli& cli) {
  Status worst = Status::yes;
  Json files = Json::array();
  for (auto& [file, target] : read_all(cli.options.targets)) {
    const std::vector<Diagnostic> findings =
        target ? std::move(target->diagnostics) : std::vector<Diagnostic>{target.error()};
    const std::vector<DeviceCode> codes =
        target ? std::move(target->device_code) : std::vector<DeviceCode>();
    const Status status = !target            ? Status::environment
                          : findings.empty() ? Status::yes
                                             : Status::no;
    worst = std::max(worst, status);
    if (cli.options.json()) {
      Json entry{{"file", file}, {"diagnostics", diagnostics_json(findings)}};
      if (!codes.empty()) entry["device_code"] = device_code_json(codes);
      files.push_back(std::move(entry));
      continue;
    }
    print_line(cli.out(),
               fmt::format("{}: {}{}", file, summary(findings), device_code_text(codes)));
    for (const Diagnostic& finding : findings) cli.out() << render_text(finding, cli.style());
  }
  if (cli.options.json()) cli.out() << dump({{"files", std::move(files)}}) << '\n';
  return static_cast<int>(worst);
}

}  // namespace

const Command& lint_command() {
  static constexpr Command kCommand{
      .name = "lint",
      .about = "check plugin files and manifests",
      .options = kFormatOption,
      .body = lint,
      .target = "files",
      .target_about = "plugin files, manifests (*.json), or folders of them",
      .min_targets = 1,
      .max_targets = kAnyNumber,
      .help =
          "In a folder the files *.json and libdsakit_*.so are checked, not those of its folders.\n"
          "\n"
          "Example:\n"
          "  dsakit lint my-backends plugin.so\n",
      .exit_codes =
          "0 no finding; 1 any finding, be it an error or a warning; 2 usage;\n"
          "3 a file cannot be read, or a folder holds none."};
  return kCommand;
}

}  // namespace dsakit::cli
