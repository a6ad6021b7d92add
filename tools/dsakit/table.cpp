#include "table.hpp"

#include <algorithm>

namespace dsakit::cli {
namespace {

std::vector<std::string> lines_of(const std::string& cell) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = cell.find('\n', begin);
    lines.push_back(cell.substr(begin, end - begin));
    if (end == std::string::npos) return lines;
    begin = end + 1;
  }
}

void append_row(const Table::Row& row, const std::vector<std::size_t>& widths, std::size_t indent,
                std::string& out) {
  std::vector<std::vector<std::string>> cells;
  std::size_t height = 1;
  for (const std::string& cell : row) {
    cells.push_back(lines_of(cell));
    height = std::max(height, cells.back().size());
  }
  for (std::size_t line = 0; line < height; ++line) {
    std::string text(indent, ' ');
    for (std::size_t column = 0; column < cells.size(); ++column) {
      const std::string part = line < cells[column].size() ? cells[column][line] : "";
      text += part + std::string(widths[column] - part.size() + 2, ' ');
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + '\n';
  }
}

}  // namespace

std::string Table::text(std::size_t indent) const {
  std::vector<std::size_t> widths(header_.size());
  const auto widen = [&widths](const Row& row) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      for (const std::string& line : lines_of(row[i])) widths[i] = std::max(widths[i], line.size());
    }
  };
  widen(header_);
  for (const Row& row : rows_) widen(row);
  std::string out;
  const bool named =
      std::any_of(header_.begin(), header_.end(), [](const auto& h) { return !h.empty(); });
  if (named) append_row(header_, widths, indent, out);
  for (const Row& row : rows_) append_row(row, widths, indent, out);
  return out;
}

std::string Table::markdown() const {
  const auto line = [](const Row& row) {
    std::string out = "|";
    for (const std::string& cell : row) {
      out += ' ';
      for (const char c : cell) {
        if (c == '\n') {
          out += "<br>";
        } else if (c == '|') {
          out += "\\|";
        } else {
          out += c;
        }
      }
      out += " |";
    }
    return out + '\n';
  };
  std::string out = line(header_) + "|";
  for (std::size_t i = 0; i < header_.size(); ++i) out += "---|";
  out += '\n';
  for (const Row& row : rows_) out += line(row);
  return out;
}

}  // namespace dsakit::cli
