// R7 and R9: which combinations are sessions, and their total order.
#include <algorithm>
#include <functional>

#include "property/oracle/oracle.hpp"
#include "property/oracle/predicates.hpp"

namespace dsakit::oracle {
namespace {

// A dimension of the catalogue, or kv_layout, which only `provides` has.
Type provided_type(const std::string& name, const Dims& dims) {
  const auto dim = dims.find(name);
  return dim == dims.end() ? Type::token : dim->second.type;
}

bool provides_agree(const Combination& combination, const Dims& dims) {
  for (const Judged* a : combination) {
    for (const auto& [name, value] : a->row->provides) {
      for (const Judged* b : combination) {
        const auto other = b->row->provides.find(name);
        if (other == b->row->provides.end()) continue;
        if (!same_value(value, other->second, provided_type(name, dims))) return false;
      }
    }
  }
  return true;
}

bool obligations_meet(const Combination& combination, const Dims& dims) {
  std::map<std::string, std::vector<Json>> by_dim;
  for (const Judged* judged : combination) {
    for (const auto& [name, predicate] : judged->obligations) by_dim[name].push_back(predicate);
  }
  return std::all_of(by_dim.begin(), by_dim.end(), [&](const auto& entry) {
    return common_value(entry.second, dims.at(entry.first).type).has_value();
  });
}

bool is_session(const Catalogue& catalogue, const Combination& combination) {
  for (const Judged* a : combination) {
    for (const Judged* b : combination) {
      if (catalogue.conflict(a->row->backend, b->row->backend)) return false;
    }
  }
  return provides_agree(combination, catalogue.dims()) &&
         obligations_meet(combination, catalogue.dims());
}

std::int64_t constrained_dimensions(const Row& row) {
  std::set<std::string> names;
  for (const auto& [name, predicate] : row.where) {
    if (!is_star(predicate)) names.insert(name);
  }
  return static_cast<std::int64_t>(names.size());
}

// Smaller is better. The phases of a combination stand in the order decode, mtp, prefill.
struct OrderKey {
  std::vector<std::int64_t> numbers;
  std::vector<std::string> ids, rows;
  auto operator<=>(const OrderKey&) const = default;
};

OrderKey order_key(const Combination& combination, const std::vector<std::string>& prefer) {
  OrderKey key;
  std::set<std::string> backends;
  std::int64_t constrained = 0;
  for (const Judged* judged : combination) {
    key.numbers.push_back(std::find(prefer.begin(), prefer.end(), judged->row->backend) -
                          prefer.begin());
    key.ids.push_back(judged->row->backend);
    key.rows.push_back(judged->row->name);
    backends.insert(judged->row->backend);
    constrained += constrained_dimensions(*judged->row);
  }
  for (const Judged* judged : combination) key.numbers.push_back(-judged->row->rank);
  key.numbers.push_back(static_cast<std::int64_t>(backends.size()));
  key.numbers.push_back(-constrained);
  return key;
}

}  // namespace

std::vector<Combination> all_sessions(const Catalogue& catalogue, const Asked& asked,
                                      const std::vector<Judged>& judged,
                                      const std::vector<std::string>& prefer) {
  std::vector<std::pair<OrderKey, Combination>> found;
  Combination chosen;
  const std::function<void()> extend = [&] {
    if (chosen.size() == asked.phases.size()) {
      if (is_session(catalogue, chosen)) found.emplace_back(order_key(chosen, prefer), chosen);
      return;
    }
    for (const auto& candidate : judged) {
      if (candidate.phase != asked.phases[chosen.size()]) continue;
      if (candidate.denied || !candidate.failed.empty()) continue;
      chosen.push_back(&candidate);
      extend();
      chosen.pop_back();
    }
  };
  extend();
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Combination> sessions;
  for (auto& entry : found) sessions.push_back(std::move(entry.second));
  return sessions;
}

}  // namespace dsakit::oracle
