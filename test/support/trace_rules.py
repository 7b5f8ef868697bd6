"""Checks the rules of the Trace Event Format on which viewers depend: anything that Perfetto drops or moves is a fault
here.

https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""
import collections
import json
import math

# Times are printed with all their digits, but two that should meet may differ by rounding: in microseconds.
ROUNDING_US = 1e-3


def read(path):
    """Returns the events of a trace that keeps the rules."""
    def no_constant(text):
        raise ValueError(f"{text} is no JSON")
    with open(path, encoding="utf-8") as file:
        trace = json.load(file, parse_constant=no_constant)
    if trace.get("displayTimeUnit") not in ("ms", "ns"):
        raise ValueError(f"displayTimeUnit: {trace.get('displayTimeUnit')}")
    check(trace["traceEvents"])
    return trace["traceEvents"]


def check(events):
    """Raises ValueError for the first event that breaks a rule."""
    names, tracks, arrows = {}, collections.defaultdict(list), collections.defaultdict(dict)
    for event in events:
        def fail_unless(right, rule):
            if not right:
                raise ValueError(f"{rule}: {json.dumps(event)}")
        phase = event.get("ph")
        fail_unless(phase in ("M", "X", "C", "s", "f"), "ph is a phase that is used here")
        fail_unless(isinstance(event.get("name"), str) and event["name"], "an event has a name")
        fail_unless(isinstance(event.get("pid"), int), "an event has a process")
        if phase != "C":
            fail_unless(isinstance(event.get("tid"), int), "an event but of a counter has a thread")
        if phase == "M":
            fail_unless(event["name"] in ("process_name", "thread_name") and isinstance(event["args"]["name"], str), "M names something")
            key = (event["pid"], event["tid"] if event["name"] == "thread_name" else None)
            fail_unless(key not in names, "a name is given once")
            names[key] = event["args"]["name"]
            continue
        fail_unless(is_time(event.get("ts")), "ts is a time")
        if phase == "X":
            fail_unless(is_time(event.get("dur")), "dur is a time")
            fail_unless(isinstance(event.get("cat"), str), "a bar has a category")
            tracks[event["pid"], event["tid"]].append(event)
        elif phase == "C":
            fail_unless(event["args"] and all(is_time(value) for value in event["args"].values()), "counters are numbers")
        else:
            ends = arrows[event["cat"], event["id"]]
            fail_unless(phase not in ends, "an arrow has one begin and one end")
            fail_unless(phase != "f" or event.get("bp") == "e", "an arrow ends at the bar that is there")
            ends[phase] = event
    for (pid, tid), bars in tracks.items():
        if (pid, tid) not in names or (pid, None) not in names:
            raise ValueError(f"track {tid} of process {pid}: no name")
        check_nesting(bars)
    for ends in arrows.values():
        if set(ends) != {"s", "f"} or ends["s"]["name"] != ends["f"]["name"]:
            raise ValueError(f"half an arrow: {json.dumps(ends)}")
        if ends["s"]["ts"] > ends["f"]["ts"]:
            raise ValueError(f"an arrow back in time: {json.dumps(ends)}")
        for end in ends.values():
            if not any(bar["ts"] <= end["ts"] <= bar["ts"] + bar["dur"] for bar in tracks[end["pid"], end["tid"]]):
                raise ValueError(f"an arrow's end without a bar: {json.dumps(end)}")


def is_time(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value >= 0


def check_nesting(bars):
    """Checks that bars of a track follow each other or lie inside each other."""
    open_ends = []
    for bar in sorted(bars, key=lambda bar: (bar["ts"], -bar["dur"])):
        end = bar["ts"] + bar["dur"]
        while open_ends and open_ends[-1] <= bar["ts"] + ROUNDING_US:
            open_ends.pop()
        if open_ends and end > open_ends[-1] + ROUNDING_US:
            raise ValueError(f"a bar that begins inside another and ends behind it: {json.dumps(bar)}")
        open_ends.append(end)
