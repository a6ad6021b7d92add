#include "question.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "device/model_config.hpp"
#include "host/user_config.hpp"
#include "manifest/arch.hpp"

namespace dsakit::cli {
namespace {

using nlohmann::json;

const Origin kNowhere{};

Origin typed(const std::string& option, const std::string& value = "") {
  return {value.empty() ? option : option + " " + value, "command line"};
}

Diagnostic said_twice(const std::string& key, const Origin& first, const Origin& second) {
  return Diagnostic(Code::E0407)
      .with("reason", fmt::format("`{}` is said twice, and one would be dropped", key))
      .from(first)
      .from(second);
}

// Where a candidate's device comes from.
struct Machine {
  std::string device;
  Origin origin;
  std::string runtime_cuda, runtime_hip, driver;
};

// Builds requests from the options; what does not depend on the device is read once.
class Asker {
 public:
  Asker(const Options& options, const Advisor& advisor) : options_(options), advisor_(advisor) {}

  tl::expected<void, Diagnostic> prepare() {
    if (options_.tp && !options_.model_config) {
      return tl::unexpected(
          Diagnostic(Code::E0407)
              .with(
                  "reason",
                  std::string("--tp divides the heads of a model, and there is no --model-config"))
              .from(typed("--tp", std::to_string(*options_.tp))));
    }
    if (options_.model_config) {
      auto model = read_model_config(*options_.model_config, options_.model_family);
      if (!model) return tl::unexpected(std::move(model.error()));
      model_ = std::move(*model);
    } else {
      model_.is_dsa = true;
      model_.family = options_.model_family.value_or("");
    }
    if (auto once = refuse_repeats(); !once) return once;
    return read_request();
  }

  bool names_device() const {
    return options_.device || (options_.request && !options_.model_config) || sets_device();
  }

  // Whether --set or --request say what the device is.
  bool sets_device() const {
    const auto sets_arch = [](const std::string& text) {
      return text.starts_with("arch=") || text.starts_with("platform=");
    };
    return base_.values.contains("arch") || std::ranges::any_of(options_.set, sets_arch);
  }

  tl::expected<Request, Diagnostic> build(const Machine& target) const {
    auto made = make_request(model_, request_options(target));
    if (!made) return made;
    Request request = merge(std::move(*made));
    if (auto done = add_phases(request); !done) return tl::unexpected(std::move(done.error()));
    for (const std::string& assignment : options_.set) {
      if (auto done = assign(assignment, target, request); !done)
        return tl::unexpected(std::move(done.error()));
    }
    apply_preferences(request, advisor_.options().environment, advisor_.options().user);
    return request;
  }

 private:
  tl::expected<Request, Diagnostic> parse(const std::string& text) const {
    const Solver& solver = advisor_.catalog().solver();
    return parse_request(text, solver.dimensions(), solver.catalog());
  }

  tl::expected<void, Diagnostic> read_request() {
    if (!options_.request) return {};
    auto request = parse(*options_.request);
    if (!request) {
      return tl::unexpected(std::move(request.error()).from(typed("--request", *options_.request)));
    }
    base_ = std::move(*request);
    for (const auto& [dim, value] : base_.values) {
      base_.origins[dim] = typed("--request", fmt::format("{{\"{}\":{}}}", dim, value_json(value)));
    }
    return {};
  }

  RequestOptions request_options(const Machine& target) const {
    RequestOptions out;
    out.device = target.device;
    out.runtime_cuda = target.runtime_cuda;
    out.runtime_hip = target.runtime_hip;
    out.driver = target.driver;
    out.kv_dtype = options_.kv_dtype.value_or("auto");
    out.page_size = options_.page_size;
    out.tp = options_.tp.value_or(1);
    out.hisparse = options_.hisparse;
    out.mtp = options_.mtp;
    out.features = options_.features;
    const auto choose = [&out](Phase phase, const char* option,
                               const std::optional<std::string>& id) {
      if (id) out.choice[index(phase)] = Typed{*id, typed(option, *id)};
    };
    choose(Phase::prefill, "--prefill-backend", options_.prefill);
    choose(Phase::decode, "--decode-backend", options_.decode);
    choose(Phase::mtp, "--mtp-backend", options_.mtp_backend);
    out.origins = typed_origins();
    if (!target.device.empty()) out.origins["arch"] = out.origins["platform"] = target.origin;
    return out;
  }

  // By dimension, and by option where it is none.
  std::map<std::string, Origin> typed_origins() const {
    std::map<std::string, Origin> out;
    if (options_.kv_dtype) out["kv_dtype"] = typed("--kv-cache-dtype", *options_.kv_dtype);
    if (options_.page_size)
      out["page_size"] = typed("--page-size", std::to_string(*options_.page_size));
    if (options_.tp) out["tp"] = typed("--tp", std::to_string(*options_.tp));
    if (options_.model_family)
      out["model_family"] = typed("--model-family", *options_.model_family);
    if (!options_.features.empty()) {
      out["features"] =
          typed("--feature", fmt::format("{}", fmt::join(options_.features, " --feature ")));
    }
    if (options_.hisparse) {
      out["hisparse"] = typed("--hisparse");
      out.emplace("features", out["hisparse"]);
    }
    return out;
  }

  // `made` comes from options and model. Over --request win the options; a model fills what it
  // leaves out.
  Request merge(Request made) const {
    if (!options_.request) return made;
    Request out = base_;
    out.subject = made.subject;
    out.model_features = made.model_features;
    const auto flags = typed_origins();
    for (const auto& [dim, value] : made.values) {
      const bool flagged =
          flags.contains(dim) || ((dim == "arch" || dim == "platform") && options_.device);
      if (dim == "features" && out.values.contains(dim)) {
        unite(out.values[dim], value);
      } else if (flagged || (options_.model_config && !out.values.contains(dim))) {
        out.values[dim] = value;
        if (dim == "heads") out.head_split = made.head_split;
      } else {
        continue;
      }
      if (const auto origin = made.origins.find(dim); origin != made.origins.end()) {
        out.origins[dim] = origin->second;
      }
    }
    for (const Phase phase : kPhases) {
      if (made.choice[index(phase)]) out.choice[index(phase)] = made.choice[index(phase)];
    }
    out.mtp = out.mtp || made.mtp;
    return out;
  }

  static void unite(Value& into, const Value& more) {
    auto* set = std::get_if<Set>(&into);
    const auto* added = std::get_if<Set>(&more);
    if (!set || !added) {
      into = more;
      return;
    }
    std::set<std::string> all(set->begin(), set->end());
    all.insert(added->begin(), added->end());
    set->assign(all.begin(), all.end());
  }

  // The option that says the same as --set KEY=…; nowhere if none was typed.
  Origin said_by_option(const std::string& key, const Machine& target) const {
    if (key == "arch" || key == "platform") {
      return options_.device && !target.device.empty() ? target.origin : kNowhere;
    }
    if (key == "heads" && options_.tp) return typed("--tp", std::to_string(*options_.tp));
    if (key == "phases") {
      return options_.phases ? typed("--phases", *options_.phases)
             : options_.mtp  ? typed("--mtp")
                             : kNowhere;
    }
    for (const auto& [name, option, value] :
         {std::tuple{"prefill", "--prefill-backend", &options_.prefill},
          std::tuple{"decode", "--decode-backend", &options_.decode},
          std::tuple{"mtp", "--mtp-backend", &options_.mtp_backend}}) {
      if (key == name) return *value ? typed(option, **value) : kNowhere;
    }
    const auto flags = typed_origins();
    const auto flag = flags.find(key);
    return flag == flags.end() ? kNowhere : flag->second;
  }

  tl::expected<void, Diagnostic> add_phases(Request& request) const {
    if (!options_.phases) return {};
    auto parsed = parse_assignment("phases", *options_.phases);
    if (!parsed) {
      return tl::unexpected(std::move(parsed.error()).from(typed("--phases", *options_.phases)));
    }
    request.prefill = parsed->prefill;
    request.decode = parsed->decode;
    request.mtp = parsed->mtp || options_.mtp;
    return {};
  }

  tl::expected<Request, Diagnostic> parse_assignment(const std::string& key,
                                                     const std::string& value) const {
    json object;
    object[key] = spelled(key, value);
    return parse(object.dump(-1, ' ', false, json::error_handler_t::replace));
  }

  tl::expected<void, Diagnostic> refuse_repeats() const {
    std::map<std::string, std::string> seen;
    for (const std::string& text : options_.set) {
      const auto [first, fresh] = seen.emplace(text.substr(0, text.find('=')), text);
      if (fresh) continue;
      return tl::unexpected(
          said_twice(first->first, typed("--set", first->second), typed("--set", text)));
    }
    return {};
  }

  // --set dim=value, spelled as the dimension's type wants it.
  tl::expected<void, Diagnostic> assign(const std::string& assignment, const Machine& target,
                                        Request& request) const {
    const Origin origin = typed("--set", assignment);
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0) {
      return tl::unexpected(Diagnostic(Code::E0407)
                                .with("reason", "--set takes dim=value, found " + assignment)
                                .from(origin));
    }
    const std::string key = assignment.substr(0, equals);
    if (const Origin other = said_by_option(key, target); !other.text.empty()) {
      return tl::unexpected(said_twice(key, other, origin));
    }
    auto parsed = parse_assignment(key, assignment.substr(equals + 1));
    if (!parsed) return tl::unexpected(std::move(parsed.error()).from(origin));
    for (auto& [dim, value] : parsed->values) {
      request.values[dim] = std::move(value);
      request.origins[dim] = origin;
    }
    if (parsed->kv_layout) request.kv_layout = parsed->kv_layout;
    for (const Phase phase : kPhases) {
      auto& choice = parsed->choice[index(phase)];
      if (choice) request.choice[index(phase)] = Typed{choice->text, origin};
    }
    if (key == "phases") {
      request.prefill = parsed->prefill;
      request.decode = parsed->decode;
      request.mtp = parsed->mtp;
    }
    return {};
  }

  json spelled(const std::string& key, const std::string& text) const {
    if (text == "null") return nullptr;
    const DimensionTable& dims = advisor_.catalog().solver().dimensions();
    const int dim = dims.find(key);
    const DimType type = dim < 0 ? DimType::token : dims.at(dim).type;
    if (type == DimType::integer) {
      const json number = json::parse(text, nullptr, false);
      return number.is_number() ? number : json(text);
    }
    if (type != DimType::set && key != "phases") return text;
    json list = json::array();
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      list.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
    return list;
  }

  const Options& options_;
  const Advisor& advisor_;
  ModelFacts model_;
  Request base_;
};

Machine detected_target(const DetectedDevice& device) {
  return {device.device,
          {fmt::format("{} device {}: {}", device.platform, device.ordinal, device.name),
           "this machine"},
          device.runtime_cuda,
          device.runtime_hip,
          device.driver};
}

std::vector<Machine> detected_targets(const Cli& cli, Question& question) {
  std::vector<Machine> targets;
  std::set<std::string> seen;
  for (const DetectedDevice& device : cli.surroundings().detect().devices) {
    if (!seen.insert(device.device).second) continue;
    if (const auto known = device_or_error(device.device); !known) {
      question.skipped.push_back(device_not_used(device.device, known.error()));
      continue;
    }
    question.found.push_back(fmt::format("{} ({})", device.device, device.name));
    targets.push_back(detected_target(device));
  }
  return targets;
}

}  // namespace

Diagnostic device_not_used(const std::string& device, const Diagnostic& reason) {
  return Diagnostic(Code::W0607).with("device", device).with("reason", headline(reason));
}

Diagnostic planned_for(const std::string& device, const Question& question) {
  return Diagnostic(Code::W0609)
      .with("device", device)
      .note(fmt::format("found on this machine: {}", fmt::join(question.found, ", ")))
      .note("--device NAME plans for another machine; --help lists the names");
}

tl::expected<Request, Diagnostic> make_request_for(const Cli& cli, const Advisor& advisor,
                                                   const std::string& device) {
  Asker asker(cli.options, advisor);
  if (auto ready = asker.prepare(); !ready) return tl::unexpected(std::move(ready.error()));
  if (asker.sets_device() && !cli.options.device) {
    return tl::unexpected(
        Diagnostic(Code::E0407)
            .with("reason", "this command asks about every known device; only --device names one"));
  }
  return asker.build({device, device.empty() ? kNowhere : typed("--device", device), "", "", ""});
}

tl::expected<Question, Diagnostic> make_question(const Cli& cli, const Advisor& advisor) {
  Asker asker(cli.options, advisor);
  if (auto ready = asker.prepare(); !ready) return tl::unexpected(std::move(ready.error()));
  Question question;
  std::vector<Machine> targets;
  if (cli.options.device) {
    targets.push_back({*cli.options.device, typed("--device", *cli.options.device), "", "", ""});
  } else if (asker.names_device()) {
    targets.push_back({});
  } else {
    targets = detected_targets(cli, question);
  }
  for (const Machine& target : targets) {
    auto request = asker.build(target);
    if (!request) return tl::unexpected(std::move(request.error()));
    question.candidates.push_back({target.device, std::move(*request)});
  }
  if (question.candidates.empty()) return tl::unexpected(Diagnostic(Code::E0604));
  return question;
}

}  // namespace dsakit::cli
