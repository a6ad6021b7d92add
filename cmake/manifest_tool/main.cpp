#include <CLI/CLI.hpp>

#include <cstdio>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "diag/render.hpp"
#include "tool.hpp"

namespace dsakit {

bool read_file(const std::string& path, std::string& text) {
  std::ifstream in(path, std::ios::binary);
  text.assign(std::istreambuf_iterator<char>(in), {});
  if (in.good() || in.eof()) return true;
  fmt::print(stderr, "dsakit-manifest: cannot read {}\n", path);
  return false;
}

int refuse(const Diagnostic& diagnostic) {
  fmt::print(stderr, "{}", render_text(diagnostic));
  return 1;
}

bool write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.flush();
  if (out) return true;
  fmt::print(stderr, "dsakit-manifest: cannot write {}\n", path);
  return false;
}

}  // namespace dsakit

int main(int argc, char** argv) {
  CLI::App app("Embeds dsakit manifests into plugins", "dsakit-manifest");
  app.require_subcommand(1);

  dsakit::EmbedOptions embed;
  CLI::App* embed_command =
      app.add_subcommand("embed", "lint a source manifest and write what is embedded");
  embed_command->add_option("--manifest", embed.manifest, "source manifest.json")->required();
  embed_command->add_option("--id", embed.id, "id that the manifest must have")->required();
  embed_command->add_option("--json-out", embed.json_out, "canonical JSON to write")->required();
  embed_command->add_option("--note-out", embed.note_out, "note descriptor to write")->required();
  embed_command->add_option("--target", embed.targets, "code target in the plugin, such as sm_90a");
  embed_command->add_option("--toolkit", embed.toolkit, "compilers that build the plugin");
  embed_command->add_option("--sanitizer", embed.sanitizer,
                            "sanitizers that the plugin is built with");
  embed_command->add_option("--commit", embed.commit, "revision of the sources");
  embed_command->add_flag("--allow-warnings", embed.allow_warnings, "lint findings do not fail");

  embed_command->add_option("--sources", embed.source_lists, "list of what decides the code");
  embed_command->add_option("--record", embed.records, "evidence record of the plugin");
  embed_command->add_option("--depfile", embed.depfile, "rule of a makefile to write");

  dsakit::EvidenceOptions evidence;
  CLI::App* evidence_command =
      app.add_subcommand("evidence", "say which records are still about a linked plugin");
  evidence_command->add_option("--plugin", evidence.plugin, "the plugin file")->required();
  evidence_command->add_option("--record", evidence.records, "evidence record of the plugin")
      ->required();

  dsakit::CheckOptions check;
  CLI::App* check_command = app.add_subcommand("check", "check a linked plugin");
  check_command->add_option("--plugin", check.plugin, "the plugin file")->required();
  check_command->add_option("--json", check.json, "JSON that embed wrote")->required();

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (embed_command->parsed()) return dsakit::embed(embed);
  return evidence_command->parsed() ? dsakit::evidence(evidence) : dsakit::check(check);
}
