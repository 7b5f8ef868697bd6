"""Holds the text of docs/results/papers/README.md: a section for each figure of the founding papers."""
import statistics

import papers_data
import results

# Gives titles of rows, columns and figures.
TITLES = {"cpu": "CPU alone", "gpu": "GPU alone", "mulayer": "uLayer", "coarse": "coarse", "fine": "fine",
          "codl-buffer": "CoDL, buffers", "codl": "CoDL", "optimal": "codl's default",
          "mace": "MACE"}
CODL, STUDY = "CoDL (MobiSys'22)", 'the study "Potentials and Pitfalls" (MobiSys\'24 workshop)'


def number(value, digits=0):
    return "-" if value is None else f"{value:.{digits}f}"


def pair(values, digits=0):
    """Returns the published and the simulated value."""
    return " / ".join(number(values[origin], digits) for origin in papers_data.ORIGINS)


def ratios(data, phones, other):
    """Returns how many times as fast CoDL is as `other` ("best": the faster processor), by origin: geometric means."""
    found = {origin: [] for origin in papers_data.ORIGINS}
    for phone in phones:
        for name in data.paper_networks:
            for origin, ms in (("published", data.published_ms), ("simulated", data.clock_ms)):
                others = [ms(phone, name, s) for s in (("cpu", "gpu") if other == "best" else (other,))]
                if None not in others and ms(phone, name, "codl"):
                    found[origin].append(min(others) / ms(phone, name, "codl"))
    return {origin: statistics.geometric_mean(values) if values else None for origin, values in found.items()}


def gains(data):
    kinds = {"Snapdragons": [p for p in data.phones if p != "kirin990"], "Kirin 990": [p for p in data.phones if p == "kirin990"]}
    rows = [[title, "the faster processor alone" if other == "best" else TITLES[other], number(found["published"], 2),
             number(found["simulated"], 2)]
            for title, phones in kinds.items() for other in ("mulayer", "cpu", "gpu", "codl-buffer", "best")
            for found in [ratios(data, phones, other)] if found["published"]]
    return results.table(["phones", "CoDL is faster than", "published, times", "simulated, times"], rows) if rows else []


def latency(data):
    rows = [[name, *(number(data.published_ms(data.first, name, s)) for s in ("cpu", "gpu", "codl")),
             *(number(data.clock_ms(data.first, name, s), 1) for s in ("cpu", "gpu", "codl", "optimal"))]
            for name in data.paper_networks]
    return [*gains(data), *results.table([data.first, "published: CPU, ms", "GPU", "CoDL", "simulated: CPU, ms", "GPU", "CoDL",
                                          "codl's default"], rows)]


def costs(data):
    rows = [[name, *(pair(data.energy_j(name, s), 2) for s in ("cpu", "gpu", "codl")), pair(data.power_w(name, "codl"), 1),
             pair(data.memory_mb(name, "codl"))] for name in data.paper_networks]
    return results.table(["network, published / simulated", "CPU alone, J", "GPU alone, J", "CoDL, J", "CoDL, W", "CoDL, MB"], rows)


def span(values):
    return f"{min(values):.2f} to {max(values):.2f}"


def strategies(data):
    """Returns the study's sentences, and what the simulation says about each."""
    claims, first, name = data.study, data.first, data.study_network()
    best = [n for n in data.paper_networks
            if data.wall_ms(first, n, "codl") <= min(data.wall_ms(first, n, s) for s in ("cpu", "gpu", "mulayer", "codl-buffer"))]
    over_gpu = lambda phone, n, s: data.wall_ms(phone, n, "gpu") / data.wall_ms(phone, n, s)
    rows = [[claims["codl_image_best"], "all", f"{len(best)} of {len(data.paper_networks)} networks, of {first}"]]
    if "kirin990" in data.phones:
        claim = claims["gpu_over_codl"]
        rows.append([claim["text"] + ", times as fast", f"{claim['low']} to {claim['high']}",
                     span([over_gpu("kirin990", n, "codl") for n in data.paper_networks]) + ", of Kirin 990"])
    if "fst" in data.networks:
        claim = claims["mulayer_over_gpu_fst"]
        rows.append([claim["text"], f"{claim['low']} to {claim['high']}",
                     span([1 / over_gpu(p, "fst", "mulayer") for p in data.phones]) + ", of our phones"])
    for key, fastest, load in (("coarse_best_idle", "coarse", "0"), ("fine_best_busy", "fine", "67")):
        ms = {s: data.run(first, name, s)["loaded_us"][load] / 1e3 for s in ("coarse", "fine", "optimal")}
        rows.append([claims[key], fastest, f"coarse {ms['coarse']:.1f} ms, fine {ms['fine']:.1f} ms, codl's default "
                     f"{ms['optimal']:.1f} ms ({name}, {first})"])
    return results.table(["what the study says", "published", "simulated"], rows)


def frames(data):
    shown = ("GPU alone", "no limit", "50 %")
    rows = [[name, *(cell for limit in shown for plan in [limits[limit]]
                     for cell in (number(plan["wall_us"] / 1e3, 1), number(plan["lost_percent"]["round-robin"], 1)))]
            for name, limits in data.collected["frames"].items()]
    return results.table(["network", *(cell for limit in shown for cell in (f"{limit}, ms", "lost, %"))], rows)


# Each section is (name of the figure, heading, published part, sentences, table).
SECTIONS = (
    ("latency", "Latency by strategy, network and phone (CoDL, Figs. 15 and 16)", CODL,
     ("Times are by CoDL's clock, which leaves out what the host takes to enqueue. The paper times lists of operators that are not "
      "connected, without elementwise operators, concatenations and normalisations. codl's plans are of whole networks, and begin and end "
      "in the application's memory.",
      "Where it falls short: MACE's kernels are slow for 9x9 and 7x7 filters and for 3x3 of stride 2, codl's are predicted at one rate for "
      "all filters, so FST and PoseNet are simulated faster on the CPU than published. MACE's kernel of Fig. 2 is 4.0 times as slow "
      "with buffers as with images, so uLayer and CoDL with buffers lose more there. The released plans were made for MACE's kernels."),
     latency),
    ("costs", "Power, energy and memory (CoDL, Figs. 21 and 22)", CODL + ", Snapdragon 855",
     ("Simulated watts are the profile's 1.3 for the whole time, 4.8 while the CPU works and 2.4 while the GPU does, which were fitted to "
      "Fig. 21. The paper left out its samples of CoDL below 7.75 W (released code). Simulated memory is that of "
      "weights, arenas and images, and in the stored runs that of scratch and tables. Kernels by Winograd's method have weights of their own, which `--avoid=winograd` leaves out."), costs),
    ("strategies", "Strategies (study)", STUDY + ", sentences of it",
     ("A cell of the figure is the simulated time over that of the fastest strategy. codl's default keeps a plan on both processors only if it is "
      "faster in nine of ten draws of the profile, so another strategy may be predicted to be faster. Other processes take time of the CPU "
      "alone, one part of n + 1 (assumed), and plans are those for an idle phone; the study's order at two processes does not come out so. "
      "Its phone is a Kirin 985, codl's profile is of a Kirin 990."), strategies),
    ("frames", "Frames lost beside a network (study)", STUDY + ": over 90 % beside MACE on the GPU with buffers, fewer beside execution on "
     "both processors",
     ("The study counts frames of a real player. Here a display that asks 3 ms of GPU every 16.7 ms (assumed) is simulated beside codl's plans "
      "for sd855, in turn with the network, launch by launch ([simulator](../../reference/simulator.md)). The last columns are of plans with "
      "`--gpu-limit=50% --max-gpu-slice=4ms`."), frames),
)


def page(data):
    made = data.collected["made"]
    lines = ["# The founding papers, anew", "", *results.wrapped(
        "What the two founding papers published, beside what codl simulates for the same phones. No phone was at hand, so nothing here is "
        f"measured. Simulated are codl's kernels by the phones' profiles ([phones.md](../phones.md); {made['compiler']}, on "
        f"{made['machine']}). What the papers' own kernels, MACE's, take by the same cost model: [ladder.md](../ladder.md). In figures hollow "
        "circles are published and discs simulated. The profiles are those before the GPU kernels of "
        "[mobile_kernels.md](../mobile_kernels.md), with which codl's plans take 0.78 to 0.92 of the time in the mean of ten networks. All "
        "simulated numbers are in `papers.json`; one command makes them and this page:"),
        "```", "test/eval/papers.py build/release/bin MODELS --work DIR      # about half an hour", "```", ""]
    for name, heading, published, text, table in SECTIONS:
        if name == "frames" and not data.frames():
            continue
        lines += [f"## {heading}", "", f"![{heading}]({name}.svg)", "", *results.wrapped(f"Published: {published}.")]
        for paragraph in (text,) if isinstance(text, str) else text:
            lines += results.wrapped(paragraph)
        lines += table(data)
    return lines
