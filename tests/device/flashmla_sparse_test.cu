// Device test of the Hopper sparse MLA kernels against float64 over the same bytes.
//
//   flashmla_sparse_device_test [plugin.so] [group ...]
//     groups: tiny basic shapes heads masks layout rows traps graph sweep; tiny is for
//     compute-sanitizer. With a plugin file all calls go through its table.
//
// Contents: cases and buffers · Runner: set up, launch, compare · groups · main
//
// Prints a line a case and ends with "N passed, N failed"; exit status 1 if one failed, 2 if there
// is no device that can run the kernels. Needs about 6 GB of device memory.
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "flashmla_sparse/kv_rows.hpp"
#include "flashmla_sparse/sparse_mla.hpp"
#include "plugin_calls.hpp"
#include "sparse_data.cuh"

namespace dsakit::test {
namespace {

namespace sp = dsakit::sparse;

struct Case {
  std::string name;
  int tokens = 4, heads = 128, topk = 512, d_qk = 576;
  uint32_t slots = 4096, page_size = 1;
  int64_t row_pad = 0, page_pad = 0;  // bytes
  float invalid = 0;
  bool duplicates = false;
  int lengths = -1;  // -1: none; 0: random; else that for all
  int per_length = 1;
  int sink = 0;  // 1 random, 2 -inf, 3 +inf, 4 only one head
  bool index64 = false, log2 = false, lse_sink = false, want_max = true;
  int head_pad = 0;      // extra heads' worth of stride in q and out
  int out_shift = 0;     // elements by which out is misaligned
  int tokens_inner = 0;  // s of [b, s] with a padded batch stride; 0: flat
  float scale = 0;       // 0: d_qk^-0.5
  Data data = Data::kNormal;
  int ctas = 0;  // at once; 0: the device's
};

template <class T>
T* device(size_t count) {
  void* p = nullptr;
  DSAKIT_CHECK(cudaMalloc(&p, count * sizeof(T) + 256));
  return static_cast<T*>(p);
}

// Grow-only buffers, so that many small cases do not allocate.
template <class T>
struct Buffer {
  T* data = nullptr;
  size_t size = 0;
  T* need(size_t count) {
    if (count > size) {
      cudaFree(data);
      data = device<T>(count);
      size = count;
    }
    return data;
  }
};

struct Buffers {
  Buffer<uint8_t> kv, workspace;
  Buffer<__nv_bfloat16> q, out;
  Buffer<int64_t> indices;
  Buffer<int> lengths;
  Buffer<float> sink, lse, top;
  Buffer<double> ref_out, ref_lse, ref_top, ref_logits;
};

constexpr size_t kCanary = 256;

struct Runner {
  Buffers b;
  Plugin* plugin = nullptr;  // nullptr: the launch functions
  int max_ctas = 0;
  int passed = 0, failed = 0;

  // Everything about one case on the device.
  struct Setup {
    Layout layout;
    Reference ref{};
    sp::Problem problem;
    sp::Plan plan;
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
    const int row_bytes = c.d_qk * 2;
    Layout& l = s.layout;
    l.tokens = c.tokens;
    l.heads = c.heads;
    l.topk = c.topk;
    l.d_qk = c.d_qk;
    l.page_size = c.page_size;
    l.slots = c.slots / c.page_size * c.page_size;
    l.kv_row = row_bytes + c.row_pad;
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
    const int ctas = c.ctas ? c.ctas : max_ctas;
    s.plan = sp::make_plan(c.tokens, c.heads, c.topk, ctas);
    s.workspace_bytes = sp::workspace_bytes(c.heads, ctas);
    b.workspace.need(s.workspace_bytes + kCanary);
    fill_problem(c, s);
    fill(c, s, seed);
    return s;
  }

  void fill_problem(const Case& c, Setup& s) {
    sp::Problem& p = s.problem;
    sp::Tensors& t = p.tensors;
    const auto axis = [&](int64_t stride) { return sp::TokenAxis{stride * s.inner, stride}; };
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

  void enqueue_by_plugin(const Case& c, Setup& s, cudaStream_t stream) {
    dsakit_config config = bf16_config(c.heads, c.d_qk, c.topk, c.page_size, c.tokens);
    config.sm_count = c.ctas;
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
    Tensor kv(b.kv.data, kBf16, {l.slots / l.page_size, l.page_size, c.d_qk},
              {l.kv_page / 2, l.kv_row / 2, 1});
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
          if (!near(got, want, 8e-4, 2.01 / 128)) e.add("out", t, h, d, got, want);
          e.worst = std::max(e.worst, std::fabs(got - want));
          xy += got * want;
          xx += got * got + want * want;
        }
        double want = ref_lse[row];
        if (c.lse_sink && !std::isinf(want)) {
          want = want + std::log1p(std::exp(static_cast<double>(sink[h]) - want));
        }
        if (c.log2 && !std::isinf(want)) want /= std::log(2.0);
        if (!near(lse[row], want, 1e-6, 8.01 / 65536)) e.add("lse", t, h, 0, lse[row], want);
        if (!std::isinf(want)) e.lse = std::max(e.lse, std::fabs(lse[row] - want));
        if (!c.want_max) continue;
        if (!near(top[row], ref_top[row], 1e-6, 2.01 / 65536)) {
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
    if (!(e.cosine < 5e-6)) e.add("cosine", 0, 0, 0, e.cosine, 5e-6);
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

using Group = void (*)(Runner&);

Case make(const char* name, int tokens, int heads, int topk, uint32_t slots = 4096) {
  Case c;
  c.name = name;
  c.tokens = tokens;
  c.heads = heads;
  c.topk = topk;
  c.slots = slots;
  return c;
}

void basic(Runner& r) {
  for (int heads : {128, 64}) {
    r.run(make("one block", 1, heads, 64, 256));
    r.run(make("one block, many tokens", 9, heads, 64, 256));
    Case c = make("no rope", 1, heads, 64, 256);
    c.d_qk = 512;
    r.run(c);
    c = make("unsplit", 2, heads, 512);
    c.ctas = 1;
    r.run(c);
    r.run(make("split", 2, heads, 512));
    r.run(make("split", 3, heads, 2048, 32768));
    c = make("few groups", 7, heads, 1024);
    c.ctas = 6;
    r.run(c);
  }
}

void tiny(Runner& r) {
  for (int heads : {80, 16}) {
    Case c = make("tiny", 3, heads, 200, 512);
    c.lengths = 0;
    c.invalid = 0.1f;
    c.sink = 1;
    r.run(c);
  }
}

void shapes(Runner& r) {
  const int pairs[][2] = {{128, 128},  {256, 256}, {592, 128}, {1840, 256}, {1592, 384},
                          {1521, 512}, {95, 128},  {153, 256}, {114, 384},  {32, 2048}};
  for (const auto& p : pairs) {
    for (int tokens : {1, 62}) {
      Case c = make("prefill", tokens, tokens == 1 ? 128 : 64, p[1], static_cast<uint32_t>(p[0]));
      c.invalid = 0.05f;
      r.run(c);
    }
  }
  for (int topk : {1, 63, 65, 100, 133, 1999, 2112}) {
    for (int heads : {128, 64}) r.run(make("odd topk", 3, heads, topk, 8192));
  }
  for (int d : {512, 576}) {
    Case c = make("213 tokens", 213, 128, 512);
    c.d_qk = d;
    r.run(c);
    c.heads = 64;
    r.run(c);
  }
}

void heads(Runner& r) {
  for (int h : {1, 2, 7, 8, 16, 24, 32, 48, 63, 65, 80, 96, 127}) {
    Case c = make("heads", 5, h, 576);
    c.sink = 1;
    c.invalid = 0.02f;
    r.run(c);
    c.tokens = 40;
    c.topk = 192;
    r.run(c);
  }
}

void masks(Runner& r) {
  for (int heads : {128, 64, 16}) {
    Case c = make("invalid", 6, heads, 700);
    c.invalid = 0.3f;
    r.run(c);
    c.name = "all invalid";
    c.invalid = 1.1f;
    c.sink = 1;
    r.run(c);
    c = make("lengths", 70, heads, 640);
    c.lengths = 0;
    r.run(c);
    c.invalid = 0.5f;
    c.tokens = 12;
    c.name = "lengths, half invalid";
    r.run(c);
    for (int length : {1, 63, 65, 133}) {
      c = make("length", 3, heads, 640);
      c.lengths = length;
      r.run(c);
    }
    c = make("length for 3 tokens", 12, heads, 300);
    c.lengths = 0;
    c.per_length = 3;
    r.run(c);
    c = make("duplicates", 3, heads, 300, 400);
    c.duplicates = true;
    r.run(c);
    for (int sink : {1, 2, 3}) {
      c = make("sink", 3, heads, 512);
      c.sink = sink;
      c.invalid = 0.9f;
      r.run(c);
    }
  }
}

void layout(Runner& r) {
  for (uint32_t page : {1u, 2u, 53u, 57u, 61u, 64u, 69u, 256u, 576u}) {
    Case c = make("page", 3, page % 2 ? 128 : 64, 512, 8192);
    c.page_size = page;
    c.page_pad = page > 1 ? 1168 : 0;
    c.row_pad = page % 3 == 0 ? 16 : 0;
    r.run(c);
  }
  for (int heads : {128, 48}) {
    Case c = make("padded heads, strides", 5, heads, 512);
    c.head_pad = 3;
    r.run(c);
    c.out_shift = 1;
    c.name = "misaligned out";
    r.run(c);
    c.ctas = 1;
    r.run(c);
    c = make("int64 indices", 5, heads, 512);
    c.index64 = true;
    c.invalid = 0.1f;
    r.run(c);
    c = make("batched tokens", 12, heads, 512);
    c.tokens_inner = 3;
    r.run(c);
    c = make("log2, no max", 5, heads, 512);
    c.log2 = true;
    c.want_max = false;
    r.run(c);
    c = make("sink in lse", 5, heads, 512);
    c.lse_sink = true;
    c.sink = 1;
    r.run(c);
  }
  Case c = make("pool over 4 GiB", 2, 64, 512, 4000000);
  c.page_size = 64;
  r.run(c);
}

// kv_append or kv_dequant, through the plugin if there is one.
void move_rows(Runner& r, const sp::KvRows& rows, bool append) {
  if (r.plugin == nullptr) {
    DSAKIT_CHECK(sp::move_kv_rows(rows, append, nullptr));
    return;
  }
  const dsakit_config config = bf16_config(128, rows.elements, 64, rows.page_size, 1);
  dsakit_instance* instance = r.plugin->create(config);
  Tensor kv(rows.pool, kBf16, {rows.pages, rows.page_size, rows.elements},
            {rows.page_stride / 2, rows.row_stride / 2, 1});
  Tensor slots(rows.slots, rows.wide_slots ? kInt64 : kInt32, {rows.count}, {1});
  Tensor values(rows.rows, rows.rows_fp32 ? kFp32 : kBf16, {rows.count, rows.elements},
                {rows.row_bytes / (rows.rows_fp32 ? 4 : 2), 1});
  dsakit_kv_cache cache{};
  cache.size = sizeof(cache);
  cache.data = kv.get();
  dsakit_kv_args args{};
  args.size = sizeof(args);
  args.kv = &cache;
  args.slots = slots.get();
  args.rows = values.get();
  r.plugin->move_rows(instance, args, append);
  r.plugin->destroy(instance);
}

// Rows into slots of a paged pool and back, in both directions' element types.
void rows(Runner& r) {
  constexpr int kCount = 700, kElements = 576, kPage = 24, kPages = 40;
  constexpr int64_t kRow = kElements * 2 + 16, kPageStride = kRow * kPage + 48;
  auto* pool = device<uint8_t>(kPageStride * kPages);
  auto* slots = device<int64_t>(kCount);
  auto* singles = device<float>(size_t{kCount} * kElements);
  auto* halves = device<uint16_t>(size_t{kCount} * kElements);
  std::vector<float> values(size_t{kCount} * kElements);
  for (size_t i = 0; i < values.size(); ++i) {
    const uint32_t bits = mix(i * 3 + 1);
    std::memcpy(&values[i], &bits, 4);  // any float, NaN and subnormals included
  }
  std::vector<int64_t> host_slots(kCount);
  for (int i = 0; i < kCount; ++i) host_slots[i] = i % 50 == 7 ? -1 - i : i % 50 == 9 ? 960 + i : i;
  DSAKIT_CHECK(cudaMemset(pool, 0xAB, kPageStride * kPages));
  DSAKIT_CHECK(cudaMemset(halves, 0xCD, values.size() * 2));
  DSAKIT_CHECK(cudaMemcpy(slots, host_slots.data(), kCount * 8, cudaMemcpyHostToDevice));
  DSAKIT_CHECK(cudaMemcpy(singles, values.data(), values.size() * 4, cudaMemcpyHostToDevice));
  sp::KvRows rows;
  rows.pool = reinterpret_cast<std::byte*>(pool);
  rows.pages = kPages;
  rows.page_size = kPage;
  rows.page_stride = kPageStride;
  rows.row_stride = kRow;
  rows.count = kCount;
  rows.slots = reinterpret_cast<const std::byte*>(slots);
  rows.wide_slots = true;
  rows.slot_stride = 8;
  rows.rows = reinterpret_cast<std::byte*>(singles);
  rows.rows_fp32 = true;
  rows.row_bytes = kElements * 4;
  rows.elements = kElements;
  move_rows(r, rows, true);
  rows.rows = reinterpret_cast<std::byte*>(halves);
  rows.rows_fp32 = false;
  rows.row_bytes = kElements * 2;
  move_rows(r, rows, false);
  DSAKIT_CHECK(cudaDeviceSynchronize());
  const auto stored = Runner::fetch(pool, kPageStride * kPages);
  const auto back = Runner::fetch(halves, values.size());
  std::vector<uint8_t> wanted(stored.size(), 0xAB);
  int bad = 0;
  for (int i = 0; i < kCount; ++i) {
    const bool inside = host_slots[i] >= 0 && host_slots[i] < kPage * kPages;
    for (int d = 0; d < kElements; ++d) {
      uint32_t bits;
      std::memcpy(&bits, &values[size_t{static_cast<size_t>(i)} * kElements + d], 4);
      const bool nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
      const uint16_t half = static_cast<uint16_t>(nan ? (bits >> 16) | 0x40
                                                      : (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
      const int64_t slot = host_slots[i];
      if (inside) {
        std::memcpy(&wanted[slot / kPage * kPageStride + slot % kPage * kRow + 2 * d], &half, 2);
      }
      bad += back[size_t{static_cast<size_t>(i)} * kElements + d] != (inside ? half : 0xCDCD);
    }
  }
  bad += stored != wanted;
  (bad ? r.failed : r.passed) += 1;
  std::printf("%s rows into the pool and back, %d wrong\n", bad ? "FAIL" : "ok  ", bad);
}

void traps(Runner& r) {
  for (int heads : {128, 64, 16}) {
    for (Data data : {Data::kRising, Data::kPeaked, Data::kEqual, Data::kLastMaximum}) {
      Case c = make("trap", 2, heads, 2048, 16384);
      c.name += std::to_string(static_cast<int>(data));
      c.data = data;
      r.run(c);
      c.ctas = 1;
      r.run(c);
    }
    for (float scale : {0.5f, 1.0f, -0.1f}) {
      Case c = make("scale", 2, heads, 512);
      c.scale = scale;
      r.run(c);
    }
  }
}

void graph(Runner& r) {
  for (int heads : {128, 64, 8}) {
    Case c = make("graph replay", 5, heads, 640);
    c.lengths = 0;
    c.invalid = 0.1f;
    r.run_graph(c);
  }
}

void sweep(Runner& r) {
  for (int heads : {128, 64, 16}) {
    for (int tokens = 1; tokens <= 300; tokens += tokens < 140 ? 1 : 7) {
      Case c = make("sweep", tokens, heads, 320, 2048);
      c.invalid = 0.01f;
      r.run(c, static_cast<uint64_t>(tokens), true);
    }
  }
}

}  // namespace
}  // namespace dsakit::test

int main(int argc, char** argv) {
  using namespace dsakit::test;
  int error = 0;
  Runner runner;
  runner.max_ctas = dsakit::sparse::device_ctas(0, &error);
  if (runner.max_ctas == 0) {
    std::printf("no device for these kernels: %s\n",
                cudaGetErrorString(static_cast<cudaError_t>(error)));
    return 2;
  }
  std::printf("%d multiprocessors\n", runner.max_ctas);
  const std::string first = argc > 1 ? argv[1] : "";
  const bool by_plugin = first.find(".so") != std::string::npos;
  Plugin plugin_file = by_plugin ? Plugin(argv[1]) : Plugin();
  if (by_plugin) {
    runner.plugin = &plugin_file;
    --argc;
    ++argv;
  }
  const std::pair<const char*, Group> all[] = {
      {"tiny", tiny},   {"rows", rows},     {"basic", basic}, {"shapes", shapes}, {"heads", heads},
      {"masks", masks}, {"layout", layout}, {"traps", traps}, {"graph", graph},   {"sweep", sweep}};
  for (const auto& [name, group] : all) {
    bool wanted = argc < 2;
    for (int i = 1; i < argc; ++i) wanted |= std::strcmp(argv[i], name) == 0;
    if (wanted) group(runner);
  }
  std::printf("%d passed, %d failed\n", runner.passed, runner.failed);
  return runner.failed ? 1 : 0;
}
