#!/usr/bin/env python3
"""Plans of two cost models against each other: measure 1 of the cost model.

    compare_models.py simulate --old OLD --new NEW --models DIR [--devices NAME,...] [--draws 5]
    compare_models.py measure --old OLD --new NEW --models DIR --device NAME --cpu-cores 0 --gpu-cores 1 [--rounds 20]

OLD is a folder with the programs of the commit that the model is compared with, and its profiles in OLD/profiles. NEW
is a folder with the programs of this tree (build/release/bin). DIR has the networks with weights as NAME.onnx.

`simulate`: codlc of both plans the same networks with the same --search-budget, each with its own profile of the same
machine. Both plans are judged by the old codl-sim on the old profile, so the new model gets no credit for a plan that
only it believes in. The number is the new plan's simulated wall time over the old plan's. `--draws` times, codlc plans
again with a profile in which each share of each kernel and family is multiplied with a factor drawn from 1/1.2 to 1.2,
uniformly in its logarithm (seeds 1, 2, ...): how much plans depend on the last percent of a share.

`measure`: codl-bench of NEW runs both plans on pinned cores in turns, --rounds times around, the order reversed from
round to round. The number is the median over rounds of the paired ratio; the spread is from the ratios' first to
their third quartile. Nothing else may run on the machine. Needs LD_LIBRARY_PATH for a codl-bench outside its build.

Both write their section of docs/results/cost_model.md (--out: the .json beside it).
"""
import argparse
import concurrent.futures
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile

import compare_plans
import results

# The networks of docs/results/networks.md.
NETWORKS = ("deeplabv3_mobilenet_ts13", "densenet121_ts13", "efficientnet_b0_ts13", "fast_style_transfer_ts13",
            "inception_v3_ts13", "mobilenet_v2_ts13", "mobilenet_v3_large_ts13", "resnet18_ts13", "resnet50_ts13",
            "squeezenet1_1_ts13", "vgg16_ts13", "yolov2")
DEVICES = "host-2core-zen4-pocl,16core-pocl,h200-nvidia"
BUDGET = 1000  # codlc's own default
PERTURBATION = 1.2
SIMULATED_TARGETS = (1.015, 1.04)  # mean, worst
MEASURED_TARGETS = (1.02, 1.04)
PROFILES = os.path.join(results.HERE, "..", "..", "profiles")
SECONDS = 900  # that one program may take


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    if done.returncode:
        sys.exit(f"compare_models.py: error: {' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def make_plan(binaries, model, profile, plan, budget=BUDGET):
    run(os.path.join(binaries, "codlc"), model, f"--device={profile}", f"--search-budget={budget}", "-q", "-o", plan)


def simulated_us(binaries, plan, profile):
    """Wall time of the plan's first variant, the one that a run takes."""
    report = run(os.path.join(binaries, "codl-sim"), plan, f"--device={profile}", "--json")
    return json.loads(report)["runs"][0]["wall_us"]


def perturbed(profile, seed):
    """A profile (JSON) whose shares are off by up to PERTURBATION."""
    draw = random.Random(seed)
    limit = math.log(PERTURBATION)

    def shares(calibration):
        def drawn(share):
            return share * math.exp(draw.uniform(-limit, limit))
        changed = dict(calibration, shares={term: drawn(share) for term, share in calibration["shares"].items()})
        if "joint" in calibration:
            changed["joint"] = [[*which, drawn(share)] for *which, share in calibration["joint"]]
        return changed

    changed = dict(profile, kernels={name: shares(found) for name, found in profile.get("kernels", {}).items()})
    changed["families"] = {processor: {name: shares(found) for name, found in families.items()}
                           for processor, families in profile.get("families", {}).items()}
    return changed


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def write_json(path, value):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file)


def judged_us(binaries, profile, model, options, device):
    """Simulated time of the plan that `binaries` make with `profile`, by the old programs and the old profile."""
    with tempfile.TemporaryDirectory() as folder:
        plan = os.path.join(folder, "plan.codl")
        make_plan(binaries, model, profile, plan, options.search_budget)
        return simulated_us(options.old, plan, os.path.join(options.old, "profiles", device + ".json"))


def compare_device(device, new_profiles, options, pool):
    """By network: the old plan's microseconds, and those of the plans made with each of `new_profiles` (paths)."""
    old_profile = os.path.join(options.old, "profiles", device + ".json")
    tasks = {}
    for name in options.networks:
        model = os.path.join(options.models, name + ".onnx")
        tasks[name] = [pool.submit(judged_us, options.old, old_profile, model, options, device)]
        tasks[name] += [pool.submit(judged_us, options.new, profile, model, options, device)
                        for profile in new_profiles]
    found = {}
    for name, futures in tasks.items():
        us = [future.result() for future in futures]
        found[name] = {"old_us": us[0], "new_us": us[1:]}
        print(device, name, " ".join(f"{t / us[0]:.4f}" for t in us[1:]), flush=True)
    return found


def verdict(mean, worst, targets):
    return "met" if mean <= targets[0] and worst <= targets[1] else "missed"


def comparison_tables(found, title="as fitted", is_drawn=True):
    """Lines of a page: a table of the means, one of all networks. `found`: by device what compare_device() gives."""
    rows, fitted, drawn = [], {}, {}
    for device, networks in found.items():
        ratios = {name: [us / times["old_us"] for us in times["new_us"]] for name, times in networks.items()}
        for name, own in ratios.items():
            cells = [device, name, f"{networks[name]['old_us'] / 1e3:.3f}", f"{networks[name]['new_us'][0] / 1e3:.3f}",
                     f"{own[0]:.4f}"]
            rows.append(cells + ([f"{statistics.mean(own[1:]):.4f}", f"{max(own[1:]):.4f}"] if is_drawn else []))
        fitted[device] = [own[0] for own in ratios.values()]
        drawn[device] = [ratio for own in ratios.values() for ratio in own[1:]]
    summary = []
    for model, by_device in ((title, fitted), ("shares off by up to 20 %", drawn))[:2 if is_drawn else 1]:
        for device, own in [*by_device.items(), ("all", [ratio for own in by_device.values() for ratio in own])]:
            summary.append((device, model, f"{statistics.mean(own):.4f}", f"{max(own):.4f}",
                            verdict(statistics.mean(own), max(own), SIMULATED_TARGETS)))
    head = ["profile", "network", "old plan, ms", "new plan, ms", "new / old"]
    head += ["shares off: mean", "worst"] if is_drawn else []
    return (results.table(["profile", "new model", "mean new / old", "worst", "target"], summary) +
            results.table(head, rows))


def simulate(options):
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        found = {}
        for device in options.devices.split(","):
            profiles = [os.path.join(options.profiles, device + ".json")]
            for seed in range(1, options.draws + 1):
                profiles.append(os.path.join(folder, f"{device}.{seed}.json"))
                write_json(profiles[-1], perturbed(read_json(profiles[0]), seed))
            found[device] = compare_device(device, profiles, options, pool)
    lines = results.wrapped(
        f"Simulated, on {results.machine_text()}. Both plans of a network are found with the same search "
        f"(`--search-budget={options.search_budget}`) and judged by the *old* model: `codl-sim` of the commit before "
        f"the cost model, on its profile of the machine. Targets: {SIMULATED_TARGETS[0]} in the mean, "
        f"{SIMULATED_TARGETS[1]} in the worst case. `test/eval/compare_models.py simulate`.")
    results.write_section(options.out, "simulated", lines + comparison_tables(found, is_drawn=options.draws > 0), found)


def same_plan(binaries, plans):
    tables = [compare_plans.without_uncompared(json.loads(run(os.path.join(binaries, "codl-dump"), plan, "--json")))
              for plan in plans]
    return compare_plans.first_difference(*tables) is None


def bench_us(options, plan):
    report = run(os.path.join(options.new, "codl-bench"), plan, "--json", "--require-variant", "--num-runs=5",
                 "--warmup-runs=2", f"--min-ms={options.min_ms}", f"--cpu-cores={options.cpu_cores}",
                 f"--gpu-cores={options.gpu_cores}")
    return json.loads(report)["median_us"]


def measure_network(options, name, folder):
    plans = [os.path.join(folder, f"{kind}.codl") for kind in ("old", "new")]
    model = os.path.join(options.models, name + ".onnx")
    make_plan(options.old, model, os.path.join(options.old, "profiles", options.device + ".json"), plans[0],
              options.search_budget)
    make_plan(options.new, model, options.profile, plans[1], options.search_budget)
    rounds = []
    for index in range(options.rounds):
        order = (0, 1) if index % 2 == 0 else (1, 0)
        us = {which: bench_us(options, plans[which]) for which in order}
        rounds.append([us[0], us[1]])
    found = {"rounds_us": rounds, "is_same_plan": same_plan(options.new, plans)}
    for plan in plans:
        os.remove(plan)
    return found


def paired(rounds):
    """Median, first and third quartile of new over old."""
    first, middle, third = statistics.quantiles([new / old for old, new in rounds], n=4)
    return middle, first, third


def measure(options):
    found, rows = {}, []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.networks:
            found[name] = measure_network(options, name, folder)
            middle, first, third = paired(found[name]["rounds_us"])
            old, new = (statistics.median(us) / 1e3 for us in zip(*found[name]["rounds_us"]))
            rows.append((name, f"{old:.3f}", f"{new:.3f}", f"{middle:.4f}", f"{first:.4f} to {third:.4f}",
                         "yes" if found[name]["is_same_plan"] else "no"))
            print(*rows[-1], flush=True)
    middles, firsts, _ = zip(*(paired(own["rounds_us"]) for own in found.values()))
    mean, worst = statistics.mean(middles), max(firsts)
    lines = results.wrapped(
        f"Measured on {results.machine_text()}, the CPU queue on core {options.cpu_cores} and OpenCL on core "
        f"{options.gpu_cores}, {options.rounds} rounds in turns; profile {options.device}. The ratio is the median of "
        "the paired ratios, the spread is from their first to their third quartile. "
        "`test/eval/compare_models.py measure`.")
    lines += results.wrapped(
        f"Mean of the ratios {mean:.4f} (target {MEASURED_TARGETS[0]}); greatest first quartile {worst:.4f} (target "
        f"{MEASURED_TARGETS[1]} beyond the spread): {verdict(mean, worst, MEASURED_TARGETS)}.")
    lines += results.table(["network", "old plan, ms", "new plan, ms", "new / old", "spread", "same plan"], rows)
    results.write_section(options.out, "measured", lines, {"device": options.device, "networks": found})


def add_common(parser):
    parser.add_argument("--old", required=True, help="folder with the old programs and profiles/")
    parser.add_argument("--new", required=True, help="folder with this tree's programs")
    parser.add_argument("--models", required=True, help="folder of NAME.onnx, with weights")
    parser.add_argument("--networks", type=lambda text: text.split(","), default=NETWORKS)
    parser.add_argument("--search-budget", type=int, default=BUDGET)
    parser.add_argument("--out", default=results.DEFAULT)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    own = commands.add_parser("simulate")
    own.set_defaults(work=simulate)
    add_common(own)
    own.add_argument("--devices", default=DEVICES)
    own.add_argument("--profiles", default=PROFILES, help="folder of the new profiles")
    own.add_argument("--draws", type=int, default=5)
    own.add_argument("--jobs", type=int, default=2)
    own = commands.add_parser("measure")
    own.set_defaults(work=measure)
    add_common(own)
    own.add_argument("--device", required=True, help="name of the profile, of both models")
    own.add_argument("--profile", help="file of the new profile (default: this tree's)")
    own.add_argument("--cpu-cores", required=True)
    own.add_argument("--gpu-cores", required=True)
    own.add_argument("--rounds", type=int, default=20)
    own.add_argument("--min-ms", type=int, default=300, help="of timed runs in a round")
    options = parser.parse_args()
    if options.work is measure and not options.profile:
        options.profile = os.path.join(PROFILES, options.device + ".json")
    options.work(options)


if __name__ == "__main__":
    main()
