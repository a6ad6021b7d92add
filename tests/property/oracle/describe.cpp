// A result as JSON, for the report of a mismatch.
#include "property/oracle/oracle.hpp"

namespace dsakit::oracle {
namespace {

Json describe(const Session& session) {
  Json json{{"session", session.backend}, {"rows", session.row}};
  if (!session.kv_dtype.empty()) json["kv_dtype"] = session.kv_dtype;
  return json;
}

const char* verdict_name(Verdict verdict) {
  if (verdict == Verdict::ok) return "ok";
  return verdict == Verdict::rejected ? "rejected" : "error";
}

}  // namespace

Json describe(const Result& result) {
  Json json{{"verdict", verdict_name(result.verdict)}};
  if (result.verdict == Verdict::error) {
    json["error"] = result.error;
    return json;
  }
  if (result.verdict == Verdict::ok) {
    json.update(describe(result.session));
    json["provides"] = result.provides;
  }
  json["unknown_id"] = result.unknown_id;
  for (const auto& o : result.obligations) {
    json["obligations"].push_back({o.dim, Json::parse(o.predicate), o.phase});
  }
  for (const auto& session : result.allowed) json["allowed"].push_back(describe(session));
  for (const auto& session : result.by_name) json["by_name"].push_back(describe(session));
  for (const auto& f : result.failed) {
    json["failed"].push_back({f.backend, f.row, f.phase, f.dim, f.kind});
  }
  for (const auto& j : result.judgements) {
    json["judgements"].push_back({j.backend, j.row, j.phase, j.state});
  }
  return json;
}

}  // namespace dsakit::oracle
