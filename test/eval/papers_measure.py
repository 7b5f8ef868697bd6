"""Granularity on a real pair of cores: plans of several strategies while 0, 1 and 2 other processes compute.

One core is the CPU's, another runs OpenCL. The other processes spin on the CPU's core, as `codl-sim --cpu-load` has it.
Needs Python's standard library and the programs only.
"""
import json
import os
import time

import adaptive
import measured_pairs
import papers_runs
import results

PROFILE_SECONDS = 80
ROUNDS = 5  # at most; as many as fit in the time
ROUND_MS = 250  # of a plan on an idle core


def simulated_us(build, plan, variant, load):
    text = measured_pairs.run(build.binaries, "codl-sim", plan, f"--device={build.profile}", f"--variant={variant}",
                              f"--cpu-load={load}%", "--json")
    return json.loads(text)["runs"][0]["wall_us"]


def measure(options, networks):
    """What measured.json holds; options as measured_pairs.Build takes them, with `seconds` and `profile`."""
    end = time.monotonic() + options.seconds
    load_average = os.getloadavg()[0]
    competing_cores = adaptive.cores_of(options.cpu_cores)
    build = measured_pairs.Build(options, options.bin, "papers", "pinned")
    profile_seconds = 0
    if options.profile:
        build.profile = options.profile
    else:
        profile_seconds = build.make_profile() or 0
    found, plans = {}, {}
    for network in networks:
        for strategy in papers_runs.GRANULARITIES:
            plan = build.plan(network, strategy)
            variant = next(iter(build.variants(plan)))
            us = build.bench_one(plan, variant, 3)["rounds_us"][0]  # OpenCL's kernels are compiled here
            plans[network, strategy] = (plan, variant, max(3, round(ROUND_MS * 1e3 / us)))
            found.setdefault(network, {})[strategy] = {
                str(count): {"simulated_us": [simulated_us(build, plan, variant, load)], "rounds_us": []}
                for count, load in papers_runs.LOADS.items()}
    longest, done = 0, 0
    while done < ROUNDS and (not done or time.monotonic() + longest < end):
        begin = time.monotonic()
        for count in papers_runs.LOADS:
            competitors = adaptive.Competitors(count, competing_cores)
            try:
                for (network, strategy), (plan, variant, runs) in plans.items():
                    us = build.bench_one(plan, variant, runs)["rounds_us"]
                    found[network][strategy][str(count)]["rounds_us"] += us
            finally:
                competitors.stop()
        longest, done = max(longest, time.monotonic() - begin), done + 1
    return {"machine": results.machine_text(), "opencl": os.environ.get("OCL_ICD_VENDORS", ""), "load_before": load_average,
            "profile": options.profile or f"made in {profile_seconds:.0f} s before", "cores": [options.cpu_cores, options.gpu_cores],
            "rounds": done, "networks": found}
