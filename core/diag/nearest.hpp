// "did you mean": the known name closest to an unknown one, by edit distance.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dsakit {

// The nearest of `known` that contains `unknown` or is contained in it, else the nearest within a
// distance that a typing mistake explains (a third of the longer name, at least 2), the bytewise
// first on a tie; nothing otherwise. Any thread.
std::optional<std::string> nearest_name(std::string_view unknown,
                                        std::span<const std::string> known);

// The nearest of `known` at any distance; nothing only when `known` is empty.
std::optional<std::string> nearest_of_all(std::string_view unknown,
                                          std::span<const std::string> known);

// `known` from what `unknown` most likely means to the least likely: names that contain it or that
// it contains, then by edit distance, bytewise on a tie. The two above choose by the same order.
std::vector<std::string> by_nearness(std::string_view unknown, std::span<const std::string> known);

}  // namespace dsakit
