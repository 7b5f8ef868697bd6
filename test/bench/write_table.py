#!/usr/bin/env python3
"""Writes what kernel_bench measured into a document, as a table.

  kernel_bench --benchmark_filter='/(avx3|avx2|neon)$' --benchmark_out=FILE.json
  write_table.py FILE.json docs/results/xeon_2core.md

Between `<!-- kernel_bench -->` and `<!-- end -->`. Repetitions of a benchmark become their median,
with the least and the greatest share.
"""
import json
import os
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import markdown


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    source, document = sys.argv[1:]
    with open(source) as file:
        benchmarks = json.load(file)["benchmarks"]
    runs = {}
    for run in benchmarks:
        if run["run_type"] == "iteration":
            runs.setdefault(run["name"].split("/repeats:")[0], []).append(run)
    median = lambda name, field: statistics.median(run.get(field, 0) for run in runs[name])
    rows = []
    # Repetitions may be interleaved: the order of kernels.def and of the shapes.
    for name in sorted(runs, key=lambda name: runs[name][0]["family_index"]):
        row, rest = name.split("/", 1)
        shape, target = rest.rsplit("/", 1)
        flops = median(name, "GFLOP/s")
        shares = [run["roof"] for run in runs[name]]
        is_arithmetic = median(name, "arithmetic") > median(name, "memory")
        rows.append([row, shape, target, f"{median(name, 'best'):.1f}",
                     f"{flops:.0f}" if flops else "-", f"{median(name, 'GB/s'):.1f}",
                     f"{statistics.median(shares):.0%}" +
                     (f" ({min(shares):.0%}-{max(shares):.0%})" if len(shares) > 1 else ""),
                     "arithmetic" if is_arithmetic else "memory",
                     f"{median(name, 'peak'):.0f}", f"{median(name, 'stream'):.0f}"])
    head = ["kernel", "shape", "set", "us", "GFLOP/s", "GB/s", "share of the roof", "bound",
            "FMA peak, GFLOP/s", "stream, GB/s"]
    markdown.write_section(document, "kernel_bench", markdown.table(head, rows))


if __name__ == "__main__":
    main()
