// The projections of one evaluation: resolve, validate, allowed_set, explain, choices.

#include <algorithm>
#include <limits>

#include "manifest/evidence.hpp"
#include "solver/obligations.hpp"
#include "solver/query.hpp"

namespace dsakit {
namespace {

// The request's value of a dimension as a fail reports it.
std::string wanted_json(const Query& query, const Evaluated& evaluated, int dim) {
  const auto& slot = evaluated.request.slots[static_cast<std::size_t>(dim)];
  if (dim == query.catalog().kv_dtype_dim && evaluated.request.dtypes.size() == 1) {
    return value_json(evaluated.request.dtypes.front());
  }
  return slot.value ? value_json(*slot.value) : "null";
}

FailedCondition failed_condition(const Query& query, const Evaluated& evaluated, int row,
                                 const Fail& fail) {
  const Solver::Compiled& catalog = query.catalog();
  const Row& source = *catalog.rows[static_cast<std::size_t>(row)].source;
  if (fail.unknown_dim)
    return {source.name, fail.unknown_dim->name, "null", fail.unknown_dim->source->json, fail.kind};
  if (fail.kind == FailKind::provides) {
    return {source.name, "kv_layout", value_json(*query.request().kv_layout),
            value_json(source.provides.at("kv_layout")), fail.kind};
  }
  std::string offered = "null";
  if (fail.predicate) {
    offered = fail.predicate->source->json;
  } else if (catalog.with_neutral.test(fail.dim)) {
    offered = condition_json(catalog, {fail.dim, nullptr});
  }
  return {source.name, catalog.dims.at(fail.dim).name, wanted_json(query, evaluated, fail.dim),
          offered, fail.kind};
}

FailedCondition failed_phase(const CompiledRow& row, Phase phase, FailKind kind) {
  std::string offered = "null";
  for (const Predicate* predicate : row.phase_predicates) {
    const bool refuses =
        !predicate->unknown_operator.empty() ||
        (predicate->kind == Predicate::Kind::list &&
         std::ranges::find(predicate->list, phase_name(phase)) == predicate->list.end());
    if (refuses) offered = predicate->json;
  }
  return {row.source->name, "phase", value_json(Token(phase_name(phase))), offered, kind};
}

std::vector<std::pair<std::string, std::string>> merged_provides(const Solver::Compiled& catalog,
                                                                 const SessionRows& session) {
  std::map<std::string, std::string> merged;
  for (const int row : session.row) {
    if (row < 0) continue;
    for (const auto& [dim, value] : catalog.rows[static_cast<std::size_t>(row)].source->provides) {
      merged.emplace(dim, value_json(value));
    }
  }
  return {merged.begin(), merged.end()};
}

void warn_of_unknown_ids(const Query& query, std::vector<Diagnostic>& diagnostics) {
  std::vector<std::string> ids = query.policy().prefer;
  for (const Deny& deny : query.policy().deny) ids.push_back(deny.id);
  for (const std::string& id : ids) {
    if (query.catalog().find(id)) continue;
    diagnostics.push_back(
        Diagnostic(Code::W0205).with("backend", id).with("catalog", query.catalog().catalog));
  }
}

// How a row is known to work where the request wants it.
std::string level_of(const Query& query, const CompiledRow& row) {
  const auto arch = query.request().values.find("arch");
  if (arch == query.request().values.end()) return "";
  const auto* device = std::get_if<Token>(&arch->second);
  if (device == nullptr) return "";
  const auto& backend = query.catalog().backends[static_cast<std::size_t>(row.backend)];
  return evidence_level(*backend.manifest, row.source->name, *device);
}

}  // namespace

RowVerdict row_verdict(const Query& query, const Evaluated& evaluated, int row, Phase phase) {
  const Solver::Compiled& catalog = query.catalog();
  const CompiledRow& compiled = catalog.rows[static_cast<std::size_t>(row)];
  RowVerdict out;
  out.backend = catalog.id(compiled.backend);
  out.row = compiled.source->name;
  out.phase = phase;
  out.rank = compiled.source->rank;
  out.kv_layout = std::get<Token>(compiled.source->provides.at("kv_layout"));
  out.denied = evaluated.rows[static_cast<std::size_t>(row)].denied;
  FailKind kind{};
  if (!row_serves_phase(catalog, compiled, phase, &kind))
    out.failed.push_back(failed_phase(compiled, phase, kind));
  for (const Fail& fail : evaluated.fails_of(row)) {
    out.failed.push_back(failed_condition(query, evaluated, row, fail));
  }
  std::ranges::stable_sort(out.failed, {}, &FailedCondition::dim);
  for (const PendingCondition& pending : evaluated.pending_of(row)) {
    out.obligations.emplace_back(catalog.dims.at(pending.dim).name,
                                 condition_json(catalog, pending));
  }
  std::ranges::sort(out.obligations);
  out.state = !out.failed.empty() || out.denied ? RowVerdict::State::reject
              : out.obligations.empty()         ? RowVerdict::State::accept
                                                : RowVerdict::State::accept_if;
  if (out.state != RowVerdict::State::reject) out.evidence = level_of(query, compiled);
  return out;
}

Answer answer(const Query& query) {
  Answer out;
  out.catalog = query.catalog().catalog;
  const auto found = query.resolve();
  if (found) {
    out.verdict = Answer::Verdict::ok;
    out.session = query.name_session(*found);
    out.kv_dtype = out.session.kv_dtype;
    out.provides = merged_provides(query.catalog(), found->session);
    out.obligations =
        list_obligations(query.catalog(), query.evaluated(found->attempt), found->session.row);
  } else {
    out.verdict = Answer::Verdict::rejected;
    Advice advice = suggest_changes(query);
    out.diagnostics = explain_rejection(query, advice);
    out.suggestions = std::move(advice.suggestions);
  }
  warn_of_unknown_ids(query, out.diagnostics);
  return out;
}

Answer Solver::resolve(const Request& request, const Policy& policy) const {
  for (const Phase phase : kPhases) {
    const auto& typed = request.choice[index(phase)];
    if (!typed) continue;
    if (auto entries = split_choice(*typed, phase); !entries)
      return error_answer(catalog(), entries.error());
  }
  return answer(Query(*compiled_, request, policy));
}

Answer Solver::validate(const Request& request, const Policy& policy) const {
  return resolve(request, policy);
}

std::vector<Session> Solver::allowed_set(const Request& request, const Policy& policy) const {
  const Query query(*compiled_, request, policy);
  Work unbounded;
  std::vector<Session> out;
  for (const auto& found :
       query.allowed(std::numeric_limits<std::size_t>::max(), nullptr, unbounded).first) {
    out.push_back(query.name_session(found));
  }
  return out;
}

Explanation Solver::explain(const Request& request, const Policy& policy) const {
  Explanation out;
  out.answer = resolve(request, policy);
  if (out.answer.verdict == Answer::Verdict::error) return out;
  const Query query(*compiled_, request, policy);
  const auto found = query.resolve();
  const Evaluated& evaluated = found ? query.evaluated(found->attempt) : query.report();
  for (std::size_t row = 0; row < compiled_->rows.size(); ++row) {
    for (const Phase phase : kPhases) {
      if (query.phases()[index(phase)]) {
        out.evaluation.push_back(row_verdict(query, evaluated, static_cast<int>(row), phase));
      }
    }
  }
  Work work{kListingWork};
  const auto allowed = query.allowed(Explanation::kListed, nullptr, work);
  for (const auto& session : allowed.first) out.allowed.push_back(query.name_session(session));
  out.allowed_count = allowed.count;
  out.allowed_complete = allowed.complete;
  for (const std::string& dtype : found ? std::vector{found->kv_dtype} : query.dtypes()) {
    if (!dtype.empty()) out.judged_dtypes.push_back(dtype);
  }
  return out;
}

std::array<std::vector<Choice>, 3> Solver::choices(const std::string& platform,
                                                   const std::string& arch) const {
  Request request;
  for (const std::string& name : compiled_->dims.names()) {
    if (name != "phase") request.values[name] = Unknown{};
  }
  if (!platform.empty()) request.values["platform"] = platform;
  if (!arch.empty()) request.values["arch"] = arch;
  const Policy policy;
  const Evaluated evaluated = evaluate(*compiled_, request, policy, {});
  std::array<std::vector<Choice>, 3> out;
  for (const CompiledBackend& backend : compiled_->backends) {
    for (const Phase phase : kPhases) {
      Choice choice{backend.manifest->id, backend.manifest->summary, false, false};
      for (int row = backend.first_row; row < backend.first_row + backend.row_count; ++row) {
        const std::array one{row};
        if (!accepts(*compiled_, evaluated, row, phase) || find_clash(*compiled_, evaluated, one))
          continue;
        choice.usable = true;
        choice.automatic |= compiled_->rows[static_cast<std::size_t>(row)].source->rank > 0;
      }
      out[index(phase)].push_back(std::move(choice));
    }
  }
  return out;
}

std::vector<Choice> Solver::choices(Phase phase, const std::string& platform,
                                    const std::string& arch) const {
  return std::move(choices(platform, arch)[index(phase)]);
}

int Solver::count_accepting_rows(const Request& request) const {
  const Policy policy;
  const Evaluated evaluated = evaluate(*compiled_, request, policy, {});
  int count = 0;
  for (const RowResult& row : evaluated.rows) count += row.accepts() ? 1 : 0;
  return count;
}

Solver::Solver(std::unique_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {}
Solver::~Solver() = default;
Solver::Solver(Solver&&) noexcept = default;
Solver& Solver::operator=(Solver&&) noexcept = default;

const std::vector<Solver::SetAside>& Solver::set_aside() const {
  return compiled_->set_aside;
}
const std::string& Solver::catalog() const {
  return compiled_->catalog;
}
const DimensionTable& Solver::dimensions() const {
  return compiled_->dims;
}

std::vector<std::string> Solver::named(std::string_view dim) const {
  const int number = compiled_->dims.find(dim);
  return number < 0 ? std::vector<std::string>()
                    : compiled_->dictionaries[static_cast<std::size_t>(number)].names();
}

std::vector<std::string> Solver::ids() const {
  std::vector<std::string> out;
  for (const CompiledBackend& backend : compiled_->backends) out.push_back(backend.manifest->id);
  return out;
}

}  // namespace dsakit
