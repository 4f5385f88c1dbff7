# SPDX-License-Identifier: Apache-2.0
"""infprof merge: what belongs together stays together, and nothing of two ranks ever meets.

Ranks of one job use the same numbers for different things: processes, threads, arrows,
correlations, External ids. First the two ranks of a real job, then random ones whose places and ids
are equal across ranks, negative, texts, or larger than 2^53 and 2^64. A failure prints its seed.
"""

import collections
import json
import os
import pathlib
import random
import shutil
import tempfile
import unittest

from merge_case import DDP, Merge, canonical, nanoseconds, read

JAVASCRIPT_LIMIT = 2**53
SEEDS = range(1, 13)

# What real and odd tracers use as pid and tid, and as ids. 9007199254740992 and ...993 are one
# double; "7" and 7 are two places, as 0 and "" are.
PLACES = [0, 1, 7, -1, -7, 2**31, -2**31, 2**53, 2**53 + 1, 2**63 - 1, -2**63, 2**63, 2**64,
          2**64 + 1, 10**30, "7", "", "Spans", "Spars", "a \"b\" \\ c", "\u00e9\u4e2d", "9007199254740993"]
# Lanes that differ in nothing else.
TWINS = [(2**53, 2**53 + 1), (2**64, 2**64 + 1), (7, "7"), ("Spans", "Spars"), (7, -7), (0, "")]
IDS = [0, 1, 7, 2**31, 2**32, 2**32 + 1, 2**33 + 7, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64,
       2**64 + 1, 10**25, -1, -7, "7", "0x7", "", "\u00e9", "a \"b\""]
CORRELATIONS = [n for n in IDS if not isinstance(n, int) or n > 0]
# What an operating system could give a process: the files of single ranks show threads only.
THREADS = [n for n in PLACES if isinstance(n, int) and -2**63 <= n < 2**63]


def slice_of(rank, name, pid, tid, ts, dur, cat="cpu_op", **args):
    return {"ph": "X", "cat": cat, "name": f"{rank} {name}", "pid": pid, "tid": tid, "ts": ts,
            "dur": dur, "args": args}


def random_rank(seed, rank, places):
    """Slices on lanes at random, arrows between them, launches and kernels; all names differ."""
    chance = random.Random(seed * 100 + rank)
    lanes = {(chance.choice(places), chance.choice(places)) for _ in range(12)}
    for twins in TWINS:
        other = chance.choice(places)
        for place in set(twins) & set(places):
            lanes |= {(place, other), (other, place)}
    lanes = sorted(lanes, key=str)
    events, slices = [], []
    for i in range(150):
        pid, tid = chance.choice(lanes)
        slices.append(slice_of(rank, f"op {i}", pid, tid, 1000 + 10 * i, 8,
                               **{"External id": chance.choice(IDS)}))
    for i, number in enumerate(IDS):
        start, end = sorted(chance.sample(range(150), 2))
        name = f"{rank} arrow {i}"
        for phase, at in (("s", slices[start]), ("f", slices[end])):
            events.append({"ph": phase, "cat": "ac2g", "name": name, "id": number,
                           "pid": at["pid"], "tid": at["tid"], "ts": at["ts"] + 2,
                           "args": {"from": slices[start]["name"], "to": slices[end]["name"]}})
    for i, number in enumerate(CORRELATIONS):
        pid, tid = chance.choice(lanes)
        slices.append(slice_of(rank, f"launch {i}", pid, tid, 3000 + 10 * i, 4, "cuda_runtime",
                               correlation=number, pair=i, **{"External id": chance.choice(IDS)}))
        device, stream = chance.randrange(4), chance.choice([0, 7, 20])
        slices.append(slice_of(rank, f"kernel {i}", device, stream, 3003 + 10 * i, 5, "kernel",
                               correlation=number, pair=i, device=device, stream=stream))
    events += slices
    chance.shuffle(events)
    return {"distributedInfo": {"rank": rank, "world_size": 3}, "traceEvents": events}


class Drawing:
    """The timeline of all ranks, taken apart by the rank that each name begins with."""

    def __init__(self, elements):
        self.slices = {e["name"]: e for e in elements if e["ph"] == "X" and e["name"][0].isdigit()}
        self.arrows = collections.defaultdict(dict)
        for element in elements:
            if element["ph"] in "sf":
                self.arrows[element["id"]].setdefault(element["ph"], []).append(element)
        self.elements = elements

    def of_rank(self, rank):
        return [e for e in self.elements
                if e["ph"] in "Xsf" and e["name"].startswith(f"{rank} ")]

    def slice_at(self, half):
        """The innermost slice that a viewer would tie this half of an arrow to."""
        ts = nanoseconds(half["ts"])
        around = [e for e in self.slices.values() if (e["pid"], e["tid"]) == (half["pid"], half["tid"])
                  and nanoseconds(e["ts"]) <= ts <= nanoseconds(e["ts"]) + nanoseconds(e["dur"])]
        return min(around, key=lambda e: nanoseconds(e["dur"]))["name"] if around else None


class RandomIds(Merge):
    """Each job is merged once and looked at by all tests."""

    @classmethod
    def setUpClass(cls):
        cls.jobs = pathlib.Path(tempfile.mkdtemp(prefix="infprof-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.jobs)
        cls.traces = {}

    def for_each_seed(self, check, places="PLACES"):
        for seed in SEEDS:
            with self.subTest(seed=seed):
                job = self.jobs / f"{places}-{seed}"
                self.output = job / "merged"
                if job not in self.traces:
                    self.merge_job(seed, job, globals()[places])
                check(self.traces[job], Drawing(self.drawn()))

    def merge_job(self, seed, job, places):
        traces = [random_rank(seed, rank, places) for rank in range(3)]
        result = self.merge_json(*[self.write(job / f"rank{rank}.json", trace)
                                   for rank, trace in enumerate(traces)])
        for source, trace in zip(result["sources"], traces):
            self.assertEqual(source["events"], len(trace["traceEvents"]))
        self.traces[job] = traces

    def test_places_and_ids_of_two_ranks_never_meet(self):
        def check(traces, drawing):
            for key in ("pid", "tid"):
                used = [{e[key] for e in drawing.of_rank(rank)} for rank in range(3)]
                self.assertTrue(all(used))
                self.assertFalse(used[0] & used[1] | used[0] & used[2] | used[1] & used[2])
                self.assertTrue(all(isinstance(n, int) and 0 < n < JAVASCRIPT_LIMIT
                                    for n in set.union(*used)), used)
            self.assertTrue(all(0 < number < JAVASCRIPT_LIMIT for number in drawing.arrows))
        self.for_each_seed(check)

    def test_lanes_stay_apart_and_whole(self):
        def check(traces, drawing):
            rows = {}  # of the timeline: which lane of which trace it shows
            for rank, trace in enumerate(traces):
                for event in trace["traceEvents"]:
                    if event["ph"] != "X":
                        continue
                    drawn = drawing.slices[event["name"]]
                    lane = json.dumps([rank, event["cat"] == "kernel", event["pid"], event["tid"]])
                    self.assertEqual(rows.setdefault((drawn["pid"], drawn["tid"]), lane), lane)
        self.for_each_seed(check)

    def test_every_arrow_ends_where_it_began(self):
        def check(traces, drawing):
            seen = set()
            for halves in drawing.arrows.values():
                (start,), (end,) = halves["s"], halves["f"]
                self.assertEqual(start["name"], end["name"])
                seen.add(start["name"])
            self.assertEqual(seen, {e["name"] for t in traces for e in t["traceEvents"]
                                    if e["ph"] == "s"})
            for trace in traces:
                for event in trace["traceEvents"]:
                    if event["ph"] in "sf":
                        half, = [h for halves in drawing.arrows.values()
                                 for h in halves[event["ph"]] if h["name"] == event["name"]]
                        side = "from" if event["ph"] == "s" else "to"
                        self.assertEqual(drawing.slice_at(half), event["args"][side])
        self.for_each_seed(check)

    def test_kernels_and_operators_keep_their_ids(self):
        """Correlations and External ids hold within a rank, whose row shows them as recorded."""
        def check(traces, drawing):
            for rank, trace in enumerate(traces):
                for event in trace["traceEvents"]:
                    if event["ph"] == "X":
                        self.assertEqual(drawing.slices[event["name"]]["args"], event["args"])
                for i, _ in enumerate(CORRELATIONS):
                    launch, kernel = (drawing.slices[f"{rank} {what} {i}"]
                                      for what in ("launch", "kernel"))
                    self.assertEqual(launch["pid"], kernel["pid"])
                    self.assertEqual(launch["args"]["correlation"], kernel["args"]["correlation"])
        self.for_each_seed(check)

    def test_in_the_file_of_a_rank_kernels_have_the_number_of_their_launch(self):
        """There the numbers are made anew: they must pair the same, and stay numbers."""
        def check(traces, drawing):
            for rank in range(3):
                path, = (self.output / "ranks").glob(f"*_{rank:04}.*.json.gz")
                numbers = collections.defaultdict(set)
                for event in read(path)["traceEvents"]:
                    if "pair" in event.get("args", {}):
                        self.assertIsInstance(event["args"]["correlation"], int)
                        numbers[event["args"]["pair"]].add(event["args"]["correlation"])
                self.assertEqual(set(numbers), set(range(len(CORRELATIONS))))
                self.assertTrue(all(len(of_pair) == 1 for of_pair in numbers.values()))
                self.assertEqual(len(set.union(*numbers.values())), len(CORRELATIONS))
        self.for_each_seed(check, "THREADS")

    def test_an_export_gives_them_all_back(self):
        def check(traces, drawing):
            for rank, trace in enumerate(traces):
                self.assertEqual(canonical(self.exported(rank)), canonical(trace))
        self.for_each_seed(check)


class RealRanks(Merge):
    def check_job(self, paths):
        self.merge("--budget", "1GB", *paths)
        drawn = self.drawn()
        titles = {e["pid"]: e["args"]["name"] for e in drawn if e["name"] == "process_name"}
        pids = [next(pid for pid, title in titles.items() if title.startswith(f"rank {rank} "))
                for rank in range(2)]
        halves = collections.defaultdict(dict)
        for event in drawn:
            if event["ph"] in "sf":
                self.assertNotIn(event["ph"], halves[event["id"]], "an id is used twice")
                halves[event["id"]][event["ph"]] = event
        tids = [{e["tid"] for e in drawn if e["pid"] == pid and e["ph"] != "M"} for pid in pids]
        self.assertTrue(all(tids))
        self.assertFalse(tids[0] & tids[1])
        for rank, path in enumerate(paths):
            self.check_rank(pids[rank], [e for e in drawn if e["pid"] == pids[rank]],
                            [pair for pair in halves.values() if pair["s"]["pid"] == pids[rank]],
                            read(path)["traceEvents"])

    def check_rank(self, pid, drawn, arrows, recorded):
        """Arrows from which launch to which kernel, by correlation: as they were recorded."""
        ends = collections.defaultdict(dict)
        for event in recorded:
            if event["ph"] in "sf" and event["cat"] == "ac2g":
                ends[event["id"]][event["ph"]] = event
        whole = {number for number, pair in ends.items() if len(pair) == 2}
        launches, kernels = self.by_correlation(drawn)
        self.assertEqual((launches, kernels), self.by_correlation(recorded))
        met = set()
        for pair in arrows:
            # The parts of a collective on different ranks are joined; all else stays in its rank.
            between = pair["s"]["cat"] == "collective"
            self.assertEqual(pair["f"]["pid"] != pid, between, pair)
            if pair["s"]["cat"] == "ac2g":
                met.add((self.at(drawn, pair["s"], False), self.at(drawn, pair["f"], True)))
        self.assertEqual(met, {(number, number) for number in whole})

    def by_correlation(self, events):
        """Correlations of launches, and of work on the GPU."""
        found = (collections.Counter(), collections.Counter())
        for event in events:
            args = event.get("args") or {}
            if event["ph"] == "X" and args.get("correlation", 0) > 0:
                found["stream" in args][args["correlation"]] += 1
        return found

    def at(self, drawn, half, on_gpu):
        """The correlation of the slice that this half of an arrow begins or ends at."""
        if not hasattr(self, "index") or self.index[0] is not drawn:
            places = collections.defaultdict(list)
            for event in drawn:
                args = event.get("args") or {}
                if event["ph"] == "X" and args.get("correlation"):
                    places[event["tid"], event["ts"]].append(args)
            self.index = drawn, places
        args, = [args for args in self.index[1][half["tid"], half["ts"]]
                 if ("stream" in args) == on_gpu]
        return args["correlation"]

    def test_of_a_small_job(self):
        self.check_job(DDP)

    @unittest.skipUnless(os.environ.get("INFPROF_TRACES"),
                         "INFPROF_TRACES is not set: the large traces are not here")
    def test_of_a_large_job(self):
        folder = pathlib.Path(os.environ["INFPROF_TRACES"])
        self.check_job([folder / f"ddp-straggler.rank{n}.pt.trace.json.gz" for n in (0, 1)])


if __name__ == "__main__":
    unittest.main()
