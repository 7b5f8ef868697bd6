#!/usr/bin/env python3
"""The rates of MACE's kernels on phones: fitted to published latencies of whole networks on one processor.

    phone_fit.py     fits, and writes data/phone_fits.json, where ladder.py finds the numbers

Five latencies cannot tell five or six rates apart, so each rate has a prior, log-normal around a
public fact. Nothing that CoDL measured of co-execution enters: no latency, no ratio, no plan.
"""
import argparse
import dataclasses
import json
import math

import mace_model
import paper

BAR_ERROR = 0.03  # of a bar: the paper's own repeats of one quantity differ by 0 to 20 %


@dataclasses.dataclass(frozen=True)
class Facts:
    """From public databases."""
    cpu_peak_gflops: float  # four big cores, fp32
    dram_gb_s: float
    gpu_conv_gflops: float  # Fig. 2 has 226 on Adreno 650, images; half of it where buffers are used


FACTS = {
    "sd855": Facts(161.6, 34.1, 200),
    "sd865": Facts(161.6, 44.0, 200),
    "sd888": Facts(207, 51.2, 200),
    "kirin990": Facts(167, 34.1, 100),
}


def priors(phone):
    """By processor and rate: median and the standard deviation of its logarithm."""
    facts = FACTS[phone]
    conv = (facts.gpu_conv_gflops, 0.5)
    weights = (0.4 * facts.dram_gb_s, 0.5)  # a stream that nothing else disturbs
    return {
        "cpu": {
            # Three frameworks reach 62 to 67 % of the peak with four threads.
            "gemm": (0.65 * facts.cpu_peak_gflops, 0.25),
            # Fig. 5: 19.5 GFLOP/s.
            "d3": (0.12 * facts.cpu_peak_gflops, 0.5),
            "dbig": (0.45 * facts.cpu_peak_gflops, 0.5),
            # Copies on phones of these years run at 4.5 to 9.8 GB/s.
            "bw": (0.19 * facts.dram_gb_s, 0.25),
            "wbw": weights,
        },
        "gpu": {
            "k1": conv, "k3": conv, "k3s2": conv, "kbig": conv,
            # Probes of Adreno reach 0.6 to 0.9 of the DRAM's rate; hardly any step depends on it.
            "bw": (0.6 * facts.dram_gb_s, 0.1),
            "wbw": weights,
        },
    }


def fit_rates(prior, networks, bars, step_ms):
    """Rates by name: Gauss-Newton on their logarithms. `bars`: milliseconds by network."""
    import numpy
    names = list(prior)
    center = numpy.log([prior[name][0] for name in names])
    spread = numpy.array([prior[name][1] for name in names])

    def residuals(logs):
        rates = dict(zip(names, numpy.exp(logs)))
        errors = [math.log(sum(step_ms(op, rates) for op in networks[name]) / ms) / BAR_ERROR
                  for name, ms in bars.items()]
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
    return {name: float(rate) for name, rate in zip(names, numpy.exp(logs))}


def fit_phone(phone, networks, latency_ms, left_out=None):
    """{"cpu": rates, "gpu": rates} from the bars of `latency_ms`, all or all but one network's."""
    prior = priors(phone)
    step_ms = {"cpu": mace_model.cpu_ms,
               "gpu": lambda op, rates: mace_model.gpu_ms(op, rates, mace_model.PHONES[phone])}
    return {side: fit_rates(prior[side], networks,
                            {name: bars[side] for name, bars in latency_ms.items()
                             if name != left_out}, step_ms[side])
            for side in ("cpu", "gpu")}


def jackknife(phone, networks, latency_ms):
    """Rates as (least, most) when any one network is left out, and the errors of its latencies in
    percent by network and processor."""
    phone_data = mace_model.PHONES[phone]
    fits = {name: fit_phone(phone, networks, latency_ms, left_out=name) for name in networks}
    ranges = {side: {rate: (min(fit[side][rate] for fit in fits.values()),
                            max(fit[side][rate] for fit in fits.values()))
                     for rate in next(iter(fits.values()))[side]} for side in ("cpu", "gpu")}
    errors = {}
    for name, fit in fits.items():
        cpu = sum(mace_model.cpu_ms(op, fit["cpu"]) for op in networks[name])
        gpu = sum(mace_model.gpu_ms(op, fit["gpu"], phone_data) for op in networks[name])
        errors[name] = {"cpu": 100 * (cpu / latency_ms[name]["cpu"] - 1),
                        "gpu": 100 * (gpu / latency_ms[name]["gpu"] - 1)}
    return ranges, errors


def four_digits(values):
    return {key: four_digits(value) if isinstance(value, dict) else float(f"{value:.4g}")
            for key, value in values.items()}


def main():
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    data = paper.read_data()
    fits = {}
    for phone in mace_model.PHONES:
        rates = four_digits(fit_phone(phone, data.networks, data.latency_ms[phone]))
        fits[phone] = {"rates": rates}
        print(phone, json.dumps(rates))
    with open(paper.FITS, "w") as file:
        json.dump(fits, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
