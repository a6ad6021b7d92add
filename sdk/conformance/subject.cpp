#include "sdk/conformance/subject.hpp"

#include <fmt/format.h>

#include "manifest/plugin_file.hpp"
#include "manifest/schema.hpp"

namespace dsakit::conformance {
namespace {

DeviceMemory& host_memory() {
  static const std::unique_ptr<DeviceMemory> kMemory = make_host_memory();
  return *kMemory;
}

}  // namespace

std::string describe(const Outcome& outcome) {
  if (outcome.threw) return "an exception crossed the border";
  return fmt::format("code {}{}{}", outcome.rc, outcome.text.empty() ? "" : ": ", outcome.text);
}

tl::expected<CatalogEntry, Diagnostic> read_subject(const std::string& file) {
  auto plugin = read_plugin_file(file);
  if (!plugin) return tl::unexpected(std::move(plugin.error()));
  auto parsed = parse_manifest(plugin->manifest_json, file);
  if (!parsed) return tl::unexpected(std::move(parsed.error()));
  CatalogEntry entry;
  entry.file = file;
  entry.diagnostics = std::move(parsed->warnings);
  entry.manifest = std::make_shared<const Manifest>(std::move(parsed->manifest));
  entry.plugin = std::move(*plugin);
  return entry;
}

Instance::Instance(const Subject& subject, const dsakit_config& config) : subject_(subject) {
  created_ =
      call([&](dsakit_error* error) { return subject.table->create(&config, &instance_, error); });
  if (!created_.ok()) instance_ = nullptr;
}

Instance::~Instance() {
  if (instance_ == nullptr) return;
  call([&](dsakit_error*) {
    subject_.table->destroy(instance_);
    return DSAKIT_RC_OK;
  });
}

Outcome Instance::workspace(std::int64_t tokens, dsakit_workspace& answer) const {
  answer = {};
  answer.size = sizeof(answer);
  return call([&](dsakit_error* error) {
    return subject_.table->workspace(instance_, tokens, &answer, error);
  });
}

Outcome Instance::prepare_workspace(Problem& problem) const {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 36;
  dsakit_workspace answer{};
  Outcome outcome = workspace(problem.tokens(), answer);
  if (!outcome.ok()) return outcome;
  const bool power = answer.alignment != 0 && (answer.alignment & (answer.alignment - 1)) == 0;
  if ((answer.bytes > 0 && !power) || answer.bytes > kMost || answer.zero_bytes > answer.bytes) {
    outcome.rc = DSAKIT_RC_INTERNAL;
    outcome.text = fmt::format("workspace answers {} bytes, alignment {}, zero_bytes {}",
                               answer.bytes, answer.alignment, answer.zero_bytes);
    return outcome;
  }
  problem.set_workspace(answer.bytes, power ? answer.alignment : 1, answer.zero_bytes);
  return outcome;
}

Outcome Instance::run(Problem& problem, Fetch fetch) const {
  return stage(problem, fetch, {}, [&](Staged& staged) {
    const dsakit_run_args& args = staged.args();
    return call([&](dsakit_error* error) { return subject_.table->run(instance_, &args, error); });
  });
}

Outcome Instance::stage(Problem& problem, Fetch fetch, const std::vector<HostTensor*>& more,
                        const Body& body) const {
  const bool on_gpu = subject_.place.gpu && problem.config.device_type != kDLCPU;
  DeviceMemory& memory = on_gpu ? static_cast<DeviceMemory&>(*subject_.place.gpu) : host_memory();
  Staged staged(memory, problem, more);
  const auto failed = [&](const char* when) {
    Outcome outcome;
    outcome.rc = DSAKIT_RC_DEVICE;
    outcome.text = fmt::format("{}: {}", when, subject_.place.gpu->last_error());
    return outcome;
  };
  if (!staged.upload()) return failed("the device had failed before");
  Outcome outcome = body(staged);
  const bool fetched = fetch == Fetch::all ? staged.download_all() : staged.download_outputs();
  return fetched || !outcome.ok() ? outcome : failed("it answers OK, then the device fails");
}

std::string refuses_base(const Instance& instance) {
  return "create refuses the plainest call that the row accepts: " + describe(instance.created());
}

Outcome run_once(const Subject& subject, Problem& problem) {
  const Instance instance(subject, problem.config);
  if (!instance.created().ok()) return instance.created();
  const Outcome workspace = instance.prepare_workspace(problem);
  return workspace.ok() ? instance.run(problem) : workspace;
}

}  // namespace dsakit::conformance
