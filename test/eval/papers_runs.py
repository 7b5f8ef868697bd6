"""Asks codlc and codl-sim for papers.py: plans of the papers' networks, strategies and phones, each once.

Everything here is simulated. An answer stays in a folder, under the programs' and the model's contents, so that a command
that was cut off goes on where it was.
"""
import hashlib
import json
import os
import tempfile

import measured_pairs
import paper

# Names in CoDL's data, and the files of its networks.
NETWORKS = {"retinaface": "retinaface", "yolov2": "yolov2", "vgg16": "vgg16_paper", "posenet": "posenet", "fst": "fst"}
OTHERS = {"resnet50": "resnet50_ts13", "mobilenet_v2": "mobilenet_v2_ts13"}  # the study's network, and a small one
PHONES = ("sd855", "sd865", "sd888", "kirin990")
STRATEGIES = ("cpu", "gpu", "mulayer", "coarse", "fine", "codl-buffer", "codl", "optimal")
GRANULARITIES = ("coarse", "fine", "optimal")
# With n competing processes beside the plan's thread on one core, they take n of n + 1 parts (assumed: equal shares).
LOADS = {0: 0, 2: 67}
# Predicts a screen's frames beside a network: plans have different limits of the GPU, which serves two programs in
# different ways.
SLICE = "--max-gpu-slice=4ms"
LIMITS = {"GPU alone": ["--strategy=gpu"], "no limit": [], "slices": [SLICE],
          **{f"{percent} %": [f"--gpu-limit={percent}%", SLICE] for percent in (75, 50)}}
DISPLAYS = ("fifo", "round-robin")
TIMES = ("clock_us", "wall_us")  # times of the phones except the first


def summary(report, simulated):
    """Returns a plan's figures for the tables; `simulated`: by load in percent, codl-sim's result for its first
    variant.
    """
    variant = report["variants"][0]
    found = {"clock_us": simulated["0"]["codl_clock_us"], "wall_us": variant["predicted_us"],
             "high_us": variant["high_us"], "memory_bytes": variant["arena_bytes"] + variant["weight_bytes"],
             "loaded_us": {load: run["wall_us"] for load, run in simulated.items()}}
    if "energy_mj" in simulated["0"]:
        found["energy_mj"] = simulated["0"]["energy_mj"]
    return found


class Plans:
    def __init__(self, binaries, models, work):
        self.binaries, self.models, self.work = binaries, models, work
        os.makedirs(work, exist_ok=True)
        self.build = hashlib.sha256()
        for tool in ("codlc", "codl-sim"):
            with open(os.path.join(binaries, tool), "rb") as file:
                self.build.update(file.read())

    def ask(self, network, device, flags, simulations):
        model = os.path.join(self.models, network + ".onnx")
        with tempfile.TemporaryDirectory(dir=self.work) as folder:
            plan, answer = os.path.join(folder, "plan.codl"), os.path.join(folder, "report.json")
            # The papers' methods have no limit on weights.
            measured_pairs.run(self.binaries, "codlc", model, f"--device={device}", "--max-weights=none", *flags, "-q", "-o", plan,
                               f"--report={answer}")
            with open(answer, encoding="utf-8") as file:
                report = json.load(file)
            simulated = {}
            for flag in simulations:
                text = measured_pairs.run(self.binaries, "codl-sim", plan, f"--device={device}", flag,
                                          f"--variant={report['variants'][0]['name']}", "--json")
                simulated[flag.partition("=")[2].rstrip("%")] = json.loads(text)["runs"][0]
        for variant in report["variants"]:
            del variant["memory_over_time"]
        for operator in report["operators"]:
            del operator["alternatives"]
        return {"report": report, "simulated": simulated}

    def answer(self, network, device, flags, simulations):
        """Returns codlc's report, and codl-sim's run of the first variant for each value of its flags."""
        stat = os.stat(os.path.join(self.models, network + ".onnx"))
        key = repr((self.build.hexdigest(), stat.st_size, stat.st_mtime_ns, network, device, flags, simulations))
        path = os.path.join(self.work, f"{network}.{os.path.basename(device)}.{hashlib.sha256(key.encode()).hexdigest()[:16]}.json")
        if not os.path.exists(path):
            measured_pairs.write_whole(path, json.dumps(self.ask(network, device, flags, simulations)))
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def summary(self, network, device, flags, loads=(0,)):
        """`network` is a file's name without .onnx; `loads` are percent of the CPU, the first 0."""
        answer = self.answer(network, device, flags, [f"--cpu-load={load}%" for load in loads])
        return summary(answer["report"], answer["simulated"])

    def frames(self, network, device, flags):
        """Returns the percentage of frames that a display loses beside the plan, and the plan's share of the GPU."""
        answer = self.answer(network, device, flags, [f"--display={display}" for display in DISPLAYS])
        variant = answer["report"]["variants"][0]
        return {"wall_us": variant["predicted_us"], "gpu_share": variant["gpu_share"], "slice_us": variant["longest_slice_us"],
                "lost_percent": {display: run["display"]["lost_percent"] for display, run in answer["simulated"].items()}}


def simulate(plans, networks, phones, tell=print):
    """Returns the plans' figures by phone, network and strategy: everything for the first phone, times for the
    others.
    """
    found = {}
    for phone in phones:
        is_first = phone == phones[0]
        for name, file in networks.items():
            tell(f"{phone} {name}", flush=True)
            own = {s: plans.summary(file, phone, [f"--strategy={s}"],
                                    tuple(LOADS.values()) if is_first and s in GRANULARITIES else (0,)) for s in STRATEGIES}
            if not is_first:
                own = {s: {key: value for key, value in run.items() if key in TIMES} for s, run in own.items()}
            found.setdefault(phone, {})[name] = own
    return found


def simulate_frames(plans, networks, phone):
    """Returns them by network and limit."""
    return {name: {limit: plans.frames(file, phone, flags) for limit, flags in LIMITS.items()} for name, file in networks.items()}
