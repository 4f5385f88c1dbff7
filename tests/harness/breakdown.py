# SPDX-License-Identifier: Apache-2.0
"""How a GPU spent its time, from a trace alone: the two figures of HolisticTraceAnalysis that people
compare ranks by, computed without it and in whole nanoseconds.

    breakdown.py TRACE...    prints one line of JSON for each trace
"""

import gzip
import json
import subprocess
import sys

DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")

# Runs in the Python that has HolisticTraceAnalysis, which leaves the last step out by itself.
HTA = """
import json, logging, sys
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(
    trace_files=dict(enumerate(sys.argv[1:])), include_last_profiler_step=True)
times = analysis.get_temporal_breakdown(visualize=False).to_dict("records")
overlaps = analysis.get_comm_comp_overlap(visualize=False).to_dict("records")
print(json.dumps([{
    "kernel_us": t["kernel_time(us)"], "idle_us": t["idle_time(us)"],
    "compute_us": t["compute_time(us)"], "other_us": t["non_compute_time(us)"],
    "overlap_percent": o["comp_comm_overlap_pctg"]} for t, o in zip(times, overlaps)]))
"""


def union(spans):
    """Spans that do not touch, in order."""
    merged = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return merged


def length(spans):
    return sum(end - start for start, end in union(spans))


def common(left, right):
    """The time that is in both."""
    return length(left) + length(right) - length([*left, *right])


def ns(us):
    return round(us * 1000)


def spans_of(events, kind=lambda event: True):
    return [(ns(e["ts"]), ns(e["ts"]) + ns(e["dur"])) for e in events if kind(e)]


def is_communication(event):
    return event["cat"] == "kernel" and "nccl" in event["name"].lower()


def is_compute(event):
    return event["cat"] == "kernel" and not is_communication(event)


def read(path):
    with gzip.open(path) as file:
        return json.load(file)["traceEvents"]


def breakdown(events):
    """Of what ran on GPUs: HolisticTraceAnalysis' figures, in us and percent."""
    device = [e for e in events if e["ph"] == "X" and e.get("cat") in DEVICE]
    everything, compute = spans_of(device), spans_of(device, is_compute)
    communication = spans_of(device, is_communication)
    kernel = max(end for _, end in everything) - min(start for start, _ in everything)
    busy = length(everything)
    return {
        "kernel_us": kernel / 1000,
        "idle_us": (kernel - busy) / 1000,
        "compute_us": length(compute) / 1000,
        "other_us": (busy - length(compute)) / 1000,
        "overlap_percent": 100 * common(compute, communication) / length(communication),
    }


def magnify(path, copy):
    """
    The trace a thousand times as long. HolisticTraceAnalysis rounds every start and duration to
    whole us, which is much of a short kernel; nothing else changes the figures then.
    """
    with gzip.open(path) as file:
        trace = json.load(file)
    for event in trace["traceEvents"]:
        event["ts"] = ns(event["ts"])
        if "dur" in event:
            event["dur"] = ns(event["dur"])
    copy.write_bytes(gzip.compress(json.dumps(trace).encode(), 1))
    return copy


def hta(python, paths):
    """The same by HolisticTraceAnalysis 0.5.0 itself; python is an interpreter that has it."""
    result = subprocess.run([python, "-c", HTA, *paths], capture_output=True, text=True, check=True)
    return json.loads(result.stdout.splitlines()[-1])


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        print(json.dumps(breakdown(read(argument))))
