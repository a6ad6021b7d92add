#include "host/advisor.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <system_error>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "catalog/named.hpp"
#include "catalog/search.hpp"
#include "device/model_config.hpp"
#include "diag/nearest.hpp"
#include "diag/render.hpp"
#include "manifest/evidence.hpp"
#include "solver/describe.hpp"

namespace dsakit {
namespace {

constexpr std::string_view kLocal = "local";

std::shared_ptr<const Catalog> open_embedded(const std::string& name) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const NamedCatalog& catalog : named_catalogs()) {
    if (catalog.name != name) continue;
    for (const EmbeddedManifest& manifest : catalog.manifests) {
      files.emplace_back(std::string(manifest.file), std::string(manifest.json));
    }
  }
  return Catalog::from_texts(files, name);
}

std::shared_ptr<const Catalog> open_named(const std::string& name, const AdvisorOptions& options) {
  if (name != kLocal) return open_embedded(name);
  const Environment& environment = options.environment;
  const SearchVariables variables{environment.plugin_path_add, environment.plugin_path,
                                  environment.xdg_data_home};
  const auto dirs = plugin_search_path(options.plugin_dirs, options.plugin_dirs_origin, variables);
  return Catalog::open_plugins(dirs, options.environment.backends_disable, name);
}

bool is_folder(const std::string& name) {
  std::error_code error;
  return name.find('/') != std::string::npos || std::filesystem::is_directory(name, error);
}

Diagnostic no_such_catalog(const std::string& name, const std::vector<std::string>& names) {
  Diagnostic unknown = Diagnostic(Code::E0116).with("catalog", name);
  if (const auto near = nearest_name(name, names)) {
    unknown = std::move(unknown)
                  .with("nearest", *near)
                  .note(fmt::format("the nearest name is `{}`", *near));
  }
  return std::move(unknown).note(
      fmt::format("catalogues are {}, or a folder of manifest JSON files", fmt::join(names, ", ")));
}

// Says of a typed id that the catalogue does not have whether a file with it was found and not
// used.
void explain_missing_id(Diagnostic& diagnostic, const Catalog& catalog) {
  if (diagnostic.code == Code::E0201) {
    const auto field = std::find_if(diagnostic.fields.begin(), diagnostic.fields.end(),
                                    [](const Field& f) { return f.name == "backend"; });
    const auto* id =
        field == diagnostic.fields.end() ? nullptr : std::get_if<std::string>(&field->value);
    for (const CatalogEntry& entry : catalog.entries()) {
      if (!id || entry.status == CatalogEntry::Status::used) continue;
      const bool same = entry.manifest ? entry.manifest->id == *id
                                       : entry.file.ends_with("libdsakit_" + *id + ".so");
      if (!same) continue;
      const std::string why =
          entry.status == CatalogEntry::Status::disabled || entry.diagnostics.empty()
              ? "DSAKIT_BACKENDS_DISABLE names it"
              : headline(entry.diagnostics.back());
      diagnostic.notes.push_back(
          fmt::format("{} is {}: {}", entry.file, entry_status_name(entry.status), why));
    }
  }
  for (Diagnostic& child : diagnostic.children) explain_missing_id(child, catalog);
}

// Says on a refusal which backends took no part because the environment names them.
void tell_disabled(Answer& answer, const Catalog& catalog) {
  std::vector<std::string> ids;
  for (const CatalogEntry& entry : catalog.entries()) {
    if (entry.status == CatalogEntry::Status::disabled) ids.push_back(entry.manifest->id);
  }
  if (ids.empty() || answer.verdict != Answer::Verdict::rejected || answer.diagnostics.empty())
    return;
  if (answer.diagnostics.front().code == Code::E0201) return;  // explain_missing_id has told it
  answer.diagnostics.front().notes.push_back(
      fmt::format("not asked, since DSAKIT_BACKENDS_DISABLE names them: {}", quoted_list(ids)));
}

// W0207 for each chosen backend whose file has device code, but none for the arch of the request.
void tell_missing_code(Answer& answer, const Request& request, const Catalog& catalog) {
  const auto found = request.values.find("arch");
  const auto* arch = found == request.values.end() ? nullptr : std::get_if<Token>(&found->second);
  if (!arch || !answer.ok()) return;
  std::set<std::string> told;
  for (const Phase phase : kPhases) {
    const std::string& id = answer.session.backend[index(phase)];
    const CatalogEntry* const entry = id.empty() ? nullptr : catalog.find(id);
    if (!entry || !entry->plugin) continue;
    const Manifest& manifest = *entry->manifest;
    const auto& targets = manifest.build.targets;
    const bool only_host_code =
        std::ranges::all_of(targets, [](const std::string& target) { return target == "cpu"; });
    if (only_host_code ||
        evidence_level(manifest, answer.session.row[index(phase)], *arch) != "declared" ||
        !told.insert(id).second)
      continue;
    answer.diagnostics.push_back(Diagnostic(Code::W0207)
                                     .with("backend", id)
                                     .with("arch", *arch)
                                     .with("targets", fmt::format("{}", fmt::join(targets, ", "))));
  }
}

// A family that neither a known model nor a row of the catalogue has is likely misspelt, though a
// row that takes any family may still serve it.
void doubt_family(Answer& answer, const Request& request, const Solver& solver) {
  const auto found = request.values.find("model_family");
  const auto* family = found == request.values.end() ? nullptr : std::get_if<Token>(&found->second);
  if (!family || answer.verdict == Answer::Verdict::error) return;
  std::vector<std::string> names = known_families();
  for (std::string& name : solver.named("model_family")) names.push_back(std::move(name));
  if (std::ranges::find(names, *family) != names.end()) return;
  Diagnostic unknown = Diagnostic(Code::W0611).with("family", *family);
  const auto origin = request.origins.find("model_family");
  if (origin != request.origins.end()) unknown = std::move(unknown).from(origin->second);
  if (const auto near = nearest_name(*family, names))
    unknown = std::move(unknown)
                  .with("nearest", *near)
                  .note(fmt::format("the nearest known family is `{}`", *near));
  answer.diagnostics.push_back(std::move(unknown));
}

// The request about one backend in one phase, under the dtype that the answer settled.
Request single_phase(const Request& request, Phase phase, const std::string& id,
                     const std::string& dtype) {
  Request single = request;
  single.prefill = phase == Phase::prefill;
  single.decode = phase == Phase::decode;
  single.mtp = phase == Phase::mtp;
  single.choice = {};
  single.choice[index(phase)] = Typed{id, {}};
  if (!dtype.empty()) single.values["kv_dtype"] = Token(dtype);
  return single;
}

bool all_dimensions_known(const Request& request, const Solver& solver) {
  return std::all_of(request.values.begin(), request.values.end(),
                     [&](const auto& value) { return solver.dimensions().find(value.first) >= 0; });
}

}  // namespace

// The named catalogues beside the chosen one; a folder is compared with none.
struct Advisor::OtherCatalogs {
  std::once_flag opened;
  std::vector<std::shared_ptr<const Catalog>> catalogs;
};

std::vector<std::string> catalog_names() {
  std::vector<std::string> names{std::string(kLocal)};
  for (const NamedCatalog& catalog : named_catalogs()) names.emplace_back(catalog.name);
  std::sort(names.begin(), names.end());
  return names;
}

tl::expected<Advisor, Diagnostic> Advisor::open(AdvisorOptions options) {
  Advisor advisor;
  const std::vector<std::string> names = catalog_names();
  if (std::find(names.begin(), names.end(), options.catalog) != names.end()) {
    advisor.catalog_ = open_named(options.catalog, options);
    advisor.others_ = std::make_shared<OtherCatalogs>();
  } else if (is_folder(options.catalog)) {
    auto folder = Catalog::open_manifests(options.catalog, options.catalog);
    if (!folder) return tl::unexpected(std::move(folder.error()));
    advisor.catalog_ = std::move(*folder);
  } else {
    return tl::unexpected(no_such_catalog(options.catalog, names));
  }
  advisor.options_ = std::move(options);
  return advisor;
}

const std::vector<std::shared_ptr<const Catalog>>& Advisor::others() const {
  static const std::vector<std::shared_ptr<const Catalog>> kNone;
  if (!others_) return kNone;
  std::call_once(others_->opened, [this] {
    for (const std::string& name : catalog_names()) {
      if (name != options_.catalog) others_->catalogs.push_back(open_named(name, options_));
    }
  });
  return others_->catalogs;
}

void Advisor::complete(Answer& answer, const Request& request, const Policy& policy) const {
  for (Diagnostic& diagnostic : answer.diagnostics) explain_missing_id(diagnostic, *catalog_);
  if (catalog_->solver().ids().empty()) {
    const auto& why = catalog_->diagnostics();
    answer.diagnostics.insert(answer.diagnostics.end(), why.begin(), why.end());
  }
  tell_disabled(answer, *catalog_);
  doubt_family(answer, request, catalog_->solver());
  tell_missing_code(answer, request, *catalog_);
  if (answer.verdict != Answer::Verdict::error) compare_with_others(answer, request, policy);
}

// W0206 for each chosen or typed backend that another catalogue has and judges otherwise.
void Advisor::compare_with_others(Answer& answer, const Request& request,
                                  const Policy& policy) const {
  // other catalogue and backend → the phases judged otherwise, and how
  std::map<std::tuple<std::string, std::string, bool>, std::string> differing;
  for (const Phase phase : kPhases) {
    const auto& typed = request.choice[index(phase)];
    const std::string id = answer.ok() ? answer.session.backend[index(phase)]
                           : typed     ? typed->text
                                       : "";
    if (id.empty() || !catalog_->find(id)) continue;
    const Request single = single_phase(request, phase, id, answer.kv_dtype);
    const bool here = catalog_->solver().validate(single, policy).ok();
    for (const auto& other : others()) {
      if (!other->find(id) || !all_dimensions_known(request, other->solver())) continue;
      const bool there = other->solver().validate(single, policy).ok();
      if (here == there) continue;
      std::string& phases = differing[{other->name(), id, there}];
      phases += fmt::format("{}{}", phases.empty() ? "" : ", ", phase_name(phase));
    }
  }
  for (const auto& [key, phases] : differing) {
    const auto& [other, id, there] = key;
    answer.diagnostics.push_back(
        Diagnostic(Code::W0206)
            .with("other", other)
            .with("backend", id)
            .with("phases", phases)
            .with("verdict", fmt::format("there it {} {} of this request",
                                         there ? "serves" : "does not serve", phases)));
  }
}

Answer Advisor::resolve(Request request, const Policy& policy) const {
  if (auto slip = device_contradiction(request)) {
    return error_answer(catalog_->name(), std::move(*slip));
  }
  apply_preferences(request, options_.environment, options_.user);
  Answer answer = catalog_->solver().resolve(request, policy);
  complete(answer, request, policy);
  return answer;
}

Answer Advisor::validate(Request request, const Policy& policy) const {
  if (auto slip = device_contradiction(request)) {
    return error_answer(catalog_->name(), std::move(*slip));
  }
  apply_preferences(request, options_.environment, options_.user);
  Answer answer = catalog_->solver().validate(request, policy);
  complete(answer, request, policy);
  return answer;
}

Explanation Advisor::explain(Request request, const Policy& policy) const {
  Explanation explanation;
  if (auto slip = device_contradiction(request)) {
    explanation.answer = error_answer(catalog_->name(), std::move(*slip));
    return explanation;
  }
  apply_preferences(request, options_.environment, options_.user);
  explanation = catalog_->solver().explain(request, policy);
  complete(explanation.answer, request, policy);
  return explanation;
}

Answer Advisor::resolve_text(std::string_view json, const Policy& policy, int line) const {
  auto request = parse_request(json, catalog_->solver().dimensions(), catalog_->name());
  if (!request) return error_answer(catalog_->name(), std::move(request.error()), line);
  Answer answer = resolve(std::move(*request), policy);
  answer.line = line;
  return answer;
}

Answer Advisor::validate_text(std::string_view json, const Policy& policy, int line) const {
  auto request = parse_request(json, catalog_->solver().dimensions(), catalog_->name());
  if (!request) return error_answer(catalog_->name(), std::move(request.error()), line);
  Answer answer = validate(std::move(*request), policy);
  answer.line = line;
  return answer;
}

std::pair<Answer::Verdict, std::string> Advisor::explain_text(std::string_view json,
                                                              const Policy& policy,
                                                              int line) const {
  auto request = parse_request(json, catalog_->solver().dimensions(), catalog_->name());
  if (!request) {
    return {Answer::Verdict::error,
            to_json(error_answer(catalog_->name(), std::move(request.error()), line))};
  }
  Explanation explanation = explain(std::move(*request), policy);
  explanation.answer.line = line;
  return {explanation.answer.verdict, to_json(explanation)};
}

}  // namespace dsakit
