#!/usr/bin/env python3
"""Draws docs/design/figures from what the tools print of one network. Needs matplotlib (drawing.py).

  design_figures.py [--bin build/release/bin] [--out docs/design/figures]

The networks are those of examples/models, the device is sd855; plans are split at half of the rows, so that a better search
does not change the figures. All times in them are simulated. The same programs draw the same bytes.
"""
import argparse
import json
import os
import re
import subprocess
import tempfile

import matplotlib.pyplot as pyplot
from matplotlib.patches import Rectangle

import drawing
from drawing import FAINT, INK

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
FLAGS = ["--device=sd855", "--place=*=split:h:0.5"]
CPU, GPU, MOVES = "#d97a1f", "#3b8fd6", "#2f9e56"
QUEUES = {"cpu": CPU, "gpu": GPU, "transfer": MOVES}
ARENAS = {"host": "host arena", "shared": "shared arena", "device": "device arena"}
PART = re.compile(r"(gpu|cpu) \S+ rows\[(\d+),(\d+)\) computed\[(\d+),(\d+)\)")


class Network:
    """Holds the tools' output for one network, split in halves."""

    def __init__(self, bin_folder, name):
        model = os.path.join(ROOT, "examples", "models", name + ".onnx")
        with tempfile.TemporaryDirectory() as folder:
            plan, report = os.path.join(folder, "net.codl"), os.path.join(folder, "report.json")

            def run(tool, *arguments):
                command = [os.path.join(bin_folder, tool), *arguments]
                return subprocess.run(command, check=True, capture_output=True, text=True).stdout

            self.partition = run("codlc", model, *FLAGS, "--dump=partition")
            run("codlc", model, *FLAGS, "--output", plan, f"--report={report}")
            with open(report, encoding="utf-8") as file:
                self.report = json.load(file)
            self.plan = json.loads(run("codl-dump", plan, "--json"))
        self.name = name
        self.coexec = self.report["variants"][0]
        self.variant = self.plan["variants"][0]

    def chains(self):
        """Returns for each chain of the first variant [(node, {processor: (owned, computed)})], ranges of rows."""
        found = {}
        for line in self.partition.split("variant cpu")[0].splitlines():
            chain = re.search(r" chain=(\d+)", line)
            if chain:
                parts = {p: ((int(a), int(b)), (int(c), int(d))) for p, a, b, c, d in PART.findall(line)}
                found.setdefault(int(chain[1]), []).append((line.split()[0], parts))
        return found


def canvas(width, height, x_range, y_range):
    """Returns axes without a frame that fill a figure of so many inches; y runs downwards."""
    figure = pyplot.figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(*x_range)
    axes.set_ylim(y_range[1], y_range[0])
    axes.axis("off")
    return figure, axes


def box(axes, x, y, width, height, colour, alpha=0.25, edge=0.8, hatch=None):
    axes.add_patch(Rectangle((x, y), width, height, facecolor=colour, alpha=alpha, linewidth=0))
    axes.add_patch(Rectangle((x, y), width, height, fill=False, edgecolor=colour, linewidth=edge, hatch=hatch))


def size(count):
    return f"{count} bytes" if count < 1024 else f"{count / 1024:,.0f} KiB" if count < 2**20 else f"{count / 2**20:.1f} MiB"


def straight_line(network):
    """Draws the stages with their results and checkers, with this network's numbers."""
    passes, coexec, variant = network.report["passes"], network.coexec, network.variant
    steps = [step["kind"] for step in coexec["steps"] if "step" in step]
    arenas = sum(variant[arena + "_bytes"] for arena in ARENAS)
    split = sum(len(nodes) for nodes in network.chains().values())
    stages = (
        ("frontend", "ir::Graph", f"{passes[0]['nodes_before']} nodes", "ir::verify"),
        ("passes", "ir::Graph", f"{passes[-1]['nodes_after']} nodes, activations fused", "ir::verify, after each"),
        ("partition", "PartitionPlan", f"{coexec['split_nodes']} nodes split, {split} of them in {coexec['chains']} chains",
         "check_partition"),
        ("schedule", "Schedule", f"{steps.count('kernel')} kernels, {len(steps) - steps.count('kernel')} maps and unmaps", "check_races"),
        ("memory", "offsets", f"{size(arenas)} in three arenas, {len(variant['images'])} images", "check_memory_plan"),
        ("simulate", "times", f"{coexec['predicted_us'] / 1000:.1f} ms, simulated", ""),
        ("emit", "plan file", f"{size(network.plan['file_bytes'])}, of it {size(network.plan['data_bytes'])} weights", "verify_plan"),
        ("codl_plan_open", "codl_plan_t", "mapped, not copied", "verify_plan, again"),
        ("codl_session_create", "codl_session_t", "arenas, programs, pinned workers", ""),
        ("codl_session_run", "outputs", "no allocation, no decision", "check_every"))
    figure, axes = canvas(7.2, 4.3, (0, 100), (-1.1, len(stages) + 0.6))
    axes.text(2, -0.5, f"{network.name}.onnx and profiles/sd855.json", va="center", fontweight="bold")
    axes.text(99, -0.5, "checked by", va="center", ha="right", fontweight="bold")
    for i, (name, product, numbers, checker) in enumerate(stages):
        y = i + (0.6 if i >= 7 else 0)  # after the border between PC and device
        box(axes, 2, y + 0.1, 22, 0.8, CPU if i < 7 else GPU)
        axes.text(13, y + 0.5, name, ha="center", va="center")
        axes.text(26, y + 0.5, product, va="center", fontweight="bold")
        axes.text(43, y + 0.5, numbers, va="center")
        axes.text(99, y + 0.5, checker, va="center", ha="right")
        if i + 1 < len(stages):
            axes.plot([13, 13], [y + 0.9, y + (1.1 if i != 6 else 1.7)], color=INK, linewidth=0.8)
    axes.plot([0, 100], [7.3, 7.3], color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
    axes.text(60, 7.24, "PC", ha="center", va="bottom")
    axes.text(60, 7.36, "device", ha="center", va="top")
    return figure


def timeline(network):
    """Draws both queues of the split network over time, and the memory in use."""
    steps, end = network.coexec["steps"], network.coexec["end_us"]
    rows = {"gpu": 0, "cpu": 1}
    figure, axes = canvas(7.2, 2.3, (-0.11 * end, 1.02 * end), (-0.3, 3.1))
    for queue, row in rows.items():
        axes.text(-0.015 * end, row + 0.45, f"{queue.upper()} queue", ha="right", va="center")
    for step in steps:
        if step["queue"] not in rows:
            continue
        is_kernel = step["kind"] == "kernel"
        y, width = rows[step["queue"]] + 0.05, step["end_us"] - step["start_us"]
        box(axes, step["start_us"], y, width, 0.8, QUEUES[step["queue"]] if is_kernel else MOVES, alpha=0.3, edge=0.6)
        if is_kernel and width > 0.06 * end:
            axes.text(step["start_us"] + width / 2, y + 0.4, step["node"], ha="center", va="center", fontsize=8)
    for step in steps:
        for wait in step["waits"]:
            other = steps[wait]
            if other["queue"] != step["queue"] and {other["queue"], step["queue"]} <= set(rows):
                down = rows[other["queue"]] < rows[step["queue"]]
                axes.plot([other["end_us"], step["start_us"]], [rows[other["queue"]] + (0.85 if down else 0.05),
                                                              rows[step["queue"]] + (0.05 if down else 0.85)],
                          color=INK, linewidth=0.6)
    for tick in range(0, int(end / 1000) + 1, 5):
        axes.plot([1000 * tick] * 2, [2.0, 2.08], color=INK, linewidth=0.8)
        axes.text(1000 * tick, 2.15, f"{tick} ms", ha="center", va="top")
    axes.plot([0, end], [2.0, 2.0], color=INK, linewidth=0.8)
    for x, colour, text in ((0.0, CPU, "kernel of the CPU"), (0.24, GPU, "kernel of the GPU"), (0.48, MOVES, "map, unmap")):
        box(axes, x * end, 2.62, 0.02 * end, 0.24, colour, alpha=0.3, edge=0.6)
        axes.text((x + 0.03) * end, 2.74, text, va="center")
    axes.plot([0.67 * end, 0.695 * end], [2.86, 2.62], color=INK, linewidth=0.6)
    axes.text(0.705 * end, 2.74, "one queue waits for the other", va="center")
    return figure


def halo_and_chain(network):
    """Draws the longest chain: the rows that each processor owns, and those that it computes besides."""
    nodes = max(network.chains().values(), key=len)
    figure, axes = canvas(7.2, 0.36 * len(nodes) + 0.8, (-33, 102), (-1.0, len(nodes) + 0.8))
    axes.text(0, -0.5, "first row", va="center")
    axes.text(100, -0.5, "last row", va="center", ha="right")
    axes.text(50, -0.5, "cut", va="center", ha="center")
    for i, (name, parts) in enumerate(nodes):
        rows = max(computed[1] for _, computed in parts.values())
        axes.text(-2, i + 0.4, f"{name}, {rows} rows", ha="right", va="center")
        for processor, y in (("gpu", i), ("cpu", i + 0.42)):
            owned, computed = parts[processor]
            colour, scale = QUEUES[processor], 100 / rows
            box(axes, owned[0] * scale, y, (owned[1] - owned[0]) * scale, 0.36, colour, alpha=0.35, edge=0)
            for begin, end in ((computed[0], owned[0]), (owned[1], computed[1])):
                if end > begin:
                    box(axes, begin * scale, y, (end - begin) * scale, 0.36, colour, alpha=0.08, edge=0.5, hatch="/////")
    axes.plot([50, 50], [-0.2, len(nodes)], color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
    for x, colour, text in ((0, GPU, "GPU owns"), (26, CPU, "CPU owns")):
        box(axes, x, len(nodes) + 0.25, 3, 0.36, colour, alpha=0.35, edge=0)
        axes.text(x + 4, len(nodes) + 0.43, text, va="center")
    box(axes, 52, len(nodes) + 0.25, 3, 0.36, INK, alpha=0.08, edge=0.5, hatch="/////")
    axes.text(56, len(nodes) + 0.43, "halo: computed besides", va="center")
    return figure


def memory_arenas(network):
    """Draws each tensor's place in its arena, from the first step that touches it to the last."""
    variant = network.variant
    arenas = [arena for arena in ARENAS if variant[arena + "_bytes"]]
    lives = {}
    for i, step in enumerate(variant["steps"]):
        for tensor in step["operands"]:
            first, _ = lives.get(tensor, (i, i))
            lives[tensor] = (first, i + 1)
    total, count = sum(variant[arena + "_bytes"] for arena in arenas), len(variant["steps"])
    gap = 0.06 * total
    figure, axes = canvas(7.2, 3.6, (-0.2 * count, 1.01 * count), (-gap, total + gap * (len(arenas) + 1)))
    y = 0.0
    for arena in arenas:
        bytes_of = variant[arena + "_bytes"]
        box(axes, 0, y, count, bytes_of, INK, alpha=0.06, edge=0.8)
        axes.text(-0.01 * count, y + bytes_of / 2, f"{ARENAS[arena]}\n{size(bytes_of)}", ha="right", va="center")
        for tensor, (first, last) in sorted(lives.items()):
            held = variant["tensors"][tensor]
            if held["storage"].lower() != arena:
                continue
            colour = {"host": CPU, "device": GPU, "shared": MOVES}[arena]
            box(axes, first, y + held["offset_bytes"], last - first, held["bytes"], colour, alpha=0.3, edge=0.8)
            if last - first > 0.1 * count and held["bytes"] > 0.035 * total:
                axes.text((first + last) / 2, y + held["offset_bytes"] + held["bytes"] / 2, held["name"], ha="center", va="center",
                          fontsize=8)
        y += bytes_of + gap
    axes.text(0, y, "first step", va="center")
    axes.text(count, y, f"step {count - 1}", va="center", ha="right")
    return figure


def plan_file(network):
    """Draws the file to scale, and the part before its weights to scale."""
    plan = network.plan
    file_bytes, data = plan["file_bytes"], plan["file_bytes"] - plan["data_bytes"]
    figure, axes = canvas(7.2, 2.2, (-1, 101), (-0.6, 4.0))
    box(axes, 0, 0, 100 * data / file_bytes, 0.9, CPU)
    axes.text(0, -0.3, f"the file, {size(file_bytes)}", va="center", fontweight="bold")
    for i, blob in enumerate(sorted(plan["blobs"], key=lambda blob: blob["offset_bytes"])):
        x, width = 100 * (data + blob["offset_bytes"]) / file_bytes, 100 * blob["bytes"] / file_bytes
        box(axes, x, 0, width, 0.9, GPU, alpha=0.2 + 0.15 * (i % 2), edge=0.5)
        if width > 12:
            axes.text(x + width / 2, 0.45, blob["name"], ha="center", va="center", fontsize=8)
    axes.text(100, 1.2, "data section: packed weights, blobs at multiples of 4096", ha="right", va="center")
    axes.plot([0, 0], [0.9, 2.2], color=INK, linewidth=0.6)
    axes.plot([100 * data / file_bytes, 100], [0.9, 2.2], color=INK, linewidth=0.6)
    head, table = 64, plan["table_bytes"]
    scale = 100 / data
    for begin, end, colour in ((0, head, INK), (head, head + table, CPU), (head + table, data, FAINT)):
        box(axes, begin * scale, 2.2, (end - begin) * scale, 0.9, colour, alpha=0.3, edge=0.6)
    axes.text((head + table) * scale + 1, 2.65, f"head, FlatBuffer with the PlanDef ({size(table)}), zeros", va="center")
    axes.text(0, 3.4, "head, 64 bytes: magic, version, sizes, checksum", va="center")
    axes.text(100, 3.4, f"data_offset = {data}, a multiple of 65536", va="center", ha="right")
    return figure


FIGURES = {"straight_line": (straight_line, "super_resolution"), "timeline": (timeline, "super_resolution"),
           "halo_and_chain": (halo_and_chain, "tiny_resnet"), "memory_arenas": (memory_arenas, "super_resolution"),
           "plan_file": (plan_file, "super_resolution")}


def draw(bin_folder, folder):
    networks = {name: Network(bin_folder, name) for name in sorted({name for _, name in FIGURES.values()})}
    os.makedirs(folder, exist_ok=True)
    with pyplot.rc_context(drawing.SETTINGS):
        for name, (function, network) in FIGURES.items():
            drawing.write(function(networks[network]), folder, name)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "release", "bin"))
    parser.add_argument("--out", default=os.path.join(ROOT, "docs", "design", "figures"))
    options = parser.parse_args()
    draw(options.bin, options.out)


if __name__ == "__main__":
    main()
