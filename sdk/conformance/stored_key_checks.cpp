// L4, stored keys: kv_append and kv_dequant give the bytes of core/kvcache; a hot buffer whose
// slots are given to other tokens between steps (feature hisparse).
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "dsakit/kv_layout.hpp"
#include "sdk/conformance/check.hpp"

namespace dsakit::conformance {
namespace {

constexpr std::int64_t kRows = 11;

// Rows beside slots, some of which do not exist, and a pool that holds garbage.
struct KvCase {
  Problem problem;
  HostTensor slots, rows;
  std::vector<std::vector<float>> values;

  KvCase(const Description& d, bool wide_slots, bool fp32_rows) : problem(d) {
    const std::int64_t width = problem.config.d_qk;
    const DLDataType type = fp32_rows ? DLDataType{kDLFloat, 32, 1} : DLDataType{kDLBfloat, 16, 1};
    slots.make({kDLInt, static_cast<std::uint8_t>(wide_slots ? 64 : 32), 1}, {kRows}, {},
               std::byte{0});
    rows.make(type, {kRows, width}, {width + 8, 1}, std::byte{0x11});
    std::mt19937 random(5);
    for (std::int64_t i = 0; i < kRows; ++i) {
      write_integer(slots, i, slot(i));
      std::vector<float> row(static_cast<std::size_t>(width));
      for (float& value : row)
        value = normal(random, std::pow(10.0F, static_cast<float>(i % 5) - 2));
      spoil(row, i);
      for (std::int64_t c = 0; c < width; ++c) {
        write_value(rows.at(i * (width + 8) + c), type, row[static_cast<std::size_t>(c)]);
        if (!fp32_rows) row[static_cast<std::size_t>(c)] = read(i, c);
      }
      values.push_back(std::move(row));
    }
  }

  // What a quantiser must survive: groups of zeros and of subnormal numbers, values far beyond the
  // others, infinities, NaN.
  static void spoil(std::vector<float>& row, std::int64_t i) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const float nan = std::bit_cast<float>(0x7FC00000U);
    if (i == 4) std::fill(row.begin(), row.end() - 60, 0.0F);
    if (i == 5) row[1] = 1e30F;
    if (i == 6) std::fill(row.begin(), row.end() - 60, std::bit_cast<float>(0x00012345U));
    if (i == 8) row[0] = kInfinity, row[130] = -kInfinity, row[131] = 1e38F;
    if (i == 9) row[2] = nan, row[140] = -nan, row[300] = -0.0F, row.back() = nan;
    if (i == 10) std::fill(row.begin() + 128, row.begin() + 256, -nan);
  }

  // Distinct; every fourth does not exist.
  std::int64_t slot(std::int64_t i) const {
    const Description& d = problem.description();
    if (i % 4 == 3) return i == 3 ? -1 : d.pages * d.page_size + i;
    return (i * 7 + 3) % (d.pages * d.page_size);
  }
  bool exists(std::int64_t i) const { return i % 4 != 3; }

  float read(std::int64_t i, std::int64_t c) {
    std::uint32_t wide = 0;
    std::uint16_t half = 0;
    float value = 0;
    const std::byte* from = rows.at(i * (problem.config.d_qk + 8) + c);
    if (rows.view.dtype.bits == 32) {
      std::memcpy(&value, from, 4);
      return value;
    }
    std::memcpy(&half, from, 2);
    wide = static_cast<std::uint32_t>(half) << 16;
    std::memcpy(&value, &wide, 4);
    return value;
  }

  void write_reference() {
    for (std::int64_t i = 0; i < kRows; ++i)
      if (exists(i)) problem.set_key(0, slot(i), values[static_cast<std::size_t>(i)]);
  }

  // Calls kv_append or kv_dequant.
  Outcome move_rows(const Instance& instance, decltype(dsakit_plugin::kv_append) function) {
    return instance.stage(problem, Instance::Fetch::all, {&slots, &rows}, [&](Staged& staged) {
      const dsakit_kv_args args = staged.args(dsakit_kv_args{
          sizeof(dsakit_kv_args), 0, nullptr, problem.args.kv, &slots.view, &rows.view});
      return call([&](dsakit_error* error) { return function(instance.get(), &args, error); });
    });
  }
};

// Calls `body` for each form of the arguments that the row accepts.
void each_form(Trial& trial, void (*body)(Trial&, const Instance&, KvCase&)) {
  for (const char* rule : {"any", "pow2_fp32", "ue8m0"})
    for (int form = 0; form < 4 && !trial.failed(); ++form) {
      Description d = trial.row().base(trial.row().phases().front());
      d.kv_scale = rule;
      d.odd_strides = (form & 1) != 0;
      d.unselected_nan = true;
      d.batch = 1;
      if (!trial.row().accepts(d)) continue;
      KvCase kv(d, (form & 1) != 0, (form & 2) != 0);
      const Instance instance(trial.subject(), kv.problem.config);
      if (!trial.expect(instance.created().ok(), "create: " + describe(instance.created()))) return;
      body(trial, instance, kv);
    }
}

void kv_append(Trial& trial) {
  if (!trial.ready()) return;
  if (!DSAKIT_HAS_FUNCTION(trial.subject().table, kv_append))
    return trial.skip("the plugin has no kv_append");
  each_form(trial, [](Trial& t, const Instance& instance, KvCase& kv) {
    const std::vector<std::byte> before = kv.problem.pool[0].memory;
    kv.write_reference();
    const std::vector<std::byte> expected = kv.problem.pool[0].memory;
    std::memcpy(kv.problem.pool[0].base(), before.data(), before.size());
    const Outcome outcome = kv.move_rows(instance, t.subject().table->kv_append);
    if (!t.expect(outcome.ok(), "kv_append: " + describe(outcome))) return;
    const auto& found = kv.problem.pool[0].memory;
    const auto differs = std::mismatch(found.begin(), found.end(), expected.begin()).first;
    t.expect(differs == found.end(),
             fmt::format("{}, kv_scale {}: byte {} of the pool differs from core/kvcache",
                         describe(kv.problem.description()), kv.problem.description().kv_scale,
                         differs - found.begin()));
  });
}

void kv_dequant(Trial& trial) {
  if (!trial.ready()) return;
  if (!DSAKIT_HAS_FUNCTION(trial.subject().table, kv_dequant))
    return trial.skip("the plugin has no kv_dequant");
  each_form(trial, [](Trial& t, const Instance& instance, KvCase& kv) {
    kv.write_reference();
    const std::vector<std::byte> before = kv.rows.memory;
    const Outcome outcome = kv.move_rows(instance, t.subject().table->kv_dequant);
    if (!t.expect(outcome.ok(), "kv_dequant: " + describe(outcome))) return;
    // Expected: rows of existing slots decoded into the same strides, the rest as it was.
    const std::vector<std::byte> found = kv.rows.memory;
    kv.rows.memory = before;
    kv.rows.view.data = kv.rows.memory.data();
    const std::int64_t width = kv.problem.config.d_qk;
    std::vector<float> key(static_cast<std::size_t>(width));
    for (std::int64_t i = 0; i < kRows; ++i) {
      if (!kv.exists(i)) continue;
      kvcache::decode_row(kv.problem.codec_pool(0), kv.slot(i), key);
      for (std::int64_t c = 0; c < width; ++c)
        write_value(kv.rows.at(i * (width + 8) + c), kv.rows.view.dtype,
                    key[static_cast<std::size_t>(c)]);
    }
    t.expect(found == kv.rows.memory,
             describe(kv.problem.description()) + ": the rows differ from core/kvcache");
  });
}

// A buffer of as many slots as a step needs serves a longer context: between steps, slots are
// overwritten with other tokens' keys and the indices name them anew.
void hisparse(Trial& trial) {
  if (!trial.ready()) return;
  if (!trial.row().accepts_feature("hisparse"))
    return trial.skip("the row does not accept feature hisparse");
  Description d = trial.row().base(trial.row().phases().front());
  if (d.ragged) return trial.skip("the row takes ragged lists only");
  d.features.emplace_back("hisparse");
  d.batch = 2;
  d.distinct = false;
  d.pages = (d.topk + d.page_size - 1) / d.page_size;
  d.unselected_nan = true;
  if (!trial.row().accepts(d)) return trial.skip("the row does not accept a small hot buffer");
  Problem problem(d);
  const Instance instance(trial.subject(), problem.config);
  if (!trial.expect(instance.created().ok(), "create: " + describe(instance.created()))) return;
  if (!instance.prepare_workspace(problem).ok()) return trial.fail("workspace fails");
  std::mt19937 random(23);
  const std::int64_t slots = d.pages * d.page_size;
  std::vector<float> key(static_cast<std::size_t>(problem.config.d_qk));
  for (int step = 0; step < 4 && !trial.failed(); ++step) {
    for (std::int64_t slot = step == 0 ? 0 : step; slot < slots; slot += step == 0 ? 1 : 3) {
      for (float& value : key) value = normal(random, d.kv_amplitude);
      problem.set_key(0, slot, key);
    }
    for (std::int64_t token = 0; token < problem.tokens(); ++token)
      for (std::int64_t j = 0; j < d.topk; ++j)
        problem.set_index(0, token, j,
                          static_cast<std::int64_t>(random() % static_cast<unsigned>(slots)));
    problem.spoil_outputs();
    const Outcome outcome = instance.run(problem);
    if (!trial.expect(outcome.ok(), fmt::format("step {}: {}", step, describe(outcome)))) return;
    trial.compare(problem);
  }
}

constexpr Check kStoredKeyChecks[] = {{"numerics.kv_append", 4, Scope::row, kv_append},
                                      {"numerics.kv_dequant", 4, Scope::row, kv_dequant},
                                      {"numerics.hisparse", 4, Scope::row, hisparse}};

}  // namespace

std::span<const Check> stored_key_checks() {
  return kStoredKeyChecks;
}

}  // namespace dsakit::conformance
