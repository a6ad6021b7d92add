// Why there is no session (R10): every backend gets a reason, the nearest first, and what this
// request does allow is said beside it.

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "diag/nearest.hpp"
#include "solver/clash.hpp"
#include "solver/describe.hpp"
#include "solver/unnamed.hpp"

namespace dsakit {
namespace {

constexpr std::size_t kShownRows = 4;        // rows of a typed backend in text
constexpr std::size_t kShownBackends = 8;    // backends of a report in text
constexpr std::size_t kShownSessions = 3;    // nearest allowed sessions
constexpr std::size_t kListedSessions = 64;  // sessions by name in JSON

// The rows of a backend, those with the fewest unmet conditions in `phase` first.
std::vector<int> nearest_rows(const Query& query, const Evaluated& evaluated,
                              const CompiledBackend& backend, Phase phase) {
  const auto unmet = [&](int row) {
    FailKind kind{};
    const bool serves = row_serves_phase(
        query.catalog(), query.catalog().rows[static_cast<std::size_t>(row)], phase, &kind);
    return std::tuple(
        !serves, evaluated.rows[static_cast<std::size_t>(row)].fail_count,
        std::string_view(query.catalog().rows[static_cast<std::size_t>(row)].source->name));
  };
  std::vector<int> rows;
  for (int i = 0; i < backend.row_count; ++i) rows.push_back(backend.first_row + i);
  std::ranges::sort(rows, {}, unmet);
  return rows;
}

class Rejection {
 public:
  Rejection(const Query& query, const Advice& advice)
      : query_(query),
        report_(query.report()),
        advice_(advice),
        allowed_(query.allowed(kShownSessions, nullptr, work_)) {
    for (const CompiledBackend& backend : catalog().backends) nearest_.push_back(nearest(backend));
  }

  std::vector<Diagnostic> run() {
    auto unknown_dtype = unnamed_dtype(query_);
    if (unknown_dtype) out_.push_back(std::move(*unknown_dtype));
    for (const Phase phase : kPhases) {
      if (query_.phases()[index(phase)]) refuse_typed(phase);
    }
    if (!typed_refused_ && !list_named_sessions()) {
      if (unknown_dtype) {
        out_.front().children = backend_reasons();  // it says all that E0301 would
      } else {
        refuse_all();
      }
    }
    add_context(out_.front());
    return std::move(out_);
  }

 private:
  // The row by which a backend comes nearest, in the phase that is farthest from being served.
  struct Nearest {
    Phase phase = Phase::prefill;
    int row = -1;
    std::size_t unmet = 0;
  };

  const Solver::Compiled& catalog() const { return query_.catalog(); }

  std::string subject() const {
    const auto text = [&](const char* dim) -> std::string {
      const auto found = query_.request().values.find(dim);
      return found == query_.request().values.end() ? "" : value_text(found->second);
    };
    std::string out = query_.request().subject;
    if (out.empty()) {
      out = text("model_family").empty() ? "this request" : "`" + text("model_family") + "`";
    }
    if (!text("arch").empty()) out += " on " + text("arch");
    if (!text("kv_dtype").empty()) out += " with kv_dtype " + text("kv_dtype");
    return out;
  }

  void refuse_typed(Phase phase) {
    if (!query_.typed(phase)) return;
    const auto& entries = query_.entries(phase);
    const bool one_will_do = std::ranges::any_of(entries, [&](const std::string& entry) {
      return !query_.candidates(report_, phase, entry).empty();
    });
    for (const std::string& entry : entries) {
      if (entry == "auto") continue;
      const CompiledBackend* backend = catalog().find(entry);
      if (!backend) {
        add_typed(unknown_backend(entry), phase);
      } else if (const Deny* deny = query_.denied(entry); deny && !one_will_do) {
        add_typed(denied_backend(*deny, phase), phase);
      } else if (!one_will_do) {
        add_typed(unserved(*backend, phase, kShownRows), phase);
      }
    }
  }

  void add_typed(Diagnostic diagnostic, Phase phase) {
    typed_refused_ = true;
    diagnostic.origins.push_back(query_.request().choice[index(phase)]->origin);
    if (diagnostic.origins.back().text.empty()) diagnostic.origins.pop_back();
    out_.push_back(std::move(diagnostic));
  }

  Diagnostic unknown_backend(const std::string& id) const {
    std::vector<std::string> known;
    for (const CompiledBackend& backend : catalog().backends) known.push_back(backend.manifest->id);
    auto out = Diagnostic(Code::E0201).with("backend", id).with("catalog", catalog().catalog);
    if (const auto nearest = nearest_of_all(id, known)) {
      out = std::move(out)
                .with("nearest", *nearest)
                .note(fmt::format("the nearest id is `{}`", *nearest));
    }
    std::ranges::sort(known);
    return std::move(out).note("its backends: " + quoted_list(known));
  }

  static Diagnostic denied_backend(const Deny& deny, Phase phase) {
    return Diagnostic(Code::E0202)
        .with("backend", deny.id)
        .with("phase", std::string(phase_name(phase)))
        .with("kind", "denied")
        .with("reason", deny.reason);
  }

  // E0203 for a backend none of whose rows serves the phase.
  Diagnostic unserved(const CompiledBackend& backend, Phase phase, std::size_t shown) const {
    const std::vector<int> rows = nearest_rows(query_, report_, backend, phase);
    std::vector<FailedCondition> failed;
    for (const int row : rows) {
      auto conditions = row_verdict(query_, report_, row, phase).failed;
      failed.insert(failed.end(), conditions.begin(), conditions.end());
    }
    auto out = Diagnostic(Code::E0203)
                   .with("backend", backend.manifest->id)
                   .with("phase", std::string(phase_name(phase)))
                   .with("what",
                         rows.empty() ? "request" : subject_of_fails(query_, report_, rows.front()))
                   .with("failed", RawJson{failed_conditions_json(failed)});
    const auto visible = std::span(rows).first(std::min(rows.size(), shown));
    const std::string request = describe_request(query_, report_, visible);
    if (!request.empty()) out.evidence.push_back({"request", request});
    for (const int row : visible) {
      out.evidence.push_back({"row " + catalog().rows[static_cast<std::size_t>(row)].source->name,
                              describe_fails(query_, report_, row, phase)});
    }
    if (rows.size() > shown) {
      out.evidence.push_back(
          {"", fmt::format("… and {} more rows (dsakit explain shows all)", rows.size() - shown)});
    }
    const std::string note = arch_note(query_, report_, visible);
    if (!note.empty()) out.notes.push_back(note);
    return out;
  }

  // R10: sessions that naming would open.
  bool list_named_sessions() {
    const auto by_name = query_.allowed(kListedSessions, &query_.choice(), work_);
    if (by_name.first.empty()) return false;
    std::vector<Session> sessions;
    for (const auto& found : by_name.first) sessions.push_back(query_.name_session(found));
    auto diagnostic = Diagnostic(Code::E0302)
                          .with("phases", describe_phases(query_.phases()))
                          .with("count", static_cast<std::int64_t>(by_name.count))
                          .with("sessions", RawJson{sessions_json(sessions)});
    for (std::size_t i = 0; i < std::min(sessions.size(), kShownBackends); ++i) {
      const std::string& dtype = sessions[i].kv_dtype;
      diagnostic.evidence.push_back(
          {"by name", describe_session(sessions[i]) +
                          (dtype.empty() ? "" : fmt::format("   kv_dtype {}", dtype))});
    }
    if (by_name.count > kShownBackends) {
      diagnostic.evidence.push_back(
          {"", fmt::format("… and {} more", by_name.count - kShownBackends)});
    }
    if (!by_name.complete) {
      diagnostic.notes.emplace_back("counting stopped there: more sessions exist by name only");
    }
    diagnostic.children = backend_reasons();
    out_.push_back(std::move(diagnostic));
    return true;
  }

  void refuse_all() {
    std::array<bool, 3> lacking{};
    bool any_lacking = false;
    for (const Phase phase : kPhases) {
      const bool lacks =
          query_.phases()[index(phase)] && query_.candidates(report_, phase, "").empty();
      lacking[index(phase)] = lacks;
      any_lacking |= lacks;
    }
    if (!any_lacking && typed_pair_clash()) return;
    auto diagnostic =
        any_lacking ? Diagnostic(Code::E0301)
                          .with("phases", describe_phases(lacking))
                          .with("subject", subject())
                    : Diagnostic(Code::E0304).with("phases", describe_phases(query_.phases()));
    diagnostic.children = backend_reasons();
    diagnostic.evidence = nearest_evidence();
    out_.push_back(std::move(diagnostic));
  }

  // Two typed backends that serve one by one: say what they disagree about.
  bool typed_pair_clash() {
    for (const auto& [a, b] :
         {std::pair(Phase::prefill, Phase::decode), std::pair(Phase::decode, Phase::mtp),
          std::pair(Phase::prefill, Phase::mtp)}) {
      if (!query_.typed(a) || !query_.typed(b)) continue;
      auto diagnostic = clash_between(query_, a, typed_rows(a), b, typed_rows(b));
      if (!diagnostic) continue;
      for (const Phase phase : {a, b}) {
        const Origin& origin = query_.request().choice[index(phase)]->origin;
        if (!origin.text.empty()) diagnostic->origins.push_back(origin);
      }
      out_.push_back(std::move(*diagnostic));
      return true;
    }
    return false;
  }

  std::vector<int> typed_rows(Phase phase) const {
    std::vector<int> rows;
    for (const std::string& entry : query_.entries(phase)) {
      const auto more = query_.candidates(report_, phase, entry);
      rows.insert(rows.end(), more.begin(), more.end());
    }
    return by_name(query_, std::move(rows));
  }

  // At least one reason for each backend, nearest first.
  std::vector<Diagnostic> backend_reasons() const {
    std::vector<Diagnostic> out;
    for (const int backend : backends_by_distance()) {
      const CompiledBackend& entry = catalog().backends[static_cast<std::size_t>(backend)];
      if (const Deny* deny = query_.denied(entry.manifest->id)) {
        out.push_back(denied_backend(*deny, first_phase()));
        continue;
      }
      bool has_reason = false;
      for (const Phase phase : kPhases) {
        if (!query_.phases()[index(phase)] ||
            !query_.candidates(report_, phase, entry.manifest->id).empty())
          continue;
        out.push_back(unserved(entry, phase, 1));
        has_reason = true;
      }
      if (!has_reason && !in_a_session(entry.manifest->id)) {
        if (auto clash = clash_of_backend(query_, entry)) out.push_back(std::move(*clash));
      }
    }
    return out;
  }

  bool in_a_session(const std::string& id) const {
    return std::ranges::any_of(allowed_.ids, [&](const auto& ids) { return ids.contains(id); });
  }

  Phase first_phase() const {
    for (const Phase phase : kPhases) {
      if (query_.phases()[index(phase)]) return phase;
    }
    return Phase::prefill;
  }

  // Backends by the fewest unmet conditions over the requested phases, then by id.
  std::vector<int> backends_by_distance() const {
    std::vector<int> order;
    for (int i = 0; i < static_cast<int>(catalog().backends.size()); ++i) order.push_back(i);
    std::ranges::sort(order, {}, [this](int i) {
      return std::pair(nearest_[static_cast<std::size_t>(i)].unmet, catalog().id(i));
    });
    return order;
  }

  Nearest nearest(const CompiledBackend& backend) const {
    Nearest out;
    for (const Phase phase : kPhases) {
      if (!query_.phases()[index(phase)] || backend.row_count == 0) continue;
      const int row = nearest_rows(query_, report_, backend, phase).front();
      FailKind kind{};
      const bool serves =
          row_serves_phase(catalog(), catalog().rows[static_cast<std::size_t>(row)], phase, &kind);
      const std::size_t unmet = report_.fails_of(row).size() + (serves ? 0 : 1);
      if (out.row < 0 || unmet > out.unmet) out = {phase, row, unmet};
    }
    return out;
  }

  std::vector<Evidence> nearest_evidence() const {
    std::vector<Evidence> out{{"", "nearest, by number of unmet conditions"}};
    const auto order = backends_by_distance();
    for (std::size_t i = 0; i < std::min(order.size(), kShownBackends); ++i) {
      const CompiledBackend& entry = catalog().backends[static_cast<std::size_t>(order[i])];
      const Nearest& at = nearest_[static_cast<std::size_t>(order[i])];
      out.push_back(
          {entry.manifest->id, fmt::format("{}   {}", at.unmet, nearest_text(entry, at))});
    }
    if (order.size() > kShownBackends) {
      out.push_back({"", fmt::format("… and {} more (dsakit explain shows all)",
                                     order.size() - kShownBackends)});
    }
    return out;
  }

  std::string nearest_text(const CompiledBackend& backend, const Nearest& at) const {
    if (const Deny* deny = query_.denied(backend.manifest->id)) return "denied: " + deny->reason;
    if (at.row < 0) return "has no rows";
    if (at.unmet > 0) {
      return fmt::format("{} (row {}, {})", describe_fails(query_, report_, at.row, at.phase),
                         catalog().rows[static_cast<std::size_t>(at.row)].source->name,
                         phase_name(at.phase));
    }
    const auto clash = clash_of_backend(query_, backend);
    if (!clash) return "serves, but not in this session";
    for (const Field& field : clash->fields) {
      if (field.name == "other")
        return fmt::format("serves one by one, clashes with `{}`",
                           std::get<std::string>(field.value));
    }
    return "serves one by one";
  }

  // What is allowed here, and what was tried.
  void add_context(Diagnostic& first) const {
    if (allowed_.count == 0) {
      for (std::string& note : unnamed_values(query_, report_))
        first.notes.push_back(std::move(note));
    }
    if (!allowed_.first.empty()) {
      for (const Phase phase : kPhases) {
        if (!query_.phases()[index(phase)]) continue;
        const auto& ids = allowed_.ids[index(phase)];
        first.notes.push_back(
            fmt::format("{} allowed here: {}", phase_name(phase),
                        quoted_list(std::vector<std::string>(ids.begin(), ids.end()))));
      }
      const bool listed =
          std::ranges::any_of(first.fields, [](const Field& f) { return f.name == "sessions"; });
      if (!listed) {
        std::vector<Session> sessions;
        for (const auto& found : allowed_.first) sessions.push_back(query_.name_session(found));
        first.fields.push_back({"sessions", RawJson{sessions_json(sessions)}});
      }
    }
    for (const Suggestion& suggestion : advice_.suggestions) {
      first.helps.push_back(suggestion.text);
    }
    if (advice_.suggestions.empty()) first.notes.push_back(nothing_found());
  }

  // That no suggestion is left, with exactly what was tried.
  std::string nothing_found() const {
    if (advice_.tried.empty()) return "there was no single setting to change";
    return fmt::format("changed one at a time, none of these makes a backend fit: {}{}",
                       fmt::join(advice_.tried, ", "),
                       advice_.complete ? "" : " (the search stopped early)");
  }

  const Query& query_;
  const Evaluated& report_;
  const Advice& advice_;
  Work work_{kListingWork};
  Query::Allowed allowed_;
  std::vector<Nearest> nearest_;  // by backend
  std::vector<Diagnostic> out_;
  bool typed_refused_ = false;
};

}  // namespace

std::vector<Diagnostic> explain_rejection(const Query& query, const Advice& advice) {
  return Rejection(query, advice).run();
}

}  // namespace dsakit
