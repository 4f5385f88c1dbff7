# SPDX-License-Identifier: Apache-2.0
"""infprof slice: every event of a stretch of time, compared with an export of everything."""

import collections
import gzip
import json
import re
import unittest
from decimal import Decimal

import harness
from timeline_case import TimelineCase, kineto_sample

# Halves of arrows are drawn where their slices begin; names of lanes are no events.
ARROWS_AND_NAMES = "stfM"
# Without it the plug-in for TensorBoard shows nonsense.
MADE_UP = {"what": "everything recorded: there are no steps"}
STEPS = [101, 102, 103, 104, 105]


def read(path):
    """Times stay exact."""
    content = path.read_bytes()
    text = gzip.decompress(content) if path.suffix == ".gz" else content
    return json.loads(text, parse_float=Decimal)["traceEvents"]


def rank_of(events):
    """By process: the number of its rank."""
    return {
        e["pid"]: int(re.match(r"rank (\d+) ", e["args"]["name"]).group(1))
        for e in events
        if e["name"] == "process_name" and e["args"]["name"].startswith("rank ")
    }


def step_lanes(events):
    return {
        (e["pid"], e["tid"])
        for e in events
        if e["name"] == "thread_name" and e["args"]["name"] == "steps"
    }


def canonical(events):
    """What was recorded, without what each of the two formats adds: a multiset."""
    ranks, steps = rank_of(events), step_lanes(events)
    return collections.Counter(
        (
            ranks[e["pid"]],
            e["ph"],
            "memory" if e["name"] == "[memory]" else e["name"],
            Decimal(e["ts"]),
            Decimal(e.get("dur", 0)),
            json.dumps(e.get("args"), sort_keys=True, default=str),
        )
        for e in events
        if e["ph"] not in ARROWS_AND_NAMES
        and (e["pid"], e["tid"]) not in steps
        and e.get("args") != MADE_UP
    )


def inside(event, start, end):
    """Times are us."""
    _, _, _, at, dur, _ = event
    return at < end and (at >= start or at + dur > start)


class Slice(TimelineCase):
    def archive(self, ranks=2, **sample):
        """Of a made-up job; its steps 101 to 105 take 10 ms each, the same on all ranks."""
        self.job(ranks, **sample)
        return self.output.with_suffix(".ifp")

    def slice(self, archive, *options, name="x.json"):
        path = self.folder / name
        result = harness.run([harness.INFPROF, "slice", archive, *options, "-o", path])
        self.assertEnded(result, 0)
        self.assertEqual(result.stderr, "")
        self.summary = result.stdout
        return read(path)

    def everything(self, archive):
        path = self.folder / "everything.json"
        self.assertEnded(harness.run([harness.INFPROF, "export", archive, "-o", path]), 0)
        return canonical(read(path))

    def step_starts(self, archive):
        """By number: where the steps of rank 0 lie, us."""
        events = self.slice(archive, "--ranks", 0)
        lanes = step_lanes(events)
        return {
            int(e["name"].split("#")[1]): (e["ts"], e["ts"] + e["dur"])
            for e in events
            if e["ph"] == "X" and (e["pid"], e["tid"]) in lanes
        }


class Window(Slice):
    def test_without_a_window_everything_is_there(self):
        archive = self.archive(3, library="nccl")
        self.assertEqual(canonical(self.slice(archive)), self.everything(archive))

    def test_a_window_holds_exactly_what_reaches_into_it(self):
        archive = self.archive(3, library="nccl")
        recorded = self.everything(archive)
        first = int(min(at for _, _, name, at, _, _ in recorded if "Profiler" in name))
        seen = 0
        # From anywhere to anywhere, on the edges of events and between them.
        for start, end in [(0, 1), (300, 301), (200, 3300), (3199, 3200), (3200, 3201),
                           (9999, 10001), (25000, 25013), (0, 60000)]:
            options = ["--from", f"{first + start}us", "--to", f"{first + end}us"]
            with self.subTest(options=options):
                expected = collections.Counter({
                    event: count for event, count in recorded.items()
                    if inside(event, first + start, first + end)})
                self.assertEqual(canonical(self.slice(archive, *options)), expected)
                seen += sum(expected.values())
        self.assertGreater(seen, sum(recorded.values()))

    def test_a_step_is_a_window(self):
        archive = self.archive(2)
        recorded = self.everything(archive)
        starts = self.step_starts(archive)
        self.assertEqual(sorted(starts), STEPS)
        for option, first, last in [("102", 102, 102), ("103-105", 103, 105)]:
            events = self.slice(archive, "--step", option)
            start, end = starts[first][0], starts[last][1]
            expected = {event for event in recorded if inside(event, start, end)}
            self.assertEqual(set(canonical(events)), expected)
            lanes = step_lanes(events)
            steps = [e["name"] for e in events
                     if e["ph"] == "X" and (e["pid"], e["tid"]) in lanes]
            # Rank 0's are in the form that the plug-in knows.
            self.assertEqual(steps, [f"ProfilerStep#{n}" for n in range(first, last + 1)]
                             + [f"step {n}" for n in range(first, last + 1)])

    def test_times_count_from_the_start_of_the_step(self):
        archive = self.archive(2)
        start = self.step_starts(archive)[103][0]
        events = self.slice(archive, "--step", 103, "--from", "2ms", "--to", "2.5ms")
        expected = {event for event in self.everything(archive)
                    if inside(event, start + 2000, start + 2500)}
        self.assertEqual(set(canonical(events)), expected)
        # The end may lie behind that of the step.
        events = self.slice(archive, "--step", 103, "--from", "9ms", "--to", "11ms")
        self.assertEqual({e["name"] for e in events if e["name"].startswith("ProfilerStep#")},
                         {"ProfilerStep#103", "ProfilerStep#104"})

    def test_only_the_ranks_asked_for(self):
        archive = self.archive(5)
        events = self.slice(archive, "--ranks", "0,2-3")
        self.assertEqual(sorted(rank_of(events).values()), [0, 2, 3])
        self.assertEqual({e["pid"] for e in events}, {1000, 1004, 1006})
        expected = {event for event in self.everything(archive) if event[0] in (0, 2, 3)}
        self.assertEqual(set(canonical(events)), expected)

    def test_arrows_are_those_between_slices_that_are_inside(self):
        archive = self.archive(2, library="nccl")
        whole = self.slice(archive)
        start, end = self.step_starts(archive)[102]
        part = self.slice(archive, "--step", 102, "--from", "2.2ms", "--to", "5ms")
        start, end = start + 2200, start + 5000

        def arrows(events, keep):
            slices = {(e["pid"], e["tid"], e["ts"]): e for e in events if e["ph"] == "X"}
            names = {}
            for e in events:
                if e["ph"] in "sf":
                    names.setdefault(e["id"], []).append(slices[e["pid"], e["tid"], e["ts"]])
            return collections.Counter(
                tuple((e["pid"], e["name"], e["ts"]) for e in ends)
                for ends in names.values()
                if all(keep(e) for e in ends)
            )

        expected = arrows(whole, lambda e: e["ts"] < end and e["ts"] + e["dur"] > start)
        self.assertGreater(len(expected), 2)
        self.assertLess(len(expected), len(arrows(whole, lambda e: True)))
        self.assertEqual(arrows(part, lambda e: True), expected)
        self.assertRegex(self.summary, r"(?m)^\d+ arrows lead out of it and are not drawn$")

    def test_the_summary_counts(self):
        archive = self.archive(2)
        events = self.slice(archive, "--step", 102, name="step.pt.trace.json.gz")
        count = sum(canonical(events).values()) + sum(e["ph"] in "sf" for e in events)
        size = (self.folder / "step.pt.trace.json.gz").stat().st_size
        self.assertIn(f"step.pt.trace.json.gz  {size} bytes, {count} events of 2 ranks",
                      self.summary)

    def test_the_standard_output(self):
        archive = self.archive(2)
        self.slice(archive, "--step", 102)
        result = harness.run([harness.INFPROF, "slice", archive, "--step", 102, "-o", "-"])
        self.assertEnded(result, 0)
        self.assertEqual(result.stdout, (self.folder / "x.json").read_text())


class Kinds(Slice):
    def test_events_without_a_picture_are_there_as_they_were(self):
        place = {"pid": 1, "tid": 1, "cat": "c"}
        kinds = [
            {"ph": "X", "name": "slice", "ts": 10, "dur": 90, **place},
            {"ph": "b", "name": "begun", "ts": 12, "id": 5, **place},
            {"ph": "e", "name": "ended", "ts": 15, "id": 5, **place},
            {"ph": "B", "name": "half", "ts": 14, "args": {"a": 1}, **place},
            {"ph": "E", "name": "other half", "ts": 15, **place},
            {"ph": "P", "name": "sample", "ts": 16, "args": {"a": [{"b": 2}]}, **place},
            {"ph": "C", "name": "counter", "ts": 17, "args": {"v": 1}, **place},
            {"ph": "i", "name": "[memory]", "ts": 18, "s": "t", **place},
        ]
        for rank in (0, 1):
            (self.folder / f"rank{rank}.json").write_text(json.dumps({"traceEvents": kinds}))
        done = harness.run([harness.INFPROF, "merge", "--archive-only", "-o", self.output,
                            self.folder / "rank0.json", self.folder / "rank1.json"])
        self.assertEnded(done, 0)
        events = self.slice(self.output)
        self.assertEqual(canonical(events), self.everything(self.output))
        self.assertEqual(sum(canonical(events).values()), 2 * len(kinds))
        ids = collections.defaultdict(set)
        for e in events:
            if e["ph"] in "be":
                ids[e["pid"]].add(e["id"])
        (first,), (second,) = ids.values()
        self.assertNotEqual(first, second)


class LeftOut(Slice):
    """1 us apart: 70 slices of which none holds another, 3 steps of arrows, 3 halves of which one
    lies in no slice; and an arrow that is drawn."""

    TOO_MANY, STEPS, HALVES = 6, 3, 3

    def trace(self):
        place = {"pid": 1, "tid": 1, "cat": "c"}
        events = [{"ph": "X", "name": f"slice {i}", "ts": f"{i}.000", "dur": 500, **place}
                  for i in range(64 + self.TOO_MANY)]
        events += [{"ph": phase, "name": "arrow", "ts": ts, "id": number, **place}
                   for phase, ts, number in (("s", 1, 1), ("t", 2, 1), ("t", 3, 1), ("f", 4, 1),
                                             ("t", 5, 2), ("s", 6, 3), ("f", 7, 4))]
        events += [{"ph": "s", "name": "arrow", "ts": 8, "id": 5, **place, "tid": 2}]
        text = json.dumps({"traceEvents": events})
        path = self.folder / "rank0.json"
        path.write_text(re.sub(r'"ts": "([0-9.]+)"', r'"ts": \1', text))
        return path

    def merged(self):
        self.assertEnded(harness.run([harness.INFPROF, "merge", "--archive-only", "-o",
                                      self.output, self.trace()]), 0)
        return self.output

    def test_what_finds_no_place_is_counted(self):
        archive = self.merged()
        whole = self.TOO_MANY + self.STEPS + self.HALVES
        arrows, crowded = ("{} halves and steps of arrows that join nothing",
                           "{} where 64 or more others overlap on the lane")
        for options, count, causes in (
            (["--to", "5.5us"], self.STEPS, arrows.format(self.STEPS)),
            (["--from", "550us"], self.TOO_MANY, crowded.format(self.TOO_MANY)),
            ([], whole, arrows.format(self.STEPS + self.HALVES) + ", " + crowded.format(self.TOO_MANY))):
            for name in ("x.json", "x.pftrace"):
                with self.subTest(options=options, name=name):
                    result = harness.run([harness.INFPROF, "slice", archive, *options, "-o",
                                          self.folder / name])
                    self.assertEnded(result, 0)
                    self.assertIn(f"{count} events have no place in this format and are left out: "
                                  f"{causes}; infprof export writes them\n", result.stderr)
        # With what is there, it is all that the archive holds.
        self.assertIn(f", {64 + 2} events of 1 rank", result.stdout)
        events = read(self.folder / "x.json")
        self.assertEqual(sum(e["ph"] == "X" and e["name"].startswith("slice") for e in events), 64)
        self.assertEqual(sorted(e["ph"] for e in events if e["ph"] in "stf"), ["f", "s"])

    def test_the_timeline_has_rows_for_the_same(self):
        archive = self.merged()
        drawn = self.folder / "drawn"
        self.assertEnded(harness.run([harness.INFPROF, "timeline", archive, "-o", drawn]), 0)
        rows = json.loads((drawn / "report.json").read_text())["ledger"]
        folded = {row["why"]: row["count"] for row in rows if row["what"] == "timeline-folded"}
        self.assertEqual(
            folded, {"merged/: they overlap 64 or more others on their lane": self.TOO_MANY})
        left_out = {row["why"]: row["count"] for row in rows if row["what"] == "timeline-left-out"}
        (arrows,) = [count for why, count in left_out.items() if "steps of arrows" in why]
        self.assertEqual(arrows, self.STEPS + self.HALVES)


class Refusals(Slice):
    def assertRefused(self, options, status, text, name="x.json"):
        path = self.folder / name
        result = harness.run([harness.INFPROF, "slice", *options, "-o", path])
        self.assertEnded(result, status)
        self.assertEqual(result.stdout, "")
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertIn(text, result.stderr)
        self.assertEqual(set(self.folder.glob("x.*")), set())

    def test_bad_use(self):
        archive = self.archive()
        for options, text in [
            (["--step", "three"], '--step: "three" is no list of numbers'),
            (["--step", "5-3"], '--step: "5-3" is no list of numbers'),
            (["--step", "1,3"], '--step: "1,3" is more than one stretch'),
            (["--steps", "1,3"], '--steps: "1,3" is more than one stretch'),
            (["--step", "101", "--steps", "101"], "--step and --steps are the same"),
            (["--ranks", "0-"], '--ranks: "0-" is no list of numbers'),
            (["--ranks", "-1"], '--ranks: "-1" is no list of numbers'),
            (["--from", "10"], '"10" is no duration'),
            (["--from", "-1ms"], '"-1ms" is no duration'),
            (["--from", "10ms", "--to", "10ms"], "--to is not behind --from"),
            (["--to", "0s"], "--to is not behind --from"),
        ]:
            with self.subTest(options=options):
                self.assertRefused([archive, *options], 2, text)
        self.assertRefused([archive], 2, "the name says no format", name="x.txt")
        result = harness.run([harness.INFPROF, "slice", archive])
        self.assertEnded(result, 2)
        self.assertIn("-o FILE is missing", result.stderr)

    def test_what_is_not_there_is_named_with_what_is(self):
        archive = self.archive(3)
        for options, text in [
            (["--step", "100"], "there is no step 100: whole steps are 101-105"),
            (["--step", "104-106"], "there is no step 106: whole steps are 101-105"),
            (["--ranks", "1,3"], "holds no rank 3: it has ranks 0-2"),
            (["--step", "104", "--from", "1s"], "--from lies behind the end of the step"),
            (["--from", "100s"], "nothing was recorded from 100.000000 s of the run: "
             "there are events from 0.999999 s to 1.050"),
            (["--from", "1ms", "--to", "2ms"],
             "nothing was recorded from 0.001000 s to 0.002000 s of the run"),
        ]:
            with self.subTest(options=options):
                self.assertRefused([archive, *options], 1, text)

    def test_a_run_without_steps(self):
        archive = self.archive(1, options=["--no-marks"])
        self.assertRefused([archive, "--step", 1], 1, "no whole step was recorded")

    def test_the_archive_is_not_overwritten(self):
        archive = self.archive()
        link = self.folder / "link.json"
        link.symlink_to(archive)
        before = archive.read_bytes()
        result = harness.run([harness.INFPROF, "slice", archive, "-o", link])
        self.assertEnded(result, 1)
        self.assertIn("archive itself", result.stderr)
        self.assertEqual(archive.read_bytes(), before)


if __name__ == "__main__":
    unittest.main()
