#!/usr/bin/env python3
"""Runs trained networks in five modes of codlc and compares with outputs that ONNX Runtime gave without optimisations.

  real_networks.py DIR [--only GLOB] [--device NAME] [--modes auto,cpu,gpu,h,oc] [--bin build/release/bin]

DIR has NAME.onnx and, in golden.zip or in DIR itself, NAME.npz or NAME.WHAT.npz with arrays "in:INPUT" and
"out:OUTPUT"; of a long output every "stride:OUTPUT"-th element, with "shape:OUTPUT". One line per network and
mode: the time to compile, the GPU's share of the multiply-adds and the greatest relative L2 error of an output.
In auto every variant of the plan runs. Elements that are off by at most 2e-7 count as equal: ONNX Runtime's
Sigmoid is that far off. Exits 1 if a network is refused or an output is off. Standard library only.

Without DIR, CODL_REAL_NETWORKS names it; without that, or without networks there, the test is skipped.
"""
import argparse
import fnmatch
import io
import math
import os
import sys
import tempfile
import time
import zipfile

from peer_tools import ROOT, SIGMOID_ERROR, file_name, run
sys.path.insert(0, os.path.join(ROOT, "test", "support"))
import npy
import plan_facts

BOUND = 1e-4
ABSOLUTE = SIGMOID_ERROR
# Networks of integer steps: a rounding tie that falls the other way changes a value by a step of the quantised type.
# ONNX Runtime with and without its optimisations differs by 1e-3 on this one.
BOUNDS = {"pipecat-ai__smart-turn*": 5e-3}


def error_of(found, expected):
    """Returns the relative L2 error of the elements that differ by more than ABSOLUTE."""
    if len(found) != len(expected):
        return math.inf
    off = math.fsum((a - b) ** 2 for a, b in zip(found, expected) if not abs(a - b) <= ABSOLUTE)
    norm = math.fsum(b * b for b in expected)
    if off == 0:
        return 0.0
    return math.sqrt(off / norm) if norm and math.isfinite(off) else math.inf


class Golden:
    """Reads one .npz: inputs as files, outputs as (dims, values, stride)."""

    def __init__(self, data, work):
        self.inputs, self.shapes, self.outputs = [], [], {}
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            arrays = {name[:-len(".npy")]: archive.read(name) for name in archive.namelist()}
        def array(key):
            path = os.path.join(work, "array.npy")
            with open(path, "wb") as file:
                file.write(arrays[key])
            return npy.read(path)
        for key in arrays:
            kind, _, name = key.partition(":")
            if kind == "in":
                path = os.path.join(work, "in_" + file_name(name))
                with open(path, "wb") as file:
                    file.write(arrays[key])
                self.inputs.append(f"--input={name}={path}")
                dims = "x".join(str(dim) for dim in npy.read(path)[0])
                self.shapes.append(f"--input-shape={name}:{dims}")
            elif kind == "out":
                dims, values = array(key)
                stride = 1
                if "stride:" + name in arrays:
                    stride = array("stride:" + name)[1][0]
                    dims = tuple(array("shape:" + name)[1])
                self.outputs[name] = (dims, values, stride)


def goldens_of(folder, name):
    """Returns the existing ones of NAME.npz and NAME.WHAT.npz, by name."""
    matches = lambda entry: fnmatch.fnmatch(os.path.basename(entry), name + ".npz") or \
        fnmatch.fnmatch(os.path.basename(entry), name + ".*.npz")
    found = {}
    path = os.path.join(folder, "golden.zip")
    if os.path.exists(path):
        with zipfile.ZipFile(path) as archive:
            found = {os.path.basename(e): archive.read(e) for e in archive.namelist() if matches(e)}
    for entry in os.listdir(folder):
        if matches(entry):
            with open(os.path.join(folder, entry), "rb") as file:
                found[entry] = file.read()
    return dict(sorted(found.items()))


def run_variant(tool, plan, variant, golden, work):
    """Returns the greatest error of an output, and other faults."""
    outputs = os.path.join(work, "outputs")
    run(tool("codl-run"), plan, *golden.inputs, f"--variant={variant}", "--require-variant",
        f"--output-dir={outputs}")
    worst, faults = 0.0, []
    for name, (dims, values, stride) in golden.outputs.items():
        found_dims, found = npy.read(os.path.join(outputs, file_name(name)))
        if tuple(found_dims) != tuple(dims):
            faults.append(f"{name}: expected dims {list(dims)}, found {list(found_dims)}")
            continue
        worst = max(worst, error_of(found[::stride], values))
    return worst, faults


def check(path, mode, goldens, options):
    """Returns a line of the report and whether all is well, for each golden file."""
    name = os.path.splitext(os.path.basename(path))[0]
    bound = next((b for pattern, b in BOUNDS.items() if fnmatch.fnmatch(name, pattern)), BOUND)
    tool = lambda program: os.path.join(options.bin, program)
    for golden_name, data in goldens.items():
        label = f"{os.path.splitext(golden_name)[0]:52} {mode:5}"
        with tempfile.TemporaryDirectory(prefix="codl_real_") as work:
            golden = Golden(data, work)
            plan = os.path.join(work, "plan.codl")
            try:
                start = time.monotonic()
                run(tool("codlc"), path, "-q", f"--device={options.device}", "-o", plan,
                    *golden.shapes, *plan_facts.MODES[mode])
                seconds = time.monotonic() - start
                facts = plan_facts.read(run(tool("codl-dump"), plan, "--json"))
                worst, faults = 0.0, []
                for variant in facts.variants if mode == "auto" else facts.variants[:1]:
                    error, more = run_variant(tool, plan, variant, golden, work)
                    worst = max(worst, error)
                    faults += more
            except RuntimeError as error:
                yield f"{label} FAIL {error}", False
                continue
        if not worst <= bound:
            faults.append(f"expected a relative L2 error of at most {bound:g}, found {worst:.1e}")
        yield "\n    ".join([f"{label} {'FAIL' if faults else 'ok':4} error {worst:.1e}  compiled in "
                             f"{seconds:5.1f} s  GPU {facts.gpu_share():6.1%} of MACs"] + faults), not faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("dir", nargs="?", metavar="DIR")
    parser.add_argument("--only", default="*", metavar="GLOB", help="networks, by name without .onnx")
    parser.add_argument("--device", default="host")
    parser.add_argument("--modes", default=",".join(plan_facts.MODES), type=lambda text: text.split(","))
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "release", "bin"), metavar="DIR",
                        type=os.path.abspath)
    options = parser.parse_args()
    for mode in options.modes:
        if mode not in plan_facts.MODES:
            parser.error(f"--modes: expected some of {','.join(plan_facts.MODES)}, found '{mode}'")
    folder = options.dir or os.environ.get("CODL_REAL_NETWORKS", "")
    paths = sorted(os.path.join(folder, name) for name in (os.listdir(folder) if os.path.isdir(folder) else [])
                   if name.endswith(".onnx") and fnmatch.fnmatch(name[:-len(".onnx")], options.only))
    if not paths:
        if options.dir:
            parser.error(f"expected ONNX files that match {options.only} in {options.dir}")
        print("[SKIP] real networks: no folder with trained networks in CODL_REAL_NETWORKS")
        return 0
    failed = total = 0
    for path in paths:
        goldens = goldens_of(folder, os.path.splitext(os.path.basename(path))[0])
        if not goldens:
            print(f"{os.path.basename(path)}: FAIL expected outputs to compare with, found none")
            failed, total = failed + 1, total + 1
        for mode in options.modes:
            for line, ok in check(path, mode, goldens, options):
                print(line, flush=True)
                failed, total = failed + (not ok), total + 1
    print(f"{len(paths)} networks, {total - failed} of {total} runs within their bounds")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
