// Corners of a row and the steps outside it.
#include <algorithm>
#include <array>
#include <limits>

#include "dsakit/kv_layout.hpp"
#include "manifest/known_tokens.hpp"
#include "sdk/conformance/space.hpp"

namespace dsakit::conformance {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();

void add_number(std::vector<Value>& to, std::int64_t value) {
  if (value >= 0 && value <= kMax) to.emplace_back(static_cast<std::int32_t>(value));
}

// Tokens that kernels may know, so that an unlisted one is not refused for its name alone; and one
// that nobody knows.
std::vector<std::string> foreign_tokens(const Dimension& dim) {
  std::vector<std::string> tokens = known_tokens(dim.name);
  tokens.emplace_back("conformance.unknown");
  return tokens;
}

void integer_edges(const Predicate& p, bool inside, std::vector<Value>& to) {
  const std::int64_t step = p.multiple_of.value_or(1);
  const std::int64_t low = (p.min.value_or(1) + step - 1) / step * step;
  if (inside) {
    add_number(to, std::max<std::int64_t>(low, 1));
    if (p.max) add_number(to, *p.max / step * step);
    if (p.one_of)
      for (const std::int32_t value : *p.one_of) add_number(to, value);
    for (std::int64_t n = 1; p.pow2 && n <= p.max.value_or(1 << 12); n *= 2) add_number(to, n);
    if (p.multiple_of) add_number(to, step * 2);
    return;
  }
  if (p.min) add_number(to, *p.min - 1);
  if (p.max) add_number(to, std::int64_t{*p.max} + 1);
  if (p.multiple_of) add_number(to, low + 1);
  if (p.pow2) add_number(to, 3);
  if (p.one_of)
    for (const std::int32_t value : *p.one_of) {
      add_number(to, value - 1);
      add_number(to, std::int64_t{value} + 1);
    }
}

}  // namespace

std::vector<Value> RowSpace::inner_candidates(const Dimension& dim) const {
  std::vector<Value> candidates;
  for (const Predicate* p : predicates(dim.name)) {
    if (p->kind == Predicate::Kind::list)
      for (const std::string& token : p->list) candidates.emplace_back(token);
    if (p->kind == Predicate::Kind::integer) integer_edges(*p, true, candidates);
    if (p->kind == Predicate::Kind::set) {
      candidates.emplace_back(p->includes);
      if (p->subset)
        for (const std::string& feature : *p->subset) {
          Set with = p->includes;
          with.push_back(feature);
          std::ranges::sort(with);
          candidates.emplace_back(with);
        }
    }
  }
  return candidates;
}

std::vector<Value> RowSpace::outer_candidates(const Dimension& dim) const {
  std::vector<Value> candidates;
  if (dim.type == DimType::token && dim.values.empty())
    for (const std::string& token : foreign_tokens(dim)) candidates.emplace_back(token);
  if (dim.type == DimType::set)
    for (const std::string& feature : foreign_tokens(dim)) candidates.emplace_back(Set{feature});
  for (const Predicate* p : predicates(dim.name)) {
    if (p->kind == Predicate::Kind::integer) integer_edges(*p, false, candidates);
    // A row that needs features is not served without them.
    if (p->kind == Predicate::Kind::set && !p->includes.empty()) candidates.emplace_back(Set{});
  }
  return candidates;
}

bool RowSpace::apply(const Step& step, Description& d) const {
  const std::pair<const char*, std::int64_t Description::*> numbers[] = {
      {"heads", &Description::heads},
      {"topk", &Description::topk},
      {"page_size", &Description::page_size},
      {"d_qk", &Description::d_qk},
      {"d_v", &Description::d_v},
      {"index_kpool", &Description::index_kpool}};
  const std::pair<const char*, std::string Description::*> tokens[] = {
      {"model_family", &Description::model_family},
      {"kv_scale", &Description::kv_scale},
      {"invalid_index", &Description::invalid_index},
      {"q_dtype", &Description::q_dtype},
      {"out_dtype", &Description::out_dtype},
      {"lse", &Description::lse_base},
      {"lse_sink", &Description::lse_sink},
      {"lse_empty", &Description::lse_empty},
      {"compute", &Description::compute}};
  for (const auto& [name, field] : numbers)
    if (step.dim == name) {
      d.*field = std::get<std::int32_t>(step.value);
      return true;
    }
  for (const auto& [name, field] : tokens)
    if (step.dim == name) {
      d.*field = std::get<Token>(step.value);
      return true;
    }
  if (step.dim == "index_mode") {
    const Token& mode = std::get<Token>(step.value);
    d.ragged = mode == "ragged";
    return d.ragged || mode == "physical";
  }
  if (step.dim != "features") return false;
  d.features = std::get<Set>(step.value);
  return true;
}

std::vector<Step> RowSpace::corners() const {
  std::vector<Step> steps;
  const DimensionTable& dims = single_.dimensions();
  for (int i = 0; i < dims.size(); ++i)
    for (const Value& value : inner_candidates(dims.at(i)))
      if (dims.at(i).name != "phase" && dims.at(i).name != "platform" &&
          dims.at(i).name != "arch" && alone(dims.at(i).name, value))
        steps.push_back({dims.at(i).name, value});
  return steps;
}

std::vector<Step> RowSpace::outside() const {
  std::vector<Step> steps;
  const DimensionTable& dims = single_.dimensions();
  for (int i = 0; i < dims.size(); ++i) {
    const Dimension& dim = dims.at(i);
    if (dim.name == "phase" || dim.name == "platform" || dim.name == "arch" ||
        dim.name == "kv_dtype")
      continue;
    for (const Value& value : outer_candidates(dim))
      if (!alone(dim.name, value)) steps.push_back({dim.name, value});
  }
  return steps;
}

}  // namespace dsakit::conformance
