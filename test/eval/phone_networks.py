#!/usr/bin/env python3
"""Predicted against published latencies of whole networks on phones, one processor; and the fit of the profiles to those in fp32.

    phone_networks.py MODELS --bin BIN           writes docs/results/phones.md; MODELS has networks with weights
    phone_networks.py MODELS --bin BIN --write   fits first, and writes data/phone_anchors.json and the profiles

data/phone_rows.json lists the rows. codlc plans each for the CPU or the GPU alone. What the steps of the plan take
(codlc --explain) is a sum of terms, and the fit scales kinds of terms, in logarithms:

    CPU  three factors on the built-in shares of families, the same for all chips: of arithmetic, of memory, and of
         Winograd's kernels; times one of each chip, log-normal around 1
    GPU  shares of arithmetic and of weights of each chip, log-normal around those of its kind of GPU, which are
         log-normal around those of all; plans without Winograd's method, as MACE's on a GPU are, and with the
         issue slots of MACE's kernels (phone_profiles.GPU_SLOTS)

Rows are judged by fits that have seen no row of their network, and by fits that have seen none of their chip. Rows in halves
are judged by the same fits: nothing is fitted to them but the factors of chips of which no row in fp32 is known.
"""
import argparse
import collections
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile

import numpy

import ladder
import mace_model
import paper
import phone_profiles

# These deviations of logarithms are assumed: a library's time over another's on one chip; a MACE bar; a chip's factor.
ROW_SPREAD, BAR_SPREAD, CHIP_SPREAD = 0.25, 0.1, 0.15
KIND_SPREAD = 0.3  # assumed: a GPU's share around its kind's, and that around all
# These medians are assumed, as in phone_fit.py: a third to a fifth of the peak, two thirds of the memory's rate.
GPU_PRIOR = {"compute": (5, 0.5), "weights": (1.5, 0.5)}
CPU_FACTORS = ("arithmetic", "memory", "winograd")
CPU_PRIOR = (1, 0.5)
# Percent: for released plans with MACE's kernels the mean and the largest error, and the least share of ratios within
# 0.1.
PLAN_LIMITS, RATIO_LIMIT = (6, 15), 80
MEDIAN_LIMIT = {"network": 25, "chip": 40}  # percent
FAR = 1.3  # factor; the report names rows beyond it
WORST_LIMIT = 2  # factor for a network that was left out
Row = collections.namedtuple("Row", "chip processor threads network ms source precision")
# Matches a chosen step of codlc --explain: its kernel, the time of each term.
STEP = re.compile(r"^  (?:cpu|gpu)  (\w+) +[0-9.]+ ms \([^)]*\)  [^:]*: (.*)$", re.MULTILINE)


def read_rows():
    """Returns (rows in fp32, rows in halves)."""
    data = phone_profiles.load(phone_profiles.HERE, "data", "phone_rows.json")
    return [Row(*row, "fp32") for row in data["rows"]], [Row(*row, "fp16") for row in data["halves"]]


# ---- networks ----------------------------------------------------------------------------------------------------------


def write_mobilenet_v1(path):
    """Writes MobileNetV1 of 224 x 224, 1.0: BatchNorm folded, weights of zeros and biases."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    nodes, weights = [], []

    def conv(source, name, inputs, outputs, kernel, stride, groups=1):
        shape = (outputs, inputs // groups, kernel, kernel)
        weights.append(numpy_helper.from_array(numpy.full(shape, 0.01, numpy.float32), name + ".w"))
        weights.append(numpy_helper.from_array(numpy.zeros(outputs, numpy.float32), name + ".b"))
        pad = kernel // 2
        nodes.append(helper.make_node("Conv", [source, name + ".w", name + ".b"], [name], name=name, group=groups,
                                      kernel_shape=[kernel, kernel], strides=[stride, stride], pads=[pad] * 4))
        nodes.append(helper.make_node("Relu", [name], [name + ".r"], name=name + ".relu"))
        return name + ".r"

    value = conv("input", "stem", 3, 32, 3, 2)
    channels = 32
    for i, (outputs, stride) in enumerate([(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)] + [(512, 1)] * 5 +
                                          [(1024, 2), (1024, 1)]):
        value = conv(value, f"depthwise{i}", channels, channels, 3, stride, channels)
        value = conv(value, f"pointwise{i}", channels, outputs, 1, 1)
        channels = outputs
    weights.append(numpy_helper.from_array(numpy.full((1000, 1024), 0.01, numpy.float32), "fc.w"))
    weights.append(numpy_helper.from_array(numpy.zeros(1000, numpy.float32), "fc.b"))
    nodes += [helper.make_node("GlobalAveragePool", [value], ["pooled"]), helper.make_node("Flatten", ["pooled"], ["flat"]),
              helper.make_node("Gemm", ["flat", "fc.w", "fc.b"], ["output"], transB=1)]
    graph = helper.make_graph(nodes, "mobilenet_v1",
                              [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, 3, 224, 224])],
                              [helper.make_tensor_value_info("output", TensorProto.FLOAT, [1, 1000])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)


# ---- predictions -------------------------------------------------------------------------------------------------------


def read_anchors():
    return phone_profiles.load(phone_profiles.HERE, "data", "phone_anchors.json")


def shipped_factors(anchors, row):
    """Returns the factors in the profile of the row's chip, by kind of term."""
    common = anchors["extrapolated"][row.processor]
    own = anchors.get(row.chip, {}).get(row.processor)
    if own:
        return own["factors"]
    if row.processor == "cpu":
        return common["factors"]
    return common["factors"][gpu_kind(row.chip)]


def gpu_kind(chip):
    return phone_profiles.load(phone_profiles.HERE, "data", "phone_chips.json")["chips"][chip]["gpu"]["kind"]


class Planner:
    """Plans with codlc for one processor and sums the microseconds of all steps per kind of term."""

    def __init__(self, codlc, models, folder):
        self.codlc, self.models, self.folder = codlc, models, folder
        self.forget()
        write_mobilenet_v1(os.path.join(folder, "mobilenet_v1.onnx"))

    def forget(self):
        """Forgets the profiles' predictions from before they were rewritten."""
        self.known, self.anchors = {}, read_anchors()

    def path_of(self, network):
        for name in (network + "_ts13", network, network + "_paper"):
            for folder in (self.models, self.folder):
                path = os.path.join(folder, name + ".onnx")
                if os.path.exists(path):
                    return path
        sys.exit(f"{self.models}: expected {network}.onnx, found none")

    def explain(self, row):
        base = phone_profiles.load(phone_profiles.ROOT, "profiles", row.chip + ".json")
        profile = {"format_version": 3, "base": row.chip, "name": "row"}
        if row.processor == "cpu":
            speeds = base["cpu"]["worker_speeds"]
            profile["cpu"] = {"threads": row.threads,
                              "worker_speeds": {**speeds, "values": speeds["values"][:row.threads]}}
        device = os.path.join(self.folder, "row.json")
        with open(device, "w", encoding="utf-8") as file:
            json.dump(profile, file)
        # MACE's GPU rows use direct convolutions.
        flags = ["--avoid=winograd"] if row.processor == "gpu" else []
        return subprocess.run([self.codlc, self.path_of(row.network), "--device=" + device,
                               "--strategy=" + row.processor, "--precision=" + row.precision, "--explain", *flags],
                              check=True, capture_output=True, text=True).stdout

    def predicted_ms(self, row):
        """Predicts with the present profile."""
        terms = self.terms(row)
        factors = {**shipped_factors(self.anchors, row), "fixed": 1}
        return sum(ms * factors[kind] for kind, ms in terms.items())

    def terms(self, row):
        """Returns, by kind, the times that the profile's factors multiply."""
        key = row[:4] + (row.precision,)
        if key in self.known:
            return self.known[key]
        text = self.explain(row)
        found = collections.Counter()
        steps = STEP.findall(text)
        if not steps:
            sys.exit(f"codlc --explain: expected steps with terms in ms, found none: {text[:200]}")
        over_mace = phone_profiles.slots_over_mace(gpu_kind(row.chip)) if row.processor == "gpu" else {}
        rest = float(re.search(r"predicted ([0-9.]+) ms", text).group(1))
        for kernel, terms in steps:
            for name, value in re.findall(r"(\w+) ([0-9.]+) ms", terms):
                rest -= float(value)
                slots = over_mace.get(kernel, 1) if name == "compute" else 1
                found[self.kind_of(row.processor, name, kernel)] += float(value) / slots
        found["fixed"] += rest  # synchronisations, rounding
        factors = {**shipped_factors(self.anchors, row), "fixed": 1}
        self.known[key] = {kind: ms / factors[kind] for kind, ms in found.items()}
        return self.known[key]

    def kind_of(self, processor, term, kernel):
        if processor == "cpu":
            return phone_profiles.kind_of(term, kernel)
        return ("compute" if term in ("compute", "operations", "special") else "weights" if term == "weights" else "fixed")


def ms_of(terms, factors):
    return sum(ms * factors.get(kind, 1) for kind, ms in terms.items())


# ---- fits --------------------------------------------------------------------------------------------------------------


def least_squares(residuals, start):
    """Solves by Gauss-Newton."""
    values = numpy.array(start, dtype=float)
    for _ in range(60):
        found = residuals(values)
        slopes = numpy.stack([(residuals(values + step) - found) / 1e-5 for step in 1e-5 * numpy.eye(len(values))], axis=1)
        change = numpy.linalg.lstsq(slopes, -found, rcond=None)[0]
        values = values + change
        if abs(change).max() < 1e-7:
            break
    return values


def fit_cpu(rows, planner):
    """Returns a function from a chip to its factors; None stands for a chip without a row."""
    chips = sorted({row.chip for row in rows})
    terms = [planner.terms(row) for row in rows]
    count = len(CPU_FACTORS)

    def factors_of(logs, chip):
        own = logs[count + chips.index(chip)] if chip in chips else 0
        return {kind: math.exp(log + own) for kind, log in zip(CPU_FACTORS, logs)}

    def residuals(logs):
        errors = [math.log(ms_of(t, factors_of(logs, row.chip)) / row.ms) / ROW_SPREAD for t, row in zip(terms, rows)]
        return numpy.concatenate([errors, logs[count:] / CHIP_SPREAD, (logs[:count] - math.log(CPU_PRIOR[0])) / CPU_PRIOR[1]])

    logs = least_squares(residuals, numpy.zeros(count + len(chips)))
    return lambda chip: factors_of(logs, chip)


def fit_gpu(rows, planner):
    """Returns a function from (chip, kind of GPU) to its shares; a chip or kind without a row has the common ones."""
    chips = sorted({row.chip for row in rows})
    kinds = sorted({gpu_kind(chip) for chip in chips})
    kind_of = {chip: kinds.index(gpu_kind(chip)) for chip in chips}
    terms = [planner.terms(row) for row in rows]
    names = list(GPU_PRIOR)
    each = 1 + len(kinds) + len(chips)  # factors of a share: for all, kinds, and chips

    def shares_of(logs, chip, kind):
        shares = {}
        for i, name in enumerate(names):
            own = logs[i * each:(i + 1) * each]
            log = own[0]
            if kind in kinds:
                log += own[1 + kinds.index(kind)]
            if chip in chips:
                log += own[1 + len(kinds) + chips.index(chip)]
            shares[name] = math.exp(log)
        return shares

    def residuals(logs):
        errors = [math.log(ms_of(t, shares_of(logs, row.chip, kinds[kind_of[row.chip]])) / row.ms) / BAR_SPREAD
                  for t, row in zip(terms, rows)]
        beliefs = []
        for i, (middle, spread) in enumerate(GPU_PRIOR.values()):
            own = logs[i * each:(i + 1) * each]
            beliefs += [(own[0] - math.log(middle)) / spread, *(own[1:] / KIND_SPREAD)]
        return numpy.concatenate([errors, beliefs])

    start = numpy.zeros(each * len(names))
    for i, (middle, _) in enumerate(GPU_PRIOR.values()):
        start[i * each] = math.log(middle)
    logs = least_squares(residuals, start)
    return lambda chip, kind: shares_of(logs, chip, kind)


def as_fp32(halves, rows):
    """Returns rows in halves, of chips without one in fp32, as if they were fp32: times the factor by which the same
    library takes longer in fp32, by `rows`, on sd855plus.
    """
    fp32 = {row.network: row.ms for row in rows if row.chip == "sd855plus" and row.threads == 4}
    half = {row.network: row.ms for row in halves if row.chip == "sd855plus" and row.threads == 4}
    known = {row.chip for row in rows}
    return [row._replace(ms=row.ms * fp32[row.network] / half[row.network], precision="fp32")
            for row in halves if row.chip not in known and row.threads == 4 and row.network in fp32]


def fits(rows, halves, planner):
    """Returns (fit of CPUs, fit of GPUs)."""
    return (fit_cpu([row for row in rows if row.processor == "cpu"] + as_fp32(halves, rows), planner),
            fit_gpu([row for row in rows if row.processor == "gpu"], planner))


def predicted_by(found, row, planner):
    cpu, gpu = found
    return ms_of(planner.terms(row), cpu(row.chip) if row.processor == "cpu" else gpu(row.chip, gpu_kind(row.chip)))


def left_out(rows, halves, planner, by):
    """Returns for each row predicted over published, by a fit that has not seen the row's `by`."""
    found, ratios = {}, {}
    for row in rows + halves:
        left = getattr(row, by)
        if left not in found:
            found[left] = fits(*([other for other in some if getattr(other, by) != left] for some in (rows, halves)), planner)
        ratios[row] = predicted_by(found[left], row, planner) / row.ms
    return ratios


# ---- written files
# ----------------------------------------------------------------------------------------------------


def three_digits(factors):
    return {name: float(f"{factor:.3g}") for name, factor in factors.items()}


def write_anchors(rows, halves, planner):
    """Writes data/phone_anchors.json, but keeps the parts that come from elsewhere."""
    cpu, gpu = fits(rows, halves, planner)
    sources = phone_profiles.load(phone_profiles.HERE, "data", "phone_rows.json")["sources"]
    anchors = read_anchors()
    anchors["extrapolated"]["cpu"]["factors"] = three_digits(cpu(None))
    kinds = ("adreno", "mali", "xclipse", "any")
    anchors["extrapolated"]["gpu"]["factors"] = {kind: three_digits(gpu(None, kind)) for kind in kinds}
    for chip in sorted({row.chip for row in rows + as_fp32(halves, rows)}):
        entry = anchors.setdefault(chip, {})
        for processor, found in (("cpu", rows + as_fp32(halves, rows)), ("gpu", rows)):
            own = [row for row in found if row.chip == chip and row.processor == processor]
            if not own:
                continue
            text = "; ".join(sources[source] for source in sorted({row.source for row in own}))
            is_half = processor == "cpu" and all(row.chip != chip for row in rows)
            entry[processor] = {
                "factors": three_digits(cpu(chip) if processor == "cpu" else gpu(chip, gpu_kind(chip))),
                "source": f"fit to {len(own)} latencies of whole networks (test/eval/phone_networks.py)" +
                          (", in halves, as fp32 by what the Snapdragon 855+ takes more" if is_half else "") + ": " + text}
    with open(os.path.join(phone_profiles.HERE, "data", "phone_anchors.json"), "w", encoding="utf-8") as file:
        file.write(phone_profiles.text_of(anchors) + "\n")
    phone_profiles.write_all()
    planner.forget()


def verdict(holds):
    return "met" if holds else "**not met**"


def ladder_lines(folder):
    """Returns lines on the released plans, with MACE's kernels through the same machines, terms and shares; and
    whether limits are kept.
    """
    costs = mace_model.Costs(folder)
    result = ladder.climb(paper.read_data(), costs)
    costs.close()
    errors = [abs(found["error"]) for phone in ladder.COUNTED for found in result["co_execution"][phone].values()]
    mean, worst = statistics.mean(errors), max(errors)
    ratios = [result["ratios"][phone] for phone in ladder.COUNTED]
    count, within = (sum(found[key] for found in ratios) for key in ("operators", "within_1"))
    share = 100 * within / count
    is_mean_kept, is_share_kept = mean <= PLAN_LIMITS[0] and worst <= PLAN_LIMITS[1], share >= RATIO_LIMIT
    return [f"| CoDL's released plans, MACE's kernels (rung C of [ladder.md](ladder.md)), mean error | {len(errors)} | {mean:.1f} % | "
            f"{worst:.1f} % | mean {PLAN_LIMITS[0]} %, farthest {PLAN_LIMITS[1]} % | {verdict(is_mean_kept)} |",
            f"| CoDL's released ratios within 0.1 of the simulated optimum (rung D) | {count} | {share:.0f} % within | | "
            f"{RATIO_LIMIT} % | {verdict(is_share_kept)} |"], is_mean_kept and is_share_kept


def report(rows, halves, planner, folder):
    """Writes docs/results/phones.md; returns whether all limits are kept."""
    ratios = {by: left_out(rows, halves, planner, by) for by in MEDIAN_LIMIT}
    lines = ["# Whole networks on phones: predicted beside published", "",
             "Published is what other libraries' kernels took on a phone (`test/eval/data/phone_rows.json`); predicted is what codlc says",
             "of its plan for one processor by the phone's profile, on a GPU with the issue slots of MACE's kernels",
             "([mobile_kernels.md](mobile_kernels.md)). So the errors contain how far two libraries are apart on one chip.",
             "Nothing here was run on a phone.", "",
             "```", "test/eval/phone_networks.py MODELS --bin build/release/bin     # prints each latency and writes this page", "```", "",
             "Ratios are predicted over published. Rows are judged by fits that have not seen their network, or not their chip. The rows were",
             "chosen first; that Winograd's kernels have a factor of their own was decided with the rows in view.", "",
             "| measure | rows | median error | farthest | limit | |", "|---|---|---|---|---|---|"]
    is_kept = True
    for by, name in (("network", "network left out of the fit"), ("chip", "chip left out of the fit")):
        for precision in ("fp32", "fp16"):
            for processors, what in ((("cpu", "gpu"), "all"), (("cpu",), "CPU"), (("gpu",), "GPU")):
                found = [ratio for row, ratio in ratios[by].items() if row.processor in processors and row.precision == precision]
                median = 100 * statistics.median(abs(ratio - 1) for ratio in found)
                worst = max(max(ratio, 1 / ratio) for ratio in found)
                has_worst = by == "network" and precision == "fp32"
                limit = f"median {MEDIAN_LIMIT[by]} %" + (f", {WORST_LIMIT} times" if has_worst else "")
                holds = median <= MEDIAN_LIMIT[by] and (not has_worst or worst <= WORST_LIMIT)
                counts = what == "all"
                is_kept &= holds or not counts
                lines.append(f"| {precision}, {name}, {what} | {len(found)} | {median:.1f} % | {worst:.2f} times | {limit} | "
                             f"{verdict(holds)}{'' if counts else ' (does not count)'} |")
    mobilenets = [row for row in rows if row.network == "mobilenet_v1" and row.threads == 4 and row.chip.startswith("sd855")]
    for row in mobilenets:
        ratio = ratios["network"][row]
        holds = abs(ratio - 1) <= 0.25
        is_kept &= holds
        lines.append(f"| MobileNetV1 on {row.chip}, four threads, network left out: {row.ms * ratio:.1f} ms, published {row.ms} ms | 1 | "
                     f"{100 * abs(ratio - 1):.1f} % | | 25 % | {verdict(holds)} |")
    of_ladder, is_ladder_kept = ladder_lines(folder)
    is_kept &= is_ladder_kept
    lines += of_ladder
    print("| chip | processor, threads | network | published, ms | profile as shipped, ms | ratio | network left out | chip left out | source |")
    for row in rows + halves:
        ms = planner.predicted_ms(row)
        print(f"| {row.chip} | {row.processor.upper()}{f', {row.threads}' if row.threads else ''} | {row.network}, {row.precision} | {row.ms:g} | "
              f"{ms:.1f} | {ms / row.ms:.2f} | {ratios['network'][row]:.2f} | {ratios['chip'][row]:.2f} | {row.source} |")
    is_far = {row: ratio for row, ratio in ratios["network"].items() if max(ratio, 1 / ratio) > FAR}
    far = [f"{row.network} on {row.chip}, {row.processor.upper()}{f' {row.threads}' if row.threads else ''} ({ratio:.2f})"
           for row, ratio in is_far.items() if row.precision == "fp32"]
    far_halves = collections.defaultdict(list)
    for row, ratio in is_far.items():
        if row.precision == "fp16":
            far_halves[row.network].append(ratio)
    intervals = {processor: planner.anchors["extrapolated"][processor]["interval"] for processor in ("cpu", "gpu")}
    held = [intervals[row.processor][0] <= 1 / ratios["network"][row] <= intervals[row.processor][1] for row in halves]
    in_halves = as_fp32(halves, rows)
    shipped = [planner.predicted_ms(row) / row.ms for row in in_halves]
    lines += ["", "## What falls short", "",
              f"These predictions in fp32 are off by more than {FAR} times where the network was left out: " + "; ".join(far) + ".", "",
              "In halves, with the number of rows: " + "; ".join(
                  f"{network} {len(found)} ({min(found):.2f} to {max(found):.2f})" for network, found in sorted(far_halves.items())) + ".", "",
              "- One thread of ncnn or Bolt reaches 82 to 85 % of a core's peak, four threads 62 to 67 % of four cores'. One share stands for",
              "  both, so large networks on one thread are predicted too slow.",
              "- MACE computes PoseNet's 7x7 filters at less than half the rate of its products. codl's kernel takes all filters at one rate,",
              "  and is predicted faster.",
              "- ncnn and Bolt compute 3x3 filters by Winograd's method in halves, too. codl's kernels of that method compute floats, so VGG-16",
              "  and ResNets are predicted slower. For that no limit is set to the farthest row in halves.",
              f"- The profiles' intervals, which hold eight of ten rows in fp32, hold {100 * statistics.mean(held):.0f} % of those in halves.",
              "- One thread of ncnn on the 8 Gen 2 takes 3.7 times what four take, as if it ran on no prime core. It is predicted to run on one.",
              f"- {', '.join(sorted({row.chip for row in in_halves}))} have published latencies in halves only. For the fit those of four threads are",
              "  brought to fp32 by the factor that the library takes more in fp32 on the Snapdragon 855+; predicted by the shipped profiles,",
              f"  over that, is {min(shipped):.2f} to {max(shipped):.2f}.",
              "- Whether codl's kernels are as fast as these libraries', only a run of codl on a phone can tell."]
    path = os.path.join(phone_profiles.ROOT, "docs", "results", "phones.md")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    print("\n".join(line for line in lines if line.startswith("| ")))
    return is_kept


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", metavar="MODELS")
    parser.add_argument("--bin", required=True)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    rows, halves = read_rows()
    with tempfile.TemporaryDirectory() as folder:
        planner = Planner(os.path.join(options.bin, "codlc"), options.models, folder)
        if options.write:
            for _ in range(2):  # the first fit changes which kernels are chosen
                write_anchors(rows, halves, planner)
        return 0 if report(rows, halves, planner, options.bin) else 1


if __name__ == "__main__":
    sys.exit(main())
