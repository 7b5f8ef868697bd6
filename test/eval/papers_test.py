#!/usr/bin/env python3
"""papers.py on a small network: tables have the numbers of codlc and codl-sim, and figures come out the same each time.

    papers_test.py --bin BIN
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import unittest

import papers
import papers_data
import papers_pages
import papers_runs
from with_matplotlib import HAS_MATPLOTLIB, restart_with_matplotlib

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = os.path.join(HERE, "..", "..", "examples", "models")
NETWORK, PHONE = "tiny_resnet", "sd855"
LARGEST = 60000  # bytes of a figure


def cells_of(lines, head):
    """Returns the rows of the tables whose head contains `head`."""
    found, is_inside = [], False
    for line in lines:
        if not line.startswith("|"):
            is_inside = False
        elif not is_inside and head in line:
            is_inside = True
        elif is_inside and not line.startswith("|---"):
            found.append([cell.strip() for cell in line.strip("|").split("|")])
    return found


def row_of(rows, *starts):
    return next(row for row in rows if row[:len(starts)] == list(starts))


class PapersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        options = argparse.Namespace(bin=cls.bin, models=MODELS, work=os.path.join(cls.folder.name, "work"), networks={NETWORK: NETWORK},
                                     phones=[PHONE])
        cls.collected = papers.collect(options)
        cls.data = papers_data.Data(cls.collected)
        cls.lines = papers_pages.page(cls.data)

    def tool(self, name, *arguments):
        done = subprocess.run([os.path.join(self.bin, name), *arguments], capture_output=True, text=True, check=True, timeout=300)
        return done.stdout

    def plan(self, strategy):
        """Returns codlc's report, and the plan's path."""
        plan, report = (os.path.join(self.folder.name, f"{strategy}.{end}") for end in ("codl", "json"))
        self.tool("codlc", os.path.join(MODELS, NETWORK + ".onnx"), f"--device={PHONE}", f"--strategy={strategy}", "-q", "-o", plan,
                  f"--report={report}")
        with open(report, encoding="utf-8") as file:
            return json.load(file), plan

    def simulated(self, plan, variant, load=0):
        text = self.tool("codl-sim", plan, f"--variant={variant}", f"--cpu-load={load}%", "--json")
        return json.loads(text)["runs"][0]

    def test_tables_have_the_numbers_of_the_tools(self):
        loads = {strategy: [] for strategy in papers_runs.GRANULARITIES}
        clock, energy, power, memory = {}, {}, {}, {}
        for strategy in ("cpu", "gpu", "codl", *papers_runs.GRANULARITIES):
            report, plan = self.plan(strategy)
            variant = report["variants"][0]
            if strategy in loads:
                loads[strategy] = [self.simulated(plan, variant["name"], load)["wall_us"] / 1e3 for load in papers_runs.LOADS.values()]
            run = self.simulated(plan, variant["name"])
            clock[strategy], energy[strategy] = run["codl_clock_us"] / 1e3, run["energy_mj"] / 1e3
            power[strategy], memory[strategy] = run["energy_mj"] * 1e3 / run["wall_us"], (variant["arena_bytes"] + variant["weight_bytes"]) / 1e6
        row = row_of(cells_of(self.lines, "published: CPU, ms"), NETWORK)
        self.assertEqual(row[1:], ["-", "-", "-", *(f"{clock[s]:.1f}" for s in ("cpu", "gpu", "codl", "optimal"))])
        row = row_of(cells_of(self.lines, "CPU alone, J"), NETWORK)
        self.assertEqual(row[1:], [*(f"- / {energy[s]:.2f}" for s in ("cpu", "gpu", "codl")), f"- / {power['codl']:.1f}",
                                   f"- / {memory['codl']:.0f}"])
        rows = cells_of(self.lines, "what the study says")
        for i, row in enumerate(rows[-2:]):
            self.assertEqual(row[2], f"coarse {loads['coarse'][i]:.1f} ms, fine {loads['fine'][i]:.1f} ms, codl's default "
                                     f"{loads['optimal'][i]:.1f} ms ({NETWORK}, {PHONE})")

    def test_nothing_published_is_said_of_other_networks(self):
        self.assertEqual({row[1] for row in cells_of(self.lines, "published: CPU, ms")}, {"-"})
        self.assertEqual({cell.split(" / ")[0] for row in cells_of(self.lines, "CPU alone, J") for cell in row[1:]}, {"-"})

    def test_committed_page_is_that_of_its_data(self):
        pages = papers_data.PAGES
        data = papers_data.Data(papers.read(pages, "papers.json"))
        with open(os.path.join(pages, "README.md"), encoding="utf-8") as file:
            self.assertEqual(file.read(), papers.text_of(data), "papers.py --render")

    def draw(self, data, name):
        import papers_figures
        folder = os.path.join(self.folder.name, name)
        os.makedirs(folder)
        papers_figures.write_all(data, folder)
        found = {}
        for file in sorted(os.listdir(folder)):
            with open(os.path.join(folder, file), "rb") as stream:
                found[file] = stream.read()
        return found

    @unittest.skipUnless(HAS_MATPLOTLIB, "no matplotlib")
    def test_figures_are_drawn_the_same_each_time(self):
        first, second = self.draw(self.data, "first"), self.draw(self.data, "second")
        self.assertEqual(first, second)
        self.assertEqual(len(first), 4)

    @unittest.skipUnless(HAS_MATPLOTLIB, "no matplotlib")
    def test_committed_figures_are_small_and_those_of_their_data(self):
        import matplotlib
        pages = papers_data.PAGES
        data = papers_data.Data(papers.read(pages, "papers.json"))
        for name, drawn in self.draw(data, "committed").items():
            self.assertLess(len(drawn), LARGEST, name)
            self.assertNotRegex(drawn.decode(), r"20\d\d-\d\d-\d\d")
            if matplotlib.__version__ == papers.MATPLOTLIB:  # another version may draw otherwise
                with open(os.path.join(pages, name), "rb") as file:
                    self.assertEqual(file.read(), drawn, f"{name}: papers.py --render")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="the folder with codlc and codl-sim")
    arguments, others = parser.parse_known_args()
    restart_with_matplotlib("papers")
    PapersTest.bin = arguments.bin
    unittest.main(argv=[sys.argv[0], *others])


if __name__ == "__main__":
    main()
