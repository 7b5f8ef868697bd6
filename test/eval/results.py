"""Holds what pages of results share: the machine, paragraphs and tables."""
import datetime
import os
import platform
import textwrap


def machine_text():
    """Returns the processor that a script runs on, and the date."""
    name = platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            name = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), name)
    return f"{name}, {os.cpu_count()} cores, {datetime.date.today().isoformat()}"


def wrapped(text, width=120):
    """Returns a paragraph of a page."""
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) + [""]


def table(head, rows):
    lines = ["| " + " | ".join(map(str, head)) + " |", "|---" * len(head) + "|"]
    return lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows] + [""]
