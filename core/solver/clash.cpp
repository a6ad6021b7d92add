#include "solver/clash.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "solver/describe.hpp"
#include "solver/obligations.hpp"

namespace dsakit {
namespace {

const CompiledRow& row_at(const Query& query, int row) {
  return query.catalog().rows[static_cast<std::size_t>(row)];
}

const std::string& id_of(const Query& query, int row) {
  return query.catalog().id(row_at(query, row).backend);
}

std::string kv_dtype_of(const Query& query, int row) {
  for (const int number : row_at(query, row).predicates) {
    const CompiledPredicate& predicate = query.catalog().predicate(number);
    if (predicate.dim == query.catalog().kv_dtype_dim) return predicate_text(*predicate.source);
  }
  return "anything";
}

// What one side says about the matter, for its evidence line.
std::string clash_side(const Query& query, const Clash& clash, Phase phase, int row) {
  const Solver::Compiled& catalog = query.catalog();
  if (clash.kind == Clash::Kind::conflict) {
    const auto backend = static_cast<std::size_t>(row_at(query, row).backend);
    const auto& conflicts = catalog.backends[backend].manifest->conflicts;
    if (conflicts.empty()) return std::string(phase_name(phase));
    return fmt::format("{}; declares conflicts with {}", phase_name(phase), quoted_list(conflicts));
  }
  if (clash.kind == Clash::Kind::provides) {
    const std::string value = value_text(*provided(catalog, row, clash.dim));
    const std::string layout = clash.dim == "kv_layout" ? kv_layout_text(value) : "";
    return fmt::format("{} {} {} {}{}{}", phase_name(phase),
                       phase == Phase::prefill ? "writes" : "reads", clash.dim, value,
                       layout.empty() ? "" : "   ", layout);
  }
  std::string conditions;
  for (const PendingCondition& pending : query.report().pending_of(row)) {
    if (catalog.dims.at(pending.dim).name == clash.dim)
      conditions += " " + condition_json(catalog, pending);
  }
  return fmt::format("{} {} accepts{}", phase_name(phase), clash.dim,
                     conditions.empty() ? " " + kv_dtype_of(query, row) : conditions);
}

Diagnostic clash_diagnostic(const Query& query, const Clash& clash, Phase a, int row_a, Phase b,
                            int row_b) {
  const Code code = clash.kind == Clash::Kind::provides   ? Code::E0305
                    : clash.kind == Clash::Kind::conflict ? Code::E0306
                                                          : Code::E0307;
  const std::string dim = clash.kind == Clash::Kind::conflict ? "conflicts" : clash.dim;
  FailedCondition failed{row_at(query, row_a).source->name, dim, "null", "null",
                         FailKind::conflict};
  if (clash.kind == Clash::Kind::provides) {
    failed.wanted = value_json(*provided(query.catalog(), row_b, clash.dim));
    failed.offered = value_json(*provided(query.catalog(), row_a, clash.dim));
  }
  auto out = Diagnostic(code)
                 .with("backend", id_of(query, row_a))
                 .with("phase", std::string(phase_name(a)))
                 .with("other", id_of(query, row_b))
                 .with("phase_a", std::string(phase_name(a)))
                 .with("phase_b", std::string(phase_name(b)))
                 .with("dim", dim)
                 .with("failed", RawJson{failed_conditions_json({&failed, 1})});
  out.evidence.push_back({id_of(query, row_a), clash_side(query, clash, a, row_a)});
  if (row_a != row_b || a != b)
    out.evidence.push_back({id_of(query, row_b), clash_side(query, clash, b, row_b)});
  return out;
}

std::vector<int> named_candidates(const Query& query, Phase phase, const std::string& entry) {
  return by_name(query, query.candidates(query.report(), phase, entry));
}

// Why these three rows, one for each phase, share no session.
std::optional<Diagnostic> clash_of_three(const Query& query, const std::array<int, 3>& rows) {
  static constexpr std::pair<Phase, Phase> kPairs[] = {
      {Phase::decode, Phase::prefill}, {Phase::decode, Phase::mtp}, {Phase::prefill, Phase::mtp}};
  for (const auto& [a, b] : kPairs) {
    const int row_a = rows[index(a)], row_b = rows[index(b)];
    const Clash clash = find_clash(query.catalog(), query.report(), std::array{row_a, row_b});
    if (clash) return clash_diagnostic(query, clash, a, row_a, b, row_b);
  }
  const Clash clash = find_clash(query.catalog(), query.report(), rows);
  if (!clash) return std::nullopt;
  return clash_diagnostic(query, clash, Phase::decode, rows[index(Phase::decode)], Phase::prefill,
                          rows[index(Phase::prefill)]);
}

// Each two phases have rows that agree, and no three do.
std::optional<Diagnostic> three_way_clash(const Query& query, const CompiledBackend& backend) {
  if (std::ranges::find(query.phases(), false) != query.phases().end()) return std::nullopt;
  const auto prefill_rows = named_candidates(query, Phase::prefill, "");
  const auto mtp_rows = named_candidates(query, Phase::mtp, "");
  for (const int decode : named_candidates(query, Phase::decode, backend.manifest->id)) {
    for (const int prefill : prefill_rows) {
      for (const int mtp : mtp_rows) {
        if (auto clash = clash_of_three(query, {prefill, decode, mtp})) return clash;
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<int> by_name(const Query& query, std::vector<int> rows) {
  std::ranges::sort(rows, {}, [&query](int row) {
    return std::pair(std::string_view(id_of(query, row)),
                     std::string_view(row_at(query, row).source->name));
  });
  return rows;
}

std::optional<Diagnostic> clash_between(const Query& query, Phase a, const std::vector<int>& rows_a,
                                        Phase b, const std::vector<int>& rows_b) {
  std::optional<Diagnostic> out;
  for (const int row_a : rows_a) {
    for (const int row_b : rows_b) {
      Clash clash = find_clash(query.catalog(), query.report(), std::array{row_a, row_b});
      if (!clash) {
        if (query.dtypes().size() == 1) return std::nullopt;
        clash = {Clash::Kind::obligation,
                 "kv_dtype"};  // each serves another dtype of the preference
      }
      if (!out) out = clash_diagnostic(query, clash, a, row_a, b, row_b);
    }
  }
  return out;
}

std::optional<Diagnostic> clash_of_backend(const Query& query, const CompiledBackend& backend) {
  for (const Phase a : kPhases) {
    if (!query.phases()[index(a)]) continue;
    const auto own = named_candidates(query, a, backend.manifest->id);
    if (!own.empty()) {
      const Clash alone = find_clash(query.catalog(), query.report(), std::array{own.front()});
      if (alone) return clash_diagnostic(query, alone, a, own.front(), a, own.front());
    }
    for (const Phase b : kPhases) {
      if (b == a || !query.phases()[index(b)]) continue;
      if (auto clash = clash_between(query, a, own, b, named_candidates(query, b, "")))
        return clash;
    }
  }
  return three_way_clash(query, backend);
}

}  // namespace dsakit
