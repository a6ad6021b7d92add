#include "bench/roofline.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <optional>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/picture.hpp"
#include "bench/report.hpp"
#include "bench/statistics.hpp"

namespace dsakit::cli {
namespace {

constexpr int kWidth = 1280, kHeight = 640;
constexpr double kTop = 96, kBottom = 520;
constexpr double kLeftPanel[] = {70, 600}, kRightPanel[] = {720, 1250};
constexpr double kLabelHeight = 11;
constexpr std::string_view kRoof = "#333", kColors[] = {"#0072B2", "#D55E00", "#009E73",
                                                        "#CC79A7", "#8C6D00", "#56B4E9"};

// One shape, ready to be drawn.
struct Dot {
  const BenchLine* line;
  double us, bound_us;
  std::optional<double> base_us;  // the method of record, else the dirty flush
  double intensity() const { return line->work.flops / line->work.bytes; }
  double tflops(double at_us) const { return line->work.flops / at_us * 1e-6; }
};

std::vector<Dot> dots_of(const BenchReport& report) {
  std::vector<Dot> dots;
  for (const BenchLine& line : report.lines) {
    if (!line.on_gpu() || !line.shape.label.empty()) continue;
    const Bound bound = bound_of(line, report);
    if (bound.us <= 0) continue;
    Dot dot{&line, quantile(line.clean, 0.5), bound.us, std::nullopt};
    if (report.baseline != nullptr && line.shape.baseline)
      dot.base_us = line.shape.baseline->us_clean ? line.shape.baseline->us_clean
                                                  : line.shape.baseline->us_dirty;
    dots.push_back(dot);
  }
  return dots;
}

std::string about(const Dot& dot) {
  std::string text = fmt::format("{}: {:.2f} us, {:.0f} TFLOP/s, {:.0f} % of the bound",
                                 shape_text(dot.line->shape), dot.us, dot.tflops(dot.us),
                                 100 * dot.bound_us / dot.us);
  if (dot.base_us) text += fmt::format("; baseline {:.2f} us", *dot.base_us);
  return text;
}

class Roofline {
 public:
  Roofline(const BenchReport& report, std::vector<Dot> dots)
      : report_(report), dots_(std::move(dots)), picture_(kWidth, kHeight) {
    for (const Dot& dot : dots_) colors_.emplace(dot.line->shape.heads, "");
    std::size_t next = 0;
    for (auto& [heads, color] : colors_) color = kColors[next++ % std::size(kColors)];
  }

  std::string svg() {
    head();
    roofline();
    times();
    legend();
    return picture_.svg();
  }

 private:
  std::string_view color(const Dot& dot) const { return colors_.at(dot.line->shape.heads); }

  double arithmetic_roof() const {
    const double here = report_.session.ceilings.gemm_tflops;
    return here > 0 || !report_.baseline ? here : report_.baseline->ceilings.gemm_tflops;
  }

  double memory_roof(std::int64_t row_bytes) const {
    const double here = report_.session.ceilings.gather_of(row_bytes);
    return here > 0 || !report_.baseline ? here : report_.baseline->ceilings.gather_of(row_bytes);
  }

  void head() {
    std::set<std::string> what;
    for (const Dot& dot : dots_)
      what.insert(fmt::format("{} ({})", dot.line->shape.backend, dot.line->kv_layout));
    picture_.text(kLeftPanel[0] - 44, 32,
                  fmt::format("{} on {}", fmt::join(what, ", "), report_.session.gpu.name), "start",
                  20, "#000");
    std::string beside = report_.baseline ? fmt::format("beside {}", report_.baseline->what)
                                          : std::string("no baseline for this device");
    if (report_.baseline && !report_.comparable())
      beside += "; VOID: a ceiling of this session is more than 3 % off";
    picture_.text(kLeftPanel[0] - 44, 54, beside);
  }

  void roofline() {
    std::vector<double> across, up{arithmetic_roof() * 1.3};
    std::set<std::int64_t> rows;
    for (const Dot& dot : dots_) {
      rows.insert(dot.line->key.bytes);
      across.push_back(dot.intensity());
      up.push_back(dot.tflops(dot.us));
      if (dot.base_us) up.push_back(dot.tflops(*dot.base_us));
    }
    for (const std::int64_t row : rows) {
      const double ridge = arithmetic_roof() / memory_roof(row);
      across.insert(across.end(), {ridge / 4, ridge * 4});
    }
    across.push_back(std::ranges::max(across) * 1.25);  // room for a label
    const auto [x_low, x_high] = log_range(across);
    const auto [y_low, y_high] = log_range(up);
    const LogAxis x(x_low, x_high, kLeftPanel[0], kLeftPanel[1]);
    const LogAxis y(y_low, y_high, kBottom, kTop);
    picture_.frame(x, y, "FLOP per byte of device memory", "TFLOP/s", "Roofline");
    for (const std::int64_t row : rows) roof(x, y, row);
    for (const Dot& dot : dots_) {
      const double at = x.at(dot.intensity());
      if (dot.base_us) {
        const double base = y.at(dot.tflops(*dot.base_us));
        picture_.line(at, base, at, y.at(dot.tflops(dot.us)), color(dot), Stroke::solid, 1);
        picture_.mark(at, base, color(dot), Mark::hollow, "baseline of " + about(dot));
      }
    }
    std::map<int, std::vector<double>> labels;  // places that are taken, by column
    for (const Dot& dot : dots_) {
      const double at = x.at(dot.intensity()), height = y.at(dot.tflops(dot.us));
      picture_.mark(at, height, color(dot), Mark::filled, about(dot));
      auto& taken = labels[static_cast<int>(at / 40)];
      if (std::ranges::any_of(
              taken, [&](double other) { return std::abs(other - height) < kLabelHeight; }))
        continue;
      taken.push_back(height);
      picture_.text(at + 8, height + 4, fmt::format("T{}", dot.line->shape.tokens()), "start", 10,
                    color(dot));
    }
  }

  void roof(const LogAxis& x, const LogAxis& y, std::int64_t row) {
    const double memory = memory_roof(row), arithmetic = arithmetic_roof();
    const double start = std::max(x.low(), y.low() / memory);
    picture_.curve({{x.at(start), y.at(start * memory)},
                    {x.at(arithmetic / memory), y.at(arithmetic)},
                    {x.at(x.high()), y.at(arithmetic)}},
                   kRoof, Stroke::solid, 2);
    picture_.text(x.at(x.high()), y.at(arithmetic) - 8,
                  fmt::format("{:.0f} TFLOP/s, bf16 matrix product", arithmetic), "end", 11);
    // Along the slope, on its upper side.
    const double across = x.at(arithmetic / memory) - x.at(start);
    const double up = y.at(start * memory) - y.at(arithmetic);
    picture_.slanted_text(x.at(start) + across / 2, y.at(start * memory) - up / 2,
                          std::atan2(-up, across) * 180 / std::numbers::pi,
                          fmt::format("{:.2f} TB/s, random {}-byte rows", memory, row));
  }

  void times() {
    std::vector<double> across, up;
    for (const Dot& dot : dots_) {
      across.push_back(static_cast<double>(dot.line->shape.tokens()));
      up.insert(up.end(), {dot.us, dot.bound_us, dot.base_us.value_or(dot.us)});
    }
    const auto [x_low, x_high] = log_range(across);
    const auto [y_low, y_high] = log_range(up);
    const LogAxis x(x_low, x_high, kRightPanel[0], kRightPanel[1]);
    const LogAxis y(y_low, y_high, kBottom, kTop);
    picture_.frame(x, y, "query tokens of a call", "microseconds of a call", "Time");
    using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
    std::map<Key, std::vector<const Dot*>> series;
    for (const Dot& dot : dots_) {
      const BenchShape& shape = dot.line->shape;
      series[{shape.heads, shape.pool, shape.s_q, shape.topk}].push_back(&dot);
    }
    for (const auto& [key, dots] : series) one_series(x, y, dots);
  }

  void one_series(const LogAxis& x, const LogAxis& y, std::vector<const Dot*> dots) {
    std::ranges::sort(dots, {}, [](const Dot* dot) { return dot->line->shape.tokens(); });
    std::vector<std::pair<double, double>> ours, base, bound;
    for (const Dot* dot : dots) {
      const double at = x.at(static_cast<double>(dot->line->shape.tokens()));
      ours.emplace_back(at, y.at(dot->us));
      bound.emplace_back(at, y.at(dot->bound_us));
      if (dot->base_us) base.emplace_back(at, y.at(*dot->base_us));
    }
    const auto tint = color(*dots.front());
    picture_.curve(bound, tint, Stroke::dotted, 1.5);
    if (!base.empty()) picture_.curve(base, tint, Stroke::dashed, 1.2);
    picture_.curve(ours, tint, Stroke::solid, 2);
    for (const auto& [at, height] : base) picture_.mark(at, height, tint, Mark::hollow, "baseline");
    for (std::size_t i = 0; i < dots.size(); ++i)
      picture_.mark(ours[i].first, ours[i].second, tint, Mark::filled, about(*dots[i]));
  }

  void legend() {
    double at = kLeftPanel[0];
    const double height = kBottom + 66;
    for (const auto& [heads, tint] : colors_) {
      picture_.mark(at, height, tint, Mark::filled);
      picture_.text(at + 10, height + 4, fmt::format("{} heads", heads));
      at += 92;
    }
    at = kRightPanel[0];
    const auto entry = [&](Stroke stroke, const char* name) {
      picture_.line(at, height, at + 30, height, kRoof, stroke, 2);
      picture_.text(at + 36, height + 4, name);
      at += 130;
    };
    entry(Stroke::solid, "measured");
    if (report_.baseline) entry(Stroke::dashed, "baseline");
    entry(Stroke::dotted, "bound");
    picture_.text(kLeftPanel[0], height + 30,
                  fmt::format("Medians by activity records, cache flushed before every call; "
                              "driver {}; {}; empty kernel {:.2f} us",
                              report_.session.gpu.driver, report_.session.date,
                              report_.session.empty_kernel_us),
                  "start", 11, "#666");
  }

  const BenchReport& report_;
  std::vector<Dot> dots_;
  Picture picture_;
  std::map<std::int64_t, std::string_view> colors_;  // by heads
};

}  // namespace

std::string roofline_svg(const BenchReport& report) {
  auto dots = dots_of(report);
  return dots.empty() ? "" : Roofline(report, std::move(dots)).svg();
}

}  // namespace dsakit::cli
