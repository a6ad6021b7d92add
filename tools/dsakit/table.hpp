// Text in columns, for a terminal or as Markdown. Cells may hold text of unknown origin: each line
// of a cell is made printable here. Value types; pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "diag/printable.hpp"

namespace dsakit::cli {

// What one cell shows: one line, or several that the caller has separated.
struct Cell {
  std::vector<std::string> lines;

  Cell(std::string_view text) : lines{printable(text)} {}          // NOLINT(*-explicit-*)
  Cell(const std::string& text) : Cell(std::string_view(text)) {}  // NOLINT(*-explicit-*)
  Cell(const char* text) : Cell(std::string_view(text)) {}         // NOLINT(*-explicit-*)
  Cell(const std::vector<std::string>& texts) {                    // NOLINT(*-explicit-*)
    for (const std::string& text : texts) lines.push_back(printable(text));
  }
  bool operator==(const Cell&) const = default;
};

class Table {
 public:
  using Row = std::vector<Cell>;

  explicit Table(Row header) : header_(std::move(header)) {}
  void add(Row row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }

  // Columns padded to their widest line, two spaces apart, `indent` spaces in front; no trailing
  // spaces. A header of empty names is left out.
  std::string text(std::size_t indent = 0) const;
  std::string markdown() const;

 private:
  Row header_;
  std::vector<Row> rows_;
};

}  // namespace dsakit::cli
