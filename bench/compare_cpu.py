#!/usr/bin/env python3
"""Sets the cpu plugin beside PyTorch and OpenBLAS on this machine.

usage: compare_cpu.py BENCH [--threads N] [--clock wall|cpu]

BENCH is the built cpu_attention_bench. PyTorch is the plain implementation: float32 gather, matmul, softmax,
matmul; it must be importable (pip install torch). --threads 1 with --clock cpu gives figures that hold on a
busy machine; 0 means all cores. Prints a table; exits 1 where the plugin is slower than PyTorch, or, from 64
heads on, under 70 % of sgemm.
"""
import argparse
import json
import subprocess
import sys
import time

TOPK, ROWS, LATENT, ROPE = 2048, 65536, 512, 64
REPETITIONS = 5


def clock(kind):
    return time.clock_gettime(time.CLOCK_PROCESS_CPUTIME_ID) if kind == "cpu" else time.perf_counter()


def plugin_times(bench, threads, kind):
    """Best milliseconds and flops of a call, by (phase, layout, heads); and sgemm's."""
    out = subprocess.run(
        [bench, f"--benchmark_filter=threads:{threads}/", "--benchmark_format=json",
         f"--benchmark_repetitions={REPETITIONS}", "--benchmark_min_time=0.2"],
        check=True, capture_output=True, text=True).stdout
    best = {}
    for run in json.loads(out)["benchmarks"]:
        if run["run_type"] != "iteration" or run.get("error_occurred"):
            continue
        parts = run["name"].split("/")
        key = "sgemm" if parts[0] == "sgemm" else (*parts[1].split("_"), int(parts[2].split(":")[1]))
        milliseconds = run[f"best_{kind}_ms"]
        if key not in best or milliseconds < best[key][0]:
            best[key] = (milliseconds, run["flops"], run.get("tokens", 1))
    return best


class TorchAttention:
    """One token after the other, as one would write it."""

    def __init__(self, torch, layout):
        self.torch, self.layout = torch, layout
        if layout == "bf16":
            self.kv = torch.randn(ROWS, LATENT + ROPE).bfloat16()
        else:
            self.codes = torch.randn(ROWS, LATENT).to(torch.float8_e4m3fn)
            self.scales = torch.rand(ROWS, LATENT // 128) + 0.5
            self.rope = torch.randn(ROWS, ROPE).bfloat16()

    def keys(self, rows):
        if self.layout == "bf16":
            return self.kv[rows].float()
        nope = self.codes[rows].float().view(-1, LATENT // 128, 128) * self.scales[rows].unsqueeze(-1)
        return self.torch.cat([nope.view(-1, LATENT), self.rope[rows].float()], 1)

    def run(self, q, indices):
        out = []
        for query, rows in zip(q, indices):
            keys = self.keys(rows)
            probabilities = self.torch.softmax(query.float() @ keys.T * (LATENT + ROPE) ** -0.5, -1)
            out.append((probabilities @ keys[:, :LATENT]).bfloat16())
        return self.torch.stack(out)


def torch_time(torch, model, heads, tokens, kind):
    q = torch.randn(tokens, heads, LATENT + ROPE).bfloat16()
    indices = torch.randint(0, ROWS, (tokens, TOPK))
    best = float("inf")
    for _ in range(6 * REPETITIONS):
        start = clock(kind)
        model.run(q, indices)
        best = min(best, clock(kind) - start)
    return best * 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall")
    args = parser.parse_args()
    import torch

    if args.threads > 0:
        torch.set_num_threads(args.threads)
    times = plugin_times(args.bench, args.threads, args.clock)
    sgemm = times.pop("sgemm", None)
    peak = sgemm[1] / sgemm[0] * 1e-6 if sgemm else None
    print(f"PyTorch {torch.__version__}, {args.threads or 'all'} threads, {args.clock} time, the shortest call; "
          f"OpenBLAS sgemm 2048: {f'{peak:.0f} GFLOP/s' if peak else 'not installed'}")
    print("| phase | layout | heads | plugin ms | PyTorch ms | times faster | GFLOP/s | of sgemm |")
    print("|---|---|---|---|---|---|---|---|")
    good, models = True, {}
    for (phase, layout, heads), (milliseconds, flops, tokens) in times.items():
        model = models.setdefault(layout, TorchAttention(torch, layout))
        other = torch_time(torch, model, heads, int(tokens), args.clock)
        rate = flops / milliseconds * 1e-6
        share = f"{100 * rate / peak:.0f} %" if peak else "-"
        print(f"| {phase} | {layout} | {heads} | {milliseconds:.3f} | {other:.3f} | {other / milliseconds:.1f} "
              f"| {rate:.0f} | {share} |")
        good = good and milliseconds < other and (heads < 64 or not peak or rate >= 0.7 * peak)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
