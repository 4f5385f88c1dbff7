# SPDX-License-Identifier: Apache-2.0
"""The files of a drawn run, looked at as files: what every viewer relies on."""

import collections
import decimal
import json
import unittest

import harness
from timeline_case import TimelineCase, kineto_sample, why

# Categories that the plug-in maps, in small letters (profiler/trace.py, EventTypeMap).
MAPPED = {
    "trace", "cpu_op", "operator", "runtime", "kernel", "memcpy", "gpu_memcpy", "memset",
    "gpu_memset", "python", "memory", "python_function", "user_annotation", "gpu_user_annotation",
}  # fmt: skip
RANKS = 8
LONE_MARK = (
    '{"traceEvents":[{"ph":"X","cat":"mark","name":"x","pid":1,"tid":1,"ts":1,"dur":1}],'
    f'"baseTimeNanoseconds":{kineto_sample.BASE_NS}}}'
)


def exact(text):
    """The events of a trace with times as exact decimals."""
    return json.loads(text, parse_float=decimal.Decimal)["traceEvents"]


def slices(events):
    return [event for event in events if event["ph"] == "X"]


class Merged(TimelineCase):
    def test_one_row_per_rank_in_rank_order(self):
        self.job(RANKS, options=["--unaligned", "5"])
        events = self.events(self.merged())
        names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
        order = {
            e["pid"]: e["args"]["sort_index"] for e in events if e["name"] == "process_sort_index"
        }
        titles = [names[pid] for pid in sorted(names, key=order.get)]
        expected = ["infprof"] + [f"rank {rank} · node03 · ±0" for rank in range(RANKS)]
        expected[1 + 5] = "rank 5 · far.away · NOT ALIGNED"
        self.assertEqual(titles, expected)
        self.assertEqual(len({e["pid"] for e in slices(events)}), 1 + RANKS)

    def test_what_is_not_aligned_is_flagged_in_red(self):
        self.job(RANKS, options=["--unaligned", "5"])
        (alarm,) = [e for e in slices(self.events(self.merged())) if e["cat"] == "alarm"]
        self.assertEqual(alarm["name"],
                         "NOT ALIGNED: 1 of 8 ranks (first: rank 5) placed by wall clocks")
        self.assertEqual(alarm["cname"], "terrible")  # catapult's red

    def test_a_job_whose_clocks_are_aligned_has_no_alarm(self):
        self.job(2)
        self.assertNotIn("alarm", {e["cat"] for e in slices(self.events(self.merged()))})

    def test_the_events_are_the_last_member(self):
        self.job(2)
        text = self.text(self.merged())
        self.assertTrue(text.rstrip().endswith("]}"))
        self.assertEqual(text.count('"traceEvents"'), 1)
        self.assertEqual(list(json.loads(text))[-1], "traceEvents")

    def test_only_the_steps_of_the_first_rank_are_for_the_plug_in(self):
        self.job(2, library="nccl")
        mapped = [e for e in slices(self.events(self.merged())) if e["cat"].lower() in MAPPED]
        self.assertEqual(
            [(e["cat"], e["name"], e["pid"]) for e in mapped],
            [("user_annotation", f"ProfilerStep#{n}", 1000) for n in range(101, 106)],
        )

    def test_everything_recorded_is_there(self):
        drawn = self.job(2, library="nccl")
        events = self.events(self.merged())
        for rank in range(2):
            mine = collections.Counter(
                e["name"] for e in slices(events) if e["pid"] == 1000 + 2 * rank
            )
            self.assertEqual(mine["aten::addmm"], 10)
            self.assertEqual(mine["gemm"], 10)
            self.assertEqual(mine["nccl:all_reduce"], 10)
            self.assertEqual(mine["Optimizer.step#SGD.step"], 5)
            self.assertEqual(mine["PyTorch Profiler (0)"], 1)
            self.assertFalse([row for row in why(drawn, rank) if row.startswith("merged/")])
        self.assertFalse([e for e in events if e["name"] == "Record Window End"])

    def test_times_are_exact_on_one_axis(self):
        """The first mark is 1 us before the first event; the base is 1 s before that event."""
        self.job(2)
        events = slices(exact(self.text(self.merged())))
        for pid in (1000, 1002):
            first = min(e["ts"] for e in events if e["name"] == "aten::addmm" and e["pid"] == pid)
            forward = min(
                e["ts"]
                for e in events
                if e["name"] == "DistributedDataParallel.forward" and e["pid"] == pid
            )
            self.assertEqual(first - forward, decimal.Decimal("200.000"))
        starts = {e["ts"] for e in events if e["name"] == "PyTorch Profiler (0)"}
        self.assertEqual(starts, {decimal.Decimal("1000000.000")})

    def test_slices_of_a_lane_nest(self):
        def overlap(sample):
            for start in (100, 200, 300):
                sample.op("overlapping", sample.main, start, 150 + start)
            sample.op("zero", sample.main, 250, 0)
            sample.op("zero", sample.main, 250, 0)

        self.job(2, extra=[overlap])
        self.assertNested(slices(exact(self.text(self.merged()))))
        names = [
            e["args"]["name"]
            for e in self.events(self.merged())
            if e["name"] == "thread_name" and e["pid"] == 1000
        ]
        self.assertIn("main 4000", names)
        self.assertIn("main 4000 · overlapping 1", names)

    def assertNested(self, events):
        lanes = collections.defaultdict(list)
        for e in events:
            lanes[e["pid"], e["tid"]].append((e["ts"], -e["dur"], e["name"]))
        for lane in lanes.values():
            ends = []
            for start, dur, name in sorted(lane):
                while ends and ends[-1] <= start:
                    ends.pop()
                self.assertTrue(not ends or start - dur <= ends[-1], name)
                ends.append(start - dur)

    def test_arrows_are_whole_and_begin_where_slices_do(self):
        self.job(2, library="nccl")
        events = exact(self.text(self.merged()))
        starts = {(e["pid"], e["tid"], e["ts"]): e["name"] for e in slices(events)}
        ids = collections.defaultdict(list)
        for e in events:
            if e["ph"] in "sf":
                self.assertIn((e["pid"], e["tid"], e["ts"]), starts)
                ids[e["id"]].append(e["ph"])
        self.assertEqual({tuple(halves) for halves in ids.values()}, {("s", "f")})
        # Two ranks, 5 steps, per step 2 forward-backward pairs and 4 launches; between the ranks
        # 2 collectives a step.
        self.assertEqual(len(ids), 2 * 5 * 6 + 5 * 2)
        self.assertTrue(all(number < 2**53 for number in ids))

    def test_ranges_of_the_programs_own_are_on_the_lane_of_their_thread(self):
        self.job(2, library="nccl")
        for path in (self.merged(), self.rank_file(1)):
            lanes = collections.defaultdict(collections.Counter)
            for e in slices(self.events(path)):
                lanes[e["name"]][e["pid"], e["tid"]] += 1
            self.assertEqual(lanes["my range"], lanes["Optimizer.step#SGD.step"])
            self.assertEqual(set(lanes["my range"].values()), {5})

    def test_a_stamp_of_zero_does_not_stretch_the_axis(self):
        def zero(sample):
            epoch = -kineto_sample.FIRST_US - kineto_sample.BASE_NS // 1000
            sample.op("zero", sample.main, epoch, 1)

        drawn = self.job(1, extra=[zero])
        self.assertEqual(
            why(drawn, 0)["merged/, ranks/: the time is more than a year away from the run's"], 1
        )
        for path in (self.merged(), self.rank_file(0)):
            self.assertNotIn("zero", [e["name"] for e in self.events(path)])

    def test_lanes_of_all_ranks_are_told_apart(self):
        self.job(RANKS)
        owners = collections.defaultdict(set)
        for e in slices(self.events(self.merged())):
            owners[e["tid"]].add(e["pid"])
        self.assertTrue(all(len(pids) == 1 for pids in owners.values()))
        self.assertTrue(all(0 < tid < 2**32 for tid in owners))

    def test_without_marks_the_ranks_are_drawn_all_the_same(self):
        drawn = self.job(2, options=["--no-marks"])
        self.assertEqual(drawn["common_steps"], 0)
        self.assertEqual(len(drawn["files"]), 3)
        steps = [
            e for e in slices(self.events(self.merged())) if e["name"].startswith("ProfilerStep#")
        ]
        self.assertEqual([(e["name"], e["dur"]) for e in steps], [("ProfilerStep#0", 50000.0)])


class Ranks(TimelineCase):
    def test_all_files_hold_the_same_steps(self):
        """A window that began later on one rank: its first step is nobody's."""
        drawn = self.job(3, change={1: {"short_step": 2}})
        self.assertEqual(drawn["common_steps"], 4)
        reason = "ranks/: steps in which the ranks made different numbers of collectives"
        self.assertEqual(why(drawn, -1), {reason: 1})
        for rank in range(3):
            names = [e["name"] for e in slices(self.events(self.rank_file(rank)))]
            steps = [name for name in names if name.startswith("ProfilerStep#")]
            self.assertEqual(steps, [f"ProfilerStep#{n}" for n in (101, 102, 104, 105)])
            self.assertEqual(names.count("gloo:all_reduce"), 8)
            outside = why(drawn, rank)["ranks/: outside the steps that all ranks recorded"]
            self.assertGreater(outside, 0)

    def test_steps_that_do_not_rise_are_found_by_their_numbers(self):
        """Numbers that fall, and one that comes again: the first one of it counts."""
        numbers = {0: [7, 3, 9, 3, 5], 1: [5, 9, 3, 11, 7]}
        files = []
        for rank, order in numbers.items():
            files.append(self.folder / f"rank{rank}.json")
            kineto_sample.write(files[-1], rank, extra=[
                lambda sample, order=order: [
                    sample.slice("user_annotation", f"ProfilerStep#{number}", sample.main,
                                 kineto_sample.STEP_US * place, kineto_sample.STEP_US)
                    for place, number in enumerate(order)]])
        merged = [harness.INFPROF, "merge", *files, "-o", self.output, "--in-order"]
        self.assertEnded(harness.run(merged), 0)
        for rank, order in numbers.items():
            (path,) = (self.output / "ranks").glob(f"*_{rank:04}.*")
            names = [e["name"] for e in slices(self.events(path))]
            steps = [name for name in names if name.startswith("ProfilerStep#")]
            self.assertEqual(steps, [f"ProfilerStep#{n}" for n in order if n != 11])
        rows = [row["why"] for row in harness.report(self.output)["ledger"]]
        self.assertNotIn("ranks/: steps that were not recorded on all ranks", rows)

    def test_a_step_holds_the_optimizer_whole(self):
        """The mark lies inside the optimizer's range; the step must not cut it."""
        self.job(1)
        events = slices(self.events(self.rank_file(0)))
        steps = [e for e in events if e["name"].startswith("ProfilerStep#")]
        for e in events:
            if e["name"] == "Optimizer.step#SGD.step":
                inside = [
                    s
                    for s in steps
                    if s["tid"] == e["tid"]
                    and s["ts"] <= e["ts"]
                    and e["ts"] + e["dur"] <= s["ts"] + s["dur"] + 0.002
                ]
                self.assertEqual(len(inside), 1)

    def test_ids_tie_operators_launches_and_kernels(self):
        self.job(2, library="nccl")
        self.assertTied()

    def test_ids_of_two_windows_are_told_apart(self):
        self.job(2, library="nccl", steps=6, restart=3, options=["--windows", "2"])
        self.assertTied(steps=6)
        arrows = [e for e in self.events(self.rank_file(1)) if e["ph"] == "s"]
        self.assertEqual(len(arrows), 6 * 6)

    def assertTied(self, steps=5):
        events = slices(self.events(self.rank_file(1)))
        ops = collections.Counter(
            e["args"]["External id"] for e in events if e["cat"] in ("cpu_op", "user_annotation")
        )
        self.assertEqual(set(ops.values()), {1})
        launches = {e["args"]["correlation"]: e for e in events if e["cat"] == "Runtime"}
        kernels = [e for e in events if e["cat"] == "kernel"]
        self.assertEqual(len(launches), 4 * steps)
        self.assertEqual(len(kernels), 4 * steps)
        names = {e["args"].get("External id"): e["name"] for e in events if e["cat"] == "cpu_op"}
        for kernel in kernels:
            launch = launches[kernel["args"]["correlation"]]
            self.assertEqual(kernel["args"]["External id"], launch["args"]["External id"])
            self.assertEqual(kernel["pid"], kernel["args"]["device"])
            owner = "aten::addmm" if kernel["name"] == "gemm" else "nccl:all_reduce"
            self.assertEqual(names[kernel["args"]["External id"]], owner)

    def test_a_kernel_without_a_launch_belongs_to_the_step_that_it_begins_in(self):
        def lost(sample):
            sample.slice("kernel", "lost launch", 7, 1500, 30, pid=sample.device,
                         device=sample.device, stream=7, correlation=99999)

        drawn = self.job(2, library="nccl", extra=[lost], change={1: {"short_step": 2}})
        for rank in range(2):
            kernels = [e for e in slices(self.events(self.rank_file(rank)))
                       if e["cat"] == "kernel"]
            self.assertEqual(len([e for e in kernels if e["name"] == "lost launch"]), 1)
            # Four of the five steps are common; of the fifth nothing is there, kernels neither.
            self.assertEqual(len(kernels), 4 * 4 + 1)
            self.assertGreater(
                why(drawn, rank)["ranks/: outside the steps that all ranks recorded"], 0)

    def test_gpu_annotations_stay_what_they_are_but_for_steps_and_collectives(self):
        def annotate(sample):
            for i, name in enumerate(("my phase", "ProfilerStep#1", "nccl:all_reduce")):
                sample.slice("gpu_user_annotation", name, 7, 100 + 100 * i, 50,
                             pid=sample.device, device=sample.device, stream=7)

        self.job(2, library="nccl", extra=[annotate])
        found = {e["name"]: e["cat"] for e in slices(self.events(self.rank_file(1)))
                 if e["cat"].startswith("gpu_") and e["cat"].endswith("annotation")}
        self.assertEqual(found, {"my phase": "gpu_user_annotation",
                                 "ProfilerStep#1": "gpu_annotation",
                                 "nccl:all_reduce": "gpu_annotation"})

    def test_other_names_of_collectives_are_renamed_and_kept(self):
        def gather(sample):
            sample.op("nccl:_all_gather_base", sample.main, 500, 20, "user_annotation")

        self.job(2, library="nccl", extra=[gather])
        found = [e for e in self.events(self.rank_file(0)) if e["name"] == "nccl:all_gather"]
        self.assertEqual([e["args"]["name"] for e in found], ["nccl:_all_gather_base"])

    def test_a_rank_without_operators_gets_no_file_and_a_row(self):
        path = self.folder / "empty.json"
        path.write_text(LONE_MARK)
        other = self.folder / "other.json"
        kineto_sample.write(other, 0)
        drawn = self.draw([other, path])
        self.assertEqual(len(drawn["files"]), 2)
        self.assertIn("ranks/: no file, no operators were recorded on this rank", why(drawn, 1))

    def test_a_job_without_pytorch_gets_no_files_and_one_row(self):
        path = self.folder / "other.json"
        path.write_text(LONE_MARK)
        drawn = self.draw([path, path])
        self.assertEqual(len(drawn["files"]), 1)
        self.assertEqual(
            why(drawn, -1),
            {"ranks/: no files, no operators of PyTorch were recorded on any rank": 2},
        )

    def test_a_host_name_with_dots_does_not_end_the_worker_name(self):
        self.job(2, options=["--unaligned", "1"])
        self.assertTrue(self.rank_file(1, "far-away").is_file())


class Limits(TimelineCase):
    """ranks/ within --ranks-budget and --max-ranks-files."""

    RANKS = 4

    def limited(self, *options):
        """Draws; the one sentence on what is left out, None for nothing."""
        self.output = self.folder / "-".join(["out", *options])
        drawn = self.job(self.RANKS, options, library="nccl")
        reduced = [row for row in drawn["ledger"] if row["what"] == "ranks-reduced"]
        self.assertLessEqual(len(reduced), 1)
        self.drawn = drawn
        return reduced[0]["why"] if reduced else None

    def files(self):
        return sorted((self.output / "ranks").iterdir())

    def sizes(self):
        return sum(len(self.text(path)) for path in self.files())

    def budget(self, size):
        return self.limited("--ranks-budget", str(size))

    def test_a_budget_is_kept_to_and_held_against_all_that_there_is(self):
        self.assertIsNone(self.limited())
        whole = self.sizes()
        seen = set()
        for percent in (100, 97, 80, 60, 40, 20, 12, 8, 5):
            size = whole * percent // 100
            reason = self.budget(size)
            self.assertLessEqual(self.sizes(), size)
            if reason is None:
                continue
            self.assertRegex(reason, "^ranks/ (holds|is empty)")
            self.assertIn("are more than --ranks-budget", reason)
            seen |= {word for word in ("args", "steps", "of 4 ranks", "is empty") if word in reason}
        self.assertEqual(seen, {"args", "steps", "of 4 ranks", "is empty"})

    def test_all_files_are_cut_to_the_same_steps_and_keep_every_kernel_of_them(self):
        self.limited()
        self.assertEqual(self.budget(self.sizes() * 45 // 100).split(":")[0],
                         "ranks/ holds all 4 ranks, 2 of 5 steps (102 to 103), of args what is "
                         "computed with, no shapes")
        for path in self.files():
            events = slices(self.events(path))
            steps = [e["name"] for e in events if e["name"].startswith("ProfilerStep#")]
            self.assertEqual(steps, ["ProfilerStep#102", "ProfilerStep#103"])
            self.assertEqual(len([e for e in events if e["cat"] == "kernel"]), 2 * 4)
            self.assertEqual(len([e for e in events if e["name"] == "nccl:all_reduce"]), 2 * 2)
            for e in events:
                shapes = "Input Dims" in e.get("args", {})
                self.assertEqual(shapes, e["name"] == "nccl:all_reduce", e)
            self.assertEqual({e["args"]["device"] for e in events if e["cat"] == "kernel"},
                             {self.files().index(path)})
        rank = why(self.drawn, 0)
        # In each step the shapes of two products and the "cbid" of four launches.
        self.assertEqual(rank["ranks/: without shapes and args that nothing is computed from"],
                         2 * (2 + 4))
        self.assertGreater(rank["ranks/: outside the steps that the files hold"], 0)

    def test_the_ranks_that_matter_come_before_the_others(self):
        reason = self.limited("--max-ranks-files", "2", "--first", "2", "--first", "1")
        self.assertEqual(reason, "ranks/ holds 2 of 4 ranks (1, 2): --max-ranks-files is 2")
        self.assertEqual(self.files(), [self.rank_file(1), self.rank_file(2)])
        for rank in (0, 3):
            left_out = why(self.drawn, rank)["ranks/: no file, for the limits of ranks/"]
            self.assertGreater(left_out, 100)

    def test_others_are_chosen_evenly(self):
        self.limited("--max-ranks-files", "2")
        self.assertEqual(self.files(), [self.rank_file(0), self.rank_file(3)])

    def test_less_than_a_step_leaves_nothing(self):
        self.assertRegex(self.budget(1), "^ranks/ is empty: [0-9.]+ kB are more than --ranks-budget 1 B; "
                         "one step of one rank takes [0-9.]+ kB; --ranks-budget 0 sets no limit$")
        self.assertEqual(self.files(), [])

    def test_0_is_no_limit(self):
        self.assertIsNone(self.limited("--max-ranks-files", "0", "--ranks-budget", "0"))
        self.assertEqual(len(self.files()), self.RANKS)


if __name__ == "__main__":
    unittest.main()
