# SPDX-License-Identifier: Apache-2.0
"""infprof merge: every time to the nanosecond, and what becomes of events that are odd.

Each odd thing has its row of the ledger with the right count; what is kept comes back from an
export as it was, and what is drawn is drawn where the tables below say.
"""

import json
import unittest

import archive_format as fmt
import harness
from merge_case import Merge, canonical, documents, nanoseconds

QUARTER_3 = 1782864000000000000  # 2026-07-01T00:00:00Z
QUARTER_4 = 1790812800000000000  # 2026-10-01T00:00:00Z
DAY_US = 86_400_000_000


def slice_at(ts, dur=1, name="e", tid=1, **members):
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur,
            **members}


class Exact(Merge):
    def bring_in(self, *paths, drawn=False):
        """Merges; nothing may be lost on the way without a row that says so."""
        result = self.merge_json(*([] if drawn else ["--archive-only"]), *paths)
        rows = {}
        for rank, document in documents(self.output, fmt.LEDGER):
            for row in document["rows"]:
                rows.setdefault(rank, {})[row["what"]] = row["count"]
        for source in result["sources"]:
            self.assertEqual(source["elements"], source["events"] + source["left_out"])
            self.assertEqual(source["left_out"],
                             rows.get(source.get("rank"), {}).get("trace-left-out", 0))
        return rows

    def starts(self, rank):
        """Absolute times of the rank's events in ns, by name."""
        trace = self.exported(rank)
        return {e["name"]: nanoseconds(e["ts"], trace["baseTimeNanoseconds"])
                for e in trace["traceEvents"]}

    def raw_trace(self, name, stamps, before="", behind=""):
        """A trace whose stamps are these texts, with members before and behind the events."""
        events = ",".join(
            f'{{"ph":"X","cat":"a","name":"e{i}","pid":1,"tid":1,"ts":{ts},"dur":0}}'
            for i, ts in enumerate(stamps))
        return self.write(name, f'{{{before}"traceEvents":[{events}]{behind}}}')


class Times(Exact):
    def test_each_file_has_its_own_base(self):
        """Ranks that are 2 ns apart while their bases are three months apart."""
        base = '"baseTimeNanoseconds":'
        self.bring_in(
            self.raw_trace("rank0.json", ["7948799999999.999"], before=f"{base}{QUARTER_3},"),
            self.raw_trace("rank1.json", ["0.001"], before=f"{base}{QUARTER_4},"),
            self.raw_trace("rank2.json", ["0.002"], behind=f",{base}{QUARTER_4}"),
            self.raw_trace("rank3.json", ["1790812800000000.003"]),
            drawn=True)
        want = [QUARTER_4 + n for n in (-1, 1, 2, 3)]
        self.assertEqual([self.starts(rank)["e0"] for rank in range(4)], want)
        drawn = [nanoseconds(e["ts"]) for e in self.drawn() if e["name"] == "e0"]
        self.assertEqual([ts - drawn[0] for ts in drawn], [0, 2, 3, 4])
        self.assertEqual(
            [int(d["imported"]["base_time_ns"]) for _, d in documents(self.output, fmt.RANK)],
            [QUARTER_3, QUARTER_4, QUARTER_4, 0])

    def test_ranks_that_are_months_apart_are_placed_so(self):
        self.bring_in(
            self.raw_trace("rank0.json", ["5.5"], before=f'"baseTimeNanoseconds":{QUARTER_3},'),
            self.raw_trace("rank1.json", ["5.25"], before=f'"baseTimeNanoseconds":{QUARTER_4},'),
            drawn=True)
        first, second = [nanoseconds(e["ts"]) for e in self.drawn() if e["name"] == "e0"]
        self.assertEqual(second - first, QUARTER_4 - QUARTER_3 - 250)

    def test_stamps_are_exact(self):
        base = 9007199254740993  # 2^53 + 1: no double
        stamps = {"0": 0, "0.001": 1, "0.0004": 0, "0.0005": 1, "0.00049999": 0, "-0.0005": -1,
                  "12.5": 12500, "1e3": 1000000, "1.5E-3": 2, "0.12345678901234567890": 123,
                  "3600000000.999": 3600000000999, "3600000000.9995": 3600000001000,
                  "-3.25": -3250}
        self.bring_in(self.raw_trace("rank0.json", stamps, f'"baseTimeNanoseconds":{base},'))
        self.assertEqual(self.starts(0), {f"e{i}": base + ns
                                          for i, ns in enumerate(stamps.values())})

    def test_stamps_beyond_64_bits_are_left_out_and_counted(self):
        stamps = ["0.001", "0.002", "9223372036854775.807", "9223372036854775.808", "1e300",
                  "-9223372036854775.808", "-9223372036854775.809"]
        rows = self.bring_in(
            self.raw_trace("rank0.json", stamps, before='"baseTimeNanoseconds":1000000,'))
        # Two in the job; the smallest that 64 bits hold are garbage, and kept.
        self.assertEqual(rows[0], {"trace-left-out": 4, "trace-misplaced": 1,
                                   "trace-unordered": 1})
        starts = self.starts(0)
        self.assertEqual((starts["e0"], starts["e1"]), (1000001, 1000002))
        self.assertEqual(len(starts), 3)

    def test_a_base_that_cannot_be_used_is_told(self):
        for base in ('"1790812800000000000"', "1.5e18", "9223372036854775808", "null"):
            with self.subTest(base):
                self.output = self.folder / base.strip('"')
                path = self.raw_trace("rank0.json", ["1"], f'"baseTimeNanoseconds":{base},')
                result = self.merge("--json", "--archive-only", path)
                self.assertIn(f"a baseTimeNanoseconds of {base} cannot be used", result.stderr)
                self.assertEqual(self.starts(0), {"e0": 1000})


# What: events, rows of the ledger, and what is drawn as name: (start, duration) in ns from the
# first event on, a name with "'" for a row of its own. Names that are not there are not drawn.
ODD = {
    "an end before its start": (
        [slice_at(10, 5, "a"), slice_at(20, -7.25, "b"), slice_at(30, -30, "end 0")],
        {"trace-negative": 2},
        {"a": (0, 5000), "b": (10000, 0), "end 0": (20000, 0)}),
    "without a duration": (
        [slice_at(10, 5, "a"), {"ph": "X", "name": "b", "pid": 1, "tid": 1, "ts": 20}],
        {"trace-repaired": 1},
        {"a": (0, 5000), "b": (10000, 0)}),
    "out of order": (
        [slice_at(30, 5, "c"), slice_at(10, 5, "a"), slice_at(20, 5, "b"), slice_at(11, 1, "d")],
        {"trace-unordered": 2},
        {"a": (0, 5000), "d": (1000, 1000), "b": (10000, 5000), "c": (20000, 5000)}),
    "partly overlapping": (
        [slice_at(10, 10, "a"), slice_at(15, 10, "b"), slice_at(16, 2, "in both"),
         slice_at(40, 10, "c", tid=2), slice_at(45, 10, "d", tid=3), slice_at(50, 5, "e", tid=2)],
        {"trace-overlapping": 1},
        {"a": (0, 10000), "b'": (5000, 10000), "in both": (6000, 2000), "c": (30000, 10000),
         "d": (35000, 10000), "e": (40000, 5000)}),
    "overlapping and out of order": (
        [slice_at(15, 10, "b"), slice_at(10, 10, "a")],
        {"trace-overlapping": 1, "trace-unordered": 1},
        {"a": (0, 10000), "b'": (5000, 10000)}),
    "beginning together": (
        [slice_at(10, 5, "inner"), slice_at(10, 10, "outer"), slice_at(20, 5, "next")],
        {},
        {"inner": (0, 5000), "outer": (0, 10000), "next": (10000, 5000)}),
    "a stamp of 0": (
        [slice_at(0, 5, "zero"), slice_at(50 * DAY_US, 5, "a"), slice_at(50 * DAY_US + 9, 5, "b")],
        {"trace-misplaced": 1},
        {"a": (0, 5000), "b": (9000, 5000)}),
    "stamps of garbage": (
        [slice_at(50 * DAY_US, 5, "a"), slice_at(50 * DAY_US + 9, 5, "b"),
         slice_at(9_223_372_036_854_000, 5, "late"), slice_at(-9_223_372_036_854_000, 5, "early"),
         {"ph": "i", "s": "t", "name": "moment", "pid": 1, "tid": 1, "ts": 99 * DAY_US}],
        {"trace-misplaced": 3, "trace-unordered": 1},
        {"a": (0, 5000), "b": (9000, 5000)}),
    "an end of garbage": (
        [slice_at(10, 5, "a"), slice_at(12, 9 * 10**15, "endless"), slice_at(13, 1, "b"),
         slice_at(14, 90 * DAY_US, "of months")],
        # Both begin within "a" and end behind it.
        {"trace-misplaced": 2, "trace-overlapping": 2},
        {"a": (0, 5000), "b": (3000, 1000)}),
}


class Odd(Exact):
    def drawn_slices(self):
        """Start and duration from the first slice on, by name; "'" marks a row of its own."""
        elements = self.drawn()
        titles = {(e["pid"], e["tid"]): e["args"]["name"] for e in elements
                  if e["name"] == "thread_name"}
        slices = [e for e in elements if e["ph"] == "X" and e["cat"] != "user_annotation"]
        first = min(nanoseconds(e["ts"]) for e in slices)
        return {e["name"] + "'" * ("overlapping" in titles[e["pid"], e["tid"]]):
                (nanoseconds(e["ts"]) - first, nanoseconds(e["dur"])) for e in slices}

    def test_what_is_odd_is_kept_counted_and_drawn_as_told(self):
        for what, (events, want_rows, want_drawn) in ODD.items():
            with self.subTest(what):
                self.output = self.folder / what
                rows = self.bring_in(self.write("rank0.json", {"traceEvents": events}), drawn=True)
                self.assertEqual(rows.get(0, {}), want_rows)
                self.assertEqual(canonical(self.exported(0)), canonical({"traceEvents": events}))
                self.assertEqual(self.drawn_slices(), want_drawn)

    def test_rows_of_the_archive_are_rows_of_the_report(self):
        events = [event for what in ("an end before its start", "partly overlapping")
                  for event in ODD[what][0]]
        self.bring_in(self.write("rank0.json", {"traceEvents": events}), drawn=True)
        report = {(row["what"], row["count"]) for row in harness.report(self.output)["ledger"]}
        self.assertLessEqual({("trace-negative", 2), ("trace-overlapping", 1),
                              ("trace-unordered", 1)}, report)
        text = (self.output / "report.txt").read_text()
        self.assertIn("trace-negative 2, rank 0: rank0.json: slices end before they begin", text)


class Halves(Exact):
    def arrow(self, phase, number, ts, tid=1):
        return {"ph": phase, "cat": "ac2g", "name": f"f{number}", "pid": 1, "tid": tid, "ts": ts,
                "id": number, **({"bp": "e"} if phase == "f" else {})}

    def work(self, name, correlation, ts, gpu=True):
        args = {"correlation": correlation, **({"device": 0, "stream": 7} if gpu else {})}
        return {"ph": "X", "cat": "kernel" if gpu else "cuda_runtime", "name": name,
                "pid": 0 if gpu else 1, "tid": 7 if gpu else 1, "ts": ts, "dur": 5, "args": args}

    def test_arrows_with_one_end_are_kept_counted_and_not_drawn(self):
        events = [slice_at(10, 50, "a"), slice_at(10, 50, "b", tid=2),
                  self.arrow("s", 1, 20), self.arrow("f", 1, 30, tid=2),
                  self.arrow("s", 2, 21), self.arrow("f", 3, 31), self.arrow("f", 4, 32)]
        rows = self.bring_in(self.write("rank0.json", events), drawn=True)
        self.assertEqual(rows[0], {"trace-dangling": 3})
        self.assertEqual(canonical(self.exported(0)), canonical({"traceEvents": events}))
        self.assertEqual([(e["ph"], e["name"]) for e in self.drawn() if e["ph"] in "sf"],
                         [("s", "f1"), ("f", "f1")])
        left_out = [row["count"] for row in harness.report(self.output)["ledger"]
                    if row["what"] == "timeline-left-out" and "halves of arrows" in row["why"]]
        self.assertEqual(left_out, [3])

    def test_kernels_without_a_launch_are_kept_counted_and_drawn(self):
        for number in (12, 2**63, 2**64 + 12):
            with self.subTest(number):
                self.output = self.folder / str(number)
                events = [self.work("launch", 11, 10, gpu=False), self.work("k", 11, 20),
                          self.work("launch 2", number, 30, gpu=False), self.work("k2", number, 40),
                          self.work("alone", number + 1, 50), self.work("none", 0, 60)]
                rows = self.bring_in(self.write("rank0.json", events), drawn=True)
                self.assertEqual(rows[0], {"trace-unlaunched": 1})
                self.assertEqual(canonical(self.exported(0)), canonical({"traceEvents": events}))
                drawn = {e["name"]: e["args"] for e in self.drawn()
                         if e["ph"] == "X" and e["cat"] != "user_annotation"}
                self.assertEqual(drawn, {e["name"]: e["args"] for e in events})


if __name__ == "__main__":
    unittest.main()
