# SPDX-License-Identifier: Apache-2.0
"""infprof merge aligns the clocks of traces by what their ranks did together.

A trace is rewritten as if its clock had been another one (tests/harness/shift_trace.py); what the
alignment says of it must differ from what it says of the trace as it is by just that. Traces: three
steps of DDP on two GPUs of one host, and the whole recording where INFPROF_TRACES is set.
"""

import json
import os
import pathlib
import random
import sys
import unittest

import archive_format as fmt
import harness

sys.path.insert(0, str(harness.SOURCE / "tests" / "harness"))
import shift_trace  # noqa: E402
from merge_case import DATA, Merge, nanoseconds, read

STEPS = [DATA / "ddp-steps.rank0.json.gz", DATA / "ddp-steps.rank1.json.gz"]
WHERE = os.environ.get("INFPROF_TRACES")
WHOLE = [pathlib.Path(WHERE or ".") / f"ddp-straggler.rank{rank}.pt.trace.json.gz"
         for rank in (0, 1)]
OTHER = [next(iter(pathlib.Path(WHERE or ".").glob(f"ondemand.rank{rank}_*.json.gz")), None)
         for rank in (0, 1)]
SKIP = unittest.skipUnless(WHERE, "INFPROF_TRACES is not set: the whole recording is not here")
SECOND = 10**9


def ends(events, base=0):
    """When each of a trace's collectives ended, in order of their starts."""
    kernels = [e for e in events if e.get("ph") == "X" and e.get("cat") == "kernel"
               and e["name"].startswith("nccl")]
    spans = [(nanoseconds(e["ts"], base), nanoseconds(e["dur"])) for e in kernels]
    return [start + length for start, length in sorted(spans)]


class Aligned(Merge):
    def changed(self, name, path, **clock):
        """The path of a trace as another clock would have given it, and that clock."""
        trace = shift_trace.load(path)
        if clock.pop("collectives_only", False):
            trace["traceEvents"] = [e for e in trace["traceEvents"] if shift_trace.kept(e)
                                    and "Broadcast" not in e["name"]]
        clock = shift_trace.Clock(trace, **clock)
        shift_trace.rewrite(trace, clock)
        shift_trace.dump(trace, self.folder / name)
        return self.folder / name, clock

    def offsets(self, first, second):
        """Of rank 1 at each of its collectives, by the alignment: its stamp minus job time."""
        self.output = self.folder / f"out{len(list(self.folder.iterdir()))}"
        self.merge("--archive-only", "--in-order", first, second)
        recorded = read(second)
        stamps = ends(recorded["traceEvents"], int(recorded["baseTimeNanoseconds"]))
        placed = harness.export(self.output)
        ranks = {e["pid"]: e["args"]["name"] for e in placed if e["name"] == "process_name"}
        ours = [e for e in placed if ranks.get(e["pid"], "").startswith("rank 1")]
        base = self.base(first, placed, ranks)
        return [stamp - end for stamp, end in zip(stamps, ends(ours, base), strict=True)]

    def base(self, first, placed, ranks):
        """Job time is the clock of rank 0: its stamps tell when the exported 0 was."""
        recorded = read(first)
        stamps = ends(recorded["traceEvents"], int(recorded["baseTimeNanoseconds"]))
        ours = [e for e in placed if ranks.get(e["pid"], "").startswith("rank 0")]
        return stamps[0] - ends(ours)[0]

    def worst(self, paths, *clocks, collectives_only=False):
        """
        By how much the found differs from what was injected, at the worst collective, in ns; one
        number for each clock.
        """
        first, _ = self.changed("rank0.json.gz", paths[0], collectives_only=collectives_only)
        plain, _ = self.changed("plain.json.gz", paths[1], collectives_only=collectives_only)
        moments = ends(shift_trace.load(plain)["traceEvents"])
        before, worst = self.offsets(first, plain), []
        for clock in clocks:
            moved, clock = self.changed("moved.json.gz", plain, **clock)
            after = self.offsets(first, moved)
            injected = [clock.offset(moment) for moment in moments]
            worst.append(max(abs(a - b - i)
                             for b, a, i in zip(before, after, injected, strict=True)))
        return worst

    def sweep(self, paths, places):
        """The same with a shift, a drift, and a step behind each of these collectives; sorted."""
        clocks = [{"shift": -SECOND, "ppm": 500, "step": 5_000_000, "after": after}
                  for after in places]
        worst = sorted(self.worst(paths, *clocks, collectives_only=True))
        print(f"{len(worst)} places, {sum(ns <= 1000 for ns in worst)} of them below 1 us: median "
              f"{worst[len(worst) // 2]} ns, most {worst[-1]} ns", file=sys.stderr)
        return worst

    def test_a_shift_is_found_to_the_nanosecond(self):
        self.assertLessEqual(max(self.worst(
            STEPS, {"shift": 137 * SECOND + 123456789}, {"shift": -3})), 1)

    def test_a_drift_is_found(self):
        self.assertLessEqual(max(self.worst(STEPS, {"ppm": 500}, {"ppm": -500})), 10)

    def test_shift_drift_and_step_are_found_to_a_microsecond(self):
        clock = {"shift": 137 * SECOND, "ppm": 500, "step": 5_000_000, "after": 22}
        self.assertLessEqual(self.worst(STEPS, clock)[0], 1000)

    def test_wherever_the_step_is_it_is_found(self):
        """A step costs one more unknown: the fewer operations on a side, the less exactly."""
        worst = self.sweep(STEPS, range(4, 41, 4))
        self.assertGreaterEqual(sum(ns <= 1000 for ns in worst), 6)
        self.assertLessEqual(worst[-1], 3000)

    @SKIP
    def test_in_the_whole_recording_it_is_found_to_a_microsecond_nearly_everywhere(self):
        worst = self.sweep(WHOLE, range(4, 71))
        self.assertGreaterEqual(sum(ns <= 1000 for ns in worst), 64)
        self.assertLessEqual(worst[-1], 1500)

    @SKIP
    def test_in_another_recording_it_is_found_to_a_microsecond_everywhere(self):
        self.assertLessEqual(self.sweep(OTHER, range(4, 72))[-1], 1000)

    def test_the_report_tells_offset_rate_sigma_and_bound(self):
        """Both ranks ran on one host, so the offset is what was injected."""
        first, _ = self.changed("rank0.json.gz", STEPS[0])
        moved, clock = self.changed("moved.json.gz", STEPS[1], shift=3 * SECOND, ppm=100,
                                    step=5_000_000, after=22)
        self.merge("--in-order", first, moved)
        reference, aligned = harness.report(self.output)["clocks"]
        self.assertEqual((reference["method"], reference["bound_ns"]), ("shared", 0))
        self.assertEqual(aligned["method"], "collectives")
        self.assertEqual((aligned["epochs"], aligned["realtime_steps"]), (45, 1))
        self.assertLess(abs(aligned["rate_ppm"] - 100), 20)
        clock = json.loads(
            harness.run([harness.INFPROF, "clock", "--json", self.output]).stdout)["ranks"][1]
        self.assertEqual((clock["method"], clock["over"]), ("collectives", None))
        # lines are of whole ns, and collectives 2 ms apart: the rates of single gaps scatter by 0.5
        self.assertLess(max(abs(epoch["rate_ppm"] - aligned["rate_ppm"])
                            for epoch in clock["epochs"]), 0.1)
        self.assertLess(abs(aligned["offset_ns"] - 3 * SECOND), 10_000)
        self.assertGreater(aligned["sigma_ns"], 100)
        self.assertLess(aligned["sigma_ns"], 10_000)
        self.assertLess(abs(aligned["offset_ns"] - 3 * SECOND), aligned["bound_ns"])
        titles = [e["args"]["name"] for e in self.drawn() if e["name"] == "process_name"]
        self.assertFalse([title for title in titles if "NOT ALIGNED" in title], titles)
        self.assertNotIn((1, "clock-unaligned"), harness.ledger_words(self.output))

    def test_the_bound_is_that_of_what_is_drawn(self):
        """A window that ends long behind the last event: its mark is not drawn."""
        bounds = []
        for behind in (0, 20_000_000):  # us
            trace = shift_trace.load(STEPS[1])
            last = max(e["ts"] + e.get("dur", 0) for e in trace["traceEvents"] if "ts" in e)
            trace["traceEvents"].append({"ph": "i", "s": "g", "name": "Record Window End",
                                         "pid": "", "tid": "", "ts": last + behind})
            shift_trace.dump(trace, self.folder / f"rank1.{behind}.json.gz")
            self.output = self.folder / f"out{behind}"
            self.merge("--in-order", STEPS[0], self.folder / f"rank1.{behind}.json.gz")
            bounds.append(harness.report(self.output)["clocks"][1])
        self.assertGreater(bounds[0]["bound_ns"], 1000)
        self.assertEqual(*bounds)

    def test_ranks_that_did_nothing_together_stay_unaligned(self):
        """Their collectives are of two groups that have only the name of the first in common."""
        trace = shift_trace.load(STEPS[1])
        for event in trace["traceEvents"]:
            if shift_trace.is_collective(event):
                event["args"]["Process Group Ranks"] = "[2, 3]"
        shift_trace.dump(trace, self.folder / "other.json.gz")
        self.merge("--in-order", STEPS[0], self.folder / "other.json.gz")
        self.assertEqual([c["method"] for c in harness.report(self.output)["clocks"]],
                         ["unaligned", "unaligned"])
        self.assertIn((1, "clock-unaligned"), harness.ledger_words(self.output))
        self.assertIn("the 45 collectives of rank 1 do not align it", self.why_unaligned(1))

    def test_ranks_without_collectives_are_told_so(self):
        trace = shift_trace.load(STEPS[1])
        trace["traceEvents"] = [e for e in trace["traceEvents"] if not shift_trace.is_collective(e)]
        shift_trace.dump(trace, self.folder / "other.json.gz")
        self.merge("--in-order", STEPS[0], self.folder / "other.json.gz")
        self.assertIn("the trace of rank 1 has no collectives", self.why_unaligned(1))

    def why_unaligned(self, rank):
        return next(row["why"] for row in harness.report(self.output)["ledger"]
                    if (row["what"], row["rank"]) == ("clock-unaligned", rank))

    def test_ranges_of_gloo_do_where_there_are_no_kernels(self):
        """Three ranks; rank 1's clock is 40 s ahead, rank 2's runs 200 ppm fast."""
        clocks = [lambda t: t, lambda t: t + 40 * SECOND, lambda t: t + t // 5000]
        spans, chance = [[], [], []], random.Random(1)
        for k in range(60):
            come = [k * 10_000_000 + chance.randrange(3_000_000) for r in range(3)]
            for r in range(3):
                leave = max(come) + 200_000 + chance.randrange(40_000)
                spans[r].append((clocks[r](come[r]), clocks[r](leave)))
        paths = [self.write(f"rank{r}.json", {"baseTimeNanoseconds": 10**18, "traceEvents": [
            {"ph": "X", "cat": "user_annotation", "name": "gloo:all_reduce", "pid": 1, "tid": 2,
             "ts": start / 1000, "dur": (end - start) / 1000,
             "args": {"Input Dims": [[1024]], "Input type": ["float"]}}
            for start, end in spans[r]]}) for r in range(3)]
        self.merge("--archive-only", *paths)
        report = harness.run([harness.INFPROF, "report", "--json", self.output])
        self.assertEnded(report, 0)
        clocks = json.loads(report.stdout)["clocks"]
        self.assertEqual([c["method"] for c in clocks], ["shared", "collectives", "collectives"])
        self.assertLess(abs(clocks[1]["offset_ns"] - 40 * SECOND), 20_000)
        self.assertLess(abs(clocks[2]["rate_ppm"] - 200), 20)

    def queued(self, rank, ahead_us):
        """
        The trace of a rank whose GPU makes an all-reduce each ms, at the same moments as all others,
        while its host has queued it so much earlier. All clocks are one.
        """
        events = []
        for k in range(40):
            begins = 10_000 + 1000 * k
            events += [
                {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{k + 1}", "pid": 1,
                 "tid": 1, "ts": begins - ahead_us, "dur": 990},
                {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernelExC", "pid": 1,
                 "tid": 1, "ts": begins - ahead_us + 50, "dur": 5,
                 "args": {"correlation": k + 1}},
                {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                 "pid": rank, "tid": 7, "ts": begins + 90 - rank, "dur": 30 + rank,
                 "args": {"correlation": k + 1, "device": rank, "stream": 7,
                          "Collective name": "allreduce", "In msg nelems": 1024,
                          "dtype": "Float", "Group size": 2}}]
        return self.write(f"queued{rank}.json", {
            "baseTimeNanoseconds": 10**18, "traceEvents": events,
            "distributedInfo": {"rank": rank, "world_size": 2}})

    def test_the_step_of_a_kernel_is_that_of_its_launch(self):
        """One host is five steps ahead of its GPU; all intervals are alike, only steps tell."""
        self.merge("--archive-only", "--in-order", self.queued(0, 5000), self.queued(1, 0))
        clocks = json.loads(harness.run([harness.INFPROF, "clock", "--json", self.output]).stdout)
        self.assertEqual(clocks["ranks"][1]["method"], "collectives")
        self.assertLess(abs(clocks["ranks"][1]["offset_ns"]), 1000)
        self.assertLess(clocks["ranks"][1]["bound_ns"], 100_000)

    def late(self, late_ns):
        """
        The verdict on 20 steps of two ranks, of which rank 1 comes late to the first of two
        all-reduces, and either to the second. (A rank that is late to all of them cannot be told
        from one whose clock is ahead: the bound is as large as its lateness.)
        """
        chance, spans = random.Random(2), [[], []]
        for k in range(40):
            come = [k * 10_000_000 + chance.randrange(100_000) + r * (k % 2 == 0) * late_ns
                    for r in range(2)]
            for r in range(2):
                leave = max(come) + 200_000 + chance.randrange(20_000)
                spans[r].append((come[r] + r * 40 * SECOND, leave + r * 40 * SECOND))
        paths = [self.write(f"late{r}.json", {"baseTimeNanoseconds": 10**18, "traceEvents": [
            {"ph": "X", "cat": "user_annotation", "name": "gloo:all_reduce", "pid": 1, "tid": 2,
             "ts": start / 1000, "dur": (end - start) / 1000, "args": {"Input Dims": [[1024]]}}
            for start, end in spans[r]] + [
            {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{n + 1}", "pid": 1,
             "tid": 1, "ts": (spans[r][2 * n][0] - 1_000_000) / 1000, "dur": 19_500}
            for n in range(20)]}) for r in range(2)]
        self.output = self.folder / f"late{late_ns}"
        self.merge("--archive-only", *paths)
        return json.loads(harness.run([harness.INFPROF, "report", "--json", self.output]).stdout)

    def test_a_rank_is_called_late_beyond_the_bound_alone(self):
        report = self.late(3_000_000)
        bound = max(clock["bound_ns"] for clock in report["clocks"])
        self.assertGreater(bound, 90_000)  # an operation takes 200 us: half of it at the least
        self.assertLess(bound, 1_000_000)
        self.assertEqual((report["verdict"]["kind"], report["verdict"]["candidate"]["rank"]),
                         ("late", 1))
        report = self.late(150_000)
        self.assertNotEqual(report["verdict"]["kind"], "late")
        self.assertEqual(report["verdict"]["reason"], "within-bound")

    def archive_with_an_end_too_early(self):
        """
        Three ranks' all-reduces, 10 ms apart, end within 2 us: but rank 1 always 40 us later, which
        nobody can tell from a clock that is 40 us ahead. Only the 20th ends for all of them 1 us
        after rank 2, which was late: by its line rank 1 left it before rank 2 came.
        """
        chance, spans = random.Random(3), [[], [], []]
        for k in range(40):
            come = [k * 10_000_000 + chance.randrange(150_000) + 300_000 * (r == 2 and k == 20)
                    for r in range(3)]
            for r in range(3):
                takes = 1_000 if k == 20 else 200_000 + 40_000 * (r == 1) + chance.randrange(2_000)
                spans[r].append((come[r], max(come) + takes))
        paths = [self.write(f"early{r}.json", {"baseTimeNanoseconds": 10**18, "traceEvents": [
            {"ph": "X", "cat": "user_annotation", "name": "gloo:all_reduce", "pid": 1, "tid": 2,
             "ts": start / 1000, "dur": (end - start) / 1000, "args": {"Input Dims": [[1024]]}}
            for start, end in spans[r]]}) for r in range(3)]
        self.merge("--archive-only", *paths)
        return spans

    def placed(self):
        """By rank, (start, end) of each all-reduce in job time."""
        events = harness.export(self.output)
        titles = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
        found = [[], [], []]
        for event in events:
            if event["name"] == "gloo:all_reduce":
                start, length = nanoseconds(event["ts"]), nanoseconds(event["dur"])
                found[int(titles[event["pid"]].split()[1])].append((start, start + length))
        return [sorted(spans) for spans in found]

    def test_an_end_before_the_last_rank_came_is_moved_behind_it(self):
        recorded = self.archive_with_an_end_too_early()
        placed = self.placed()
        early = [(k, r) for k in range(40) for r in range(3)
                 if placed[r][k][1] < max(placed[other][k][0] for other in range(3))]
        self.assertEqual(early, [])
        # longer by what it was moved, which is not taken for a clock that was set
        stretched = placed[1][20][1] - placed[1][20][0]
        moved = stretched - (recorded[1][20][1] - recorded[1][20][0])
        self.assertGreater(moved, 35_000)
        self.assertLess(moved, 45_000)
        clock = harness.run([harness.INFPROF, "clock", "--json", self.output])
        orders = [rank["order"] for rank in json.loads(clock.stdout)["ranks"]]
        self.assertEqual([(order["ends"], order["moved"], order["left"]) for order in orders],
                         [(40, 0, 0), (40, 1, 0), (40, 0, 0)])
        self.assertLess(abs(orders[1]["largest_ns"] - moved), 100)
        report = harness.run([harness.INFPROF, "report", "--json", self.output])
        rows = {(row["rank"], row["what"], row["count"])
                for row in json.loads(report.stdout)["ledger"]}
        self.assertIn((1, "clock-moved", 1), rows)
        table = harness.run([harness.INFPROF, "clock", self.output]).stdout
        self.assertIn("Ends of operations that lay before the last rank had come", table)
        self.assertNotIn("lay before", harness.run(
            [harness.INFPROF, "clock", self.merged_pair()]).stdout)

    def merged_pair(self):
        """Of two GPUs: nothing there is too early."""
        output, self.output = self.output, self.folder / "pair"
        self.merge("--archive-only", "--in-order", *STEPS)
        self.output, output = output, self.output
        return output

    def test_ranges_of_nccl_prove_nothing(self):
        """They end when the kernel is queued, not when it has run."""
        paths = [self.write(f"rank{r}.json", {"traceEvents": [
            {"ph": "X", "cat": "user_annotation", "name": "nccl:all_reduce", "pid": 1, "tid": 2,
             "ts": 1000 * k, "dur": 100} for k in range(30)]}) for r in range(2)]
        self.merge("--archive-only", *paths)
        self.assertFalse(documents_of_clocks(self.output))


def documents_of_clocks(output):
    return [frame for frame in fmt.read_frames((output / "run.ifp").read_bytes())
            if frame[1] == fmt.CLOCK]


if __name__ == "__main__":
    unittest.main()
