#!/usr/bin/env python3
"""Networks in less memory: each compiled with --max-arena at 70 % of what it needs without, and what that costs in time.

    arena_limits.py MODELS --bin BIN [--device sd855] [--out docs/results/arena_limits.md]

MODELS has the ten networks with weights. Times are simulated on the device's profile; memory is what the plan says, and what a
session of codl-bench on this machine holds of it, which is measured. Exit code 1 where fewer than eight of the ten compile, or
a session holds more than the limit.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "test", "support"))
import markdown  # noqa: E402

NETWORKS = ("squeezenet1_1", "mobilenet_v2", "mobilenet_v3_large", "efficientnet_b0", "resnet18", "densenet121", "resnet50",
            "inception_v3", "deeplabv3_mobilenet", "fast_style_transfer")
SHARE = 0.7  # limit as a share of the default's arenas and images
LEAST_COMPILED = 8
MIB = 1 << 20
SECONDS = 1800  # limit for one program
BEST = re.compile(r"found ([\d.]+) MB at best")
ARENAS = ("host_bytes", "shared_bytes", "device_bytes", "image_bytes")


def run(command, codes=(0,)):
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    if done.returncode not in codes:
        sys.exit(f"arena_limits.py: error: {' '.join(command)}: {done.stderr.strip()}")
    return done


class Compiled:
    """A plan's first variant; if the limit cannot be met, there is only `best_mib`."""

    def __init__(self, options, model, flags, folder):
        path, report = os.path.join(folder, "plan.codl"), os.path.join(folder, "plan.json")
        done = run([os.path.join(options.bin, "codlc"), model, f"--device={options.device}", *flags, "-q", "-o", path,
                    f"--report={report}"], codes=(0, 3))
        self.best_mib = float(BEST.search(done.stderr)[1]) * 1e6 / MIB if done.returncode else None
        if done.returncode:
            return
        with open(report) as file:
            first = json.load(file)["variants"][0]
        self.ms, self.arena_bytes = first["predicted_us"] / 1e3, first["arena_bytes"]
        bench = run([os.path.join(options.bin, "codl-bench"), path, "--json", "--warmup-runs=1", "--num-runs=2", "--variant=coexec"])
        self.measured_bytes = sum(json.loads(bench.stdout)[kind] for kind in ARENAS)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", metavar="MODELS")
    parser.add_argument("--bin", required=True)
    parser.add_argument("--device", default="sd855")
    parser.add_argument("--out", default=os.path.join(ROOT, "docs", "results", "arena_limits.md"))
    parser.add_argument("--networks", default=",".join(NETWORKS))
    options = parser.parse_args()
    rows, compiled, too_large = [], 0, []
    with tempfile.TemporaryDirectory() as folder:
        for network in options.networks.split(","):
            model = os.path.join(options.models, f"{network}_ts13.onnx")
            free = Compiled(options, model, [], folder)
            limit = int(SHARE * free.arena_bytes)
            kept = Compiled(options, model, [f"--max-arena={limit}B"], folder)
            row = [network, f"{free.arena_bytes / MIB:.2f}", f"{limit / MIB:.2f}"]
            if kept.best_mib is not None:
                row += [f"none, {kept.best_mib:.2f} at best", "", "", f"{free.ms:.1f}", "", ""]
            else:
                compiled += 1
                if kept.measured_bytes > limit:
                    too_large.append(network)
                row += ["yes", f"{kept.arena_bytes / MIB:.2f}", f"{kept.measured_bytes / MIB:.2f}", f"{free.ms:.1f}", f"{kept.ms:.1f}",
                        f"{100 * (kept.ms / free.ms - 1):+.0f}"]
            rows.append(row)
            print(" ".join(row), flush=True)
    count = len(rows)
    verdict = (f"{compiled} of {count} compile (aim: {LEAST_COMPILED} of {len(NETWORKS)}); " +
               (f"above the limit in a session: {', '.join(too_large)}." if too_large else "no session holds more than the limit."))
    head = ["network", "without limit, MiB (plan)", "limit, MiB", "compiles", "MiB (plan)", "MiB (measured, session)",
            "without limit, ms (simulated)", "with limit, ms (simulated)", "time, %"]
    markdown.write_section(options.out, options.device, [*markdown.table(head, rows), "", verdict])
    print(verdict)
    return 0 if compiled >= LEAST_COMPILED * count / len(NETWORKS) and not too_large else 1


if __name__ == "__main__":
    sys.exit(main())
