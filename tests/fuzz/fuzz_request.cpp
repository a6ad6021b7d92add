// A line of a request file: any bytes give an error answer or a verdict, never a crash; the answer
// is JSON, comes again for the same bytes, and validates exactly if it resolves.
#include <nlohmann/json.hpp>

#include "catalog/catalog.hpp"
#include "catalog/named.hpp"
#include "fuzz/fuzz.hpp"

namespace {

using dsakit::Answer;
using dsakit::Solver;
using dsakit::fuzz::require;

const Solver& solver() {
  static const auto catalog = [] {
    std::vector<std::pair<std::string, std::string>> files;
    for (const auto& named : dsakit::named_catalogs()) {
      for (const auto& manifest : named.manifests) files.emplace_back(manifest.file, manifest.json);
    }
    return dsakit::Catalog::from_texts(files, "fuzz");
  }();
  return catalog->solver();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto request =
      dsakit::parse_request(dsakit::fuzz::text(data, size), solver().dimensions(), "fuzz");
  if (!request) {
    const Answer answer = dsakit::error_answer("fuzz", request.error(), 1);
    require(nlohmann::json::accept(to_json(answer)), "an error answer is JSON");
    return 0;
  }
  const Answer answer = solver().resolve(*request);
  const std::string json = to_json(answer);
  require(nlohmann::json::accept(json), "an answer is JSON");
  require(to_json(solver().resolve(*request)) == json, "the same request has the same answer");
  require(solver().validate(*request).ok() == answer.ok(), "validate agrees with resolve");
  if (answer.verdict == Answer::Verdict::rejected) {
    require(!answer.diagnostics.empty(), "a rejection has a reason");
  }
  return 0;
}
