#!/usr/bin/env python3
"""Compares codl with ONNX Runtime on a folder of ONNX files, in five modes of codlc.

  compare_onnxruntime.py [--models DIR] [--fill-weights SCRIPT.py] [--only GLOB] [--device NAME]
                         [--modes auto,cpu,gpu,h,oc] [--precision fp32,fp16,auto]
                         [--bin build/release/bin] [--jobs N] [--smaller "--prune=0.3 --unchecked"]
                         [--golden DIR] [--samples FILE.npy] [--without-rounding]

For each network, precision and mode: compile, run on a seeded random input, compare every output (relative L2
error at most 1e-4; with --precision=fp16 or auto 1e-2, where elements of a Sigmoid that are off by less than
a half's last digit at 1 count as right), and check in `codl-dump --json` that the plan does what the mode says:
  auto   the partitioner's choice; every variant of the plan is run
  cpu    no MACs on the GPU
  gpu    99 % of the MACs on the GPU
  h      --place=*=split:h:0.5: 90 % of the convolutions' MACs split so; chains
  oc     --place=*=split:oc:0.5: 90 % of the convolutions' MACs split so
In gpu, h and oc each lane that has convolutions is also made to write zeros (zero_queue, of the test
build): the result must then be far off, or the lane's work would not count. This is done for the first precision.
One line per network, precision and mode; exits 1 if any is off. `halves` is the share of a plan's real tensors.

With --smaller, the networks compared are those that codlc makes of the files with these flags, as
--emit-onnx writes them. A line of each says how many rewrites there are, and how many layers and
groups of channels are left as they are, by reason. Channels may then be too few to be split, so
that only results are compared, not what the plan does.

With --golden, inputs and their dims are those of golden.zip in DIR, which real_networks.py describes,
of NAME.WHAT.npz rather than NAME.npz; bounds are that script's. A lane whose zeros are not seen is
then only named: a trained network that lost channels may answer the same whatever it is given.

With --samples, a network of one input gets the arrays of FILE.npy as one batch, and decides by the largest number of
an output's last dim: of 99 % of the samples all decisions must be ONNX Runtime's. What the plan does is not checked: channels may be few.

With --without-rounding, what --emit-onnx writes is compared without its Round nodes, those of
quantisations: where a number is next to a tie a unit in the last place decides a whole step, and
what the kernels do is not seen for it. The bound is that of all networks then.

SCRIPT.py is called as `SCRIPT.py IN.onnx OUT.onnx` for files whose weights were left out.
ONNX Runtime is not a dependency of codl: without it here, a virtual environment is made in
build/peers (python3-venv, network).
"""
import argparse
import collections
import concurrent.futures
import fnmatch
import hashlib
import io
import os
import re
import sys

import real_networks
from peer_tools import ROOT, SIGMOID_ERROR, file_name, relative_error, run, use_wheels
sys.path.insert(0, os.path.join(ROOT, "test", "support"))
import plan_facts
from plan_facts import MODES, RATIO
sys.path.insert(0, os.path.join(ROOT, "tools", "python"))
from codl_ci import check

BOUNDS = {**check.BOUNDS, "auto": check.BOUNDS["fp16"]}  # relative L2 error
HALF_SIGMOID_ERROR = 2**-11  # docs/guide/precision.md, "What is promised"
EQUAL_DECISIONS = 0.99  # least share of the samples
LANES = {"auto": [], "cpu": [], "gpu": ["gpu"], "h": ["cpu", "gpu"], "oc": ["cpu", "gpu"]}
# If a processor writes zeros, the result must change at least this much.
ZEROED = 1e-2


def import_wheels():
    """Imports numpy and onnxruntime, from a virtual environment if they are not here."""
    global np, onnx, onnxruntime
    use_wheels(["numpy", "onnx", "onnxruntime"], [["-r", "requirements.txt"]])
    import numpy as np
    import onnx
    import onnxruntime


class Network:
    """Holds one ONNX file with its input, and ONNX Runtime's outputs for it."""

    def __init__(self, path, options):
        self.name = os.path.splitext(os.path.basename(path))[0]
        self.options = options
        self.known = {}  # results by plan and variant
        self.work = os.path.join(options.work, self.name)
        os.makedirs(self.work, exist_ok=True)
        self.model = path
        if options.fill_weights:
            self.model = os.path.join(self.work, "model.onnx")
            if not os.path.exists(self.model):
                run(sys.executable, options.fill_weights, path, self.model + ".part")
                os.replace(self.model + ".part", self.model)
        golden = self.golden_inputs() if options.golden else {}
        if options.samples:
            golden = self.samples_as_input()
        self.from_sigmoid = made_by_sigmoid(onnx.load(self.model, load_external_data=False).graph)
        self.shapes = [f"--input-shape={name}:{'x'.join(map(str, value.shape))}"
                       for name, value in golden.items() if value.ndim]
        self.lines = self.make_smaller() if options.smaller else []
        if options.without_rounding:
            self.lines.append(self.drop_rounding())
        settings = onnxruntime.SessionOptions()
        settings.log_severity_level = 3
        session = onnxruntime.InferenceSession(self.model, settings, ["CPUExecutionProvider"])
        rng = np.random.RandomState(1)
        feeds = {i.name: golden[i.name] if golden else
                 rng.standard_normal(i.shape).astype(np.float32) for i in session.get_inputs()}
        self.inputs = []
        for name, value in feeds.items():
            path = os.path.join(self.work, "input_" + file_name(name))
            np.save(path, value)
            self.inputs.append(f"--input={name}={path}")
        names = [o.name for o in session.get_outputs()]
        self.expected = dict(zip(names, session.run(names, feeds)))

    def bound(self, precision):
        """Returns the greatest relative L2 error that an output may have."""
        bounds = [bound for pattern, bound in real_networks.BOUNDS.items()
                  if self.options.golden and not self.options.without_rounding and
                  fnmatch.fnmatch(self.name, pattern)]
        return max([BOUNDS[precision], *bounds])

    def absolute(self, output, precision):
        """Returns by how much an element may be off and count as right."""
        if precision != "fp32" and output in self.from_sigmoid:
            return HALF_SIGMOID_ERROR
        return SIGMOID_ERROR if self.options.golden else 0.0

    def samples_as_input(self):
        """Returns {input: samples}, and writes the network for so many."""
        samples = np.load(self.options.samples)
        model = onnx.load(self.model)
        constants = {constant.name for constant in model.graph.initializer}
        (given,) = [value for value in model.graph.input if value.name not in constants]
        for value in [given, *model.graph.output]:
            value.type.tensor_type.shape.dim[0].dim_value = len(samples)
        del model.graph.value_info[:]
        self.model = os.path.join(self.work, "samples.onnx")
        onnx.save(model, self.model)
        return {given.name: samples}

    def golden_inputs(self):
        goldens = real_networks.goldens_of(self.options.golden, self.name)
        if not goldens:
            raise RuntimeError(f"expected inputs in {self.options.golden}, found none")
        arrays = np.load(io.BytesIO(goldens[max(goldens, key=len)]), allow_pickle=False)
        return {key[len("in:"):]: arrays[key] for key in arrays.files if key.startswith("in:")}

    def make_smaller(self):
        """Returns lines about what was done and what was not."""
        smaller = os.path.join(self.work, "smaller.onnx")
        report = run(self.tool("codlc"), self.model, f"--device={self.options.device}",
                     *self.shapes, *self.options.smaller, f"--emit-onnx={smaller}", "-o",
                     os.path.join(self.work, "smaller.codl"))
        os.remove(os.path.join(self.work, "smaller.codl"))
        self.model = smaller
        done = re.findall(r"^  \S.*, -?\d+\.\d+ ms less$", report, re.MULTILINE)
        reasons = collections.Counter(
            re.sub(r"\d+ channels", "channels", line.rsplit(": ", 1)[1])
            for line in re.findall(r"^  untouched: (.*)$", report, re.MULTILINE))
        return [f"{self.name:24} {' '.join(self.options.smaller)}: {len(done)} rewrites"] + [
            f"    {count} left: {reason}" for reason, count in reasons.most_common()]

    def drop_rounding(self):
        """Returns a line with their number."""
        model = onnx.load(self.model)
        given = {node.output[0]: node.input[0] for node in model.graph.node
                 if node.op_type == "Round"}
        kept = [node for node in model.graph.node if node.op_type != "Round"]
        for node in kept:
            for i, name in enumerate(node.input):
                node.input[i] = given.get(name, name)
        del model.graph.node[:]
        model.graph.node.extend(kept)
        self.model = os.path.join(self.work, "without_rounding.onnx")
        onnx.save(model, self.model)
        return f"{self.name:24} {len(given)} Round nodes left out"

    def tool(self, name):
        return os.path.join(self.options.bin, name)

    def check(self, precision, mode):
        """Returns a line of the report, and whether all is well."""
        plan = os.path.join(self.work, f"{precision}_{mode}.codl")
        label = f"{self.name:24} {precision} {mode:4}"
        self.decided = 1.0  # share of the samples whose decisions are ONNX Runtime's
        try:
            run(self.tool("codlc"), self.model, "--quiet", f"--device={self.options.device}", "-o", plan,
                f"--precision={precision}", *self.shapes, *MODES[mode])
            facts = plan_facts.read(run(self.tool("codl-dump"), plan, "--json"))
            faults = [] if self.options.smaller or self.options.samples else facts.faults(mode, RATIO)
            errors = []
            for variant in facts.variants if mode == "auto" else facts.variants[:1]:
                error, fault = self.run_once(plan, precision, variant)
                errors.append(error)
                faults += fault
            unseen = []
            for lane in LANES[mode] if precision == self.options.precision[0] else []:
                unseen += self.run_zeroed(plan, precision, lane, facts.variants[0])
            if not self.options.golden:
                faults += unseen
        except RuntimeError as error:
            return f"{label} FAIL {error}", False
        finally:
            if os.path.exists(plan) and not self.options.keep:
                os.remove(plan)
        line = (f"{label} {'FAIL' if faults else 'ok':4} "
                f"error {max(errors):.1e}  halves {facts.half_share():6.1%}  GPU {facts.gpu_share():6.1%} of MACs  "
                f"split h {facts.split_share('height', RATIO):6.1%}  "
                f"oc {facts.split_share('output_channel', RATIO):6.1%}  "
                f"chains {'yes' if facts.has_chain() else 'no'}")
        if self.options.samples:
            line += f"  decided alike {self.decided:.1%}"
        return "\n    ".join([line, *faults, *(unseen if self.options.golden else [])]), not faults

    def run_zeroed(self, plan, precision, lane, variant):
        """Returns faults of a run in which the convolutions of one processor write zeros."""
        zeroed = plan + ".zeroed"
        try:
            run(self.tool("zero_queue"), plan, lane, zeroed)
            error, _ = self.run_plan(zeroed, precision, variant)
        finally:
            if os.path.exists(zeroed):
                os.remove(zeroed)
        return [] if error > ZEROED else [
            f"expected a result that is off when the {lane} lane writes zeros, found {error:.1e}"]

    def run_once(self, plan, precision, variant):
        """Returns what run_plan does, without a run where two precisions or modes have the same plan."""
        with open(plan, "rb") as file:
            key = (hashlib.sha256(file.read()).digest(), self.bound(precision), variant)
        if key not in self.known:
            self.known[key] = (*self.run_plan(plan, precision, variant), self.decided)
        error, faults, decided = self.known[key]
        self.decided = min(self.decided, decided)
        return error, faults

    def run_plan(self, plan, precision, variant):
        """Returns (greatest relative error of an output, faults) of one variant."""
        directory = os.path.join(self.work, f"outputs_{variant}")
        run(self.tool("codl-run"), plan, *self.inputs, f"--variant={variant}", "--require-variant",
            f"--program-cache={os.path.join(self.options.work, 'programs')}", f"--output-dir={directory}")
        faults = []
        worst = 0.0
        for name, expected in self.expected.items():
            found = np.load(os.path.join(directory, file_name(name)))
            if found.shape != expected.shape or found.dtype != expected.dtype:
                faults.append(f"{name}: expected {expected.dtype}{list(expected.shape)}, "
                              f"found {found.dtype}{list(found.shape)}")
                continue
            worst = max(worst, relative_error(found, expected, self.absolute(name, precision)))
            if self.options.samples:
                equal = found.argmax(-1) == expected.argmax(-1)
                share = equal.reshape(len(equal), -1).all(1).mean()
                self.decided = min(self.decided, share)
                if not share >= EQUAL_DECISIONS:
                    faults.append(f"{variant}: expected {EQUAL_DECISIONS:.0%} of the samples to be decided "
                                  f"as by ONNX Runtime, found {share:.1%}")
        if not worst <= self.bound(precision):
            faults.append(f"{variant}: expected a relative L2 error of at most {self.bound(precision):g}, "
                          f"found {worst:.1e}")
        return worst, faults


def made_by_sigmoid(graph):
    """Returns the names of values that are a Sigmoid's, moved by other operators or not."""
    names = set()
    for node in graph.node:
        moved = {"Concat": node.input, "Identity": node.input, "Reshape": node.input[:1], "Slice": node.input[:1],
                 "Squeeze": node.input[:1], "Transpose": node.input, "Unsqueeze": node.input[:1]}
        if node.op_type == "Sigmoid" or moved.get(node.op_type) and names.issuperset(moved[node.op_type]):
            names.update(node.output)
    return names


def compare(path, options):
    """Returns (lines, number of wrong modes) for one network."""
    try:
        network = Network(path, options)
    except Exception as error:  # ONNX Runtime raises its own types
        return [f"{os.path.basename(path)}: FAIL {error}"], 1
    lines = network.lines
    failed = 0
    for precision in options.precision:
        for mode in options.modes:
            line, ok = network.check(precision, mode)
            lines.append(line)
            failed += not ok
    return lines, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", default=os.path.join(ROOT, "examples", "models"), metavar="DIR")
    parser.add_argument("--fill-weights", metavar="SCRIPT", type=os.path.abspath)
    parser.add_argument("--only", default="*", metavar="GLOB", help="networks, by name without .onnx")
    parser.add_argument("--device", default="host")
    parser.add_argument("--modes", default=",".join(MODES), type=lambda text: text.split(","))
    parser.add_argument("--precision", default="fp32", type=lambda text: text.split(","), help="of codlc")
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "release", "bin"),
                        metavar="DIR", type=os.path.abspath)
    parser.add_argument("--work", default=os.path.join(ROOT, "build", "peers_work"), metavar="DIR",
                        type=os.path.abspath)
    parser.add_argument("--jobs", default=1, type=int, help="networks at a time (memory!)")
    parser.add_argument("--smaller", default=[], metavar="FLAGS", type=str.split,
                        help="of codlc, as --smaller='--prune=0.3 --unchecked'")
    parser.add_argument("--golden", metavar="DIR", help="of golden.zip: trained networks")
    parser.add_argument("--samples", metavar="FILE.npy", help="inputs, one after the other")
    parser.add_argument("--without-rounding", action="store_true", help="with --smaller")
    parser.add_argument("--keep", action="store_true", help="keep the plans")
    options = parser.parse_args()
    for mode in options.modes:
        if mode not in MODES:
            parser.error(f"--modes: expected some of {','.join(MODES)}, found '{mode}'")
    for precision in options.precision:
        if precision not in BOUNDS:
            parser.error(f"--precision: expected some of {','.join(BOUNDS)}, found '{precision}'")
    if options.without_rounding and not options.smaller:
        parser.error("--without-rounding: expected --smaller, whose files have Round nodes")
    import_wheels()

    paths = sorted(os.path.join(options.models, name) for name in os.listdir(options.models)
                   if name.endswith(".onnx") and fnmatch.fnmatch(name[:-len(".onnx")], options.only))
    if not paths:
        parser.error(f"--models: expected ONNX files that match {options.only} in {options.models}")
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for lines, failures in pool.map(lambda path: compare(path, options), paths):
            print("\n".join(lines), flush=True)
            failed += failures
    total = len(paths) * len(options.precision) * len(options.modes)
    print(f"{len(paths)} networks, {total - failed} of {total} plans within their bounds "
          f"(onnxruntime {onnxruntime.__version__})")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
