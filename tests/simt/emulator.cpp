#include "simt/emulator.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include <fmt/format.h>

#include "simt/fiber.hpp"
#include "simt/lds_shadow.hpp"

namespace dsakit::simt {
namespace {

enum class Stop { none, barrier, exchange, any, multiply, end };

const char* name_of(Stop stop) {
  constexpr const char* kNames[] = {"nothing",  "a barrier", "wave_xor",
                                    "wave_any", "wave_mfma", "its end"};
  return kNames[static_cast<int>(stop)];
}

struct Lane {
  Fiber fiber;
  Stop stop = Stop::none;
  float value = 0;  // of exchange
  int mask = 0;
  bool condition = false;
  Product* product = nullptr;
};

class Workgroup {
 public:
  void run(std::uint32_t id, int threads, std::uint64_t seed, const std::function<void()>& body);

  std::uint32_t id = 0;
  std::size_t lds_bytes = 0;
  int current = 0;
  std::vector<unsigned char> lds;

  Lane& lane() { return *lanes_[static_cast<std::size_t>(current)]; }
  // Leaves the current lane until the others have come to the same.
  void meet(Stop stop) {
    Lane& me = lane();
    me.stop = stop;
    me.fiber.leave();
  }
  [[noreturn]] void fail(std::string text) {
    fault_ = std::move(text);
    for (;;) lane().fiber.leave();
  }
  Access access() const {
    return {current, epoch_, steps_[static_cast<std::size_t>(current / kLanes)]};
  }
  LdsShadow& shadow() { return shadow_; }
  void make_lds(std::size_t bytes);

 private:
  static void start_lane(void* self);
  void run_wave(int wave);
  void finish_operation(int wave);
  void multiply_wave(Lane* const* lanes);

  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<std::uint32_t> steps_;  // wave operations of each wave
  std::uint32_t epoch_ = 0;
  LdsShadow shadow_;
  std::string fault_;
  std::mt19937_64 random_;
  const std::function<void()>* body_ = nullptr;
};

Workgroup& here() {
  thread_local Workgroup one;
  return one;
}

void Workgroup::start_lane(void* self) {
  auto& group = *static_cast<Workgroup*>(self);
  (*group.body_)();
  for (;;) group.meet(Stop::end);
}

void Workgroup::make_lds(std::size_t bytes) {
  if (lds_bytes == bytes) return;
  if (lds_bytes != 0) fail("two arrays of LDS");
  lds_bytes = bytes;
  lds.resize(bytes);
  for (unsigned char& byte : lds) byte = static_cast<unsigned char>(0xF0U | random_());
  shadow_.reset(bytes);
}

// All lanes of a wave up to their next operation, which must be the same.
void Workgroup::run_wave(int wave) {
  for (int i = 0; i < kLanes; ++i) {
    current = wave * kLanes + i;
    lane().stop = Stop::none;
    lane().fiber.enter();
    if (!fault_.empty()) throw Fault(fault_);
    const Lane& first = *lanes_[static_cast<std::size_t>(wave * kLanes)];
    if (lane().stop != first.stop || lane().mask != first.mask)
      throw Fault(fmt::format("thread {} reaches {} and thread {} {}", wave * kLanes,
                              name_of(first.stop), current, name_of(lane().stop)));
  }
  if (lane().stop == Stop::exchange || lane().stop == Stop::any || lane().stop == Stop::multiply)
    finish_operation(wave);
}

void Workgroup::finish_operation(int wave) {
  Lane* lanes[kLanes];
  for (int i = 0; i < kLanes; ++i)
    lanes[i] = lanes_[static_cast<std::size_t>(wave * kLanes + i)].get();
  ++steps_[static_cast<std::size_t>(wave)];
  switch (lanes[0]->stop) {
    case Stop::exchange: {
      float values[kLanes];
      for (int i = 0; i < kLanes; ++i) values[i] = lanes[i]->value;
      for (int i = 0; i < kLanes; ++i) lanes[i]->value = values[i ^ lanes[i]->mask];
      break;
    }
    case Stop::any: {
      const bool all = std::any_of(lanes, lanes + kLanes, [](Lane* l) { return l->condition; });
      for (Lane* lane : lanes) lane->condition = all;
      break;
    }
    default:
      multiply_wave(lanes);
  }
  for (Lane* lane : lanes) lane->mask = 0;
}

float from_bf16(std::uint16_t bits) {
  const std::uint32_t wide = std::uint32_t{bits} << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

void Workgroup::multiply_wave(Lane* const* lanes) {
  constexpr int kSize = 16, kMostItems = 8;
  const int items = lanes[0]->product->items;
  float a[kSize][4 * kMostItems], b[4 * kMostItems][kSize];
  for (int l = 0; l < kLanes; ++l) {
    for (int j = 0; j < items; ++j) {
      a[l % kSize][l / kSize * items + j] = from_bf16(lanes[l]->product->a[j]);
      b[l / kSize * items + j][l % kSize] = from_bf16(lanes[l]->product->b[j]);
    }
  }
  for (int row = 0; row < kSize; ++row) {
    float sum[kSize] = {};
    for (int k = 0; k < 4 * items; ++k)
      for (int column = 0; column < kSize; ++column) sum[column] += a[row][k] * b[k][column];
    for (int column = 0; column < kSize; ++column)
      lanes[row / 4 * kSize + column]->product->c[row % 4] += sum[column];
  }
}

void Workgroup::run(std::uint32_t group, int threads, std::uint64_t seed,
                    const std::function<void()>& body) {
  id = group;
  body_ = &body;
  random_.seed(seed + group);
  lds_bytes = 0;
  epoch_ = 0;
  fault_.clear();
  const auto waves = static_cast<std::size_t>(threads / kLanes);
  steps_.assign(waves, 0);
  while (lanes_.size() < static_cast<std::size_t>(threads))
    lanes_.push_back(std::make_unique<Lane>());
  for (int i = 0; i < threads; ++i) {
    lanes_[static_cast<std::size_t>(i)]->mask = 0;
    lanes_[static_cast<std::size_t>(i)]->fiber.start(&Workgroup::start_lane, this);
  }
  std::vector<int> ready;
  std::size_t waiting = 0, ended = 0;
  for (std::size_t i = 0; i < waves; ++i) ready.push_back(static_cast<int>(i));
  while (ended < waves) {
    if (ready.empty()) {
      if (waiting + ended != waves || ended != 0)
        throw Fault("some waves wait at a barrier and others have ended");
      for (std::size_t i = 0; i < waves; ++i) ready.push_back(static_cast<int>(i));
      waiting = 0;
      ++epoch_;
    }
    const std::size_t pick = random_() % ready.size();
    const int wave = ready[pick];
    run_wave(wave);
    const Stop stop = lane().stop;
    if (stop != Stop::barrier && stop != Stop::end) continue;
    ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(pick));
    ++(stop == Stop::barrier ? waiting : ended);
  }
}

std::size_t offset_in_lds(const unsigned char* at, std::size_t alignment) {
  Workgroup& group = here();
  const auto offset = static_cast<std::size_t>(at - group.lds.data());
  if (offset % alignment != 0)
    group.fail(fmt::format("LDS byte {} is not aligned to {}", offset, alignment));
  return offset;
}

}  // namespace

void run_grid(std::uint32_t workgroups, int threads, std::uint64_t seed,
              const std::function<void()>& lane) {
  for (std::uint32_t group = 0; group < workgroups; ++group) here().run(group, threads, seed, lane);
}

int thread() {
  return here().current;
}
std::uint32_t workgroup() {
  return here().id;
}
unsigned char* lds(std::size_t bytes) {
  here().make_lds(bytes);
  return here().lds.data();
}
void barrier() {
  here().meet(Stop::barrier);
}
float exchange(float value, int mask) {
  Lane& lane = here().lane();
  lane.value = value;
  lane.mask = mask;
  here().meet(Stop::exchange);
  return lane.value;
}
bool any(bool condition) {
  Lane& lane = here().lane();
  lane.condition = condition;
  here().meet(Stop::any);
  return lane.condition;
}
void multiply(Product& product) {
  here().lane().product = &product;
  here().lane().mask = product.items;  // lanes must agree on it
  here().meet(Stop::multiply);
}

void read(const unsigned char* at, std::size_t bytes, std::size_t alignment) {
  Workgroup& group = here();
  std::string wrong = group.shadow().read(offset_in_lds(at, alignment), bytes, group.access());
  if (!wrong.empty()) group.fail(std::move(wrong));
}
void written(const unsigned char* at, std::size_t bytes, std::size_t alignment) {
  Workgroup& group = here();
  std::string wrong = group.shadow().write(offset_in_lds(at, alignment), bytes, group.access());
  if (!wrong.empty()) group.fail(std::move(wrong));
}

}  // namespace dsakit::simt
