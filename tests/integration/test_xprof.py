# SPDX-License-Identifier: Apache-2.0
"""What is drawn for xprof, TensorBoard's profile plug-in: the files, read by protobuf's own library,
and what xprof 2.24.2 itself makes of them, asked as a browser asks it."""

import collections
import gzip
import json
import os
import unittest

import harness
from timeline_case import TimelineCase, kineto_sample, why

ANSWERS = harness.SOURCE / "tests" / "harness" / "xprof_answers.py"
SAMPLES = harness.SOURCE / "tests" / "data" / "kineto"
STEPS = range(101, 106)
FORMATS = ("--formats", "pytorch,xplane")


def ns(us):
    return round(us * 1000)


def slices(events):
    """How often each slice is there: by name, start and length, in ns."""
    return collections.Counter(
        (event["name"], ns(event["ts"]), ns(event["dur"])) for event in events
    )


def table(answer):
    names = [column["id"] for column in answer["cols"]]
    return [dict(zip(names, (cell.get("v") for cell in row["c"]))) for row in answer["rows"]]


def step_ns(overview):
    """Number or name of each step in the Overview's table, and its length."""
    rows = table(next(t for t in overview if t["cols"] and t["cols"][0]["id"] == "stepnum"))
    # The column behind the tooltip.
    return [(row["stepnum"], ns(1000 * list(row.values())[-1])) for row in rows]


def process_names(viewer):
    return {
        event["pid"]: event["args"]["name"]
        for event in viewer["traceEvents"]
        if event["name"] == "process_name"
    }


class Xprof(TimelineCase):
    def ask(self, *requests, output=None):
        if not os.access(harness.PYTHON, os.X_OK):
            self.fail(f"INFPROF_PYTHON ({harness.PYTHON!r}) is no Python with xprof")
        result = harness.run([harness.PYTHON, ANSWERS, output or self.output, *requests])
        self.assertEnded(result, 0)
        return json.loads(result.stdout.splitlines()[-1])

    def merge(self, *names):
        output = self.folder / "out"
        files = [SAMPLES / name for name in names]
        result = harness.run([harness.INFPROF, "merge", *files, "-o", output, *FORMATS])
        self.assertEnded(result, 0)
        return output

    def planes(self, rank=0):
        return self.ask()["files"][f"rank{rank:04}.xplane.pb"]

    def step_slices(self, label="{}"):
        """Of rank 0, as the merged timeline has them: label of the number, and length."""
        steps = [e for e in self.events(self.merged()) if e["name"].startswith("ProfilerStep#")]
        self.assertEqual(len(steps), 5)
        return [(label.format(e["name"].partition("#")[2]), ns(e["dur"])) for e in steps]

    def drawn_slices(self, rank):
        """Those of the merged timeline that are events, not steps."""
        pids = {1000 + 2 * rank}
        return slices(
            event
            for event in self.events(self.merged())
            if event["ph"] == "X" and event["pid"] in pids
            and event["cat"] != "step" and not event["name"].startswith("ProfilerStep#")
        )


class Viewer(Xprof):
    def test_all_ranks_at_their_times(self):
        self.job(3, FORMATS)
        asked = self.ask("trace_viewer@", "trace_viewer@=rank0001")
        (run,) = asked["runs"].values()
        self.assertEqual(run["hosts"], ["rank0000", "rank0001", "rank0002"])
        viewer, alone = asked["answers"]
        names = process_names(viewer)
        shown = collections.defaultdict(list)
        for event in viewer["traceEvents"]:
            if event["ph"] == "X" and not event["name"].startswith("step "):
                shown[names[event["pid"]].split()[0]].append(event)
        for rank in range(3):
            self.assertEqual(slices(shown[f"rank{rank:04}"]), self.drawn_slices(rank))
        self.assertEqual({n.split()[0] for n in process_names(alone).values()}, {"rank0001"})

    def test_lanes_are_those_of_the_merged_timeline(self):
        self.job(1, FORMATS)
        (viewer,) = self.ask("trace_viewer@")["answers"]
        titles = [e["args"]["name"] for e in viewer["traceEvents"] if e["name"] == "thread_name"]
        self.assertEqual(titles[0].split(" · ")[:3], ["steps", "rank 0", "node03"])
        self.assertEqual(titles[1:3], ["main 4000", "pt_autograd_0 4500"])

    def test_arrows_lead_from_each_launch_to_its_work_in_every_window(self):
        """Correlations begin anew in the second window."""
        self.job(1, FORMATS, library="nccl", device=0, steps=4, restart=2)
        (viewer,) = self.ask("trace_viewer@")["answers"]
        ends = collections.defaultdict(dict)
        for event in viewer["traceEvents"]:
            if "bind_id" in event:
                side = "out" if event.get("flow_out") else "in"
                self.assertNotIn(side, ends[event["bind_id"]])
                ends[event["bind_id"]][side] = event
        self.assertEqual(len(ends), 16)
        for arrow in ends.values():
            self.assertEqual(arrow["out"]["name"], "cudaLaunchKernel")
            # Each kernel of the sample starts 50 us behind its call.
            self.assertEqual(ns(arrow["in"]["ts"]) - ns(arrow["out"]["ts"]), 50000)

    def test_each_drawing_is_a_run_of_its_own(self):
        """xprof keeps what it has made of a file, and never looks at the file again."""
        self.job(1, FORMATS)
        before = self.ask("trace_viewer@")
        again = harness.run(
            [harness.INFPROF, "timeline", f"{self.output}.ifp", "-o", self.output,
             "--formats", "xplane"]
        )
        self.assertEnded(again, 0)
        after = self.ask()
        (first,) = before["runs"]
        self.assertEqual(sorted(after["runs"]), [first, f"{first}-2"])
        self.assertEqual(before["files"], after["files"])
        self.assertEqual(os.listdir(self.output / "plugins"), ["profile"])


class Analyses(Xprof):
    def test_steps_of_a_cpu_job(self):
        self.job(2, FORMATS)
        overview, one = self.ask("overview_page", "overview_page=rank0001")["answers"]
        expected = self.step_slices("step {}")
        self.assertEqual(step_ns(one), expected)
        self.assertEqual(step_ns(overview), expected)

    def test_steps_of_a_gpu_job(self):
        self.job(2, FORMATS, library="nccl")
        overview, one = self.ask("overview_page", "overview_page=rank0001")["answers"]
        expected = self.step_slices()
        self.assertEqual(step_ns(one), expected)
        # For several ranks it counts the steps that all of them have.
        self.assertEqual(
            step_ns(overview), [(str(i), length) for i, (_, length) in enumerate(expected)]
        )

    def test_work_counts_for_the_step_that_launched_it(self):
        """A kernel that runs when its step is over on the host makes no step longer."""

        def late(sample):
            kernels = [e for e in sample.events if e["cat"] == "kernel" and e["name"] == "gemm"]
            kernels[1]["ts"] += 9000  # of the first step, into the second

        self.job(1, FORMATS, library="nccl", device=0, extra=[late])
        asked = self.ask("overview_page")
        self.assertEqual(step_ns(asked["answers"][0]), self.step_slices())
        gpu = asked["files"]["rank0000.xplane.pb"]["/device:GPU:0"]
        groups = collections.Counter(
            event["stats"]["group_id"]
            for line in gpu["lines"] for event in line["events"] if event["name"] == "gemm"
        )
        self.assertEqual(groups, {n: 2 for n in STEPS})

    def test_kernels_of_a_real_job(self):
        """Two ranks under DDP on two GPUs: counts, times and operators of the kernels."""
        output = self.merge("ddp.rank0.json.gz", "ddp.rank1.json.gz")
        asked = self.ask("kernel_stats", "kernel_stats=rank0000", "overview_page", output=output)
        together, first, overview = asked["answers"]
        expected = []
        for rank in range(2):
            with gzip.open(SAMPLES / f"ddp.rank{rank}.json.gz") as file:
                events = json.load(file)["traceEvents"]
            expected.append(collections.defaultdict(list))
            for event in events:
                if event.get("cat") == "kernel":
                    expected[rank][event["name"]].append(ns(event["dur"]))
        self.assertKernels(first, [expected[0]])
        self.assertKernels(together, expected)
        machine = next(t["p"] for t in overview if "device_type" in t.get("p", {}))
        self.assertEqual(machine["device_type"], "Nvidia GPU (Hopper)")

    def assertKernels(self, answer, expected):
        wanted = collections.defaultdict(list)
        for kernels in expected:
            for name, durations in kernels.items():
                wanted[name] += durations
        counts, total_ns = collections.Counter(), collections.Counter()
        for row in table(answer):
            counts[row["kernel_name"]] += row["occurrences"]
            total_ns[row["kernel_name"]] += ns(row["total_duration_us"])
        self.assertGreater(len(counts), 3)
        self.assertEqual(counts, {name: len(all_) for name, all_ in wanted.items()})
        self.assertEqual(total_ns, {name: sum(all_) for name, all_ in wanted.items()})

    def test_how_kernels_were_launched_and_by_what(self):
        self.job(1, FORMATS, library="nccl", device=0)
        kernels, operators = self.ask("kernel_stats", "framework_op_stats")["answers"]
        rows = {(row["kernel_name"], row["op_name"]): row for row in table(kernels)}
        self.assertEqual(
            set(rows),
            {("gemm", "aten/addmm"), ("ncclKernel", "record_param_comms")},
        )
        gemm = rows["gemm", "aten/addmm"]
        self.assertEqual(gemm["registers_per_thread"], 32)
        self.assertEqual((gemm["grid_dim"], gemm["block_dim"]), ("8,1,1", "256,1,1"))
        self.assertEqual(gemm["occupancy_pct"], 50)
        self.assertEqual(gemm["occurrences"], 10)
        self.assertEqual(ns(gemm["total_duration_us"]), 10 * ns(kineto_sample.GEMM_US))
        counts = {
            (row["host_or_device"], row["operation"]): row["occurrences"]
            for row in table(operators[0])
        }
        self.assertEqual(counts["Host", "aten/addmm"], 10)
        self.assertEqual(counts["Host", "aten/mm"], 10)
        self.assertEqual(counts["Device", "aten/addmm"], 10)


class Files(Xprof):
    def test_everything_is_in_the_file_of_its_rank(self):
        self.job(2, FORMATS, library="nccl")
        asked = self.ask()
        self.assertEqual(sorted(asked["files"]), ["rank0000.xplane.pb", "rank0001.xplane.pb"])
        for rank in range(2):
            found = collections.Counter(
                (event["shown"], event["start_ns"], event["dur_ns"])
                for plane in asked["files"][f"rank{rank:04}.xplane.pb"].values()
                for line in plane["lines"]
                for event in line["events"]
                if event["name"] != "step" and event["dur_ns"]
            )
            self.assertEqual(found, self.drawn_slices(rank))

    def test_args_are_kept_and_none_is_taken_for_the_plug_ins_own(self):
        def mark(sample):
            sample.slice("cpu_op", "aten::mine", sample.main, 4000, 10, group_id=7, tf_op="x",
                         big=2**63 + 1, small=-(2**63), real=0.5, text='a"b', flag=True,
                         dims=[[1, 2], []])

        self.job(1, FORMATS, extra=[mark])
        (event,) = self.find("aten::mine")
        self.assertEqual(event["name"], "aten/mine:mine")
        stats = event["stats"]
        self.assertEqual(stats.pop("group_id"), 101)
        self.assertEqual(
            stats,
            {"recorded group_id": 7, "recorded tf_op": "x", "big": 2**63 + 1, "small": -(2**63),
             "real": 0.5, "text": 'a"b', "flag": "true", "dims": "[[1,2],[]]"},
        )

    def find(self, shown):
        return [
            event
            for plane in self.planes().values()
            for line in plane["lines"]
            for event in line["events"]
            if event["shown"] == shown
        ]

    def test_a_mark_called_train_is_not_taken_for_the_step(self):
        def mark(sample):
            sample.slice("user_annotation", "train_all", sample.main, -1000, 60000)

        self.job(1, FORMATS, extra=[mark])
        (overview,) = self.ask("overview_page")["answers"]
        self.assertEqual(step_ns(overview), self.step_slices("step {}"))

    def test_copies_annotations_and_counters_of_a_gpu(self):
        def add(sample):
            sample.slice("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 7, 5000, 20, pid=0,
                         device=0, stream=7, bytes=4096, correlation=99)
            sample.slice("gpu_user_annotation", "ProfilerStep#3", 7, 300, 9000, pid=0)
            sample.events.append({"ph": "C", "name": "queue", "pid": sample.pid,
                                  "tid": sample.main, "ts": kineto_sample.FIRST_US + 50,
                                  "args": {"depth": 3}})

        self.job(1, FORMATS, library="nccl", device=0, extra=[add])
        (viewer,) = self.ask("trace_viewer@")["answers"]
        planes = self.planes()
        self.assertEqual(planes["/device:GPU:0"]["id"], 0)
        (copy,) = self.find("Memcpy HtoD (Pageable -> Device)")
        self.assertEqual(copy["name"], "MemcpyHtoD (Pageable -> Device)")
        self.assertEqual(copy["stats"]["memcpy_details"], "num_bytes:4096")
        notes = planes["/device:CUSTOM:GPU 0 annotations"]["lines"]
        self.assertEqual([e["name"] for e in notes[0]["events"]], ["ProfilerStep#3"])
        (counter,) = [e for e in viewer["traceEvents"] if e["ph"] == "C" and e["name"] == "queue"]
        (drawn,) = [e for e in self.events(self.merged()) if e["name"] == "queue"]
        self.assertEqual(counter["event_stats"], "depth")
        self.assertEqual(counter["entries"], [[drawn["ts"], 3]])

    def test_work_outside_of_all_steps_lengthens_none(self):
        def after(sample):
            sample.op("aten::mm", sample.main, 50500, 300)
            sample.kernel("gemm", sample.main, 50600, 100, 7, sample.external)

        self.job(1, FORMATS, library="nccl", device=0, extra=[after])
        (overview,) = self.ask("overview_page")["answers"]
        self.assertEqual(step_ns(overview), self.step_slices())

    def test_without_pytorchs_files(self):
        drawn = self.job(1, ("--formats", "xplane"))
        self.assertEqual(os.listdir(self.output), ["plugins"])
        (file,) = drawn["files"]
        self.assertEqual(why(drawn, 0), {})
        self.assertTrue(file["path"].endswith("/rank0000.xplane.pb"))
        self.assertEqual(file["bytes"], os.path.getsize(file["path"]))


class Usage(harness.TestCase):
    def test_an_unknown_format_is_told_before_anything_is_done(self):
        for verb in ("timeline", "merge"):
            result = harness.run(
                [harness.INFPROF, verb, "absent", "-o", self.folder / "out",
                 "--formats", "pytorch,xplan"]
            )
            self.assertEnded(result, 2)
            self.assertIn('"xplan" is no format of a timeline; there are '
                          'pytorch, xplane, perfetto',
                          result.stderr)
            self.assertFalse((self.folder / "out").exists())


if __name__ == "__main__":
    unittest.main()
