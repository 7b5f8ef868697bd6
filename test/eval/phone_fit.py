#!/usr/bin/env python3
"""The rates of the phone profiles: fitted to published latencies of whole networks on one processor.

    phone_fit.py [--profiles DIR]     fits, and writes the numbers into the profiles and
                                      data/phone_fits.json, where ladder.py finds them

Five latencies cannot tell five or six rates apart, so each rate has a prior, log-normal around a
public fact. Nothing that CoDL measured of co-execution enters: no latency, no ratio, no plan.
"""
import argparse
import dataclasses
import json
import math
import os
import re

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


def conv_features(op, side):
    """As kernels/conv2d/conv2d_contract.cc has them: channels in panels of 16, on the GPU in fours."""
    channels = mace_model.rounded(op.out_channels, 16 if side == "cpu" else 4)
    taps = op.in_channels * op.kernel**2
    mmacs = 1e-6 * op.out_rows * op.out_cols * taps * channels
    return [mmacs if term == conv_term(op) else 0.0 for term in CONV_TERMS[:-1]] + [
        4e-6 * (taps + 1) * channels]


def conv_arithmetic_us(op, side, rates, phone):
    """What the cost model says without the traffic of activations, which other terms stand for."""
    if side == "gpu":
        return 1e-3 * mace_model.gpu_flops(op, mace_model.PHONES[phone]) / rates[
            mace_model.gpu_class(op)]
    work = mace_model.cpu_work(op)
    work["bw"] -= 1e-9 * op.activation_bytes
    return 1e6 * sum(amount / rates[name] for name, amount in work.items())


def conv_coefficients(phone, networks, rates, side):
    """By term: codl's linear model nearest to the cost model over the convolutions of all networks,
    in relative errors. Rounding to blocks, threads, groups and tiles is in the coefficients as a mean;
    weights stand for what small maps cost beyond it."""
    import numpy
    ops = [op for network in networks.values() for op in network if op.kind == "conv"]
    us = numpy.array([conv_arithmetic_us(op, side, rates[side], phone) for op in ops])
    features = numpy.array([conv_features(op, side) for op in ops])
    found = numpy.linalg.lstsq(features / us[:, None], numpy.ones(len(us)), rcond=None)[0]
    assert (found > 0).all()
    return dict(zip(CONV_TERMS, map(float, found)))


def gpu_conv_of(profile):
    return f"conv2d_f32_cl_{profile['gpu']['layout']}"


def terms_of(profile, phone, networks, rates):
    """Values by model and term that a profile has from the fit."""
    conv = {side: conv_coefficients(phone, networks, rates, side) for side in ("cpu", "gpu")}
    cpu, gpu = rates["cpu"], rates["gpu"]
    return {
        "conv2d_f32_cpu": {**conv["cpu"], "mbytes": 1000 / cpu["bw"]},
        gpu_conv_of(profile): conv["gpu"],
        "matmul_f32_cpu": {"weight_mbytes": 1000 / cpu["wbw"], "mbytes": 1000 / cpu["bw"]},
        "matmul_f32_cl_buffer": {"weight_mbytes": 1000 / gpu["wbw"]},
        "pool2d_f32_cpu": {"mbytes": 1000 / cpu["bw"]},
        f"pool2d_f32_cl_{profile['gpu']['layout']}": {"mbytes": 1000 / gpu["bw"]},
    }


def source_text(rates, ranges, figure):
    def listed(side, names):
        return ", ".join(f"{text} {rates[side][name]:.1f} [{ranges[side][name][0]:.1f} to "
                         f"{ranges[side][name][1]:.1f}]" for name, text in names)

    return (
        "Fit of 11 rates to the five MACE-CPU and five MACE-GPU latencies of the CoDL paper (MobiSys'22, "
        f"{figure}) on this phone, with priors (test/eval/phone_fit.py); in brackets the range when any "
        "one network is left out. CPU: GEMM " +
        listed("cpu", (("gemm", "(1x1, Winograd)"), ("d3", "direct 3x3"), ("dbig", "larger"))) +
        " GFLOP/s, " + listed("cpu", (("bw", "activations"), ("wbw", "weights of matmul"))) +
        " GB/s. GPU: " + listed("gpu", (("k1", "1x1"), ("k3", "3x3"), ("k3s2", "3x3 of stride 2"),
                                        ("kbig", "larger"))) +
        " GFLOP/s, " + listed("gpu", (("bw", "activations"), ("wbw", "weights of matmul"))) +
        " GB/s. 30 us per operator on both. The terms of convolutions here are the linear model nearest to "
        "what these rates say of the networks' convolutions with MACE's blocks, threads, groups and tiles; "
        "us per MB of others = 1000 / (GB/s).")


def with_values(text, model, values):
    """The profile's text with other values for some terms of a model."""
    begin = text.index(f'"{model}": {{')
    end = text.index("\n    }", begin)
    body = text[begin:end]
    for term, value in values.items():
        body, count = re.subn(rf'("{term}": {{"value": )[0-9.]+', rf"\g<1>{value:g}", body)
        assert count == 1, (model, term)
    return text[:begin] + body + text[end:]


def four_digits(values):
    return {key: four_digits(value) if isinstance(value, dict) else float(f"{value:.4g}")
            for key, value in values.items()}


def write_profile(path, phone, networks, latency_ms):
    """Returns what it wrote: rates, and terms by model."""
    with open(path) as file:
        text = file.read()
    rates = four_digits(fit_phone(phone, networks, latency_ms))
    terms = four_digits(terms_of(paper.read_profile(path), phone, networks, rates))
    for model, values in terms.items():
        text = with_values(text, model, values)
    ranges, _ = jackknife(phone, networks, latency_ms)
    figure = "Fig. 16, buffers" if phone == "kirin990" else "Fig. 15"
    name = "fit" if phone == "sd855" else f"fit_{phone}"
    text, count = re.subn(rf'("{name}": ")[^"]*"',
                          lambda found: found.group(1) + source_text(rates, ranges, figure) + '"', text)
    assert count == 1, name
    with open(path, "w") as file:
        file.write(text)
    return {"rates": rates, "terms": terms}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--profiles", default=paper.PROFILES)
    options = parser.parse_args()
    data = paper.read_data()
    fits = {phone: write_profile(os.path.join(options.profiles, phone + ".json"), phone,
                                 data.networks, data.latency_ms[phone])
            for phone in mace_model.PHONES}
    with open(paper.FITS, "w") as file:
        json.dump(fits, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
