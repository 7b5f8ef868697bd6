#!/usr/bin/env python3
"""Co-execution measured on this machine, by profiles that codl-profile makes first.

    measured_pairs.py BIN MODELS --work DIR [--time-budget 25m] [--conditions unpinned,pinned] [--old OLDBIN]

BIN is a folder with codlc, codl-profile, codl-bench and codl-dump; MODELS has networks with weights as NAME.onnx. Needs
Python's standard library only. OpenCL is what the environment says (OCL_ICD_VENDORS). Nothing else may run meanwhile.

Two conditions, each with a profile of its own:

  unpinned  codl-profile with its defaults. For every network the co-execution plan and the CPU plan in turns, in one
            process (codl-bench --all-variants): no co-execution plan may be slower than 0.97 times the CPU plan,
            unless it is the CPU plan to the byte (two variants that differ in their names only; these are not timed).
  pinned    one core a processor (--cpu-cores, --gpu-cores): how many networks are split between the processors, how
            many times as fast each is as the better processor alone (S), and predicted against measured times of all
            variants and of the GPU's plan: median and worst error. With --old OLDBIN also S of the plans of another
            build, with a profile that its own codl-profile makes, in the same rounds, and what both builds reach of
            the ideal gain, (S - 1) / (S* - 1): a and b are the processors' times by the faster of both builds' plans,
            t is co-execution's, S = min(a, b) / t and S* = 1 + min(a, b) / max(a, b). With --learn N the same of
            plans that were compiled N times more, each time with what the steps of those before took
            (codlc --learn), in the same rounds.

DIR keeps profiles, samples, plans and results.json, written anew after each network: the same command goes on where
an earlier one was cut off, and --time-budget ends a run between two networks. `DIR/results.md` has the tables. Exit
code 1 if a condition fails, 3 if something is left to do.
"""
import argparse
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import time

import results

NETWORKS = ("squeezenet1_1_ts13", "mobilenet_v2_ts13", "mobilenet_v3_large_ts13", "efficientnet_b0_ts13",
            "resnet18_ts13", "densenet121_ts13", "resnet50_ts13", "inception_v3_ts13", "deeplabv3_mobilenet_ts13",
            "fast_style_transfer_ts13")
CONDITIONS = ("unpinned", "pinned")
LEAST_OF_CPU = 0.97  # relative to the CPU plan's speed
LEAST_SPLIT = 0.7  # share of the networks
MOST_ERROR = (10, 20)  # percent: median, worst
# Groups timed variants by the beginning of their names, in the order of the tables.
PREFIXES = {"": "this build's plans", "learned ": "those that learned", "old ": "the other build's"}
NOT_JUDGED = ("fast_style_transfer_ts13",)  # not in any mean of ideal gains
DRAWS = 10000  # draws of networks, for the interval of a mean
ROUND_MS = 200  # for a variant
MOST_RUNS = 50
LEAST_RUNS = 3
SECONDS = 1200  # that a program other than codl-profile may take
RECORDED = 15  # runs whose steps are timed, to learn from
LEFT = 3  # limit for a program other than codl-profile


class OutOfTime(Exception):
    pass


def seconds_of(text):
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|h)", text)
    if not match:
        raise argparse.ArgumentTypeError(f"expected a duration like 90s or 25m, found '{text}'")
    return float(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2]]


def run(binaries, tool, *arguments, seconds=SECONDS):
    """Returns the tool's output. If the tool fails, this program ends with the tool's own words."""
    path = os.path.join(binaries, tool)
    libraries = [binaries, os.path.join(binaries, "..", "lib"), os.environ.get("LD_LIBRARY_PATH", "")]
    environment = dict(os.environ, LD_LIBRARY_PATH=":".join(filter(None, libraries)))
    error = f"{os.path.basename(sys.argv[0])}: error: {path}"
    try:
        done = subprocess.run([path, *arguments], capture_output=True, text=True, timeout=seconds, env=environment)
    except OSError as failure:
        sys.exit(f"{error}: {failure.strerror}")
    except subprocess.TimeoutExpired:
        sys.exit(f"{error} {' '.join(arguments)}: no end after {seconds:.0f} s")
    if done.returncode:
        sys.exit(f"{error} {' '.join(arguments)}: {done.stderr.strip()[-2000:]}")
    return done.stdout


def write_whole(path, text):
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".new", path)


class Build:
    """Holds the programs of one build, under one condition: its profile and its plans."""

    def __init__(self, options, binaries, name, condition):
        self.options, self.binaries, self.name = options, binaries, name
        self.pins = []
        if condition == "pinned":
            self.pins = [f"--cpu-cores={options.cpu_cores}", f"--gpu-cores={options.gpu_cores}"]
        self.folder = os.path.join(options.work, f"{condition}-{name}")
        os.makedirs(self.folder, exist_ok=True)
        self.profile = os.path.join(self.folder, "profile.json")

    def make_profile(self):
        """Returns the seconds that it took; None if the profile exists."""
        if os.path.exists(self.profile):
            return None
        samples = self.profile + ".samples.csv"
        flags = [*self.pins, *(["--num-threads=1"] if self.pins else []), *self.options.profile_flags]
        flags += ["--resume"] if os.path.exists(samples) else []
        start = time.monotonic()
        text = run(self.binaries, "codl-profile", "-o", self.profile,
                   f"--time-budget={self.options.profile_budget:.0f}s", *flags,
                   seconds=3 * self.options.profile_budget + 600)
        write_whole(os.path.join(self.folder, "profile.log"), text)
        return time.monotonic() - start

    def plan(self, network, strategy, learned=(), name=""):
        path = os.path.join(self.folder, f"{network}.{name or strategy}.codl")
        if not os.path.exists(path):
            run(self.binaries, "codlc", os.path.join(self.options.models, network + ".onnx"),
                f"--device={self.profile}", f"--strategy={strategy}", "-q", "-o", path + ".new",
                *(f"--learn={plan}={bench}" for plan, bench in learned),
                *(["--measured-on=pthread"] if learned else []))  # PoCL, whatever CPU the profile is of
            os.replace(path + ".new", path)
        return path

    def learned_plan(self, network, runs):
        """Returns the plan of the last --learn compilation."""
        plan = self.plan(network, "auto")
        learned = [(path, self.measure_steps(path, runs)) for path in (plan, self.plan(network, "gpu"))]
        for i in range(self.options.learn):
            plan = self.plan(network, "auto", learned, f"learned{i + 1}")
            if i + 1 < self.options.learn:
                learned.append((plan, self.measure_steps(plan, runs)))
        return plan

    def measure_steps(self, plan, runs):
        path = plan + ".steps.json"
        if not os.path.exists(path):
            run(self.binaries, "codl-bench", plan, "--all-variants", "--steps", "--json", *self.pins, "--rounds=2",
                f"--num-runs={runs}", "--warmup-runs=2", f"--recorded-runs={RECORDED}", "-o", path)
        return path

    def variants(self, plan):
        return {v["name"]: v for v in json.loads(run(self.binaries, "codl-dump", plan, "--json"))["variants"]}

    def bench(self, plan, runs):
        """Returns for each variant its predicted time and the median of each round."""
        report = json.loads(run(self.binaries, "codl-bench", plan, "--all-variants", "--json", *self.pins,
                                f"--rounds={self.options.rounds}", f"--num-runs={runs}", "--warmup-runs=2"))
        if report["missing"]:
            sys.exit(f"measured_pairs.py: error: {plan}: not run: {'; '.join(report['missing'])}")
        return {v["variant"]: {"predicted_us": v["predicted_us"], "rounds_us": v["rounds_us"]}
                for v in report["variants"]}

    def bench_one(self, plan, variant, runs):
        """Does the same for one variant, in one round."""
        report = json.loads(run(self.binaries, "codl-bench", plan, f"--variant={variant}", "--require-variant",
                                "--json", *self.pins, f"--num-runs={runs}", "--warmup-runs=2"))
        return {"predicted_us": report["predicted_us"], "rounds_us": [report["median_us"]]}


def is_cpu_plan(variants):
    """True if co-execution is the CPU plan to the byte: two variants that differ only in their names."""
    if "coexec" not in variants:
        return True
    return dict(variants["coexec"], name="") == dict(variants["cpu"], name="")


def is_split(variants):
    queues = {step.get("queue", step.get("lane")) for step in variants.get("coexec", {"steps": []})["steps"] if step["kind"] == "kernel"}
    return {"cpu", "gpu"} <= queues


def runs_of(us):
    return max(LEAST_RUNS, min(MOST_RUNS, round(ROUND_MS * 1e3 / max(us, 1))))


def join(into, name, times):
    """Appends the rounds of another pass."""
    known = into.setdefault(name, {"predicted_us": times["predicted_us"], "rounds_us": []})
    known["rounds_us"] += times["rounds_us"]


def measure_unpinned(network, new, _):
    plan = new.plan(network, "auto")
    variants = new.variants(plan)
    found = {"is_cpu_plan": is_cpu_plan(variants), "is_split": is_split(variants), "times": {}}
    if found["is_cpu_plan"]:
        first = new.bench_one(plan, "cpu", LEAST_RUNS)
        join(found["times"], "cpu", new.bench_one(plan, "cpu", runs_of(first["rounds_us"][0])))
        return found
    first = new.bench_one(plan, "cpu", LEAST_RUNS)
    for _ in range(new.options.passes):
        for name, times in new.bench(plan, runs_of(first["rounds_us"][0])).items():
            join(found["times"], name, times)
    return found


def measure_pinned(network, new, old):
    """Measures in passes over this build's variants, the GPU's plan, and the other build's variants, then in reverse
    order.
    """
    plan, gpu_plan = new.plan(network, "auto"), new.plan(network, "gpu")
    variants = new.variants(plan)
    found = {"is_cpu_plan": is_cpu_plan(variants), "is_split": is_split(variants), "times": {}}
    runs = runs_of(new.bench_one(plan, "cpu", LEAST_RUNS)["rounds_us"][0])
    # runs with timed steps, to learn from
    gpu_variant = next((name for name in ("gpu", "coexec") if name in new.variants(gpu_plan)), None)

    def bench_new():
        for name, times in new.bench(plan, runs).items():
            join(found["times"], name, times)

    def bench_gpu():
        if gpu_variant:
            join(found["times"], "gpu", new.bench_one(gpu_plan, gpu_variant, runs))

    def bench_old():
        # exit code if work remains
        for _ in range(old.options.rounds):
            for name in old.variants(old_plan):
                join(found["times"], "old " + name, old.bench_one(old_plan, name, runs))

    order = [bench_new, bench_gpu]
    if new.options.learn:
        learned_plan = new.learned_plan(network, runs)

        def bench_learned():
            for name, times in new.bench(learned_plan, runs).items():
                join(found["times"], "learned " + name, times)

        found["learned_is_split"] = is_split(new.variants(learned_plan))
        order.append(bench_learned)
    if old:
        old_plan = old.plan(network, "auto")
        found["old_is_split"] = is_split(old.variants(old_plan))
        order.append(bench_old)
    for _ in range(new.options.passes):
        for bench in order:
            bench()
        order.reverse()
    return found


def median_us(found, name):
    return statistics.median(found["times"][name]["rounds_us"])


def paired_ratios(found, name="coexec"):
    """Returns for each round how many times as fast as the CPU plan it is."""
    prefix = name.removesuffix(name.split()[-1])
    return [cpu / own for cpu, own in zip(found["times"][prefix + "cpu"]["rounds_us"],
                                          found["times"][name]["rounds_us"])]


def speedup(found, name="coexec"):
    """Returns S: the speed-up over the better processor alone; a plan without co-execution has it, too."""
    alone = [statistics.median(paired_ratios(found, name))] if name in found["times"] else [1.0]
    if "gpu" in found["times"] and name in found["times"]:
        alone.append(median_us(found, "gpu") / median_us(found, name))
    return min(alone)


def ideal_shares(found):
    """Returns the share of the ideal gain, (S - 1) / (S* - 1), that the co-execution of each of PREFIXES reaches;
    see above.
    """
    alone = [min(median_us(found, prefix + name) for prefix in PREFIXES if prefix + name in found["times"])
             for name in ("cpu", "gpu")]
    ideal = min(alone) / max(alone)

    def share(prefix):
        name = prefix + ("coexec" if prefix + "coexec" in found["times"] else "cpu")
        return (min(alone) / median_us(found, name) - 1) / ideal

    return {prefix: share(prefix) for prefix in PREFIXES if prefix + "cpu" in found["times"]}


def interval_of_mean(values):
    """Returns the middle 95 % of the means of as many values drawn from these with replacement."""
    draw = random.Random(0)
    means = sorted(statistics.mean(draw.choices(values, k=len(values))) for _ in range(DRAWS))
    return means[round(0.025 * DRAWS)], means[round(0.975 * DRAWS) - 1]


def ideal_lines(networks):
    shares = [ideal_shares(found) for name, found in networks.items() if name not in NOT_JUDGED]
    lines = []
    for prefix in PREFIXES:
        if not all(prefix in each for each in shares):
            continue
        own = [each[prefix] for each in shares]
        lines.append(f"Of the ideal gain, (S - 1) / (S* - 1), {PREFIXES[prefix]} reach {statistics.mean(own):.2f} in the "
                     f"mean of {len(shares)} networks, {min(own):.2f} at least")
        if prefix != "old " and all("old " in each for each in shares):
            more = [each[prefix] - each["old "] for each in shares]
            low, high = interval_of_mean(more)
            lines[-1] += (f": {statistics.mean(more):.2f} more than the other build's ({low:.2f} to {high:.2f}, 95 % "
                          "interval over the networks)")
        lines[-1] += "."
    return lines


def errors_of(found, prefix=""):
    """Returns for each variant of one of PREFIXES the error of the prediction, in percent."""
    times = {name: found["times"].get(prefix + name) for name in ("coexec", "cpu", "gpu")}
    return {name: 100 * (known["predicted_us"] / median_us(found, prefix + name) - 1)
            for name, known in times.items() if known and known["predicted_us"] > 0}


def ms(found, name):
    return f"{median_us(found, name) / 1e3:.2f}" if name in found["times"] else "-"


def judge_unpinned(networks):
    rows, ratios = [], []
    for name, found in networks.items():
        if found["is_cpu_plan"]:
            rows.append((name, ms(found, "cpu"), "-", "the CPU plan to the byte", "", "yes"))
            continue
        own = paired_ratios(found)
        ratios.append(statistics.median(own))
        rows.append((name, ms(found, "cpu"), ms(found, "coexec"), f"{ratios[-1]:.3f}",
                     f"{min(own):.3f} to {max(own):.3f}", "yes" if ratios[-1] >= LEAST_OF_CPU else "NO"))
    same = sum(found["is_cpu_plan"] for found in networks.values())
    is_met = all(ratio >= LEAST_OF_CPU for ratio in ratios)
    worst = f"; the slowest runs at {min(ratios):.3f} times the CPU plan's speed" if ratios else ""
    lines = [f"{len(networks)} networks: {same} are the CPU plan to the byte{worst} (target {LEAST_OF_CPU}): "
             f"{'met' if is_met else 'MISSED'}.", ""]
    return is_met, lines + results.table(["network", "CPU plan, ms", "co-execution, ms", "CPU / co-execution", "rounds",
                                          "holds"], rows)


def judge_pinned(networks):
    has_learned = any("learned cpu" in found["times"] for found in networks.values())
    has_old = any("old cpu" in found["times"] for found in networks.values())
    rows, errors = [], []
    for name, found in networks.items():
        own = errors_of(found)
        errors += [abs(error) for error in own.values()]
        rows.append([name, ms(found, "cpu"), ms(found, "gpu"), ms(found, "coexec"), "yes" if found["is_split"] else "no",
                     f"{speedup(found):.3f}", *(f"{own[v]:+.1f}" if v in own else "-" for v in ("cpu", "gpu", "coexec"))])
        for prefix, share in ideal_shares(found).items():
            rows[-1] += [ms(found, prefix + "coexec")] if prefix else []
            rows[-1] += [f"{errors_of(found, prefix).get('coexec', 0):+.1f}"] if prefix == "learned " else []
            rows[-1].append(f"{share:.2f}")
    split = sum(found["is_split"] for found in networks.values())
    mean = statistics.mean(speedup(found) for found in networks.values())
    checks = [split >= LEAST_SPLIT * len(networks), statistics.median(errors) <= MOST_ERROR[0],
              max(errors) <= MOST_ERROR[1]]
    lines = [f"{split} of {len(networks)} networks are split (target {LEAST_SPLIT:.0%}); S is {mean:.3f} in the mean; "
             f"predictions are {statistics.median(errors):.1f} % off in the median and {max(errors):.1f} % in the worst "
             f"case (targets {MOST_ERROR[0]} and {MOST_ERROR[1]})"]
    head = ["network", "CPU, ms", "GPU, ms", "co-execution, ms", "split", "S", "CPU predicted, % off", "GPU",
            "co-execution", "of the ideal gain"]
    if has_learned:
        head += ["learned, ms", "predicted, % off", "of the ideal gain"]
    if has_old:
        old_mean = statistics.mean(speedup(found, "old coexec") for found in networks.values())
        checks.append(mean >= old_mean)
        lines[0] += f"; S of the other build is {old_mean:.3f} in the mean, of the same rounds"
        head += ["other build's, ms", "of the ideal gain"]
    lines[0] += f": {'met' if all(checks) else 'MISSED'}."
    if not networks.keys() <= set(NOT_JUDGED):
        lines.append("")
        for line in ideal_lines(networks):
            lines += results.wrapped(line)
        lines.pop()  # a blank line
    return all(checks), [*lines, "", *results.table(head, rows)]


MEASURE = {"unpinned": measure_unpinned, "pinned": measure_pinned}
JUDGE = {"unpinned": judge_unpinned, "pinned": judge_pinned}


class Run:
    def __init__(self, options):
        self.options = options
        self.end = time.monotonic() + options.time_budget
        self.path = os.path.join(options.work, "results.json")
        self.data = {"machine": results.machine_text(), "opencl": os.environ.get("OCL_ICD_VENDORS", ""),
                     "conditions": {}}
        if os.path.exists(self.path):
            with open(self.path, encoding="utf-8") as file:
                self.data = json.load(file)
        self.longest = {}  # keyed by condition: the most seconds that a network took

    def check_time(self, needed):
        if self.end - time.monotonic() < needed:
            raise OutOfTime

    def save(self):
        write_whole(self.path, json.dumps(self.data, indent=1) + "\n")
        write_whole(os.path.join(self.options.work, "results.md"), "\n".join(self.page()) + "\n")

    def page(self):
        lines = ["# Co-execution, measured", "",
                 *results.wrapped(f"Measured on {self.data['machine']}; OpenCL of {self.data['opencl'] or 'the system'}. "
                                  f"Medians of {self.options.passes} passes of {self.options.rounds} rounds, variants in "
                                  "turns. `test/eval/measured_pairs.py`.")]
        for condition, data in self.data["conditions"].items():
            lines += [f"## {condition}", ""]
            for build, seconds in data["profile_seconds"].items():
                lines += [f"The profile of the {build} build took {seconds:.0f} s; load before it "
                          f"{data['load'][build]:.2f}.", ""]
            if data["networks"]:
                lines += JUDGE[condition](data["networks"])[1]
        return lines

    def profile(self, build, data):
        if os.path.exists(build.profile):
            return
        self.check_time(self.options.profile_budget)
        load = os.getloadavg()[0]
        print(f"{build.folder}: profile, {self.options.profile_budget:.0f} s", flush=True)
        data["profile_seconds"][build.name] = build.make_profile()
        data["load"][build.name] = load
        self.save()

    def condition(self, condition):
        data = self.data["conditions"].setdefault(condition, {"profile_seconds": {}, "load": {}, "networks": {}})
        options = self.options
        new = Build(options, options.bin, "new", condition)
        old = Build(options, options.old, "old", condition) if options.old and condition == "pinned" else None
        for build in filter(None, (new, old)):
            self.profile(build, data)
        for network in options.networks:
            if network in data["networks"]:
                continue
            self.check_time(self.longest.get(condition, 0))
            start = time.monotonic()
            data["networks"][network] = MEASURE[condition](network, new, old)
            self.longest[condition] = max(self.longest.get(condition, 0), time.monotonic() - start)
            self.save()
            print(f"{condition} {network}: {time.monotonic() - start:.0f} s", flush=True)

    def all(self):
        try:
            for condition in self.options.conditions:
                self.condition(condition)
        except OutOfTime:
            print("time is up: the same command goes on with what is left", flush=True)
            return LEFT
        finally:
            self.save()
        print("\n".join(self.page()))
        return int(not all(JUDGE[condition](data["networks"])[0]
                           for condition, data in self.data["conditions"].items() if data["networks"]))


def pair_arguments(parser, time_budget):
    """Adds arguments of programs that measure one pair of cores, and continue in a folder."""
    parser.add_argument("bin", help="folder of this build's programs")
    parser.add_argument("models", help="folder of NAME.onnx, with weights")
    parser.add_argument("--work", required=True, metavar="DIR", help="what is kept between runs, and the results")
    parser.add_argument("--time-budget", type=seconds_of, default=time_budget, metavar="DURATION",
                        help=f"(default: {time_budget})")
    parser.add_argument("--cpu-cores", default="0", help="(default: 0)")
    parser.add_argument("--gpu-cores", default="1", help="of OpenCL (default: 1)")
    parser.add_argument("--profile", metavar="NAME|FILE.json",
                        help="of this pair of cores (default: codl-profile makes one)")
    parser.add_argument("--search-budget", type=int, default=300, help="of codlc (default: 300)")


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = lambda text: text.split(",")
    parser.add_argument("bin", help="folder of this build's programs")
    parser.add_argument("models", help="folder of NAME.onnx, with weights")
    parser.add_argument("--work", required=True, metavar="DIR", help="what is kept between runs, and the results")
    parser.add_argument("--time-budget", type=seconds_of, default="60m", metavar="DURATION", help="of all (default: 60m)")
    parser.add_argument("--profile-budget", type=seconds_of, default="5m", metavar="DURATION",
                        help="of each profile (default: codl-profile's own, 5m)")
    parser.add_argument("--profile-flags", type=str.split, default=[], metavar="FLAGS",
                        help="more for codl-profile, as --profile-flags='--layout=buffer'")
    parser.add_argument("--conditions", type=names, default=list(CONDITIONS), metavar=",".join(CONDITIONS))
    parser.add_argument("--networks", type=names, default=list(NETWORKS), metavar="NAME,...",
                        help="without .onnx (default: ten of networks.md)")
    parser.add_argument("--cpu-cores", default="0", help="of pinned (default: 0)")
    parser.add_argument("--gpu-cores", default="1", help="of pinned (default: 1)")
    parser.add_argument("--passes", type=int, default=3, help="over the plans of a network (default: 3)")
    parser.add_argument("--rounds", type=int, default=5, help="of each pass (default: 5)")
    parser.add_argument("--old", metavar="OLDBIN", help="folder of another build's programs, for S of pinned")
    parser.add_argument("--learn", type=int, default=0, metavar="N",
                        help="compiles with what the steps of the plans before took, for pinned (default: 0)")
    options = parser.parse_args()
    for condition in options.conditions:
        if condition not in CONDITIONS:
            parser.error(f"--conditions: expected some of {','.join(CONDITIONS)}, found '{condition}'")
    missing = [name for name in options.networks if not os.path.exists(os.path.join(options.models, name + ".onnx"))]
    if missing:
        parser.error(f"{options.models}: expected {missing[0]}.onnx, found no such file")
    os.makedirs(options.work, exist_ok=True)
    return options


def main():
    # A stopped run leaves results.json complete.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    sys.exit(Run(parse_options()).all())


if __name__ == "__main__":
    main()
