#!/usr/bin/env python3
"""Repeats figures of the founding papers: published beside simulated.

    papers.py BIN MODELS [--out docs/results/papers] [--work DIR]     simulates, then writes the page and the figures
    papers.py --render                                                page and figures from what was collected

BIN has this build's programs, MODELS the networks with weights, NAME.onnx. Papers: CoDL (MobiSys'22), Figs. 15, 16, 21 and 22;
the study "Potentials and Pitfalls" (MobiSys'24 workshop): strategies and frames. --out gets README.md, the figures, and what they
are made from, papers.json. DIR keeps answers, so that a command that was cut off goes on. Figures need matplotlib
(python3-matplotlib).
"""
import argparse
import json
import os
import sys

import measured_pairs
import papers_data
import papers_pages
import papers_runs
import results

MATPLOTLIB = "3.6.3"  # Debian 12's version, which drew the committed figures


def names_of(text, known):
    """Returns {name: file} for "NAME,...": a name of the papers', or a file's."""
    return {name: known.get(name, name) for name in text.split(",")}


def papers_networks(networks):
    """Returns those of CoDL's paper; all if there are none."""
    return {name: file for name, file in networks.items() if name in papers_runs.NETWORKS} or networks


def collect(options):
    plans = papers_runs.Plans(options.bin, options.models, options.work)
    version = measured_pairs.run(options.bin, "codlc", "--version").split(" (")[0]
    return {"made": {"machine": results.machine_text(), "compiler": version}, "networks": options.networks,
            "simulated": papers_runs.simulate(plans, options.networks, options.phones),
            "frames": papers_runs.simulate_frames(plans, papers_networks(options.networks), options.phones[0])}


def save(folder, name, value):
    measured_pairs.write_whole(os.path.join(folder, name), json.dumps(value, separators=(",", ":")).replace('},"', '},\n"') + "\n")


def read(folder, name):
    path = os.path.join(folder, name)
    return papers_data.read_json(path) if os.path.exists(path) else None


def text_of(data):
    return "\n".join(papers_pages.page(data)).rstrip("\n") + "\n"


def render(folder):
    collected = read(folder, "papers.json")
    if collected is None:
        sys.exit(f"papers.py: error: {folder}: expected papers.json, which `papers.py BIN MODELS` writes")
    data = papers_data.Data(collected)
    measured_pairs.write_whole(os.path.join(folder, "README.md"), text_of(data))
    try:
        import papers_figures
    except ModuleNotFoundError as error:
        sys.exit(f"papers.py: error: figures: {error} (Debian: python3-matplotlib)")
    papers_figures.write_all(data, folder)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", nargs="?", help="folder of this build's programs")
    parser.add_argument("models", nargs="?", help="folder of NAME.onnx, with weights")
    parser.add_argument("--out", default=papers_data.PAGES, help="folder of the pages (default: docs/results/papers)")
    parser.add_argument("--work", metavar="DIR", help="what is kept between runs (default: OUT/work)")
    parser.add_argument("--render", action="store_true", help="only write pages and figures")
    parser.add_argument("--networks", help="names of the papers' networks, or of files without .onnx (default: seven)")
    parser.add_argument("--devices", default=",".join(papers_runs.PHONES), dest="phones", help="(default: four phones)")
    options = parser.parse_args()
    if not options.render and not options.models:
        parser.error("expected BIN and MODELS, or --render")
    known = {**papers_runs.NETWORKS, **papers_runs.OTHERS}
    options.networks = names_of(options.networks or ",".join(known), known)
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
    if not options.render:
        save(options.out, "papers.json", collect(options))
    render(options.out)


if __name__ == "__main__":
    main()
