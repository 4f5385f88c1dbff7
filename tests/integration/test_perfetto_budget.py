# SPDX-License-Identifier: Apache-2.0
"""What a timeline in Perfetto's form shows within a budget, by an independent reader (pftrace.py).

The same as test_budget.py asks of every picture, but for what the form does not say (the step of a
slice), and what it alone has: one row for the whole run, arrows between ranks as packets.
"""

import collections
import json
import pathlib
import subprocess
import sys
import unittest

import harness
import test_budget
from test_budget import DATA, GIGABYTE, Archive, Slice
from timeline_case import TimelineCase

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "harness"))
import pftrace  # noqa: E402

RANKS, LATE, COLLECTIVES = 4, 2, 10
KINDS = {"fold": "fold", "step": "step"}
COMPUTED = ("GPU ", "collectives in flight ", "skew of collectives ")


class Drawn(test_budget.Picture):
    """What infprof timeline drew; counted and summed up as any picture."""

    def __init__(self, test, archive, budget, *options):
        output = test.folder / f"{archive.path.parent.name}-{budget}"
        result = harness.run([harness.INFPROF, "timeline", archive.path, "-o", output, "--formats",
                              "perfetto", "--budget", budget, *options])
        self.error, self.drawn, self.output = result.stderr, result.returncode == 0, output
        if not self.drawn:
            return
        test.assertEnded(result, 0)
        self.path = output / "perfetto" / "run.pftrace.gz"
        self.trace = pftrace.Trace(self.path)
        self.printed = [line.partition(": ")[2] for line in result.stdout.splitlines()
                        if line.startswith("perfetto/: ")]
        self.lanes, self.ends = collections.defaultdict(list), collections.defaultdict(list)
        self.moments, self.notes = 0, []
        self.read()
        verdict = json.loads((output / "report.json").read_text())
        self.ledger = verdict["ledger"]
        self.summary = {"text": self.printed[0] if self.printed else "",
                        "bytes": len(self.trace.bytes)}

    @staticmethod
    def exact(args):
        """Times of folds are thousandths of us: as text they are exact."""
        for found in args.get("by category", {}).values():
            found["busy_us"] = f"{found['busy_us']:.3f}"
        return args

    def read(self):
        for track, name, category, start, end, args, flows in self.trace.slices():
            rank = self.trace.rank_of(track)
            kind = KINDS.get(category, "event")
            if rank is None:
                if not name.startswith("NOT ALIGNED"):
                    self.notes.append(name)
            elif end is None:
                self.moments += kind == "event"
            else:
                self.lanes[rank, track].append(
                    Slice(start, end, category, name, None, kind,
                          self.exact(args) if kind == "fold" else args, track))
            for flow in flows:
                self.ends[flow].append((rank, track, start, name))
        self.moments += sum(
            kind == pftrace.COUNTER and not self.trace.tracks[track]["name"].startswith(COMPUTED)
            for _, kind, track, *_ in self.trace.events)
        self.flows = self.ends

    def groups_steps(self):
        return True

    def busy(self, by_step=False):
        return super().busy(False)

    def shown(self):
        return collections.Counter(
            (rank, one.start, one.end, one.category)
            for (rank, _), lane in self.lanes.items() for one in lane if one.kind != "fold")


class Case(test_budget.Budget):
    def least(self, archive):
        refused = Drawn(self, archive, 1)
        self.assertIn("give --budget ", refused.error)
        told = refused.error.partition("give --budget ")[2].split()[0]
        return int(told[:-2]) * 10 ** {"KB": 3, "MB": 6, "GB": 9}[told[-2:]]

    def assertTrue_to(self, archive, picture, busy):
        picture.summary["recorded"] = archive.count()
        picture.summary["shown"] = len(picture.slices("event")) + picture.moments
        if picture.notes:
            words = picture.notes[0].split()
            self.assertEqual(int(words[2]), picture.summary["shown"])
            self.assertEqual(int(words[4]), archive.count())
        super().assertTrue_to(archive, picture, busy)
        self.assertEqual(picture.notes, picture.printed)
        folded = sum(row["count"] for row in picture.ledger if row["what"] == "timeline-folded")
        self.assertEqual(folded, archive.count() - picture.summary["shown"])

    def assertDrawable(self, picture):
        for lane in picture.lanes.values():
            for one, around in test_budget.forest(lane):
                self.assertTrue(not around or one.end <= around[-1].end, one)
                self.assertFalse([other for other in around if other.kind == "fold"], one)
        for ends in picture.ends.values():
            self.assertEqual(len(ends), 2)

    def picture(self, archive, budget):
        return Drawn(self, archive, budget)

    def busy(self, archive):
        return {False: archive.busy(False)}

    def check(self, archive, steps=6):
        super().check(archive, steps)


class Properties(Case):
    def test_samples(self):
        for path in sorted(DATA.glob("*.json.gz")):
            with self.subTest(path=path.name):
                self.check(self.merge([path], path.name), steps=3)


def random_test(seed, steps):
    def test(self):
        self.check(self.random_archive(seed, steps=steps))

    return test


for count in (0, 6):
    setattr(Properties, f"test_crowded_lanes_with_{count}_steps",
            test_budget.crowded_test(count + 7, count))
for number in (1, 2, 3):
    for count in (0, 6):
        setattr(Properties, f"test_random_seed_{number}_with_{count}_steps",
                random_test(number, count))


class Run(Case, TimelineCase):
    """What is of the whole run: a job whose rank 2 comes to the n-th all-reduce 5 + n us late."""

    def late(self):
        self.job(RANKS, change={LATE: {"extra": [self.come_late]}}, library="nccl")
        return Archive(self.output.with_suffix(".ifp"))

    @staticmethod
    def come_late(sample):
        all_reduces = [e for e in sample.events if e["name"].endswith(":all_reduce")]
        for n, event in enumerate(all_reduces):
            event["ts"] += 5 + n

    def test_skew_has_a_row_above_the_ranks(self):
        trace = Drawn(self, self.late(), GIGABYTE).trace
        run = [uuid for uuid, title in trace.processes.items() if title == "infprof"]
        self.assertEqual(len(run), 1)
        self.assertLess(trace.tracks[run[0]]["order"],
                        min(trace.tracks[uuid]["order"] for uuid in trace.processes
                            if uuid not in run))
        (skew,) = [uuid for uuid, track in trace.tracks.items()
                   if track["name"] == "skew of collectives us"]
        self.assertEqual(trace.tracks[skew]["parent"], run[0])
        values = [value for _, kind, track, _, _, _, _, value in trace.events if track == skew]
        self.assertEqual(values, [5 + n for n in range(COLLECTIVES)])

    def test_arrows_lead_from_the_rank_that_was_last_to_those_that_waited(self):
        drawn = Drawn(self, self.late(), GIGABYTE)
        packets = [event for event in drawn.trace.events if event[1] in ("s", "f")]
        starts = {event[-1]: drawn.trace.rank_of(event[2]) for event in packets if event[1] == "s"}
        found = collections.Counter(
            (starts[event[-1]], drawn.trace.rank_of(event[2])) for event in packets
            if event[1] == "f")
        for arrow in starts:
            self.assertEqual([end[-1] for end in drawn.ends[arrow]], ["nccl:all_reduce"] * 2)
        self.assertEqual(found, {(LATE, rank): COLLECTIVES for rank in range(RANKS)
                                 if rank != LATE})
        self.assertEqual({event[3] for event in packets}, {f"all_reduce, waited for rank {LATE}"})

    def test_the_note_says_what_a_budget_folds_and_arrows_are_counted(self):
        archive = self.late()
        whole = Drawn(self, archive, GIGABYTE)
        self.assertEqual(whole.notes, [])
        seen = set()
        for part in (12, 18, 24, 30):
            budget = whole.summary["bytes"] * part // 20
            drawn = Drawn(self, archive, budget)
            self.assertLessEqual(drawn.summary["bytes"], budget)
            self.assertEqual(drawn.notes, drawn.printed)
            self.assertIn(f"--budget {budget}: ", drawn.notes[0])
            folded = sum(row["count"] for row in drawn.ledger
                         if row["what"] == "timeline-folded-arrows")
            self.assertEqual(len(drawn.ends) + folded, len(whole.ends))
            seen.add(len(drawn.ends))
        self.assertGreater(len(seen), 1)

    def test_a_limit_of_events(self):
        archive = self.late()
        drawn = Drawn(self, archive, 0, "--max-events", "500")
        events = sum(map(len, drawn.lanes.values())) + drawn.moments + 2 * len(drawn.ends)
        self.assertLessEqual(events, 500)
        self.assertIn("--max-events 500: ", drawn.notes[0])

    def test_the_compiler_of_protocol_buffers_reads_it(self):
        """Each field that there is, with its wire type: what is cut or doubled it refuses."""
        archive = self.late()
        drawn = Drawn(self, archive, 60_000)
        result = subprocess.run(["protoc", "--decode_raw"], input=drawn.trace.bytes, check=True,
                                capture_output=True, timeout=60)
        packets = sum(line == b"1 {" for line in result.stdout.splitlines())
        self.assertEqual(packets, sum(1 for _ in pftrace.fields(drawn.trace.bytes)))


if __name__ == "__main__":
    unittest.main()
