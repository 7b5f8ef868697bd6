#!/usr/bin/env python3
"""Compares codl-sim with codl-bench's measurements: whole networks on a CPU, a GPU and both.

    networks.py all MODELS --bin build/release/bin --device h200-nvidia --out RESULTS

or, for a machine that has no compiler and nothing of Python but its standard library:

    networks.py prepare MODELS --bin build/release/bin --device h200-nvidia --pack FOLDER   # here
    FOLDER/networks.py measure --pack FOLDER --out RESULTS                                  # there
    networks.py report --pack FOLDER --out RESULTS --bin build/release/bin [--device PROFILE]     # here

`prepare` compiles every .onnx of the folder MODELS (all, or --networks) for each kind of plan: cpu,
gpu, auto (what codlc takes to be fastest: co-execution where that pays), and split (every layer that
can be is cut in halves along the rows). Weights that a file lacks become one number per tensor: their
values do not enter times, and plans of them pack into little. `measure` runs codl-bench on all
plans in turn, --rounds times around, so that what disturbs a machine meets all of them alike; a time
is the median over rounds of the median over runs. Clocks move between rounds: where all of a plan's
queues are cores that flags name, each round's time is brought to the clock of the profile by the probe
that codl-bench times beside its runs (cpu.probe_us). With codl-profile --beside, which stands still
while plans run, profile and networks are of the same minutes. `report` runs codl-sim on the same plans,
on the profile they were made for or a newer one of the same machine. What is met is told of the median
over rounds; beside it stand the times as the clock was, and the quietest round, which say whether the
simulation or the machine's other users are why it is not.

RESULTS is a folder: results.json, networks.md, and traces.tar.xz with a timeline of each plan on a GPU.
"""
import argparse
import glob
import json
import lzma
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time

# A simulated time may have this relative error.
TOLERANCE = 0.08
KINDS = {"cpu": ["--strategy=cpu"], "gpu": ["--strategy=gpu"], "auto": [],
         "split": ["--place=*=split:h:0.5"]}
SECONDS = 300  # limit for a plan to load and to run
HERE = os.path.dirname(os.path.abspath(__file__))


def fill(model):
    """Gives each tensor without data one number: weights such that sums keep their size."""
    from onnx import TensorProto
    import numpy
    for index, tensor in enumerate(model.graph.initializer):
        count = int(numpy.prod(tensor.dims))
        if (tensor.data_type != TensorProto.FLOAT or tensor.raw_data or tensor.float_data or
                count == 0):
            continue
        depth = count / tensor.dims[0] if len(tensor.dims) > 2 else tensor.dims[-1]
        # No two tensors of a shape are equal, and none is 1 throughout, because the compiler would remove such tensors.
        value = (1 / depth if len(tensor.dims) > 1 else 0.9) * (1 + index % 97 * 1e-4)
        tensor.raw_data = numpy.full(count, value, numpy.float32).tobytes()


def models_of(options):
    paths = sorted(glob.glob(os.path.join(options.models, "*.onnx")))
    if options.networks:
        wanted = options.networks.split(",")
        paths = [path for path in paths if name_of(path) in wanted]
    if not paths:
        sys.exit(f"{options.models}: expected .onnx files, found none")
    return paths


def name_of(path):
    return os.path.splitext(os.path.basename(path))[0]


def prepare(options):
    import onnx
    plans = os.path.join(options.pack, "plans")
    os.makedirs(plans, exist_ok=True)
    networks = []
    with tempfile.TemporaryDirectory() as folder:
        for path in models_of(options):
            name = name_of(path)
            model = onnx.load(path)
            fill(model)
            filled = os.path.join(folder, "model.onnx")
            onnx.save(model, filled)
            for kind in options.kinds.split(","):
                plan = os.path.join(folder, "plan.codl")
                subprocess.run([os.path.join(options.bin, "codlc"), filled, "-q", "-o", plan,
                                f"--device={options.device}", *KINDS[kind]], check=True)
                with open(plan, "rb") as raw, lzma.open(
                        os.path.join(plans, f"{name}.{kind}.codl.xz"), "wb", preset=1) as packed:
                    shutil.copyfileobj(raw, packed, 1 << 24)
            networks.append(name)
            print(f"{name}: compiled", flush=True)
    libraries = os.path.join(options.pack, "lib")
    programs = os.path.join(options.pack, "bin")
    os.makedirs(libraries, exist_ok=True)
    os.makedirs(programs, exist_ok=True)
    for program in ("codl-bench", "codl-profile"):
        shutil.copy(os.path.join(options.bin, program), programs)
    shutil.copy(os.path.join(options.bin, "..", "lib", "libcodl.so.0"), libraries)
    shutil.copy(os.path.abspath(__file__), options.pack)
    with open(os.path.join(options.pack, "pack.json"), "w") as file:
        json.dump({"device": options.device, "kinds": options.kinds.split(","),
                   "networks": networks}, file)


def unpack(pack, name, kind, folder):
    path = os.path.join(folder, f"{name}.{kind}.codl")
    with lzma.open(os.path.join(pack, "plans", f"{name}.{kind}.codl.xz")) as packed, \
            open(path, "wb") as raw:
        shutil.copyfileobj(packed, raw, 1 << 24)
    return path


def bench(options, plan, kind, trace):
    """Returns codl-bench's report on a plan, or the reason why there is none."""
    # A plan of auto may be the CPU's, which needs no GPU.
    flags = [] if kind == "auto" else [f"--variant={'coexec' if kind == 'split' else kind}", "--require-variant"]
    flags += ["--json", "--num-runs=5", "--warmup-runs=2", f"--min-ms={options.min_ms}"]
    flags += [f"--{name.replace('_', '-')}={value}" for name, value in
              (("num_threads", options.num_threads), ("cpu_cores", options.cpu_cores),
               ("gpu_cores", options.gpu_cores), ("opencl_platform", options.opencl_platform))
              if value]
    queues_cores = [options.cpu_cores] if kind == "cpu" else [options.cpu_cores, options.gpu_cores]
    if all(queues_cores):
        flags.append("--probe-cores=" + ",".join(queues_cores))
    if trace:
        flags.append(f"--trace={trace}")
    environment = dict(os.environ)
    library_path = os.path.join(options.pack, "lib")
    environment["LD_LIBRARY_PATH"] = ":".join(
        path for path in (library_path, os.environ.get("LD_LIBRARY_PATH")) if path)
    program = os.path.join(options.pack, "bin", "codl-bench")
    try:
        done = subprocess.run([program, plan, *flags], capture_output=True, text=True,
                              timeout=SECONDS, env=environment, check=False)
    except subprocess.TimeoutExpired:
        return None, f"no end after {SECONDS} s"
    if done.returncode != 0:
        text = done.stderr.strip() or f"exit code {done.returncode}"
        return None, text.splitlines()[-1]
    report = json.loads(done.stdout)
    return (None, report["fallback_reason"]) if report["fallback_reason"] else (report, None)


def stop_and_continue(options, signal_number):
    """Sends the signal to programs that sample meanwhile."""
    for process in options.beside.split(",") if options.beside else ():
        try:
            os.kill(int(process), signal_number)
        except ProcessLookupError:  # it has ended
            pass


def measure_round(options, plans, results, folder):
    """Runs each kind of a network's plans once more."""
    stop_and_continue(options, signal.SIGSTOP)
    try:
        for plan in plans:
            if plan["error"]:
                continue
            name = f"{plan['network']}.{plan['kind']}"
            report, plan["error"] = bench(options, os.path.join(folder, name + ".codl"),
                                          plan["kind"], os.path.join(folder, name + ".json"))
            if report:
                plan["runs"].append({key: report[key] for key in
                                     ("min_us", "median_us", "p90_us", "probe_us", "predicted_us",
                                      "recorded_run", "thread_count", "opencl_device")})
            print(f"{name}: " + (plan["error"] or f"{report['median_us']:.0f} us"), flush=True)
    finally:
        stop_and_continue(options, signal.SIGCONT)
    # The file is written after each network, so that an interrupted run keeps its results.
    with open(os.path.join(options.out, "results.json"), "w") as file:
        json.dump(results, file, indent=1)
        file.write("\n")


def measure(options):
    with open(os.path.join(options.pack, "pack.json")) as file:
        pack = json.load(file)
    os.makedirs(options.out, exist_ok=True)
    results = dict(pack, plans=[{"network": name, "kind": kind, "runs": [], "error": None}
                                for name in pack["networks"] for kind in pack["kinds"]])
    with tempfile.TemporaryDirectory() as folder:
        for plan in results["plans"]:
            unpack(options.pack, plan["network"], plan["kind"], folder)
        for _ in range(options.rounds):
            for name in pack["networks"]:
                measure_round(options, [plan for plan in results["plans"]
                                        if plan["network"] == name], results, folder)
                time.sleep(options.pause)
        with tarfile.open(os.path.join(options.out, "traces.tar.xz"), "w:xz") as traces:
            for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
                traces.add(path, os.path.basename(path))


def simulated_us(options, plan, device):
    """Returns the simulated time of the plan's first variant, the one asked for; or why there is none."""
    done = subprocess.run([os.path.join(options.bin, "codl-sim"), plan, f"--device={device}",
                           "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None, done.stderr.strip()
    return json.loads(done.stdout)["runs"][0]["wall_us"], None


def probe_us_of(device):
    """Returns the time of codl-bench's probe at the profile's clock; None if the profile does not say."""
    path = device if device.endswith(".json") else os.path.join(HERE, "..", "..", "profiles",
                                                                device + ".json")
    with open(path) as file:
        quantity = json.load(file).get("cpu", {}).get("probe_us")
    return quantity and quantity["value"]


def rows_of(options, results, device):
    rows = []
    usual_probe_us = probe_us_of(device)
    for plan in results["plans"]:
        row = {"network": plan["network"], "kind": plan["kind"]}
        if not plan["runs"]:
            rows.append(dict(row, error=plan["error"]))
            continue
        as_clocked = [run["median_us"] for run in plan["runs"]]
        medians = as_clocked
        if usual_probe_us and all(run.get("probe_us", -1) > 0 for run in plan["runs"]):
            medians = [run["median_us"] * usual_probe_us / run["probe_us"] for run in plan["runs"]]
        measured = statistics.median(medians)
        with tempfile.TemporaryDirectory() as folder:
            path = unpack(options.pack, plan["network"], plan["kind"], folder)
            simulated, error = simulated_us(options, path, device)
        if error:
            rows.append(dict(row, error=error))
            continue
        rows.append(dict(row, measured_us=round(measured, 1),
                         spread_percent=round(100 * (max(medians) - min(medians)) / measured, 1),
                         simulated_us=round(simulated, 1), ratio=round(simulated / measured, 3),
                         as_clocked_ratio=round(simulated / statistics.median(as_clocked), 3),
                         quietest_ratio=round(simulated / min(medians), 3),
                         is_within=is_near(simulated / measured)))
    return rows


def is_near(ratio):
    return abs(ratio - 1) <= TOLERANCE


def markdown(pair, rows):
    lines = [f"# {pair}: simulated beside measured", "",
             "`codl-sim`'s wall time of a plan over `codl-bench`'s median on the machine that the "
             "profile is of;", f"within {100 * TOLERANCE:.0f} % is met. Made by "
             "`test/eval/networks.py`; what a kind is, its first lines say. Measured: at the",
             "profile's clock, by the probe beside each run, where there is one; the ratio as "
             "clocked is of times as they were.", "Spread: of the rounds' medians, from the least to "
             "the most, in percent of the time.", ""]
    for kind in dict.fromkeys(row["kind"] for row in rows):
        own = [row for row in rows if row["kind"] == kind]
        met = sum(row.get("is_within", False) for row in own)
        quietest = sum(is_near(row.get("quietest_ratio", 0)) for row in own)
        clocked = sum(is_near(row.get("as_clocked_ratio", 0)) for row in own)
        lines.append(f"- {kind}: {met} of {len(own)} within {100 * TOLERANCE:.0f} %; as clocked "
                     f"{clocked}, of the quietest rounds {quietest}")
    lines += ["", "| network | kind | measured | spread | simulated | ratio | as clocked | of "
              "the quietest round | met |", "|---|---|---|---|---|---|---|---|---|"]
    for row in rows:
        if "error" in row:
            lines.append(f"| {row['network']} | {row['kind']} | {row['error']} | | | | | | |")
            continue
        lines.append(f"| {row['network']} | {row['kind']} | {row['measured_us'] / 1000:.3f} ms "
                     f"| {row['spread_percent']:.1f} % | {row['simulated_us'] / 1000:.3f} ms "
                     f"| {row['ratio']:.3f} | {row['as_clocked_ratio']:.3f} "
                     f"| {row['quietest_ratio']:.3f} "
                     f"| {'yes' if row['is_within'] else 'no'} |")
    return "\n".join(lines) + "\n"


def report(options):
    with open(os.path.join(options.out, "results.json")) as file:
        results = json.load(file)
    device = options.device or results["device"]
    text = markdown(name_of(device), rows_of(options, results, device))
    with open(os.path.join(options.out, "networks.md"), "w") as file:
        file.write(text)
    print(text, end="")


def run_all(options):
    with tempfile.TemporaryDirectory() as folder:
        options.pack = os.path.join(folder, "pack")
        prepare(options)
        measure(options)
        report(options)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)

    def command(name, work, *parts):
        own = commands.add_parser(name)
        own.set_defaults(work=work)
        if "prepare" in parts:
            own.add_argument("models")
            own.add_argument("--networks", help="names, comma between; default: all")
            own.add_argument("--kinds", default="cpu,gpu,auto")
        if "measure" in parts:
            own.add_argument("--rounds", type=int, default=3)
            own.add_argument("--min-ms", type=int, default=300, help="of timed runs in a round")
            own.add_argument("--pause", type=float, default=0, help="seconds between networks")
            own.add_argument("--beside", help="processes, comma between, that stop meanwhile")
            for flag in ("num-threads", "cpu-cores", "gpu-cores", "opencl-platform"):
                own.add_argument("--" + flag, help="of codl-bench")
        if work is not run_all:
            own.add_argument("--pack", required=True)
        if work is not measure:
            own.add_argument("--bin", required=True)
            own.add_argument("--device", required=work is not report)
        if work is not prepare:
            own.add_argument("--out", required=True, metavar="RESULTS", help="a folder")

    command("prepare", prepare, "prepare")
    command("measure", measure, "measure")
    command("report", report)
    command("all", run_all, "prepare", "measure")
    options = parser.parse_args()
    options.work(options)


if __name__ == "__main__":
    main()
