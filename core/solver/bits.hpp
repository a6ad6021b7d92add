// A small growable bit set: one inline word, more on the heap. Sets over dimensions, tokens and
// devices are nearly always below 64 members. Value type; no thread affinity.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace dsakit {

class Bits {
 public:
  void set(int bit) {
    if (bit < 64) {
      low_ |= std::uint64_t{1} << bit;
      return;
    }
    const auto word = static_cast<std::size_t>(bit / 64 - 1);
    if (word >= high_.size()) high_.resize(word + 1);
    high_[word] |= std::uint64_t{1} << (bit % 64);
  }

  bool test(int bit) const {
    if (bit < 0) return false;
    if (bit < 64) return (low_ >> bit & 1) != 0;
    const auto word = static_cast<std::size_t>(bit / 64 - 1);
    return word < high_.size() && (high_[word] >> (bit % 64) & 1) != 0;
  }

  bool empty() const {
    if (low_ != 0) return false;
    for (const auto word : high_) {
      if (word != 0) return false;
    }
    return true;
  }

  // Whether every member is in `other`.
  bool within(const Bits& other) const { return minus(other).empty(); }
  bool meets(const Bits& other) const { return !(*this & other).empty(); }

  Bits operator&(const Bits& other) const {
    return combine(other, [](std::uint64_t a, std::uint64_t b) { return a & b; });
  }
  Bits operator|(const Bits& other) const {
    return combine(other, [](std::uint64_t a, std::uint64_t b) { return a | b; });
  }
  Bits minus(const Bits& other) const {
    return combine(other, [](std::uint64_t a, std::uint64_t b) { return a & ~b; });
  }

  template <typename Function>
  void for_each(Function&& function) const {
    visit(low_, 0, function);
    for (std::size_t i = 0; i < high_.size(); ++i)
      visit(high_[i], static_cast<int>(i + 1) * 64, function);
  }

 private:
  template <typename Operation>
  Bits combine(const Bits& other, Operation&& operation) const {
    Bits out;
    out.low_ = operation(low_, other.low_);
    const std::size_t words = high_.size() > other.high_.size() ? high_.size() : other.high_.size();
    if (words == 0) return out;
    out.high_.resize(words);
    for (std::size_t i = 0; i < words; ++i) {
      out.high_[i] =
          operation(i < high_.size() ? high_[i] : 0, i < other.high_.size() ? other.high_[i] : 0);
    }
    return out;
  }

  template <typename Function>
  static void visit(std::uint64_t word, int base, Function& function) {
    for (; word != 0; word &= word - 1) function(base + std::countr_zero(word));
  }

  std::uint64_t low_ = 0;
  std::vector<std::uint64_t> high_;
};

}  // namespace dsakit
