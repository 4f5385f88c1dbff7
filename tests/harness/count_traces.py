# SPDX-License-Identifier: Apache-2.0
"""Counts what is in traces, with Python's own JSON reader and nothing of infprof.

    python3 tests/harness/count_traces.py FILE|DIRECTORY... > tests/data/traces.json

writes the table that tests/integration/test_import_counts.py compares the import with. The table in
the repository is of tests/data/kineto and of the directory that INFPROF_TRACES names. Everything is
held in memory and every rule is written down as plainly as it can be: where infprof counts as it
reads, in bounded memory, this sorts and compares.
"""

import collections
import gzip
import hashlib
import heapq
import json
import pathlib
import sys

DAY_NS = 86400 * 10**9
GPU_WORK = {"kernel", "gpu_memcpy", "gpu_memset", "cuda_sync"}


def refuse_constant(name):
    raise ValueError(f"{name} is no JSON: what infprof makes of it is not counted here")


def load(path):
    """The trace; numbers with a point or an exponent stay texts. Anything but strict JSON raises."""
    with (gzip.open(path) if path.name.endswith(".gz") else open(path, "rb")) as file:
        trace = json.loads(file.read().decode("utf-8"), parse_float=str,
                           parse_constant=refuse_constant)
    return {"traceEvents": trace} if isinstance(trace, list) else trace


def nanoseconds(microseconds):
    """Exact; halves are rounded away from zero."""
    text = str(microseconds)
    whole, _, part = text.lstrip("-").partition(".")
    part = part.ljust(4, "0")
    value = int(whole) * 1000 + int(part[:3]) + (part[3] >= "5")
    return -value if text.startswith("-") else value


def is_number(value):
    return isinstance(value, int) and not isinstance(value, bool) or (
        isinstance(value, str) and value.lstrip("-").replace(".", "", 1).isdigit())


def is_event(element):
    """Whether it has what an event must have. Times are far from any limit in these files."""
    if not isinstance(element, dict) or not isinstance(element.get("ph"), str):
        return False
    if not isinstance(element.get("name"), str) and element["ph"] != "E":
        return False
    return element["ph"] == "M" or is_number(element.get("ts"))


def args_of(event):
    return event.get("args") if isinstance(event.get("args"), dict) else {}


def is_on_stream(event):
    if event.get("cat") == "gpu_user_annotation":
        return True
    return event.get("cat") in GPU_WORK and "device" in args_of(event) and "stream" in args_of(event)


def extent(event):
    start = nanoseconds(event["ts"])
    return start, start + max(0, nanoseconds(event.get("dur", 0)))


def overlapping(events):
    """Slices that begin within an earlier one of their lane and end behind it."""
    lanes = collections.defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            lanes[is_on_stream(event), event["pid"], event["tid"]].append(extent(event))
    found = 0
    for extents in lanes.values():
        open_ends = []
        for start, end in sorted(extents, key=lambda e: (e[0], -e[1])):
            while open_ends and open_ends[0] <= start:
                heapq.heappop(open_ends)
            found += bool(open_ends) and open_ends[0] < end
            heapq.heappush(open_ends, end)
    return found


def misplaced(events):
    """Events in other groups than the largest one, where a group ends with a gap of a day."""
    starts = sorted(nanoseconds(e["ts"]) for e in events if e["ph"] != "M")
    groups = []
    for i, start in enumerate(starts):
        if not i or start - starts[i - 1] > DAY_NS:
            groups.append(0)
        groups[-1] += 1
    return sum(groups) - max(groups, default=0)


def rows(elements):
    """The rows of the ledger that the import of this file must have, with their counts."""
    events = [e for e in elements if is_event(e)]
    slices = [e for e in events if e["ph"] == "X"]
    arrows, work = collections.defaultdict(set), collections.defaultdict(set)
    for event in events:
        if event["ph"] in ("s", "f"):
            arrows[event["id"], event["cat"]].add(event["ph"])
    for event in slices:
        if args_of(event).get("correlation", 0) > 0:
            work[args_of(event)["correlation"]].add(is_on_stream(event))
    starts = [nanoseconds(e["ts"]) for e in slices]
    found = {
        "trace-left-out": len(elements) - len(events),
        "trace-repaired": sum("dur" not in e for e in slices),
        "trace-dangling": sum(len(sides) == 1 for sides in arrows.values()),
        "trace-unlaunched": sum(sides == {True} for sides in work.values()),
        "trace-unordered": sum(b < a for a, b in zip(starts, starts[1:])),
        "trace-negative": sum(nanoseconds(e.get("dur", 0)) < 0 for e in slices),
        "trace-overlapping": overlapping(events),
        "trace-misplaced": misplaced(events),
    }
    return {what: count for what, count in found.items() if count}


def count(path):
    trace = load(path)
    elements = trace["traceEvents"]
    info = trace.get("distributedInfo") or {}
    return {
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "base_ns": trace.get("baseTimeNanoseconds", 0),
        "rank": info.get("rank"),
        "world_size": info.get("world_size"),
        "elements": len(elements),
        "phases": dict(sorted(collections.Counter(e["ph"] for e in elements).items())),
        "categories": dict(sorted(collections.Counter(
            f"{e['ph']} {e.get('cat', '')}" for e in elements if e["ph"] != "M").items())),
        "rows": rows(elements),
    }


def main(arguments):
    paths = [pathlib.Path(argument) for argument in arguments]
    files = [file for path in paths
             for file in (sorted(path.rglob("*.json.gz")) if path.is_dir() else [path])]
    json.dump({file.name: count(file) for file in files}, sys.stdout, indent="\t")
    print()


if __name__ == "__main__":
    main(sys.argv[1:])
