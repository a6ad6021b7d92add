#include "solver/alternatives.hpp"

#include <algorithm>
#include <map>

#include "diag/nearest.hpp"
#include "solver/obligations.hpp"

namespace dsakit {
namespace {

// How far apart two numbers are, as people feel it: by ratio.
double ratio(std::int64_t a, std::int64_t b) {
  const auto low = static_cast<double>(std::max<std::int64_t>(1, std::min(a, b)));
  const auto high = static_cast<double>(std::max<std::int64_t>(1, std::max(a, b)));
  return high / low;
}

void sort_numbers(std::vector<std::int32_t>& numbers, std::int32_t near) {
  std::ranges::sort(numbers, {}, [near](std::int32_t n) { return std::pair(ratio(n, near), n); });
}

// Numbers that may meet the predicate, near `current`.
void offer_integers(const Predicate& p, std::int32_t current, std::vector<Value>& out) {
  const std::int64_t low = p.min.value_or(0);
  const std::int64_t high = p.max ? *p.max : kMaxInteger;
  const std::int64_t near = std::clamp<std::int64_t>(current, low, std::max(low, high));
  std::vector<std::int64_t> numbers{near};
  if (p.one_of) numbers.insert(numbers.end(), p.one_of->begin(), p.one_of->end());
  if (p.multiple_of) {
    const std::int64_t step = *p.multiple_of;
    numbers.push_back(near / step * step);
    numbers.push_back((near / step + 1) * step);
  }
  if (p.pow2) {
    std::int64_t power = 1;
    while (power * 2 <= near) power *= 2;
    numbers.push_back(power);
    numbers.push_back(power * 2);
  }
  for (const std::int64_t number : numbers) {
    const bool fits = number >= low && number <= high &&
                      (!p.multiple_of || number % *p.multiple_of == 0) &&
                      (!p.one_of || std::ranges::binary_search(*p.one_of, number));
    if (fits) out.emplace_back(static_cast<std::int32_t>(number));
  }
}

// A version that the bounds admit: the oldest, or the newest one below.
void offer_versions(const Predicate& p, std::vector<Value>& out) {
  if (p.from) {
    out.emplace_back(*p.from);
  } else if (p.below && p.below->parts.back() > 0) {
    Version older = *p.below;
    --older.parts.back();
    while (older.parts.size() > 1 && older.parts.back() == 0) older.parts.pop_back();
    out.emplace_back(std::move(older));
  }
}

bool holds(const Set& set, const std::string& element) {
  return std::ranges::find(set, element) != set.end();
}

Set without(Set set, const std::string& element) {
  std::erase(set, element);
  return set;
}

Set with(Set set, const std::string& element) {
  if (!holds(set, element)) set.insert(std::ranges::upper_bound(set, element), element);
  return set;
}

// The set nearest to `current` that the predicate accepts, and the steps of one element to it.
void offer_sets(const Predicate& p, const Set& current, std::vector<Value>& out) {
  const Set& admitted = p.subset ? *p.subset : p.includes;
  Set nearest = current;
  for (const std::string& element : current) {
    if (holds(admitted, element) && !holds(p.none_of, element)) continue;
    out.emplace_back(without(current, element));
    nearest = without(std::move(nearest), element);
  }
  for (const std::string& element : p.includes) {
    out.emplace_back(with(current, element));
    nearest = with(std::move(nearest), element);
  }
  out.emplace_back(std::move(nearest));
}

// Nearest first; values of one dimension.
void sort_values(std::vector<Value>& values, const Value& near) {
  std::map<std::string, Value> by_text;  // also drops doubles and the order of rows
  for (Value& value : values) by_text.emplace(value_json(value), std::move(value));
  values.clear();
  if (const auto* token = std::get_if<Token>(&near)) {
    std::vector<std::string> names;
    for (const auto& [text, value] : by_text) names.push_back(std::get<Token>(value));
    for (std::string& name : by_nearness(*token, names)) values.emplace_back(std::move(name));
    return;
  }
  for (auto& [text, value] : by_text) values.push_back(std::move(value));
  if (const auto* number = std::get_if<std::int32_t>(&near)) {
    std::ranges::stable_sort(values, {}, [number](const Value& value) {
      return ratio(std::get<std::int32_t>(value), *number);
    });
  } else if (std::holds_alternative<Set>(near)) {
    std::ranges::stable_sort(values, {},
                             [&near](const Value& value) { return set_changes(near, value); });
  }
}

class Proposals {
 public:
  Proposals(const Query& query, int dim, const Value& current)
      : query_(query), dim_(dim), current_(current) {}

  std::vector<Value> run() {
    const auto& neutral = dimension().neutral;
    std::vector<Value> values;
    if (neutral) values.push_back(*neutral);
    if (dimension().type != DimType::set) append(std::move(values));
    for (const bool only_reason : {true, false}) {
      for (std::size_t row = 0; row < query_.catalog().rows.size(); ++row) {
        const bool alone = fails_on_nothing_else(static_cast<int>(row));
        if (alone || !only_reason) collect(query_.catalog().rows[row], values);
      }
      sort_values(values, current_);
      append(std::move(values));
      values.clear();
    }
    return std::move(out_);
  }

 private:
  const Dimension& dimension() const { return query_.catalog().dims.at(dim_); }

  bool fails_on_nothing_else(int row) const {
    const auto fails = query_.report().fails_of(row);
    return !fails.empty() &&
           std::ranges::all_of(fails, [this](const Fail& fail) { return fail.dim == dim_; });
  }

  void collect(const CompiledRow& row, std::vector<Value>& values) const {
    for (const int number : row.predicates) {
      const CompiledPredicate& predicate = query_.catalog().predicate(number);
      if (predicate.dim != dim_ || predicate.never) continue;
      const Predicate& source = *predicate.source;
      switch (predicate.type) {
        case DimType::token:
          values.insert(values.end(), source.list.begin(), source.list.end());
          break;
        case DimType::integer:
          offer_integers(source, std::get<std::int32_t>(current_), values);
          break;
        case DimType::set:
          offer_sets(source, std::get<Set>(current_), values);
          break;
        case DimType::version:
          offer_versions(source, values);
          break;
        case DimType::arch:  // another device is no setting
          break;
      }
    }
  }

  // Whether the value keeps what the model needs.
  bool possible(const Value& value) const {
    if (dimension().name != "features") return true;
    return std::ranges::all_of(query_.request().model_features, [&](const std::string& element) {
      return !holds(std::get<Set>(current_), element) || holds(std::get<Set>(value), element);
    });
  }

  void append(std::vector<Value> values) {
    for (Value& value : values) {
      if (value == current_ || !possible(value)) continue;
      if (std::ranges::find(out_, value) == out_.end()) out_.push_back(std::move(value));
    }
  }

  const Query& query_;
  int dim_;
  const Value& current_;
  std::vector<Value> out_;
};

}  // namespace

std::size_t set_changes(const Value& from, const Value& to) {
  const Set& old_set = std::get<Set>(from);
  const Set& new_set = std::get<Set>(to);
  const auto lost =
      std::ranges::count_if(old_set, [&](const auto& e) { return !holds(new_set, e); });
  const auto won =
      std::ranges::count_if(new_set, [&](const auto& e) { return !holds(old_set, e); });
  return static_cast<std::size_t>(lost + won);
}

std::vector<Value> alternatives(const Query& query, int dim, const Value& current) {
  return Proposals(query, dim, current).run();
}

std::vector<std::int32_t> other_ranks(std::int32_t total, std::int32_t ranks) {
  std::vector<std::int32_t> out;
  const auto offer = [&](std::int32_t divisor) {
    if (divisor != ranks && std::ranges::find(out, divisor) == out.end()) out.push_back(divisor);
  };
  for (std::int32_t divisor = 1; divisor <= total / divisor; ++divisor) {
    if (total % divisor != 0) continue;
    offer(divisor);
    offer(total / divisor);
  }
  sort_numbers(out, ranks);
  return out;
}

}  // namespace dsakit
