#include "solver/unnamed.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "diag/nearest.hpp"
#include "solver/describe.hpp"

namespace dsakit {
namespace {

// Names that rows write for a token or set dimension, the likeliest meant first.
std::string named_instead(const Dictionary& dictionary, const std::string& unnamed) {
  constexpr std::size_t kShown = 12;
  std::vector<std::string> names = by_nearness(unnamed, dictionary.names());
  if (names.empty()) return "";
  const std::size_t more = names.size() - std::min(names.size(), kShown);
  names.resize(names.size() - more);
  return "; named are " + quoted_list(names) +
         (more == 0 ? "" : fmt::format(", … and {} more", more));
}

// The dtypes that rows name; nothing if some row takes any.
std::set<std::string> named_dtypes(const Solver::Compiled& catalog) {
  std::set<std::string> known;
  for (const CompiledRow& row : catalog.rows) {
    bool restricted = false;
    for (const int number : row.predicates) {
      const CompiledPredicate& predicate = catalog.predicate(number);
      if (predicate.dim != catalog.kv_dtype_dim || predicate.never) continue;
      restricted = true;
      known.insert(predicate.source->list.begin(), predicate.source->list.end());
    }
    if (!restricted && row.mentioned_or_open.test(catalog.kv_dtype_dim)) return {};
  }
  return known;
}

// Of each dimension, how many rows fail on it.
std::vector<int> failing_rows(const Solver::Compiled& catalog, const Evaluated& evaluated) {
  std::vector<int> failing(static_cast<std::size_t>(catalog.dims.size()));
  for (int row = 0; row < static_cast<int>(evaluated.rows.size()); ++row) {
    Bits counted;
    for (const Fail& fail : evaluated.fails_of(row)) {
      if (fail.dim < 0 || counted.test(fail.dim)) continue;
      counted.set(fail.dim);
      ++failing[static_cast<std::size_t>(fail.dim)];
    }
  }
  return failing;
}

}  // namespace

std::optional<Diagnostic> unnamed_dtype(const Query& query) {
  const Request& request = query.request();
  const auto found = request.values.find("kv_dtype");
  const auto* dtype = found == request.values.end() ? nullptr : std::get_if<Token>(&found->second);
  if (!dtype || *dtype == "auto") return std::nullopt;
  const std::set<std::string> known = named_dtypes(query.catalog());
  if (known.empty() || known.contains(*dtype)) return std::nullopt;
  std::vector<std::string> accepted{"auto"};
  for (const std::string& token :
       by_nearness(*dtype, std::vector<std::string>(known.begin(), known.end()))) {
    for (std::string& spelling : spellings(token)) accepted.push_back(std::move(spelling));
  }
  auto out = Diagnostic(Code::E0406).with("catalog", query.catalog().catalog).with("found", *dtype);
  const auto origin = request.origins.find("kv_dtype");
  if (origin != request.origins.end()) out.origins.push_back(origin->second);
  out.notes.push_back("accepted spellings: " + quoted_list(accepted));
  return out;
}

std::vector<std::string> unnamed_values(const Query& query, const Evaluated& evaluated) {
  const Solver::Compiled& catalog = query.catalog();
  std::vector<std::string> out;
  const auto note = [&](const Dimension& dim, const std::string& value,
                        const std::string& instead) {
    out.push_back(fmt::format("no row of catalogue `{}` names {} `{}`{}", catalog.catalog, dim.name,
                              value, instead));
  };
  const std::vector<int> failing = failing_rows(catalog, evaluated);
  for (const int number : dimension_order(catalog.dims)) {
    const Dimension& dim = catalog.dims.at(number);
    // A row that takes any name would belie the note; but rows of other platforms may take any
    // arch.
    const int blamed = failing[static_cast<std::size_t>(number)];
    const int enough =
        dim.type == DimType::arch ? 1 : std::max(1, static_cast<int>(evaluated.rows.size()));
    const auto& slot = evaluated.request.slots[static_cast<std::size_t>(number)];
    const Dictionary& dictionary = catalog.dictionaries[static_cast<std::size_t>(number)];
    const bool has_own_code = number == catalog.kv_dtype_dim;
    if (!slot.value || has_own_code || blamed < enough) continue;
    if (dim.type == DimType::token && slot.token < 0) {
      const std::string& value = std::get<Token>(*slot.value);
      note(dim, value, named_instead(dictionary, value));
    } else if (dim.type == DimType::set) {
      for (const std::string& element : std::get<Set>(*slot.value)) {
        if (dictionary.find(element) < 0) note(dim, element, named_instead(dictionary, element));
      }
    } else if (dim.type == DimType::arch) {
      const bool named = std::ranges::any_of(catalog.predicates, [&](const CompiledPredicate& p) {
        return p.dim == number && p.accepted.test(slot.token);
      });
      if (!named) note(dim, std::get<Token>(*slot.value), "");
    }
  }
  return out;
}

}  // namespace dsakit
