// A small attention call through dsakit.hpp alone, with a truth of its own: what an engine would
// write, for the tests of the host API. One thread an object.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dsakit/dsakit.hpp"

namespace dsakit::test {

inline constexpr std::int64_t kHeads = 8, kTopk = 12, kPageSize = 16, kPages = 2, kTokens = 3;
inline constexpr std::int64_t kKey = 576, kValue = 512;

// A request for the cpu with these sizes and one backend for both phases; `more` is appended.
std::string run_request(const std::string& backend, const std::string& kv_dtype,
                        const std::string& more = "");

class RunCase {
 public:
  RunCase(const api::Session& session, const std::string& phase);
  RunCase(const RunCase&) = delete;
  RunCase& operator=(const RunCase&) = delete;

  api::Result error;
  api::Attention attention;
  std::vector<std::uint16_t> rows;  // bf16 [slots, 576]

  dsakit_rc append(dsakit_error* why) { return attention.append(kv_args_, why); }
  dsakit_rc dequant(dsakit_error* why) { return attention.dequant(kv_args_, why); }
  dsakit_rc run(dsakit_error* why) { return attention.run(args_, why); }
  // Of out and lse, against the formulas over the rows before they were packed.
  double worst_error() const;

 private:
  struct Tensor {
    DLTensor view{};
    std::vector<std::int64_t> shape;
  };
  void describe(Tensor& tensor, void* data, DLDataType type, std::vector<std::int64_t> shape);
  double error_of(std::int64_t token, std::int64_t head) const;

  std::vector<std::uint16_t> q_, out_;
  std::vector<float> lse_;
  std::vector<std::int32_t> indices_;
  std::vector<std::int64_t> slots_;
  std::vector<std::byte> pool_, workspace_;
  Tensor q_view_, out_view_, lse_view_, indices_view_, pool_view_, rows_view_, slots_view_;
  api::KvCache cache_;
  api::RunArgs args_;
  api::KvArgs kv_args_;
};

}  // namespace dsakit::test
