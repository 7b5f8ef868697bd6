#!/usr/bin/env python3
"""Four models of a step's time side by side: measure 3 of the cost model.

    four_models.py EVALUATION... [--old OLD --new NEW --models DIR]

EVALUATION: NAME.evaluation files of family_shares.py, made of data/NAME.csv.xz, from which shapes are read. The models:

  flops   a line through the multiply-adds (bytes, where there are none), the baseline of the CoDL paper
  paper   the CoDL paper's, by algorithm as its released code has it: blocks that the busiest thread or compute unit
          has, times a unit time that is linear in the dimensions; a regression for each algorithm, filter and stride.
          Products count all of rows, columns and depth; parts along channels have fewer channels, along height fewer
          rows. Where our kernels are cut otherwise than MACE's, MACE's blocks stand. Kernels that the paper has no
          predictor for have none here
  forest  a random forest on shapes (scikit-learn): what samples alone tell
  ours    nominal times times shares (compiler/cost), as codl-profile fits them

Accuracy: of five folds of distinct shapes each model predicts the one that it was not fitted to; and all samples of one
machine predict those of another (OTHER_DAY), ours with the other machine's facts. With --old, --new and --models: the
time of the plan that each model chooses. The steps of each layer of a chain network come from codlc's own plans (CPU,
GPU, split along height at tenths), each model predicts them, and dynamic programming over the layers takes the fastest
by these predictions. Every choice is judged by the old model (codl-sim of OLD): neither measured nor ours.
Writes a section of docs/results/cost_model.md.
"""
import argparse
import collections
import json
import lzma
import math
import os
import statistics
import tempfile

import numpy
from sklearn.ensemble import RandomForestRegressor

import compare_models
import family_shares
import mace_model
import results
import work_groups

FOLDS = 5
MIN_SAMPLES = 20
MODELS = ("flops", "paper", "forest", "ours")
# Threads of the CPU samples. The machine whose samples stand for another day's, and the one that predicts them.
THREADS = {"h200-nvidia": 2, "16core-pocl": 2}
OTHER_DAY = ("host-2core-zen4-pocl", "host-2core-zen5-pocl-290s")
PLAN_DEVICE = "host-2core-zen4-pocl"
PLAN_NETWORKS = ("vgg16_ts13", "yolov2", "posenet", "fst", "resnet18_ts13", "squeezenet1_1_ts13")
WHOLE, HEIGHT, CHANNELS = 0, 1, 2  # SplitDim


class Step:
    """A step's shape: the kernel's symbol, operands' dims (the output last), the part that it computes, its stride."""

    def __init__(self, symbol, operands, part, params):
        self.symbol = symbol
        self.operands = [list(dims) for dims in operands]
        self.part = part
        self.params = params

    def dims(self, operand):
        return ([1] * 4 + self.operands[operand])[-4:] if len(self.operands[operand]) < 4 else self.operands[operand]

    @property
    def stride(self):
        return self.params[0] if "conv2d" in self.symbol and self.params else 1

    def output(self):
        """Dims of what the step computes, at least four; NCHW where the operator has feature maps."""
        dims = list(self.dims(-1))
        dim, begin, end = self.part
        if dim == HEIGHT:
            dims[-2] = end - begin
        if dim == CHANNELS:  # of products the columns, of feature maps the channels
            dims[-1 if self.product() else 1] = end - begin
        return dims

    def product(self):
        """(batch, rows, columns, depth) of a product, None of other operators; without its part."""
        op = family_shares.op_of(self.symbol)
        if op == "matmul":
            y = self.operands[-1]
            return 1, math.prod(y[:-1]), y[-1], self.operands[0][-1]
        if op == "batch_matmul":
            a, y = self.operands[0], self.operands[-1]
            depth = math.prod(a[-2:]) // y[-2]
            return math.prod(y[:-2]), y[-2], y[-1], depth
        return None

    def product_part(self):
        batch, rows, columns, depth = self.product()
        dim, begin, end = self.part
        if dim == HEIGHT:
            rows = end - begin
        if dim == CHANNELS:
            columns = end - begin
        return batch, rows, columns, depth

    def conv(self):
        """(rows, columns, output channels, input channels, filter rows, filter columns) of what a convolution computes;
        depthwise: one input channel."""
        _, channels, rows, columns = self.output()
        filters = self.operands[1]
        return rows, columns, channels, filters[1], filters[2], filters[3]

    def is_conv(self):
        return "conv2d" in self.symbol and len(self.operands[1]) == 4

    def work(self):
        """Million multiply-adds, or million bytes where there are none."""
        if self.product():
            return math.prod(self.product_part()) * 1e-6
        if self.is_conv():
            return math.prod(self.conv()) * 1e-6
        return 4e-6 * (math.prod(self.dims(0)) + math.prod(self.output()))

    def forest_row(self):
        x = self.dims(0)[-4:]
        second = self.dims(1)[-4:] if len(self.operands) > 2 else [0] * 4
        numbers = [p if abs(p) < 65536 else 0 for p in (list(self.params) + [0] * 12)[:12]]
        return [*x, *second, *self.output()[-4:], self.part[0], len(self.operands[0]), math.prod(x),
                math.prod(self.output()), self.work(), *numbers]


def read_steps(path):
    """Fitted steps by symbol, in the order of the evaluation, and what the CPU and GPU are."""
    steps, seen = {}, set()
    with lzma.open(path, "rt") as file:
        for line in file:
            if line.startswith("#"):
                continue
            fields = line.rstrip("\n").split(",")
            key = (fields[0], *fields[5:9])
            if fields[5] not in ("0", "4") or key in seen:  # 4: with warm weights; a line for each visit of a step
                continue
            seen.add(key)
            operands = [[int(d) for d in operand.split(":")[5].split("x") if d] for operand in fields[8].split(" ")]
            steps.setdefault(fields[0], []).append(Step(fields[0], operands, [int(p) for p in fields[6].split()],
                                                        [int(p) for p in fields[7].split()]))
    return steps


def relative_regression(rows, us):
    """Coefficients of the least squares of predicted / measured - 1."""
    rows, us = numpy.asarray(rows, float), numpy.asarray(us)
    scale = abs(rows).max(axis=0)
    scale[scale == 0] = 1
    return numpy.linalg.lstsq(rows / scale / us[:, None], numpy.ones(len(us)), rcond=None)[0] / scale


class Flops:
    def fit(self, steps, us):
        self.coefficients = relative_regression([[step.work(), 1] for step in steps], us)

    def predict(self, steps):
        return numpy.array([[step.work(), 1] for step in steps]) @ self.coefficients


class Paper:
    """A regression for each algorithm, filter and stride."""

    def __init__(self, phone, threads):
        self.phone, self.threads = phone, threads

    def fit(self, steps, us):
        groups = collections.defaultdict(list)
        for step, time in zip(steps, us):
            kind, row = self.row(step)
            groups[kind].append((row, time))
        self.coefficients = {kind: relative_regression(*zip(*own)) for kind, own in groups.items()}
        # A filter or stride that no sample has: the regression of the same form with the most samples.
        self.common = {kind[0]: self.coefficients[kind]
                       for kind, own in sorted(groups.items(), key=lambda item: len(item[1]))}

    def predict(self, steps):
        found = []
        for step in steps:
            kind, row = self.row(step)
            own = self.coefficients.get(kind, self.common.get(kind[0]))
            found.append(float(numpy.dot(row, own)) if own is not None else numpy.nan)
        return numpy.maximum(numpy.array(found), 0.1)

    def row(self, step):
        """((algorithm, filter, stride), counts that the time is linear in)."""
        is_gpu = family_shares.processor_of(step.symbol) == "gpu"
        up = mace_model.blocks
        if step.product():
            batch, rows, columns, depth = step.product_part()
            if is_gpu:
                units = self.phone.compute_units * self.phone.wave
                work = batch * up(up(columns, 4) * rows, units) * up(depth, 4)
                return ("fc_gpu", 0, 0), [work, work * rows, work * columns, work * depth, 1]
            if rows == 1:
                work = batch * up(columns, self.threads) * depth
                return ("gemv", 0, 0), [work, work * columns, work * depth, 1]
            return ("gemm", 0, 0), self.gemm_row(batch, rows, columns, depth)
        if not step.is_conv():
            return ("size", 0, 0), [math.prod(step.dims(0)), math.prod(step.output()), 1]
        rows, columns, channels, depth, filter_rows, filter_columns = step.conv()
        kind = (filter_rows, step.stride)
        if "winograd" in step.symbol:
            tile = int(step.symbol.split("winograd")[1][0])
            tiles, area = up(rows, tile) * up(columns, tile), (tile + 2)**2
            return ("winograd", is_gpu, tile), [area * tiles * depth, area * tiles * channels] + self.gemm_row(
                area, tiles, channels, depth)[2:]
        if is_gpu:
            block = 5 if filter_rows == 3 else 4
            size = (up(channels, 4), up(columns, block), rows)
            group = work_groups.work_group(size, block, filter_rows, self.phone)
            groups = math.prod(up(g, l) for g, l in zip(size, group))
            work = (up(groups, self.phone.compute_units) * up(math.prod(group), self.phone.wave) * up(depth, 4) *
                    filter_rows * filter_columns)
            return ("direct_gpu", *kind), [work, work * rows, work * size[1], work * up(depth, 4), work * size[0], 1]
        if kind == (1, 1):
            return ("gemm", 1, 1), self.gemm_row(1, rows * columns, channels, depth)
        block = {3: 2 if step.stride == 1 else 1}.get(filter_rows, 4)
        work = (up(up(channels, block), self.threads) * block * rows * up(columns, 4) * 4 * depth * filter_rows *
                filter_columns)
        return ("direct", *kind), [work, work * rows, work * columns, work * depth, work * channels, 1]

    def gemm_row(self, batch, rows, columns, depth):
        up = mace_model.blocks
        work = batch * up(up(rows, 8) * up(columns, 8), self.threads) * up(depth, 4)
        return [batch * rows * depth, batch * columns * depth, work, work * rows, work * columns, work * depth, 1]


# Operators that the paper or its released code has a predictor for.
PAPER_OPS = ("conv2d", "matmul", "batch_matmul", "pool2d")


class Forest:
    def fit(self, steps, us):
        self.forest = RandomForestRegressor(n_estimators=100, random_state=1, n_jobs=2)
        self.forest.fit([step.forest_row() for step in steps], numpy.log(us))

    def predict(self, steps):
        return numpy.exp(self.forest.predict([step.forest_row() for step in steps]))


def gpu_of(device, profiles):
    """What the paper's heuristics know of a GPU, from the profile's facts."""
    facts = compare_models.read_json(os.path.join(profiles, device + ".json"))["gpu"]["machine"]
    value = {key: fact["value"] if isinstance(fact, dict) else fact for key, fact in facts.items()}
    return work_groups.Phone(int(value["l2_kb"] * 1024), int(value["units"]), 1024, int(value["wave_width"]), False)


def makers_of(device, symbol, profiles):
    makers = {"flops": Flops, "forest": Forest}
    if family_shares.op_of(symbol) in PAPER_OPS:
        makers["paper"] = lambda: Paper(gpu_of(device, profiles), THREADS.get(device, 1))
    return makers


def accuracy(predicted, us):
    errors = abs(predicted / us - 1)
    return {"within_10": float(100 * (errors <= 0.1).mean()), "median_error": float(100 * numpy.median(errors))}


def held_out(make, steps, own):
    predicted = numpy.zeros(len(own.us))
    for fold in range(FOLDS):
        seen, unseen = numpy.where(own.folds != fold)[0], numpy.where(own.folds == fold)[0]
        model = make()
        model.fit([steps[i] for i in seen], own.us[seen])
        predicted[unseen] = model.predict([steps[i] for i in unseen])
    return predicted


def joined(kernels, steps):
    """Symbols with samples enough, of which the evaluation and the samples agree."""
    for symbol, own in kernels.items():
        if len(own.us) != len(steps.get(symbol, ())):
            raise SystemExit(f"{symbol}: expected as many steps in the evaluation as in the samples, found "
                             f"{len(own.us)} and {len(steps.get(symbol, ()))}")
        if len(own.us) >= MIN_SAMPLES and own.family != "loops":
            yield symbol


def held_out_accuracy(device, kernels, steps, profiles):
    found = {}
    for symbol in joined(kernels, steps):
        own = kernels[symbol]
        found[symbol] = {"ours": accuracy(own.predicted, own.us)}
        for name, make in makers_of(device, symbol, profiles).items():
            found[symbol][name] = accuracy(held_out(make, steps[symbol], own), own.us)
    return found


def predicted_us(times, calibration):
    """What a kernel's calibration of a profile says of times by term: compiler/cost/calibration.h."""
    column = {term: times[:, i] for i, term in enumerate(family_shares.TERMS)}
    us = sum(share * column[term] for term, share in calibration["shares"].items())
    for term, other, factor, share in calibration.get("joint", []):
        beyond = numpy.maximum(column[term] - factor, 0)
        us += share * (beyond if other == "step" else numpy.maximum(column[term], factor * column[other]))
    return us


def other_day_accuracy(evaluations, steps, profiles):
    """Every model fitted to the first machine of OTHER_DAY, held against the second's samples."""
    first, second = OTHER_DAY
    fitted, other = evaluations[first][0], evaluations[second][0]
    shares = compare_models.read_json(os.path.join(profiles, first + ".json"))["kernels"]
    found = {}
    for symbol in joined(fitted, steps[first]):
        if symbol not in other or symbol not in shares or len(other[symbol].us) < MIN_SAMPLES:
            continue
        us = other[symbol].us
        found[symbol] = {"ours": accuracy(predicted_us(other[symbol].times, shares[symbol]), us)}
        for name, make in makers_of(first, symbol, profiles).items():
            model = make()
            model.fit(steps[first][symbol], fitted[symbol].us)
            found[symbol][name] = accuracy(model.predict(steps[second][symbol]), us)
    return found


def accuracy_lines(found):
    rows = []
    for device, kernels in found.items():
        for processor in ("cpu", "gpu"):
            own = [k for s, k in kernels.items() if family_shares.processor_of(s) == processor]
            for title, has_paper in (("with a predictor of the paper's", True), ("others", False)):
                chosen = [k for k in own if ("paper" in k) == has_paper]
                if not chosen:
                    continue
                cells = ["-" if model not in chosen[0] else
                         f"{statistics.mean(k[model]['within_10'] for k in chosen):.0f} / "
                         f"{statistics.mean(k[model]['median_error'] for k in chosen):.0f}" for model in MODELS]
                rows.append((device, processor, f"{len(chosen)} {title}", *cells))
    return results.table(["samples of", "processor", "kernels", *MODELS], rows)


def kernel_lines(found):
    rows = [(device, f"`{symbol}`", *(f"{own[m]['within_10']:.0f} / {own[m]['median_error']:.0f}" if m in own else "-"
                                     for m in MODELS))
            for device, kernels in found.items() for symbol, own in sorted(kernels.items())]
    return results.table(["samples of", "kernel", *MODELS], rows)


# The plans that each model chooses.

def plan_steps(options, model, folder, flags):
    """By layer and processor of the plan's first variant: (step, predicted us of ours, judged us)."""
    plan, trace = os.path.join(folder, "plan.codl"), os.path.join(folder, "trace.json")
    compare_models.run(os.path.join(options.new, "codlc"), model, "-q", "-o", plan, *flags,
                       f"--device={os.path.join(options.profiles, PLAN_DEVICE + '.json')}")
    variant = json.loads(compare_models.run(os.path.join(options.new, "codl-dump"), plan, "--json"))["variants"][0]
    compare_models.run(os.path.join(options.old, "codl-sim"), plan, f"--variant={variant['name']}", f"--trace={trace}",
                       "--device=" + os.path.join(options.old, "profiles", PLAN_DEVICE + ".json"))
    events = compare_models.read_json(trace)["traceEvents"]
    # Of each kernel and layer in the order of the queue, as the plan has them.
    judged = collections.defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            judged[event["name"], event["cat"]].append(event["dur"])
    found = collections.defaultdict(lambda: {"cpu": [], "gpu": []})
    dims = {"none": WHOLE, "height": HEIGHT, "output_channel": CHANNELS}
    for step in variant["steps"]:
        if step["kind"] != "kernel":
            continue
        us = judged[step["name"], step["kernel"]].pop(0)
        if family_shares.op_of(step["kernel"]) not in PAPER_OPS or step["is_reference"]:
            continue
        operands = [variant["tensors"][i]["dims"] for i in step["operands"]]
        shape = Step(step["kernel"], operands, [dims[step["part"]["dim"]], *step["part"]["range"]],
                     [step["params"].get("stride_h", 1)])
        found[step["name"]][step["queue"]].append((shape, step["predicted_us"], us))
    return found


def alternatives_of(options, name, folder):
    """By layer: {choice: {processor: [(step, ours us, judged us)]}}; choices: "cpu", "gpu", and tenths of the GPU."""
    model = os.path.join(options.models, name + ".onnx")
    layers = collections.defaultdict(dict)
    for choice, flags in [("cpu", ["--strategy=cpu"]), ("gpu", ["--strategy=gpu"])] + [
            (tenths, ["--split-dim=h", f"--ratio=0.{tenths}", "--max-chain=1"]) for tenths in range(1, 10)]:
        for layer, by_processor in plan_steps(options, model, folder, flags).items():
            queues = {queue for queue, steps in by_processor.items() if steps}
            if queues == {"cpu", "gpu"} if isinstance(choice, int) else queues == {choice}:
                layers[layer][choice] = by_processor
    return {layer: choices for layer, choices in layers.items() if {"cpu", "gpu"} <= choices.keys()}


def layer_us(by_processor, predict):
    return max(sum(predict(step) for step in steps) for steps in by_processor.values())


def place(choice):
    return choice if choice in ("cpu", "gpu") else "both"


def chosen_of(layers, predict, sync_us):
    """The choices of least time over the layers one after the other. A synchronisation is counted where a layer's input
    is not where it runs; between two layers that are split, one."""
    best = {None: (0.0, ())}
    for choices in layers.values():
        following = {}
        for choice, by_processor in choices.items():
            us = layer_us(by_processor, predict)
            for where, (so_far, taken) in best.items():
                sync = 0 if where is None or (where == place(choice) and where != "both") else sync_us
                total = so_far + sync + us
                if place(choice) not in following or total < following[place(choice)][0]:
                    following[place(choice)] = total, taken + (choice,)
        best = following
    return min(best.values())[1]


def plan_us(layers, choices, sync_us):
    """What the judge says of choices."""
    total, where = 0.0, None
    for by_choice, choice in zip(layers.values(), choices):
        total += layer_us(by_choice[choice], lambda step: step[2])
        if where is not None and not (where == place(choice) and where != "both"):
            total += sync_us
        where = place(choice)
    return total


def plans(options, evaluations, steps):
    """By network and model: judged time of its choice over that of the judge's own choice."""
    kernels = evaluations[PLAN_DEVICE][0]
    fitted = {}

    def predictor(name):
        def predict(step):
            shape, ours_us, judged_us = step
            if name in ("ours", "judge"):
                return ours_us if name == "ours" else judged_us
            if (name, shape.symbol) not in fitted:
                model = makers_of(PLAN_DEVICE, shape.symbol, options.profiles)[name]()
                model.fit(steps[PLAN_DEVICE][shape.symbol], kernels[shape.symbol].us)
                fitted[name, shape.symbol] = model
            # The same step is in many sums.
            key = name, id(step)
            if key not in predicted:
                predicted[key] = float(fitted[name, shape.symbol].predict([shape])[0])
            return predicted[key]
        return predict

    profile = compare_models.read_json(os.path.join(options.profiles, PLAN_DEVICE + ".json"))
    sync_us = profile["transfer"]["sync_us"]["value"]
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in PLAN_NETWORKS:
            layers = alternatives_of(options, name, folder)
            predicted = {}
            chosen = {model: chosen_of(layers, predictor(model), sync_us) for model in (*MODELS, "judge")}
            us = {model: plan_us(layers, choices, sync_us) for model, choices in chosen.items()}
            us["cpu"], us["gpu"] = (plan_us(layers, [side] * len(layers), sync_us) for side in ("cpu", "gpu"))
            found[name] = {"layers": len(layers), "us": us}
            print(name, len(layers), {model: round(time / us["judge"], 3) for model, time in us.items()}, flush=True)
    return found


def plan_lines(found):
    names = (*MODELS, "cpu", "gpu")
    rows = [(network, own["layers"], f"{own['us']['judge'] / 1e3:.2f}",
             *(f"{own['us'][name] / own['us']['judge']:.3f}" for name in names)) for network, own in found.items()]
    ratios = {name: [own["us"][name] / own["us"]["judge"] for own in found.values()] for name in names}
    rows.append(("mean", "", "", *(f"{statistics.mean(ratios[name]):.3f}" for name in names)))
    return results.table(["network", "layers", "least time, ms", *MODELS, "all on the CPU", "all on the GPU"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("evaluations", nargs="+")
    parser.add_argument("--data", default=os.path.join(results.HERE, "data"), help="folder of NAME.csv.xz")
    parser.add_argument("--profiles", default=compare_models.PROFILES, help="folder of the new profiles")
    parser.add_argument("--old", help="folder with the old programs and profiles/")
    parser.add_argument("--new", help="folder with this tree's programs")
    parser.add_argument("--models", help="folder of NAME.onnx, with weights")
    parser.add_argument("--out", default=results.DEFAULT)
    options = parser.parse_args()
    evaluations = family_shares.read_all(options.evaluations)
    steps = {device: read_steps(os.path.join(options.data, device + ".csv.xz")) for device in evaluations}
    held, other, chosen = {}, {}, {}
    for device, (kernels, _) in evaluations.items():
        if os.path.exists(os.path.join(options.profiles, device + ".json")):
            held[device] = held_out_accuracy(device, kernels, steps[device], options.profiles)
            print(device, "done", flush=True)
    if all(device in evaluations for device in OTHER_DAY):
        title = f"{OTHER_DAY[1]}, predicted from {OTHER_DAY[0]}"
        other[title] = other_day_accuracy(evaluations, steps, options.profiles)
    if options.old:
        chosen = plans(options, evaluations, steps)
    lines = results.wrapped(
        "Predictions against measured times (samples of `test/eval/data`); what each model is: "
        "`test/eval/four_models.py`. Share of predictions within 10 % of the measured time / median error, both in "
        "percent, means over kernels; no prediction is of a shape that its fit has seen.")
    lines += accuracy_lines(held)
    lines += results.wrapped("The same with all samples of one machine, held against another's: ours takes the other's "
                             "facts, the others know no machine.")
    lines += accuracy_lines(other)
    if chosen:
        lines += results.wrapped(
            f"Plans of chain networks on {PLAN_DEVICE}: each layer on the CPU, on the GPU or split along height at "
            "tenths, the fastest by each model's predictions. Simulated: the old model judges every choice; numbers "
            "are over the time of the choice that the judge itself would make. Layers other than convolutions, "
            "products and pools are left out; the kernels of all alternatives are codlc's.")
        lines += plan_lines(chosen)
    lines += ["By kernel, held-out shapes:", ""] + kernel_lines(held)
    results.write_section(options.out, "four_models", lines, {"held_out": held, "other_day": other, "plans": chosen})
    print("\n".join(lines))


if __name__ == "__main__":
    main()
