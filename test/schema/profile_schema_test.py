#!/usr/bin/env python3
"""schema/profile.schema.json accepts every profile of the tree, which is at most 64 KB, and refuses
one example per rule. profile_schema_test.py ROOT"""
import copy
import glob
import json
import os
import sys

try:
    import jsonschema
except ImportError:
    print("[SKIP] profile schema: no Python package jsonschema")
    sys.exit(77)

MOST_BYTES = 64 * 1024


def damaged(profile):
    """Returns pairs of a fault and the profile that has it."""
    def with_change(what, change):
        copied = copy.deepcopy(profile)
        change(copied)
        return what, copied

    family = next(iter(profile["families"]["gpu"]))

    def of_family(**changes):
        return lambda p: p["families"]["gpu"][family].update(**changes)

    yield with_change("another version", lambda p: p.update(format_version=2))
    yield with_change("no version", lambda p: p.pop("format_version"))
    yield with_change("an unknown key", lambda p: p.update(speed=1))
    yield with_change("no machine", lambda p: p["cpu"].pop("machine"))
    yield with_change("a machine without a fact", lambda p: p["gpu"]["machine"].pop("units"))
    yield with_change("a machine with an unknown fact", lambda p: p["cpu"]["machine"].update(mhz=1))
    yield with_change("a machine of no origin", lambda p: p["cpu"]["machine"].pop("origin"))
    yield with_change("a negative fact", lambda p: p["gpu"]["machine"].update(l1_kb=-1))
    yield with_change("a fact without a source", lambda p: p["gpu"]["machine"].update(
        l1_kb={"value": 1, "origin": "assumed"}))
    yield with_change("no device type", lambda p: p["gpu"].pop("device_type"))
    yield with_change("an unknown device type", lambda p: p["gpu"].update(device_type="npu"))
    yield with_change("a path as name", lambda p: p.update(name="a/b"))
    yield with_change("no threads", lambda p: p["cpu"].update(threads=0))
    for what, values in (("no speed", []), ("a worker that stands still", [1, 0]),
                         ("a worker faster than the first", [1, 1.1]),
                         ("a first worker that is not the fastest", [0.9, 1])):
        yield with_change(what, lambda p, values=values: p["cpu"].update(worker_speeds={
            "values": values, "origin": "assumed", "source": next(iter(p["sources"]))}))
    yield with_change("an unknown layout", lambda p: p["gpu"].update(layout="texture"))
    yield with_change("a negative number", lambda p: p["transfer"]["sync_us"].update(value=-1))
    yield with_change("a number beyond all", lambda p: p["transfer"]["sync_us"].update(value=1e300))
    yield with_change("no source", lambda p: p["transfer"]["sync_us"].pop("source"))
    yield with_change("an unknown origin", of_family(origin="guessed"))
    yield with_change("an unknown level", of_family(level="guessed"))
    yield with_change("no shares", of_family(shares={}))
    yield with_change("a share of no term", of_family(shares={"mmacs": 1}))
    yield with_change("a negative share", of_family(shares={"compute": -1}))
    yield with_change("a share beyond all", of_family(shares={"compute": 1e7}))
    yield with_change("a percent beyond all", lambda p: p["transfer"]["cpu_contention_percent"].update(value=1e5))
    for what, joint in [("no joint share", []), ("five joint shares", [["l1", "l2", 1, 1]] * 5),
                        ("a joint share of one term", [["l1", 1, 1]]),
                        ("a joint share of no term", [["l1", "l9", 1, 1]]),
                        ("a joint share of a step", [["step", "l1", 1, 1]]),
                        ("a factor of 0", [["l1", "l2", 0, 1]]),
                        ("a negative joint share", [["l1", "step", 1, -1]]),
                        ("a joint share without a factor", [["l1", "l2", 1]]),
                        ("a joint share with more", [["l1", "l2", 1, 1, 1]])]:
        yield with_change(what, of_family(joint=joint))
    yield with_change("an interval of one end", of_family(interval=[1]))
    yield with_change("an interval from 0", of_family(interval=[0, 1]))
    yield with_change("a family of no kernels", lambda p: p["families"]["gpu"].update(
        folding=p["families"]["gpu"][family]))
    yield with_change("families of no processor", lambda p: p["families"].update(npu={}))
    yield with_change("a kernel without an interval", lambda p: p.update(kernels={
        "conv2d_f32_cpu": {"level": "samples", "origin": "measured", "source": "s",
                           "shares": {"step": 1}}}))
    yield with_change("a fit of no samples", of_family(
        fit={"samples": 0, "median_error_percent": 1, "within_10_percent": 1}))
    yield with_change("a transfer without a GPU", lambda p: p.pop("gpu"))
    yield with_change("a power of one queue only", lambda p: p.update(power={
        "cpu_w": {"value": 1, "origin": "assumed", "source": "s"}}))
    yield with_change("a fact without an origin", lambda p: p["cpu"].update(
        facts={"source": "s", "clusters": {}}))
    yield with_change("a cluster of no cores", lambda p: p["cpu"].update(
        facts={"origin": "assumed", "source": "s", "clusters": {"A": {"cores": 0, "mhz": 1}}}))
    soc = {"manufacturer": ["QTI"], "model": ["SM8150"], "origin": "published", "source": "s"}
    yield with_change("a chip without a model", lambda p: p.update(soc={**soc, "model": []}))
    yield with_change("a chip of no source", lambda p: p.update(soc={**soc, "source": None}))
    yield with_change("a GPU of no queues", lambda p: p["gpu"].update(
        facts={"origin": "assumed", "source": "s", "alus": 0}))
    yield with_change("a quirk that says nothing", lambda p: p["gpu"].update(quirks={"slow": True}))
    best = {"origin": "measured", "source": "s"}
    timed = {"tile": [64, 64, 32, 8, 4, 2], "macs_per_ns": 1, "step_ns": 1, "residents": 1}
    for what, tile in [
            ("a tile of neither kind", best),
            ("a tile of both kinds", {**best, "local": [8, 8, 1], "gemm": [timed]}),
            ("a local size of two", {**best, "local": [8, 8]}),
            ("a local size of none", {**best, "local": [8, 0, 1]}),
            ("a local size without an origin", {"source": "s", "local": [8, 8, 1]}),
            ("a table without tiles", {**best, "gemm": []}),
            ("a tile without rates", {**best, "gemm": [{"tile": timed["tile"]}]}),
            ("a tile that never ends", {**best, "gemm": [{**timed, "macs_per_ns": 0}]})]:
        yield with_change(what, lambda p, tile=tile: p["gpu"].update(
            tiles={"conv2d_f32_cl_image": tile}))


def main():
    root = sys.argv[1]
    with open(os.path.join(root, "schema", "profile.schema.json")) as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    faults = []
    paths = sorted(glob.glob(os.path.join(root, "profiles", "*.json")) +
                   glob.glob(os.path.join(root, "test", "profiles", "*.json")))
    for path in paths:
        with open(path) as file:
            text = file.read()
        if len(text) > MOST_BYTES:
            faults.append(f"{path}: expected at most {MOST_BYTES} bytes, found {len(text)}")
        for error in validator.iter_errors(json.loads(text)):
            faults.append(f"{path}: {error.json_path}: {error.message[:200]}")
    with open(os.path.join(root, "profiles", "template.json")) as file:
        example = json.load(file)
    for what, profile in damaged(example):
        if validator.is_valid(profile):
            faults.append(f"expected {what} to be refused, found it accepted")
    # The base gives everything that the profile leaves out, even its "gpu".
    best = {"origin": "measured", "source": "s"}
    over_another = {"format_version": 3, "base": "sd855", "name": "mine", "power": None,
                    "gpu": {"tiles": None},
                    "transfer": {"sync_us": example["transfer"]["sync_us"]}}
    for error in validator.iter_errors(over_another):
        faults.append(f"a profile over another: {error.json_path}: {error.message[:200]}")
    over_another["gpu"]["tiles"] = {
        "conv2d_f32_cl_image": {**best, "local": [8, 8, 4], "gain_percent": 23},
        "conv2d_f32_cl_tiled": {**best, "gemm": [
            {"tile": [64, 64, 32, 8, 4, 2], "macs_per_ns": 1.5, "step_ns": 800, "residents": 2}]}}
    for error in validator.iter_errors(over_another):
        faults.append(f"a profile with tiles: {error.json_path}: {error.message[:200]}")
    if len(paths) < 2:
        faults.append(f"{root}: expected profiles, found {len(paths)}")
    print("\n".join(faults) or f"{len(paths)} profiles fit the schema")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
