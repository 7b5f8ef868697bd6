"""Limits a plan's figures, absolutely or relative to an earlier plan."""
import re

from .common import fail

METRICS = {"latency": "inference_time", "memory": "memory.total_bytes", "size": "plan_bytes", "gpu_share": "gpu_mac_share"}
# As for codlc's flags, a number without a unit would be a guess.
TIMES = {"ms": 1e3, "us": 1, "s": 1e6}
BYTES = {"MB": 1e6, "B": 1, "kB": 1e3, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
PERCENT = {"%": 0.01}
UNITS = {"latency": TIMES, "memory": BYTES, "size": BYTES, "gpu_share": PERCENT}


class Limit:
    """Reads `latency>20ms`, or against --baseline `latency>+3%`, `gpu_share<-5%`."""

    def __init__(self, text):
        match = re.fullmatch(r"(\w+)([<>])([+-]?)(\d+(?:\.\d+)?) ?([A-Za-z%]*)", text)
        if not match or match.group(1) not in METRICS:
            fail("--fail-if", f"like latency>20ms or latency>+3% of {', '.join(METRICS)}", f"'{text}'")
        self.text = text
        self.metric, self.sign, change, value, unit = match.groups()
        self.is_change = change != ""
        units = PERCENT if self.is_change else UNITS[self.metric]
        if unit not in units:
            of = f"a change of {self.metric}" if self.is_change else self.metric
            fail("--fail-if", f"{of} with its unit, {' or '.join(units)}", f"'{text}'")
        self.value = float(value) * units[unit] * (-1 if change == "-" else 1)
        # Messages use this unit.
        self.unit = next(iter(UNITS[self.metric])) if self.is_change else unit

    @staticmethod
    def number(entry, metric):
        for key in METRICS[metric].split("."):
            entry = entry[key]
        return entry

    def fault(self, entry, before):
        """Returns why the entry fails; None if it does not. `before`: the baseline's entry, or None."""
        found = self.number(entry, self.metric)
        most = self.value
        if self.is_change:
            if before is None:
                return None
            most = self.number(before, self.metric) * (1 + self.value)
        if not (found > most if self.sign == ">" else found < most):
            return None
        scale = UNITS[self.metric][self.unit]
        fault = (f"expected {self.metric} {'at most' if self.sign == '>' else 'at least'} {most / scale:g} {self.unit} ({self.text}), "
                 f"found {found / scale:g} {self.unit}")
        was, now = (before or {}).get("variant"), entry["variant"]
        return fault + (f" (variant {was} before, {now} now)" if self.is_change and was not in (None, now) else "")
