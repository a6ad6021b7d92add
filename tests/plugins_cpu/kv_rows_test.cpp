// kv_append writes the bytes of the reference codec, kv_dequant reads them back, and slots outside
// the pool are left alone; for every layout.
#include <cstring>
#include <vector>

#include "kvcache/codec.hpp"
#include "kvcache/float8.hpp"
#include "plugins_cpu/harness.hpp"

namespace dsakit::conformance {
namespace {

constexpr std::int64_t kRows = 37;

// Every fifth slot is outside the pool of 80 slots.
bool outside(std::int64_t i) {
  return i % 5 == 4;
}
std::int64_t slot_of(std::int64_t i) {
  if (outside(i)) return i % 2 == 0 ? -i : 80 + i;
  return i * 7 % 80;
}

std::vector<float> row_values(const KvLayout& layout, std::int64_t i) {
  std::vector<float> values;
  for (int c = 0; c < layout.d_qk(); ++c)
    values.push_back(static_cast<float>((i * 131 + c * 17) % 97 - 48) / 7);
  return values;
}

struct Fixture {
  const KvLayout& layout;
  Problem problem;
  Instance instance;
  std::vector<std::byte> expected;  // the pool as the reference codec writes it
  kvcache::Pool pool;
  HostTensor slots, rows;

  static Description describe_pool(const KvLayout& layout, const char* kv_scale) {
    Description d;
    d.layout = layout.name;
    if (layout.name == "v4_584") d.model_family = "deepseek_v4";
    d.kv_scale = kv_scale;
    d.pages = 5;
    return d;
  }

  Fixture(const KvLayout& kv_layout, const char* kv_scale)
      : layout(kv_layout), problem(describe_pool(kv_layout, kv_scale)), instance(problem.config) {
    const HostTensor& tensor = problem.pool[0];
    expected = tensor.memory;
    pool = {&layout,
            expected.data(),
            5,
            16,
            tensor.strides[0] * layout.element_bytes(),
            tensor.strides[1] * layout.element_bytes(),
            problem.description().tensor_scale};
    slots.make({kDLInt, 64, 1}, {kRows}, {}, std::byte{0});
    rows.make({kDLFloat, 32, 1}, {kRows, layout.d_qk()}, {layout.d_qk() + 3, 1}, std::byte{0});
    const auto rule = std::strcmp(kv_scale, "any") == 0 ? kvcache::ScaleRule::arbitrary_fp32
                                                        : kvcache::ScaleRule::pow2_fp32;
    for (std::int64_t i = 0; i < kRows; ++i) {
      const std::int64_t slot = slot_of(i);
      const std::vector<float> values = row_values(layout, i);
      std::memcpy(slots.at(i), &slot, 8);
      std::memcpy(rows.at(i * (layout.d_qk() + 3)), values.data(), values.size() * 4);
      if (!outside(i)) kvcache::encode_row(pool, slot, rule, values);
    }
  }

  dsakit_kv_args args(const HostTensor& values) {
    return {sizeof(dsakit_kv_args), 0, nullptr, &problem.caches[0], &slots.view, &values.view};
  }
};

class KvRows : public testing::TestWithParam<std::tuple<KvLayout, const char*>> {};

TEST_P(KvRows, AppendWritesTheReferenceBytes) {
  const auto& [layout, kv_scale] = GetParam();
  Fixture fixture(layout, kv_scale);
  const dsakit_kv_args args = fixture.args(fixture.rows);
  ASSERT_EQ(cpu_plugin().kv_append(fixture.instance.get(), &args, nullptr), DSAKIT_RC_OK);
  EXPECT_EQ(fixture.problem.pool[0].memory, fixture.expected);
}

TEST_P(KvRows, DequantReadsThemBack) {
  const auto& [layout, kv_scale] = GetParam();
  Fixture fixture(layout, kv_scale);
  fixture.problem.pool[0].memory = fixture.expected;
  fixture.problem.pool[0].view.data = fixture.problem.pool[0].memory.data();
  HostTensor back;
  back.make({kDLBfloat, 16, 1}, {kRows, layout.d_qk()}, {}, std::byte{0x11});
  const dsakit_kv_args args = fixture.args(back);
  ASSERT_EQ(cpu_plugin().kv_dequant(fixture.instance.get(), &args, nullptr), DSAKIT_RC_OK);
  std::vector<float> values(static_cast<std::size_t>(layout.d_qk()));
  for (std::int64_t i = 0; i < kRows; ++i) {
    if (!outside(i)) kvcache::decode_row(fixture.pool, slot_of(i), values);
    for (std::int64_t c = 0; c < layout.d_qk(); ++c) {
      std::uint16_t found = 0;
      std::memcpy(&found, back.at(i * layout.d_qk() + c), 2);
      const std::uint16_t wanted =
          outside(i) ? 0x1111 : kvcache::bf16_encode(values[static_cast<std::size_t>(c)]);
      ASSERT_EQ(found, wanted) << i << " " << c;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Table, KvRows,
                         testing::Combine(testing::ValuesIn(attention_layouts()),
                                          testing::Values("any", "pow2_fp32")));

TEST(KvRowsChecks, WrongShapesAreRefused) {
  Fixture fixture(*find_kv_layout("bf16_1152"), "any");
  dsakit_kv_args args = fixture.args(fixture.rows);
  args.slots = nullptr;
  EXPECT_EQ(cpu_plugin().kv_append(fixture.instance.get(), &args, nullptr), DSAKIT_RC_INVALID);
  args = fixture.args(fixture.rows);
  fixture.rows.shape[1] = 512;
  EXPECT_EQ(cpu_plugin().kv_append(fixture.instance.get(), &args, nullptr), DSAKIT_RC_INVALID);
  EXPECT_EQ(cpu_plugin().kv_append(fixture.instance.get(), nullptr, nullptr), DSAKIT_RC_INVALID);
}

}  // namespace
}  // namespace dsakit::conformance
