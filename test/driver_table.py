#!/usr/bin/env python3
"""OpenCL implementations x networks, layouts and precisions x kernels: where a GPU step differs from the CPU's.

  driver_table.py plans MODELS PLANS --bin BIN         compiles every network of a folder: all it can on the GPU, in
                                                       buffers and in images, fp32 and fp16
  driver_table.py column PLANS --bin BIN --name NAME   runs each on the implementation that the environment selects
                                                       (test/drivers.sh --column does); writes PLANS/NAME.column.json and
                                                       prints it as a markdown column
  driver_table.py table PLANS --write FILE.md          all columns of PLANS, into the section `drivers` of the file

A column says of each plan how many GPU steps the self-test found wrong, and how far the network's outputs are from the
CPU variant's (relative L2 error); of each kernel how many of its steps were wrong. `column` needs codl-run alone, so that
PLANS can be carried to a machine without a compiler. Standard library only. Exit code 1: something differs.
"""
import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "support"))
import markdown
import npy

# These devices have GPUs that take maps in buffers and in images.
LAYOUTS = {"buffers": "kirin990", "images": "sd855"}
PRECISIONS = ("fp32", "fp16")
# Limits a network's difference: docs/guide/testing.md. The error of halves depends on the network, not on the
# implementation.
MAX_ERROR = {"fp32": 1e-4, "fp16": float("inf")}


def run(command, **more):
    return subprocess.run(command, capture_output=True, text=True, **more)


def gpu_kernels(dump):
    counts = {}
    for step in dump["variants"][0]["steps"]:
        if step["queue"] == "gpu" and "kernel" in step:
            counts[step["kernel"]] = counts.get(step["kernel"], 0) + 1
    return counts


def make_plans(flags):
    os.makedirs(flags.plans, exist_ok=True)
    index = []
    for model in sorted(glob.glob(os.path.join(flags.models, "*.onnx"))):
        for layout, device in LAYOUTS.items():
            for precision in PRECISIONS:
                name = f"{os.path.basename(model)[:-5]}.{layout}.{precision}"
                plan = os.path.join(flags.plans, name + ".codl")
                result = run([os.path.join(flags.bin, "codlc"), model, f"--device={device}", "--strategy=gpu", "--quiet",
                              f"--precision={precision}", "-o", plan])
                if result.returncode != 0:
                    sys.exit(f"{name}: {result.stderr}")
                dump = json.loads(run([os.path.join(flags.bin, "codl-dump"), plan, "--json"]).stdout)
                index.append({"name": name, "precision": precision, "kernels": gpu_kernels(dump)})
                print(name, flush=True)
    with open(os.path.join(flags.plans, "index.json"), "w") as file:
        json.dump(index, file, indent=1)


def outputs(flags, plan, variant, folder):
    """Returns arrays by name, or the tool's error."""
    result = run([os.path.join(flags.bin, "codl-run"), plan, f"--variant={variant}", "--require-variant",
                  f"--output-dir={folder}"])
    if result.returncode != 0:
        return result.stderr.strip()
    return {os.path.basename(path): npy.read(path)[1] for path in sorted(glob.glob(os.path.join(folder, "*.npy")))}


def measure(flags, entry):
    """Returns the implementation's errors on one plan, and the kernels of wrong steps."""
    plan = os.path.join(flags.plans, entry["name"] + ".codl")
    test = run([os.path.join(flags.bin, "codl-run"), plan, "--require-variant", "--self-test", "--json"])
    try:
        report = json.loads(test.stdout)
    except ValueError:
        return {"error": test.stderr.strip()}
    quirks = [{key: quirk[key] for key in ("kernel", "tile", "output_dims")} for quirk in report["quirks"]]
    found = {"steps": report["step_count"], "quirks": quirks, "platform": report["opencl_platform"],
             "device": report["opencl_device"]}
    with tempfile.TemporaryDirectory() as folder:
        sides = [outputs(flags, plan, variant, os.path.join(folder, variant)) for variant in ("gpu", "cpu")]
    for side in sides:
        if isinstance(side, str):
            return {**found, "error": side}
    error = max(npy.relative_l2(sides[0][name], sides[1][name]) for name in sides[1])
    return {**found, "error_l2": error if error == error else None}  # NaN is no JSON


def is_right(entry, found):
    return "error" not in found and not found["quirks"] and found["error_l2"] is not None and \
        found["error_l2"] <= MAX_ERROR[entry["precision"]]


def plan_cell(found):
    if found is None:
        return ""
    if "error" in found:
        return found["error"].replace("|", "/")
    wrong = f"{len(found['quirks'])} of {found['steps']} wrong" if found["quirks"] else f"{found['steps']} right"
    return f"{wrong}, " + ("NaN" if found["error_l2"] is None else f"{found['error_l2']:.0e}")


def kernel_cells(index, column):
    """Returns a cell per kernel of the plans that ran."""
    counts = {}
    for entry in index:
        found = column["plans"].get(entry["name"], {"error": ""})
        if "quirks" not in found:
            continue
        for kernel, steps in entry["kernels"].items():
            wrong, total = counts.get(kernel, (0, 0))
            counts[kernel] = wrong + sum(quirk["kernel"] == kernel for quirk in found["quirks"]), total + steps
    return {kernel: f"{wrong} of {total} wrong" if wrong else f"{total} right" for kernel, (wrong, total) in counts.items()}


def read_index(flags):
    with open(os.path.join(flags.plans, "index.json")) as file:
        return json.load(file)


def table_lines(index, columns):
    kernels = [kernel_cells(index, column) for column in columns]
    names = [column["name"] for column in columns]
    lines = [f"- {column['name']}: {column['platform']}, {column['device']}" for column in columns]
    lines += ["", "GPU steps that the self-test found right or wrong, and the relative L2 error of the outputs against the CPU variant:",
              "", *markdown.table(["plan", *names], [[entry["name"], *(plan_cell(column["plans"].get(entry["name"])) for column in columns)]
                                                     for entry in index])]
    symbols = sorted({symbol for cells in kernels for symbol in cells})
    is_wrong = {symbol: any("wrong" in cells.get(symbol, "") for cells in kernels) for symbol in symbols}
    right = [symbol for symbol in symbols if not is_wrong[symbol]]
    lines += ["", f"Kernels of which all steps are right: {', '.join(right)}."]
    if len(right) < len(symbols):
        lines += ["", "Steps of the others in all of these plans:", "",
                  *markdown.table(["kernel", *names], [[symbol, *(cells.get(symbol, "") for cells in kernels)]
                                                       for symbol in symbols if is_wrong[symbol]])]
    return lines


def make_column(flags):
    index = read_index(flags)
    column = {"name": flags.name, "platform": "none", "device": "none", "plans": {}}
    for entry in index:
        found = measure(flags, entry)
        column["plans"][entry["name"]] = found
        if "platform" in found:
            column["platform"], column["device"] = found["platform"], found["device"]
        print(entry["name"], plan_cell(found), file=sys.stderr, flush=True)
        with open(os.path.join(flags.plans, flags.name + ".column.json"), "w") as file:
            json.dump(column, file, indent=1)
    print("\n".join(table_lines(index, [column])))
    return 0 if all(is_right(entry, column["plans"][entry["name"]]) for entry in index) else 1


def make_table(flags):
    columns = []
    for path in sorted(glob.glob(os.path.join(flags.plans, "*.column.json"))):
        with open(path) as file:
            columns.append(json.load(file))
    markdown.write_section(flags.write, "drivers", table_lines(read_index(flags), columns))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    plans = commands.add_parser("plans")
    plans.add_argument("models")
    plans.set_defaults(body=make_plans)
    column = commands.add_parser("column")
    column.add_argument("--name", required=True)
    column.set_defaults(body=make_column)
    table = commands.add_parser("table")
    table.add_argument("--write", required=True)
    table.set_defaults(body=make_table)
    for command in (plans, column, table):
        command.add_argument("plans")
    for command in (plans, column):
        command.add_argument("--bin", required=True)
    flags = parser.parse_args()
    return flags.body(flags)


if __name__ == "__main__":
    sys.exit(main())
