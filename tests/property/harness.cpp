#include "property/harness.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdio>

#include "manifest/schema.hpp"
#include "property/shrink.hpp"

namespace dsakit::property {
namespace {

std::vector<std::string> dumped(const std::vector<Json>& manifests) {
  std::vector<std::string> texts;
  for (const auto& manifest : manifests) texts.push_back(manifest.dump());
  return texts;
}

// What a check says; an exception is a failure like another, and can be shrunk.
std::string outcome(const Check& check, const Built& built, const Case& one) {
  try {
    return check(built, one);
  } catch (const std::exception& thrown) {
    return std::string("threw: ") + thrown.what();
  }
}

// What a failure is about, without its values: a reduction must not end in another failure.
std::string kind_of(const std::string& failure) {
  return failure.substr(0, failure.find_first_of(":{/"));
}

// The case being judged, for the report of a crash.
const Case* running = nullptr;

Json to_json(const Case& one) {
  return {{"manifests", one.manifests},
          {"request", one.request},
          {"policy", one.policy},
          {"seed", one.seed}};
}

// Best effort: a crash ends the process anyway, and the case is worth more than a clean exit.
void report_crash(int number) {
  std::signal(number, SIG_DFL);
  if (running != nullptr) std::fprintf(stderr, "crashed on %s\n", to_json(*running).dump().c_str());
  std::raise(number);
}

std::string replay(const Case& smallest, const std::string& failure) {
  const Built built(smallest.manifests);
  Json json = to_json(smallest);
  json["oracle"] = describe(built.oracle().answer(smallest.request, smallest.policy));
  const Check solver_says = [](const Built& b, const Case& one) {
    const auto request = read(b.solver(), one.request);
    return request ? dsakit::to_json(b.solver().explain(*request, read_policy(one.policy)))
                   : dsakit::to_json(error_answer(b.solver().catalog(), request.error()));
  };
  return failure + "\n" + json.dump() + "\nsolver: " + outcome(solver_says, built, smallest);
}

}  // namespace

Built::Built(const std::vector<Json>& manifests) : Built(manifests, dumped(manifests)) {}

Built::Built(const std::vector<Json>& manifests, const std::vector<std::string>& texts)
    : manifests_(manifests), oracle_(manifests) {
  std::vector<SolverInput> inputs;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string file = "file" + std::to_string(i) + ".json";
    auto parsed = parse_manifest(texts[i], file);
    if (!parsed) {
      set_aside_.push_back(manifests[i]["id"]);
      continue;
    }
    inputs.push_back({std::make_shared<const Manifest>(std::move(parsed->manifest)), file});
  }
  solver_ = std::make_unique<Solver>(Solver::compile(inputs, "generated"));
  for (const auto& aside : solver_->set_aside()) set_aside_.push_back(aside.id);
}

tl::expected<Request, Diagnostic> read(const Solver& solver, const Json& request) {
  return parse_request(request.dump(), solver.dimensions(), solver.catalog());
}

Policy read_policy(const Json& policy) {
  auto parsed = parse_policy(policy.dump(), "policy.json");
  if (!parsed) throw std::runtime_error("the generated policy is refused: " + policy.dump());
  return *parsed;
}

Answer resolve(const Solver& solver, const Json& request, const Json& policy) {
  const auto parsed = read(solver, request);
  if (!parsed) return error_answer(solver.catalog(), parsed.error());
  return solver.resolve(*parsed, read_policy(policy));
}

Answer validate(const Solver& solver, const Json& request, const Json& policy) {
  const auto parsed = read(solver, request);
  if (!parsed) return error_answer(solver.catalog(), parsed.error());
  return solver.validate(*parsed, read_policy(policy));
}

Explanation explain(const Solver& solver, const Json& request, const Json& policy) {
  return solver.explain(read(solver, request).value(), read_policy(policy));
}

std::vector<Session> allowed(const Solver& solver, const Json& request, const Json& policy) {
  return solver.allowed_set(read(solver, request).value(), read_policy(policy));
}

std::string_view verdict_name(Answer::Verdict verdict) {
  if (verdict == Answer::Verdict::ok) return "ok";
  return verdict == Answer::Verdict::rejected ? "rejected" : "error";
}

Json ids_of(const Session& session) {
  Json ids = Json::object();
  for (const Phase phase : kPhases) {
    const auto& id = session.backend[index(phase)];
    if (!id.empty()) ids[std::string(phase_name(phase))] = id;
  }
  return ids;
}

std::string key_of(const Session& session) {
  return ids_of(session).dump() + " " + session.kv_dtype;
}

int for_cases(std::uint64_t first_seed, int catalogues, int requests, const Check& check) {
  int run = 0;
  std::signal(SIGSEGV, report_crash);
  std::signal(SIGABRT, report_crash);
  for (int c = 0; c < catalogues; ++c) {
    Rng rng(first_seed + static_cast<std::uint64_t>(c));
    Case one;
    one.manifests = random_manifests(rng);
    const Built built(one.manifests);
    for (int r = 0; r < requests; ++r, ++run) {
      one.request = random_request(rng, one.manifests);
      one.policy = random_policy(rng, one.manifests);
      one.seed = rng.below(1U << 30);
      running = &one;
      const std::string failure = outcome(check, built, one);
      running = nullptr;
      if (failure.empty()) continue;
      const Case smallest = shrink(one, [&](const Case& smaller) {
        const std::string other = outcome(check, Built(smaller.manifests), smaller);
        return !other.empty() && kind_of(other) == kind_of(failure);
      });
      ADD_FAILURE() << replay(smallest, outcome(check, Built(smallest.manifests), smallest))
                    << "\nfirst failure, before reduction: " << failure;
      return run;
    }
  }
  return run;
}

}  // namespace dsakit::property
