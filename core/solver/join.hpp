// Sessions: which accepted rows may stand together (R7), in which order they are preferred (R9),
// and the best or all of them. Private to solver/. Pure; any thread.
#pragma once

#include <array>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "solver/evaluate.hpp"

namespace dsakit {

// A row for each requested phase, −1 for the others.
struct SessionRows {
  std::array<int, 3> row{-1, -1, -1};
  bool operator==(const SessionRows&) const = default;
};

// Rows that may be used in each phase.
using Candidates = std::array<std::vector<int>, 3>;

// How many combinations a search may still look at. A verdict has no bound; what only advises has.
struct Work {
  std::size_t left = std::numeric_limits<std::size_t>::max();
  bool spend() {
    if (left == 0) return false;
    --left;
    return true;
  }
};

// Why rows that serve one by one cannot share a session.
struct Clash {
  enum class Kind : std::uint8_t { none, provides, conflict, obligation };
  Kind kind = Kind::none;
  std::string dim;  // provides, obligation
  explicit operator bool() const { return kind != Kind::none; }
};

Clash find_clash(const Solver::Compiled& catalog, const Evaluated& evaluated,
                 std::span<const int> rows);

// What a row provides in `dim`; null if it states nothing. For kv_layout a token.
const Value* provided(const Solver::Compiled& catalog, int row, const std::string& dim);

// The total order of R9 over sessions of one catalogue.
class SessionOrder {
 public:
  SessionOrder(const Solver::Compiled& catalog, const Policy& policy);

  bool better(const SessionRows& a, const SessionRows& b) const;

  // A session's place by preference and rank alone, smaller is better; a row of −1 counts as the
  // best possible, which makes this a bound for sessions that are still incomplete.
  using Key = std::array<int, 6>;
  Key key(const SessionRows& session) const;
  // Sorts rows of one phase so that key() never falls along the list.
  void sort(std::vector<int>& rows) const;
  // Whether a session gets better when `a` takes the place of `b`, a row of the same backend.
  bool better_row(int a, int b) const;

 private:
  int position(int row) const;
  const Solver::Compiled& catalog_;
  std::vector<int> position_of_backend_;
};

// The first session in the order, or nothing. `phases` are the requested ones.
std::optional<SessionRows> best_session(const Solver::Compiled& catalog, const Evaluated& evaluated,
                                        const SessionOrder& order, const Candidates& candidates,
                                        const std::array<bool, 3>& phases, Work& work);

// The sessions, one for each combination of backends: the one with its best rows.
struct SessionList {
  std::vector<SessionRows> first;  // the best, in order, as many as were asked for
  std::size_t count = 0;           // of all; a lower bound if the work ran out
};

SessionList list_sessions(const Solver::Compiled& catalog, const Evaluated& evaluated,
                          const SessionOrder& order, const Candidates& candidates,
                          const std::array<bool, 3>& phases, std::size_t limit, Work& work,
                          std::array<std::set<int>, 3>& backends);

}  // namespace dsakit
