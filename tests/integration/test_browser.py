# SPDX-License-Identifier: Apache-2.0
"""Real TensorBoard serves a drawn run, and headless Chromium draws its merged timeline."""

import unittest

import harness
from timeline_case import TimelineCase
from viewer import Viewer

RANKS = 8


class Browser(Viewer, TimelineCase):
    def test_merged_timeline_of_eight_ranks(self):
        self.job(RANKS)
        view = self.look("merged")
        self.assertEqual(view["warnings"], [])
        self.assertEqual(
            [process["name"] for process in view["processes"]],
            ["infprof"] + [f"rank {rank} · node03 · ±0" for rank in range(RANKS)],
        )
        # All ranks come at the same time; in flight are 294912 floats, or nothing.
        self.assertEqual(view["processes"][0]["counters"], {"skew of collectives": [1, 0, 0]})
        for rank, process in enumerate(view["processes"][1:]):
            self.assertEqual(process["counters"],
                             {"collectives in flight": [5 * 2 * 2, 4 * 294912, 0]})
            lanes = {thread["name"]: thread["slices"] for thread in process["threads"]}
            self.assertEqual(lanes, {
                "steps": 6,  # the mark before the window is an instant there
                f"main {4000 + rank}": 5 * 8,
                f"pt_autograd_0 {4500 + rank}": 5 * 2 * 4,
                "Spans PyTorch Profiler": 1})
        # Five steps of two forward-backward pairs on each rank, and of two collectives.
        self.assertEqual(view["arrows"], RANKS * 5 * 2 + (RANKS - 1) * 5 * 2)

    def test_a_slice_of_it(self):
        self.job(2)
        (self.output / "slice").mkdir()
        result = harness.run(
            [harness.INFPROF, "slice", self.output.with_suffix(".ifp"), "--step", "103",
             "-o", self.output / "slice" / "step.pt.trace.json.gz"])
        self.assertEnded(result, 0)
        view = self.look("slice")
        self.assertEqual(view["warnings"], [])
        self.assertEqual([process["name"] for process in view["processes"]],
                         [f"rank {rank} · node03 · ±0" for rank in range(2)])
        for rank, process in enumerate(view["processes"]):
            lanes = {thread["name"]: thread["slices"] for thread in process["threads"]}
            # The mark that the step begins with, and the optimizer's range around that mark.
            self.assertEqual((lanes["steps"], lanes[f"main {4000 + rank}"]), (1, 8 + 2))
        self.assertEqual(view["arrows"], 2 * 2)


if __name__ == "__main__":
    unittest.main()
