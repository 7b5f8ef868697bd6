#!/usr/bin/env python3
"""Pruning and bytes on the command line of codlc: the search's progress, its log, its limits, and passes that are left out.

Usage: shrink_test.py --bin build/release/bin [unittest arguments]     standard library only
"""
import json
import os
import resource
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "test", "support"))
import npy
from work_folder import WorkFolder

DIGITS = os.path.join(ROOT, "test", "eval", "digits")
MODEL = os.path.join(DIGITS, "digits.onnx")
AUTO = ["--prune=auto", f"--calibration={os.path.join(DIGITS, 'calibration')}"]
BIN = None


class ShrinkTest(WorkFolder, unittest.TestCase):
    def codlc(self, *arguments, code=0, model=MODEL, **options):
        """Returns its stderr, and the JSON report."""
        plan, report = self.path("net.codl"), self.path("net.json")
        for path in (plan, report):
            if os.path.exists(path):
                os.remove(path)
        result = subprocess.run([os.path.join(BIN, "codlc"), model, "--device=sd855", "--strategy=cpu", "-o", plan,
                                 f"--report={report}", *arguments], capture_output=True, text=True, timeout=600, **options)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(os.path.exists(plan), code == 0)
        if code:
            return result.stderr, None
        with open(report, encoding="utf-8") as file:
            return result.stderr, json.load(file)

    def predicted_us(self, report):
        return report["variants"][0]["predicted_us"]

    def plan(self):
        with open(self.path("net.codl"), "rb") as file:
            return file.read()

    def check_resumed(self, flags, log):
        """Fails unless a search that goes on from the first half of its log ends with the same plan and log."""
        plan = self.plan()
        with open(log, encoding="utf-8") as file:
            lines = file.readlines()
        with open(log, "w", encoding="utf-8") as file:
            file.writelines(lines[:len(lines) // 2])
        self.codlc(*flags, "-q")
        self.assertEqual(self.plan(), plan)
        with open(log, encoding="utf-8") as file:
            self.assertEqual(file.readlines(), lines)
        return lines

    def test_a_latency_cut_is_met_told_and_resumed(self):
        untouched_us = self.predicted_us(self.codlc()[1])
        log = self.path("search.log")
        flags = [*AUTO, "--latency-cut=30%", "--accuracy-budget=100%", f"--search-log={log}"]
        told, report = self.codlc(*flags)
        self.assertLessEqual(self.predicted_us(report), 0.7 * untouched_us)
        self.assertRegex(told, r"codlc: note: 1 of \d+: \S")
        self.check_resumed(flags, log)
        told, _ = self.codlc(*flags, "--max-weights=none", code=1)
        self.assertIn(f"{log}: expected the log of a search with this network", told)
        # Its measurements are the same for another budget and cut.
        told, _ = self.codlc(*AUTO, "--latency-cut=95%", "--accuracy-budget=100%", f"--search-log={log}", code=3)
        self.assertRegex(told, r"--latency-cut: expected a plan of 0\.\d+ ms at most")

    def test_a_log_that_cannot_be_written_stays_what_it_was(self):
        log = self.path("search.log")
        flags = [*AUTO, "--latency-cut=30%", "--accuracy-budget=100%", f"--search-log={log}"]
        self.codlc(*flags, "-q")
        with open(log, encoding="utf-8") as file:
            text = file.read()[:-3]
        with open(log, "w", encoding="utf-8") as file:
            file.write(text)
        told, _ = self.codlc(*flags, "-q", code=1,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)))
        self.assertRegex(told, r"^codlc: error: [^\n]*search\.log: expected [^\n]*, found [^\n]*\n$")
        with open(log, encoding="utf-8") as file:
            self.assertEqual(file.read(), text)
        # No other output may overwrite it.
        told, _ = self.codlc(*flags, "-q", f"--depfile={log}", code=1)
        self.assertIn("search.log: expected ", told)
        os.remove(log)
        told, _ = self.codlc(*flags, "-q", f"--depfile={log}", code=1)
        self.assertIn("search.log: expected ", told)
        self.assertFalse(os.path.exists(log))

    def test_flags_of_the_search_need_one(self):
        for arguments, text in (
                (["--latency-cut=30%"], "--latency-cut: expected --prune=auto beside it, found none"),
                (["--search-log=x"], "--search-log: expected --prune=auto or --precision=int8 beside it, found neither"),
                (["--prune=0.3", "--latency-cut=30%"], "--latency-cut: expected --prune=auto beside it, found none")):
            with self.subTest(arguments):
                self.assertIn(text, self.codlc(*arguments, code=1)[0])

    def test_what_a_network_loses_is_measured_or_left_open_by_word(self):
        neither = "expected --calibration=DIR to measure what the network loses, or --unchecked to leave that open, found neither"
        for flag in ("--prune", "--low-rank"):
            told, _ = self.codlc(f"{flag}=0.3", code=1)
            self.assertIn(f"error: {flag}: {neither}", told)
            told, _ = self.codlc(f"{flag}=0.3", "--unchecked")
            self.assertNotIn(" loses ", told)
        told, _ = self.codlc("--prune=0.9", AUTO[1])
        self.assertRegex(told, r"warning: pruning loses \d+\.\d\d % \(top-1 predictions\) on the \d+ samples measured, more than the "
                               r"0\.50 % of --accuracy-budget; auto in place of a ratio stays within them\n")
        told, _ = self.codlc("--prune=0.9", AUTO[1], "--accuracy-budget=100%")
        self.assertNotIn(" loses ", told)
        self.assertIn("--unchecked: expected --low-rank or --prune beside it, found neither", self.codlc("--unchecked", code=1)[0])

    def precisions(self, *arguments):
        """Returns the lines about precisions that codlc prints."""
        said = subprocess.run([os.path.join(BIN, "codlc"), MODEL, "--device=sd855", "-o", self.path("net.codl"), *arguments],
                              capture_output=True, text=True, check=True, timeout=600).stdout
        return [line.strip() for line in said.splitlines() if line.startswith("  --precision=")]

    def test_precisions_are_compared(self):
        figures = r"\d+\.\d\d ms, {}, weights {}\d+\.\d MB"
        floats, halves, in_bytes, mixed = self.precisions()
        self.assertRegex(floats, "^--precision=fp32: " + figures.format("no loss", "") + r" \(this plan\)$")
        self.assertRegex(halves, "^--precision=fp16: about " + figures.format("unknown loss", "about ") + "$")
        self.assertRegex(in_bytes, "^--precision=int8: about " + figures.format(r"unknown loss \(--calibration\)", "about ") + "$")
        self.assertRegex(mixed, "^--precision=auto: about " + figures.format("unknown loss", "about ") + "$")
        floats, halves, in_bytes, _ = self.precisions("--precision=fp16", AUTO[1])
        loss = r"loss \d+\.\d\d % \(top-1 predictions\)"
        self.assertRegex(floats, "^--precision=fp32: about " + figures.format("no loss", "about ") + "$")
        self.assertRegex(halves, "^--precision=fp16: " + figures.format(loss, "") + r" \(this plan\)$")
        self.assertRegex(in_bytes, "^--precision=int8: about " + figures.format(loss, "about ") + "$")
        self.assertEqual(self.precisions("--quiet"), [])

    def test_the_report_has_the_precisions(self):
        _, report = self.codlc("--precision=fp16", AUTO[1])
        precision = report["precision"]
        self.assertEqual([choice["precision"] for choice in precision["choices"]], ["fp32", "fp16", "int8", "auto"])
        self.assertEqual([choice["is_chosen"] for choice in precision["choices"]], [False, True, False, False])
        self.assertNotIn("loss", precision["choices"][0])
        self.assertLess(precision["choices"][1]["loss"], 0.01)
        self.assertGreater(precision["choices"][1]["samples"], 8)
        self.assertGreater(precision["value_count"], 3)
        for value in precision["floats"]:
            self.assertEqual(sorted(value), ["node", "reason"])

    INT8 = ["--precision=int8", AUTO[1]]

    def test_bytes_make_a_network_faster_and_keep_the_budget(self):
        untouched_us = self.predicted_us(self.codlc()[1])
        told, report = self.codlc(*self.INT8)
        self.assertRegex(told, r"codlc: note: 1 of 16: loss of bytes in 1 of 11 parts\n")
        self.assertLess(self.predicted_us(report), 0.6 * untouched_us)
        self.assertEqual(report["options"]["precision"], "int8")
        chosen = [choice for choice in report["precision"]["choices"] if choice["is_chosen"]]
        self.assertEqual([choice["precision"] for choice in chosen], ["int8"])
        self.assertLessEqual(chosen[0]["loss"], 0.005)
        nodes = report["precision"]["bytes"]
        self.assertEqual(len(nodes), 11)
        for node in nodes:
            self.assertTrue(node["is_in_bytes"])
            self.assertGreater(node["loss_alone"], 0)
        in_bytes = self.plan()
        # Bytes are faster than halves here, so that auto takes them.
        _, report = self.codlc("--precision=auto", AUTO[1])
        self.assertTrue(all(node["is_in_bytes"] for node in report["precision"]["bytes"]))
        self.assertEqual(self.plan(), in_bytes)
        self.codlc("--precision=auto")
        self.assertNotEqual(self.plan(), in_bytes)

    def test_the_search_for_bytes_goes_on_where_it_was_cut_off(self):
        log = self.path("search.log")
        flags = [*self.INT8, "--accuracy-budget=0%", f"--search-log={log}"]
        told, report = self.codlc(*flags)
        left_out = [node for node in report["precision"]["bytes"] if not node["is_in_bytes"]]
        self.assertTrue(left_out)
        for node in left_out:
            self.assertEqual(node["reason"], "with it in bytes, more would be lost than --accuracy-budget")
        self.assertGreater(len(self.check_resumed(flags, log)), 12)

    def test_bytes_need_calibration_data_that_is_whole(self):
        told, _ = self.codlc("--precision=int8", code=1)
        self.assertEqual(told, "codlc: error: --calibration: expected a folder with --precision=int8, whose ranges and loss come from it, "
                               "found none\n")
        told, _ = self.codlc("--precision=int8", "--unchecked", code=1)
        self.assertIn("--unchecked: expected --low-rank or --prune beside it, found neither", told)
        empty = self.path("empty")
        os.mkdir(empty)
        told, _ = self.codlc("--precision=int8", f"--calibration={empty}", code=1)
        self.assertIn("expected .npy files of input image, found none", told)
        data = self.path("data")
        os.mkdir(data)
        side = npy.read(os.path.join(DIGITS, "calibration", "images.npy"))[0][1:]
        count = 24
        for name, number, code, text in (("nan", float("nan"), 1, "expected finite numbers, found NaN or infinity"),
                                         ("constant", 0.25, 0, ""), ("zero", 0.0, 0, ""), ("huge", 1e30, 0, "")):
            with self.subTest(name):
                size = count
                for dim in side:
                    size *= dim
                npy.write(os.path.join(data, "images.npy"), (count, *side), [number] * size)
                told, report = self.codlc("--precision=int8", f"--calibration={data}", code=code)
                self.assertIn(text, told)
                if code == 0:
                    self.assertEqual(len(report["precision"]["bytes"]), 11)

    def test_the_written_network_is_in_bytes_and_computed_alike(self):
        written = self.path("written.onnx")
        _, report = self.codlc(*self.INT8, f"--emit-onnx={written}")
        in_bytes = self.plan()
        with open(written, "rb") as file:
            model = file.read()
        self.assertIn(b"QuantizeLinear", model)
        self.assertLess(len(model), 0.4 * os.path.getsize(MODEL))
        _, again = self.codlc(model=written)
        self.assertEqual(len(self.plan()), len(in_bytes))
        told, _ = self.codlc(*self.INT8, model=written)
        self.assertIn("warning: no convolution or product of floats is there to multiply bytes\n", told)
        self.assertAlmostEqual(self.predicted_us(again), self.predicted_us(report), delta=1e-3 * self.predicted_us(report))

    def test_bytes_come_after_pruning(self):
        _, report = self.codlc(*self.INT8, "--prune=0.3", "--accuracy-budget=100%")
        self.assertTrue(all(node["is_in_bytes"] for node in report["precision"]["bytes"]))
        both_us = self.predicted_us(report)
        _, report = self.codlc(*self.INT8, "--accuracy-budget=100%")
        self.assertLess(both_us, self.predicted_us(report))

    def test_passes_that_are_left_out_leave_their_nodes(self):
        _, fused = self.codlc()
        _, unfused = self.codlc("--skip-pass=fold_batch_norm", "--skip-pass=fuse_activation")
        self.assertGreater(len(unfused["operators"]), len(fused["operators"]))
        self.assertGreater(self.predicted_us(unfused), self.predicted_us(fused))
        for name in ("assign_layouts", "no_such_pass"):
            told, _ = self.codlc(f"--skip-pass={name}", code=1)
            self.assertIn("--skip-pass: expected one of fold_constants, ", told)
            self.assertIn(f" other than assign_layouts, which every plan needs, found '{name}'", told)


if __name__ == "__main__":
    BIN = os.path.abspath(sys.argv[sys.argv.index("--bin") + 1])
    del sys.argv[sys.argv.index("--bin"):sys.argv.index("--bin") + 2]
    unittest.main()
