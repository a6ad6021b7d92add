// The kernels between index rows and ragged lists, in the emulator, against a loop over the same
// rows: holes, lengths, empty lists, and more tokens than a wave has lanes.
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

#include "common/hip/sparse_call.hpp"
#include "simt/emulated_kernel.hpp"

namespace dsakit::simt {
namespace {

constexpr std::int32_t kUntouched = -77, kSlots = 500;

class Lists {
 public:
  Lists(int tokens, int width, bool lengths) {
    arguments_.tokens = tokens;
    arguments_.width = width;
    arguments_.row_stride = width + 3;
    arguments_.last_slot = kSlots - 1;
    rows_.assign(static_cast<std::size_t>(tokens) * static_cast<std::size_t>(width + 3),
                 kUntouched);
    indices_.assign(static_cast<std::size_t>(tokens * width) + 1, kUntouched);
    indptr_.assign(static_cast<std::size_t>(tokens) + 1, kUntouched);
    constexpr std::int32_t kNone[] = {-1, std::numeric_limits<std::int32_t>::min(), kSlots,
                                      std::numeric_limits<std::int32_t>::max()};
    for (int token = 0; token < tokens; ++token) {
      lengths_.push_back(token % 5 == 3 ? 0 : static_cast<int>(random_() % 300));
      auto& list = lists_.emplace_back();
      for (int j = 0; j < width; ++j) {
        const bool hole = token % 7 == 2 || random_() % 4 == 0;
        const auto entry = hole ? kNone[random_() % 4] : static_cast<int>(random_() % kSlots);
        row(token)[j] = entry;
        if (!hole && (!lengths || j < lengths_.back())) list.push_back(entry);
      }
    }
    arguments_.rows = rows_.data();
    if (lengths) arguments_.lengths = lengths_.data();
    arguments_.indptr = indptr_.data();
    arguments_.indices = indices_.data();
  }

  void expect_ragged() {
    launch(hip::kListCountsName, arguments_.tokens);
    launch(hip::kListBoundsName, 1);
    launch(hip::kListRaggedName, arguments_.tokens);
    std::size_t at = 0;
    for (std::size_t token = 0; token < lists_.size(); ++token) {
      ASSERT_EQ(indptr_[token], static_cast<std::int32_t>(at)) << token;
      for (const std::int32_t entry : lists_[token]) ASSERT_EQ(indices_[at++], entry) << token;
    }
    ASSERT_EQ(indptr_.back(), static_cast<std::int32_t>(at));
    for (; at < indices_.size(); ++at) ASSERT_EQ(indices_[at], kUntouched);
  }

  // Rows of `width` from the lists.
  void expect_rows(int width) {
    std::fill(rows_.begin(), rows_.end(), kUntouched);
    const std::int32_t most = arguments_.width;
    arguments_.width = width;
    launch(hip::kListRowsName, arguments_.tokens);
    for (int token = 0; token < static_cast<int>(lists_.size()); ++token) {
      const auto& list = lists_[static_cast<std::size_t>(token)];
      for (int j = 0; j < most + 3; ++j) {
        const std::int32_t entry = j >= width ? kUntouched
                                   : j < static_cast<int>(list.size())
                                       ? list[static_cast<std::size_t>(j)]
                                       : -1;
        ASSERT_EQ(row(token)[j], entry) << token << " " << j;
      }
    }
  }

 private:
  std::int32_t* row(int token) { return rows_.data() + token * arguments_.row_stride; }
  void launch(const char* name, std::int64_t workgroups) {
    if (workgroups > 0) simt::launch(name, workgroups, &arguments_);
  }

  hip::ListArguments arguments_;
  std::mt19937 random_{11};
  std::vector<std::int32_t> rows_, indices_, indptr_, lengths_;
  std::vector<std::vector<std::int32_t>> lists_;
};

TEST(HipLists, RowsAndRaggedListsBecomeEachOther) {
  for (const int tokens : {1, 3, 64, 65, 200})
    for (const int width : {1, 63, 64, 65, 200})
      for (const bool lengths : {false, true}) {
        SCOPED_TRACE(testing::Message() << tokens << " tokens, width " << width);
        Lists lists(tokens, width, lengths);
        lists.expect_ragged();
        lists.expect_rows(width);
        lists.expect_rows(width / 2);
      }
}

TEST(HipLists, NoTokensHaveBounds) {
  Lists(0, 8, false).expect_ragged();
}

}  // namespace
}  // namespace dsakit::simt
