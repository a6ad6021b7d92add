#include "print.hpp"

#include <algorithm>
#include <map>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "diag/printable.hpp"
#include "manifest/evidence.hpp"
#include "manifest/schema.hpp"
#include "table.hpp"
#include "why.hpp"

namespace dsakit::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kLineWidth = 100;
constexpr std::size_t kSessionsShown = 8;

std::string bold(const std::string& text, TextStyle style, const char* ansi) {
  return style.color ? fmt::format("\x1b[{}m{}\x1b[0m", ansi, text) : text;
}

std::string device_of(const Request& request) {
  const auto arch = request.values.find("arch");
  if (arch == request.values.end()) return "";
  const auto* token = std::get_if<Token>(&arch->second);
  return token ? *token : "";
}

// Known values of the request, broken into lines; neutral values are left out.
std::string request_text(const Request& request, const DimensionTable& dims) {
  std::vector<std::string> parts;
  if (!request.subject.empty()) parts.push_back(request.subject);
  for (const auto& [dim, value] : request.values) {
    const int i = dims.find(dim);
    if (std::holds_alternative<Unknown>(value)) continue;
    if (i >= 0 && dims.at(i).neutral && *dims.at(i).neutral == value) continue;
    parts.push_back(fmt::format("{} = {}", dim, value_text(value)));
  }
  if (request.kv_layout) parts.push_back(fmt::format("kv_layout = {}", *request.kv_layout));
  if (parts.empty()) parts.emplace_back("nothing is known");
  std::string out;
  std::size_t width = 0;
  for (const std::string& raw : parts) {
    const std::string part = printable(raw);
    if (width > 0 && width + part.size() + 3 > kLineWidth) {
      out += "\n          ";
      width = 0;
    } else if (width > 0) {
      out += "   ";
      width += 3;
    }
    out += part;
    width += part.size();
  }
  return out;
}

std::string typed_text(const Request& request) {
  std::string out;
  for (const Phase phase : kPhases) {
    const auto& typed = request.choice[index(phase)];
    if (!typed) continue;
    if (!out.empty()) out += "   ";
    out += fmt::format("{} = {} ({})", phase_name(phase), typed->text, typed->origin.source);
  }
  return out;
}

std::string phases_text(const std::vector<Phase>& phases) {
  std::string out;
  for (const Phase phase : phases) {
    if (!out.empty()) out += ", ";
    out += phase_name(phase);
  }
  return out;
}

void print_session(std::ostream& out, const Answer& answer, const Request& request,
                   const Catalog& catalog) {
  const DimensionTable& dims = catalog.solver().dimensions();
  Table table({"", "", "", ""});
  for (const Phase phase : kPhases) {
    const std::string& id = answer.session.backend[index(phase)];
    if (id.empty()) continue;
    const std::string& row = answer.session.row[index(phase)];
    const CatalogEntry* entry = catalog.find(id);
    table.add({std::string(phase_name(phase)), id, "row " + row,
               entry ? evidence_level(*entry->manifest, row, device_of(request)) : ""});
  }
  out << table.text(10);
  Table facts({"", ""});
  if (!answer.kv_dtype.empty()) facts.add({"kv_dtype", answer.kv_dtype});
  for (const auto& [dim, value] : answer.provides) {
    const std::string name = wanted_text(value);
    const std::string layout = dim == "kv_layout" ? kv_layout_text(name) : "";
    facts.add({dim, layout.empty() ? name : fmt::format("{}: {}", name, layout)});
  }
  for (const Obligation& o : answer.obligations) {
    facts.add(
        {"needs", fmt::format("{} is {} ({})", o.dim, condition_text(dims, o.dim, o.predicate),
                              phases_text(o.phases))});
  }
  out << facts.text(10);
}

// Suggestions that no diagnostic has printed as help already.
void print_suggestions(std::ostream& out, const Answer& answer) {
  for (const Suggestion& suggestion : answer.suggestions) {
    const bool said =
        std::any_of(answer.diagnostics.begin(), answer.diagnostics.end(), [&](const auto& d) {
          return std::find(d.helps.begin(), d.helps.end(), suggestion.text) != d.helps.end();
        });
    if (!said) print_line(out, fmt::format("   = help: {}", suggestion.text));
  }
}

std::string failure_text(const DimensionTable& dims, const FailedCondition& failed) {
  const std::string wanted = fmt::format("{} {}", failed.dim, wanted_text(failed.wanted));
  const std::string offered = condition_text(dims, failed.dim, failed.offered);
  switch (failed.kind) {
    case FailKind::mismatch:
      return fmt::format("{}, it takes {}", wanted, offered);
    case FailKind::undeclared:
      return fmt::format("{}, it does not declare that", wanted);
    case FailKind::provides:
      return fmt::format("{}, it has {}", wanted, offered);
    case FailKind::op:
      return fmt::format("{}, which needs a newer dsakit", failed.dim);
    case FailKind::conflict:
      return fmt::format("{}, which no other phase shares", failed.dim);
  }
  return "";
}

std::string obligations_text(const DimensionTable& dims, const RowVerdict& row) {
  std::string out;
  for (const auto& [dim, predicate] : row.obligations) {
    if (!out.empty()) out += "; ";
    out += fmt::format("{} is {}", dim, condition_text(dims, dim, predicate));
  }
  return out;
}

// Whether `a` says more about a backend than `b`: accepting first, then by rank or by fewer
// failures.
bool nearer(const RowVerdict& a, const RowVerdict& b) {
  const bool a_rejects = a.state == RowVerdict::State::reject;
  const bool b_rejects = b.state == RowVerdict::State::reject;
  if (a_rejects != b_rejects) return b_rejects;
  if (a_rejects) return a.failed.size() < b.failed.size();
  return a.rank > b.rank;
}

std::vector<std::string> verdict_lines(const DimensionTable& dims, const RowVerdict& row) {
  if (row.denied) return {"denied by policy"};
  if (row.state == RowVerdict::State::reject) {
    std::vector<std::string> out{fmt::format("no, row {}", row.row)};
    for (const FailedCondition& failed : row.failed)
      out.push_back("  " + failure_text(dims, failed));
    return out;
  }
  const std::string yes = row.rank == 0 ? "by name only" : fmt::format("yes, rank {}", row.rank);
  std::vector<std::string> out{fmt::format("{}, row {}", yes, row.row)};
  if (row.state == RowVerdict::State::accept_if) {
    out.push_back(fmt::format("  needs {}", obligations_text(dims, row)));
  }
  return out;
}

void print_sessions(std::ostream& out, const Explanation& explanation) {
  const auto& allowed = explanation.allowed;
  const std::size_t count = explanation.allowed_count;
  out << fmt::format("\nallowed   {}{} session{}{}\n",
                     explanation.allowed_complete ? "" : "at least ", count, count == 1 ? "" : "s",
                     count > 1 ? ", the preferred one first" : "");
  Table table({"", "", "", ""});
  for (std::size_t i = 0; i < std::min(allowed.size(), kSessionsShown); ++i) {
    Table::Row row;
    for (const Phase phase : kPhases) {
      const std::string& id = allowed[i].backend[index(phase)];
      row.push_back(id.empty() ? "" : fmt::format("{} {}", phase_name(phase), id));
    }
    row.push_back(allowed[i].kv_dtype);
    table.add(std::move(row));
  }
  out << table.text(10);
  if (count > kSessionsShown) {
    out << fmt::format(
        "          and {} more; --format json lists {}\n", count - kSessionsShown,
        count > allowed.size() ? fmt::format("the first {}", allowed.size()) : "them");
  }
}

// The row of each phase that says most about a backend; null where the phase was not asked for.
std::array<const RowVerdict*, 3> nearest_rows(const Explanation& explanation,
                                              const std::string& id) {
  std::array<const RowVerdict*, 3> best{};
  for (const RowVerdict& row : explanation.evaluation) {
    auto& slot = best[index(row.phase)];
    if (row.backend == id && (!slot || nearer(row, *slot))) slot = &row;
  }
  return best;
}

// Under which KV dtype the rows were judged, where the request leaves that to the policy.
std::string judged_text(const Answer& answer, const Request& request) {
  const auto dtype = request.values.find("kv_dtype");
  if (dtype == request.values.end() || dtype->second != Value(Token("auto"))) return "";
  if (!answer.ok()) return ", judged with every kv_dtype that auto tries";
  return fmt::format(", judged with kv_dtype {} (chosen)", answer.kv_dtype);
}

// Phases about which the same is to be said share a line.
void print_backends(std::ostream& out, const Explanation& explanation, const Request& request,
                    const Catalog& catalog) {
  const DimensionTable& dims = catalog.solver().dimensions();
  struct Line {
    std::string name, phases, level;
    std::vector<std::string> verdict;
  };
  std::vector<Line> lines;
  for (const std::string& id : catalog.solver().ids()) {
    std::string name = id;
    for (const RowVerdict* row : nearest_rows(explanation, id)) {
      if (!row) continue;
      const std::string phase(phase_name(row->phase));
      const auto verdict = verdict_lines(dims, *row);
      if (name.empty() && lines.back().level == row->evidence && lines.back().verdict == verdict) {
        lines.back().phases += " " + phase;
        continue;
      }
      lines.push_back({name, phase, row->evidence, verdict});
      name.clear();
    }
  }
  if (lines.empty()) return;
  Table table({"", "", "", ""});
  for (const Line& line : lines) table.add({line.name, line.phases, line.level, line.verdict});
  out << '\n';
  print_line(out, "backends  each with the row that comes nearest" +
                      judged_text(explanation.answer, request));
  out << table.text(10);
}

}  // namespace

void print_line(std::ostream& out, std::string_view text) {
  out << printable(text) << '\n';
}

std::string condition_text(const DimensionTable& dims, const std::string& dim,
                           const std::string& text) {
  const json value = json::parse(text, nullptr, false);
  if (value.is_discarded()) return text;
  if (value.is_null()) return "nothing";
  if (value.is_string() && value != "*") return value.get<std::string>();
  const int i = dims.find(dim);
  const auto type = i < 0 ? std::nullopt : std::optional(dims.at(i).type);
  const auto predicate = parse_predicate(value, type, "", "");
  return predicate ? predicate_text(*predicate) : text;
}

std::string wanted_text(const std::string& text) {
  const json value = json::parse(text, nullptr, false);
  if (value.is_null()) return "unknown";
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return text;
  std::string out;
  for (const json& item : value) {
    if (!out.empty()) out += ", ";
    out += item.is_string() ? item.get<std::string>() : item.dump();
  }
  return "{" + out + "}";
}

void print_answer(std::ostream& out, const Answer& answer, const Request& request,
                  const Catalog& catalog, TextStyle style) {
  print_line(out, fmt::format("catalog   {}", answer.catalog));
  out << fmt::format("request   {}\n", request_text(request, catalog.solver().dimensions()));
  if (const std::string typed = typed_text(request); !typed.empty())
    print_line(out, fmt::format("typed     {}", typed));
  if (answer.ok()) {
    out << fmt::format("answer    {}\n", bold("yes", style, "1;32"));
    print_session(out, answer, request, catalog);
  } else {
    out << fmt::format("answer    {}\n", bold("no", style, "1;31"));
  }
  if (!answer.diagnostics.empty()) out << '\n';
  for (const Diagnostic& diagnostic : answer.diagnostics) out << render_text(diagnostic, style);
  print_suggestions(out, answer);
}

void print_explanation(std::ostream& out, const Explanation& explanation, const Request& request,
                       const Catalog& catalog, TextStyle style) {
  print_answer(out, explanation.answer, request, catalog, style);
  if (explanation.answer.verdict == Answer::Verdict::error) return;
  if (const std::string why = why_chosen(explanation, request); !why.empty()) {
    out << '\n';
    print_line(out, fmt::format("why       {}", why));
  }
  print_sessions(out, explanation);
  print_backends(out, explanation, request, catalog);
}

}  // namespace dsakit::cli
