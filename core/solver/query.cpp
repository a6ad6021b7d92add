#include "solver/query.hpp"

#include <algorithm>

#include "manifest/arch.hpp"

namespace dsakit {
namespace {

bool asks_for_auto_dtype(const Request& request) {
  const auto found = request.values.find("kv_dtype");
  if (found == request.values.end()) return false;
  const auto* token = std::get_if<Token>(&found->second);
  return token && *token == "auto";
}

}  // namespace

std::vector<std::string> dtype_preference(const Request& request, const Policy& policy) {
  if (policy.kv_dtype) return *policy.kv_dtype;
  const auto arch = request.values.find("arch");
  const KnownDevice* device = nullptr;
  if (arch != request.values.end()) {
    if (const auto* token = std::get_if<Token>(&arch->second)) device = find_device(*token);
  }
  const auto features = request.values.find("features");
  bool plain = features == request.values.end();
  if (!plain) {
    if (const auto* set = std::get_if<Set>(&features->second)) {
      plain = std::ranges::find(*set, "attn_sink") == set->end();
    }
  }
  const bool fp8_first = device && device->platform == "cuda" && device->major >= 10 && plain;
  return fp8_first ? std::vector<std::string>{"fp8_e4m3", "bf16"}
                   : std::vector<std::string>{"bf16", "fp8_e4m3"};
}

Query::Query(const Solver::Compiled& catalog, const Request& request, const Policy& policy)
    : catalog_(catalog),
      request_(request),
      policy_(policy),
      phases_(request.phases()),
      order_(catalog, policy) {
  for (const Phase phase : kPhases) {
    const auto& typed = request.choice[index(phase)];
    auto entries = typed ? split_choice(*typed, phase) : std::vector<std::string>{"auto"};
    choice_[index(phase)] = entries ? std::move(*entries) : std::vector<std::string>{};
  }
  if (asks_for_auto_dtype(request)) {
    dtypes_ = dtype_preference(request, policy);
    for (const auto& dtype : dtypes_)
      evaluated_.push_back(evaluate(catalog, request, policy, {&dtype, 1}));
  } else {
    dtypes_ = {""};
    evaluated_.push_back(evaluate(catalog, request, policy, {}));
  }
}

const Evaluated& Query::report() const {
  if (evaluated_.size() == 1) return evaluated_.front();
  if (!report_) report_ = evaluate(catalog_, request_, policy_, dtypes_);
  return *report_;
}

bool Query::typed(Phase phase) const {
  return request_.choice[index(phase)].has_value();
}

const Deny* Query::denied(const std::string& id) const {
  const auto found = std::ranges::find(policy_.deny, id, &Deny::id);
  return found == policy_.deny.end() ? nullptr : &*found;
}

std::vector<int> Query::candidates(const Evaluated& evaluated, Phase phase,
                                   const std::string& entry) const {
  std::vector<int> out;
  const auto add = [&](int first, int count, bool ranked_only) {
    for (int row = first; row < first + count; ++row) {
      if (ranked_only && catalog_.rows[static_cast<std::size_t>(row)].source->rank == 0) continue;
      if (accepts(catalog_, evaluated, row, phase)) out.push_back(row);
    }
  };
  const int all = static_cast<int>(catalog_.rows.size());
  if (entry.empty()) {
    add(0, all, false);
  } else if (entry == "auto") {
    add(0, all, true);
  } else if (const CompiledBackend* backend = catalog_.find(entry)) {
    add(backend->first_row, backend->row_count, false);
  }
  return out;
}

std::optional<Query::Found> Query::resolve() const {
  Work unbounded;
  return resolve(unbounded);
}

std::optional<Query::Found> Query::resolve(Work& work) const {
  const auto unknown = [this](const std::string& entry) {
    return entry != "auto" && !catalog_.find(entry);
  };
  for (const auto& entries : choice_) {
    if (std::ranges::any_of(entries, unknown)) return std::nullopt;
  }
  for (std::size_t attempt = 0; attempt < evaluated_.size(); ++attempt) {
    const Evaluated& verdicts = evaluated_[attempt];
    Candidates candidates_of;
    for (const auto& decode : entries(Phase::decode)) {
      candidates_of[index(Phase::decode)] = candidates(verdicts, Phase::decode, decode);
      for (const auto& mtp : entries(Phase::mtp)) {
        candidates_of[index(Phase::mtp)] = candidates(verdicts, Phase::mtp, mtp);
        for (const auto& prefill : entries(Phase::prefill)) {
          candidates_of[index(Phase::prefill)] = candidates(verdicts, Phase::prefill, prefill);
          const auto best = best_session(catalog_, verdicts, order_, candidates_of, phases_, work);
          if (work.left == 0) return std::nullopt;
          if (best) return Found{*best, dtypes_[attempt], attempt};
        }
      }
    }
  }
  return std::nullopt;
}

Query::Allowed Query::allowed(std::size_t limit, const Entries* within, Work& work) const {
  Allowed out;
  std::array<std::set<int>, 3> backends;
  for (std::size_t attempt = 0; attempt < evaluated_.size(); ++attempt) {
    Candidates rows;
    for (const Phase phase : kPhases) {
      const auto takes = [&](int row) {
        const int backend = catalog_.rows[static_cast<std::size_t>(row)].backend;
        const auto& entries = (*within)[index(phase)];
        return std::ranges::any_of(entries, [&](const std::string& entry) {
          return entry == "auto" || entry == catalog_.id(backend);
        });
      };
      rows[index(phase)] = candidates(evaluated_[attempt], phase, "");
      if (within) std::erase_if(rows[index(phase)], [&](int row) { return !takes(row); });
    }
    const SessionList list = list_sessions(catalog_, evaluated_[attempt], order_, rows, phases_,
                                           limit - out.first.size(), work, backends);
    out.count += list.count;
    for (const SessionRows& session : list.first) {
      out.first.push_back({session, dtypes_[attempt], attempt});
    }
  }
  out.complete = work.left > 0;
  for (const Phase phase : kPhases) {
    for (const int backend : backends[index(phase)]) {
      out.ids[index(phase)].insert(catalog_.id(backend));
    }
  }
  return out;
}

Session Query::name_session(const Found& found) const {
  Session session;
  for (const Phase phase : kPhases) {
    const int row = found.session.row[index(phase)];
    if (row < 0) continue;
    const CompiledRow& compiled = catalog_.rows[static_cast<std::size_t>(row)];
    session.backend[index(phase)] = catalog_.id(compiled.backend);
    session.row[index(phase)] = compiled.source->name;
  }
  session.kv_dtype = found.kv_dtype;
  if (session.kv_dtype.empty()) {
    const auto requested = request_.values.find("kv_dtype");
    if (requested != request_.values.end()) {
      if (const auto* token = std::get_if<Token>(&requested->second)) session.kv_dtype = *token;
    }
  }
  return session;
}

}  // namespace dsakit
