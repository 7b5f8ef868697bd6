"""The text of docs/results/papers/README.md: a section for each figure or table of the founding papers."""
import dataclasses
import statistics

import papers_data
import papers_notes
import papers_runs
import results

# Of rows, columns and figures.
TITLES = {"cpu": "CPU alone", "gpu": "GPU alone", "mulayer": "uLayer", "coarse": "coarse", "fine": "fine",
          "codl-buffer": "CoDL, buffers", "codl": "CoDL", "codl-released": "CoDL, released plans", "optimal": "codl's default",
          "mace": "MACE"}
COMPARED = ("cpu", "gpu", "mulayer", "codl-buffer", "codl", "codl-released", "optimal")


def number(value, digits=0):
    return "-" if value is None else f"{value:.{digits}f}"


def latency(data):
    lines = []
    for phone in data.phones:
        rows = []
        for name in data.paper_networks:
            single, codl = data.mace["single"].get(phone, {}).get(name, {}), data.mace["codl"].get(phone, {}).get(name, {})
            for s in COMPARED:
                run = data.run(phone, name, s)
                rows.append([name, TITLES[s], number(data.published_ms(phone, name, s)), number(single.get(s + "_ms")),
                             number(codl.get("ms") if s == "codl-released" else None), number(run["clock_us"] / 1e3, 1),
                             f"{run['low_us'] / 1e3:.0f} to {run['high_us'] / 1e3:.0f}"])
            bars = data.paper.latency_ms.get(phone, {}).get(name, {})
            for key, title in (("ideal", "Ideal, the paper's bound"), ("codl_image", "CoDL, images")):
                if key in bars:
                    rows.append([name, title, number(bars[key]), "-", "-", "-", "-"])
        lines += [f"### {phone}", "", *results.table(
            ["network", "strategy", "published, ms", "fitted, MACE's kernels, ms", "simulated, MACE's kernels, ms",
             "simulated, codl's kernels, ms", "nine of ten draws of the profile, ms"], rows)]
    return lines


def gains(data):
    """The paper's headlines: how many times as fast, geometric means over networks and Snapdragons, or of Kirin 990."""
    rows = []
    kinds = {"Snapdragons": [p for p in data.phones if p != "kirin990"], "Kirin 990": [p for p in data.phones if p == "kirin990"]}
    for title, phones in kinds.items():
        for other in ("mulayer", "cpu", "gpu", "codl-buffer", "best"):
            ratios = {origin: [] for origin in papers_data.ORIGINS}
            for phone in phones:
                for name in data.paper_networks:
                    for origin, ms in (("published", data.published_ms), ("simulated", data.clock_ms)):
                        alone = [ms(phone, name, s) for s in (("cpu", "gpu") if other == "best" else (other,))]
                        if None not in alone and ms(phone, name, "codl"):
                            ratios[origin].append(min(alone) / ms(phone, name, "codl"))
            if ratios["published"]:
                rows.append([title, "the faster processor alone" if other == "best" else TITLES[other],
                             *(f"{statistics.geometric_mean(ratios[o]):.2f}" if ratios[o] else "-" for o in papers_data.ORIGINS)])
    return results.table(["phones", "CoDL is faster than", "published, times", "simulated, times"], rows) if rows else []


def partition(data):
    rows = []
    for name in data.paper_networks:
        for origin, dims, lengths in data.partitions(name):
            split = [d for d in dims if d in "HC"]
            rows.append([name, origin, len(dims), f"{100 * split.count('H') / max(len(split), 1):.0f} %",
                         f"{100 * sum(n for n in lengths if n > 1) / sum(lengths):.0f} %",
                         ", ".join(str(n) for n in lengths if n > 1) or "none"])
    return results.table(["network", "origin", "operators", "of those split, along height", "operators in chains",
                          "lengths of chains"], rows)


def ablation(data):
    mace = {row[0]: row[1] for row in data.mace["halves"]}
    rows = [[name, title, number(found["published"]), number(mace.get(f"Fig. 18, {name}, {key}")), number(found["simulated"], 1)]
            for name in data.paper_networks
            for key, title in (("height", "height"), ("channel", "output channels"), ("hybrid", "the better of both"))
            for found in [data.halves(name, key)]]
    lines = results.table(["network", "split along", "published, ms", "simulated, MACE's kernels, ms",
                           "simulated, codl's kernels, ms"], rows)
    mace = {(name, kind): ms for name, kind, ms in data.mace["sharing"]}
    rows = [[name, title, number(found["published"], 1), number(mace.get((name, key)), 1), number(found["simulated"], 1)]
            for name in data.paper_networks for key, title in (("single", "no chains"), ("chained", "chains"))
            for found in [data.sharing(name, key)]]
    return lines + results.table(["network", "halved, with", "published sharing, ms", "fitted, MACE's kernels, ms",
                                  "simulated, codl's kernels, ms"], rows)


def costs(data):
    mace = {(name, key): joule for name, key, joule in data.mace["energy"]}
    rows = []
    for name in data.paper_networks:
        for s in ("cpu", "gpu", "mulayer", "codl", "optimal"):
            watt, joule = data.power_w(name, s), data.energy_j(name, s)
            rows.append([name, TITLES[s], number(watt["published"], 2), number(watt["simulated"], 2), number(joule["published"], 2),
                         number(mace.get((name, s)), 2), number(joule["simulated"], 2)])
    lines = results.table(["network", "strategy", "published, W", "simulated, W", "published, J", "simulated, MACE's kernels, J",
                           "simulated, codl's kernels, J"], rows)
    rows = []
    for name in data.paper_networks:
        for s in ("mace", "cpu", "gpu", "codl", "optimal"):
            found = data.memory_mb(name, s)
            kinds = data.run(data.first, name, s)["memory"] if s != "mace" else None
            rows.append([name, TITLES[s], number(found["published"]), number(found["simulated"]),
                         *((number(kinds["weight_bytes"] / 1e6),
                            number((kinds["total_bytes"] - kinds["weight_bytes"]) / 1e6)) if kinds else ("-", "-"))])
    return lines + results.table(["network", "strategy", "published, MB", "simulated, MB", "of it weights", "of it all else"], rows)


def predictors(data):
    rows = [[group, *(number(models.get(m, {}).get(origin), 1) for m in ("flops", "paper", "forest", "ours")), origin]
            for group, models in data.predictors().items() for origin in [next(iter(models["flops"]))]]
    return results.table(["where", "linear in FLOPs", "CoDL's models", "random forest", "codl's cost model", "origin"], rows)


def strategies(data):
    rows = [[phone, name, *(number(data.wall_ms(phone, name, s), 1) for s in papers_runs.STRATEGIES),
             TITLES[min(papers_runs.STRATEGIES, key=lambda s: data.wall_ms(phone, name, s))]]
            for phone in data.phones for name in data.networks]
    return results.table(["phone", "network", *(TITLES[s] + ", ms" for s in papers_runs.STRATEGIES), "fastest"], rows)


def over_gpu(data, phone, strategy, names):
    return [data.wall_ms(phone, n, "gpu") / data.wall_ms(phone, n, strategy) for n in names]


def span(values, digits=2):
    return f"{min(values):.{digits}f} to {max(values):.{digits}f}" if values else "-"


def study_claims(data):
    claims, first = data.study, data.first
    rows = []
    best = [n for n in data.paper_networks
            if data.wall_ms(first, n, "codl") <= min(data.wall_ms(first, n, s) for s in ("cpu", "gpu", "mulayer", "codl-buffer"))]
    rows.append([claims["codl_image_best"], "all", f"{len(best)} of {len(data.paper_networks)} networks, of {first}"])
    if "kirin990" in data.phones:
        claim = claims["gpu_over_codl"]
        rows.append([claim["text"] + ", times as fast", f"{claim['low']} to {claim['high']}",
                     span(over_gpu(data, "kirin990", "codl", data.paper_networks)) + ", of Kirin 990"])
    if "fst" in data.networks:
        claim = claims["mulayer_over_gpu_fst"]
        rows.append([claim["text"], f"{claim['low']} to {claim['high']}",
                     span([1 / over_gpu(data, p, "mulayer", ["fst"])[0] for p in data.phones]) + ", of our phones"])
    lines = data.granularity()[0][2]
    name = data.study_network()
    for key, i in (("coarse_best_idle", 0), ("fine_best_busy", 2)):
        coarse, fine = lines["coarse"][i], lines["fine"][i]
        rows.append([claims[key], "coarse" if i == 0 else "fine",
                     f"coarse {coarse:.1f} ms, fine {fine:.1f} ms, codl's default {lines['optimal'][i]:.1f} ms ({name}, {first})"])
    return results.table(["what the study says", "published", "simulated"], rows)


def unsupported(data):
    rows = []
    for name in data.networks:
        for s in papers_data.COUNTED:
            counts, shares = data.run(data.first, name, s)["counts"], data.added(name, s)
            rows.append([name, TITLES[s], *counts.values(), f"{100 * sum(shares.values()):.0f} %"])
    return results.table(["network", "strategy", "operators", "no GPU kernel", "conversions added", "maps and unmaps", "copies",
                          "slices and joins", "not the network's, or not the GPU's"], rows)


def granularity(data):
    rows = [[title, TITLES[s], origin, *(number(v, 1) for v in values)]
            for title, origin, lines in data.granularity() for s, values in lines.items()]
    return results.table(["where", "strategy", "origin", "no other process, ms", "one, ms", "two, ms"], rows)


def frames(data):
    rows = [[name, limit, number(plan["wall_us"] / 1e3, 1), f"{100 * plan['gpu_share']:.0f} %", number(plan["slice_us"] / 1e3, 2),
             *(number(lost, 1) for lost in plan["lost_percent"].values())]
            for name, limits in data.collected["frames"].items() for limit, plan in limits.items()]
    return results.table(["network", "GPU limit", "simulated, ms", "GPU busy", "longest slice, ms", "frames lost, first in first out, %",
                          "frames lost, in turn, %"], rows)


def measured_text(data):
    if not data.measured:
        return "nothing yet (`papers.py BIN MODELS --measure`)"
    m = data.measured
    return (f"on {m['machine']}, cores {m['cores'][0]} and {m['cores'][1]}, OpenCL of {m['opencl'] or 'the system'}, medians of "
            f"{m['rounds']} rounds, load before it {m['load_before']:.2f}, profile {m['profile']}")


@dataclasses.dataclass(frozen=True)
class Section:
    name: str  # of the figure, and of its notes
    heading: str
    published: str
    table: list
    simulated: str = ""  # more about it; None: nothing is
    measured: str = "nothing"
    summary: list = dataclasses.field(default_factory=list)

    def lines(self, data, notes):
        found = [f"## {self.heading}", "", f"![{self.heading}]({self.name}.svg)", "", *self.summary]
        for note in notes:
            found += results.wrapped(note)
        made = data.collected["made"]
        simulated = "nothing" if self.simulated is None else \
            f"by the profiles of the phones ({made['compiler']}, on {made['machine']}){self.simulated}"
        return [*found, *results.wrapped(f"Published: {self.published}. Simulated: {simulated}. Measured: {self.measured}."), *self.table]


def sections(data):
    codl, study, first = "CoDL (MobiSys'22)", "the study Potentials and Pitfalls (MobiSys'24 workshop)", "Snapdragon 855"
    return [
        Section("latency", "Latency by strategy, network and phone (CoDL, Figs. 15 and 16)", f"{codl}, Figs. 15 and 16", latency(data),
                summary=gains(data)),
        Section("partition", "Dimensions and chains (CoDL, Figs. 17 and 19)", f"{codl}, Figs. 17 and 19, {first}", partition(data),
                "; in halves, as the released code has plans for these figures"),
        Section("ablation", "What dimensions and chains gain (CoDL, Figs. 18 and 20)", f"{codl}, Figs. 18 and 20, {first}",
                ablation(data), "; the time of a synchronisation was fitted to Fig. 20"),
        Section("costs", "Power, energy and memory (CoDL, Figs. 21 and 22)", f"{codl}, Figs. 21 and 22, {first}", costs(data),
                "; the profile's watts were fitted to Fig. 21's"),
        Section("predictors", "Predictors (CoDL, Table 3)", f"{codl}, Table 3", predictors(data), None,
                "samples of codl-profile in `test/eval/data`, 24 to 26 Nov 2026, on machines that have profiles of these names; means "
                "over the kernels that a predictor of the paper's is for ([cost model](../cost_model.md))"),
        Section("strategies", "Strategies (study)", f"{study}, sentences of it", strategies(data), summary=study_claims(data)),
        Section("unsupported", "Unsupported operators (study)",
                f"{study}: about {data.study['unsupported_resnet50']['about']} % of ResNet-50's operators on CPU and GPU, {first}",
                unsupported(data)),
        Section("granularity", "Granularity beside competing processes (study)",
                f"{study}: coarse is best on an idle phone, fine with two competing processes (ResNet-50, {first})", granularity(data),
                "; beside n processes the CPU has one part of n + 1 (assumed): others take 0, 50 and 67 % of its time",
                measured_text(data)),
        Section("frames", "Frames lost beside a network (study)",
                f"{study}: over {data.study['frames_lost']['above']} % beside MACE on the GPU with buffers, a video player; fewer beside "
                "execution on both processors", frames(data),
                f", {data.first}, beside a display that asks 3 ms of GPU every 16.7 ms (assumed)"),
    ]


def page(data):
    notes = papers_notes.notes_of(data)
    lines = ["# The founding papers, anew", "", *results.wrapped(
        "What the two founding papers published, beside what codl simulates for the same phones and what was measured on machines "
        "at hand. The three are never mixed: no phone was at hand, so nothing on a phone is measured here. Made by one command, "
        "`test/eval/papers.py`. In figures hollow circles are published, discs simulated, diamonds measured. MACE's kernels are "
        "those of the papers, with shares fitted to single-processor latencies ([ladder](../ladder.md)); codl's kernels are this "
        "tree's, by the phones' profiles ([phones](../phones.md)).")]
    for section in sections(data):
        if section.name == "frames" and not data.frames():
            continue
        lines += section.lines(data, notes.get(section.name, []))
    return lines
