"""Draws figures as small SVG, the same bytes for the same data. Needs matplotlib.

No dates, no random names. Text stays text, backgrounds are transparent, and all colours are of middling lightness, so that a
figure reads on white as on black.
"""
import io
import os
import re

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as pyplot

INK, FAINT = "#737b85", "#737b8555"
NUMBER = r"(-?[\d.]+)"
RECTANGLE = re.compile(rf"M {NUMBER} {NUMBER}\s*L {NUMBER} \2\s*L \3 {NUMBER}\s*L \1 \4\s*z")
SETTINGS = {"svg.fonttype": "none", "svg.hashsalt": "codl", "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"],
            "font.size": 9, "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": FAINT, "xtick.color": INK,
            "ytick.color": INK, "axes.spines.top": False, "axes.spines.right": False, "axes.titlesize": 10,
            "axes.titlelocation": "left", "axes.titlecolor": INK, "ytick.major.size": 0, "xtick.major.size": 3}


def without_plain_groups(text):
    """Removes <g> without attributes, and its end."""
    kept, is_plain = [], []
    for token in re.split(r"(<g[^>]*>|</g>)", text):
        if token == "</g>":
            token = "" if is_plain.pop() else token
        elif token == "<g/>":
            token = ""
        elif token.startswith("<g"):
            is_plain.append(token == "<g>")
            token = "" if token == "<g>" else token
        kept.append(token)
    return "".join(kept)


def smaller(text):
    """Removes parts that nobody reads: metadata, names of groups, invisible backgrounds, clipping (nothing is
    outside).
    """
    for pattern, by in ((r"<metadata>.*?</metadata>|<!--.*?-->", ""), (r"<defs>\s*<clipPath.*?</defs>", ""),
                        (r'\s*clip-path="[^"]*"', ""), (r'<g id="[^"]*"', "<g"),
                        (r'<path d="[^"]*" style="fill: none"/>', ""), (r' transform="rotate\(-0 [^"]*"', ""),
                        (r" font: 9px 'DejaVu Sans', sans-serif;?", ""),
                        (r"(<style[^>]*>)", r"\1text{font:9px 'DejaVu Sans',sans-serif}")):
        text = re.sub(pattern, by, text, flags=re.DOTALL)
    # Tenths of a point are enough for attributes, which have double quotes; text stays.
    text = re.sub(r'"[^"]*"', lambda quoted: re.sub(r"(\d\.\d)\d+", r"\1", quoted[0]), text)
    text = without_plain_groups(RECTANGLE.sub(r"M\1 \2H\3V\4H\1z", text))
    return re.sub(r"\s*\n\s*", "\n", text)


def write(figure, folder, name):
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, bbox_inches="tight", metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
    with open(os.path.join(folder, name + ".svg"), "w", encoding="utf-8") as file:
        file.write(smaller(buffer.getvalue()))
