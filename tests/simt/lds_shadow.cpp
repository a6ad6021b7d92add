#include "simt/lds_shadow.hpp"

#include <fmt/format.h>

#include "simt/emulator.hpp"

namespace dsakit::simt {
namespace {

constexpr std::size_t kWord = 4;

// Whether nothing orders the two: no barrier between waves, no wave operation between lanes.
bool races(const Access& before, const Access& now) {
  if (before.thread == now.thread || before.epoch != now.epoch) return false;
  return before.thread / kLanes != now.thread / kLanes || before.step == now.step;
}

std::string race(const char* now, const char* before, std::size_t word, const Access& by,
                 const Access& other) {
  return fmt::format("thread {} {} LDS byte {} that thread {} {} without a barrier between",
                     by.thread, now, word * kWord, other.thread, before);
}

}  // namespace

void LdsShadow::reset(std::size_t bytes) {
  words_.assign((bytes + kWord - 1) / kWord, Word());
}

std::string LdsShadow::check_range(std::size_t offset, std::size_t bytes) const {
  if (offset % kWord == 0 && bytes % kWord == 0 && (offset + bytes) / kWord <= words_.size())
    return {};
  return fmt::format("{} bytes of LDS at byte {} of {}", bytes, offset, words_.size() * kWord);
}

std::string LdsShadow::read(std::size_t offset, std::size_t bytes, const Access& by) {
  if (std::string wrong = check_range(offset, bytes); !wrong.empty()) return wrong;
  for (std::size_t at = offset / kWord; at < (offset + bytes) / kWord; ++at) {
    Word& word = words_[at];
    if (!word.written)
      return fmt::format("thread {} reads LDS byte {}, which nobody wrote", by.thread, at * kWord);
    if (races(word.writer, by)) return race("reads", "wrote", at, by, word.writer);
    word.many_readers |= word.read && word.reader.epoch == by.epoch &&
                         word.reader.thread / kLanes != by.thread / kLanes;
    word.read = true;
    word.reader = by;
  }
  return {};
}

std::string LdsShadow::write(std::size_t offset, std::size_t bytes, const Access& by) {
  if (std::string wrong = check_range(offset, bytes); !wrong.empty()) return wrong;
  for (std::size_t at = offset / kWord; at < (offset + bytes) / kWord; ++at) {
    Word& word = words_[at];
    if (word.written && races(word.writer, by)) return race("writes", "wrote", at, by, word.writer);
    const bool others = word.many_readers && word.reader.epoch == by.epoch;
    if (word.read && (others || races(word.reader, by)))
      return race("writes", "read", at, by, word.reader);
    word = {by, {}, true, false, false};
  }
  return {};
}

}  // namespace dsakit::simt
