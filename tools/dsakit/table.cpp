#include "table.hpp"

#include <algorithm>

namespace dsakit::cli {
namespace {

void append_row(const Table::Row& row, const std::vector<std::size_t>& widths, std::size_t indent,
                std::string& out) {
  std::size_t height = 1;
  for (const Cell& cell : row) height = std::max(height, cell.lines.size());
  for (std::size_t line = 0; line < height; ++line) {
    std::string text(indent, ' ');
    for (std::size_t column = 0; column < row.size(); ++column) {
      const auto& lines = row[column].lines;
      const std::string part = line < lines.size() ? lines[line] : "";
      text += part + std::string(widths[column] - part.size() + 2, ' ');
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + '\n';
  }
}

bool is_named(const Cell& header) {
  return std::ranges::any_of(header.lines, [](const auto& line) { return !line.empty(); });
}

}  // namespace

std::string Table::text(std::size_t indent) const {
  std::vector<std::size_t> widths(header_.size());
  const auto widen = [&widths](const Row& row) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      for (const std::string& line : row[i].lines) widths[i] = std::max(widths[i], line.size());
    }
  };
  widen(header_);
  for (const Row& row : rows_) widen(row);
  std::string out;
  if (std::ranges::any_of(header_, is_named)) append_row(header_, widths, indent, out);
  for (const Row& row : rows_) append_row(row, widths, indent, out);
  return out;
}

std::string Table::markdown() const {
  const auto line = [](const Row& row) {
    std::string out = "|";
    for (const Cell& cell : row) {
      out += ' ';
      for (std::size_t i = 0; i < cell.lines.size(); ++i) {
        if (i > 0) out += "<br>";
        for (const char c : cell.lines[i]) {
          if (c == '|') out += '\\';
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
