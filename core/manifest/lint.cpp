// Findings about rows that a parser cannot refuse: what is written is allowed but probably not
// meant.
#include <algorithm>

#include <fmt/format.h>

#include "diag/nearest.hpp"
#include "manifest/arch.hpp"
#include "manifest/schema.hpp"

namespace dsakit {
namespace {

class RowLint {
 public:
  RowLint(const Manifest& manifest, const Row& row, const std::string& file)
      : manifest_(manifest), row_(row), file_(file) {}

  std::vector<Diagnostic> run() {
    for (const Dimension& dim : all_dimensions()) {
      if (!dim.neutral && !dim.open && !mentions(dim.name)) {
        found(
            fmt::format("it says nothing about `{0}`, so it serves no request; write \"*\" if any "
                        "value will do",
                        dim.name));
      }
    }
    check(manifest_.common);
    check(row_.where);
    return std::move(findings_);
  }

 private:
  std::vector<Dimension> all_dimensions() const {
    std::vector<Dimension> dims;
    for (int i = 0; i < builtin_dimensions().size(); ++i)
      dims.push_back(builtin_dimensions().at(i));
    dims.insert(dims.end(), manifest_.dims.begin(), manifest_.dims.end());
    return dims;
  }

  bool mentions(const std::string& dim) const {
    return row_.where.contains(dim) || manifest_.common.contains(dim);
  }

  void found(std::string reason) {
    findings_.push_back(Diagnostic(Code::W0117)
                            .with("row", row_.name)
                            .with("file", file_)
                            .with("reason", std::move(reason)));
  }

  void check(const Where& where) {
    for (const auto& [dim, predicate] : where) {
      check_name(dim);
      if (!predicate.unknown_operator.empty()) {
        found(fmt::format(
            "operator `{}` on `{}` is unknown to this version, so the row serves no request",
            predicate.unknown_operator, dim));
      } else if (const std::string why = never_true(predicate); !why.empty()) {
        found(fmt::format("no value of `{}` can satisfy {}: {}", dim, predicate.json, why));
      }
      if (dim == "arch") check_arch(predicate);
    }
  }

  void check_name(const std::string& dim) {
    std::vector<std::string> names = builtin_dimensions().names();
    for (const Dimension& own : manifest_.dims) names.push_back(own.name);
    if (std::ranges::find(names, dim) != names.end()) return;
    const auto nearest = nearest_name(dim, names);
    found(fmt::format(
        "`{}` is no dimension that this file declares or dsakit has{}; without another file that "
        "declares it, the row serves no request",
        dim, nearest ? fmt::format(" (the nearest is `{}`)", *nearest) : ""));
  }

  void check_arch(const Predicate& predicate) {
    for (const std::string& token : predicate.list) {
      std::string why;
      const auto arch = parse_arch_token(token, why);
      if (arch && arch->devices.empty()) {
        found(fmt::format("arch `{}` names no device that this version knows", token));
      }
    }
  }

  static std::string never_true(const Predicate& p) {
    if (p.kind == Predicate::Kind::list && p.list.empty()) return "the list is empty";
    if (p.kind == Predicate::Kind::integer) return never_true_integer(p);
    if (p.kind == Predicate::Kind::version && p.from && p.below && *p.below <= *p.from) {
      return "`below` is not above `min`";
    }
    if (p.kind == Predicate::Kind::set) {
      for (const std::string& element : p.includes) {
        if (p.subset && !std::ranges::binary_search(*p.subset, element)) {
          return fmt::format("`{}` must be there, but is not in `subset`", element);
        }
        if (std::ranges::binary_search(p.none_of, element)) {
          return fmt::format("`{}` is in `includes` and in `none_of`", element);
        }
      }
    }
    return {};
  }

  static std::string never_true_integer(const Predicate& p) {
    const auto accepts = [&](std::int64_t n) {
      return (!p.min || n >= *p.min) && (!p.max || n <= *p.max) &&
             (!p.multiple_of || n % *p.multiple_of == 0) &&
             (!p.pow2 || (n > 0 && (n & (n - 1)) == 0));
    };
    if (p.one_of) {
      return std::ranges::any_of(*p.one_of, accepts) ? "" : "no number of `one_of` meets the rest";
    }
    const std::int64_t low = p.min.value_or(0), high = p.max.value_or(INT32_MAX);
    if (p.pow2) {
      for (std::int64_t n = 1; n <= high; n *= 2) {
        if (accepts(n)) return {};
      }
      return "no power of two meets the rest";
    }
    const std::int64_t step = p.multiple_of.value_or(1);
    return (low + step - 1) / step * step <= high ? "" : "the range is empty";
  }

  const Manifest& manifest_;
  const Row& row_;
  const std::string& file_;
  std::vector<Diagnostic> findings_;
};

}  // namespace

std::vector<Diagnostic> lint_rows(const Manifest& manifest, const std::string& file) {
  std::vector<Diagnostic> findings;
  if (manifest.rows.empty()) {
    findings.push_back(Diagnostic(Code::W0117)
                           .with("row", "(none)")
                           .with("file", file)
                           .with("reason", "there is no row, so the backend serves no request"));
  }
  for (const Row& row : manifest.rows) {
    for (Diagnostic& finding : RowLint(manifest, row, file).run())
      findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace dsakit
