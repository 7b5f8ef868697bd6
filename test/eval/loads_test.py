#!/usr/bin/env python3
"""What gpu_slices.py and adaptive.py let pass and what not, on times that are given."""
import unittest

import adaptive
import gpu_slices

LIMIT_US = 4000


def network(*slices_us):
    return {"slices_us": list(slices_us), "runs": 20, "predicted_us": 1e4, "median_us": 1e4, "predicted_gpu_share": 0.5,
            "gpu_share": 0.4, "predicted_slice_us": 3900}


class GpuSlicesTest(unittest.TestCase):
    def networks(self, **others):
        return {**{f"n{i}": network(*[100] * 990, *[5000] * 10) for i in range(5)}, **others}

    def test_one_slice_in_a_hundred_may_be_too_long(self):
        self.assertEqual(gpu_slices.judge(self.networks(), LIMIT_US), [])
        faults = gpu_slices.judge(self.networks(n1=network(*[100] * 989, *[5000] * 11)), LIMIT_US)
        self.assertEqual(faults, ["n1: expected 99% of the slices within 4 ms, found 98.9%"])

    def test_networks_without_slices_do_not_count(self):
        self.assertEqual(gpu_slices.judge(self.networks(n9=network()), LIMIT_US), [])
        self.assertEqual(gpu_slices.judge(self.networks(n4=network()), LIMIT_US),
                         ["expected 5 networks with slices, found 4"])

    def test_quantiles_are_the_least_value_that_so_many_are_within(self):
        values = list(range(1, 101))
        self.assertEqual([gpu_slices.quantile(values, share) for share in (0.5, 0.99, 1)], [50, 99, 100])
        self.assertEqual(gpu_slices.quantile([7], 0.99), 7)

    def test_the_page_says_what_fails(self):
        data = {"machine": "m", "opencl": "", "load_before": 0, "cores": ["0", "1"], "profile": "p", "gpu_limit": "50%",
                "networks": self.networks(n9=network())}
        self.assertIn("The limit holds", "\n".join(gpu_slices.page(data, LIMIT_US)))
        data["networks"]["n2"] = network(5000)
        text = "\n".join(gpu_slices.page(data, LIMIT_US))
        self.assertIn("Fails: n2: expected 99% of the slices within 4 ms, found 0.0%.", text)
        self.assertIn("| n9 | 20 | 10.00 | 10.00 | 50 | 40 | 3.90 | 0 | - | - | - |", text)


class AdaptiveTest(unittest.TestCase):
    def verdicts(self, *times):
        return [holds for _, holds in adaptive.verdicts({"coexec": [10, 30], "cpu": [12, 20], "adaptive": list(times)})]

    def test_five_percent_above_the_best_hold_in_each_phase(self):
        self.assertEqual(self.verdicts(10.49, 20.9), [True, True])
        self.assertEqual(self.verdicts(10.6, 20.9), [False, True])
        self.assertEqual(self.verdicts(10, 21.1), [True, False])

    def test_never_more_than_the_worst(self):
        self.assertEqual([holds for _, holds in adaptive.verdicts({"cpu": [10.0], "adaptive": [10.2]})], [False])

    def test_the_second_timing_of_a_variant_is_no_variant_of_its_own(self):
        means = {"coexec": [10.0], "cpu": [12.0], "adaptive": [10.2], "again": [9.0]}
        self.assertEqual([holds for _, holds in adaptive.verdicts(means)], [True])

    def test_what_two_timings_of_a_variant_differ_by(self):
        report = lambda us: {"phases": [[{"us": us, "variant": "cpu"}] * (adaptive.LEFT_OUT + 1)]}
        spread = adaptive.spread_percent([report(1000), report(1000)], [report(1030), report(960)], 0)
        self.assertAlmostEqual(spread, ((3**2 + 4**2) / 2)**0.5)

    def test_the_first_runs_of_a_phase_do_not_count(self):
        runs = [{"us": us, "variant": "cpu"} for us in [9000] * adaptive.LEFT_OUT + [1000, 3000]]
        self.assertEqual(adaptive.mean_ms([{"phases": [runs]}, {"phases": [runs]}], 0), 2)


if __name__ == "__main__":
    unittest.main()
