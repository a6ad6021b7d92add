// Text in columns, for a terminal or as Markdown. A cell may have several lines. Value type; pure.
#pragma once

#include <string>
#include <vector>

namespace dsakit::cli {

class Table {
 public:
  using Row = std::vector<std::string>;

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
