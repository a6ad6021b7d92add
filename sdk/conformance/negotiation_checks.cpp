// L1: the entry, the table and the sizes of structs, as older and newer hosts would use them.
#include <array>
#include <cstring>

#include <fmt/format.h>

#include "diag/render.hpp"
#include "loader/loader.hpp"
#include "sdk/conformance/check.hpp"
#include "sdk/conformance/guarded.hpp"

namespace dsakit::conformance {
namespace {

dsakit_host usual_host() {
  dsakit_host host{};
  host.size = sizeof(host);
  host.abi_min = kHostAbiMin;
  host.abi_max = kHostAbiMax;
  host.name = "dsakit conform";
  return host;
}

struct Answered {
  const dsakit_plugin* table = nullptr;
  Outcome outcome;
};

// Calls the entry with a host struct of `bytes` bytes that says it has `size`, at the end of
// readable memory.
Answered enter(const Subject& subject, dsakit_host host, std::uint32_t size, std::size_t bytes) {
  Answered answered;
  const auto entry = open_plugin_entry(subject.entry);
  if (!entry) {
    answered.outcome.text = headline(entry.error());
    return answered;
  }
  dsakit_error error{};
  error.size = sizeof(error);
  if (bytes >= sizeof(host)) host.error = &error;
  host.size = size;
  Guarded guarded(&host, bytes);
  answered.outcome = call([&](dsakit_error*) {
    answered.table = (*entry)(guarded.as<dsakit_host>());
    return DSAKIT_RC_OK;
  });
  answered.outcome.rc = error.code;
  answered.outcome.text = error.text;
  return answered;
}

void agreement(Trial& trial) {
  const auto table = load_plugin(trial.subject().entry);
  trial.expect(table.has_value(), table ? "" : headline(table.error()));
}

void refuse_host(Trial& trial, const char* what, const Answered& answered) {
  trial.expect(!answered.outcome.threw, fmt::format("{}: the entry threw", what));
  trial.expect(answered.table == nullptr, fmt::format("{}: the entry answers a table", what));
}

void null_host(Trial& trial) {
  const auto entry = open_plugin_entry(trial.subject().entry);
  if (!entry) return trial.fail(headline(entry.error()));
  const dsakit_plugin* table = nullptr;
  const Outcome outcome = call([&](dsakit_error*) {
    table = (*entry)(nullptr);
    return DSAKIT_RC_OK;
  });
  refuse_host(trial, "no host", {table, outcome});
}

void host_size(Trial& trial) {
  const Subject& subject = trial.subject();
  refuse_host(trial, "size 0", enter(subject, usual_host(), 0, sizeof(dsakit_host)));
  refuse_host(trial, "a size below version 1",
              enter(subject, usual_host(), DSAKIT_HOST_SIZE_V1 - 8, sizeof(dsakit_host)));
  const Answered older = enter(subject, usual_host(), DSAKIT_HOST_SIZE_V1, DSAKIT_HOST_SIZE_V1);
  trial.expect(older.table != nullptr, "a host of version 1 is refused");
}

// A later host has more fields, which an older plugin must not look at.
void larger_host(Trial& trial) {
  std::array<std::byte, sizeof(dsakit_host) + 64> bytes;
  bytes.fill(std::byte{0xA5});
  dsakit_host host = usual_host();
  host.size = bytes.size();
  std::memcpy(bytes.data(), &host, sizeof(host));
  const auto entry = open_plugin_entry(trial.subject().entry);
  if (!entry) return trial.fail(headline(entry.error()));
  const dsakit_plugin* table = nullptr;
  call([&](dsakit_error*) {
    table = (*entry)(reinterpret_cast<const dsakit_host*>(bytes.data()));
    return DSAKIT_RC_OK;
  });
  trial.expect(table != nullptr, "a host with more fields than version 1 is refused");
}

void abi_range(Trial& trial) {
  const Manifest& manifest = trial.subject().manifest();
  const auto below = static_cast<std::uint32_t>(manifest.abi_min);
  const auto above = static_cast<std::uint32_t>(manifest.abi_max) + 1;
  for (const auto& [low, high] : {std::pair{0U, below - 1}, {above, above + 5}}) {
    dsakit_host host = usual_host();
    host.abi_min = low;
    host.abi_max = high;
    const Answered answered = enter(trial.subject(), host, sizeof(host), sizeof(host));
    const std::string what = fmt::format("a host of ABI {} to {}", low, high);
    refuse_host(trial, what.c_str(), answered);
    trial.expect(answered.outcome.rc == DSAKIT_RC_ABI,
                 fmt::format("{}: the error's code is {}, not {}", what, answered.outcome.rc,
                             DSAKIT_RC_ABI));
  }
}

void same_table(Trial& trial) {
  const auto host = usual_host();
  const Answered first = enter(trial.subject(), host, sizeof(host), sizeof(host));
  const Answered second = enter(trial.subject(), host, sizeof(host), sizeof(host));
  trial.expect(first.table != nullptr && first.table == second.table,
               "two calls of the entry answer different tables");
}

void extension(Trial& trial) {
  const dsakit_plugin* table = trial.subject().table;
  if (!DSAKIT_HAS_FUNCTION(table, extension)) return trial.skip("the plugin has no extensions");
  for (const char* id : {"dsakit.no_such_extension/1", "", "org.example.nothing"}) {
    const void* answer = nullptr;
    const Outcome outcome = call([&](dsakit_error*) {
      answer = table->extension(id);
      return DSAKIT_RC_OK;
    });
    trial.expect(!outcome.threw && answer == nullptr,
                 fmt::format("extension `{}` is answered with something", id));
  }
}

void probe(Trial& trial) {
  const dsakit_plugin* table = trial.subject().table;
  for (const std::pair<int, int>& device :
       {std::pair{99, 0}, {-1, 0}, {1, 4096}, {2, 4096}, {2, -1}}) {
    const Outcome outcome =
        call([&](dsakit_error* error) { return table->probe(device.first, device.second, error); });
    trial.expect(outcome.refused(), fmt::format("probe of device ({}, {}): {}", device.first,
                                                device.second, describe(outcome)));
  }
}

void destroy_nothing(Trial& trial) {
  const Outcome outcome = call([&](dsakit_error*) {
    trial.subject().table->destroy(nullptr);
    return DSAKIT_RC_OK;
  });
  trial.expect(outcome.ok(), "destroy(NULL) threw");
}

void instances(Trial& trial) {
  if (!trial.ready()) return;
  const Problem problem(trial.row().base(trial.row().phases().front()));
  for (int repeat = 0; repeat < 3; ++repeat) {
    const Instance first(trial.subject(), problem.config);
    const Instance second(trial.subject(), problem.config);
    trial.expect(first.created().ok(), refuses_base(first));
    trial.expect(second.created().ok(), "create beside another: " + describe(second.created()));
    trial.expect(first.get() != second.get(), "two creates answer the same instance");
  }
}

// Structs of version 1 at the end of memory, and of a later version with a tail that means nothing
// yet.
void struct_sizes(Trial& trial) {
  if (!trial.ready()) return;
  const dsakit_plugin* table = trial.subject().table;
  Problem problem(trial.row().base(trial.row().phases().front()));
  Guarded config = guarded_copy(problem.config, DSAKIT_CONFIG_SIZE_V1, DSAKIT_CONFIG_SIZE_V1);
  const Instance instance(trial.subject(), *config.as<dsakit_config>());
  if (!trial.expect(instance.created().ok(),
                    "create with a config of version 1: " + describe(instance.created())))
    return;
  std::array<std::byte, sizeof(dsakit_config) + 64> longer;
  longer.fill(std::byte{0xA5});
  std::memcpy(longer.data(), &problem.config, sizeof(dsakit_config));
  const auto size = static_cast<std::uint32_t>(longer.size());
  std::memcpy(longer.data(), &size, sizeof(size));
  const Instance later(trial.subject(), *reinterpret_cast<dsakit_config*>(longer.data()));
  trial.expect(later.created().ok(), "create with a longer config: " + describe(later.created()));
  if (!instance.prepare_workspace(problem).ok()) return trial.fail("workspace fails");
  const Outcome run = instance.stage(problem, Instance::Fetch::outputs, {}, [&](Staged& staged) {
    Guarded args = guarded_copy(staged.args(), DSAKIT_RUN_ARGS_SIZE_V1, DSAKIT_RUN_ARGS_SIZE_V1);
    return call([&](dsakit_error* error) {
      return table->run(instance.get(), args.as<dsakit_run_args>(), error);
    });
  });
  trial.expect(run.ok(), "run with arguments of version 1: " + describe(run));
  for (const std::uint32_t small : {0U, DSAKIT_CONFIG_SIZE_V1 - 8}) {
    Guarded cut = guarded_copy(problem.config, small, sizeof(dsakit_config));
    dsakit_instance* made = nullptr;
    const Outcome outcome = call(
        [&](dsakit_error* error) { return table->create(cut.as<dsakit_config>(), &made, error); });
    trial.expect(outcome.rc == DSAKIT_RC_ABI && made == nullptr,
                 fmt::format("create with a config of size {}: {}", small, describe(outcome)));
  }
}

constexpr Check kNegotiationChecks[] = {
    {"negotiation.null_host", 1, Scope::entry, null_host},
    {"negotiation.host_size", 1, Scope::entry, host_size},
    {"negotiation.larger_host", 1, Scope::entry, larger_host},
    {"negotiation.abi_range", 1, Scope::entry, abi_range},
    {"negotiation.same_table", 1, Scope::entry, same_table},
    {"negotiation.agreement", 1, Scope::entry, agreement},
    {"negotiation.extension", 1, Scope::plugin, extension},
    {"negotiation.probe", 1, Scope::plugin, probe},
    {"negotiation.destroy_nothing", 1, Scope::plugin, destroy_nothing},
    {"negotiation.instances", 1, Scope::row, instances},
    {"negotiation.struct_sizes", 1, Scope::row, struct_sizes}};

}  // namespace

std::span<const Check> negotiation_checks() {
  return kNegotiationChecks;
}

}  // namespace dsakit::conformance
