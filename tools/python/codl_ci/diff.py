"""codl-diff shows the changes between two plans: docs/guide/matrix.md."""
import difflib
import json
import subprocess
import sys

from .common import InputError, Parser, end, json_text, program_of
from .limits import METRICS, Limit

TOOL = "codl-diff"
LIMIT = 3  # exit code


def read_plan(dump, path):
    """Returns what codl-dump says; of a plan of several input shapes the variants of all, each named with its shapes."""
    run = subprocess.run([dump, path, "--json"], capture_output=True, text=True)
    if run.returncode != 0:
        raise InputError(run.stderr.strip().removeprefix("codl-dump: error: "))
    plan = json.loads(run.stdout)
    if "entries" in plan:
        plan["variants"] = [{**variant, "name": f"{variant['name']} of {entry['name']}"}
                            for entry in plan["entries"] for variant in entry["variants"]]
    return plan


def nodes_of(variant):
    """Returns the nodes in the order of their first step: each one's computation, without its name and numbers, and
    how it is done.
    """
    tensors = variant["tensors"]
    nodes = {}
    for step in variant["steps"]:
        if step["kind"] != "kernel":
            continue
        node = nodes.setdefault(step["name"], {"name": step["name"], "op": step["op"], "us": 0, "parts": [], "what": (
            step["op"], json.dumps(step["params"], sort_keys=True),
            tuple((tensors[i]["dtype"], tuple(tensors[i]["dims"])) for i in step["operands"]))})
        part = step["part"]
        where = "" if part["dim"] == "none" else f" {part['dim']} [{part['owned'][0]}, {part['owned'][1]})"
        node["parts"].append(f"{step['queue']} {step['kernel']}{where}")
        node["us"] += step["predicted_us"]
    for node in nodes.values():
        node["parts"].sort()
    return list(nodes.values())


def compare_variants(before, after):
    old, new = nodes_of(before), nodes_of(after)
    changed, removed, added = [], [], []
    matcher = difflib.SequenceMatcher(None, [n["what"] for n in old], [n["what"] for n in new], autojunk=False)
    for kind, a, a_end, b, b_end in matcher.get_opcodes():
        if kind != "equal":
            removed += old[a:a_end]
            added += new[b:b_end]
            continue
        changed += [(x, y) for x, y in zip(old[a:a_end], new[b:b_end]) if x["parts"] != y["parts"]]

    def told(node):
        return {"node": node["name"], "op": node["op"], "parts": node["parts"], "predicted_us": round(node["us"], 3)}
    return {"name": after["name"], "predicted_us": [before["predicted_us"], after["predicted_us"]],
            "arena_bytes": [arena_bytes(before), arena_bytes(after)], "steps": [len(before["steps"]), len(after["steps"])],
            "changed": [{"before": told(x), "after": told(y)} for x, y in changed],
            "removed": [told(node) for node in removed], "added": [told(node) for node in added]}


def arena_bytes(variant):
    return variant["host_bytes"] + variant["shared_bytes"] + variant["device_bytes"]


def gpu_share(variant):
    macs = {"cpu": 0, "gpu": 0}
    for step in variant["steps"]:
        if step["kind"] == "kernel":
            macs[step["queue"]] += step["owned_macs"]
    return macs["gpu"] / sum(macs.values()) if sum(macs.values()) else 0


def entry_of(plan):
    """Returns an entry as a manifest has it, of the variant that a session begins with; memory is the arenas'."""
    variant = plan["variants"][0]
    return {"variant": variant["name"], "inference_time": variant["predicted_us"], "memory": {"total_bytes": arena_bytes(variant)},
            "plan_bytes": plan["file_bytes"], "gpu_mac_share": gpu_share(variant)}


def compare(before, after):
    facts = {key: [before[key], after[key]] for key in ("device", "codlc_version", "model_hash", "profile_hash")
             if before[key] != after[key]}
    old = {variant["name"]: variant for variant in before["variants"]}
    new = {variant["name"]: variant for variant in after["variants"]}
    return {"format": "codl-diff", "format_version": 1, "made_from": facts,
            "file_bytes": [before["file_bytes"], after["file_bytes"]], "data_bytes": [before["data_bytes"], after["data_bytes"]],
            "variants_removed": sorted(set(old) - set(new)), "variants_added": sorted(set(new) - set(old)),
            "first_variants": [{key: plan["variants"][0][key] for key in ("name", "predicted_us")} for plan in (before, after)],
            "variants": [compare_variants(old[name], new[name]) for name in new if name in old]}


def is_changed(result):
    return bool(result["made_from"] or is_first_another(result) or result["variants_removed"] or result["variants_added"] or
                result["file_bytes"][0] != result["file_bytes"][1] or
                any(v["changed"] or v["removed"] or v["added"] or v["predicted_us"][0] != v["predicted_us"][1] or
                    v["arena_bytes"][0] != v["arena_bytes"][1] for v in result["variants"]))


def is_first_another(result):
    first, other = (v["name"] for v in result["first_variants"])
    return first != other


def change(pair, scale, unit):
    old, new = pair
    percent = f" ({100 * (new / old - 1):+.1f} %)" if old else ""
    return f"{old / scale:.2f} to {new / scale:.2f} {unit}{percent}" if old != new else f"{new / scale:.2f} {unit}, as before"


def text_of(result):
    if not is_changed(result):
        return "no difference\n"
    lines = [f"{key}: {old} to {new}" for key, (old, new) in result["made_from"].items()]
    lines.append(f"file: {change(result['file_bytes'], 1e6, 'MB')}")
    for place, key in (("A", "variants_removed"), ("B", "variants_added")):
        lines += [f"variant {name}: only in {place}, compared with none" for name in result[key]]
    if is_first_another(result):
        first = [f"{v['name']} ({v['predicted_us'] / 1e3:.2f} ms)" for v in result["first_variants"]]
        lines.append(f"a session begins with variant {first[0]} in A, {first[1]} in B: --fail-if is about these")
    if not result["variants"]:
        lines.append("no variant is in both plans: nothing else is compared")
    for v in result["variants"]:
        lines.append(f"variant {v['name']} of A and of B: predicted {change(v['predicted_us'], 1e3, 'ms')}; arenas {change(v['arena_bytes'], 1e6, 'MB')}")
        for pair in v["changed"]:
            old, new = pair["before"], pair["after"]
            lines.append(f"  {new['node']} ({new['op']}): {', '.join(old['parts'])} ({old['predicted_us'] / 1e3:.3f} ms) to "
                         f"{', '.join(new['parts'])} ({new['predicted_us'] / 1e3:.3f} ms)")
        for kind in ("removed", "added"):
            lines += [f"  {kind}: {node['node']} ({node['op']}): {', '.join(node['parts'])}" for node in v[kind]]
    return "\n".join(lines) + "\n"


def run(flags):
    limits = [Limit(text) for text in flags.fail_if if text != "any"]
    dump = program_of(TOOL, "codl-dump", flags.codl_dump)
    before, after = read_plan(dump, flags.before), read_plan(dump, flags.after)
    result = compare(before, after)
    faults = [fault for limit in limits if (fault := limit.fault(entry_of(after), entry_of(before)))]
    if "any" in flags.fail_if and is_changed(result):
        faults.append("expected no difference (any), found some")
    result["faults"] = faults
    sys.stdout.write(json_text(result) if flags.json else text_of(result) + "".join(f"{fault}\n" for fault in faults))
    return LIMIT if faults else 0


def command_line():
    parser = Parser(TOOL, "codl-dump", "the program that reads plans",
                    {"threshold tolerance max-change": "--fail-if=LIMIT", "format output-format": "--json"},
                    description="What changed between two plans: where nodes run, predicted times, memory. Nodes are matched by what they "
                    "compute and their order, not by names and numbers. A variant is compared with that of the same name.",
                    epilog="Exit codes: 0 ok, whatever changed, 1 the input is wrong, 3 a limit of --fail-if is not met.")
    parser.add_argument("before", metavar="A.codl")
    parser.add_argument("after", metavar="B.codl")
    parser.add_argument("--json", action="store_true", help="JSON in place of text")
    parser.add_argument("--fail-if", metavar="LIMIT", action="append", default=[],
                        help=f"any difference at all (any), or like latency>+3%%, of {', '.join(METRICS)}, of the variant that a session begins with; repeatable")
    return parser


def main():
    return end(TOOL, lambda: run(command_line().parse_args()))
