#include "diag/nearest.hpp"

#include <algorithm>
#include <compare>
#include <numeric>
#include <vector>

namespace dsakit {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row.back();
}

constexpr std::size_t kShortestPart = 3;  // shorter words are inside others by chance

struct Candidate {
  bool apart = true;  // neither name contains the other
  std::size_t distance = 0;
  std::string name;
  auto operator<=>(const Candidate&) const = default;
};

Candidate compare(std::string_view unknown, const std::string& name) {
  const bool inside =
      std::min(unknown.size(), name.size()) >= kShortestPart &&
      (name.find(unknown) != std::string::npos || unknown.find(name) != std::string_view::npos);
  return {!inside, edit_distance(unknown, name), name};
}

std::optional<Candidate> closest(std::string_view unknown, std::span<const std::string> known) {
  std::optional<Candidate> best;
  for (const std::string& name : known) {
    Candidate candidate = compare(unknown, name);
    if (!best || candidate < *best) best = std::move(candidate);
  }
  return best;
}

}  // namespace

std::optional<std::string> nearest_name(std::string_view unknown,
                                        std::span<const std::string> known) {
  const auto best = closest(unknown, known);
  if (!best) return std::nullopt;
  const std::size_t limit =
      std::max<std::size_t>(2, std::max(unknown.size(), best->name.size()) / 3);
  if (best->apart && best->distance > limit) return std::nullopt;
  return best->name;
}

std::optional<std::string> nearest_of_all(std::string_view unknown,
                                          std::span<const std::string> known) {
  const auto best = closest(unknown, known);
  if (!best) return std::nullopt;
  return best->name;
}

std::vector<std::string> by_nearness(std::string_view unknown, std::span<const std::string> known) {
  std::vector<Candidate> order;
  for (const std::string& name : known) order.push_back(compare(unknown, name));
  std::ranges::sort(order);
  std::vector<std::string> out;
  for (Candidate& candidate : order) out.push_back(std::move(candidate.name));
  return out;
}

}  // namespace dsakit
