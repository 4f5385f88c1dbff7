# SPDX-License-Identifier: Apache-2.0
"""The counters of a merged timeline, against what Python computes from `infprof export`.

Traces are made up (the seeds are in the tests), the samples in tests/data, and with INFPROF_TRACES,
a directory, all traces below it as well. What is expected is found by other means than infprof's:
every interval by itself, from all kernels that reach into it.
"""

import collections
import decimal
import gzip
import json
import os
import pathlib
import random
import unittest

import harness

DATA = harness.SOURCE / "tests" / "data" / "kineto"
MOST_POINTS = 400
SIZES = {"Float": 4, "BFloat16": 2, "Long": 8, "Byte": 1, "Int": 4, "Bool": 1, "Double": 8}
TYPES = {"float": 4, "int": 4, "long int": 8, "unsigned char": 1, "c10::BFloat16": 2, "double": 8}


def nanoseconds(text):
    return int(decimal.Decimal(text) * 1000)


def random_trace(seed, rank, kernels, collectives, instants):
    """Kernels that overlap, with pauses of all lengths; collectives of known and unknown size."""
    chance = random.Random(1000 * seed + rank)
    events = []

    def add(**event):
        events.append(dict({"pid": 900 + rank, "tid": 900 + rank}, **event))

    add(ph="X", cat="user_annotation", name="ProfilerStep#1", ts=1000, dur=5)
    for name, count, args in (("gemm", kernels, lambda: {}),
                              ("ncclDevKernel_AllReduce_Sum_f32", collectives, lambda: {
                                  "In msg nelems": chance.randrange(10**6),
                                  "dtype": chance.choice(["Float", "BFloat16", "Quaternion"])})):
        at = chance.randrange(1, 2000)
        for _ in range(count):
            at += chance.choice([1, 7, 300, 90000]) * chance.random()
            stream, device = chance.randrange(3), rank + chance.randrange(2)
            add(ph="X", cat="kernel", name=name, pid=device, tid=stream, ts=round(at, 3),
                dur=round(chance.choice([0.5, 3, 80]) * chance.random(), 3),
                args=dict(args(), device=device, stream=stream, correlation=len(events)))
    held = 0
    for i in range(instants):
        held = max(0, held + chance.randrange(-4096, 8192))
        add(ph="i", s="t", cat="cpu_instant_event", name="[memory]", ts=2000 + 3.25 * i,
            args={"Total Allocated": held, "Total Reserved": 2 * held, "Bytes": 1, "Addr": i,
                  "Device Type": i % 2, "Device Id": rank if i % 2 else -1})
    return {"schemaVersion": 1, "distributedInfo": {"rank": rank, "world_size": 2},
            "traceEvents": events, "baseTimeNanoseconds": 1790857026000000000}


def interval_lengths():
    length = 1000
    while True:
        yield from (length, 2 * length, 5 * length)
        length *= 10


def without_repeats(points):
    return [point for i, point in enumerate(points) if not i or points[i - 1][1] != point[1]]


def thousandths(part, whole):
    """Of a percent, as text, rounded half up."""
    value = (decimal.Decimal(100 * part) / whole).quantize(
        decimal.Decimal("0.001"), rounding=decimal.ROUND_HALF_UP)
    return float(value)


def busy_by_length(kernels, length):
    """Each interval that a kernel reaches into, and the first free one behind it."""
    busy = collections.Counter()
    end = None
    for start, stop in sorted(kernels):
        start = start if end is None else max(start, end)
        while start < stop:
            interval = start // length
            until = min(stop, (interval + 1) * length)
            busy[interval] += until - start
            start = until
        end = stop if end is None else max(end, stop)
    for interval in list(busy):
        busy.setdefault(interval + 1, 0)
    return without_repeats(
        [(at * length, thousandths(busy[at], length)) for at in sorted(busy)])


def most_by_length(changes, length):
    """Each interval with a change, and the one behind it, where the last value goes on."""
    most, last = {}, {}
    before = 0
    for at, value in changes:
        interval = at // length
        if interval not in most:
            most[interval] = value if at == interval * length or not most else max(before, value)
        most[interval] = max(most[interval], value)
        last[interval] = before = value
    for interval in list(last):
        most.setdefault(interval + 1, last[interval])
    return without_repeats([(at * length, most[at]) for at in sorted(most)])


def fitting(by_length):
    for length in interval_lengths():
        points = by_length(length)
        if len(points) <= MOST_POINTS:
            return points


def few(changes):
    changes = without_repeats(changes)
    if len(changes) <= MOST_POINTS:
        return changes
    return fitting(lambda length: most_by_length(changes, length))


def message_bytes(args):
    if "In msg nelems" in args:
        size = SIZES.get(args.get("dtype"))
        return None if size is None else size * args["In msg nelems"]
    types, dims = args.get("Input type"), args.get("Input Dims")
    if not types or len(types) != len(dims) or not set(types) <= set(TYPES):
        return None
    total = 0
    for kind, sizes in zip(types, dims):
        product = TYPES[kind]
        for size in sizes:
            product *= size
        total += product
    return total


class Expected:
    """The tracks of one rank, from its export; times count from `zero`."""

    def __init__(self, events, zero):
        self.zero = zero
        self.tracks = {}
        kernels, in_flight = collections.defaultdict(list), {True: [], False: []}
        memory = collections.defaultdict(list)
        for event in events:
            args = event.get("args", {})
            if event["ph"] == "X":
                start = nanoseconds(event["ts"]) - zero
                end = start + nanoseconds(event["dur"])
                if event["cat"] == "kernel" and end > start:
                    kernels[int(event["pid"])].append((start, end))
                device = event["cat"] == "kernel" and event["name"].startswith("nccl")
                host = event["name"].startswith(("gloo:", "nccl:")) and event["cat"] in (
                    "user_annotation", "cpu_op")
                size = message_bytes(args)
                if (device or host) and end > start and size is not None:
                    in_flight[device].append((start, end, size))
            elif event["name"] == "[memory]":
                name = ("CPU", "GPU %d" % args["Device Id"])[args["Device Type"]]
                memory[f"{name} memory"].append(
                    (nanoseconds(event["ts"]) - zero, args["Total Allocated"]))
        for device, spans in kernels.items():
            self.tracks[f"GPU {device} busy"] = fitting(
                lambda length, spans=spans: busy_by_length(spans, length))
        self.add_in_flight(in_flight[True] or in_flight[False])
        for name, changes in memory.items():
            self.tracks[name] = few(changes)

    def add_in_flight(self, collectives):
        moments = sorted({at for start, end, _ in collectives for at in (start, end)})
        if moments:
            sums = collections.Counter()
            for start, end, size in collectives:
                sums[start] += size
                sums[end] -= size
            total, changes = 0, []
            for at in moments:
                total += sums[at]
                changes.append((at, total))
            self.tracks["collectives in flight"] = few(changes)


class Counters(harness.TestCase):
    def draw(self, files, *options):
        output = self.folder / "out"
        result = harness.run([harness.INFPROF, "merge", *files, "-o", output, *options])
        self.assertEnded(result, 0)
        (path,) = (output / "merged").glob("*.gz")
        return output, json.loads(gzip.decompress(path.read_bytes()), parse_float=str)[
            "traceEvents"]

    def drawn_tracks(self, events):
        """By process, then name: points as they are in the file."""
        tracks = collections.defaultdict(lambda: collections.defaultdict(list))
        for event in events:
            if event["ph"] == "C" and event["cat"] == "counter":
                (value,) = event["args"].values()
                tracks[event["pid"]][event["name"]].append(
                    (nanoseconds(event["ts"]), float(value)))
        return tracks

    def assertComputed(self, files, *options):
        output, drawn = self.draw(files, "--budget", "1GB", *options)
        tracks = self.drawn_tracks(drawn)
        ranks = sorted(e["pid"] for e in drawn if e["name"] == "process_name" and e["pid"] >= 1000)
        points = 0
        for rank, pid in enumerate(ranks):
            result = harness.run(
                [harness.INFPROF, "export", output / "run.ifp", "--rank", rank, "-o", "-"])
            exported = json.loads(result.stdout, parse_float=str)["traceEvents"]
            first = min(nanoseconds(e["ts"]) for e in exported if e.get("cat") == "kernel")
            shown = min(nanoseconds(e["ts"]) for e in drawn
                        if e.get("cat") == "gpu_kernel" and e["pid"] == pid)
            expected = Expected(exported, first - shown).tracks
            # How sure the clock is follows from no event.
            told = {name for name in tracks[pid] if not name.startswith("clock ")}
            self.assertEqual(told, set(expected))
            for name, track in expected.items():
                with self.subTest(file=str(files[rank]), track=name):
                    self.assertEqual(tracks[pid][name], track)
                    self.assertLessEqual(len(track), MOST_POINTS)
                points += len(track)
        return points

    def made_up(self, seed, **counts):
        files = []
        for rank in range(2):
            files.append(self.folder / f"rank{rank}.json")
            files[-1].write_text(json.dumps(random_trace(seed, rank, **counts)))
        return files

    def test_few_events_are_told_exactly(self):
        files = self.made_up(1, kernels=40, collectives=30, instants=60)
        self.assertGreater(self.assertComputed(files), 200)

    def test_many_events_are_told_by_intervals(self):
        files = self.made_up(2, kernels=6000, collectives=2000, instants=3000)
        self.assertGreater(self.assertComputed(files), 1000)

    def test_samples(self):
        for name in ("ddp", "ddp-steps", "ondemand"):
            with self.subTest(sample=name):
                points = 0
                for rank in range(2):  # alone: clocks of two are bent to fit their collectives
                    self.folder = pathlib.Path(self.folder) / f"{name}{rank}"
                    self.folder.mkdir()
                    points += self.assertComputed(
                        [DATA / f"{name}.rank{rank}.json.gz"], "--in-order")
                self.assertGreater(points, 4)

    @unittest.skipUnless("INFPROF_TRACES" in os.environ, "INFPROF_TRACES names no directory")
    def test_large_traces(self):
        folder = pathlib.Path(os.environ["INFPROF_TRACES"])
        files = sorted(folder.glob("*rank[01]*.json.gz"))
        self.assertTrue(files)
        for first in files[::2]:
            with self.subTest(trace=str(first)):
                self.assertComputed([first], "--in-order")
                self.folder = pathlib.Path(self.folder) / "next"
                self.folder.mkdir()

    def test_a_budget_leaves_them_out_whole(self):
        files = self.made_up(3, kernels=300, collectives=10, instants=10)
        output, drawn = self.draw(files, "--budget", "1GB")
        whole = self.drawn_tracks(drawn)
        seen = set()
        for budget in range(20000, 400000, 20000):
            result = harness.run([harness.INFPROF, "timeline", output / "run.ifp", "-o",
                                  self.folder / f"{budget}", "--budget", budget])
            if result.returncode:
                continue
            (path,) = (self.folder / f"{budget}" / "merged").glob("*.gz")
            text = gzip.decompress(path.read_bytes())
            self.assertLessEqual(len(text), budget)
            tracks = self.drawn_tracks(json.loads(text, parse_float=str)["traceEvents"])
            self.assertIn(tracks, ({}, whole))
            seen.add(bool(tracks))
        self.assertEqual(seen, {False, True})


if __name__ == "__main__":
    unittest.main()
