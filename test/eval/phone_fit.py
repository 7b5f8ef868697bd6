#!/usr/bin/env python3
"""The shares of MACE's kernels on phones: fitted to published latencies of whole networks on one processor.

    phone_fit.py [--bin BIN]    fits, and writes data/phone_fits.json, where ladder.py finds the numbers

Five latencies cannot tell five or six shares apart, so each has a prior, log-normal around a public fact. Nothing that CoDL measured of co-execution enters: no latency, no ratio, no plan.
"""
import argparse
import json
import math
import os

import mace_model
import paper

BAR_ERROR = 0.03  # error of a bar: the paper's own repeats of one quantity differ by 0 to 20 %


# Fig. 2 has 226 GFLOP/s on Adreno 650 with images; half of it with buffers.
GPU_CONV_GFLOPS = {"sd855": 200, "sd865": 200, "sd888": 200, "kirin990": 100}


def facts_of(phone):
    """Returns the machine's facts from its profile, in GFLOP/s and GB/s: the CPU's peak, and the peak if all cores
    were as slow as the slowest, because MACE cuts work evenly; the GPU's peak.
    """
    profile = paper.read_profile(os.path.join(paper.PROFILES, phone + ".json"))
    speeds = profile["cpu"]["worker_speeds"]["values"]
    value = lambda side, name: (lambda fact: fact["value"] if isinstance(fact, dict) else fact)(profile[side]["machine"][name])
    core = 2 * value("cpu", "ghz") * value("cpu", "vector_lanes") * value("cpu", "fma_per_cycle")
    return {"cpu_peak": core * sum(speeds), "cpu_even": core * len(speeds) * min(speeds),
            "gpu_peak": 2 * value("gpu", "ghz") * value("gpu", "units") * value("gpu", "fma_per_cycle")}


def priors(phone):
    """Returns, by processor and share, the median and the standard deviation of its logarithm. Profiles give the CPU
    and the GPU three fifths of the memory's rate.
    """
    facts = facts_of(phone)
    even = facts["cpu_even"] / facts["cpu_peak"]
    conv = (facts["gpu_peak"] / GPU_CONV_GFLOPS[phone], 0.5)
    weights = (0.6 / 0.4, 0.5)  # two fifths of the memory's rate: a stream without interference
    return {
        "cpu": {
            # Three frameworks reach 62 to 67 % of the peak with four threads.
            "gemm": (even / 0.65, 0.25),
            # Fig. 5: 19.5 GFLOP/s.
            "d3": (even / 0.12, 0.5),
            "dbig": (even / 0.45, 0.5),
            # Copies on phones of these years run at 4.5 to 9.8 GB/s, 0.19 of the memory's rate in the middle.
            "bytes": (0.6 / 0.19, 0.25),
            "weights": weights,
        },
        "gpu": {
            "k1": conv, "k3": conv, "k3s2": conv, "kbig": conv,
            # Probes of Adreno reach 0.6 to 0.9 of the memory's rate; hardly any step depends on it.
            "bytes": (1, 0.1),
            "weights": weights,
        },
    }


def network_terms(costs, phone, side, ops):
    """Returns microseconds by share, of all operators together, and "step"."""
    total = {name: 0.0 for name in mace_model.SHARES[side]}
    for op in ops:
        for name, us in costs.terms(phone, side, op).items():
            if name in total:  # pools and fully connected layers have no class of their own
                total[name] += us
    return total | {"step": mace_model.STEP_US * len(ops)}


def ms_of(terms, shares):
    return 1e-3 * sum(us * shares.get(name, 1) for name, us in terms.items())


def fit_shares(prior, terms, bars):
    """Returns shares by name: Gauss-Newton on their logarithms. `bars`: milliseconds by network."""
    import numpy
    names = list(prior)
    center = numpy.log([prior[name][0] for name in names])
    spread = numpy.array([prior[name][1] for name in names])

    def residuals(logs):
        shares = dict(zip(names, numpy.exp(logs)))
        errors = [math.log(ms_of(terms[name], shares) / ms) / BAR_ERROR for name, ms in bars.items()]
        return numpy.concatenate([errors, (logs - center) / spread])

    logs = center.copy()
    for _ in range(50):
        found = residuals(logs)
        slopes = numpy.stack([(residuals(logs + step) - found) / 1e-5
                              for step in 1e-5 * numpy.eye(len(names))], axis=1)
        change = numpy.linalg.lstsq(slopes, -found, rcond=None)[0]
        logs = logs + change
        if abs(change).max() < 1e-7:
            break
    return {name: float(share) for name, share in zip(names, numpy.exp(logs))}


def terms_of(costs, phone, networks):
    """Returns terms by processor and network."""
    return {side: {name: network_terms(costs, phone, side, ops) for name, ops in networks.items()} for side in ("cpu", "gpu")}


def fit_phone(costs, phone, networks, latency_ms):
    """Returns {"cpu": shares, "gpu": shares} from the bars of `latency_ms`."""
    prior, terms = priors(phone), terms_of(costs, phone, networks)
    return {side: fit_shares(prior[side], terms[side], {name: bars[side] for name, bars in latency_ms.items()})
            for side in ("cpu", "gpu")}


def four_digits(values):
    return {key: four_digits(value) if isinstance(value, dict) else float(f"{value:.4g}")
            for key, value in values.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=mace_model.BIN)
    costs = mace_model.Costs(parser.parse_args().bin)
    data = paper.read_data()
    fits = {phone: four_digits(fit_phone(costs, phone, data.networks, data.latency_ms[phone]))
            for phone in mace_model.PHONES}
    costs.close()
    with open(paper.FITS, "w") as file:
        json.dump(fits, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
