#include "solver/join.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "solver/obligations.hpp"

namespace dsakit {
namespace {

// R9 looks at the phases in this order.
constexpr std::array kOrder{Phase::decode, Phase::mtp, Phase::prefill};

const CompiledRow& row_at(const Solver::Compiled& catalog, int row) {
  return catalog.rows[static_cast<std::size_t>(row)];
}

// Walks the sessions depth first, decode → mtp → prefill, each phase's rows in the order's sorting.
template <typename Visit, typename Prune>
class SessionWalk {
 public:
  SessionWalk(const Solver::Compiled& catalog, const Evaluated& evaluated,
              const Candidates& candidates, const std::array<bool, 3>& phases, Work& work,
              Visit visit, Prune prune)
      : catalog_(catalog),
        evaluated_(evaluated),
        candidates_(candidates),
        work_(work),
        visit_(visit),
        prune_(prune) {
    for (const Phase phase : kOrder) {
      if (phases[index(phase)]) steps_[step_count_++] = phase;
    }
  }

  void walk() {
    if (step_count_ > 0) descend<0>();
  }

 private:
  template <std::size_t Step>
  void descend() {
    for (const int row : candidates_[index(steps_[Step])]) {
      session_.row[index(steps_[Step])] = row;
      chosen_[Step] = row;
      if (prune_(session_)) break;  // sorted: what follows is no better
      if (!work_.spend()) break;
      if (find_clash(catalog_, evaluated_, std::span<const int>(chosen_.data(), Step + 1)))
        continue;
      if constexpr (Step + 1 < kOrder.size()) {
        if (Step + 1 < step_count_) {
          descend<Step + 1>();
          continue;
        }
      }
      visit_(session_);
    }
    session_.row[index(steps_[Step])] = -1;
  }

  const Solver::Compiled& catalog_;
  const Evaluated& evaluated_;
  const Candidates& candidates_;
  Work& work_;
  Visit visit_;
  Prune prune_;
  std::array<Phase, 3> steps_{};
  std::size_t step_count_ = 0;
  std::array<int, 3> chosen_{};
  SessionRows session_;
};

Clash provides_clash(const Solver::Compiled& catalog, int a, int b) {
  const CompiledRow& left = row_at(catalog, a);
  const CompiledRow& right = row_at(catalog, b);
  if (left.layout != right.layout) return {Clash::Kind::provides, "kv_layout"};
  for (const auto& [dim, value] : left.other_provides) {
    const auto found = right.other_provides.find(dim);
    if (found != right.other_provides.end() && found->second != value)
      return {Clash::Kind::provides, dim};
  }
  return {};
}

// Rows of one backend that nothing in a session can tell apart but their place in the order.
bool interchangeable(const Solver::Compiled& catalog, const Evaluated& evaluated, int a, int b) {
  const CompiledRow& left = row_at(catalog, a);
  const CompiledRow& right = row_at(catalog, b);
  const auto pending_a = evaluated.pending_of(a);
  const auto pending_b = evaluated.pending_of(b);
  return left.backend == right.backend && left.layout == right.layout &&
         left.other_provides == right.other_provides &&
         std::ranges::equal(pending_a, pending_b,
                            [](const PendingCondition& x, const PendingCondition& y) {
                              return x.dim == y.dim && x.predicate == y.predicate;
                            });
}

// Of rows that are interchangeable, the best: with the others there are more sessions, none better.
// `rows` hold those of a backend side by side.
std::vector<int> representatives(const Solver::Compiled& catalog, const Evaluated& evaluated,
                                 const SessionOrder& order, const std::vector<int>& rows) {
  std::vector<int> out;
  std::size_t first_of_backend = 0;
  for (const int row : rows) {
    if (!out.empty() && row_at(catalog, out.back()).backend != row_at(catalog, row).backend) {
      first_of_backend = out.size();
    }
    const auto same =
        std::find_if(out.begin() + static_cast<std::ptrdiff_t>(first_of_backend), out.end(),
                     [&](int other) { return interchangeable(catalog, evaluated, row, other); });
    if (same == out.end()) {
      out.push_back(row);
    } else if (order.better_row(row, *same)) {
      *same = row;
    }
  }
  return out;
}

Candidates representatives(const Solver::Compiled& catalog, const Evaluated& evaluated,
                           const SessionOrder& order, const Candidates& candidates) {
  Candidates out;
  for (const Phase phase : kPhases) {
    out[index(phase)] = representatives(catalog, evaluated, order, candidates[index(phase)]);
    order.sort(out[index(phase)]);
  }
  return out;
}

// Names a session's backends by one number: catalogues hold far fewer than 2^21 of them.
std::uint64_t combination(const Solver::Compiled& catalog, const SessionRows& session) {
  std::uint64_t out = 0;
  for (const int row : session.row) {
    const int backend = row < 0 ? 0 : row_at(catalog, row).backend + 1;
    out = out << 21 | static_cast<std::uint64_t>(backend);
  }
  return out;
}

}  // namespace

const Value* provided(const Solver::Compiled& catalog, int row, const std::string& dim) {
  const auto& provides = row_at(catalog, row).source->provides;
  const auto found = provides.find(dim);
  return found == provides.end() ? nullptr : &found->second;
}

Clash find_clash(const Solver::Compiled& catalog, const Evaluated& evaluated,
                 std::span<const int> rows) {
  bool pending = false;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    pending |= evaluated.rows[static_cast<std::size_t>(rows[i])].pending_count > 0;
    for (std::size_t j = 0; j < i; ++j) {
      if (const Clash clash = provides_clash(catalog, rows[i], rows[j])) return clash;
      const int a = row_at(catalog, rows[i]).backend;
      const int b = row_at(catalog, rows[j]).backend;
      if (a != b && catalog.conflict(a, b)) return {Clash::Kind::conflict, ""};
    }
  }
  if (pending) {
    const int dim = contradicted_dimension(catalog, evaluated, rows);
    if (dim >= 0) return {Clash::Kind::obligation, catalog.dims.at(dim).name};
  }
  return {};
}

SessionOrder::SessionOrder(const Solver::Compiled& catalog, const Policy& policy)
    : catalog_(catalog),
      position_of_backend_(catalog.backends.size(), static_cast<int>(policy.prefer.size())) {
  for (std::size_t i = policy.prefer.size(); i-- > 0;) {
    const auto found = catalog.backend_of_id.find(policy.prefer[i]);
    if (found != catalog.backend_of_id.end()) {
      position_of_backend_[static_cast<std::size_t>(found->second)] = static_cast<int>(i);
    }
  }
}

int SessionOrder::position(int row) const {
  return position_of_backend_[static_cast<std::size_t>(row_at(catalog_, row).backend)];
}

SessionOrder::Key SessionOrder::key(const SessionRows& session) const {
  Key key{};
  for (std::size_t i = 0; i < kOrder.size(); ++i) {
    const int row = session.row[index(kOrder[i])];
    key[i] = row < 0 ? 0 : position(row);
    key[i + 3] = row < 0 ? std::numeric_limits<int>::min() : -row_at(catalog_, row).source->rank;
  }
  return key;
}

void SessionOrder::sort(std::vector<int>& rows) const {
  std::ranges::stable_sort(rows, [this](int a, int b) {
    return std::pair(position(a), -row_at(catalog_, a).source->rank) <
           std::pair(position(b), -row_at(catalog_, b).source->rank);
  });
}

bool SessionOrder::better_row(int a, int b) const {
  const auto place = [this](int row) {
    const CompiledRow& compiled = row_at(catalog_, row);
    return std::tuple(-compiled.source->rank, -compiled.constrained,
                      std::string_view(compiled.source->name));
  };
  return place(a) < place(b);
}

bool SessionOrder::better(const SessionRows& a, const SessionRows& b) const {
  const Key key_a = key(a), key_b = key(b);
  if (key_a != key_b) return key_a < key_b;

  const auto measure = [this](const SessionRows& session) {
    int backends = 0;
    int constrained = 0;
    for (std::size_t i = 0; i < session.row.size(); ++i) {
      if (session.row[i] < 0) continue;
      const CompiledRow& row = row_at(catalog_, session.row[i]);
      constrained += row.constrained;
      const auto same_backend = [&](int other) {
        return other >= 0 && row_at(catalog_, other).backend == row.backend;
      };
      backends += std::none_of(session.row.begin(),
                               session.row.begin() + static_cast<std::ptrdiff_t>(i), same_backend);
    }
    return std::pair(backends, -constrained);
  };
  const auto measure_a = measure(a), measure_b = measure(b);
  if (measure_a != measure_b) return measure_a < measure_b;

  const auto compare_by = [&](auto&& name_of) {
    for (const Phase phase : kOrder) {
      const int row_a = a.row[index(phase)], row_b = b.row[index(phase)];
      if (row_a == row_b || row_a < 0 || row_b < 0) continue;
      const int order = name_of(row_a).compare(name_of(row_b));
      if (order != 0) return order;
    }
    return 0;
  };
  const int by_id = compare_by(
      [this](int row) -> const std::string& { return catalog_.id(row_at(catalog_, row).backend); });
  if (by_id != 0) return by_id < 0;
  return compare_by([this](int row) -> const std::string& {
           return row_at(catalog_, row).source->name;
         }) < 0;
}

std::optional<SessionRows> best_session(const Solver::Compiled& catalog, const Evaluated& evaluated,
                                        const SessionOrder& order, const Candidates& candidates,
                                        const std::array<bool, 3>& phases, Work& work) {
  const Candidates sorted = representatives(catalog, evaluated, order, candidates);
  std::optional<SessionRows> best;
  SessionOrder::Key best_key{};
  const auto visit = [&](const SessionRows& session) {
    if (best && !order.better(session, *best)) return;
    best = session;
    best_key = order.key(session);
  };
  const auto prune = [&](const SessionRows& partial) {
    return best && order.key(partial) > best_key;
  };
  SessionWalk walk(catalog, evaluated, sorted, phases, work, visit, prune);
  walk.walk();
  return best;
}

SessionList list_sessions(const Solver::Compiled& catalog, const Evaluated& evaluated,
                          const SessionOrder& order, const Candidates& candidates,
                          const std::array<bool, 3>& phases, std::size_t limit, Work& work,
                          std::array<std::set<int>, 3>& backends) {
  const Candidates sorted = representatives(catalog, evaluated, order, candidates);
  std::unordered_map<std::uint64_t, SessionRows> best_of;
  const auto visit = [&](const SessionRows& session) {
    const auto [known, is_new] = best_of.try_emplace(combination(catalog, session), session);
    if (!is_new && order.better(session, known->second)) known->second = session;
  };
  const auto never = [](const SessionRows&) { return false; };
  SessionWalk walk(catalog, evaluated, sorted, phases, work, visit, never);
  walk.walk();
  SessionList out;
  out.count = best_of.size();
  out.first.reserve(best_of.size());
  for (const auto& [key, session] : best_of) {
    out.first.push_back(session);
    for (const Phase phase : kPhases) {
      const int row = session.row[index(phase)];
      if (row >= 0) backends[index(phase)].insert(row_at(catalog, row).backend);
    }
  }
  const std::size_t kept = std::min(limit, out.first.size());
  std::ranges::partial_sort(
      out.first, out.first.begin() + static_cast<std::ptrdiff_t>(kept),
      [&order](const SessionRows& a, const SessionRows& b) { return order.better(a, b); });
  out.first.resize(kept);
  return out;
}

}  // namespace dsakit
