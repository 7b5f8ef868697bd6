"""Limits on what a plan takes, on their own or against an earlier one."""
import re

from .common import fail

METRICS = {"latency": "inference_time", "memory": "memory.total_bytes", "size": "plan_bytes", "gpu_share": "gpu_mac_share"}
UNITS = {"": 1, "us": 1, "ms": 1e3, "s": 1e6, "kB": 1e3, "MB": 1e6, "%": 0.01}


class Limit:
    """`latency>20ms`, or against --baseline `latency>+3%`, `gpu_share<-5%`."""

    def __init__(self, text):
        match = re.fullmatch(r"(\w+)([<>])([+-]?)(\d+(?:\.\d+)?)(us|ms|s|kB|MB|%|)", text)
        if not match or match.group(1) not in METRICS:
            fail("--fail-if", f"like latency>20ms or latency>+3% of {', '.join(METRICS)}", f"'{text}'")
        self.text = text
        self.metric, self.sign, change, value, unit = match.groups()
        self.is_change = change != ""
        if self.is_change and unit != "%":
            fail("--fail-if", "a change in percent, like latency>+3%", f"'{text}'")
        self.value = float(value) * UNITS[unit] * (-1 if change == "-" else 1)

    @staticmethod
    def number(entry, metric):
        for key in METRICS[metric].split("."):
            entry = entry[key]
        return entry

    def fault(self, entry, before):
        """Why the entry fails; nothing if it does not. `before`: of the baseline, or nothing."""
        found = self.number(entry, self.metric)
        most = self.value
        if self.is_change:
            if before is None:
                return None
            most = self.number(before, self.metric) * (1 + self.value)
        if not (found > most if self.sign == ">" else found < most):
            return None
        return f"expected {self.metric} {'at most' if self.sign == '>' else 'at least'} {most:g} ({self.text}), found {found:g}"
