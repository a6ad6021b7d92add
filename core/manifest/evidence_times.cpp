// The part of an evidence record that `dsakit bench` writes.
#include <cmath>

#include "manifest/evidence_reader.hpp"

namespace dsakit::detail {
namespace {

using nlohmann::json;
using Ordered = nlohmann::ordered_json;

constexpr int kMostSize = 1 << 30;

std::vector<double> read_samples(EvidenceReader& in, const json& value, const std::string& path) {
  auto out = in.list<double>(value, path, [&](const json& item, const std::string& here) {
    return in.measure(item, here, HUGE_VAL);
  });
  if (out.empty()) in.fail(path, "no sample", "the microseconds of each call");
  return out;
}

std::optional<double> read_other(EvidenceReader& in, const json& shape, const char* flush,
                                 const std::string& path) {
  if (!shape.contains("baseline") || !shape["baseline"].contains(flush)) return std::nullopt;
  return in.measure(shape["baseline"][flush], path + ".baseline." + flush, HUGE_VAL);
}

TimedShape read_shape(EvidenceReader& in, const json& value, const std::string& path) {
  TimedShape out;
  if (!in.keys(
          value, path,
          {"row", "phase", "heads", "topk", "tokens", "s_q", "pool", "page_size", "clean", "dirty"},
          {"suite", "case", "own_pools", "features", "baseline"}))
    return out;
  const auto size = [&](const char* key) {
    return in.number(value[key], path + "." + key, 1, kMostSize);
  };
  out.row = in.word(value["row"], path + ".row");
  out.phase = in.word(value["phase"], path + ".phase");
  out.heads = size("heads");
  out.topk = size("topk");
  out.tokens = size("tokens");
  out.s_q = size("s_q");
  out.pool = size("pool");
  out.page_size = size("page_size");
  if (value.contains("suite")) out.suite = in.word(value["suite"], path + ".suite");
  if (value.contains("case")) out.label = in.text(value["case"], path + ".case");
  if (value.contains("own_pools")) out.own_pools = in.flag(value["own_pools"], path + ".own_pools");
  if (value.contains("features"))
    out.features = in.list<std::string>(
        value["features"], path + ".features",
        [&](const json& name, const std::string& here) { return in.word(name, here); });
  out.clean = read_samples(in, value["clean"], path + ".clean");
  out.dirty = read_samples(in, value["dirty"], path + ".dirty");
  if (value.contains("baseline") &&
      in.keys(value["baseline"], path + ".baseline", {}, {"clean", "dirty"})) {
    out.baseline_clean = read_other(in, value, "clean", path);
    out.baseline_dirty = read_other(in, value, "dirty", path);
  }
  return out;
}

MeasuredTimes::Ceiling read_ceiling(EvidenceReader& in, const json& value,
                                    const std::string& path) {
  MeasuredTimes::Ceiling out;
  if (!in.keys(value, path, {"name", "unit"}, {"here", "baseline"})) return out;
  out.name = in.text(value["name"], path + ".name");
  out.unit = in.text(value["unit"], path + ".unit");
  if (value.contains("here")) out.here = in.measure(value["here"], path + ".here", HUGE_VAL);
  if (value.contains("baseline"))
    out.baseline = in.measure(value["baseline"], path + ".baseline", HUGE_VAL);
  return out;
}

// Hundredths of a microsecond are finer than the clock of the records.
double hundredths(double value) {
  return std::round(value * 100.0) / 100.0;
}

Ordered samples_json(const std::vector<double>& samples) {
  Ordered out = Ordered::array();
  for (const double sample : samples) out.push_back(hundredths(sample));
  return out;
}

Ordered shape_json(const TimedShape& shape) {
  Ordered out{{"row", shape.row},   {"phase", shape.phase},        {"heads", shape.heads},
              {"topk", shape.topk}, {"tokens", shape.tokens},      {"s_q", shape.s_q},
              {"pool", shape.pool}, {"page_size", shape.page_size}};
  if (!shape.suite.empty()) out["suite"] = shape.suite;
  if (!shape.label.empty()) out["case"] = shape.label;
  if (shape.own_pools) out["own_pools"] = true;
  if (!shape.features.empty()) out["features"] = shape.features;
  if (shape.baseline_clean) out["baseline"]["clean"] = *shape.baseline_clean;
  if (shape.baseline_dirty) out["baseline"]["dirty"] = *shape.baseline_dirty;
  out["clean"] = samples_json(shape.clean);
  out["dirty"] = samples_json(shape.dirty);
  return out;
}

Ordered ceiling_json(const MeasuredTimes::Ceiling& ceiling) {
  Ordered out{{"name", ceiling.name}, {"unit", ceiling.unit}};
  if (ceiling.here > 0) out["here"] = hundredths(ceiling.here);
  if (ceiling.baseline > 0) out["baseline"] = ceiling.baseline;
  return out;
}

}  // namespace

MeasuredTimes read_times(EvidenceReader& in, const json& value, const std::string& path) {
  MeasuredTimes out;
  if (!in.keys(value, path, {"date", "seed", "ceilings", "empty_kernel", "shapes"},
               {"baseline", "clock"}))
    return out;
  out.date = in.text(value["date"], path + ".date");
  in.check_date(out.date, path + ".date");
  out.seed = in.number(value["seed"], path + ".seed", 0, kMostSize);
  out.empty_kernel = in.measure(value["empty_kernel"], path + ".empty_kernel", HUGE_VAL);
  if (value.contains("baseline")) out.baseline = in.text(value["baseline"], path + ".baseline");
  if (value.contains("clock"))
    out.clock = in.list<int>(value["clock"], path + ".clock",
                             [&](const json& item, const std::string& here) {
                               return in.number(item, here, 1, kMostSize);
                             });
  out.ceilings = in.list<MeasuredTimes::Ceiling>(
      value["ceilings"], path + ".ceilings",
      [&](const json& item, const std::string& here) { return read_ceiling(in, item, here); });
  out.shapes = in.list<TimedShape>(
      value["shapes"], path + ".shapes",
      [&](const json& item, const std::string& here) { return read_shape(in, item, here); });
  return out;
}

std::string times_json(const MeasuredTimes& times) {
  Ordered head{{"date", times.date}, {"seed", times.seed}};
  if (!times.baseline.empty()) head["baseline"] = times.baseline;
  if (!times.clock.empty()) head["clock"] = times.clock;
  head["empty_kernel"] = hundredths(times.empty_kernel);
  Ordered ceilings = Ordered::array();
  for (const MeasuredTimes::Ceiling& each : times.ceilings) ceilings.push_back(ceiling_json(each));
  head["ceilings"] = std::move(ceilings);
  std::string text = head.dump();
  text.pop_back();
  text += ",\"shapes\":[";
  for (std::size_t i = 0; i < times.shapes.size(); ++i)
    text += (i == 0 ? "\n  " : ",\n  ") + shape_json(times.shapes[i]).dump();
  return text + "]}";
}

}  // namespace dsakit::detail
