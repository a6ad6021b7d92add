#include "device/model_config.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "device/config_reader.hpp"
#include "device/family.hpp"
#include "device/indexer_layers.hpp"
#include "diag/nearest.hpp"
#include "manifest/json.hpp"

namespace dsakit {
namespace {

// Published files reach a few hundred KB through per-module quantisation lists.
constexpr std::size_t kMaxBytes = 8 * 1024 * 1024;
constexpr JsonLimits kConfigJson{.max_bytes = kMaxBytes,
                                 .max_depth = 64,
                                 .max_string = 64 * 1024,
                                 .max_items = 1 << 20,
                                 .integers_only = false};

constexpr ConfigReader::Range kHeads{1, 1 << 16};
constexpr ConfigReader::Range kLayers{1, 4096};
constexpr ConfigReader::Range kDims{1, 1 << 16};
constexpr ConfigReader::Range kRope{0, 1 << 16};
constexpr ConfigReader::Range kTopk{1, 1 << 24};
constexpr ConfigReader::Range kKpool{1, 4096};
constexpr ConfigReader::Range kNextn{0, 4096};

template <typename T>
std::vector<std::string> names_of(std::span<const T> table) {
  std::vector<std::string> out;
  for (const T& entry : table) out.emplace_back(entry.name);
  return out;
}

Diagnostic unreadable(const std::string& file, std::string reason) {
  return Diagnostic(Code::E0501).with("file", file).with("reason", std::move(reason));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

tl::expected<std::string, Diagnostic> read_file(const std::string& file) {
  // O_NONBLOCK: a named pipe must not hang the caller; it is refused below.
  const Descriptor fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) return tl::unexpected(unreadable(file, std::strerror(errno)));
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return tl::unexpected(unreadable(file, std::strerror(errno)));
  if (S_ISDIR(info.st_mode)) {
    Diagnostic directory = unreadable(file, "it is a directory");
    const std::string inside = file + "/config.json";
    if (::access(inside.c_str(), R_OK) == 0) {
      directory.notes.push_back(fmt::format("it holds `{}`", inside));
    }
    return tl::unexpected(std::move(directory));
  }
  if (!S_ISREG(info.st_mode)) return tl::unexpected(unreadable(file, "it is not a regular file"));
  std::string text;
  std::string block(64 * 1024, '\0');
  while (text.size() <= kMaxBytes) {
    const ssize_t n = ::read(fd.get(), block.data(), block.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return tl::unexpected(unreadable(file, std::strerror(errno)));
    if (n == 0) return text;
    text.append(block, 0, static_cast<std::size_t>(n));
  }
  return tl::unexpected(unreadable(file, fmt::format("it is larger than {} MiB", kMaxBytes >> 20)));
}

Diagnostic unknown_architecture(const std::string& architecture, const ConfigReader& config,
                                const std::string& file) {
  Diagnostic d = Diagnostic(Code::E0503)
                     .with("architecture", architecture)
                     .with("file", file)
                     .from({fmt::format("architectures[0] = {}", architecture), file});
  if (const auto near = nearest_name(architecture, known_architectures())) {
    d.notes.push_back(fmt::format("the nearest known architecture is `{}`", *near));
  }
  if (config.has("index_topk")) {
    d.notes.push_back(
        fmt::format("it has an index_topk, so it may use sparse attention: --model-family says how "
                    "({})",
                    fmt::join(known_families(), ", ")));
  } else {
    d.notes.emplace_back("it has no index_topk: nothing in it says that it uses sparse attention");
  }
  return d;
}

Diagnostic unknown_family(const std::string& family) {
  Diagnostic d = Diagnostic(Code::E0505).with("family", family);
  if (const auto near = nearest_name(family, known_families())) {
    d.notes.push_back(fmt::format("the nearest known family is `{}`", *near));
  }
  d.notes.push_back(fmt::format("known families: {}", fmt::join(known_families(), ", ")));
  return d;
}

// d_qk and d_v from the latent row: the output has its first kv_lora_rank values.
void read_geometry(const ModelFamily& family, ConfigReader& config, ModelFacts& facts) {
  std::optional<int> latent = config.integer({"kv_lora_rank"}, kDims);
  if (!latent && family.latent != 0) latent = family.latent;
  facts.rope = config.integer({"qk_rope_head_dim"}, kRope);
  facts.d_v = latent;
  if (latent && family.rope_inside) facts.d_qk = latent;
  if (latent && !family.rope_inside && facts.rope) facts.d_qk = *latent + *facts.rope;
}

void read_sparse_facts(const ModelFamily& family, ConfigReader& config, ModelFacts& facts) {
  facts.is_dsa = true;
  facts.family = family.name;
  read_geometry(family, config, facts);
  facts.index_kpool = config.integer({"index_kpool"}, kKpool).value_or(1);
  // A pooled indexer always adds the unpooled tail of its last group.
  if (facts.index_topk) facts.index_row_width = *facts.index_topk + facts.index_kpool - 1;

  const bool flagged = config.flag("learnable_sink").value_or(false);
  facts.sinks = flagged || family.sinks == SinkRule::always;

  const IndexerLayers indexer = indexer_layers(family, config, facts.layers);
  facts.indexer_layers = indexer.count;
  facts.sharing = indexer.rule;

  const bool nested = config.nested("index_topk");
  facts.why = nested ? "index_topk in text_config" : "index_topk";
  if (family.counts_compressed) facts.why += " counts compressed entries";
  if (!family.counts_compressed && !nested) facts.why += " present";
  facts.why += "; " + facts.sharing;
  if (family.sinks == SinkRule::always) {
    facts.why += "; sinks by family";
  } else if (flagged) {
    facts.why += "; learnable_sink";
  }
}

// The family whose rules apply: the named one, else the architecture's; null: none, not DSA.
tl::expected<const ModelFamily*, Diagnostic> choose_family(
    const ConfigReader& config, const ModelFacts& facts, const std::optional<std::string>& named) {
  if (named) {
    const ModelFamily* const family = find_family(*named);
    if (family == nullptr) return tl::unexpected(unknown_family(*named));
    return family;
  }
  const Architecture* const known = find_architecture(facts.architecture);
  if (known == nullptr) {
    return tl::unexpected(unknown_architecture(facts.architecture, config, facts.file));
  }
  return known->family.empty() ? nullptr : find_family(known->family);
}

tl::expected<ModelFacts, Diagnostic> read_facts(ConfigReader& config, const std::string& file,
                                                const std::optional<std::string>& named) {
  ModelFacts facts;
  facts.file = file;
  const auto architectures = config.strings("architectures", ConfigReader::Where::top);
  if (!config.error() && (!architectures || architectures->empty()) && !named) {
    config.reject("architectures", architectures ? "[]" : "nothing",
                  "the name of an architecture, or --model-family");
  }
  if (config.error()) return tl::unexpected(*config.error());
  if (architectures && !architectures->empty()) facts.architecture = architectures->front();

  const auto family = choose_family(config, facts, named);
  if (!family) return tl::unexpected(family.error());

  facts.heads = config.integer({"num_attention_heads"}, kHeads);
  facts.layers = config.integer({"num_hidden_layers", "num_layers"}, kLayers);
  facts.nextn_layers =
      config.integer({"num_nextn_predict_layers", "mtp_num_layers", "num_mtp_modules"}, kNextn);
  if (*family != nullptr) facts.index_topk = config.integer({"index_topk"}, kTopk);
  if (facts.index_topk) {
    read_sparse_facts(**family, config, facts);
  } else {
    const Architecture* const known = find_architecture(facts.architecture);
    facts.why = known != nullptr ? known->why_not : "no index_topk";
  }
  if (config.error()) return tl::unexpected(*config.error());
  return facts;
}

}  // namespace

tl::expected<ModelFacts, Diagnostic> parse_model_config(std::string_view json,
                                                        const std::string& file,
                                                        const std::optional<std::string>& family) {
  const auto root = parse_strict_json(json, kConfigJson);
  if (!root) {
    return tl::unexpected(Diagnostic(Code::E0502)
                              .with("file", file)
                              .with("path", std::string("the top level"))
                              .with("found", root.error())
                              .with("allowed", std::string("valid JSON")));
  }
  ConfigReader config(*root, file);
  return read_facts(config, file, family);
}

tl::expected<ModelFacts, Diagnostic> read_model_config(const std::string& file,
                                                       const std::optional<std::string>& family) {
  const auto text = read_file(file);
  if (!text) return tl::unexpected(text.error());
  return parse_model_config(*text, file, family);
}

std::vector<std::string> known_architectures() {
  return names_of(model_architectures());
}

std::vector<std::string> known_families() {
  return names_of(model_families());
}

}  // namespace dsakit
