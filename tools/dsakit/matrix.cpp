// dsakit matrix: which backend serves which device, in which phases, with which KV dtypes, and how
// well that is proven. Each cell is asked from the solver.
#include <algorithm>
#include <map>
#include <ostream>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "host/status.hpp"
#include "manifest/arch.hpp"
#include "print.hpp"
#include "question.hpp"
#include "report.hpp"
#include "table.hpp"
#include "vocabulary.hpp"

namespace dsakit::cli {
namespace {

using Json = nlohmann::ordered_json;

// What one backend does on one device under one dtype.
struct Served {
  std::array<bool, 3> phases{};
  std::array<bool, 3> by_name_only{};
  std::set<std::string> levels;
};
using Cells = std::map<std::string,
                       std::map<std::string, std::map<std::string, Served>>>;  // device, id, dtype

// Everything that the user did not say is unknown: the matrix shows what some request can use.
Request open_request(Request request, const DimensionTable& dims) {
  for (const std::string& name : dims.names()) {
    if (name != "phase" && !request.origins.contains(name)) request.values.emplace(name, Unknown{});
  }
  request.prefill = request.decode = request.mtp = true;
  request.choice = {};
  return request;
}

void judge(const Advisor& advisor, const Policy& policy, const Request& request,
           const std::string& device, const std::string& dtype, Cells& cells) {
  const Explanation explanation = advisor.catalog().solver().explain(request, policy);
  for (const RowVerdict& row : explanation.evaluation) {
    if (row.state == RowVerdict::State::reject) continue;
    Served& cell = cells[device][row.backend][dtype];
    const std::size_t phase = index(row.phase);
    cell.by_name_only[phase] = row.rank == 0 && (!cell.phases[phase] || cell.by_name_only[phase]);
    cell.phases[phase] = true;
    if (!row.evidence.empty()) cell.levels.insert(row.evidence);
  }
}

tl::expected<Cells, Diagnostic> fill(const Cli& cli, const Advisor& advisor, const Policy& policy,
                                     const std::vector<std::string>& devices) {
  Cells cells;
  const DimensionTable& dims = advisor.catalog().solver().dimensions();
  std::vector<std::string> dtypes = declared_values(advisor.catalog(), "kv_dtype");
  if (cli.options.kv_dtype) dtypes = {std::string(resolve_alias(*cli.options.kv_dtype))};
  for (const std::string& device : devices) {
    const auto request = make_request_for(cli, advisor, device);
    if (!request) return tl::unexpected(request.error());
    Request open = open_request(*request, dims);
    for (const std::string& dtype : dtypes) {
      open.values["kv_dtype"] = Token(dtype);
      judge(advisor, policy, open, device, dtype, cells);
    }
  }
  return cells;
}

// "bf16 PD", "fp8_e4m3 pDM": a small letter is a phase that must be asked for by name.
std::vector<std::string> cell_lines(const std::map<std::string, Served>& by_dtype,
                                    bool with_levels) {
  static constexpr char kLetters[] = {'P', 'D', 'M'};
  std::vector<std::string> out;
  for (const auto& [dtype, cell] : by_dtype) {
    std::string letters;
    for (std::size_t phase = 0; phase < cell.phases.size(); ++phase) {
      if (!cell.phases[phase]) continue;
      letters += cell.by_name_only[phase] ? static_cast<char>(kLetters[phase] - 'A' + 'a')
                                          : kLetters[phase];
    }
    out.push_back(fmt::format("{} {}", dtype, letters));
    if (with_levels) out.back() += fmt::format(" {}", fmt::join(cell.levels, "/"));
  }
  if (out.empty()) out.emplace_back("-");
  return out;
}

std::set<std::string> all_levels(const Cells& cells) {
  std::set<std::string> levels;
  for (const auto& [device, by_id] : cells) {
    for (const auto& [id, by_dtype] : by_id) {
      for (const auto& [dtype, cell] : by_dtype)
        levels.insert(cell.levels.begin(), cell.levels.end());
    }
  }
  return levels;
}

// Backends that serve any of the devices.
std::vector<std::string> serving_ids(const Catalog& catalog, const Cells& cells) {
  std::vector<std::string> out;
  for (const std::string& id : catalog.solver().ids()) {
    const bool serves = std::any_of(cells.begin(), cells.end(),
                                    [&](const auto& device) { return device.second.contains(id); });
    if (serves) out.push_back(id);
  }
  return out;
}

Table make_table(const std::vector<std::string>& ids, Cells& cells, bool with_levels,
                 const std::vector<std::string>& devices) {
  Table::Row header{"device"};
  for (const std::string& id : ids) header.emplace_back(id);
  Table table(header);
  for (const std::string& device : devices) {
    if (!cells.contains(device)) continue;
    Table::Row row{device};
    for (const std::string& id : ids) row.emplace_back(cell_lines(cells[device][id], with_levels));
    table.add(std::move(row));
  }
  return table;
}

void print_text(const Cli& cli, const Catalog& catalog, const std::vector<std::string>& devices,
                Cells cells) {
  const bool markdown = cli.options.format == "markdown";
  const std::set<std::string> levels = all_levels(cells);
  const std::vector<std::string> ids = serving_ids(catalog, cells);
  std::vector<std::string> unserved = devices;
  std::erase_if(unserved, [&](const std::string& device) { return cells.contains(device); });
  std::vector<std::string> idle = catalog.solver().ids();
  std::erase_if(idle, [&](const std::string& id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  });
  const Table table = make_table(ids, cells, levels.size() > 1, devices);

  std::vector<std::string> lines;
  if (!table.empty()) {
    lines.emplace_back(
        "P prefill, D decode, M mtp; a small letter: only when the backend is named");
  }
  if (levels.size() == 1) lines.push_back("evidence of every row: " + *levels.begin());
  if (!unserved.empty())
    lines.push_back(fmt::format("served by none: {}", fmt::join(unserved, ", ")));
  if (!idle.empty()) lines.push_back(fmt::format("serve none of these: {}", fmt::join(idle, ", ")));
  std::ostream& out = cli.out();
  print_line(out, markdown ? fmt::format("Catalogue `{}`", catalog.name())
                           : fmt::format("catalog   {}", catalog.name()));
  out << '\n';
  if (!table.empty()) out << (markdown ? table.markdown() : table.text()) << '\n';
  for (const std::string& line : lines) print_line(out, line + (markdown ? "  " : ""));
}

Json cells_json(const Cells& cells) {
  Json out = Json::array();
  for (const auto& [device, by_id] : cells) {
    for (const auto& [id, by_dtype] : by_id) {
      for (const auto& [dtype, cell] : by_dtype) {
        Json phases = Json::array();
        Json by_name = Json::array();
        for (const Phase phase : kPhases) {
          if (cell.phases[index(phase)]) phases.push_back(phase_name(phase));
          if (cell.by_name_only[index(phase)]) by_name.push_back(phase_name(phase));
        }
        out.push_back({{"device", device},
                       {"backend", id},
                       {"kv_dtype", dtype},
                       {"phases", std::move(phases)},
                       {"by_name_only", std::move(by_name)},
                       {"evidence", cell.levels}});
      }
    }
  }
  return out;
}

int matrix(Cli& cli) {
  const auto advisor = cli.open_advisor();
  if (!advisor) return cli.fail(advisor.error());
  const auto policy = cli.open_policy(*advisor);
  if (!policy) return cli.fail(policy.error());
  std::vector<std::string> devices;
  if (cli.options.device) {
    devices.push_back(*cli.options.device);
  } else {
    for (const KnownDevice& device : known_devices()) devices.emplace_back(device.name);
  }
  const auto cells = fill(cli, *advisor, *policy, devices);
  if (!cells) return cli.fail(cells.error());
  const Catalog& catalog = advisor->catalog();
  if (cli.options.json()) {
    cli.out() << dump({{"catalog", catalog.name()},
                       {"devices", devices},
                       {"cells", cells_json(*cells)}})
              << '\n';
  } else {
    print_text(cli, catalog, devices, *cells);
    for (const Diagnostic& diagnostic : catalog.diagnostics()) cli.warn(diagnostic);
  }
  return static_cast<int>(cells->empty() ? Status::no : Status::yes);
}

}  // namespace

const Command& matrix_command() {
  static constexpr Command kCommand{
      .name = "matrix",
      .about = "which backend serves which device, in which phases, with which KV dtypes",
      .options = kQuestionOptions | kCatalogOptions | kMarkdownOption,
      .body = matrix,
      .help =
          "What you leave out is open: a cell says that some request can use the backend there.\n"
          "Without --device all known devices are shown.\n"
          "\n"
          "Example:\n"
          "  dsakit matrix --catalog sglang --model-family glm_moe_dsa --hisparse\n",
      .exit_codes = "0 some cell is served, 1 none, 2 usage, 3 the catalogue cannot be read."};
  return kCommand;
}

}  // namespace dsakit::cli
