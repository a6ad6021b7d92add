// Puts a case on the device, runs it through the launch functions or through a plugin's table, and
// compares what comes out with float64 over the same bytes. Single threaded.
#pragma once

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "plugin_calls.hpp"
#include "sparse_case.cuh"

#if defined(DSAKIT_TEST_MMA)
#include "flashinfer_sparse_mla/sparse_mla_mma.hpp"
namespace sp = dsakit::sparse::mma;
#elif defined(DSAKIT_TEST_FP8)
#include "flashmla_kv/sparse_mla_fp8.hpp"
namespace sp = dsakit::sparse::fp8;
#else
#include "flashmla_sparse/sparse_mla.hpp"
namespace sp = dsakit::sparse;
#endif

namespace dsakit::test {

using dsakit::sparse::Plan;
using dsakit::sparse::Problem;
using dsakit::sparse::Tensors;
using dsakit::sparse::TokenAxis;

struct Runner {
  Buffers b;
  Plugin* plugin = nullptr;  // nullptr: the launch functions
  int max_ctas = 0;
  int ctas_at_once = 1;  // of a multiprocessor
  int passed = 0, failed = 0;

  // Everything about one case on the device.
  struct Setup {
    Layout layout;
    Reference ref{};
    Problem problem;
    Plan plan;
    size_t out_count = 0, workspace_bytes = 0;
    int64_t out_token = 0, out_head = 0;
    int inner = 0;
  };

  void fill(const Case& c, Setup& s, uint64_t seed) {
    const int64_t stride = s.ref.index_token;
    const unsigned entries = static_cast<unsigned>(c.tokens) * static_cast<unsigned>(c.topk);
    if (c.lengths >= 0) {
      std::vector<int> host(static_cast<size_t>((c.tokens + c.per_length - 1) / c.per_length));
      for (size_t i = 0; i < host.size(); ++i) {
        const int random = static_cast<int>(mix(seed * 31 + i) % static_cast<uint32_t>(c.topk + 1));
        host[i] = c.lengths > 0 ? c.lengths : (i % 5 == 0 ? 0 : i % 5 == 1 ? c.topk : random);
      }
      DSAKIT_CHECK(
          cudaMemcpy(b.lengths.data, host.data(), host.size() * 4, cudaMemcpyHostToDevice));
    }
    DSAKIT_CHECK(cudaMemset(b.kv.data, 0xFF, b.kv.size));
    const unsigned grid = (entries + 255) / 256;
    if (c.index64) {
      fill_indices<<<grid, 256>>>(b.indices.data, s.layout, seed, stride, c.invalid, c.duplicates);
      fill_rows<<<entries, 128>>>(b.kv.data, b.indices.data, s.ref.length, c.per_length, s.layout,
                                  stride, seed, c.data);
    } else {
      auto* narrow = reinterpret_cast<int32_t*>(b.indices.data);
      fill_indices<<<grid, 256>>>(narrow, s.layout, seed, stride, c.invalid, c.duplicates);
      fill_rows<<<entries, 128>>>(b.kv.data, narrow, s.ref.length, c.per_length, s.layout, stride,
                                  seed, c.data);
    }
    fill_q<<<static_cast<unsigned>(c.tokens * c.heads), 128>>>(
        b.q.data, c.tokens, c.heads, c.d_qk, s.ref.q_token, s.ref.q_head, seed, c.data);
    DSAKIT_CHECK(cudaGetLastError());
  }

  void poison(const Setup& s, const Case& c) {
    DSAKIT_CHECK(cudaMemset(b.out.data, 0xFF, (s.out_count + 16) * 2));
    DSAKIT_CHECK(cudaMemset(b.lse.data, 0xFF, static_cast<size_t>(c.tokens) * c.heads * 4));
    DSAKIT_CHECK(cudaMemset(b.top.data, 0xFF, static_cast<size_t>(c.tokens) * c.heads * 4));
    DSAKIT_CHECK(cudaMemset(b.workspace.data, 0xFF, s.workspace_bytes + kCanary));
  }

  Setup prepare(const Case& c, uint64_t seed) {
    Setup s;
    Layout& l = s.layout;
    l.rows = c.rows;
    l.tokens = c.tokens;
    l.heads = c.heads;
    l.topk = c.topk;
    l.d_qk = c.d_qk;
    l.page_size = c.page_size;
    l.slots = c.slots / c.page_size * c.page_size;
    l.kv_row = l.row_bytes() + c.row_pad;
    l.kv_page = l.kv_row * c.page_size + c.page_pad;
    const int stride_heads = c.heads + c.head_pad;
    s.ref.q_head = c.d_qk + (c.head_pad ? 8 : 0);
    s.ref.q_token = s.ref.q_head * stride_heads;
    s.out_head = 512 + (c.head_pad ? 24 : 0);
    s.out_token = s.out_head * stride_heads;
    s.ref.index_token = c.topk + (c.head_pad ? 3 : 0);
    s.inner = c.tokens_inner ? c.tokens_inner : c.tokens;
    s.out_count = static_cast<size_t>(s.out_token) * (c.tokens + 1) + c.out_shift;
    s.ref.kv = b.kv.need(static_cast<size_t>(l.kv_page) * (l.slots / l.page_size) + 64);
    s.ref.q = b.q.need(static_cast<size_t>(s.ref.q_token) * (c.tokens + 1));
    b.out.need(s.out_count + 16);
    s.ref.indices = b.indices.need(static_cast<size_t>(s.ref.index_token) * (c.tokens + 1));
    s.ref.index64 = c.index64;
    b.lengths.need(static_cast<size_t>(c.tokens));
    s.ref.length = c.lengths >= 0 ? b.lengths.data : nullptr;
    s.ref.per_length = c.per_length;
    std::vector<float> sink(static_cast<size_t>(c.heads));
    for (size_t h = 0; h < sink.size(); ++h) {
      const float random = static_cast<float>(mix(seed * 7 + h) % 2000) / 400.0f;
      sink[h] = c.sink == 2 ? -INFINITY : c.sink == 3 ? INFINITY : random;
    }
    b.sink.need(sink.size());
    DSAKIT_CHECK(cudaMemcpy(b.sink.data, sink.data(), sink.size() * 4, cudaMemcpyHostToDevice));
    s.ref.sink = c.sink ? b.sink.data : nullptr;
    s.ref.scale = c.scale != 0 ? c.scale : 1.0f / std::sqrt(static_cast<float>(c.d_qk));
    const size_t rows = static_cast<size_t>(c.tokens) * c.heads;
    b.lse.need(rows);
    b.top.need(rows);
    s.ref.out = b.ref_out.need(rows * 512);
    s.ref.lse = b.ref_lse.need(rows);
    s.ref.max_logits = b.ref_top.need(rows);
    s.ref.logits = b.ref_logits.need(rows * c.topk);
    const int ctas = c.ctas ? sm_count(c) * ctas_at_once : max_ctas;
    s.plan = sp::make_plan(c.tokens, c.heads, c.topk, ctas);
    s.workspace_bytes = sp::workspace_bytes(c.heads, ctas);
    b.workspace.need(s.workspace_bytes + kCanary);
    fill_problem(c, s);
    fill(c, s, seed);
    return s;
  }

  void fill_problem(const Case& c, Setup& s) {
    Problem& p = s.problem;
    Tensors& t = p.tensors;
    const auto axis = [&](int64_t stride) { return TokenAxis{stride * s.inner, stride}; };
    t.q = b.q.data;
    t.q_token = axis(s.ref.q_token * 2);
    t.q_head = s.ref.q_head * 2;
    t.kv = b.kv.data;
    t.kv_page = s.layout.kv_page;
    t.kv_row = s.layout.kv_row;
    t.page_size = c.page_size;
    t.slots = s.layout.slots;
    t.indices = b.indices.data;
    t.index_token = axis(s.ref.index_token);
    t.length = s.ref.length;
    t.length_stride = 1;
    t.tokens_per_length = c.per_length;
    t.sink = s.ref.sink;
    t.out = b.out.data + c.out_shift;
    t.out_token = axis(s.out_token * 2);
    t.out_head = s.out_head * 2;
    t.lse = b.lse.data;
    t.lse_token = axis(c.heads);
    t.lse_head = 1;
    t.max_logits = c.want_max ? b.top.data : nullptr;
    t.max_token = axis(c.heads);
    t.max_head = 1;
    t.tokens_inner = s.inner;
    p.tokens = c.tokens;
    p.heads = c.heads;
    p.topk = c.topk;
    p.rope = c.d_qk == 576;
    p.fp8 = c.rows != Rows::kBf16;
    p.fp8_compute = kFp8Compute;
    p.index64 = c.index64;
    p.lse_log2 = c.log2;
    p.lse_with_sink = c.lse_sink;
    p.lse_empty = INFINITY;
    p.scale = s.ref.scale;
  }

  void enqueue(const Case& c, Setup& s, cudaStream_t stream) {
    if (plugin == nullptr) {
      DSAKIT_CHECK(sp::launch(s.problem, s.plan, b.workspace.data, stream));
    } else {
      enqueue_by_plugin(c, s, stream);
    }
  }

  // Multiprocessors that a case counts on; 0: all.
  int sm_count(const Case& c) const { return (c.ctas + ctas_at_once - 1) / ctas_at_once; }

  void enqueue_by_plugin(const Case& c, Setup& s, cudaStream_t stream) {
    dsakit_config config =
        config_for(c.rows != Rows::kBf16, c.heads, c.d_qk, c.topk, c.page_size, c.tokens);
    config.sm_count = sm_count(c);
    if (kFp8Compute) config.compute = "fp8";
    config.lse = c.log2 ? "log2" : "natural";
    config.lse_sink = c.lse_sink ? "included" : "excluded";
    std::vector<const char*> features;
    if (c.sink) features.push_back("attn_sink");
    if (c.lengths >= 0) features.push_back("topk_length");
    if (c.want_max) features.push_back("max_logits");
    config.features = features.data();
    config.feature_count = features.size();
    dsakit_instance* instance = plugin->create(config);
    const int64_t outer = c.tokens / s.inner, inner = s.inner, h = c.heads;
    // [b, s, ...] in every case; a flat call is b = 1.
    const auto rows = [&](const void* data, DLDataType type, int64_t token, int64_t head,
                          int64_t size) {
      return Tensor(data, type, {outer, inner, h, size}, {token * inner, token, head, 1});
    };
    const auto stats = [&](const void* data) {
      return Tensor(data, kFp32, {outer, inner, h}, {h * inner, h, 1});
    };
    const Layout& l = s.layout;
    Tensor q = rows(b.q.data, kBf16, s.ref.q_token, s.ref.q_head, c.d_qk);
    Tensor out = rows(b.out.data + c.out_shift, kBf16, s.out_token, s.out_head, 512);
    Tensor lse = stats(b.lse.data), top = stats(c.want_max ? b.top.data : nullptr);
    const int bytes = c.rows == Rows::kBf16 ? 2 : 1;
    Tensor kv(b.kv.data, bytes == 2 ? kBf16 : kBytes,
              {l.slots / l.page_size, l.page_size, l.row_bytes() / bytes},
              {l.kv_page / bytes, l.kv_row / bytes, 1});
    Tensor indices(b.indices.data, c.index64 ? kInt64 : kInt32, {outer, inner, c.topk},
                   {s.ref.index_token * inner, s.ref.index_token, 1});
    Tensor length(c.lengths >= 0 ? b.lengths.data : nullptr, kInt32, {c.tokens / c.per_length},
                  {1});
    Tensor sink(s.ref.sink, kFp32, {h}, {1});
    dsakit_kv_cache cache{};
    cache.size = sizeof(cache);
    cache.data = kv.get();
    dsakit_run_args args{};
    args.size = sizeof(args);
    args.sm_scale = s.ref.scale;
    args.stream = stream;
    args.q = q.get();
    args.kv = &cache;
    args.indices = indices.get();
    args.topk_length = length.get();
    args.attn_sink = sink.get();
    args.out = out.get();
    args.lse = lse.get();
    args.max_logits = top.get();
    args.workspace = b.workspace.data;
    args.workspace_size = plugin->workspace_bytes(instance, c.tokens);
    if (args.workspace_size > s.workspace_bytes) std::exit(3);
    plugin->run(instance, args);
    plugin->destroy(instance);
  }

  template <class T>
  static std::vector<T> fetch(const T* from, size_t count) {
    std::vector<T> host(count);
    DSAKIT_CHECK(cudaMemcpy(host.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
  }

  struct Errors {
    double worst = 0, cosine = 0, lse = 0, top = 0;
    int bad = 0;
    std::string first;
    void add(const char* what, int t, int h, int d, double got, double want) {
      if (bad++ == 0) {
        char text[160];
        std::snprintf(text, sizeof text, " %s[%d,%d,%d] = %g, reference %g", what, t, h, d, got,
                      want);
        first = text;
      }
    }
  };

  static bool near(double got, double want, double absolute, double relative) {
    if (std::isnan(want)) return std::isnan(got);
    if (std::isinf(want)) return got == want;
    const double error = std::fabs(got - want);
    return error < absolute || error < relative * (std::fabs(want) + 1e-6);
  }

  Errors compare(const Case& c, const Setup& s) {
    Errors e;
    const size_t rows = static_cast<size_t>(c.tokens) * c.heads;
    const auto out = fetch(b.out.data, s.out_count + 16);
    const auto lse = fetch(b.lse.data, rows), top = fetch(b.top.data, rows);
    const auto ref = fetch(b.ref_out.data, rows * 512);
    const auto ref_lse = fetch(b.ref_lse.data, rows), ref_top = fetch(b.ref_top.data, rows);
    const auto sink = fetch(b.sink.data, static_cast<size_t>(c.heads));
    double xy = 0, xx = 0;
    std::vector<uint8_t> used(s.out_count + 16, 0);
    for (int t = 0; t < c.tokens; ++t) {
      for (int h = 0; h < c.heads; ++h) {
        const size_t row = static_cast<size_t>(t) * c.heads + h;
        for (int d = 0; d < 512; ++d) {
          const size_t at = static_cast<size_t>(c.out_shift + t * s.out_token + h * s.out_head + d);
          used[at] = 1;
          const double got = static_cast<double>(__bfloat162float(out[at]));
          const double want = ref[row * 512 + d];
          if (!near(got, want, kFp8Compute ? HUGE_VAL : 8e-4, 2.01 / 128))
            e.add("out", t, h, d, got, want);
          e.worst = std::max(e.worst, std::fabs(got - want));
          xy += got * want;
          xx += got * got + want * want;
        }
        double want = ref_lse[row];
        if (c.lse_sink && !std::isinf(want)) {
          want = want + std::log1p(std::exp(static_cast<double>(sink[h]) - want));
        }
        if (c.log2 && !std::isinf(want)) want /= std::log(2.0);
        const double in_lse = kFp8Compute ? 2e-3 : 8.01 / 65536;
        if (!near(lse[row], want, kFp8Compute ? 2e-2 : 1e-6, in_lse))
          e.add("lse", t, h, 0, lse[row], want);
        if (!std::isinf(want)) e.lse = std::max(e.lse, std::fabs(lse[row] - want));
        if (!c.want_max) continue;
        // Keys that are no bf16 numbers may be rounded once, to 11 bits.
        const bool rounded = c.rows != Rows::kBf16;
        const double in_top = rounded ? 8.01 / 65536 : 2.01 / 65536;
        if (!near(top[row], ref_top[row],
                  kFp8Compute ? 2e-2
                  : rounded   ? 2e-5
                              : 1e-6,
                  kFp8Compute ? 2e-3 : in_top)) {
          e.add("max", t, h, 0, top[row], ref_top[row]);
        }
      }
    }
    for (size_t i = 0; i < used.size(); ++i) {
      uint16_t bits;
      std::memcpy(&bits, &out[i], 2);
      if (!used[i] && bits != 0xFFFF) e.add("gap", 0, 0, static_cast<int>(i), bits, 0xFFFF);
    }
    e.cosine = xx > 0 ? 1 - 2 * xy / xx : 0;
    const double in_cosine = kFp8Compute ? 1e-4 : 5e-6;
    if (!(e.cosine < in_cosine)) e.add("cosine", 0, 0, 0, e.cosine, in_cosine);
    const auto canary = fetch(b.workspace.data + s.workspace_bytes, kCanary);
    for (uint8_t byte : canary) {
      if (byte != 0xFF) e.add("canary", 0, 0, 0, byte, 255);
    }
    return e;
  }

  void reference(const Case& c, const Setup& s) {
    reference_kernel<<<static_cast<unsigned>(c.tokens * c.heads), 128>>>(s.ref, s.layout);
    DSAKIT_CHECK(cudaGetLastError());
  }

  void report(const Case& c, const Setup& s, const Errors& e, bool quiet) {
    (e.bad ? failed : passed) += 1;
    if (quiet && !e.bad) return;
    std::printf("%s %-34s T=%d h=%d topk=%d groups=%d merge=%d max|err| %.2e cos %.1e lse %.1e%s\n",
                e.bad ? "FAIL" : "ok  ", c.name.c_str(), c.tokens, c.heads, c.topk, s.plan.groups,
                s.plan.merge, e.worst, e.cosine, e.lse, e.first.c_str());
    if (e.bad) std::printf("     %d values out of bounds\n", e.bad);
    std::fflush(stdout);
  }

  void run(const Case& c, uint64_t seed = 1, bool quiet = false) {
    Setup s = prepare(c, seed);
    poison(s, c);
    DSAKIT_CHECK(cudaDeviceSynchronize());
    enqueue(c, s, nullptr);
    DSAKIT_CHECK(cudaDeviceSynchronize());
    const auto once = fetch(b.out.data, s.out_count);
    poison(s, c);
    enqueue(c, s, nullptr);
    reference(c, s);
    DSAKIT_CHECK(cudaDeviceSynchronize());
    Errors e = compare(c, s);
    const auto twice = fetch(b.out.data, s.out_count);
    if (std::memcmp(once.data(), twice.data(), s.out_count * 2) != 0) {
      e.add("two runs differ", 0, 0, 0, 0, 0);
    }
    report(c, s, e, quiet);
  }

  // Capture once; replay with new indices, lengths, keys and queries.
  void run_graph(const Case& c) {
    Setup s = prepare(c, 1);
    cudaStream_t stream;
    DSAKIT_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    DSAKIT_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    enqueue(c, s, stream);
    DSAKIT_CHECK(cudaStreamEndCapture(stream, &graph));
    DSAKIT_CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (uint64_t seed = 2; seed < 5; ++seed) {
      fill(c, s, seed);
      poison(s, c);
      DSAKIT_CHECK(cudaDeviceSynchronize());
      DSAKIT_CHECK(cudaGraphLaunch(exec, stream));
      DSAKIT_CHECK(cudaStreamSynchronize(stream));
      reference(c, s);
      DSAKIT_CHECK(cudaDeviceSynchronize());
      report(c, s, compare(c, s), false);
    }
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
  }
};

}  // namespace dsakit::test
