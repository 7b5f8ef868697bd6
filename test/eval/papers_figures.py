"""Draws the figures of docs/results/papers as SVG, from what papers.py collected. Needs matplotlib.

One colour a strategy, one mark an origin: hollow circles are published, discs simulated.
"""
import matplotlib
import matplotlib.lines
import matplotlib.pyplot as pyplot

import papers_runs
from drawing import INK, SETTINGS, write
from papers_pages import TITLES

COLOURS = {"cpu": "#d97a1f", "gpu": "#3b8fd6", "mulayer": "#b08d1e", "coarse": "#a06ad0", "fine": "#d9659c",
           "codl-buffer": "#5f9ea0", "codl": "#2f9e56", "optimal": "#e0403f", "mace": INK}
NAMES = {"retinaface": "RetinaFace", "yolov2": "YOLOv2", "vgg16": "VGG-16", "posenet": "PoseNet", "fst": "Style transfer",
         "resnet50": "ResNet-50", "mobilenet_v2": "MobileNetV2"}
PHONES = {"sd855": "Snapdragon 855", "sd865": "Snapdragon 865", "sd888": "Snapdragon 888", "kirin990": "Kirin 990"}
MARKS = {"published": dict(marker="o", markerfacecolor="none", markersize=6, markeredgewidth=1.4),
         "simulated": dict(marker="o", markersize=5, markeredgewidth=0)}
LINES = ("#3b8fd6", "#d97a1f", "#2f9e56", "#a06ad0", "#d9659c", "#5f9ea0", "#b08d1e")  # colours of networks
TICKS = (20, 50, 100, 200, 500, 1000, 2000)  # ticks of logarithmic axes


def legend(figure, origins, y=1.0, more=()):
    handles = [matplotlib.lines.Line2D([], [], color=INK, linestyle="none", label=origin, **MARKS[origin]) for origin in origins]
    figure.legend(handles=[*handles, *more], loc="lower right", bbox_to_anchor=(0.99, y), ncol=6, frameon=False,
                  handletextpad=0.4, columnspacing=1.4)


def points(axes, origin, xs, ys, colours):
    mark = MARKS[origin]
    shape = dict(marker=mark["marker"], s=mark["markersize"]**2, clip_on=False, zorder=3)
    if "markerfacecolor" in mark:
        axes.scatter(xs, ys, facecolors="none", edgecolors=colours, linewidths=mark["markeredgewidth"], **shape)
    else:
        axes.scatter(xs, ys, c=colours, linewidths=0, **shape)


def rows(axes, groups, title, is_logarithmic=False, is_labelled=True):
    """Draws groups of rows, {group: [(label, {origin: (value, colour)})]}, from the top down: a mark for each
    origin, and a line from the least value to the greatest.
    """
    y, ticks, labels, marks = 0, [], [], {}
    for group, members in groups.items():
        if is_labelled and group:
            axes.text(0, y + 0.1, NAMES.get(group, group) + "  ", transform=axes.get_yaxis_transform(), fontweight="bold",
                      va="center", ha="right")
        for label, values in members:
            y += 1
            known = [(origin, value, colour) for origin, (value, colour) in values.items() if value is not None]
            if len(known) > 1:
                ends = [value for _, value, _ in known]
                axes.plot([min(ends), max(ends)], [y, y], color=known[0][2], linewidth=1.2, alpha=0.5, solid_capstyle="butt")
            for origin, value, colour in known:
                marks.setdefault(origin, []).append((value, y, colour))
            ticks.append(y)
            labels.append((label, next(iter(values.values()))[1]))
        y += 1.4
    for origin, found in marks.items():
        points(axes, origin, *zip(*found))
    axes.hlines(ticks, 0, 1, transform=axes.get_yaxis_transform(), color=INK, linewidth=0.4, alpha=0.25)
    axes.grid(axis="x", color=INK, linewidth=0.4, alpha=0.25)
    axes.set_ylim(y - 0.6, -0.6)
    axes.set_yticks(ticks, [label for label, _ in labels] if is_labelled else [""] * len(labels))
    for tick, (_, colour) in zip(axes.get_yticklabels(), labels):
        tick.set_color(colour)
    axes.spines["left"].set_visible(False)
    axes.set_title(title)
    values = [value for found in marks.values() for value, _, _ in found]
    if is_logarithmic:
        logarithmic([axes], min(values), max(values))
    else:
        axes.set_xlim(0, 1.05 * max(values))


def logarithmic(all_axes, low, high):
    for axes in all_axes:
        axes.set_xscale("log")
        axes.set_xlim(low / 1.2, high * 1.2)
        axes.set_xticks([v for v in TICKS if low / 1.2 <= v <= high * 1.2])
        axes.get_xaxis().set_major_formatter(matplotlib.ticker.ScalarFormatter())
        axes.get_xaxis().set_minor_locator(matplotlib.ticker.NullLocator())


def of_strategies(data, strategies, values):
    """Returns groups for rows(): per network a row for each strategy."""
    return {name: [(TITLES[s], {origin: (value, COLOURS[s]) for origin, value in values(name, s).items()}) for s in strategies]
            for name in data.paper_networks}


def latency(data, folder):
    """Draws Figs. 15 and 16."""
    figure, all_axes = pyplot.subplots(1, len(data.phones), figsize=(2.6 * len(data.phones) + 0.6, 8.6), squeeze=False)
    for axes, phone in zip(all_axes[0], data.phones):
        values = lambda name, s: {"published": data.published_ms(phone, name, s), "simulated": data.clock_ms(phone, name, s)}
        rows(axes, of_strategies(data, ("cpu", "gpu", "mulayer", "codl-buffer", "codl", "optimal"), values),
             PHONES.get(phone, phone) + ", ms", is_logarithmic=True, is_labelled=axes is all_axes[0][0])
    limits = [axes.get_xlim() for axes in all_axes[0]]
    logarithmic(all_axes[0], 1.2 * min(low for low, _ in limits), max(high for _, high in limits) / 1.2)
    figure.tight_layout(w_pad=0.5)
    legend(figure, ("published", "simulated"))
    write(figure, folder, "latency")


def costs(data, folder):
    """Draws Figs. 21 and 22, for the first phone."""
    figure, all_axes = pyplot.subplots(1, 3, figsize=(11, 6.4))
    strategies = ("cpu", "gpu", "mulayer", "codl", "optimal")
    rows(all_axes[0], of_strategies(data, strategies, data.power_w), "Power, W (Fig. 21)")
    rows(all_axes[1], of_strategies(data, strategies, data.energy_j), "Energy, J (Fig. 21)", is_labelled=False)
    rows(all_axes[2], of_strategies(data, ("mace", *strategies[:2], *strategies[3:]), data.memory_mb), "Memory, MB (Fig. 22)")
    figure.tight_layout(w_pad=0.5)
    legend(figure, ("published", "simulated"))
    write(figure, folder, "costs")


def strategies(data, folder):
    """Draws the study's comparison: time over that of the fastest strategy, per phone, two phones side by side."""
    names, columns = list(data.networks), data.strategies
    wide = min(2, len(data.phones))
    high = -(-len(data.phones) // wide)
    size = (0.5 * len(columns) * wide + 1.6, (0.27 * len(names) + 0.5) * high + 0.9)
    figure, all_axes = pyplot.subplots(high, wide, figsize=size, squeeze=False)
    for i, axes in enumerate(all_axes.flat):
        if i >= len(data.phones):
            axes.set_axis_off()
            continue
        phone, is_left, is_lowest = data.phones[i], i % wide == 0, i // wide == high - 1
        for y, name in enumerate(names):
            times = {s: data.wall_ms(phone, name, s) for s in columns}
            least = min(times.values())
            for x, s in enumerate(columns):
                over = times[s] / least
                is_best = over < 1.005
                colour = COLOURS["codl"] if is_best else COLOURS["optimal"] if over >= 1.995 else INK
                axes.text(x, y, f"{over:.2f}" if over < 9.95 else f"{over:.0f}", ha="center", va="center", fontsize=7.5, color=colour,
                          fontweight="bold" if is_best else "normal")
        axes.set_xlim(-0.5, len(columns) - 0.5)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xticks(range(len(columns)), [TITLES[s] for s in columns] if is_lowest else [""] * len(columns), rotation=45, ha="right",
                        fontsize=8)
        for tick, s in zip(axes.get_xticklabels(), columns):
            tick.set_color(COLOURS[s])
        axes.set_yticks(range(len(names)), [NAMES.get(n, n) for n in names] if is_left else [""] * len(names))
        axes.set_title(PHONES.get(phone, phone))
        for side in ("left", "bottom"):
            axes.spines[side].set_visible(False)
        axes.tick_params(length=0)
    figure.tight_layout(w_pad=0.8)
    figure.text(0.99, 1, "simulated time over that of the fastest strategy, which is green; red: twice or more", ha="right", va="bottom")
    write(figure, folder, "strategies")


def spread(values, least, highest):
    """Moves values apart until neighbours are `least` from each other and none is above `highest`; their order
    stays.
    """
    order = sorted(range(len(values)), key=lambda i: values[i])
    placed = list(values)
    for before, after in zip(order, order[1:]):
        placed[after] = max(placed[after], placed[before] + least)
    placed[order[-1]] = min(placed[order[-1]], highest)
    for after, before in zip(order[::-1], order[-2::-1]):
        placed[before] = min(placed[before], placed[after] - least)
    return placed


def frames(data, folder):
    """Draws the study's frames: how many a display loses, and a plan's time, by the plan's limit of the GPU."""
    panels, limits = data.frames(), list(papers_runs.LIMITS)
    if not panels:
        return
    figure, all_axes = pyplot.subplots(1, len(panels), figsize=(4.2 * len(panels), 3.4))
    for axes, (title, is_percent, lines) in zip(all_axes, panels):
        if len(set(map(tuple, lines.values()))) == 1:
            lines = {"all networks": next(iter(lines.values()))}
        highest = 100 if is_percent else max(max(values) for values in lines.values())
        begins = spread([values[0] for values in lines.values()], 0.07 * highest, highest)
        for colour, (name, values), begin in zip(LINES, lines.items(), begins):
            axes.plot(range(len(values)), values, color=colour, linewidth=1.6, **MARKS["simulated"])
            axes.annotate(NAMES.get(name, name), (0, values[0]), xytext=(-0.2, begin), color=colour, va="center", ha="right",
                          annotation_clip=False)
        axes.set_xticks(range(len(limits)), [limit.replace(" ", "\n", 1) if limit[0].isalpha() else limit for limit in limits])
        axes.set_xlim(-0.1, len(limits) - 0.9)
        axes.set_ylim(0, 1.05 * highest)
        axes.yaxis.tick_right()
        axes.spines["left"].set_visible(False)
        if is_percent:
            axes.set_yticks([0, 50, 100], ["0", "50", "100 %"])
        axes.set_title(title)
    figure.tight_layout(w_pad=3)
    write(figure, folder, "frames")


FIGURES = (latency, costs, strategies, frames)


def write_all(data, folder):
    with matplotlib.rc_context(SETTINGS):
        for draw in FIGURES:
            draw(data, folder)
