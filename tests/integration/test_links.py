# SPDX-License-Identifier: Apache-2.0
"""Arrows between the ranks of a collective, and how far apart they came, in a merged timeline.

In the made-up job every rank does 10 all-reduces at the same moments; here rank 2 comes to the n-th
of them 5.25 + n us late, which is inside of the others' 500 us.
"""

import collections
import decimal
import json
import shutil
import unittest

from timeline_case import TimelineCase

RANKS = 4
LATE = 2
COLLECTIVES = 10
LATER = [decimal.Decimal("5.25") + n for n in range(COLLECTIVES)]


def come_late(sample):
    all_reduces = [e for e in sample.events if e["name"].endswith(":all_reduce")]
    for event, later in zip(all_reduces, LATER):
        event["ts"] += float(later)


def cut_short(sample):
    """Its part of each collective ends before the last rank comes."""
    for event in sample.events:
        if event["name"].endswith(":all_reduce"):
            event["dur"] = 4.0


class Links(TimelineCase):
    def draw_late(self, options=(), change=None):
        shutil.rmtree(self.output, ignore_errors=True)
        self.folder.joinpath("out.ifp").unlink(missing_ok=True)
        changes = {LATE: {"extra": [come_late]}, **(change or {})}
        drawn = self.job(RANKS, options=options, change=changes, library="nccl")
        text = self.text(self.merged())
        self.drawn = json.loads(text, parse_float=decimal.Decimal)["traceEvents"]
        self.length = len(text)
        return drawn

    def arrows(self):
        """Pairs of halves, each of which the viewer finds in the slice that is open there."""
        halves = collections.defaultdict(list)
        lanes = collections.defaultdict(list)
        for e in self.drawn:
            if e["ph"] in "sf" and e["cat"] == "collective":
                halves[e["id"]].append(e)
            if e["ph"] == "X":
                lanes[e["pid"], e["tid"]].append(e)
        for start, end in halves.values():
            self.assertEqual((start["ph"], end["ph"], end["bp"]), ("s", "f", "e"))
            self.assertLessEqual(start["ts"], end["ts"])
            self.assertEqual(start["name"], end["name"])
            self.assertLess(start["id"], 2**53)
            for half in (start, end):
                around = [e for e in lanes[half["pid"], half["tid"]]
                          if e["ts"] <= half["ts"] <= e["ts"] + e["dur"]]
                innermost = min(around, key=lambda e: e["dur"])
                self.assertEqual(innermost["name"], "nccl:all_reduce")
        ids = [e["id"] for e in self.drawn if e["ph"] == "s"]
        self.assertEqual(len(set(ids)), len(ids))
        return list(halves.values())

    def rank_of(self, half):
        return (half["pid"] - 1000) // 2

    def skew(self):
        return [(e["pid"], e["ts"], e["args"]["us"]) for e in self.drawn
                if e["ph"] == "C" and e["name"] == "skew of collectives"]

    def by_rank(self, arrows):
        return collections.Counter(
            (self.rank_of(start), self.rank_of(end), start["name"]) for start, end in arrows)

    def test_arrows_lead_from_the_rank_that_was_last_to_those_that_waited(self):
        self.draw_late()
        arrows = self.arrows()
        name = f"all_reduce, waited for rank {LATE}"
        self.assertEqual(
            self.by_rank(arrows),
            {(LATE, rank, name): COLLECTIVES for rank in range(RANKS) if rank != LATE})
        for start, end in arrows:
            self.assertEqual(start["ts"], end["ts"])

    def test_skew_is_how_much_later_the_last_rank_came_than_the_first(self):
        self.draw_late()
        starts = sorted(e["ts"] for e in self.drawn if e["ph"] == "X" and
                        e["name"] == "nccl:all_reduce" and e["pid"] == 1000 + 2 * LATE)
        self.assertEqual(self.skew(), [(999, at, later) for at, later in zip(starts, LATER)])
        titles = {e["pid"]: e["args"]["name"] for e in self.drawn if e["name"] == "process_name"}
        self.assertEqual(titles[999], "infprof")

    def test_a_rank_that_did_not_wait_is_not_said_to_have(self):
        self.draw_late(change={0: {"extra": [cut_short]}})
        waited = f"all_reduce, waited for rank {LATE}"
        self.assertEqual(
            self.by_rank(self.arrows()),
            {(0, LATE, "all_reduce, the same one"): COLLECTIVES,
             (LATE, 1, waited): COLLECTIVES, (LATE, 3, waited): COLLECTIVES})

    def test_without_common_clocks_only_the_collective_is_a_fact(self):
        self.draw_late(options=["--unaligned", "3"])
        arrows = self.arrows()
        self.assertEqual(len(arrows), COLLECTIVES * (RANKS - 1))
        self.assertEqual({start["name"] for start, _ in arrows}, {"all_reduce, the same one"})
        self.assertEqual(self.skew(), [])

    def test_steps_with_other_collectives_have_none(self):
        self.draw_late(change={1: {"short_step": 3}})
        self.assertEqual(len(self.arrows()), (COLLECTIVES - 2) * (RANKS - 1))
        self.assertEqual(len(self.skew()), COLLECTIVES - 2)

    def test_what_a_budget_leaves_out_is_counted(self):
        self.draw_late()
        whole, length = len(self.arrows()), self.length
        others = len({e["id"] for e in self.drawn if e["ph"] == "s"}) - whole
        seen = set()
        for part in range(7, 20, 2):
            drawn = self.draw_late(options=["--budget", str(length * part // 20)])
            arrows = len(self.arrows())
            all_arrows = len([e for e in self.drawn if e["ph"] == "s"])
            folded = sum(row["count"] for row in drawn["ledger"]
                         if row["what"] == "timeline-folded-arrows")
            self.assertEqual(all_arrows + folded, whole + others)
            self.assertLessEqual(self.length, length * part // 20)
            seen.add(arrows)
        self.assertEqual(seen, {0, whole})


if __name__ == "__main__":
    unittest.main()
