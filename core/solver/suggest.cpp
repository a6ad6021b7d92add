// Suggestions (P5): changes of one typed or settable value, each re-evaluated before it is offered.

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "solver/query.hpp"

namespace dsakit {
namespace {

constexpr std::size_t kMaxTries = 96;  // bound on re-evaluations for one rejection
constexpr std::size_t kMaxSuggestions = 6;

// How a set was changed: "without hisparse".
std::string set_change(const Set& from, const Set& to) {
  std::vector<std::string> words;
  for (const std::string& element : from) {
    if (std::ranges::find(to, element) == to.end()) words.push_back("without " + element);
  }
  for (const std::string& element : to) {
    if (std::ranges::find(from, element) == from.end()) words.push_back("with " + element);
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

// "--decode-backend trtllm" with the value replaced; "decode = flashmla_kv" without an origin.
std::string respelled(const Origin* origin, const std::string& old_value, const std::string& name,
                      const std::string& new_value) {
  if (origin && !old_value.empty() && origin->text.ends_with(old_value)) {
    return origin->text.substr(0, origin->text.size() - old_value.size()) + new_value;
  }
  return fmt::format("{} = {}", name, new_value);
}

class Suggester {
 public:
  explicit Suggester(const Query& query) : query_(query) {}

  std::vector<Suggestion> run() {
    for (const Phase phase : kPhases) {
      if (query_.typed(phase)) change_typed(phase);
    }
    for (int dim = 0; dim < dims().size(); ++dim) {
      if (dims().at(dim).settable) change_dimension(dim);
    }
    return std::move(out_);
  }

 private:
  const DimensionTable& dims() const { return query_.catalog().dims; }

  // Backends that the allowed set has in `phase` beside the other typed ids, in its order.
  void change_typed(Phase phase) {
    const Typed& typed = *query_.request().choice[index(phase)];
    const std::string name(phase_name(phase));
    Request without = query_.request();
    without.choice[index(phase)].reset();
    (phase == Phase::prefill  ? without.prefill
     : phase == Phase::decode ? without.decode
                              : without.mtp) = true;
    if (const auto found = try_request(without)) {
      const Session session =
          Query(query_.catalog(), without, query_.policy()).name_session(*found);
      add(fmt::format(R"({{"{}":null}})", name),
          fmt::format("leave out {}: `{}` then serves {}",
                      typed.origin.text.empty() ? name : "`" + typed.origin.text + "`",
                      session.backend[index(phase)], name));
    }
    std::set<std::string> ids;
    for (const CompiledBackend& backend : query_.catalog().backends)
      ids.insert(backend.manifest->id);
    for (const std::string& id : ids) {
      if (id == typed.text) continue;
      Request other = query_.request();
      other.choice[index(phase)]->text = id;
      if (!try_request(other)) continue;
      add(fmt::format(R"({{"{}":"{}"}})", name, id),
          fmt::format("`{}` serves this request: {}", id,
                      respelled(&typed.origin, typed.text, name, id)));
    }
  }

  void change_dimension(int dim) {
    const Dimension& dimension = dims().at(dim);
    const auto current = query_.request().values.find(dimension.name);
    const bool given = current != query_.request().values.end();
    if (given && std::holds_alternative<Unknown>(current->second)) return;
    if (!given && !dimension.neutral) return;
    const Value value = given ? current->second : *dimension.neutral;
    for (const Value& candidate : alternatives(dim, value)) {
      if (candidate == value) continue;
      Request changed = query_.request();
      changed.values[dimension.name] = candidate;
      const auto found = try_request(changed);
      if (!found) continue;
      const Session session =
          Query(query_.catalog(), changed, query_.policy()).name_session(*found);
      add(fmt::format(R"({{"{}":{}}})", dimension.name, value_json(candidate)),
          fmt::format("{}: {}", change_text(dimension, value, candidate), describe(session)));
    }
  }

  std::string change_text(const Dimension& dimension, const Value& from, const Value& to) const {
    if (dimension.type == DimType::set) return set_change(std::get<Set>(from), std::get<Set>(to));
    const auto origin = query_.request().origins.find(dimension.name);
    return "with " + respelled(origin == query_.request().origins.end() ? nullptr : &origin->second,
                               value_text(from), dimension.name, value_text(to));
  }

  // Values that some row's predicate on `dim` accepts, as far as they are one step away.
  std::vector<Value> alternatives(int dim, const Value& current) const {
    std::vector<Value> out;
    const auto offer = [&out](Value value) {
      if (std::ranges::find(out, value) == out.end()) out.push_back(std::move(value));
    };
    if (const auto& neutral = dims().at(dim).neutral) offer(*neutral);
    if (const auto* set = std::get_if<Set>(&current)) {
      for (const std::string& element : *set) {
        Set fewer = *set;
        std::erase(fewer, element);
        offer(std::move(fewer));
      }
    }
    std::map<std::string, Value>
        accepted;  // by JSON text, so that the order of rows does not matter
    const auto collect = [&accepted](const Value& value) {
      accepted.emplace(value_json(value), value);
    };
    for (const CompiledRow& row : query_.catalog().rows) {
      for (const int number : row.predicates) {
        const CompiledPredicate& predicate = query_.catalog().predicate(number);
        if (predicate.dim == dim && !predicate.never) offer_accepted(predicate, current, collect);
      }
    }
    for (auto& [json, value] : accepted) offer(std::move(value));
    return out;
  }

  template <typename Offer>
  static void offer_accepted(const CompiledPredicate& predicate, const Value& current,
                             const Offer& offer) {
    const Predicate& source = *predicate.source;
    if (predicate.type == DimType::token) {
      for (const std::string& token : source.list) offer(Value(token));
    } else if (predicate.type == DimType::integer) {
      if (source.one_of) {
        for (const std::int32_t number : *source.one_of) offer(Value(number));
      }
      if (source.min) offer(Value(*source.min));
      if (source.max) offer(Value(*source.max));
      if (source.multiple_of) offer(Value(*source.multiple_of));
    } else if (predicate.type == DimType::set) {
      for (const std::string& element : source.includes) {
        Set more = std::get<Set>(current);
        if (std::ranges::find(more, element) != more.end()) continue;
        more.insert(std::ranges::upper_bound(more, element), element);
        offer(Value(std::move(more)));
      }
    }
  }

  std::optional<Query::Found> try_request(const Request& request) {
    if (tries_ >= kMaxTries || out_.size() >= kMaxSuggestions) return std::nullopt;
    ++tries_;
    return Query(query_.catalog(), request, query_.policy()).resolve();
  }

  static std::string describe(const Session& session) {
    std::string out;
    for (const Phase phase : kPhases) {
      if (session.backend[index(phase)].empty()) continue;
      out += fmt::format("{}{} `{}`", out.empty() ? "" : ", ", phase_name(phase),
                         session.backend[index(phase)]);
    }
    return out;
  }

  void add(std::string json, std::string text) {
    out_.push_back({std::move(json), std::move(text)});
  }

  const Query& query_;
  std::vector<Suggestion> out_;
  std::size_t tries_ = 0;
};

}  // namespace

std::vector<Suggestion> suggest_changes(const Query& query) {
  return Suggester(query).run();
}

}  // namespace dsakit
