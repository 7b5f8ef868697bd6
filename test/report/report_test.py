#!/usr/bin/env python3
"""codlc --report: the JSON against the plan, the page against the JSON, the page in a browser.

Usage: report_test.py --bin build/release/bin [unittest arguments]     standard library only

Chromium (Debian's) is no need of the tests: without it what asks for a browser is skipped.
"""
import argparse
import html
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "test", "support"))
from work_folder import WorkFolder

MODEL = os.path.join(ROOT, "examples", "models", "tiny_resnet.onnx")
BIN = None
CHROMIUM = shutil.which("chromium")
MAX_BYTES = 2_000_000
# A small plan with both processors, chains and transfers.
FORCED = ("--device=sd855", "--place=*=split:h:0.5")


def run(tool, *arguments, code=0):
    result = subprocess.run([os.path.join(BIN, tool), *arguments], capture_output=True, text=True, timeout=300)
    if result.returncode != code:
        raise AssertionError(f"{tool} {arguments}: exit code {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout + result.stderr


class Page(html.parser.HTMLParser):
    """Finds the numbers that a page shows, by their keys, and the text of its data."""

    def __init__(self, text):
        super().__init__()
        self.numbers, self.data, self.open = [], "", None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "data":
            self.numbers.append([attributes["data-key"], attributes["value"], attributes["data-unit"], ""])
            self.open = "number"
        elif tag == "script" and attributes.get("id") == "report":
            self.open = "data"

    def handle_endtag(self, tag):
        self.open = None

    def handle_data(self, text):
        if self.open == "number":
            self.numbers[-1][3] += text
        elif self.open == "data":
            self.data += text


def shown(value, unit):
    scale, decimals = {"us": (1e3, 3), "bytes": (1e6, 3), "share": (.01, 1), "times": (1, 2)}.get(unit, (1, 6))
    return f"{value / scale:.{decimals}f}"


def number_in(text):
    return float(text.split()[0])


class ReportTest(WorkFolder, unittest.TestCase):
    def report(self, *flags, model=MODEL):
        self.plan, self.page = self.path("p.codl"), self.path("r.html")
        run("codlc", model, "-q", "-o", self.plan, f"--report={self.page}", f"--report={self.path('r.json')}", *flags)
        with open(self.path("r.json")) as file:
            return json.load(file)

    def measured_report(self, variant="coexec"):
        self.report(*FORCED)
        bench = self.path("bench.json")
        run("codl-bench", self.plan, "--json", "--steps", "--num-runs=3", f"--variant={variant}", "-o", bench)
        with open(bench) as file:
            machine = json.load(file)["opencl_device"]
        return self.report(*FORCED, f"--measured={bench}", f"--measured-on={machine}")

    def test_the_timeline_ends_when_the_latency_is_predicted(self):
        for flags in (FORCED, ("--device=host",), ("--device=kirin990", "--strategy=gpu"), ("--device=h200-nvidia",)):
            with self.subTest(flags):
                report = self.report(*flags)
                plan = json.loads(run("codl-dump", self.plan, "--json"))
                for variant, planned in zip(report["variants"], plan["variants"]):
                    self.assertEqual(variant["end_us"], variant["predicted_us"])
                    self.assertAlmostEqual(max(step["end_us"] for step in variant["steps"]), variant["end_us"], places=2)
                    # Both are rounded to a nanosecond, the plan's from 24 bits.
                    self.assertAlmostEqual(variant["predicted_us"], planned["predicted_us"],
                                           delta=0.0011 + planned["predicted_us"] * 2**-23)
                    steps = [step for step in variant["steps"] if "step" in step]
                    self.assertEqual([step["step"] for step in steps], list(range(len(planned["steps"]))))
                    self.assertEqual([step["node"] for step in steps], [step["name"] for step in planned["steps"]])
                    self.assertEqual(variant["memory_over_time"][-1]["arena_bytes"], 0)

    def test_operators_have_their_choice_and_the_next_best(self):
        report = self.report(*FORCED)
        split = [op for op in report["operators"] if len(op["parts"]) == 2]
        self.assertTrue(split)
        for op in report["operators"]:
            self.assertAlmostEqual(sum(part["share"] for part in op["parts"]), 1, places=5)
            times = [other["predicted_us"] for other in op["alternatives"]]
            self.assertEqual(times, sorted(times))
            if "next_best" in op:
                other = op["alternatives"][op["next_best"]]["kernel"]
                self.assertTrue(len(op["parts"]) == 2 or other != op["parts"][0]["kernel"])
            for part in op["parts"]:
                self.assertIn(part["level"], ("facts", "anchors", "samples"))
        self.assertAlmostEqual(sum(s["share"] for s in report["variants"][0]["stands_on"]), 1, places=4)
        self.assertGreater(sum(p["nodes_before"] - p["nodes_after"] for p in report["passes"]), 0)

    def test_limits_are_told_with_what_was_found(self):
        limits = self.report("--device=sd855", "--max-fallback=50%", "--max-syncs=100")["limits"]
        self.assertEqual([(limit["flag"], limit.get("variant")) for limit in limits],
                         [("--max-fallback", None), ("--max-syncs", "cpu")])

    def test_the_page_has_the_json_and_nothing_from_elsewhere(self):
        report = self.measured_report()
        with open(self.page) as file:
            text = file.read()
        self.assertEqual(json.loads(Page(text).data), report)
        self.assertLess(len(text), MAX_BYTES)
        self.assertEqual(re.findall(r'(?:src|href)="(?!data:)[^"]*"', text), [])

    def test_measured_steps_stand_beside_the_predicted(self):
        report = self.measured_report()
        measured = report["variants"][0]["measured"]
        self.assertEqual(len(measured["steps"]), sum("step" in step for step in report["variants"][0]["steps"]))
        self.assertGreater(measured["end_us"], 0)
        self.assertNotIn("measured", report["variants"][1])

    def test_the_measured_gain_stands_beside_the_predicted(self):
        """A note says where both are far from each other."""
        predicted_us = {variant["name"]: variant["predicted_us"] for variant in self.report(*FORCED)["variants"]}
        bench = self.path("bench.json")
        run("codl-bench", self.plan, "--json", "--steps", "--num-runs=1", "--all-variants", "-o", bench)
        with open(bench) as file:
            measured = json.load(file)
        median_us = {"coexec": 1.5 * predicted_us["coexec"], "cpu": 3 * predicted_us["cpu"]}
        for variant in measured["variants"]:
            variant["median_us"] = median_us[variant["variant"]]
        with open(bench, "w") as file:
            json.dump(measured, file)
        said = run("codlc", MODEL, "-o", self.plan, *FORCED, f"--report={self.page}", f"--report={self.path('r.json')}",
                   f"--measured={bench}", f"--measured-on={measured['opencl_device']}")
        speedup = median_us["cpu"] / median_us["coexec"]
        self.assertIn(f" alone ({median_us['cpu'] / 1e3:.2f} ms)\n", said)
        self.assertIn(f", as predicted; measured: {speedup:.2f} times as fast as the CPU alone (", said)
        note = f"variant cpu took {median_us['cpu'] / 1e3:.2f} ms, and {predicted_us['cpu'] / 1e3:.2f} ms are predicted: --learn "
        self.assertIn("codlc: note: " + note, said)
        self.assertNotIn("variant coexec took", said)
        with open(self.path("r.json")) as file:
            report = json.load(file)
        self.assertAlmostEqual(report["variants"][0]["measured"]["speedup_over_cpu"], speedup, places=2)
        self.assertNotIn("speedup_over_cpu", report["variants"][1]["measured"])
        self.assertTrue([text for text in report["notes"] if text.startswith(note)])
        if CHROMIUM is not None:
            keys = {key for key, *_ in Page(self.browse("--dump-dom")).numbers}
            self.assertIn("variants.0.measured.speedup_over_cpu", keys)

    def test_measurements_of_another_plan_are_refused(self):
        self.report("--device=sd855", "--place=*=split:oc:0.5")
        bench = self.path("bench.json")
        run("codl-bench", self.plan, "--json", "--steps", "--num-runs=1", "-o", bench)
        with open(bench) as file:
            other = file.read()
        for text in (other, "{}", "x"):
            path = self.write("wrong.json", text.encode())
            message = run("codlc", MODEL, "-q", *FORCED, "-o", self.path("q"), f"--report={self.path('q.html')}",
                          f"--measured={path}", code=1)
            self.assertRegex(message, r"\Acodlc: error: .*expected .*found ")
            self.assertFalse(os.path.exists(self.path("q")))

    # ---- in a browser ----

    def browse(self, *flags, scheme="light", size="1280,1600"):
        """Returns DOM or screenshot; fails on any message of the console."""
        if CHROMIUM is None:
            print("[SKIP] no chromium: the report is not looked at in a browser", file=sys.stderr)
            self.skipTest("no chromium")
        result = subprocess.run(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--enable-logging=stderr",
             f"--user-data-dir={self.path('profile')}", f"--window-size={size}", "--virtual-time-budget=2000",
             f"--blink-settings=preferredColorScheme={0 if scheme == 'dark' else 1}", *flags, "file://" + self.page],
            capture_output=True, text=True, timeout=120)
        self.assertNotRegex(result.stderr, r"CONSOLE")
        return result.stdout

    def test_a_browser_shows_the_numbers_of_the_json(self):
        report = self.measured_report()
        page = Page(self.browse("--dump-dom"))
        self.assertGreater(len(page.numbers), 100)
        for key, value, unit, text in page.numbers:
            found = report
            for part in key.split("."):
                found = found[int(part)] if isinstance(found, list) else found[part]
            self.assertEqual(float(value), float(found), key)
            self.assertLessEqual(abs(number_in(text) - number_in(shown(found, unit))), 10 ** -len(text.split()[0].partition(".")[2]) * 1.01, key)
        keys = {key for key, *_ in page.numbers}
        self.assertLessEqual({"variants.0.predicted_us", "variants.0.measured.median_us", "support.fallback_share"}, keys)

    def test_the_gain_is_the_headline_and_a_column_has_one_unit_in_its_head(self):
        """On a wide screen and narrow ones, no table is cut and no word is broken. A tile has one number or a range."""
        report = self.report(*FORCED)
        with open(self.page) as file:
            text = file.read()
        text += """<script>
              const mixed = [...document.querySelectorAll("table")].flatMap((table) => [...table.tHead ? table.tHead.rows[0].cells : []]
                .filter((head, i) => new Set([...table.tBodies[0].rows].flatMap((row) =>
                  [...row.cells[i].querySelectorAll("data")].map((number) => number.dataset.unit + /[^-0-9.]/.test(row.cells[i].textContent)))).size > 1
                  || head.className == "n" && !/, (ms|%)$|MB|nodes|after|with|on |split/.test(head.textContent)).map((head) => head.textContent));
              const cut = [...document.querySelectorAll(".scroll, td")].filter((box) => box.scrollWidth > box.clientWidth + 1).map((box) => box.textContent);
              const tiles = [...document.querySelectorAll(".facts div")], labels = new Set(tiles.map((tile) => tile.firstChild.textContent));
              const plain = tiles.every((tile) => /^[0-9.]+( to [0-9.]+)?( ms| MB| %)?$/.test(tile.querySelector("b").textContent));
              const hidden = [...byId("operators").tBodies[0].rows].filter((row) => !row.offsetHeight).length;
              byId("operators-all").click();
              const shown = [...byId("operators").tBodies[0].rows].every((row) => row.offsetHeight);
              const broken = [...document.querySelectorAll("td, th, p, .facts div")].filter((e) => getComputedStyle(e).overflowWrap == "anywhere");
              parent.document.body.dataset["at" + innerWidth] = JSON.stringify([mixed, cut, hidden, shown, plain && labels.size == tiles.length, broken.length, document.documentElement.scrollWidth <= innerWidth,
                document.querySelector("header h1 + p").textContent]);
            </script>"""
        variant = report["variants"][0]
        gain = " times as fast as the ".join((f"{variant['speedup_over_cpu']:.2f}", f"CPU alone, {variant['speedup_over_gpu']:.2f}", "GPU alone (predicted)"))
        widths = (1000, 390, 360)
        with open(self.page, "w") as file:  # a window has at least 500 pixels, a frame in it what it wants
            file.write("<!doctype html><body>" + "".join(
                f'<iframe width="{width}" height="900" frameborder="0" srcdoc="{html.escape(text)}"></iframe>' for width in widths))
        page = self.browse("--dump-dom")
        for width in widths:
            with self.subTest(width):
                result = re.search(f'data-at{width}="([^"]*)"', page).group(1)
                self.assertEqual(json.loads(html.unescape(result)), [[], [], len(report["operators"]) - 15, True, True, 0, True, gain])

    def test_keys_zoom_and_search_marks(self):
        self.report(*FORCED)
        with open(self.page) as file:
            text = file.read()
        with open(self.page, "w") as file:
            file.write(text + """<script>
              const press = (key) => byId("time").dispatchEvent(new KeyboardEvent("keydown", { key, cancelable: true }));
              const whole = to - from;
              press("+"); const closer = to - from;
              press("ArrowRight"); const moved = from;
              press("Home"); const back = to - from;
              byId("search").value = "conv"; byId("search").dispatchEvent(new Event("input"));
              const found = document.querySelectorAll(".found").length, faded = document.querySelectorAll(".faded").length;
              const names = () => [...document.querySelectorAll("#operators .link")].map((name) => name.textContent);
              const slowest = names()[0];
              byId("order").value = "network"; byId("order").dispatchEvent(new Event("change"));
              const inOrder = JSON.stringify(names()) == JSON.stringify(report.operators.map((op) => op.node));
              document.querySelector("header .link").click();
              document.body.dataset.result = JSON.stringify([closer < whole, moved > 0, back == whole, found > 0, faded > 0,
                inOrder, byId("search").value == slowest, document.querySelectorAll(".found").length > 0]);
            </script>""")
        for scheme, size in (("light", "1280,900"), ("dark", "360,800")):
            self.assertIn('data-result="[true,true,true,true,true,true,true,true]"', self.browse("--dump-dom", scheme=scheme, size=size))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    options, rest = parser.parse_known_args()
    BIN = os.path.abspath(options.bin)
    unittest.main(argv=[sys.argv[0], *rest])
