#include "bench/picture.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace dsakit::cli {
namespace {

constexpr double kSteps[] = {1, 2, 5};
constexpr double kLittle = 1e-9;  // what rounding may cost at the ends of an axis

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (static_cast<unsigned char>(c) >= 0x20)
      out += c;
  }
  return out;
}

const char* dashes_of(Stroke stroke) {
  if (stroke == Stroke::dashed) return " stroke-dasharray=\"6 4\"";
  return stroke == Stroke::dotted ? " stroke-dasharray=\"1.5 3\"" : "";
}

// 20000 as 20k.
std::string short_number(double value) {
  return value >= 1000 ? fmt::format("{:g}k", value / 1000) : fmt::format("{:g}", value);
}

}  // namespace

LogAxis::LogAxis(double low, double high, double from, double to)
    : low_(low), high_(high), from_(from), to_(to) {}

double LogAxis::at(double value) const {
  return from_ + (to_ - from_) * std::log(value / low_) / std::log(high_ / low_);
}

std::vector<double> LogAxis::ticks() const {
  std::vector<double> out;
  for (double decade = std::pow(10, std::floor(std::log10(low_))); decade <= high_; decade *= 10)
    for (const double step : kSteps) {
      const double value = decade * step;
      if (value >= low_ * (1 - kLittle) && value <= high_ * (1 + kLittle)) out.push_back(value);
    }
  return out;
}

std::pair<double, double> log_range(const std::vector<double>& values) {
  const auto [least, most] = std::ranges::minmax(values);
  const auto rounded = [](double value, bool up) {
    const double decade = std::pow(10, std::floor(std::log10(value)));
    double best = up ? decade * 10 : decade;
    for (const double step : kSteps) {
      const double tick = decade * step;
      if (up && tick >= value * (1 - kLittle)) best = std::min(best, tick);
      if (!up && tick <= value * (1 + kLittle)) best = std::max(best, tick);
    }
    return best;
  };
  const double low = rounded(least, false);
  const double high = rounded(most, true);
  return {low, high > low ? high : low * 2};
}

Picture::Picture(int width, int height) : width_(width), height_(height) {}

void Picture::text(double x, double y, std::string_view text, std::string_view anchor, int size,
                   std::string_view color) {
  body_ += fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{}\" text-anchor=\"{}\" fill=\"{}\">{}</text>\n",
      x, y, size, anchor, color, escaped(text));
}

void Picture::slanted_text(double x, double y, double degrees, std::string_view text) {
  body_ += fmt::format(
      "<text transform=\"translate({:.1f} {:.1f}) rotate({:.1f})\" y=\"-6\" font-size=\"12\" "
      "text-anchor=\"middle\" fill=\"#333\">{}</text>\n",
      x, y, degrees, escaped(text));
}

void Picture::line(double x1, double y1, double x2, double y2, std::string_view color,
                   Stroke stroke, double width) {
  body_ += fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
      "stroke-width=\"{}\"{}/>\n",
      x1, y1, x2, y2, color, width, dashes_of(stroke));
}

void Picture::curve(const std::vector<std::pair<double, double>>& points, std::string_view color,
                    Stroke stroke, double width) {
  std::string path;
  for (const auto& [x, y] : points)
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : " L", x, y);
  body_ += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"{}/>\n", path,
                       color, width, dashes_of(stroke));
}

void Picture::mark(double x, double y, std::string_view color, Mark kind, std::string_view about) {
  const bool filled = kind == Mark::filled;
  body_ += fmt::format(
      "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\" stroke=\"{}\" "
      "stroke-width=\"1.5\"><title>{}</title></circle>\n",
      x, y, filled ? 4.5 : 3.5, filled ? color : "white", color, escaped(about));
}

void Picture::frame(const LogAxis& x, const LogAxis& y, std::string_view x_title,
                    std::string_view y_title, std::string_view title) {
  const double left = x.at(x.low()), right = x.at(x.high());
  const double bottom = y.at(y.low()), top = y.at(y.high());
  for (const double tick : x.ticks()) {
    line(x.at(tick), bottom, x.at(tick), top, "#e4e4e4", Stroke::solid, 1);
    text(x.at(tick), bottom + 16, short_number(tick), "middle", 11);
  }
  for (const double tick : y.ticks()) {
    line(left, y.at(tick), right, y.at(tick), "#e4e4e4", Stroke::solid, 1);
    text(left - 6, y.at(tick) + 4, short_number(tick), "end", 11);
  }
  curve({{left, top}, {left, bottom}, {right, bottom}}, "#333", Stroke::solid, 1);
  text((left + right) / 2, bottom + 36, x_title, "middle");
  slanted_text(left - 38, (top + bottom) / 2, -90, y_title);
  text(left, top - 12, title, "start", 14, "#000");
}

std::string Picture::svg() const {
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
             "height=\"{1}\" font-family=\"Helvetica, Arial, sans-serif\">\n"
             "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
             width_, height_) +
         body_ + "</svg>\n";
}

}  // namespace dsakit::cli
