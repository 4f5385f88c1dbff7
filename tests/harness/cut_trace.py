# SPDX-License-Identifier: Apache-2.0
"""Cuts a trace of torch.profiler down to what a test can carry, whole in itself.

    cut_trace.py TRACE.json.gz OUT.json.gz [STEPS [EVERY]]

Keeps the second to the STEPS + 1st ProfilerStep. Of them: all annotations and collectives, every
EVERY-th other operator and launch, the operators around these, and all that the kept ones launched
on the GPU, with the arrows between them. tests/data/kineto/ddp-steps.rank*.json.gz were made so, of
a ViT under DDP on two H200 (torch 2.11) whose rank 1 sleeps 8 ms in every step.
"""

import collections
import gzip
import json
import sys

LAUNCHES = ("cuda_runtime", "cuda_driver")
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")


def window(events, count):
    steps = sorted(
        (e["ts"], e["ts"] + e["dur"])
        for e in events
        if e.get("cat") == "user_annotation" and e["name"].startswith("ProfilerStep#")
    )
    return steps[1][0], steps[count][1]


def is_collective(event):
    return event["name"].startswith("nccl:") or event["name"] == "record_param_comms"


def keep_host(slices, every):
    """Of the slices of one thread, in order of time, longer first."""
    kept, stack, seen = [], [], collections.Counter()
    for event in slices:
        while stack and stack[-1]["ts"] + stack[-1]["dur"] <= event["ts"]:
            stack.pop()
        kind = "launch" if event["cat"] in LAUNCHES else "op"
        seen[kind] += 1
        inside = any(is_collective(outer) for outer in stack)
        if (event["cat"] == "user_annotation" or is_collective(event) or inside
                or seen[kind] % every == 0):
            kept.extend([*stack, event])
        stack.append(event)
    return {id(event): event for event in kept}.values()


def cut(events, steps, every):
    first, last = window(events, steps)
    threads = collections.defaultdict(list)
    for e in events:
        host = e.get("cat") in ("cpu_op", "user_annotation", *LAUNCHES)
        if e["ph"] == "X" and host and first <= e["ts"] < last:
            threads[e["tid"]].append(e)
    kept = []
    for slices in threads.values():
        kept.extend(keep_host(sorted(slices, key=lambda e: (e["ts"], -e["dur"])), every))
    launched = {e["args"]["correlation"] for e in kept if e["cat"] in LAUNCHES}
    kept += [e for e in events
             if e.get("cat") in DEVICE and e["args"]["correlation"] in launched]
    kept += [e for e in events if e.get("cat") == "gpu_user_annotation"
             and first <= e["ts"] and e["ts"] + e["dur"] < last]
    starts = {(str(e["tid"]), e["ts"]) for e in kept}
    halves = collections.defaultdict(list)
    for e in events:
        if e["ph"] in "sf" and (str(e["tid"]), e["ts"]) in starts:
            halves[e["cat"], e["id"]].append(e)
    kept += [e for pair in halves.values() if len(pair) == 2 for e in pair]
    return [e for e in events if e["ph"] == "M"] + kept


def main(source, out, steps=3, every=20):
    with gzip.open(source) as file:
        trace = json.load(file)
    trace["traceEvents"] = cut(trace["traceEvents"], int(steps), int(every))
    text = json.dumps(trace, separators=(",", ":")).encode()
    with open(out, "wb") as file:
        file.write(gzip.compress(text, 9, mtime=0))


if __name__ == "__main__":
    main(*sys.argv[1:])
