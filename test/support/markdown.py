"""Writes tables of programs into documents."""
import os


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def write_section(path, name, lines):
    """Puts the lines between `<!-- name -->` and the next `<!-- end -->` of the file, which is made if needed."""
    begin, end = f"<!-- {name} -->", "<!-- end -->"
    text = ""
    if os.path.exists(path):
        with open(path) as file:
            text = file.read()
    if begin not in text:
        text += f"\n{begin}\n{end}\n"
    head, rest = text.split(begin, 1)
    tail = rest.split(end, 1)[1]
    with open(path, "w") as file:
        file.write(head + begin + "\n" + "\n".join(lines) + "\n" + end + tail)
