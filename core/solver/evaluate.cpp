#include "solver/evaluate.hpp"

#include <algorithm>

#include "manifest/arch.hpp"

namespace dsakit {
namespace {

bool accepts_integer(const Predicate& p, std::int32_t value) {
  if (p.min && value < *p.min) return false;
  if (p.max && value > *p.max) return false;
  if (p.multiple_of && value % *p.multiple_of != 0) return false;
  if (p.one_of && !std::ranges::binary_search(*p.one_of, value)) return false;
  if (p.pow2 && (value <= 0 || (value & (value - 1)) != 0)) return false;
  return true;
}

bool accepts_version(const Predicate& p, const Version& value) {
  return (!p.from || value >= *p.from) && (!p.below || value < *p.below);
}

bool accepts_set(const CompiledPredicate& p, const CompiledRequest::Slot& slot) {
  if (slot.unlisted_element || !slot.elements.within(p.accepted)) return false;
  return !p.demand ||
         (p.demand->includes.within(slot.elements) && !p.demand->none_of.meets(slot.elements));
}

bool accepts_value(const CompiledPredicate& p, const CompiledRequest::Slot& slot) {
  switch (p.type) {
    case DimType::token:
    case DimType::arch:
      return p.accepted.test(slot.token);
    case DimType::integer:
      return accepts_integer(*p.source, std::get<std::int32_t>(*slot.value));
    case DimType::set:
      return accepts_set(p, slot);
    case DimType::version:
      return accepts_version(*p.source, std::get<Version>(*slot.value));
  }
  return false;
}

void number_value(CompiledRequest::Slot& slot, DimType type, const Dictionary& dictionary) {
  if (type == DimType::token) slot.token = dictionary.find(std::get<Token>(*slot.value));
  if (type == DimType::arch) {
    const auto* device = find_device(std::get<Token>(*slot.value));
    slot.token = device ? static_cast<int>(device - known_devices().data()) : -1;
  }
  if (type == DimType::set) {
    for (const std::string& element : std::get<Set>(*slot.value)) {
      const int number = dictionary.find(element);
      if (number < 0) {
        slot.unlisted_element = true;
      } else {
        slot.elements.set(number);
      }
    }
  }
}

// R1: the value an absent key takes, or null for unknown.
const Value* requested_value(const Dimension& dim, const Request& request) {
  const auto found = request.values.find(dim.name);
  if (found == request.values.end()) return dim.neutral ? &*dim.neutral : nullptr;
  return std::holds_alternative<Unknown>(found->second) ? nullptr : &found->second;
}

class RowJudge {
 public:
  RowJudge(const Solver::Compiled& catalog, Evaluated& out) : catalog_(catalog), out_(out) {
    outcomes_.reserve(catalog.predicates.size());
    for (const CompiledPredicate& predicate : catalog.predicates) {
      outcomes_.push_back(judge_predicate(predicate));
    }
  }

  void judge(int number) {
    const CompiledRow& row = catalog_.rows[static_cast<std::size_t>(number)];
    RowResult& result = out_.rows[static_cast<std::size_t>(number)];
    result.first_fail = static_cast<std::uint32_t>(out_.fails.size());
    result.first_pending = static_cast<std::uint32_t>(out_.pending.size());
    judge_silence(row);
    for (const int predicate : row.predicates) record(predicate);
    for (; next_unknown_ < catalog_.unknown_dims.size(); ++next_unknown_) {
      const UnknownDim& unknown = catalog_.unknown_dims[next_unknown_];
      if (unknown.row != number) break;
      out_.fails.push_back({-2, FailKind::op, nullptr, &unknown});
    }
    if (out_.request.layout != -1 && out_.request.layout != row.layout) {
      out_.fails.push_back({-1, FailKind::provides, nullptr, nullptr});
    }
    result.fail_count = static_cast<std::uint32_t>(out_.fails.size()) - result.first_fail;
    result.pending_count = static_cast<std::uint32_t>(out_.pending.size()) - result.first_pending;
  }

 private:
  // R2 and R3 for dimensions that the row does not mention; the closed world.
  void judge_silence(const CompiledRow& row) {
    out_.request.non_neutral.for_each_outside(row.mentioned_or_open, [this](int dim) {
      out_.fails.push_back({dim, FailKind::undeclared, nullptr, nullptr});
    });
    out_.request.unknown.for_each_outside(row.mentioned_or_open, [this](int dim) {
      if (catalog_.with_neutral.test(dim)) {
        out_.pending.push_back({dim, nullptr});
      } else {
        out_.fails.push_back({dim, FailKind::undeclared, nullptr, nullptr});
      }
    });
  }

  enum class Outcome : std::uint8_t { holds, pending, fails };

  // A predicate's outcome is the same for every row that has it.
  Outcome judge_predicate(const CompiledPredicate& predicate) const {
    if (predicate.never) return Outcome::fails;
    const auto& slot = out_.request.slots[static_cast<std::size_t>(predicate.dim)];
    if (predicate.dim == catalog_.kv_dtype_dim && !out_.request.dtype_numbers.empty()) {
      const bool fits = std::ranges::any_of(
          out_.request.dtype_numbers, [&](int token) { return predicate.accepted.test(token); });
      return fits ? Outcome::holds : Outcome::fails;
    }
    if (!slot.known) return Outcome::pending;
    return accepts_value(predicate, slot) ? Outcome::holds : Outcome::fails;
  }

  void record(int number) {
    const Outcome outcome = outcomes_[static_cast<std::size_t>(number)];
    if (outcome == Outcome::holds) return;
    const CompiledPredicate& predicate = catalog_.predicate(number);
    if (outcome == Outcome::pending) {
      out_.pending.push_back({predicate.dim, &predicate});
    } else {
      const FailKind kind = predicate.never ? FailKind::op : FailKind::mismatch;
      out_.fails.push_back({predicate.dim, kind, &predicate, nullptr});
    }
  }

  const Solver::Compiled& catalog_;
  Evaluated& out_;
  std::vector<Outcome> outcomes_;  // by number of predicate
  std::size_t next_unknown_ = 0;
};

}  // namespace

CompiledRequest compile_request(const Solver::Compiled& catalog, const Request& request,
                                std::span<const std::string> kv_dtypes) {
  CompiledRequest out;
  out.request = &request;
  out.slots.resize(static_cast<std::size_t>(catalog.dims.size()));
  for (int dim = 0; dim < catalog.dims.size(); ++dim) {
    if (dim == catalog.phase_dim) continue;  // set by the solver, row by row
    const Dimension& dimension = catalog.dims.at(dim);
    auto& slot = out.slots[static_cast<std::size_t>(dim)];
    const auto& dictionary = catalog.dictionaries[static_cast<std::size_t>(dim)];
    slot.value = requested_value(dimension, request);
    slot.known = slot.value != nullptr;
    if (!slot.known) {
      out.unknown.set(dim);
      continue;
    }
    number_value(slot, dimension.type, dictionary);
    if (!dimension.neutral || *slot.value != *dimension.neutral) out.non_neutral.set(dim);
  }
  if (catalog.kv_dtype_dim >= 0) {
    const auto& dictionary = catalog.dictionaries[static_cast<std::size_t>(catalog.kv_dtype_dim)];
    out.dtypes.assign(kv_dtypes.begin(), kv_dtypes.end());
    for (const std::string& dtype : kv_dtypes) out.dtype_numbers.push_back(dictionary.find(dtype));
  }
  if (request.kv_layout) {
    const int number = catalog.layouts.find(*request.kv_layout);
    out.layout = number < 0 ? -2 : number;
  }
  return out;
}

std::span<const Fail> Evaluated::fails_of(int row) const {
  const RowResult& result = rows[static_cast<std::size_t>(row)];
  return std::span(fails).subspan(result.first_fail, result.fail_count);
}

std::span<const PendingCondition> Evaluated::pending_of(int row) const {
  const RowResult& result = rows[static_cast<std::size_t>(row)];
  return std::span(pending).subspan(result.first_pending, result.pending_count);
}

Evaluated evaluate(const Solver::Compiled& catalog, const Request& request, const Policy& policy,
                   std::span<const std::string> kv_dtypes) {
  Evaluated out;
  out.request = compile_request(catalog, request, kv_dtypes);
  out.rows.resize(catalog.rows.size());
  out.fails.reserve(catalog.rows.size() * 2);
  RowJudge judge(catalog, out);
  for (std::size_t row = 0; row < catalog.rows.size(); ++row) judge.judge(static_cast<int>(row));
  for (const Deny& deny : policy.deny) {
    const CompiledBackend* backend = catalog.find(deny.id);
    if (!backend) continue;
    for (int i = 0; i < backend->row_count; ++i) {
      out.rows[static_cast<std::size_t>(backend->first_row + i)].denied = true;
    }
  }
  return out;
}

bool row_serves_phase(const Solver::Compiled& catalog, const CompiledRow& row, Phase phase,
                      FailKind* kind) {
  if (!row.mentioned_or_open.test(catalog.phase_dim)) {
    *kind = FailKind::undeclared;
    return false;
  }
  *kind = row.phase_never ? FailKind::op : FailKind::mismatch;
  return !row.phase_never && row.phase_ok[index(phase)];
}

bool accepts(const Solver::Compiled& catalog, const Evaluated& evaluated, int row, Phase phase) {
  const RowResult& result = evaluated.rows[static_cast<std::size_t>(row)];
  if (!result.accepts() || result.denied) return false;
  FailKind kind{};
  return row_serves_phase(catalog, catalog.rows[static_cast<std::size_t>(row)], phase, &kind);
}

}  // namespace dsakit
