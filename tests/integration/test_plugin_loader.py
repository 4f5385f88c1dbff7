# SPDX-License-Identifier: Apache-2.0
"""The PyTorch plug-in's own loader (torch-tb-profiler 0.4.3) on every file of a drawn run: no
warning, and every view that it is to show."""

import json
import os
import unittest

import harness
from timeline_case import TimelineCase, kineto_sample

LOADER = harness.SOURCE / "tests" / "harness" / "plugin_loader.py"
SAMPLES = harness.SOURCE / "tests" / "data" / "kineto"
STEPS = ["101", "102", "103", "104", "105"]


class Loader(TimelineCase):
    def load(self, directory):
        if not os.access(harness.PYTHON, os.X_OK):
            self.fail(f"INFPROF_PYTHON ({harness.PYTHON!r}) is no Python with torch-tb-profiler")
        result = harness.run([harness.PYTHON, LOADER, self.output / directory])
        self.assertEnded(result, 0)
        loaded = json.loads(result.stdout.splitlines()[-1])
        self.assertEqual(loaded["messages"], [])
        return loaded

    def test_merged_timeline(self):
        self.job(8)
        loaded = self.load("merged")
        (worker,) = loaded["workers"]
        self.assertEqual(worker["worker"], "all_0")
        self.assertEqual(worker["views"], ["Overview", "Operator", "Trace"])
        self.assertEqual(worker["steps"], STEPS)
        # From mark to mark: the steps of the sample, to the rounding of doubles.
        for cost in worker["step_us"][1:]:
            self.assertAlmostEqual(cost, kineto_sample.STEP_US, delta=0.01)
        self.assertEqual(worker["operators"], {})

    def test_a_slice_of_it(self):
        self.job(3, library="nccl")
        (self.output / "slice").mkdir()
        path = self.output / "slice" / "steps.pt.trace.json.gz"
        archive = self.output.with_suffix(".ifp")
        self.assertEnded(harness.run([harness.INFPROF, "slice", archive, "--step", "102-103",
                                      "-o", path]), 0)
        (worker,) = self.load("slice")["workers"]
        self.assertEqual(worker["views"], ["Overview", "Operator", "Trace"])
        self.assertEqual(worker["steps"], ["102", "103"])

    def test_ranks_on_the_cpu(self):
        self.job(8, ["--max-ranks-files", "8"])
        loaded = self.load("ranks")
        names = [worker["worker"] for worker in loaded["workers"]]
        self.assertEqual(names, [f"node03_{rank:04}" for rank in range(8)])
        for worker in loaded["workers"]:
            self.assertEqual(worker["views"], ["Overview", "Operator", "Trace"])
            self.assertEqual(worker["steps"], STEPS)
            self.assertEqual(worker["operators"]["aten::addmm"], 10)
            self.assertEqual(worker["operators"]["aten::add_"], 5)
            self.assertEqual(
                worker["collectives"],
                [["gloo:all_reduce", step, 1] for step in STEPS for _ in range(2)],
            )
        self.assertEqual(loaded["distributed"]["views"], ["Distributed"])
        self.assertEqual(loaded["distributed"]["steps"], [*STEPS, "all"])

    def test_ranks_with_gpus(self):
        self.job(2, library="nccl")
        loaded = self.load("ranks")
        for worker in loaded["workers"]:
            self.assertEqual(worker["views"], ["Overview", "Operator", "Kernel", "Trace"])
            self.assertEqual(worker["kernels"], 2)
            # The host's range and the kernel of each collective.
            self.assertEqual({ranges for _, _, ranges in worker["collectives"]}, {2})
            expected = 10 * (kineto_sample.GEMM_US + kineto_sample.ALL_REDUCE_KERNEL_US)
            self.assertGreaterEqual(worker["device_us"], expected)
            # Two a step, each from its start on the host to the end of its kernel.
            self.assertAlmostEqual(worker["communication_us"], 2 * (100 + 700.25), delta=0.01)
        self.assertEqual(loaded["distributed"]["views"], ["Distributed"])

    def test_a_collective_too_few_costs_its_step_and_not_the_view(self):
        self.job(3, change={2: {"short_step": 1}})
        loaded = self.load("ranks")
        self.assertEqual(loaded["distributed"]["steps"], ["101", "103", "104", "105", "all"])

    def test_a_collective_that_ends_behind_its_step_keeps_the_step(self):
        def late(sample):
            ends = [e for e in sample.events
                    if e["name"] in ("gloo:all_reduce", "record_param_comms")
                    or e["name"].endswith("AddmmBackward0")]
            # the last gradient of the second step, whose thread loses its core
            for event in sorted(ends, key=lambda e: e["ts"])[9:12]:
                event["dur"] += 4000

        self.job(2, change={1: {"extra": [late]}})
        loaded = self.load("ranks")
        self.assertEqual(loaded["distributed"]["steps"], [*STEPS, "all"])
        for worker in loaded["workers"]:
            self.assertEqual(len(worker["collectives"]), 2 * len(STEPS))

    def test_types_that_the_plug_in_does_not_know(self):
        def odd(sample):
            args = {"Input Dims": [[[2, 2], [3]], []], "Input type": ["TensorList", ""]}
            sample.op("gloo:broadcast", sample.main, 500, 20, "user_annotation", **args)

        self.job(2, extra=[odd])
        self.assertEqual(self.load("ranks")["distributed"]["views"], ["Distributed"])

    def test_slices_that_touch_in_the_last_bit(self):
        """0.1 + 0.2 is more than 0.3 in doubles: such neighbours must not seem to overlap."""

        def touching(sample):
            start = 100000.0
            for i in range(2000):
                dur = 0.1 + (i % 7) / 10 + (i % 3) / 1000
                sample.op("touching", sample.main, start, round(dur, 3))
                start = round(start + round(dur, 3), 3)

        self.job(2, steps=12, extra=[touching])
        loaded = self.load("ranks")
        self.assertEqual({w["operators"]["touching"] for w in loaded["workers"]}, {2000})

    def test_cuts_of_real_traces(self):
        ddp, on_demand = (["ddp.rank0", "ddp.rank1"], ["ondemand.rank0", "ondemand.rank1"])
        for ranks in (ddp, on_demand, ["ondemand-cpu"]):
            with self.subTest(ranks=ranks):
                self.output = self.folder / ranks[0]
                self.draw([SAMPLES / f"{name}.json.gz" for name in ranks], ["--no-marks"])
                self.load("merged")
                loaded = self.load("ranks")
                self.assertEqual(len(loaded["workers"]), len(ranks))


if __name__ == "__main__":
    unittest.main()
