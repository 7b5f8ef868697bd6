#!/usr/bin/env python3
"""The rates of MACE's kernels on phones: fitted to published latencies of whole networks on one processor.

    phone_fit.py     fits, and writes data/phone_fits.json, where ladder.py finds the numbers; prints the shares that
                     follow from them for `families.gpu` of the phones' profiles

Five latencies cannot tell five or six rates apart, so each rate has a prior, log-normal around a
public fact. Nothing that CoDL measured of co-execution enters: no latency, no ratio, no plan.
"""
import argparse
import dataclasses
import json
import math
import os

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


def conv_term(op):
    """The feature of codl's convolutions that counts the operator's multiply-adds."""
    if op.kernel == 1:
        return "mmacs_1x1"
    if op.kernel == 3:
        return "mmacs_3x3_s1" if op.stride == 1 else "mmacs_3x3_s2"
    return "mmacs_other"


CONV_TERMS = ("mmacs_1x1", "mmacs_3x3_s1", "mmacs_3x3_s2", "mmacs_other", "weight_mbytes")


def conv_features(op):
    """Million multiply-adds, channels in fours, under the filter's name; megabytes of weights."""
    channels = mace_model.rounded(op.out_channels, 4)
    taps = op.in_channels * op.kernel**2
    mmacs = 1e-6 * op.out_rows * op.out_cols * taps * channels
    return [mmacs if term == conv_term(op) else 0.0 for term in CONV_TERMS[:-1]] + [
        4e-6 * (taps + 1) * channels]


def anchors_of(phone, networks, rates):
    """What the GPU's rates say of a kernel of its own: microseconds per million multiply-adds of 1x1 filters, and per
    megabyte of activations and of weights. The first is that of the linear model nearest to the rates over the
    convolutions of all networks, in relative errors: rounding to blocks, groups and waves is in it as a mean, and
    weights stand for what small maps cost beyond it."""
    import numpy
    ops = [op for network in networks.values() for op in network if op.kind == "conv"]
    us = numpy.array([1e-3 * mace_model.gpu_flops(op, mace_model.PHONES[phone]) /
                      rates["gpu"][mace_model.gpu_class(op)] for op in ops])
    features = numpy.array([conv_features(op) for op in ops])
    found = numpy.linalg.lstsq(features / us[:, None], numpy.ones(len(us)), rcond=None)[0]
    return {"us_per_mmac": float(found[0]), "us_per_mb": 1000 / rates["gpu"]["bw"],
            "us_per_weight_mb": 1000 / rates["gpu"]["wbw"]}


def anchor_shares(profile, anchors):
    """Shares by family and term: an anchor over what the machine's facts say of the same."""
    facts = {name: field["value"] if isinstance(field, dict) else field
             for name, field in profile["gpu"]["machine"].items()}
    compute = anchors["us_per_mmac"] * facts["units"] * facts["fma_per_cycle"] * facts["ghz"] * 1e-3
    byte = 1e-3 * facts["memory_gb_per_s"]
    product = {"compute": compute, "weights": anchors["us_per_weight_mb"] * byte}
    moved = {"read": anchors["us_per_mb"] * byte, "written": anchors["us_per_mb"] * byte}
    return {"convolution": product, "product": product, "depthwise": {"compute": compute, **moved},
            "window": {"operations": compute, **moved}}


def four_digits(values):
    return {key: four_digits(value) if isinstance(value, dict) else float(f"{value:.4g}")
            for key, value in values.items()}


def main():
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    data = paper.read_data()
    fits = {}
    for phone in mace_model.PHONES:
        rates = four_digits(fit_phone(phone, data.networks, data.latency_ms[phone]))
        anchors = four_digits(anchors_of(phone, data.networks, rates))
        fits[phone] = {"rates": rates, "anchors": anchors}
        profile = paper.read_profile(os.path.join(paper.PROFILES, phone + ".json"))
        print(phone, json.dumps(four_digits(anchor_shares(profile, anchors))))
    with open(paper.FITS, "w") as file:
        json.dump(fits, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
