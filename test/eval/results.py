"""docs/results/cost_model.md and .json: one section for each of the cost model's measures.

Each script writes its own section and keeps those of the others, so that a measure can be made anew by itself.
"""
import datetime
import json
import os
import platform
import textwrap

HERE = os.path.dirname(os.path.abspath(__file__))
DEFAULT = os.path.join(HERE, "..", "..", "docs", "results", "cost_model.json")
TITLE = "The cost model, measured against its targets"
# Headings in the page's order.
HEADINGS = {
    "simulated": "Relative plan time, simulated",
    "measured": "Relative plan time, measured",
    "left_out": "A machine left out",
    "four_models": "Four models side by side",
    "size": "Size and speed",
}


def machine_text():
    """The processor that a script runs on, and the date."""
    name = platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            name = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), name)
    return f"{name}, {os.cpu_count()} cores, {datetime.date.today().isoformat()}"


def wrapped(text, width=120):
    """A paragraph of a page."""
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) + [""]


def table(head, rows):
    lines = ["| " + " | ".join(map(str, head)) + " |", "|---" * len(head) + "|"]
    return lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows] + [""]


def read_sections(path):
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def read_section(path, key):
    """The data that write_section() was given last; None if there is no such section."""
    return read_sections(path).get(key, {}).get("data")


def write_section(path, key, lines, data):
    """Replaces a section of `path` (.json) and makes the page beside it anew."""
    sections = read_sections(path)
    sections[key] = {"text": lines, "data": data}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(sections, file, indent=1)
        file.write("\n")
    page = [f"# {TITLE}", "", *wrapped("Written by the scripts of `test/eval/` that each section names. A number is "
                                      "simulated, measured or predicted, as its section says; these kinds are never "
                                      "mixed.")]
    for name, heading in HEADINGS.items():
        if name in sections:
            page += [f"## {heading}", "", *sections[name]["text"]]
    with open(os.path.splitext(path)[0] + ".md", "w", encoding="utf-8") as file:
        file.write("\n".join(page).rstrip("\n") + "\n")
