// Manifests → Compiled: settles which files the catalogue can use together, then numbers tokens and
// turns predicates into bit sets.

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "manifest/arch.hpp"
#include "manifest/schema.hpp"
#include "solver/compiled.hpp"

namespace dsakit {
namespace {

// The dimension table that the given files declare together. A file that contradicts an earlier one
// is set aside; so is a file with a predicate that does not fit a dimension declared elsewhere, and
// then the rest is settled anew without it.
class DimensionSettlement {
 public:
  explicit DimensionSettlement(const std::vector<SolverInput>& inputs) : remaining_(inputs) {}

  void settle() {
    do {
      dims_ = DimensionTable();
      declared_in_.clear();
      std::erase_if(remaining_, [this](const SolverInput& input) { return contradicts(input); });
    } while (
        std::erase_if(remaining_, [this](const SolverInput& input) { return misfits(input); }) > 0);
  }

  const std::vector<SolverInput>& remaining() const { return remaining_; }
  const DimensionTable& dims() const { return dims_; }
  std::vector<Solver::SetAside> take_set_aside() { return std::move(set_aside_); }

 private:
  bool contradicts(const SolverInput& input) {
    for (const Dimension& dim : input.manifest->dims) {
      const int known = dims_.find(dim.name);
      if (known < 0 || (declared_in_.contains(dim.name) && dims_.at(known).same_declaration(dim)))
        continue;
      const auto other = declared_in_.find(dim.name);
      put_aside(input,
                Diagnostic(Code::E0109)
                    .with("file", input.file)
                    .with("dim", dim.name)
                    .with("other", other == declared_in_.end() ? "dsakit itself" : other->second));
      return true;
    }
    for (const Dimension& dim : input.manifest->dims) {
      dims_.declare(dim);
      declared_in_.try_emplace(dim.name, input.file);
    }
    return false;
  }

  bool misfits(const SolverInput& input) {
    if (misfits(input, input.manifest->common, "/common")) return true;
    for (std::size_t i = 0; i < input.manifest->rows.size(); ++i) {
      if (misfits(input, input.manifest->rows[i].where, fmt::format("/rows/{}/where", i)))
        return true;
    }
    return false;
  }

  bool misfits(const SolverInput& input, const Where& where, const std::string& path) {
    for (const auto& [name, predicate] : where) {
      const int dim = dims_.find(name);
      if (dim < 0 || predicate_fits(predicate, dims_.at(dim).type)) continue;
      put_aside(
          input,
          Diagnostic(Code::E0107)
              .with("file", input.file)
              .with("path", path + "/" + name)
              .with("found", predicate.json)
              .with("allowed", fmt::format("a predicate over {} values, as `{}` declares it",
                                           dim_type_name(dims_.at(dim).type), declared_in_[name])));
      return true;
    }
    return false;
  }

  void put_aside(const SolverInput& input, Diagnostic reason) {
    set_aside_.push_back({input.manifest->id, input.file, std::move(reason)});
  }

  std::vector<SolverInput> remaining_;
  DimensionTable dims_;
  std::map<std::string, std::string> declared_in_;
  std::vector<Solver::SetAside> set_aside_;
};

int device_number(std::string_view name) {
  const auto devices = known_devices();
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (devices[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

Bits arch_bits(const std::vector<std::string>& tokens) {
  Bits bits;
  for (const std::string& token : tokens) {
    std::string why;
    const auto parsed = parse_arch_token(token, why);
    if (!parsed) continue;
    for (const auto device : parsed->devices) bits.set(device_number(device));
  }
  return bits;
}

Bits token_bits(const std::vector<std::string>& tokens, Dictionary& dictionary) {
  Bits bits;
  for (const std::string& token : tokens) bits.set(dictionary.add(token));
  return bits;
}

CompiledPredicate compile_predicate(const Predicate& source, int dim, DimType type,
                                    Dictionary& dictionary) {
  CompiledPredicate out;
  out.dim = dim;
  out.type = type;
  out.source = &source;
  out.never = !source.unknown_operator.empty();
  if (type == DimType::arch) out.accepted = arch_bits(source.list);
  if (type == DimType::token) out.accepted = token_bits(source.list, dictionary);
  if (type == DimType::set) {
    out.accepted = token_bits(source.subset ? *source.subset : source.includes, dictionary);
    if (!source.includes.empty() || !source.none_of.empty()) {
      out.demand = std::make_shared<const SetDemand>(SetDemand{
          token_bits(source.includes, dictionary), token_bits(source.none_of, dictionary)});
    }
  }
  return out;
}

}  // namespace

// Fills Compiled row by row.
struct RowCompiler {
  Solver::Compiled& out;
  std::map<std::pair<int, std::string_view>, int>
      numbers{};  // of predicates, by dimension and JSON

  void add(CompiledBackend backend) {
    const int number = static_cast<int>(out.backends.size());
    backend.first_row = static_cast<int>(out.rows.size());
    backend.row_count = static_cast<int>(backend.manifest->rows.size());
    out.backend_of_id.emplace(backend.manifest->id, number);
    for (const Row& row : backend.manifest->rows) add_row(number, row, backend.manifest->common);
    out.backends.push_back(std::move(backend));
  }

 private:
  void add_row(int backend, const Row& source, const Where& common) {
    CompiledRow row;
    row.backend = backend;
    row.source = &source;
    row.phase_ok.fill(true);
    row.mentioned_or_open = out.open;
    std::set<std::string_view> constrained;
    for (const Where* where : {&common, &source.where}) {
      for (const auto& [name, predicate] : *where) {
        if (predicate.kind != Predicate::Kind::any) constrained.insert(name);
        add_predicate(row, name, predicate);
      }
    }
    row.constrained = static_cast<int>(constrained.size());
    for (const auto& [name, value] : source.provides) {
      if (name == "kv_layout") {
        row.layout = out.layouts.add(std::get<Token>(value));
      } else {
        row.other_provides.emplace(name, value);
      }
    }
    out.rows.push_back(std::move(row));
  }

  void add_predicate(CompiledRow& row, const std::string& name, const Predicate& predicate) {
    const int dim = out.dims.find(name);
    if (dim < 0) {
      out.unknown_dims.push_back({static_cast<int>(out.rows.size()), name, &predicate});
      return;
    }
    row.mentioned_or_open.set(dim);
    if (dim == out.phase_dim) {
      add_phase(row, predicate);
      return;
    }
    if (predicate.kind == Predicate::Kind::any) return;
    row.predicates.push_back(number_of(predicate, dim));
  }

  // Equal predicates on one dimension share a number; the canonical JSON says all about a
  // predicate.
  int number_of(const Predicate& predicate, int dim) {
    const auto [known, is_new] =
        numbers.try_emplace({dim, predicate.json}, static_cast<int>(out.predicates.size()));
    if (is_new) {
      out.predicates.push_back(compile_predicate(predicate, dim, out.dims.at(dim).type,
                                                 out.dictionaries[static_cast<std::size_t>(dim)]));
    }
    return known->second;
  }

  static void add_phase(CompiledRow& row, const Predicate& predicate) {
    row.phase_predicates.push_back(&predicate);
    row.phase_never |= !predicate.unknown_operator.empty();
    if (predicate.kind == Predicate::Kind::any) return;
    for (const Phase phase : kPhases) {
      if (std::ranges::find(predicate.list, phase_name(phase)) == predicate.list.end()) {
        row.phase_ok[index(phase)] = false;
      }
    }
  }
};

bool Solver::Compiled::conflict(int a, int b) const {
  const auto declares = [this](int from, int to) {
    const auto& list = backends[static_cast<std::size_t>(from)].manifest->conflicts;
    return std::ranges::find(list, id(to)) != list.end();
  };
  return declares(a, b) || declares(b, a);
}

Solver Solver::compile(const std::vector<SolverInput>& inputs, std::string catalog) {
  DimensionSettlement settlement(inputs);
  settlement.settle();

  auto out = std::make_unique<Compiled>();
  out->catalog = std::move(catalog);
  out->dims = settlement.dims();
  out->set_aside = settlement.take_set_aside();
  out->phase_dim = out->dims.find("phase");
  out->kv_dtype_dim = out->dims.find("kv_dtype");
  out->dictionaries.resize(static_cast<std::size_t>(out->dims.size()));
  for (int dim = 0; dim < out->dims.size(); ++dim) {
    if (out->dims.at(dim).open) out->open.set(dim);
    if (out->dims.at(dim).neutral) out->with_neutral.set(dim);
  }
  RowCompiler compiler{*out};
  for (const SolverInput& input : settlement.remaining())
    compiler.add({input.manifest, input.file, 0, 0});
  for (int dim = 0; dim < out->dims.size(); ++dim) {
    auto& dictionary = out->dictionaries[static_cast<std::size_t>(dim)];
    const auto& neutral = out->dims.at(dim).neutral;
    if (!neutral) continue;
    if (const auto* token = std::get_if<Token>(&*neutral)) dictionary.add(*token);
    if (const auto* set = std::get_if<Set>(&*neutral)) {
      for (const auto& element : *set) dictionary.add(element);
    }
  }
  return Solver(std::move(out));
}

}  // namespace dsakit
