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
  bool within(const Bits& other) const {
    if ((low_ & ~other.low_) != 0) return false;
    for (std::size_t i = 0; i < high_.size(); ++i) {
      if ((high_[i] & ~other.word(i)) != 0) return false;
    }
    return true;
  }

  bool meets(const Bits& other) const {
    if ((low_ & other.low_) != 0) return true;
    for (std::size_t i = 0; i < high_.size(); ++i) {
      if ((high_[i] & other.word(i)) != 0) return true;
    }
    return false;
  }

  Bits operator&(const Bits& other) const {
    Bits out;
    out.low_ = low_ & other.low_;
    for (std::size_t i = 0; i < high_.size(); ++i) out.high_.push_back(high_[i] & other.word(i));
    return out;
  }

  Bits operator|(const Bits& other) const {
    Bits out = *this;
    out.low_ |= other.low_;
    if (out.high_.size() < other.high_.size()) out.high_.resize(other.high_.size());
    for (std::size_t i = 0; i < other.high_.size(); ++i) out.high_[i] |= other.high_[i];
    return out;
  }

  // The members in rising order.
  template <typename Function>
  void for_each(Function&& function) const {
    for_each_outside(Bits(), function);
  }

  // The members that are not in `other`, in rising order.
  template <typename Function>
  void for_each_outside(const Bits& other, Function&& function) const {
    visit(low_ & ~other.low_, 0, function);
    for (std::size_t i = 0; i < high_.size(); ++i) {
      visit(high_[i] & ~other.word(i), static_cast<int>(i + 1) * 64, function);
    }
  }

 private:
  std::uint64_t word(std::size_t i) const { return i < high_.size() ? high_[i] : 0; }

  template <typename Function>
  static void visit(std::uint64_t word, int base, Function& function) {
    for (; word != 0; word &= word - 1) function(base + std::countr_zero(word));
  }

  std::uint64_t low_ = 0;
  std::vector<std::uint64_t> high_;
};

}  // namespace dsakit
