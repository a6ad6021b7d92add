// A model's config.json → the facts about its attention that a request needs (product.md, "What a
// request is"). One family table as data; nothing here knows a backend.
//
// Invariants: a value that the file does not state and that cannot be derived stays absent; 0 is a
// value (qk_rope_head_dim of GLM-5.3-Flash). Pure but for reading the named file; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "diag/diagnostic.hpp"
#include "solver/request.hpp"

namespace dsakit {

struct ModelFacts {
  std::string file;
  std::string architecture;  // first of `architectures`
  bool is_dsa = false;
  std::string why;     // "index_topk = 2048 in text_config", "no index_topk"
  std::string family;  // model_family token; empty if not DSA, or if is_dsa is only assumed
  std::optional<int> heads, d_qk, d_v, rope, index_topk, index_row_width;
  int index_kpool = 1;
  bool sinks = false;
  std::optional<int> layers, indexer_layers, nextn_layers;  // reported, never requested
  std::string sharing;                                      // how layers share an index, for people
};

// E0501 unreadable, E0502 malformed (JSON path), E0503 unknown architecture unless `family` names
// one (E0505 if that is unknown too).
tl::expected<ModelFacts, Diagnostic> read_model_config(
    const std::string& file, const std::optional<std::string>& family = {});
tl::expected<ModelFacts, Diagnostic> parse_model_config(
    std::string_view json, const std::string& file, const std::optional<std::string>& family = {});

// What the user adds to the model (CLI flags or API).
struct RequestOptions {
  std::string device;  // known device name; empty: unknown
  std::string kv_dtype = "auto";
  std::optional<int> page_size;
  int tp = 1;
  bool hisparse = false, mtp = false;
  std::vector<std::string> features;
  std::vector<std::pair<std::string, Value>> extra;  // --set dim=value
  std::array<std::optional<Typed>, 3> choice;
  std::map<std::string, Origin> origins;          // by dimension
  std::string runtime_cuda, runtime_hip, driver;  // known versions of the device, empty = unknown
};

// E0303 HiSparse with a model that is not DSA (refused before anything else), E0308 not DSA, E0403
// unknown device, E0504 --tp does not divide.
tl::expected<Request, Diagnostic> make_request(const ModelFacts& model,
                                               const RequestOptions& options);

// Known architectures and families, for help texts and nearest names.
std::vector<std::string> known_architectures();
std::vector<std::string> known_families();

}  // namespace dsakit
