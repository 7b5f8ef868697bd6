"""Gathers the data for tables and figures of docs/results/papers: collected answers beside published ones."""
import json
import os

import paper
import papers_runs

PAGES = os.path.join(paper.HERE, "..", "..", "docs", "results", "papers")
ORIGINS = ("published", "simulated")
# Names each strategy's bar in the paper. On Kirin 990 the paper's CoDL uses buffers, like the profile.
BARS = {"cpu": "cpu", "gpu": "gpu", "mulayer": "mulayer", "codl-buffer": "codl_buffer", "codl": "codl"}


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def by_origin(published, simulated):
    return dict(zip(ORIGINS, (published, simulated)))


class Data:
    """`collected` is papers.json."""

    def __init__(self, collected):
        self.collected, self.simulated = collected, collected["simulated"]
        self.phones, self.networks = list(self.simulated), list(collected["networks"])
        self.first = self.phones[0]
        self.paper = paper.read_data()
        self.paper_networks = [n for n in self.networks if n in self.paper.networks] or self.networks[:1]
        self.strategies = papers_runs.STRATEGIES
        self.study = read_json(os.path.join(paper.HERE, "data", "study.json"))["claims"]

    def run(self, phone, name, what):
        return self.simulated[phone][name][what]

    def published_ms(self, phone, name, strategy):
        return self.paper.latency_ms.get(phone, {}).get(name, {}).get(BARS.get(strategy))

    def clock_ms(self, phone, name, strategy):
        """Returns the time by CoDL's clock, only for comparison with the paper."""
        return self.run(phone, name, strategy)["clock_us"] / 1e3

    def wall_ms(self, phone, name, strategy):
        return self.run(phone, name, strategy)["wall_us"] / 1e3

    def figure(self, number, *keys):
        found = self.paper.figures[number] if self.first == "sd855" else {}
        for key in keys:
            found = found.get(key, {})
        return found or None

    def energy_j(self, name, strategy):
        mj = self.run(self.first, name, strategy).get("energy_mj")
        return by_origin(self.figure("21", "energy_j", name, strategy), mj and mj / 1e3)

    def power_w(self, name, strategy):
        joule = self.energy_j(name, strategy)["simulated"]
        return by_origin(self.figure("21", "power_w", name, strategy), joule and 1e3 * joule / self.wall_ms(self.first, name, strategy))

    def memory_mb(self, name, strategy):
        """Published MB of MACE are under "mace"."""
        simulated = None if strategy == "mace" else self.run(self.first, name, strategy)["memory_bytes"] / 1e6
        return by_origin(self.figure("22", "memory_mb", name, strategy), simulated)

    def study_network(self):
        return "resnet50" if "resnet50" in self.networks else self.networks[-1]

    def frames(self):
        """Returns panels: (title, whether it is percent, {network: values by limit}); none without frames."""
        plans = self.collected["frames"]
        if not plans:
            return []
        lost = lambda display: {name: [plan["lost_percent"][display] for plan in limits.values()] for name, limits in plans.items()}
        over = {name: [plan["wall_us"] / limits["no limit"]["wall_us"] for plan in limits.values()] for name, limits in plans.items()}
        return [("Frames lost, first in, first out", True, lost("fifo")), ("Frames lost, in turn", True, lost("round-robin")),
                ("Time over no limit", False, over)]
