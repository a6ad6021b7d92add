#include "sdk/conformance/compare.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

namespace dsakit::conformance {
namespace {

std::int64_t stride(const DLTensor& tensor, int axis) {
  if (tensor.strides != nullptr) return tensor.strides[axis];
  std::int64_t elements = 1;
  for (int inner = axis + 1; inner < tensor.ndim; ++inner) elements *= tensor.shape[inner];
  return elements;
}

double widen(const unsigned char* at, DLDataType type) {
  float value = 0;
  if (type.bits == 32) {
    std::memcpy(&value, at, 4);
    return static_cast<double>(value);
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, at, 2);
  if (type.code == kDLBfloat) {
    const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
    std::memcpy(&value, &wide, 4);
    return static_cast<double>(value);
  }
  const int exponent = bits >> 10 & 31;
  const double mantissa = bits & 1023;
  double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  if (exponent == 31)
    magnitude = mantissa == 0 ? HUGE_VAL : std::numeric_limits<double>::quiet_NaN();
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

// Element (token, head, d); width 0 for tensors without d.
double element(const DLTensor& tensor, std::int64_t width, std::int64_t token, std::int64_t head,
               std::int64_t d) {
  const int axes = tensor.ndim - (width == 0 ? 1 : 2);
  std::int64_t offset = head * stride(tensor, axes) + (width == 0 ? 0 : d);
  if (axes == 2)
    offset +=
        token / tensor.shape[1] * stride(tensor, 0) + token % tensor.shape[1] * stride(tensor, 1);
  else
    offset += token * stride(tensor, 0);
  return widen(static_cast<const unsigned char*>(tensor.data) + tensor.byte_offset +
                   offset * (tensor.dtype.bits / 8),
               tensor.dtype);
}

bool same_special(double expected, double found) {
  if (std::isnan(expected) || std::isnan(found)) return std::isnan(expected) && std::isnan(found);
  return expected == found;
}

Comparison compare(const Expected& expected, const std::vector<double>& truth,
                   const DLTensor& tensor, std::int64_t width, const Tolerance& tolerance) {
  Comparison result;
  double product = 0.0;
  double squares = 0.0;
  const std::int64_t inner = width == 0 ? 1 : width;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(truth.size()); ++i) {
    const double want = truth[static_cast<std::size_t>(i)];
    const double got = element(tensor, width, expected.first + i / inner / expected.heads,
                               i / inner % expected.heads, i % inner);
    ++result.elements;
    bool good = true;
    if (!std::isfinite(want) || !std::isfinite(got)) {
      good = same_special(want, got);
    } else {
      const double error = std::fabs(want - got);
      result.max_absolute = std::max(result.max_absolute, error);
      const double relative = error / (std::fabs(want) + 1e-6);
      good = error < tolerance.absolute || relative < tolerance.relative;
      double& worst = std::fabs(want) <= 1.0 ? result.absolute : result.relative;
      worst = std::max(worst, std::fabs(want) <= 1.0 ? error : relative);
      result.of_allowed = std::max(
          result.of_allowed, std::min(error / tolerance.absolute, relative / tolerance.relative));
      product += want * got;
      squares += want * want + got * got;
    }
    if (good) continue;
    if (result.outside++ == 0) {
      result.worst = i;
      result.expected = want;
      result.found = got;
    }
  }
  result.cosine = squares > 0.0 ? 1.0 - 2.0 * product / squares : 0.0;
  return result;
}

}  // namespace

Tolerance exact_out(double key_amplitude) {
  Tolerance out = kExactOut;
  out.absolute *= std::max(1.0, key_amplitude / static_cast<double>(kKeyAmplitude));
  return out;
}

void Worst::add(const Comparison& comparison) {
  elements += comparison.elements;
  absolute = std::max(absolute, comparison.absolute);
  relative = std::max(relative, comparison.relative);
  of_allowed = std::max(of_allowed, comparison.of_allowed);
}

Comparison compare_out(const Expected& expected, const DLTensor& out, const Tolerance& tolerance) {
  return compare(expected, expected.out, out, expected.d_v, tolerance);
}

Comparison compare_lse(const Expected& expected, const DLTensor& lse, const Tolerance& tolerance) {
  return compare(expected, expected.lse, lse, 0, tolerance);
}

Comparison compare_max(const Expected& expected, const DLTensor& max, const Tolerance& tolerance) {
  return compare(expected, expected.max_logits, max, 0, tolerance);
}

std::string describe(const Comparison& comparison) {
  char text[200];
  if (comparison.outside == 0)
    std::snprintf(text, sizeof(text), "max error %.2e, cosine %.2e", comparison.max_absolute,
                  comparison.cosine);
  else
    std::snprintf(text, sizeof(text),
                  "%lld of %lld elements are outside; the first is %lld: expected %.9g, found %.9g",
                  static_cast<long long>(comparison.outside),
                  static_cast<long long>(comparison.elements),
                  static_cast<long long>(comparison.worst), comparison.expected, comparison.found);
  return text;
}

}  // namespace dsakit::conformance
