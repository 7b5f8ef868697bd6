"""Reads from `codl-dump --json` (keys: docs/reference/plan_format.md) what a plan's first variant does, and
checks that it is what the flags of a mode ask for."""
import json

# Gives codlc's flags by mode: the partitioner's choice, one processor, forced splits (chains along the height).
RATIO = 0.5
MODES = {
    "auto": [],
    "cpu": ["--strategy=cpu"],
    "gpu": ["--strategy=gpu"],
    "h": [f"--place=*=split:h:{RATIO}"],
    "oc": [f"--place=*=split:oc:{RATIO}"],
}
CONVOLUTIONS = ("Conv2d", "DepthwiseConv2d")
# A cut may miss the ratio by so many rows or channels: one row, one panel of output channels.
GRANULE = {"height": 1, "output_channel": 16}
DIM_OF_MODE = {"h": "height", "oc": "output_channel"}
# Least share of the convolutions' MACs that a forced split must reach; the rest cannot be cut so.
MIN_SPLIT_SHARE = 0.90
# --strategy=gpu must bring at least this share of all MACs to the GPU queue.
MIN_GPU_SHARE = 0.99


class PlanFacts:
    def __init__(self, plan):
        self.variants = [variant["name"] for variant in plan["variants"]]
        self.tensors = plan["variants"][0]["tensors"]
        self.steps = [s for s in plan["variants"][0]["steps"] if s["kind"] == "kernel"]

    def macs(self, queue=None):
        """Returns the multiply-adds that the queue (or both) owns; a halo counts once."""
        return sum(s["owned_macs"] for s in self.steps if queue in (None, s["queue"]))

    def gpu_share(self):
        return self.macs("gpu") / max(self.macs(), 1)

    def half_share(self):
        """Returns the share of halves in the tensors of real numbers."""
        real = [t["dtype"] for t in self.tensors if t["dtype"].startswith("f")]
        return real.count("f16") / max(len(real), 1)

    def split_share(self, dim, ratio):
        """Returns the share of the convolutions' MACs in nodes cut along `dim` so that the GPU's part misses `ratio`
        by at most one granule.
        """
        total = 0
        split = 0
        nodes = {}
        for step in self.steps:
            if step["op"] in CONVOLUTIONS:
                nodes.setdefault(step["name"], []).append(step)
        for parts in nodes.values():
            macs = sum(s["owned_macs"] for s in parts)
            total += macs
            owned = {}  # parts of a queue, in one or more steps
            for s in parts:
                begin, end = s["part"]["owned"]
                known = owned.get(s["queue"], [begin, end])
                owned[s["queue"]] = [min(begin, known[0]), max(end, known[1])]
            if len(owned) != 2 or any(s["part"]["dim"] != dim for s in parts):
                continue
            extent = parts[0]["part"]["extent"]
            count = {queue: end - begin for queue, (begin, end) in owned.items()}
            if (sum(count.values()) == extent and
                    abs(count["gpu"] - ratio * extent) <= GRANULE[dim]):
                split += macs
        return split / total

    def has_chain(self):
        """True if a step that computes more rows than it owns feeds a later one of its queue: a halo inside a chain
        of two nodes or more.
        """
        return any(s["part"]["dim"] == "height" and s["part"]["range"] != s["part"]["owned"]
                   for s in self.steps)

    def faults(self, mode, ratio):
        """Returns the promises of the mode (auto, cpu, gpu, h, oc) that the plan does not keep."""
        faults = []
        if mode == "cpu" and self.macs("gpu"):
            faults.append(f"expected no MACs on the GPU queue, found {self.gpu_share():.1%}")
        if mode == "gpu" and self.gpu_share() < MIN_GPU_SHARE:
            faults.append(f"expected {MIN_GPU_SHARE:.0%} of the MACs on the GPU queue, "
                          f"found {self.gpu_share():.1%}")
        if mode in DIM_OF_MODE:
            share = self.split_share(DIM_OF_MODE[mode], ratio)
            if share < MIN_SPLIT_SHARE:
                faults.append(f"expected {MIN_SPLIT_SHARE:.0%} of the convolution MACs split along "
                              f"{DIM_OF_MODE[mode]} at {ratio}, found {share:.1%}")
        if mode == "h" and not self.has_chain():
            faults.append("expected a chain of two nodes or more, found none")
        return faults


def read(text):
    return PlanFacts(json.loads(text))
