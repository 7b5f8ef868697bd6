#!/usr/bin/env python3
"""Rules about docs/ and every other page of the tree.

  check_docs.py ROOT

- A link of a page to a file or folder leads to a tracked one, and to a heading that is there.
- A path docs/... in any text names a tracked file or folder.
- A path in backquotes of a page names a tracked file or folder, also without the file's extension and, of compiler/, without
  that folder; NAME stands for any.
- Every page of docs/ is linked from docs/README.md, or from a README.md of docs/ that is; names of pages are lower case
  with underscores.
- The map docs/design/tree.md has one row for each tracked folder, and no other; kernels/OPERATOR/ stands for the folders
  of schema/ops.def.
- A decision of docs/design/decisions.md has at most 5 lines.
"""
import os
import re
import subprocess
import sys

MAP, WAY_IN, DECISIONS = "docs/design/tree.md", "docs/README.md", "docs/design/decisions.md"
DECISION_LINES = 5
LINK = re.compile(r"\]\(([^)\s]+)\)")
# Matches a path in prose or code. Paths of other projects, in URLs and data files, have a prefix and do not match.
PATH = re.compile(r"(?<![\w/.-])docs/[\w/.-]*[\w/]")
QUOTED = re.compile(r"\.?[\w.-]+(?:/[\w.-]+)+/?")
OPERATOR = re.compile(r"^CODL_OP_BEGIN\(\w+, \d+, (\w+)\)", re.MULTILINE)
ROW = re.compile(r"^\| `([^`]+)/` \| (.+) \|$", re.MULTILINE)


def tracked_files(root):
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True, text=True)
    return None if listed.returncode else [path for path in listed.stdout.split("\0") if path]


def without_code(text):
    """Returns the page without fenced blocks and inline code, in which a bracket is no link and # no heading."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE))


def anchors(text):
    """Returns GitHub's names for the headings of a page."""
    found, fenced = {}, re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE)
    for heading in re.findall(r"^#+ +(.*)$", fenced, re.MULTILINE):
        name = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        count = found.get(name, 0)
        found[name] = count + 1
        if count:
            found[f"{name}-{count}"] = 1
    return found


def link_faults(path, text, texts, exists):
    for target in LINK.findall(without_code(text)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        to = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
        if not exists(to):
            yield f"{path}: expected a link to a tracked file, found ({target})"
        elif anchor and to.endswith(".md") and anchor not in anchors(texts[to]):
            yield f"{path}: expected a heading of {to}, found ({target})"


def alternatives(text):
    """Expands a.{h,cc} to a.h and a.cc."""
    match = re.search(r"\{([^{}]*)\}", text)
    if not match:
        return [text]
    return [whole for part in match.group(1).split(",")
            for whole in alternatives(text[:match.start()] + part + text[match.end():])]


def folders_of(paths):
    folders = set()
    for folder in paths:
        while folder := os.path.dirname(folder):
            folders.add(folder)
    return folders


def quoted_faults(path, text, known):
    """`known` has tracked files, with and without their extension, and folders."""
    for quoted in re.findall(r"`([^`\n]+)`", re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE)):
        for found in alternatives(re.sub(r":\d+$", "", quoted)):
            first, at = found.partition("/")[0], found.rstrip("/")
            is_ours = first in known or f"compiler/{first}" in known
            if QUOTED.fullmatch(found) and "NAME" not in found and is_ours and not {at, f"compiler/{at}"} & known:
                yield f"{path}: expected a tracked file, found `{found}`"


def links_from(path, texts):
    return {os.path.normpath(os.path.join(os.path.dirname(path), target.partition("#")[0]))
            for target in LINK.findall(texts.get(path, ""))}


def map_faults(text, paths, operators):
    folders = folders_of(paths)
    rows = [row for folder, _ in ROW.findall(text)
            for row in ([folder.replace("OPERATOR", operator) for operator in operators] if "OPERATOR" in folder else [folder])]
    yield from (f"{MAP}: expected a row for {folder}/" for folder in sorted(folders - set(rows)))
    yield from (f"{MAP}: expected tracked files in {folder}/" for folder in sorted(set(rows) - folders))
    yield from (f"{MAP}: expected one row for {folder}/" for folder in sorted({row for row in rows if rows.count(row) > 1}))


def faults(root, paths):
    texts = {}
    for path in paths:
        try:
            with open(os.path.join(root, path), encoding="utf-8") as file:
                texts[path] = file.read()
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
            continue

    def exists(path):
        return path in texts or path in paths or any(other.startswith(path.rstrip("/") + "/") for other in paths)

    known = set(paths) | {os.path.splitext(path)[0] for path in paths} | folders_of(paths)
    for path, text in texts.items():
        if path.endswith(".md"):
            yield from link_faults(path, text, texts, exists)
            if path != MAP:
                yield from quoted_faults(path, text, known)
        if path != MAP and not path.endswith(".json") and not path.startswith("test/arch/check_docs"):
            for found in sorted(set(PATH.findall(text))):
                if not exists(found.rstrip(".")):
                    yield f"{path}: expected a tracked file, found {found}"
    pages = [path for path in paths if path.startswith("docs/") and path.endswith(".md") and path != WAY_IN]
    linked = links_from(WAY_IN, texts)
    for path in sorted(linked):
        if os.path.basename(path) == "README.md":
            linked |= links_from(path, texts)
    for path in pages:
        if path not in linked:
            yield f"{WAY_IN}: expected a link to {path}"
        if not re.fullmatch(r"[a-z0-9_]+\.md|README\.md", os.path.basename(path)):
            yield f"{path}: expected a name in lower case with underscores"
    yield from map_faults(texts.get(MAP, ""), paths, OPERATOR.findall(texts.get("schema/ops.def", "")))
    for section in re.split(r"^(?=#{2,3} )", texts.get(DECISIONS, ""), flags=re.MULTILINE):
        heading, _, body = section.partition("\n")
        if heading.startswith("### ") and len(body.strip().split("\n")) > DECISION_LINES:
            yield f"{DECISIONS}: expected at most {DECISION_LINES} lines, found more under '{heading[4:]}'"


def main():
    root = sys.argv[1]
    paths = tracked_files(root)
    if paths is None:
        print("[SKIP] check_docs: not a git checkout, so there is no list of tracked files")
        return 77
    found = list(faults(root, paths))
    for fault in found:
        print(f"check_docs: {fault}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
