#include "property/shrink.hpp"

#include "property/harness.hpp"

namespace dsakit::property {
namespace {

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

class Shrinker {
 public:
  Shrinker(const Case& start, const std::function<bool(const Case&)>& fails)
      : best_(start), fails_(fails) {}

  Case run() {
    do {
      smaller_ = false;
      drop_manifests();
      for (std::size_t m = 0; m < best_.manifests.size(); ++m) reduce_manifest(m);
      drop_keys([](Case& c) -> Json& { return c.request; });
      drop_keys([](Case& c) -> Json& { return c.policy; });
    } while (smaller_);
    return best_;
  }

 private:
  bool keep_if_failing(Case candidate) {
    if (++tries_ > 2000 || !fails_(candidate)) return false;
    best_ = std::move(candidate);
    smaller_ = true;
    return true;
  }

  void drop_manifests() {
    for (std::size_t m = best_.manifests.size(); m-- > 0 && best_.manifests.size() > 1;) {
      Case candidate = best_;
      candidate.manifests.erase(candidate.manifests.begin() + static_cast<std::ptrdiff_t>(m));
      keep_if_failing(std::move(candidate));
    }
  }

  template <typename Select>
  void drop_keys(const Select& select, const std::string& never = "") {
    for (const auto& key : keys_of(select(best_))) {
      if (key == never) continue;
      Case candidate = best_;
      select(candidate).erase(key);
      keep_if_failing(std::move(candidate));
    }
  }

  void reduce_manifest(std::size_t m) {
    for (std::size_t r = best_.manifests[m]["rows"].size();
         r-- > 0 && best_.manifests[m]["rows"].size() > 1;) {
      Case candidate = best_;
      candidate.manifests[m]["rows"].erase(r);
      keep_if_failing(std::move(candidate));
    }
    for (const auto& key : {"dims", "conflicts"}) {
      if (!best_.manifests[m].contains(key)) continue;
      Case candidate = best_;
      candidate.manifests[m].erase(key);
      keep_if_failing(std::move(candidate));
    }
    relax_common(m);
    for (std::size_t r = 0; r < best_.manifests[m]["rows"].size(); ++r) {
      drop_keys([m, r](Case& c) -> Json& { return c.manifests[m]["rows"][r]["where"]; });
      drop_keys([m, r](Case& c) -> Json& { return c.manifests[m]["rows"][r]["provides"]; },
                "kv_layout");
    }
  }

  // A predicate of common becomes "*": left out, it would fail the row for a reason of its own.
  void relax_common(std::size_t m) {
    for (const auto& key : keys_of(best_.manifests[m]["common"])) {
      if (best_.manifests[m]["common"][key] == "*") continue;
      Case candidate = best_;
      candidate.manifests[m]["common"][key] = "*";
      keep_if_failing(std::move(candidate));
    }
  }

  Case best_;
  const std::function<bool(const Case&)>& fails_;
  int tries_ = 0;
  bool smaller_ = false;
};

}  // namespace

Case shrink(const Case& start, const std::function<bool(const Case&)>& fails) {
  return Shrinker(start, fails).run();
}

}  // namespace dsakit::property
