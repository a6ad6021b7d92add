// Strokes of an SVG with logarithmic axes. Pure; one thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dsakit::cli {

// A value's place on a line of the picture. Requires 0 < low < high.
class LogAxis {
 public:
  LogAxis(double low, double high, double from, double to);

  double at(double value) const;
  double low() const { return low_; }
  double high() const { return high_; }
  // 1, 2 and 5 times powers of ten inside the axis.
  std::vector<double> ticks() const;

 private:
  double low_, high_, from_, to_;
};

// The axis that holds these values, widened to whole steps of 1, 2, 5.
std::pair<double, double> log_range(const std::vector<double>& values);

enum class Mark : unsigned char { filled, hollow };
enum class Stroke : unsigned char { solid, dashed, dotted };

class Picture {
 public:
  Picture(int width, int height);

  void text(double x, double y, std::string_view text, std::string_view anchor = "start",
            int size = 12, std::string_view color = "#333");
  // Turned by so many degrees, its middle just above the point.
  void slanted_text(double x, double y, double degrees, std::string_view text);
  void line(double x1, double y1, double x2, double y2, std::string_view color, Stroke stroke,
            double width);
  void curve(const std::vector<std::pair<double, double>>& points, std::string_view color,
             Stroke stroke, double width);
  // `about` is shown by a viewer that points at the mark.
  void mark(double x, double y, std::string_view color, Mark kind, std::string_view about = "");

  // A frame with grid lines and numbers, and what the axes say.
  void frame(const LogAxis& x, const LogAxis& y, std::string_view x_title, std::string_view y_title,
             std::string_view title);

  std::string svg() const;

 private:
  int width_, height_;
  std::string body_;
};

}  // namespace dsakit::cli
