#include "solver/describe.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "manifest/arch.hpp"

namespace dsakit {
namespace {

// Why a set predicate refuses the requested elements: "refuses hisparse (accepts none)".
std::string set_refusal(const Predicate& predicate, const Set& requested) {
  const auto holds = [](const Set& set, const std::string& element) {
    return std::ranges::find(set, element) != set.end();
  };
  const Set& admitted = predicate.subset ? *predicate.subset : predicate.includes;
  std::vector<std::string> refused, needed;
  for (const std::string& element : requested) {
    if (!holds(admitted, element) || holds(predicate.none_of, element)) refused.push_back(element);
  }
  for (const std::string& element : predicate.includes) {
    if (!holds(requested, element)) needed.push_back(element);
  }
  std::string out;
  if (!refused.empty()) out = fmt::format("refuses {}", fmt::join(refused, ", "));
  if (!needed.empty()) {
    out += fmt::format("{}needs {}", out.empty() ? "" : ", ", fmt::join(needed, ", "));
  }
  return out + fmt::format(" (accepts {})", predicate_text(predicate));
}

std::string describe_fail(const Query& query, const Evaluated& evaluated, int row,
                          const Fail& fail) {
  const Solver::Compiled& catalog = query.catalog();
  if (fail.unknown_dim) {
    return fmt::format("{} is not known to this version: needs a newer dsakit",
                       fail.unknown_dim->name);
  }
  if (fail.kind == FailKind::provides) {
    return fmt::format(
        "kv_layout is {}, {} is asked for",
        value_text(catalog.rows[static_cast<std::size_t>(row)].source->provides.at("kv_layout")),
        *query.request().kv_layout);
  }
  const Dimension& dim = catalog.dims.at(fail.dim);
  if (fail.kind == FailKind::op) {
    return fmt::format("{} uses `{}`: needs a newer dsakit", dim.name,
                       fail.predicate->source->unknown_operator);
  }
  if (fail.kind == FailKind::undeclared) {
    const auto& slot = evaluated.request.slots[static_cast<std::size_t>(fail.dim)];
    return dim.neutral ? fmt::format("{} is not declared, so it serves only {}, not {}", dim.name,
                                     value_text(*dim.neutral),
                                     slot.value ? value_text(*slot.value) : "unknown")
                       : fmt::format("{} is not declared", dim.name);
  }
  const auto& slot = evaluated.request.slots[static_cast<std::size_t>(fail.dim)];
  if (dim.type == DimType::set) {
    return fmt::format("{}: {}", dim.name,
                       set_refusal(*fail.predicate->source, std::get<Set>(*slot.value)));
  }
  return fmt::format("{} accepts {}", dim.name, predicate_text(*fail.predicate->source));
}

}  // namespace

std::vector<int> dimension_order(const DimensionTable& dims) {
  std::vector<int> order;
  for (int dim = 0; dim < dims.size(); ++dim) order.push_back(dim);
  const auto declared = order.begin() + builtin_dimensions().size();
  std::sort(declared, order.end(),
            [&dims](int a, int b) { return dims.at(a).name < dims.at(b).name; });
  return order;
}

std::string describe_fails(const Query& query, const Evaluated& evaluated, int row, Phase phase) {
  const CompiledRow& compiled = query.catalog().rows[static_cast<std::size_t>(row)];
  std::string out;
  FailKind kind{};
  if (!row_serves_phase(query.catalog(), compiled, phase, &kind)) {
    out = fmt::format("has no {} phase", phase_name(phase));
  }
  for (const Fail& fail : evaluated.fails_of(row)) {
    out += fmt::format("{}{}", out.empty() ? "" : "; ", describe_fail(query, evaluated, row, fail));
  }
  return out;
}

std::string describe_request(const Query& query, const Evaluated& evaluated,
                             std::span<const int> rows) {
  Bits dims;
  for (const int row : rows) {
    for (const Fail& fail : evaluated.fails_of(row)) {
      if (fail.dim >= 0) dims.set(fail.dim);
    }
  }
  std::string out;
  for (const int dim : dimension_order(query.catalog().dims)) {
    const auto& slot = evaluated.request.slots[static_cast<std::size_t>(dim)];
    if (!dims.test(dim) || !slot.value) continue;
    out += fmt::format("{}{} = {}", out.empty() ? "" : "   ", query.catalog().dims.at(dim).name,
                       value_text(*slot.value));
  }
  return out;
}

std::string arch_note(const Query& query, const Evaluated& evaluated, std::span<const int> rows) {
  const auto requested = query.request().values.find("arch");
  if (requested == query.request().values.end()) return "";
  const auto* token = std::get_if<Token>(&requested->second);
  const KnownDevice* device = token ? find_device(*token) : nullptr;
  if (!device || device->platform != "cuda") return "";
  for (const int row : rows) {
    for (const Fail& fail : evaluated.fails_of(row)) {
      if (!fail.predicate || fail.predicate->type != DimType::arch) continue;
      for (const KnownDevice& other : known_devices()) {
        const auto number = static_cast<int>(&other - known_devices().data());
        if (!fail.predicate->accepted.test(number) || other.platform != "cuda") continue;
        if (other.major == device->major) {
          return fmt::format("code for {} does not run on {}: only what the row names is proven",
                             other.name, device->name);
        }
        return fmt::format("{} and {} have different major versions, so {} code cannot run there",
                           other.name, device->name, other.name);
      }
    }
  }
  return "";
}

std::string subject_of_fails(const Query& query, const Evaluated& evaluated, int row) {
  static constexpr std::pair<std::string_view, std::string_view> kSubjects[] = {
      {"platform", "GPU"}, {"arch", "GPU"}, {"model_family", "model"}, {"kv_dtype", "KV dtype"}};
  for (const auto& [dim, subject] : kSubjects) {
    for (const Fail& fail : evaluated.fails_of(row)) {
      if (fail.dim >= 0 && query.catalog().dims.at(fail.dim).name == dim)
        return std::string(subject);
    }
  }
  return "request";
}

std::string describe_session(const Session& session) {
  std::string out;
  for (const Phase phase : kPhases) {
    const std::string& id = session.backend[index(phase)];
    if (!id.empty())
      out += fmt::format("{}{} `{}`", out.empty() ? "" : " with ", phase_name(phase), id);
  }
  return out;
}

std::string describe_phases(const std::array<bool, 3>& phases) {
  std::string out;
  for (const Phase phase : kPhases) {
    if (phases[index(phase)]) out += fmt::format("{}{}", out.empty() ? "" : "+", phase_name(phase));
  }
  return out;
}

std::string quoted_list(std::span<const std::string> ids) {
  std::string out;
  for (const std::string& id : ids) out += fmt::format("{}`{}`", out.empty() ? "" : ", ", id);
  return out;
}

}  // namespace dsakit
