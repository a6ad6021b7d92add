// Dequantisation for the reference: every number here is written out from the description of its
// layout.
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

#include "sdk/conformance/reference.hpp"

namespace dsakit::conformance {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double bf16_at(const unsigned char* at) {
  const std::uint32_t bits =
      static_cast<std::uint32_t>(at[0]) << 16 | static_cast<std::uint32_t>(at[1]) << 24;
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return static_cast<double>(value);
}

double fp32_at(const unsigned char* at) {
  float value = 0;
  std::memcpy(&value, at, sizeof(value));
  return static_cast<double>(value);
}

double e4m3_value(unsigned code, int bias) {
  const unsigned exponent = code >> 3 & 15;
  const double mantissa = code & 7;
  const double magnitude = exponent == 0
                               ? std::ldexp(mantissa, -2 - bias)
                               : std::ldexp(8 + mantissa, static_cast<int>(exponent) - bias - 3);
  return (code & 128) != 0 ? -magnitude : magnitude;
}

std::array<double, 256> all_codes(int bias) {
  std::array<double, 256> values;
  for (unsigned code = 0; code < 256; ++code) values[code] = e4m3_value(code, bias);
  if (bias == 8)
    values[128] = kNan;
  else
    values[127] = values[255] = kNan;
  return values;
}

double e4m3fn(unsigned code) {
  static const std::array<double, 256> kValues = all_codes(7);
  return kValues[code];
}
double e4m3fnuz(unsigned code) {
  static const std::array<double, 256> kValues = all_codes(8);
  return kValues[code];
}

double ue8m0(unsigned code) {
  return code == 255 ? kNan : std::ldexp(1.0, static_cast<int>(code) - 127);
}

// A token's bytes: `row` is its data; `scales` its entry in the page's footer, where there is one.
struct Bytes {
  const unsigned char* row;
  const unsigned char* scales;
  double tensor_scale;
};

// The product is rounded to fp32, as the contract says.
double scaled(double code, double scale) {
  return static_cast<double>(static_cast<float>(code) * static_cast<float>(scale));
}

std::vector<double> bf16_row(const Bytes& bytes, int count) {
  std::vector<double> key;
  for (int i = 0; i < count; ++i) key.push_back(bf16_at(bytes.row + 2 * i));
  return key;
}

std::vector<double> grouped_row(const Bytes& bytes, bool rope) {
  std::vector<double> key;
  for (int i = 0; i < 512; ++i)
    key.push_back(scaled(e4m3fn(bytes.row[i]), fp32_at(bytes.row + 512 + 4 * (i / 128))));
  for (int i = 0; rope && i < 64; ++i) key.push_back(bf16_at(bytes.row + 528 + 2 * i));
  return key;
}

std::vector<double> tensor_row(const Bytes& bytes, int count, double (*decode)(unsigned)) {
  std::vector<double> key;
  for (int i = 0; i < count; ++i) key.push_back(scaled(decode(bytes.row[i]), bytes.tensor_scale));
  return key;
}

std::vector<double> v4_row(const Bytes& bytes) {
  std::vector<double> key;
  for (int i = 0; i < 448; ++i)
    key.push_back(scaled(e4m3fn(bytes.row[i]), ue8m0(bytes.scales[i / 64])));
  for (int i = 0; i < 64; ++i) key.push_back(bf16_at(bytes.row + 448 + 2 * i));
  return key;
}

struct Reader {
  std::string_view layout;
  std::vector<double> (*read)(const Bytes&);
};

constexpr Reader kReaders[] = {
    {"bf16_1152", [](const Bytes& b) { return bf16_row(b, 576); }},
    {"bf16_1024", [](const Bytes& b) { return bf16_row(b, 512); }},
    {"fp8_656_g128", [](const Bytes& b) { return grouped_row(b, true); }},
    {"fp8_528_g128", [](const Bytes& b) { return grouped_row(b, false); }},
    {"fp8_576_pt", [](const Bytes& b) { return tensor_row(b, 576, e4m3fn); }},
    {"fp8_512_pt", [](const Bytes& b) { return tensor_row(b, 512, e4m3fn); }},
    {"fp8_576_pt_fnuz", [](const Bytes& b) { return tensor_row(b, 576, e4m3fnuz); }},
    {"fp8_512_pt_fnuz", [](const Bytes& b) { return tensor_row(b, 512, e4m3fnuz); }},
    {"v4_584", v4_row},
};

const Reader* find_reader(std::string_view layout) {
  for (const Reader& reader : kReaders)
    if (reader.layout == layout) return &reader;
  return nullptr;
}

// Distance in bytes between neighbours on an axis.
std::int64_t step(const DLTensor& tensor, int axis) {
  std::int64_t elements = 1;
  for (int inner = tensor.ndim - 1; inner > axis; --inner) elements *= tensor.shape[inner];
  if (tensor.strides != nullptr) elements = tensor.strides[axis];
  return elements * tensor.dtype.bits / 8;
}

const unsigned char* start(const DLTensor& tensor) {
  return static_cast<const unsigned char*>(tensor.data) + tensor.byte_offset;
}

}  // namespace

bool reference_knows(const char* kv_layout) {
  return kv_layout != nullptr && find_reader(kv_layout) != nullptr;
}

std::vector<double> reference_key(const dsakit_config& config, const dsakit_kv_cache& cache,
                                  std::int64_t slot) {
  const DLTensor& data = *cache.data;
  const bool flat = data.ndim == 2;
  const std::int64_t page_size = flat ? 1 : data.shape[1];
  const unsigned char* page = start(data) + slot / page_size * step(data, 0);
  const std::int64_t row = slot % page_size;
  Bytes bytes{page + (flat ? 0 : row * step(data, 1)), nullptr, 1.0};
  if (std::string_view(config.kv_layout) == "v4_584")
    bytes = {page + row * 576, page + page_size * 576 + row * 8, 1.0};
  if (cache.scale != nullptr) bytes.tensor_scale = fp32_at(start(*cache.scale));
  return find_reader(config.kv_layout)->read(bytes);
}

}  // namespace dsakit::conformance
