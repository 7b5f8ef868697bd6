#!/usr/bin/env python3
"""A machine of which only facts are known: measure 2 of the cost model.

    left_out_machine.py EVALUATION... --old OLD --new NEW --models DIR [--devices NAME,...] [--no-plans]

EVALUATION: NAME.evaluation files, one for each machine of family_shares.py. OLD, NEW and DIR: as compare_models.py has
them. Each machine in turn gives no samples: its kernels are predicted from its profile's machine facts and from what
kernels of their families reach on the other machines (family_shares.py). Told are

- how many of its kernels have a mean (geometric) of predicted / measured between 1 / 1.3 and 1.3,
- how many of their steps are within 30 %, and how many lie in the interval, each kernel with the same weight,
- plan times as compare_models.py simulate tells them: codlc plans with the profile without `kernels`, its `families`
  those that the other machines gave.

There is one GPU. What its kernels are predicted with is fitted to them, so it is left out of the tables, and its plans
are of a machine of which only the CPU was left out. Writes a section of docs/results/cost_model.md.
"""
import argparse
import concurrent.futures
import os
import tempfile

import numpy

import compare_models
import family_shares
import results

DEVICES = "host-2core-zen4-pocl,16core-pocl,h200-nvidia,host-2core-pocl,host-2core-avx512-pocl"
NEAR = 0.3
QUANTILES = (0.05, 0.1, 0.9, 0.95)  # of calibrations_of()


def kind_of(device, processor):
    return "cpu" if processor == "cpu" else family_shares.MACHINES[device][1]


def accuracy(kernels, device, calibrations):
    """By processor: figures of each of a machine's kernels, by symbol."""
    found = {"cpu": {}, "gpu": {}}
    for symbol, steps in kernels.items():
        processor = family_shares.processor_of(symbol)
        key = kind_of(device, processor), steps.family
        if key not in calibrations or len(steps.us) < family_shares.MIN_SAMPLES:
            continue
        shares, (low90, low80, high80, high90) = calibrations[key]
        ratios = steps.us / numpy.maximum(steps.times @ numpy.array(shares), 1e-3)
        found[processor][symbol] = {
            "family": key[1],
            "predicted_over_measured": float(numpy.exp(-numpy.log(ratios).mean())),
            "steps_within": float((abs(1 / ratios - 1) <= NEAR).mean()),
            "in_80": float(((low80 <= ratios) & (ratios <= high80)).mean()),
            "in_90": float(((low90 <= ratios) & (ratios <= high90)).mean()),
        }
    return found


def is_near(ratio):
    return 1 / (1 + NEAR) <= ratio <= 1 + NEAR


def accuracy_rows(device, found):
    rows = []
    for processor, kernels in found.items():
        for name, own in (("fast kernels", [k for k in kernels.values() if k["family"] != "loops"]),
                          ("plain loops", [k for k in kernels.values() if k["family"] == "loops"])):
            if not own:
                continue
            near = sum(is_near(k["predicted_over_measured"]) for k in own)

            def mean(key):
                return f"{100 * numpy.mean([k[key] for k in own]):.0f} %"
            rows.append((device, processor, name, f"{near} of {len(own)}", mean("steps_within"), mean("in_80"),
                         mean("in_90")))
    return rows


def facts_profile(profile, device, calibrations):
    """The profile (JSON) without what its samples said."""
    families = {}
    for (kind, family), (shares, (_, low, high, _)) in calibrations.items():
        for processor in ("cpu", "gpu"):
            if kind == kind_of(device, processor):
                families.setdefault(processor, {})[family] = {
                    "level": "facts", "origin": "assumed", "source": "others",
                    "shares": {term: share for term, share in zip(family_shares.TERMS, shares) if share > 0},
                    "interval": [round(low, 3), round(high, 3)]}
    changed = {key: value for key, value in profile.items() if key != "kernels"}
    changed["families"] = families
    changed["sources"] = dict(profile["sources"], others="what kernels of the family reach on other machines")
    return changed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("evaluations", nargs="+")
    compare_models.add_common(parser)
    parser.add_argument("--devices", default=DEVICES)
    parser.add_argument("--profiles", default=compare_models.PROFILES, help="folder of the new profiles")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--no-plans", action="store_true", help="kernels only")
    options = parser.parse_args()
    evaluations = family_shares.read_all(options.evaluations)
    by_device, plans, rows = {}, {}, []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for device in options.devices.split(","):
            calibrations = family_shares.calibrations_of(evaluations, without=device)
            by_device[device] = accuracy(evaluations[device][0], device, calibrations)
            rows += accuracy_rows(device, by_device[device])
            if not options.no_plans:
                profile = compare_models.read_json(os.path.join(options.profiles, device + ".json"))
                path = os.path.join(folder, device + ".json")
                compare_models.write_json(path, facts_profile(profile, device, calibrations))
                plans[device] = compare_models.compare_device(device, [path], options, pool)
    lines = results.wrapped(
        "Each machine is predicted from its facts and from what kernels of their families reach on the others; none of "
        "its samples are used. Predictions against measured times (samples of `test/eval/data`), "
        f"{results.machine_text()}. `test/eval/left_out_machine.py`, which says what is counted. Target: an "
        "interval of nominally 90 % holds at least 80 %.")
    lines += results.table(["machine", "processor", "kernels", "mean within 30 %", "steps within 30 %",
                            "in the 80 % interval", "in the 90 % interval"], rows)
    far = [(device, f"`{symbol}`", kernel["family"], f"{kernel['predicted_over_measured']:.2f}")
           for device, found in by_device.items() for kernels in found.values() for symbol, kernel in kernels.items()
           if not 0.5 <= kernel["predicted_over_measured"] <= 2]
    lines += ["Kernels whose mean is off by more than a factor of two:", ""]
    lines += results.table(["machine", "kernel", "family", "predicted / measured"], far)
    if plans:
        lines += results.wrapped("Simulated plan times with facts only, judged as in the section on relative plan time "
                                 "(of `h200-nvidia` only the CPU is left out):")
        lines += compare_models.comparison_tables(plans, "facts only", is_drawn=False)
    results.write_section(options.out, "left_out", lines, {"kernels": by_device, "plans": plans})
    print("\n".join(lines))


if __name__ == "__main__":
    main()
