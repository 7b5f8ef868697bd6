#!/usr/bin/env python3
"""How long the real slices of the GPU's queue are where plans promise a limit, measured on this machine.

    gpu_slices.py BIN MODELS --work DIR [--time-budget 5m] [--cpu-cores 0] [--gpu-cores 1] [--profile NAME|FILE.json]

BIN is a folder with codlc, codl-bench and codl-profile; MODELS has networks with weights as NAME.onnx. Needs Python's
standard library only. OpenCL is what the environment says (OCL_ICD_VENDORS). Nothing else may run meanwhile.

Each network is compiled with `codlc --gpu-limit=50% --max-gpu-slice=4ms` for the pair of cores, by a profile that
codl-profile makes first (without --profile, in a third of the time), and run by `codl-bench --list-slices`. A slice is
the time from when a kernel is enqueued until the GPU has done it, by the OpenCL events of the run: so long would
another program's request wait that comes right behind the kernel, where the GPU serves in order of request. The first
run of a session, which compiles kernels, is not among them.

DIR keeps the profile, plans and results.json; networks that are in results.json are not measured again. Markdown goes
to stdout. Exit code 1 if fewer than 99 % of a network's slices are within the limit, or fewer than five networks have
any; 3 if time was up first (the same command goes on).
"""
import argparse
import json
import os
import sys
import time

import measured_pairs
import results

NETWORKS = ("squeezenet1_1_ts13", "mobilenet_v2_ts13", "mobilenet_v3_large_ts13", "efficientnet_b0_ts13",
            "resnet18_ts13", "resnet50_ts13", "inception_v3_ts13")
MIN_SHARE = 0.99  # of a network's slices within the limit
MIN_NETWORKS = 5  # with slices
RUNS_SECONDS = 10  # of a network's recorded runs, about
MIN_RUNS = 20
MAX_RUNS = 500
PROFILE_SHARE = 1 / 3  # of the time, for the profile


def quantile(ordered, share):
    """Of values in ascending order: the least one that so many are at most."""
    return ordered[min(len(ordered) - 1, max(0, -(-int(share * 1e6) * len(ordered) // 1_000_000) - 1))]


def share_within(slices_us, limit_us):
    return sum(us <= limit_us for us in slices_us) / len(slices_us)


class Pair(measured_pairs.Build):
    """Plans for a pair of cores, with limits."""

    def limited_plan(self, network):
        """The plan's path, and what codlc predicts of its first variant."""
        path = os.path.join(self.folder, network + ".limited.codl")
        report = path + ".json"
        if not os.path.exists(path):
            measured_pairs.run(self.binaries, "codlc", os.path.join(self.options.models, network + ".onnx"),
                               f"--device={self.profile}", f"--gpu-limit={self.options.gpu_limit}",
                               f"--max-gpu-slice={self.options.max_gpu_slice_ms}ms",
                               f"--search-budget={self.options.search_budget}", "-q", f"--report-json={report}",
                               "-o", path)
        with open(report, encoding="utf-8") as file:
            return path, json.load(file)["variants"][0]

    def slices(self, plan, variant, run_count):
        return json.loads(measured_pairs.run(
            self.binaries, "codl-bench", plan, f"--variant={variant}", "--require-variant", "--json", *self.pins,
            "--num-runs=3", "--warmup-runs=1", f"--recorded-runs={run_count}", "--list-slices"))


def gpu_share_of(recorded):
    """GPU busy, of a recorded run's time."""
    return sum(queue["busy_us"] for queue in recorded["queues"] if queue["queue"] == "gpu") / recorded["wall_us"]


def measure(pair, network):
    plan, predicted = pair.limited_plan(network)
    first = pair.slices(plan, predicted["name"], 1)
    runs = max(MIN_RUNS, min(MAX_RUNS, round(RUNS_SECONDS * 1e6 / first["median_us"])))
    report = pair.slices(plan, predicted["name"], runs)
    return {"runs": runs, "median_us": report["median_us"], "predicted_us": predicted["predicted_us"],
            "predicted_slice_us": predicted["longest_slice_us"], "predicted_gpu_share": predicted["gpu_share"],
            "gpu_share": gpu_share_of(report["recorded_run"]), "slices_us": report["slices_us"]}


def judge(networks, limit_us):
    """What fails, in words; empty: nothing."""
    faults = []
    with_slices = {name: found for name, found in networks.items() if found["slices_us"]}
    for name, found in with_slices.items():
        share = share_within(found["slices_us"], limit_us)
        if share < MIN_SHARE:
            faults.append(f"{name}: expected {MIN_SHARE:.0%} of the slices within {limit_us / 1e3:g} ms, found {share:.1%}")
    if len(with_slices) < MIN_NETWORKS:
        faults.append(f"expected {MIN_NETWORKS} networks with slices, found {len(with_slices)}")
    return faults


def row(name, found, limit_us):
    slices = sorted(found["slices_us"])
    ms = lambda us: f"{us / 1e3:.2f}"
    measured = [f"{100 * share_within(slices, limit_us):.2f}", ms(quantile(slices, 0.99)), ms(slices[-1])] if slices else ["-"] * 3
    return [name, found["runs"], ms(found["predicted_us"]), ms(found["median_us"]),
            f"{100 * found['predicted_gpu_share']:.0f}", f"{100 * found['gpu_share']:.0f}", ms(found["predicted_slice_us"]),
            len(slices), *measured]


def page(data, limit_us):
    faults = judge(data["networks"], limit_us)
    head = ["network", "runs", "run, ms (predicted)", "run, ms (measured)", "GPU busy, % (predicted)",
            "GPU busy, % (measured)", "longest slice, ms (predicted)", "slices", f"within {limit_us / 1e3:g} ms, %",
            "99 % are within, ms", "longest, ms"]
    return ["# Slices of the real GPU queue, measured", "", *results.wrapped(
        f"Measured on {data['machine']}: the CPU's steps on core {data['cores'][0]}, OpenCL "
        f"({data['opencl'] or 'the system'}) on core {data['cores'][1]}, load before it {data['load_before']:.2f}, profile "
        f"{data['profile']}. Plans: `--gpu-limit={data['gpu_limit']} --max-gpu-slice={limit_us / 1e3:g}ms`. A slice is the time from "
        "when a kernel is enqueued until it is done, by OpenCL's events. Made by `test/eval/gpu_slices.py`."),
        *results.table(head, [row(name, found, limit_us) for name, found in data["networks"].items()]),
        *results.wrapped("The limit holds: in each network 99 % of the slices are within it."
                         if not faults else "Fails: " + "; ".join(faults) + ".")]


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    measured_pairs.pair_arguments(parser, "5m")
    parser.add_argument("--networks", type=lambda text: text.split(","), default=list(NETWORKS), metavar="NAME,...",
                        help="without .onnx (default: seven)")
    parser.add_argument("--gpu-limit", default="50%", help="of codlc (default: 50%%)")
    parser.add_argument("--max-gpu-slice-ms", type=float, default=4, help="(default: 4)")
    options = parser.parse_args()
    options.profile_budget, options.profile_flags = PROFILE_SHARE * options.time_budget, ["--no-tiles"]
    missing = [name for name in options.networks if not os.path.exists(os.path.join(options.models, name + ".onnx"))]
    if missing:
        parser.error(f"{options.models}: expected {missing[0]}.onnx, found no such file")
    return options


def main():
    options = parse()
    end = time.monotonic() + options.time_budget
    limit_us = 1e3 * options.max_gpu_slice_ms
    load_before = os.getloadavg()[0]
    pair = Pair(options, options.bin, "slices", "pinned")
    path = os.path.join(options.work, "results.json")
    data = {"machine": results.machine_text(), "opencl": os.environ.get("OCL_ICD_VENDORS", ""), "load_before": load_before,
            "cores": [options.cpu_cores, options.gpu_cores], "gpu_limit": options.gpu_limit, "limit_us": limit_us,
            "profile": options.profile, "networks": {}}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
    if options.profile:
        pair.profile = options.profile
    elif seconds := pair.make_profile():
        data["profile"] = f"made in {seconds:.0f} s before"
    longest = 0
    for network in options.networks:
        if network in data["networks"]:
            continue
        begin = time.monotonic()
        if begin + longest > end:
            break
        found = data["networks"][network] = measure(pair, network)
        longest = max(longest, time.monotonic() - begin)
        measured_pairs.write_whole(path, json.dumps(data) + "\n")
        print(f"{network}: {time.monotonic() - begin:.0f} s, {len(found['slices_us'])} slices", file=sys.stderr, flush=True)
    print("\n".join(page(data, limit_us)).rstrip())
    if len(data["networks"]) < min(MIN_NETWORKS, len(options.networks)):
        print("gpu_slices.py: time is up: the same command goes on with what is left", file=sys.stderr)
        return measured_pairs.LEFT
    return int(bool(judge(data["networks"], limit_us)))


if __name__ == "__main__":
    sys.exit(main())
