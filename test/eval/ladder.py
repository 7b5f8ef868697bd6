#!/usr/bin/env python3
"""The validation ladder: published latencies of co-execution on phones against simulated ones.

    ladder.py [--bin BIN] [--out docs/results/ladder.md]
    ladder.py [--bin BIN] --quick

Takes the shares of MACE's kernels (data/phone_fits.json, made by phone_fit.py) and the machines and transfer costs of
profiles/sd855|sd865|sd888|kirin990.json, simulates (replay.py) the networks and partition plans that CoDL's authors
released, and compares with what their paper reports, rung by rung. What a step takes, codl's cost
model says of MACE's kernels (mace_cost.cc), not of codl's.

  A  operator lists: multiply-adds
  B  single processors: ten latencies per phone, which the shares are fitted to
  C  co-execution: latencies of the released plans; nothing of them is fitted
  D  released ratios per operator against the simulated optimum; held out
  E  single operators of Figs. 2 and 5; Figs. 3, 4, 13 and 18 are reported only
  F  orderings
  G  another framework on the same phone

Rungs count for sd855, sd865 and sd888; kirin990 is reported. Prints all rungs and writes the page, which has those
that count. Exits 1 if one of these is missed. --quick writes nothing and needs no numpy: it leaves out the fit.
"""
import argparse
import dataclasses
import os
import sys
import textwrap

import mace_model
import paper
import phone_fit
import replay

COUNTED = ("sd855", "sd865", "sd888")
GFLOPS = {"yolov2": 30.46, "vgg16": 30.94, "posenet": 60.33, "fst": 71.84, "retinaface": 178.71}
# Thresholds are in percent; D's are percent of the operators.
BAR_LIMIT = 5
RETINAFACE_CPU_LIMIT = 10
REPLAY_MEAN_LIMIT = 5
REPLAY_MAX_LIMIT = 12
RATIO_LIMIT = 80
MICRO_LIMIT = 15
FRAMEWORK_LIMIT = 15
# Paddle-Lite 2.6 and ncnn (2020) run MobileNetV1 in fp32 on four threads of a Snapdragon 855.
MOBILENET_GFLOP = 1.14
MOBILENET_MS = (10.44, 11.40)
# Fig. 14a gives, for sd855, image and buffer in milliseconds per million elements.
TRANSFORM_MS_PER_MELEMS = 0.329


def percent(simulated, published):
    return 100 * (simulated / published - 1)


def mean_abs(values):
    values = list(values)
    return sum(abs(v) for v in values) / len(values)


@dataclasses.dataclass
class Rung:
    name: str
    claim: str
    found: str
    holds: bool
    counts: bool = True

    def verdict(self):
        if not self.counts:
            return "reported"
        return "pass" if self.holds else "FAIL"


def device_of(costs, phone, shares):
    """Returns the phone with the fitted shares and the transfer costs of its profile."""
    transfer = paper.read_profile(os.path.join(paper.PROFILES, phone + ".json"))["transfer"]
    value = lambda quantity: quantity["value"]
    # A map has the element's four bytes.
    return replay.Device(
        phone, costs, shares["cpu"], shares["gpu"], mace_model.PHONES[phone],
        transform_ms_per_melems=TRANSFORM_MS_PER_MELEMS,
        map_ms_per_melems=4e-3 * value(transfer["map_us_per_mb"]),
        map_ms=1e-3 * value(transfer["map_us"]),
        sync_ms=2e-3 * value(transfer["sync_us"]))


def replay_plan(device, ops, plan):
    """Returns the segments of a released plan."""
    tenths = paper.tenths_of(plan)
    return replay.simulate_plan(device, ops, plan.get("lengths", [1] * len(ops)), plan["dims"],
                                tenths)


def single_processor(data, phone, device):
    result = {}
    for name, ops in data.networks.items():
        bars = data.latency_ms[phone][name]
        cpu = sum(device.cpu_ms(op) for op in ops)
        gpu = sum(device.gpu_ms(op) for op in ops)
        result[name] = {"cpu_ms": cpu, "gpu_ms": gpu,
                        "cpu_error": percent(cpu, bars["cpu"]),
                        "gpu_error": percent(gpu, bars["gpu"])}
    return result


def co_execution(data, phone, device, single):
    result = {}
    for name, ops in data.networks.items():
        bars = data.latency_ms[phone][name]
        segments = replay_plan(device, ops, data.plans[phone][name]["chained"])
        ms = replay.total_ms(segments)
        best = min(single[name]["cpu_ms"], single[name]["gpu_ms"])
        result[name] = {
            "ms": ms, "published_ms": bars["codl"], "error": percent(ms, bars["codl"]),
            "speed_up": best / ms,
            "published_speed_up": min(bars["cpu"], bars["gpu"]) / bars["codl"],
            "transfer_ms": sum(s.transfer_ms for s in segments)}
    return result


def ratios(data, phone, device):
    """Returns how far the simulated optimum of max(CPU, GPU) is from the released share, by operator."""
    distances = []
    for name, ops in data.networks.items():
        plan = data.plans[phone][name]["single"]
        for op, dim, tenths in zip(ops, plan["dims"], paper.tenths_of(plan)):
            if tenths < 10:
                best = replay.best_tenths(device, op, dim, with_transfer=False)
                distances.append(abs(best - tenths))
    return {"operators": len(distances), "within_1": sum(d <= 1 for d in distances),
            "within_2": sum(d <= 2 for d in distances)}


def micro(data, devices):
    """Returns pairs (what, simulated ms, published ms, whether it counts)."""
    figures = data.figures
    conv = lambda *numbers: mace_model.Op("conv", *numbers)
    rows = []
    for side, ms in zip(figures["2"]["sides"], figures["2"]["image_ms"]):
        op = conv(3, 1, side + 2, side + 2, 64, 64)
        rows.append((f"Fig. 2, sd865: 3x3, {side} x {side}, 64 to 64 channels, GPU",
                     devices["sd865"].gpu_ms(op), ms, True))
    sd855 = devices["sd855"]
    op = data.networks["fst"][1]
    for tenths in (6, 9):
        segment = replay.simulate_single(sd855, op, "H", tenths)
        rows.append((f"Fig. 5, sd855: 3x3 of stride 2, {tenths} tenths on the GPU",
                     max(segment.cpu_ms, segment.gpu_ms),
                     figures["5"][f"ratio_0.{tenths}_ms"], True))
    cpu, gpu = replay.split(conv(3, 1, 114, 114, 32, 64), "H", 5)
    rows.append(("Fig. 3, sd855: half of a 3x3, 112 x 112, 32 to 64 channels, CPU",
                 sd855.cpu_ms(cpu), figures["3"]["cpu_ms"], False))
    rows.append(("Fig. 3, the other half, GPU", sd855.gpu_ms(gpu), figures["3"]["gpu_ms"], False))
    op = conv(1, 1, 52, 52, 256, 128)
    rows.append(("Fig. 4, sd855: 1x1, 52 x 52, 256 to 128 channels, CPU", sd855.cpu_ms(op),
                 figures["4"]["cpu_ms"], False))
    rows.append(("Fig. 4, GPU", sd855.gpu_ms(op), figures["4"]["gpu_ms"], False))
    ops = data.networks["yolov2"][:9]
    chain = replay.simulate_chain(sd855, ops, "H" * 9, 5)
    rows.append(("Fig. 13, sd855: YOLOv2's first nine operators halved in one chain, compute",
                 max(chain.cpu_ms, chain.gpu_ms), figures["13"]["compute_chained_ms"][-1], False))
    singles = [replay.simulate_single(sd855, op, "H", 5) for op in ops]
    rows.append(("Fig. 13, the same without a chain, compute",
                 sum(max(s.cpu_ms, s.gpu_ms) for s in singles),
                 figures["13"]["compute_single_ms"][-1], False))
    rows.append(("Fig. 13, sharing without a chain", sum(s.transfer_ms for s in singles),
                 figures["13"]["sharing_single_ms"][-1], False))
    return rows


def halves(data, device):
    """Fig. 18, sd855: every operator is halved, along rows, channels, or the better of both; Fig. 20: its transfers."""
    rows = []
    for name, ops in data.networks.items():
        by_dim = {dim: [replay.simulate_single(device, op, dim, 5) for op in ops] for dim in "HC"}
        found = {"height_ms": replay.total_ms(by_dim["H"]),
                 "channel_ms": replay.total_ms(by_dim["C"]),
                 "hybrid_ms": sum(min(h.ms, c.ms) for h, c in zip(by_dim["H"], by_dim["C"]))}
        for key, published in data.figures["18"][name].items():
            rows.append((f"Fig. 18, {name}, {key[:-3]}", found[key], published, False))
    return rows


def transfer_totals(data, device):
    """Fig. 20: total transfer of halved networks, without and with the chains of Fig. 19. What remains of each after
    transforms and maps, per transfer, is the fixed time for waiting.
    """
    free = dataclasses.replace(device, sync_ms=0)
    rows = []
    for name, ops in data.networks.items():
        dims = data.plans["sd855"][name]["half_dims"]
        chained = data.figures["19"][name]
        chained = chained + [1] * (len(ops) - sum(chained))
        for key, lengths in (("single", [1] * len(ops)), ("chained", chained)):
            begin, ms = 0, 0
            for length in lengths:
                segment = replay.simulate_chain(
                    free, ops[begin:begin + length],
                    "H" * length if length > 1 else dims[begin], 5)
                ms += segment.transfer_ms
                begin += length
            rows.append((name, key, len(lengths), ms, data.figures["20"][name][key + "_ms"]))
    return rows


def fixed_sync_ms(rows):
    """Fits least squares over the totals."""
    return (sum(count * (published - ms) for _, _, count, ms, published in rows) /
            sum(count**2 for _, _, count, _, _ in rows))


def orderings(data, devices):
    """Returns pairs (claim, whether it holds in the simulator)."""
    sd855 = devices["sd855"]
    # Fig. 2 has one kernel with buffers and with images: buffers take that much longer.
    slower = data.figures["2"]["buffer_ms"][0] / data.figures["2"]["image_ms"][0]
    buffers = dataclasses.replace(
        sd855, has_images=False,
        gpu={name: value * slower if name.startswith("k") else value for name, value in sd855.gpu.items()})
    slower_everywhere = all(
        replay.total_ms(replay_plan(buffers, ops, data.plans["sd855"][name]["chained"])) >
        replay.total_ms(replay_plan(sd855, ops, data.plans["sd855"][name]["chained"]))
        for name, ops in data.networks.items())
    op = mace_model.Op("conv", 1, 1, 52, 52, 256, 128)
    shared = min(replay.simulate_single(sd855, op, dim, tenths).ms
                 for dim in "HC" for tenths in range(1, 10))
    cpu_only = sum(
        tenths == 0 for phone in COUNTED for name in data.networks
        for kind in ("single", "chained")
        for tenths in paper.tenths_of(data.plans[phone][name][kind]))
    return [
        ("sd855: CoDL with buffers is slower than with images, all five networks",
         slower_everywhere),
        (f"sd855: Fig. 4's operator is faster on the GPU alone ({sd855.gpu_ms(op):.2f} ms) than "
         f"shared at any ratio ({shared:.2f} ms)", shared > sd855.gpu_ms(op)),
        ("No operator of a released Snapdragon plan is on the CPU only", cpu_only == 0),
    ]


def climb(data, costs):
    """Computes everything that rungs_of() and the page need."""
    fits = paper.read_fits()
    devices = {phone: device_of(costs, phone, fits[phone]) for phone in mace_model.PHONES}
    result = {"shares": {p: {"cpu": d.cpu, "gpu": d.gpu} for p, d in devices.items()}}
    result["gflop"] = {name: sum(op.flops for op in ops) * 1e-9
                       for name, ops in data.networks.items()}
    result["single_processor"] = {p: single_processor(data, p, d) for p, d in devices.items()}
    result["co_execution"] = {p: co_execution(data, p, d, result["single_processor"][p])
                              for p, d in devices.items()}
    result["ratios"] = {p: ratios(data, p, d) for p, d in devices.items()}
    result["micro"] = micro(data, devices) + halves(data, devices["sd855"])
    result["orderings"] = orderings(data, devices)
    result["fixed_sync_ms"] = (fixed_sync_ms(transfer_totals(data, devices["sd855"])), devices["sd855"].sync_ms)
    result["mobilenet_ms"] = MOBILENET_GFLOP * devices["sd855"].cpu["gemm"] / phone_fit.facts_of("sd855")["cpu_even"] * 1e3
    return result


def rungs_of(result):
    rungs = [Rung("A", "operator lists: " + ", ".join(f"{v}" for v in GFLOPS.values()) + " GFLOP",
                  ", ".join(f"{v:.2f}" for v in result["gflop"].values()),
                  all(abs(result["gflop"][name] - gflop) < 0.0055
                      for name, gflop in GFLOPS.items()))]
    for phone, networks in result["single_processor"].items():
        errors = {(name, side): found[side + "_error"] for name, found in networks.items()
                  for side in ("cpu", "gpu")}
        retinaface = errors.pop(("retinaface", "cpu"))
        worst = max(errors.values(), key=abs)
        rungs.append(Rung(
            f"B, {phone}", f"ten latencies within {BAR_LIMIT} %, RetinaFace on the CPU within "
            f"{RETINAFACE_CPU_LIMIT} %", f"worst {worst:+.1f} %, RetinaFace {retinaface:+.1f} %",
            abs(worst) <= BAR_LIMIT and abs(retinaface) <= RETINAFACE_CPU_LIMIT, phone in COUNTED))
    errors = {phone: [found["error"] for found in networks.values()]
              for phone, networks in result["co_execution"].items()}
    counted = [e for phone in COUNTED for e in errors[phone]]
    rungs.append(Rung(
        "C, Snapdragon", f"15 latencies, mean within {REPLAY_MEAN_LIMIT} %, each within "
        f"{REPLAY_MAX_LIMIT} %", f"mean {mean_abs(counted):.1f} %, worst {max(counted, key=abs):+.1f} %",
        mean_abs(counted) <= REPLAY_MEAN_LIMIT and max(map(abs, counted)) <= REPLAY_MAX_LIMIT))
    for phone, found in errors.items():
        rungs.append(Rung(f"C, {phone}", "its five of them", f"mean {mean_abs(found):.1f} %, worst "
                          f"{max(found, key=abs):+.1f} %", True, False))
    total = {key: sum(result["ratios"][p][key] for p in COUNTED)
             for key in ("operators", "within_1", "within_2")}
    for phone, found in [("Snapdragon", total), *result["ratios"].items()]:
        share = 100 * found["within_1"] / found["operators"]
        rungs.append(Rung(
            f"D, {phone}", f"{found['operators']} ratios, {RATIO_LIMIT} % within 0.1",
            f"{share:.0f} % within 0.1, {100 * found['within_2'] / found['operators']:.0f} % within "
            "0.2", share >= RATIO_LIMIT, phone in COUNTED or phone == "Snapdragon"))
    for what, simulated, published, counts in result["micro"]:
        error = percent(simulated, published)
        rungs.append(Rung("E", f"{what}: within {MICRO_LIMIT} %" if counts else what,
                          f"{simulated:.2f} ms, published {published:.2f} ms: {error:+.1f} %",
                          abs(error) <= MICRO_LIMIT, counts))
    simulated, shipped = result["fixed_sync_ms"]
    rungs.append(Rung("E", "Fig. 20, sd855: fixed time of a transfer, by least squares", f"{simulated:.3f} ms, in the profile "
                      f"{shipped:.3f} ms", True, False))
    for claim, holds in result["orderings"]:
        rungs.append(Rung("F", claim, "holds" if holds else "does not hold", holds))
    middle = sum(MOBILENET_MS) / 2
    error = percent(result["mobilenet_ms"], middle)
    rungs.append(Rung(
        "G, sd855", f"MobileNetV1 (fp32, four threads) at the share of GEMM: within {FRAMEWORK_LIMIT} % "
        f"of the mean of {MOBILENET_MS[0]} and {MOBILENET_MS[1]} ms",
        f"{result['mobilenet_ms']:.1f} ms: {error:+.1f} %", abs(error) <= FRAMEWORK_LIMIT))
    return rungs


def furthest_from_fit(data, costs, shares):
    """Returns how far the shipped shares are from a new fit's, in percent."""
    furthest = 0
    for phone in mace_model.PHONES:
        fit = phone_fit.fit_phone(costs, phone, data.networks, data.latency_ms[phone])
        furthest = max(furthest, *(abs(percent(shares[phone][side][name], value))
                                   for side in fit for name, value in fit[side].items()))
    return furthest


def table(head, rows):
    lines = ["| " + " | ".join(map(str, head)) + " |", "|---" * len(head) + "|"]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return lines + [""]


def wrapped(text, width=110):
    return textwrap.wrap(text, width) + [""]


def markdown(data, result, rungs):
    lines = ["# The validation ladder of co-execution on phones", ""]
    lines += wrapped(
        "Simulated beside published: the networks, partition plans and latencies of the CoDL paper (MobiSys'22) and its "
        "released code, as `test/eval/data/codl_paper.json` has them. codl's cost model says what a step takes, from the "
        "work of MACE's kernels (`test/eval/mace_cost.cc`) and the machines and transfer costs of `profiles/*.json`. Shares "
        "of terms (`test/eval/data/phone_fits.json`) are fitted to the latencies of rung B and to nothing else "
        "(`test/eval/phone_fit.py`). codl's own kernels on phones are in [phones.md](phones.md).")
    lines += ["```", "test/eval/ladder.py        # prints all rungs and writes this page; it says what the rungs are", "```", ""]
    lines += wrapped("Errors are simulated / published - 1. The rungs that count:")
    lines += table(["rung", "claim", "found", ""],
                   [(r.name, r.claim, r.found, r.verdict()) for r in rungs if r.counts])

    lines += ["## C: the released plans", ""]
    lines += wrapped("Simulated milliseconds, as CoDL counts them, and the error against the published ones.")
    lines += table(
        ["phone", *data.networks],
        [[phone, *(f"{found['ms']:.1f} ({found['error']:+.1f} %)" for found in networks.values())]
         for phone, networks in result["co_execution"].items()])

    lines += ["## What falls short", ""]
    errors = {phone: {name: found["error"] for name, found in networks.items()}
              for phone, networks in result["co_execution"].items()}
    kirin = errors["kirin990"].values()
    kirin_ratios = result["ratios"]["kirin990"]
    lines += [
        f"- Kirin 990 does not count: co-execution comes out {min(kirin):.0f} to {max(kirin):.0f} % too slow, "
        f"{100 * kirin_ratios['within_1'] / kirin_ratios['operators']:.0f} % of its ratios are within 0.1,",
        "  and its shares for 3x3 of stride 2 and larger filters hang on single latencies.",
        f"- sd888: VGG-16 ({errors['sd888']['vgg16']:+.1f} %) and FST ({errors['sd888']['fst']:+.1f} %) are off; its "
        "other three are not.",
        "- Single small operators (Figs. 3, 4 and 13) differ by up to 1.7 times, because shares are means over whole networks.",
        "- YOLOv2 with every operator halved (Fig. 18) is simulated a fifth too fast.", ""]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", default="docs/results/ladder.md")
    parser.add_argument("--bin", default=mace_model.BIN)
    options = parser.parse_args()
    costs = mace_model.Costs(options.bin)
    data = paper.read_data()
    result = climb(data, costs)
    rungs = rungs_of(result)
    if not options.quick:
        furthest = furthest_from_fit(data, costs, result["shares"])
        # Shares are kept with four digits.
        rungs.append(Rung("fit", "made anew gives the shares used here", f"within {furthest:.2f} %", furthest <= 0.1))
    costs.close()
    for rung in rungs:
        if rung.counts or not options.quick:
            print(f"{rung.verdict():8} {rung.name:14} {rung.claim}: {rung.found}")
    if not options.quick:
        with open(options.out, "w") as file:
            file.write(markdown(data, result, rungs))
    return 0 if all(rung.holds for rung in rungs if rung.counts) else 1


if __name__ == "__main__":
    sys.exit(main())
