#!/usr/bin/env python3
"""Every table and figure of the founding papers anew: published, simulated and measured, side by side.

    papers.py BIN MODELS [--out docs/results/papers] [--work DIR]     simulates, then writes pages and figures
    papers.py BIN MODELS --measure --work DIR [--cpu-cores 0] [--gpu-cores 1]     measures on this machine
    papers.py --render                                                   pages and figures from what was collected

BIN has this build's programs (mace_cost among them), MODELS the networks with weights, NAME.onnx. Papers: CoDL
(MobiSys'22), Figs. 15 to 22 and Table 3; the study "Potentials and Pitfalls" (MobiSys'24 workshop): strategies,
unsupported operators, granularity. --out gets README.md, the figures, and what they are made from: papers.json
(simulated), measured.json (--measure, under four minutes; nothing else may run meanwhile). DIR keeps answers, so that
a command that was cut off goes on. Figures need matplotlib (python3-matplotlib).
"""
import argparse
import json
import os
import sys

import ladder
import mace_model
import measured_pairs
import paper
import papers_data
import papers_measure
import papers_pages
import papers_runs
import results

MATPLOTLIB = "3.6.3"  # Debian 12's, which drew the committed figures


def names_of(text, known):
    """{name: file} of "NAME,...": a name of the papers', or a file's."""
    return {name: known.get(name, name) for name in text.split(",")}


def papers_networks(networks):
    """Those of CoDL's paper; where there are none, all."""
    return {name: file for name, file in networks.items() if name in papers_runs.NETWORKS} or networks


def of_mace_kernels(binaries, phones):
    """What the ladder has of the paper's networks with MACE's kernels: CPU and GPU fitted, the rest simulated."""
    costs = mace_model.Costs(binaries)
    try:
        climbed = ladder.climb(paper.read_data(), costs)
    finally:
        costs.close()
    return {"single": {p: v for p, v in climbed["single_processor"].items() if p in phones},
            "codl": {p: v for p, v in climbed["co_execution"].items() if p in phones},
            "halves": [row[:3] for row in climbed["micro"] if row[0].startswith("Fig. 18")],
            "sharing": [(name, kind, count * climbed["fixed_sync_ms"] + ms) for name, kind, count, ms, _ in climbed["transfers"]],
            "energy": [row[:3] for row in climbed.get("energy", [])]}


def collect(options):
    plans = papers_runs.Plans(options.bin, options.models, options.work)
    version = measured_pairs.run(options.bin, "codlc", "--version").split(" (")[0]
    return {"made": {"machine": results.machine_text(), "compiler": version}, "networks": options.networks,
            "simulated": papers_runs.simulate(plans, options.networks, options.phones),
            "frames": papers_runs.simulate_frames(plans, papers_networks(options.networks), options.phones[0]),
            "mace": of_mace_kernels(options.bin, options.phones)}


def save(folder, name, value):
    measured_pairs.write_whole(os.path.join(folder, name), json.dumps(value, separators=(",", ":")).replace('},"', '},\n"') + "\n")


def read(folder, name):
    path = os.path.join(folder, name)
    return papers_data.read_json(path) if os.path.exists(path) else None


def text_of(data):
    return "\n".join(papers_pages.page(data)).rstrip("\n") + "\n"


def render(folder, is_measuring=False):
    collected = read(folder, "papers.json")
    if collected is None:
        sys.exit(f"papers.py: error: {folder}: expected papers.json, which `papers.py BIN MODELS` writes")
    data = papers_data.Data(collected, read(folder, "measured.json"))
    measured_pairs.write_whole(os.path.join(folder, "README.md"), text_of(data))
    try:
        import papers_figures
    except ModuleNotFoundError as error:
        text = f"figures: {error} (Debian: python3-matplotlib)"
        if is_measuring:
            return print(f"papers.py: {text}: `papers.py --render` draws them elsewhere", file=sys.stderr)
        sys.exit(f"papers.py: error: {text}")
    papers_figures.write_all(data, folder)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", nargs="?", help="folder of this build's programs")
    parser.add_argument("models", nargs="?", help="folder of NAME.onnx, with weights")
    parser.add_argument("--out", default=papers_data.PAGES, help="folder of the pages (default: docs/results/papers)")
    parser.add_argument("--work", metavar="DIR", help="what is kept between runs (default: OUT/work)")
    parser.add_argument("--render", action="store_true", help="only write pages and figures")
    parser.add_argument("--networks", help="names of the papers' networks, or of files without .onnx (default: seven; "
                        "of --measure: resnet50)")
    parser.add_argument("--devices", default=",".join(papers_runs.PHONES), dest="phones", help="(default: four phones)")
    group = parser.add_argument_group("measuring")
    group.add_argument("--measure", action="store_true", help="run plans on this machine's cores beside other processes")
    group.add_argument("--cpu-cores", default="0", help="(default: 0)")
    group.add_argument("--gpu-cores", default="1", help="of OpenCL (default: 1)")
    group.add_argument("--profile", metavar="NAME|FILE.json", help="of this pair of cores (default: codl-profile makes one)")
    group.add_argument("--time-budget", type=measured_pairs.seconds_of, default="220s", dest="seconds", help="(default: 220s)")
    options = parser.parse_args()
    if not options.render and not options.models:
        parser.error("expected BIN and MODELS, or --render")
    known = {**papers_runs.NETWORKS, **papers_runs.OTHERS}
    default = ",".join(known) if not options.measure else "resnet50"
    options.networks = names_of(options.networks or default, known)
    options.phones = options.phones.split(",")
    options.work = options.work or os.path.join(options.out, "work")
    if not options.render:
        for file in options.networks.values():
            if not os.path.exists(os.path.join(options.models, file + ".onnx")):
                parser.error(f"{options.models}: expected {file}.onnx, found no such file")
    return options


def main():
    options = parse_options()
    os.makedirs(options.out, exist_ok=True)
    if options.measure:
        options.profile_budget, options.profile_flags = papers_measure.PROFILE_SECONDS, ["--no-tiles"]
        save(options.out, "measured.json", papers_measure.measure(options, list(options.networks.values())))
    elif not options.render:
        save(options.out, "papers.json", collect(options))
    if not options.measure or os.path.exists(os.path.join(options.out, "papers.json")):
        render(options.out, options.measure)


if __name__ == "__main__":
    main()
