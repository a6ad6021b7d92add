// A CUPTI that recorded one marked call: two kernels and a copy, among work outside the marks. Its
// records are as long as real ones are, and it hands them over in two buffers.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

using Give = void (*)(std::uint8_t**, std::size_t*, std::size_t*);
using Take = void (*)(void*, std::uint32_t, std::uint8_t*, std::size_t, std::size_t);

constexpr int kNoMoreRecords = 12;
constexpr std::size_t kRecordBytes = 216;
enum Kind : std::uint32_t { kCopy = 1, kMemset = 2, kOverhead = 17, kKernel = 10 };

struct Record {
  std::uint32_t kind;
  std::uint64_t bytes, start, end;
};
// Out of order, as buffers of several streams are.
constexpr std::array<Record, 8> kRecords{{{kMemset, 8ULL << 30, 1000, 3000},
                                          {kMemset, 1249, 9500, 9600},
                                          {kKernel, 0, 3100, 4000},
                                          {kMemset, 1237, 4100, 4200},
                                          {kKernel, 0, 5000, 7250},
                                          {kCopy, 64, 7300, 9400},
                                          {kOverhead, 0, 4300, 99000},
                                          {kKernel, 0, 7000, 9000}}};

Give give = nullptr;
Take take = nullptr;

void hand_over(std::size_t from, std::size_t to) {
  std::uint8_t* buffer = nullptr;
  std::size_t size = 0, most = 0;
  give(&buffer, &size, &most);
  std::size_t at = 0;
  for (std::size_t i = from; i < to; ++i, at += kRecordBytes) {
    std::memset(buffer + at, 0xEE, kRecordBytes);
    std::memcpy(buffer + at, &kRecords[i].kind, sizeof(std::uint32_t));
    std::memcpy(buffer + at + 8, &kRecords[i].bytes, sizeof(std::uint64_t));
    std::memcpy(buffer + at + 16, &kRecords[i].start, sizeof(std::uint64_t));
    std::memcpy(buffer + at + 24, &kRecords[i].end, sizeof(std::uint64_t));
  }
  take(nullptr, 0, buffer, size, at);
}

}  // namespace

extern "C" {
int cuptiActivityRegisterCallbacks(Give given, Take taken) {
  give = given;
  take = taken;
  return 0;
}
int cuptiActivityEnable(std::uint32_t kind) {
  return kind == kKernel || kind == kMemset || kind == kCopy || kind == 22 ? 0 : 1;
}
int cuptiActivityDisable(std::uint32_t) {
  return 0;
}
int cuptiActivityFlushAll(std::uint32_t) {
  hand_over(0, 3);
  hand_over(3, kRecords.size());
  return 0;
}
int cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid, std::uint8_t** record) {
  std::uint8_t* next = *record == nullptr ? buffer : *record + kRecordBytes;
  if (next >= buffer + valid) return kNoMoreRecords;
  *record = next;
  return 0;
}
int cuptiGetResultString(int, const char** text) {
  *text = "made up";
  return 0;
}
}
