#!/usr/bin/env python3
"""Measures and simulates the gains of pruning, low rank, fusion and co-execution on ResNet-18, alone and together.

    cross_layer.py BIN MODELS --cpu-cores 0 --gpu-cores 1 --work DIR

BIN is a folder with codlc, codl-profile, codl-bench, codl-run, codl-sim and codl-dump; MODELS has resnet18_dyn18.onnx with
weights and BatchNorm nodes. OpenCL is what the environment says (OCL_ICD_VENDORS). Nothing else may run meanwhile. Takes
less than five minutes; DIR keeps the profile, the plans and results.json, and has cross_layer.md in the end.

Rows, all written down before the first run:

  none          one processor, the better one; no pass of the front end but those every plan needs
  low rank      the same with --low-rank=0.95 --unchecked
  pruning       the same with --prune=0.3 --unchecked
  co-execution  codlc's default strategy instead of one processor
  fusion        one processor with all passes
  all           all four

Random weights have no rank to lose, so that low rank would not apply to the networks of MODELS. Where numpy and onnx are
there (not needed otherwise), singular values of every convolution and dense layer are made to fall as a power of their
number, --decay, an assumption; times of the other rows do not depend on weights' values.
"""
import argparse
import array
import json
import os
import statistics
import sys
import time

import results
from measured_pairs import run, seconds_of, write_whole

NETWORK = "resnet18_dyn18"
PHONE = "sd855"
NO_FUSION = [f"--skip-pass={name}" for name in ("merge_common", "nest_concats", "fuse_unary_patterns", "sink_transposes",
                                                "sink_reshapes", "fuse_pads", "fold_batch_norm", "fuse_residual",
                                                "fuse_activation", "widen_pools")]
LOW_RANK, PRUNE, UNCHECKED = ["--low-rank=0.95"], ["--prune=0.3"], ["--unchecked"]
SINGLE = ("cpu", "gpu")
# Each row has flags and strategies; the fastest strategy is taken.
ROWS = {
    "none": (NO_FUSION, SINGLE),
    "low rank": (NO_FUSION + LOW_RANK + UNCHECKED, SINGLE),
    "pruning": (NO_FUSION + PRUNE + UNCHECKED, SINGLE),
    "co-execution": (NO_FUSION, ("auto",)),
    "fusion": ([], SINGLE),
    "all": (LOW_RANK + PRUNE + UNCHECKED, ("auto",)),
}
PUBLISHED = {"low rank": -7.4, "pruning": -31.2, "co-execution": -11.0, "fusion": -35.0, "all": -48.4}
ROUND_MS, LEAST_RUNS, MOST_RUNS = 400, 3, 20
MOST_ERROR = 10  # percent of the latency


def decayed(path, to, decay):
    """Writes the network with weights whose singular values fall as i^-decay and keep their norm; False without
    numpy and onnx.
    """
    try:
        import numpy
        import onnx
        from onnx import numpy_helper
    except ImportError:
        return False
    model = onnx.load(path)
    read = {name for node in model.graph.node if node.op_type in ("Conv", "Gemm", "MatMul") for name in node.input[1:2]}
    for tensor in model.graph.initializer:
        if tensor.name not in read:
            continue
        weights = numpy_helper.to_array(tensor)
        matrix = weights.reshape(weights.shape[0], -1).astype(numpy.float64)
        left, values, right = numpy.linalg.svd(matrix, full_matrices=False)
        falling = numpy.arange(1, len(values) + 1) ** -decay
        falling *= numpy.linalg.norm(values) / numpy.linalg.norm(falling)
        tensor.CopyFrom(numpy_helper.from_array(((left * falling) @ right).reshape(weights.shape).astype(weights.dtype),
                                                tensor.name))
    onnx.save(model, to + ".new")
    os.replace(to + ".new", to)
    return True


def read_floats(path):
    """Returns the float32 elements of an .npy file of version 1."""
    with open(path, "rb") as file:
        head = file.read(10)
        file.seek(10 + int.from_bytes(head[8:10], "little"))
        values = array.array("f", file.read())
    if sys.byteorder == "big":
        values.byteswap()
    return values


class CrossLayer:
    def __init__(self, options):
        self.options = options
        self.pins = [f"--cpu-cores={options.cpu_cores}", f"--gpu-cores={options.gpu_cores}"]
        self.profile = self.path("pair.json")
        self.model = os.path.join(options.models, NETWORK + ".onnx")
        self.plans, self.seconds = {}, {}

    def path(self, name):
        return os.path.join(self.options.work, name)

    def tool(self, name, *arguments, **kwargs):
        return run(self.options.bin, name, *arguments, **kwargs)

    def prepare(self):
        self.is_decayed = self.options.decay > 0 and (os.path.exists(self.path("model.onnx")) or
                                                      decayed(self.model, self.path("model.onnx"), self.options.decay))
        if self.is_decayed:
            self.model = self.path("model.onnx")
        if not os.path.exists(self.profile):
            budget = self.options.profile_budget
            self.tool("codl-profile", "-o", self.profile, f"--time-budget={budget:.0f}s", *self.pins, "--num-threads=1",
                      seconds=3 * budget + 300)
        for device in (self.profile, PHONE):
            for row, (flags, strategies) in ROWS.items():
                for strategy in strategies:
                    self.plans[device, row, strategy] = self.compile(device, row, flags, strategy)

    def compile(self, device, row, flags, strategy):
        stem = self.path(f"{'phone' if device == PHONE else 'pair'}.{row.replace(' ', '_')}.{strategy}")
        start = time.monotonic()
        if not os.path.exists(stem + ".json"):
            text = self.tool("codlc", self.model, f"--device={device}", f"--strategy={strategy}", *flags, "-o",
                             stem + ".codl", f"--report={stem}.new.json")
            write_whole(stem + ".txt", text)
            os.replace(stem + ".new.json", stem + ".json")
        with open(stem + ".json", encoding="utf-8") as file:
            report = json.load(file)
        variant = report["variants"][0]
        simulated = json.loads(self.tool("codl-sim", stem + ".codl", f"--device={device}", "--json"))["runs"][0]["wall_us"]
        print(f"{os.path.basename(stem)}: {simulated / 1e3:.2f} ms, {time.monotonic() - start:.0f} s", flush=True)
        return {"path": stem + ".codl", "variant": variant["name"], "simulated_us": simulated,
                "macs": sum(operator["macs"] for operator in report["operators"]),
                "weight_bytes": report["plan"]["weight_bytes"], "steps": len(variant["steps"]),
                "arena_bytes": variant["arena_bytes"],
                "rounds_us": []}

    def measure(self):
        pair = {key: plan for key, plan in self.plans.items() if key[0] == self.profile}
        for turn in range(self.options.rounds + 1):
            for plan in pair.values() if turn % 2 else reversed(pair.values()):
                last = plan["rounds_us"][-1] if plan["rounds_us"] else ROUND_MS * 1e3 / LEAST_RUNS
                runs = max(LEAST_RUNS, min(MOST_RUNS, round(ROUND_MS * 1e3 / last)))
                report = json.loads(self.tool("codl-bench", plan["path"], f"--variant={plan['variant']}",
                                              "--require-variant", "--json", *self.pins, f"--num-runs={runs}",
                                              "--warmup-runs=1"))
                plan["rounds_us"].append(report["median_us"])
        for plan in pair.values():  # the first round warms up
            plan["least_us"], plan["measured_us"], plan["most_us"] = statistics.quantiles(plan["rounds_us"][1:], n=4)

    def outputs(self, plan):
        folder = plan["path"] + ".out"
        self.tool("codl-run", plan["path"], *self.pins, "--seed=1", f"--output-dir={folder}", "-o", "/dev/null")
        return [value for name in sorted(os.listdir(folder)) for value in read_floats(os.path.join(folder, name))]

    def row(self, row, device, by):
        """Returns the plan of the best strategy."""
        return min((self.plans[device, row, strategy] for strategy in ROWS[row][1]), key=lambda plan: plan[by])

    def page(self):
        untouched = self.outputs(self.row("none", self.profile, "measured_us"))
        norm = sum(value * value for value in untouched) ** 0.5
        rows, found = [], {}
        none, phone_none = self.row("none", self.profile, "measured_us"), self.row("none", PHONE, "simulated_us")
        for name in ROWS:
            plan, phone = self.row(name, self.profile, "measured_us"), self.row(name, PHONE, "simulated_us")
            values = self.outputs(plan)
            deviation = sum((a - b) ** 2 for a, b in zip(values, untouched)) ** 0.5 / norm
            change = lambda key, a, b: 100 * (a[key] / b[key] - 1)
            found[name] = {"measured_us": plan["measured_us"], "predicted_us": plan["simulated_us"],
                           "simulated_phone_us": phone["simulated_us"], "rounds_us": plan["rounds_us"],
                           "deviation": deviation}
            quartiles = f"{plan['least_us'] / 1e3:.2f} to {plan['most_us'] / 1e3:.2f}"
            rows.append([name, f"{plan['measured_us'] / 1e3:.2f} ({quartiles})",
                         f"{change('measured_us', plan, none):+.1f} %",
                         f"{plan['simulated_us'] / 1e3:.2f}", f"{change('simulated_us', plan, none):+.1f} %",
                         f"{phone['simulated_us'] / 1e3:.2f}", f"{change('simulated_us', phone, phone_none):+.1f} %",
                         f"{PUBLISHED[name]:+.1f} %" if name in PUBLISHED else "",
                         f"{plan['macs'] / 1e6:.0f}", f"{plan['weight_bytes'] / 1e6:.1f}",
                         f"{plan['arena_bytes'] / 1e6:.2f}", plan["steps"], f"{deviation:.1e}"])
        saved = lambda key, name: found["none"][key] - found[name][key]
        off = {"fusion": 100 * (saved("predicted_us", "fusion") - saved("measured_us", "fusion")) /
               found["none"]["measured_us"],
               "all": 100 * (found["all"]["predicted_us"] / found["all"]["measured_us"] - 1)}
        write_whole(self.path("results.json"), json.dumps(found, indent=1) + "\n")
        is_met = all(abs(value) <= MOST_ERROR for value in off.values())
        weights = (f"singular values of the weights fall as i^-{self.options.decay} (assumed)" if self.is_decayed else
                   "random weights, to which low rank does not apply")
        lines = ["# One rewrite at a time, and all together", "",
                 *results.wrapped(f"{NETWORK}, {weights}. Measured on {results.machine_text()}, CPU core "
                                  f"{self.options.cpu_cores}, OpenCL on core {self.options.gpu_cores}: medians of "
                                  f"{self.options.rounds} rounds, their quartiles beside, plans in turns. Predicted: "
                                  f"codl-sim, on a profile that codl-profile made before. Simulated: codl-sim, {PHONE}. "
                                  "Published: the founding study, ResNet-18 on a Snapdragon 855; its last row is with "
                                  "memory allocation. `test/eval/cross_layer.py`."),
                 *results.table(["", "measured, ms", "change", "predicted, ms", "change", f"simulated {PHONE}, ms", "change",
                                 "published change", "million MACs", "weights, MB", "arenas, MB", "steps", "deviation"],
                                rows),
                 f"What fusion saves is predicted {off['fusion']:+.1f} % of the latency off, the latency of all together "
                 f"{off['all']:+.1f} % (targets: {MOST_ERROR}): {'met' if is_met else 'MISSED'}."]
        write_whole(self.path("cross_layer.md"), "\n".join(lines) + "\n")
        print("\n".join(lines))
        return is_met


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", help="folder of the programs")
    parser.add_argument("models", help=f"folder of {NETWORK}.onnx, with weights")
    parser.add_argument("--work", required=True, metavar="DIR", help="what is kept between runs, and the results")
    parser.add_argument("--cpu-cores", default="0")
    parser.add_argument("--gpu-cores", default="1")
    parser.add_argument("--profile-budget", type=seconds_of, default="90s", metavar="DURATION")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--decay", type=float, default=0.6, metavar="POWER", help="of singular values; 0: as they are")
    options = parser.parse_args()
    if not os.path.exists(os.path.join(options.models, NETWORK + ".onnx")):
        parser.error(f"{options.models}: expected {NETWORK}.onnx, found no such file")
    os.makedirs(options.work, exist_ok=True)
    return options


def main():
    cross_layer = CrossLayer(parse_options())
    cross_layer.prepare()
    cross_layer.measure()
    sys.exit(int(not cross_layer.page()))


if __name__ == "__main__":
    main()
