// Suggestions (P5): changes of one typed or settable value, each re-evaluated before it is offered.

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "diag/nearest.hpp"
#include "solver/alternatives.hpp"
#include "solver/describe.hpp"

namespace dsakit {
namespace {

constexpr std::size_t kMaxTries = 256;        // re-evaluations for one rejection
constexpr std::size_t kMaxTriesSetting = 48;  // … of other values of one setting
constexpr std::size_t kMaxSuggestions = 6;
constexpr std::size_t kMaxOfSetting = 3;  // suggestions about one setting

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

// Phases whose backend one and the same thing typed names: DSAKIT_BACKEND speaks for all of them.
using Phases = std::vector<Phase>;

class Suggester {
 public:
  explicit Suggester(const Query& query) : query_(query) {}

  Advice run() {
    name_sessions();
    for (const Phases& phases : typed_together()) change_typed(phases);
    leave_out_mtp();
    leave_out_layout();
    for (const int dim : dimension_order(dims())) change_dimension(dim);
    change_ranks();
    advice_.complete = advice_.complete && work_.left > 0;
    return std::move(advice_);
  }

 private:
  const DimensionTable& dims() const { return query_.catalog().dims; }
  const Request& request() const { return query_.request(); }
  const std::optional<Typed>& typed(Phase phase) const { return request().choice[index(phase)]; }

  // Sessions that only naming opens: name what must be named.
  void name_sessions() {
    begin("names of backends");
    const auto by_name = query_.allowed(kMaxOfSetting - 1, &query_.choice(), work_);
    for (const auto& found : by_name.first) {
      Request named = request();
      std::string json, text;
      for (const Phase phase : kPhases) {
        const int row = found.session.row[index(phase)];
        if (row < 0 || query_.catalog().rows[static_cast<std::size_t>(row)].source->rank != 0)
          continue;
        const std::string id = query_.name_session(found).backend[index(phase)];
        if (typed(phase) && typed(phase)->text == id) continue;
        named.choice[index(phase)] = Typed{id, {}};
        json += fmt::format(R"({}"{}":"{}")", json.empty() ? "" : ",", phase_name(phase), id);
        text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", phase_name(phase), id);
      }
      if (!accepted(named)) continue;
      add("{" + json + "}", "name what is served by name only: " + text);
    }
  }

  std::vector<Phases> typed_together() const {
    std::vector<Phases> out;
    for (const Phase phase : kPhases) {
      if (!typed(phase)) continue;
      const auto same = std::ranges::find_if(out, [&](const Phases& phases) {
        const Typed& other = *typed(phases.front());
        return !other.origin.text.empty() && other == *typed(phase);
      });
      if (same == out.end()) {
        out.push_back({phase});
      } else {
        same->push_back(phase);
      }
    }
    return out;
  }

  void change_typed(const Phases& phases) {
    const Typed& typed_one = *typed(phases.front());
    begin(typed_one.origin.text.empty() ? std::string(phase_name(phases.front()))
                                        : typed_one.origin.text);
    const bool known = std::ranges::all_of(query_.entries(phases.front()), [&](const auto& entry) {
      return entry == "auto" || query_.catalog().find(entry);
    });
    if (known) leave_out_typed(phases);
    replace_typed(phases, known);
    if (!known) leave_out_typed(phases);
    if (phases.size() > 1) {
      for (const Phase phase : phases) replace_typed({phase}, known);
    }
  }

  void leave_out_typed(const Phases& phases) {
    const Typed& typed_one = *typed(phases.front());
    const std::string name = typed_one.origin.text.empty() ? std::string(phase_name(phases.front()))
                                                           : "`" + typed_one.origin.text + "`";
    Request without = request();
    for (const Phase phase : phases) without.choice[index(phase)].reset();
    if (without.phases() == query_.phases()) {
      if (const auto session = accepted(without)) {
        add(json_of(phases, "null"),
            fmt::format("leave out {}: {}", name, then_serve(*session, phases)));
      }
      return;
    }
    if (const auto session = accepted(without)) {
      add(json_of(phases, "null"),
          fmt::format("leave out {}, and with it the phase: {}", name, describe(*session)));
    }
    Request any = request();
    for (const Phase phase : phases) any.choice[index(phase)]->text = "auto";
    if (const auto session = accepted(any)) {
      add(json_of(phases, "\"auto\""),
          fmt::format("{}: {}",
                      respelled(&typed_one.origin, typed_one.text,
                                std::string(phase_name(phases.front())), "auto"),
                      then_serve(*session, phases)));
    }
  }

  // Backends that the allowed set has in all of `phases` beside what else is typed.
  void replace_typed(const Phases& phases, bool known) {
    const Typed& typed_one = *typed(phases.front());
    for (const std::string& id : replacements(phases, known)) {
      if (id == typed_one.text) continue;
      Request other = request();
      for (const Phase phase : phases) other.choice[index(phase)]->text = id;
      if (!accepted(other)) continue;
      const bool alone = phases.size() < together(phases.front());
      add(json_of(phases, "\"" + id + "\""),
          fmt::format("`{}` serves this request: {}", id,
                      respelled(alone ? nullptr : &typed_one.origin, typed_one.text,
                                std::string(phase_name(phases.front())), id)));
    }
  }

  // The preferred one first; for an id that the catalogue does not have, the likeliest meant.
  std::vector<std::string> replacements(const Phases& phases, bool known) {
    Query::Entries choice = query_.choice();
    for (const Phase phase : phases) choice[index(phase)] = {"auto"};
    const auto allowed = query_.allowed(1, &choice, work_);
    std::vector<std::string> ids;
    for (const std::string& id : allowed.ids[index(phases.front())]) {
      const bool everywhere = std::ranges::all_of(
          phases, [&](Phase phase) { return allowed.ids[index(phase)].contains(id); });
      if (everywhere) ids.push_back(id);
    }
    if (!known) return by_nearness(typed(phases.front())->text, ids);
    if (!allowed.first.empty()) {
      const Session best = query_.name_session(allowed.first.front());
      std::stable_partition(ids.begin(), ids.end(), [&](const auto& id) {
        return id == best.backend[index(phases.front())];
      });
    }
    return ids;
  }

  // How many phases the thing that names this phase's backend speaks for.
  std::size_t together(Phase phase) const {
    for (const Phases& phases : typed_together()) {
      if (std::ranges::find(phases, phase) != phases.end()) return phases.size();
    }
    return 0;
  }

  // Draft verification that was asked for without naming a backend.
  void leave_out_mtp() {
    if (!request().mtp || !(request().prefill || request().decode)) return;
    begin("the mtp phase");
    Request without = request();
    without.choice[index(Phase::mtp)].reset();
    without.mtp = false;
    const auto session = accepted(without);
    if (!session) return;
    std::string phases;
    for (const Phase phase : kPhases) {
      if (!without.phases()[index(phase)]) continue;
      phases += fmt::format(R"({}"{}")", phases.empty() ? "" : ",", phase_name(phase));
    }
    add(fmt::format(R"({{"phases":[{}]{}}})", phases, typed(Phase::mtp) ? R"(,"mtp":null)" : ""),
        fmt::format("without the mtp phase: {}", describe(*session)));
  }

  void leave_out_layout() {
    if (!request().kv_layout) return;
    begin("kv_layout");
    Request without = request();
    without.kv_layout.reset();
    if (const auto session = accepted(without)) {
      add(R"({"kv_layout":null})",
          fmt::format("leave out kv_layout {}: {}", *request().kv_layout, describe(*session)));
    }
  }

  void change_dimension(int dim) {
    const Dimension& dimension = dims().at(dim);
    const auto current = request().values.find(dimension.name);
    // Saying the neutral value is the same as saying nothing.
    const bool given = current != request().values.end() &&
                       !(dimension.neutral && current->second == Value(*dimension.neutral));
    const bool declared_by_a_file = builtin_dimensions().find(dimension.name) < 0;
    if (!dimension.settable && !(given && declared_by_a_file)) return;
    if (given && std::holds_alternative<Unknown>(current->second)) return;
    if (!given && !dimension.neutral) return;
    begin(dimension.name);
    const Value value = given ? current->second : *dimension.neutral;
    std::optional<std::size_t> least;  // of a set that is accepted: more need not change
    for (const Value& candidate : alternatives(query_, dim, value)) {
      if (least && set_changes(value, candidate) > *least) break;
      Request changed = request();
      changed.values[dimension.name] = candidate;
      if (const auto session = accepted(changed)) {
        add(fmt::format(R"({{"{}":{}}})", dimension.name, value_json(candidate)),
            fmt::format("{}: {}", change_text(dimension, value, candidate), describe(*session)));
        if (dimension.type == DimType::set) least = set_changes(value, candidate);
      }
    }
  }

  std::string change_text(const Dimension& dimension, const Value& from, const Value& to) const {
    if (dimension.type == DimType::set) return set_change(std::get<Set>(from), std::get<Set>(to));
    const auto origin = request().origins.find(dimension.name);
    return "with " + respelled(origin == request().origins.end() ? nullptr : &origin->second,
                               value_text(from), dimension.name, value_text(to));
  }

  // Ranks that share the model's heads.
  void change_ranks() {
    const auto& split = request().head_split;
    const auto heads = request().values.find("heads");
    if (!split || heads == request().values.end() ||
        heads->second != Value(split->total / split->ranks))
      return;
    begin("tp");
    for (const std::int32_t ranks : other_ranks(split->total, split->ranks)) {
      Request changed = request();
      changed.values["heads"] = split->total / ranks;
      if (const auto session = accepted(changed)) {
        add(fmt::format(R"({{"heads":{}}})", split->total / ranks),
            fmt::format("with --tp {}, {} heads a rank: {}", ranks, split->total / ranks,
                        describe(*session)));
      }
    }
  }

  void begin(std::string setting) {
    setting_ = std::move(setting);
    tries_of_setting_ = found_of_setting_ = 0;
  }

  std::optional<Session> accepted(const Request& changed) {
    if (found_of_setting_ >= kMaxOfSetting || advice_.suggestions.size() >= kMaxSuggestions) {
      return std::nullopt;
    }
    if (tries_ >= kMaxTries || tries_of_setting_ >= kMaxTriesSetting) {
      advice_.complete = false;
      return std::nullopt;
    }
    ++tries_;
    if (++tries_of_setting_ == 1) advice_.tried.push_back(setting_);
    const Query query(query_.catalog(), changed, query_.policy());
    const auto found = query.resolve(work_);
    if (!found) return std::nullopt;
    return query.name_session(*found);
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

  // "`fa3` then serves decode"; several phases: "then prefill `a`, decode `b`".
  static std::string then_serve(const Session& session, const Phases& phases) {
    if (phases.size() > 1) return "then " + describe(session);
    return fmt::format("`{}` then serves {}", session.backend[index(phases.front())],
                       phase_name(phases.front()));
  }

  static std::string json_of(const Phases& phases, const std::string& value) {
    std::string out;
    for (const Phase phase : phases) {
      out += fmt::format(R"({}"{}":{})", out.empty() ? "" : ",", phase_name(phase), value);
    }
    return "{" + out + "}";
  }

  void add(std::string json, std::string text) {
    ++found_of_setting_;
    const bool known = std::ranges::any_of(
        advice_.suggestions, [&](const Suggestion& other) { return other.json == json; });
    if (!known) advice_.suggestions.push_back({std::move(json), std::move(text)});
  }

  const Query& query_;
  Advice advice_;
  Work work_{kListingWork};
  std::string setting_;
  std::size_t tries_ = 0, tries_of_setting_ = 0, found_of_setting_ = 0;
};

}  // namespace

Advice suggest_changes(const Query& query) {
  return Suggester(query).run();
}

}  // namespace dsakit
