#!/usr/bin/env python3
"""Random small graphs through the whole compiler and runtime, against ONNX's reference evaluator.

  differential.py [--bin build/release/bin] [--count 1000] [--seed 0] [--only FAMILY]... [--modes 3] [--jobs 2]
  differential.py --tests DIR [--bin ...] [--modes 3]

Case i of seed s is the same on every machine. A case that fails is kept in build/differential/found/ as a folder
that runs alone: run_cases FOLDER. --tests runs folders that are there (ONNX's node tests, found cases) instead of
drawn ones. Prints refusals by reason; a reason that refusals.txt does not list fails, as do wrong and broken cases.
Needs the Python packages of requirements.txt; without them it makes a virtual environment in build/differential.
"""
import argparse
import collections
import concurrent.futures
import glob
import importlib
import os
import re
import shutil
import subprocess
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(ROOT, "test", "support")]
PLACE = os.path.join(ROOT, "build", "differential")
CASE_SECONDS = 120  # a case that takes longer hangs


def families():
    names = sorted(os.path.basename(path)[:-3]
                   for path in glob.glob(os.path.join(HERE, "families", "*.py")))
    return names


def write_case(folder, case, outputs):
    import numpy as np
    os.makedirs(folder)
    with open(os.path.join(folder, "model.onnx"), "wb") as file:
        file.write(case.model.SerializeToString())
    with open(os.path.join(folder, "tol.txt"), "w", encoding="utf-8") as file:
        file.write(f"{case.rtol:.9g} {case.atol:.9g}\n")
    for stem, arrays in (("in", case.inputs.values()), ("out", outputs)):
        for i, array in enumerate(arrays):
            np.save(os.path.join(folder, f"{stem}_{i}.npy"), np.require(array, requirements="C"))


def draw(seed, index, names, folder):
    """Writes case `index`; returns the folder, or the evaluator's objection. Neither: ONNX Runtime is not here."""
    import numpy as np
    import oracle
    family = names[index % len(names)]
    place = os.path.join(folder, f"{family}-{seed}-{index}")
    rng = np.random.default_rng([seed, index])
    module = importlib.import_module(f"families.{family}")
    try:
        case = module.draw(rng)
        write_case(place, case, oracle.wanted(case.model, case.inputs))
    except oracle.Missing:
        return None, None
    except Exception:
        return None, f"{family}-{seed}-{index}: {traceback.format_exc(limit=-3)}"
    return place, None


def draw_range(seed, indexes, names, folder):
    return [draw(seed, index, names, folder) for index in indexes]


class Runner:
    """Runs folders through run_cases, and restarts it after one that ended the process."""

    def __init__(self, flags, number):
        self.flags, self.number = flags, number
        self.lines = []

    def run(self, folders):
        left = list(folders)
        while left:
            begun = self.once(left)
            if begun is None:
                return self.lines
            at = left.index(begun)
            self.lines.append(f"broken {begun} -: {self.ending}")
            left = left[at + 1:]
        return self.lines

    def once(self, folders):
        """Returns the folder at which the process ended; None if it finished."""
        os.makedirs(PLACE, exist_ok=True)
        path = os.path.join(PLACE, f"list{self.number}.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write("".join(folder + "\n" for folder in folders))
        command = [os.path.join(self.flags.bin, "run_cases"), f"--modes={self.flags.modes}",
                   f"--seed={self.flags.seed}", f"--list={path}"]
        environment = dict(os.environ)
        environment.setdefault("POCL_CACHE_DIR", os.path.join(ROOT, "build", "pocl_cache"))
        os.makedirs(environment["POCL_CACHE_DIR"], exist_ok=True)
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   errors="replace", env=environment)
        begun = None
        try:
            output, error = process.communicate(timeout=CASE_SECONDS + 2 * len(folders))
            code = process.returncode
        except subprocess.TimeoutExpired:
            process.kill()
            output, error = process.communicate()
            code = "a hang"
        for line in output.splitlines():
            if line.startswith("begin "):
                begun = line[len("begin "):]
            elif line:
                self.lines.append(line)
        if code in (0, 1):
            return None
        self.ending = f"run_cases ended with {code}: {error.strip()[-500:]}"
        return begun or folders[0]


def allowed_refusals():
    patterns = []
    with open(os.path.join(HERE, "refusals.txt"), encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                patterns.append(re.compile(line.split(" | ")[0].strip()))
    return patterns


def report(lines, flags):
    counts = collections.Counter()
    refusals = collections.defaultdict(list)
    bad = []
    allowed = allowed_refusals()
    for line in lines:
        verdict, folder, rest = line.split(" ", 2)
        counts[verdict] += 1
        if verdict == "refused":
            reason = rest.partition(": ")[2]
            known = next((p.pattern for p in allowed if p.search(reason)), None)
            refusals[known or "NOT LISTED: " + reason].append(os.path.basename(folder))
            if known is None:
                bad.append((folder, line))
        elif verdict != "passed":
            bad.append((folder, line))
    found = os.path.join(PLACE, "found")
    for folder, line in bad:
        place = os.path.join(found, os.path.basename(folder))
        if os.path.abspath(folder).startswith(os.path.join(PLACE, "drawn")) and not os.path.exists(place):
            shutil.copytree(folder, place)
        print(line.replace(folder, os.path.basename(folder)))
    for reason, folders in sorted(refusals.items()):
        print(f"refused {len(folders)} times: {reason} (as {folders[0]})")
    if bad:
        print(f"kept in {os.path.relpath(found)}; each runs alone: run_cases FOLDER")
    print(f"{counts['passed']} runs passed, {counts['refused']} refused, {counts['wrong']} wrong, "
          f"{counts['broken']} broken")
    return len(bad)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "release", "bin"))
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", help="a family; repeatable")
    parser.add_argument("--modes", type=int, default=3, help="modes drawn for a case")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--tests", help="run the folders in here instead of drawing cases")
    flags = parser.parse_args()
    os.makedirs(PLACE, exist_ok=True)
    start = time.monotonic()
    faults = []
    with concurrent.futures.ProcessPoolExecutor(flags.jobs) as pool:
        if flags.tests:
            folders = sorted(os.path.dirname(path)
                             for path in glob.glob(os.path.join(flags.tests, "*", "model.onnx")))
        else:
            drawn = os.path.join(PLACE, "drawn")
            shutil.rmtree(drawn, ignore_errors=True)
            names = [n for n in families() if not flags.only or n in flags.only]
            if not names:
                parser.error(f"expected a family ({', '.join(families())}), found {flags.only}")
            shares = [range(i, flags.count, flags.jobs) for i in range(flags.jobs)]
            results = pool.map(draw_range, [flags.seed] * flags.jobs, shares, [names] * flags.jobs,
                               [drawn] * flags.jobs)
            results = [result for share in results for result in share]
            folders = sorted(place for place, _ in results if place)
            faults = [fault for _, fault in results if fault]
            missing = len(results) - len(folders) - len(faults)
            if missing:
                print(f"{missing} cases are left out: their results need Python's onnxruntime, which is not here")
        print(f"{len(folders)} cases after {time.monotonic() - start:.0f} s", flush=True)
    with concurrent.futures.ThreadPoolExecutor(flags.jobs) as pool:
        runners = [Runner(flags, i) for i in range(flags.jobs)]
        shares = [folders[i::flags.jobs] for i in range(flags.jobs)]
        lines = [line for share in pool.map(lambda r, s: r.run(s), runners, shares) for line in share]
    for fault in faults:
        print(f"not drawn: {fault}")
    bad = report(lines, flags)
    print(f"seed {flags.seed}, {len(folders)} cases, {time.monotonic() - start:.0f} s")
    return 1 if bad or faults or not folders else 0


if __name__ == "__main__":
    from wheels import use_wheels
    use_wheels(["numpy", "onnx"], [["-r", os.path.join(HERE, "requirements.txt")]], "differential")
    sys.exit(main())
