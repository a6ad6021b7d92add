#include "solver/obligations.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dsakit {
namespace {

using Conditions = std::span<const CompiledPredicate* const>;

// The conjunction of integer conditions over 0 … 2^31−1, in one normal form.
struct IntegerMeet {
  std::int64_t low = 0, high = kMaxInteger;
  std::int64_t multiple = 1;  // saturates above kMaxInteger, where 0 is the only multiple left
  bool pow2 = false;
  std::vector<const std::vector<std::int32_t>*> lists;
  std::optional<std::int32_t> exactly;

  void add(const Predicate& p) {
    if (p.min) low = std::max<std::int64_t>(low, *p.min);
    if (p.max) high = std::min<std::int64_t>(high, *p.max);
    if (p.multiple_of)
      multiple = std::min(std::lcm(multiple, std::int64_t{*p.multiple_of}), kMaxInteger + 1);
    if (p.one_of) lists.push_back(&*p.one_of);
    pow2 |= p.pow2;
  }

  bool accepts(std::int64_t value) const {
    return value >= low && value <= high && value % multiple == 0 &&
           (!pow2 || std::has_single_bit(static_cast<std::uint64_t>(value))) &&
           (!exactly || value == *exactly) && std::ranges::all_of(lists, [value](const auto* list) {
             return std::ranges::binary_search(*list, static_cast<std::int32_t>(value));
           });
  }

  bool satisfiable() const {
    const auto fits = [this](std::int64_t value) { return accepts(value); };
    if (exactly) return accepts(*exactly);
    if (!lists.empty()) return std::ranges::any_of(*lists.front(), fits);
    if (pow2) {
      for (std::int64_t value = 1; value <= kMaxInteger; value *= 2) {
        if (accepts(value)) return true;
      }
      return false;
    }
    if (low > high) return false;
    return (low + multiple - 1) / multiple * multiple <= high;
  }
};

bool integers_meet(const Dimension& dim, Conditions conditions) {
  IntegerMeet meet;
  for (const CompiledPredicate* condition : conditions) {
    if (condition) {
      meet.add(*condition->source);
    } else {
      const std::int32_t neutral = std::get<std::int32_t>(*dim.neutral);
      if (meet.exactly && *meet.exactly != neutral) return false;
      meet.exactly = neutral;
    }
  }
  return meet.satisfiable();
}

bool tokens_meet(const Dimension& dim, const Dictionary& dictionary, Conditions conditions) {
  std::optional<Bits> common;
  for (const CompiledPredicate* condition : conditions) {
    Bits accepted;
    if (condition) {
      accepted = condition->accepted;
    } else {
      accepted.set(dictionary.find(std::get<Token>(*dim.neutral)));
    }
    common = common ? *common & accepted : accepted;
  }
  return !common || !common->empty();
}

bool sets_meet(const Dimension& dim, const Dictionary& dictionary, Conditions conditions) {
  std::optional<Bits> allowed;
  Bits demanded, forbidden;
  for (const CompiledPredicate* condition : conditions) {
    Bits accepted;
    if (condition) {
      accepted = condition->accepted;
      if (condition->demand) {
        demanded = demanded | condition->demand->includes;
        forbidden = forbidden | condition->demand->none_of;
      }
    } else {
      for (const std::string& element : std::get<Set>(*dim.neutral))
        accepted.set(dictionary.find(element));
      demanded = demanded | accepted;
    }
    allowed = allowed ? *allowed & accepted : accepted;
  }
  return !allowed || (demanded.within(*allowed) && !demanded.meets(forbidden));
}

bool versions_meet(const Dimension& dim, Conditions conditions) {
  Version low{{0}};
  std::optional<Version> below;
  std::optional<Version> exactly;
  for (const CompiledPredicate* condition : conditions) {
    if (!condition) {
      exactly = std::get<Version>(*dim.neutral);
      continue;
    }
    if (condition->source->from) low = std::max(low, *condition->source->from);
    if (condition->source->below && (!below || *condition->source->below < *below)) {
      below = condition->source->below;
    }
  }
  const Version& lowest = exactly ? *exactly : low;
  return lowest >= low && (!below || lowest < *below);
}

}  // namespace

bool satisfiable(const Solver::Compiled& catalog, int dim, Conditions conditions) {
  const Dimension& dimension = catalog.dims.at(dim);
  const Dictionary& dictionary = catalog.dictionaries[static_cast<std::size_t>(dim)];
  switch (dimension.type) {
    case DimType::token:
    case DimType::arch:
      return tokens_meet(dimension, dictionary, conditions);
    case DimType::integer:
      return integers_meet(dimension, conditions);
    case DimType::set:
      return sets_meet(dimension, dictionary, conditions);
    case DimType::version:
      return versions_meet(dimension, conditions);
  }
  return false;
}

int contradicted_dimension(const Solver::Compiled& catalog, const Evaluated& evaluated,
                           std::span<const int> rows) {
  Bits seen;
  for (const int row : rows) {
    for (const PendingCondition& pending : evaluated.pending_of(row)) {
      if (seen.test(pending.dim)) continue;
      seen.set(pending.dim);
      std::vector<const CompiledPredicate*> together;
      for (const int other : rows) {
        for (const PendingCondition& condition : evaluated.pending_of(other)) {
          if (condition.dim == pending.dim) together.push_back(condition.predicate);
        }
      }
      if (!satisfiable(catalog, pending.dim, together)) return pending.dim;
    }
  }
  return -1;
}

std::string condition_json(const Solver::Compiled& catalog, const PendingCondition& condition) {
  if (condition.predicate) return condition.predicate->source->json;
  const Dimension& dim = catalog.dims.at(condition.dim);
  const std::string neutral = value_json(*dim.neutral);
  switch (dim.type) {
    case DimType::token:
    case DimType::arch:
    case DimType::version:
      return "[" + neutral + "]";
    case DimType::integer:
      return fmt::format(R"({{"one_of":[{}]}})", neutral);
    case DimType::set:
      return fmt::format(R"({{"includes":{0},"subset":{0}}})", neutral);
  }
  return neutral;
}

std::vector<Obligation> list_obligations(const Solver::Compiled& catalog,
                                         const Evaluated& evaluated,
                                         const std::array<int, 3>& row_of_phase) {
  std::vector<Obligation> out;
  for (const Phase phase : kPhases) {
    const int row = row_of_phase[index(phase)];
    if (row < 0) continue;
    for (const PendingCondition& condition : evaluated.pending_of(row)) {
      const std::string& dim = catalog.dims.at(condition.dim).name;
      std::string predicate = condition_json(catalog, condition);
      const auto same = std::ranges::find_if(
          out, [&](const Obligation& o) { return o.dim == dim && o.predicate == predicate; });
      if (same == out.end()) {
        out.push_back({dim, std::move(predicate), {phase}});
      } else if (same->phases.back() != phase) {
        same->phases.push_back(phase);
      }
    }
  }
  std::ranges::stable_sort(out, {},
                           [](const Obligation& o) { return std::tie(o.dim, o.predicate); });
  return out;
}

}  // namespace dsakit
