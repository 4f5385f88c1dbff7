# SPDX-License-Identifier: Apache-2.0
"""Real TensorBoard serves a drawn run, and headless Chromium draws its merged timeline."""

import unittest

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
            [f"rank {rank} · node03 · ±0 ns" for rank in range(RANKS)],
        )
        for rank, process in enumerate(view["processes"]):
            lanes = {thread["name"]: thread["slices"] for thread in process["threads"]}
            self.assertEqual(lanes["steps"], 6)  # the mark before the window is an instant there
            self.assertEqual(lanes[f"main {4000 + rank}"], 5 * 8)
        # Five steps of two forward-backward pairs on each rank.
        self.assertEqual(view["arrows"], RANKS * 5 * 2)


if __name__ == "__main__":
    unittest.main()
