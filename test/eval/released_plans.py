#!/usr/bin/env python3
"""The plans of CoDL's released code as the strategy codl-released has them: compiler/partition/strategies/codl_released_plans.inc

    released_plans.py [--write]    says whether the file is what follows from data/codl_paper.json, or writes it
"""
import argparse
import os
import sys

import paper

PATH = os.path.join(paper.HERE, "..", "..", "compiler", "partition", "strategies", "codl_released_plans.inc")
HEAD = """// Made by test/eval/released_plans.py from test/eval/data/codl_paper.json. Do not edit.
// By network: its operators, "conv KERNEL STRIDE OUT_ROWS IN_CHANNELS OUT_CHANNELS" (or pool; fc 0 0 0 INPUTS OUTPUTS),
// and for each phone the dim of each (H, C), the GPU's share in tenths as a hexadecimal digit, and lengths of chains.
"""


def op_text(op):
    if op.kind == "fc":
        return f"fc 0 0 0 {op.in_channels} {op.out_channels}"
    return f"{op.kind} {op.kernel} {op.stride} {op.out_rows} {op.in_channels} {op.out_channels}"


def lines_of(name, ops, plans):
    yield f'{{"{name}",'
    for i in range(0, len(ops), 4):
        yield "    " + " ".join(f'"{op_text(op)};"' for op in ops[i:i + 4]) + ("," if i + 4 >= len(ops) else "")
    yield "    {"
    for phone, networks in plans.items():
        plan = networks[name]["chained"]
        yield f'        {{"{phone}", "{plan["dims"]}",'
        yield f'         "{plan["gpu_tenths"]}",'
        yield f'         "{" ".join(map(str, plan["lengths"]))}"}},'
    yield "    }},"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    is_writing = parser.parse_args().write
    data = paper.read_data()
    text = HEAD + "".join(line + "\n" for name, ops in data.networks.items() for line in lines_of(name, ops, data.plans))
    old = ""
    if os.path.exists(PATH):
        with open(PATH, encoding="utf-8") as file:
            old = file.read()
    if is_writing and old != text:
        with open(PATH, "w", encoding="utf-8") as file:
            file.write(text)
    print("as made" if old == text else "written" if is_writing else "differs: run it with --write")
    return 0 if is_writing or old == text else 1


if __name__ == "__main__":
    sys.exit(main())
