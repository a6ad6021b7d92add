#include "diag/nearest.hpp"

#include <algorithm>
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

struct Candidate {
  std::size_t distance;
  std::string name;
};

std::optional<Candidate> closest(std::string_view unknown, std::span<const std::string> known) {
  std::optional<Candidate> best;
  for (const std::string& name : known) {
    const std::size_t distance = edit_distance(unknown, name);
    if (!best || distance < best->distance || (distance == best->distance && name < best->name)) {
      best = {distance, name};
    }
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
  if (best->distance > limit) return std::nullopt;
  return best->name;
}

std::optional<std::string> nearest_of_all(std::string_view unknown,
                                          std::span<const std::string> known) {
  const auto best = closest(unknown, known);
  if (!best) return std::nullopt;
  return best->name;
}

}  // namespace dsakit
