# SPDX-License-Identifier: Apache-2.0
"""GPUs whose times contradict their host's, in real traces of two H200.

The GPU's events of one trace are moved as if the tool that recorded them had been wrong by that
much. What infprof finds must differ from what it finds in the trace as it is by just that; what it
draws contradicts no launch, and what it exports is what was recorded.
"""

import collections
import decimal
import json
import sys
import unittest

import harness

sys.path.insert(0, str(harness.SOURCE / "tests" / "harness"))
import shift_trace  # noqa: E402
from merge_case import Merge, canonical, nanoseconds, read
from test_import_clocks import SKIP, STEPS, WHOLE

WORK = ("kernel", "gpu_memcpy", "gpu_memset")
ON_LANE = (*WORK, "gpu_user_annotation")
# As the timeline of all ranks has them.
DRAWN_WORK = ("gpu_kernel", "gpu_copy", "gpu_fill")
DRAWN = (*DRAWN_WORK, "gpu_annotation")
INJECTED = -20_000


def slices(events, *categories):
    return [e for e in events if e.get("ph") == "X" and e.get("cat") in categories]


def span(event):
    start = nanoseconds(event["ts"])
    return start, start + nanoseconds(event["dur"])


def launches(events):
    calls = slices(events, "cuda_runtime", "cuda_driver", "rt")
    return {e["args"]["correlation"]: span(e) for e in calls if "Sync" not in e["name"]}


def limits(path):
    """What may be added to the GPU's times of a trace, by our own reading of it."""
    events = read(path)["traceEvents"]
    calls = launches(events)
    waits = sorted(span(e) for e in slices(events, "cuda_runtime")
                   if e["name"] == "cudaDeviceSynchronize")
    low, high = -10**18, 10**18
    for work in slices(events, *WORK):
        call = calls.get(work["args"]["correlation"])
        if not call:
            continue
        start, end = span(work)
        low = max(low, call[0] - start)
        high = min([high, *(returns - end for since, returns in waits if since >= call[1])])
    return low, high


def move_gpu(source, target, ns):
    """The trace with its GPU's events moved; how many slices these are."""
    trace = shift_trace.load(source)
    lanes = {(e["pid"], e["tid"]) for e in slices(trace["traceEvents"], *WORK)}
    moved = 0
    for event in trace["traceEvents"]:
        arrow = event.get("ph") == "f" and event.get("cat") == "ac2g"
        if event.get("cat") in ON_LANE or (arrow and (event["pid"], event["tid"]) in lanes):
            event["ts"] += decimal.Decimal(ns) / 1000
            moved += event["ph"] == "X"
    shift_trace.dump(trace, target)
    return moved


class GpuTimes(Merge):
    def gpus(self):
        clocks = json.loads(harness.run([harness.INFPROF, "clock", "--json", self.output]).stdout)
        return {gpu["rank"]: gpu for gpu in clocks["gpus"]}

    def rows(self, what):
        report = json.loads((self.output / "report.json").read_text())
        return {row["rank"]: row for row in report["ledger"] if row["what"] == what}

    def offset(self):
        """Of rank 1's clock, by the collectives."""
        clocks = json.loads(harness.run([harness.INFPROF, "clock", "--json", self.output]).stdout)
        return clocks["ranks"][1]["offset_ns"]

    def sums(self, events):
        """How often each of the GPU's slices is there, and how long all of them take."""
        found = collections.defaultdict(lambda: [0, 0])
        for event in slices(events, *DRAWN):
            found[event["name"]][0] += 1
            found[event["name"]][1] += nanoseconds(event["dur"])
        return found

    def assert_same_sums(self, found, expected):
        """Both ends of a slice are read off a line that is within 3 ns of the map."""
        self.assertEqual({name: count for name, (count, _) in found.items()},
                         {name: count for name, (count, _) in expected.items()})
        for name, (count, total_ns) in expected.items():
            self.assertAlmostEqual(found[name][1], total_ns, delta=6 * count, msg=name)

    def test_a_trace_that_contradicts_nothing_stays(self):
        self.merge("--in-order", *STEPS)
        for rank, path in enumerate(STEPS):
            gpu, (low, _) = self.gpus()[rank], limits(path)
            self.assertEqual(gpu["device"], rank)
            self.assertEqual(gpu["shift_ns"], 0)
            self.assertEqual((gpu["low_ns"], gpu["high_ns"]), (low, None))
            self.assertEqual(gpu["doubt_ns"], 10_000)
        self.assertEqual(self.rows("gpu-shifted"), {})

    def test_an_injected_shift_is_found_and_repaired(self):
        shifted = self.folder / "rank1.json.gz"
        moved = move_gpu(STEPS[1], shifted, INJECTED)
        self.merge("--in-order", *STEPS)
        before, offset, plain = self.gpus()[1], self.offset(), self.drawn()
        self.output = self.folder / "shifted"
        self.merge("--in-order", STEPS[0], shifted)
        gpu = self.gpus()[1]
        self.assertEqual(gpu["low_ns"], before["low_ns"] - INJECTED)
        self.assertEqual(gpu["shift_ns"], gpu["low_ns"])
        self.assertEqual(gpu["launches"], before["launches"])
        self.assertEqual((gpu["launches_left_out"], gpu["fit"]), (0, "shift"))
        row = self.rows("gpu-shifted")[1]
        self.assertEqual(row["count"], moved)
        self.assertEqual(gpu["slices"], moved)
        self.assertEqual(list(self.rows("gpu-shifted")), [1])
        self.assertEqual(self.rows("gpu-contradicted"), {})
        # The clock is aligned by the kernels as they are drawn.
        self.assertEqual(self.offset() - offset, before["low_ns"])
        drawn = self.drawn()
        self.assert_same_sums(self.sums(drawn), self.sums(plain))
        self.assertGreater(len(slices(drawn, *DRAWN_WORK)), 0)

    def test_nothing_is_drawn_before_its_launch(self):
        shifted = self.folder / "rank1.json.gz"
        move_gpu(STEPS[1], shifted, INJECTED)
        self.merge("--in-order", shifted)
        drawn = self.drawn()
        calls = launches(drawn)
        gaps = [span(e)[0] - calls[e["args"]["correlation"]][0] for e in slices(drawn, *DRAWN_WORK)
                if e["args"]["correlation"] in calls]
        self.assertEqual(len(gaps), self.gpus()[0]["launches"])
        self.assertEqual(min(gaps), 0)
        # Arrows lead forward, too.
        starts = {e["id"]: e["ts"] for e in drawn if e.get("ph") == "s" and e["cat"] == "ac2g"}
        ends = {e["id"]: e["ts"] for e in drawn if e.get("ph") == "f" and e["cat"] == "ac2g"}
        joined = starts.keys() & ends.keys()
        self.assertGreater(len(joined), 0)
        for arrow in joined:
            self.assertLessEqual(nanoseconds(starts[arrow]), nanoseconds(ends[arrow]))
        # An export is not a view: it has what was recorded.
        self.assertEqual(canonical(self.exported(0)), canonical(read(shifted)))

    @SKIP
    def test_waits_limit_the_other_side(self):
        self.merge("--archive-only", "--in-order", *WHOLE)
        gpus = self.gpus()
        for rank, path in enumerate(WHOLE):
            self.assertEqual((gpus[rank]["low_ns"], gpus[rank]["high_ns"]), limits(path))
            self.assertEqual(gpus[rank]["shift_ns"], 0)
        shifted = self.folder / "rank0.json.gz"
        move_gpu(WHOLE[0], shifted, 20_000)
        self.output = self.folder / "late"
        self.merge("--archive-only", shifted)
        gpu, (low, high) = self.gpus()[0], limits(shifted)
        self.assertEqual((gpu["low_ns"], gpu["high_ns"]), (low, high))
        self.assertEqual(gpu["shift_ns"], high)
        self.assertLess(high, 0)
        self.assertGreater(gpu["waits_contradicted"], 0)
        self.assertEqual(gpu["waits_left_out"], 0)


if __name__ == "__main__":
    unittest.main()
