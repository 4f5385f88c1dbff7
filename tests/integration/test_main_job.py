# SPDX-License-Identifier: Apache-2.0
"""The main job: eight ranks of a real PyTorch program on the CPU, unchanged, under mpirun.

A rank is slowed by a delay that stands out of the noise of eight ranks on few cores, once before
the forward pass and once before the optimizer's step. In the clean run nobody may be named.
"""

import collections
import gzip
import json
import shutil
import unittest

from harness import AGENT, BUILD, PYTHON, SOURCE, TestCase, export, mpirun, report, run
from viewer import Viewer

RANKS = 8
TRAIN = SOURCE / "examples" / "train_jepa.py"
LOADER = SOURCE / "tests" / "harness" / "plugin_loader.py"
KEPT = BUILD / "tests" / "main-job"  # of the first test; the ones that look at files take it


class MainJob(Viewer, TestCase):
    def train(self, *options):
        limits = ["--max-ranks-files", RANKS, "--ranks-budget", "0"]
        result = mpirun(RANKS, [AGENT, "-o", self.output, *limits, "--", PYTHON, TRAIN, *options],
                        timeout=240)
        self.assertEnded(result, 0)
        self.assertIn("loss", result.stdout)
        return result

    def assertWindowIsTheSameOnAllRanks(self):
        found = report(self.output)
        self.assertEqual(found["ranks"], RANKS)
        steps = {(window["first_step"], window["last_step"])
                 for window in found["windows"] if window["outcome"] == "recorded"}
        self.assertEqual(len(steps), 1, found["windows"])
        ((first, last),) = steps
        self.assertEqual(last - first + 1, 5)
        self.assertEqual(len([w for w in found["windows"] if w["outcome"] == "recorded"]), RANKS)
        counts = []
        for rank in range(RANKS):
            names = collections.Counter(event["name"] for event in
                                        export(self.output / "run.ifp", rank))
            self.assertGreaterEqual(names["gloo:all_reduce"], 5, f"rank {rank}")
            counts.append(sum(n for name, n in names.items() if name.startswith("Optimizer.step")))
        self.assertEqual(counts, [5] * RANKS)

    def assertStepsOfTheWholeRun(self, steps):
        for rank in range(RANKS):
            marks = [event for event in export(self.output / "run.ifp", rank)
                     if event.get("cat") == "step"]
            self.assertEqual(len(marks), steps, f"rank {rank}")

    def test_a_rank_slow_before_forward_is_named(self):
        result = self.train("--steps", "40", "--slow-rank", "3")
        self.assertWindowIsTheSameOnAllRanks()
        self.assertStepsOfTheWholeRun(40)
        verdict = report(self.output)["verdict"]
        self.assertEqual(verdict["rank"], 3)
        self.assertGreater(verdict["late_ns"], 150e6)
        self.assertIn("rank 3 is late", result.stderr)
        self.assertIn("tensorboard --logdir", result.stderr)
        shutil.rmtree(KEPT, ignore_errors=True)
        shutil.copytree(self.output, KEPT)

    def test_a_rank_slow_before_the_step_is_named(self):
        self.train("--steps", "40", "--slow-rank", "5", "--slow-where", "step")
        self.assertWindowIsTheSameOnAllRanks()
        self.assertEqual(report(self.output)["verdict"]["rank"], 5)

    def test_nobody_is_named_when_nobody_is_slow(self):
        result = self.train("--steps", "120")
        self.assertWindowIsTheSameOnAllRanks()
        self.assertIsNone(report(self.output)["verdict"]["rank"])
        self.assertIn("no rank is late", result.stderr)

    def test_merged_timeline_has_one_row_per_rank_in_order(self):
        self.assertTrue(KEPT.exists(), "the first test of this class has not passed")
        (path,) = (KEPT / "merged").glob("*.pt.trace.json.gz")
        with gzip.open(path) as file:
            events = json.load(file)["traceEvents"]
        names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
        order = {e["pid"]: e["args"]["sort_index"] for e in events
                 if e["name"] == "process_sort_index"}
        rows = [names[pid] for pid in sorted(names, key=order.get)]
        self.assertEqual([row.split(" · ")[0] for row in rows],
                         ["infprof"] + [f"rank {r}" for r in range(RANKS)])
        drawn = collections.Counter(e["pid"] for e in events if e["ph"] == "X")
        self.assertEqual(set(drawn), set(names))
        # The row above the ranks has what concerns the whole run.
        self.assertEqual({e["name"] for e in events
                          if e["ph"] == "C" and names[e["pid"]] == rows[0]},
                         {"skew of collectives"})

    def load(self, directory):
        """What the plug-in's own loader makes of the files; it may not warn."""
        result = run([PYTHON, LOADER, KEPT / directory])
        self.assertEnded(result, 0)
        loaded = json.loads(result.stdout.splitlines()[-1])
        self.assertEqual(loaded["messages"], [])
        return loaded

    def test_the_plug_in_s_loader_shows_its_views(self):
        (merged,) = self.load("merged")["workers"]
        self.assertEqual(merged["views"], ["Overview", "Operator", "Trace"])
        ranks = self.load("ranks")
        self.assertEqual(len(ranks["workers"]), RANKS)
        for worker in ranks["workers"]:
            self.assertEqual(worker["views"], ["Overview", "Operator", "Trace"])
            self.assertEqual(len(worker["steps"]), 5)
            self.assertGreaterEqual(len(worker["collectives"]), 5)
        self.assertEqual(ranks["distributed"]["views"], ["Distributed"])

    def test_tensorboard_draws_a_row_for_each_rank(self):
        self.output = KEPT
        view = self.look("merged")
        self.assertEqual(view["warnings"], [])
        self.assertEqual([process["name"].split(" · ")[0] for process in view["processes"]],
                         ["infprof"] + [f"rank {rank}" for rank in range(RANKS)])
        # The clocks are aligned: the ranks' distance at their collectives can be told.
        self.assertEqual(list(view["processes"][0]["counters"]), ["skew of collectives"])


if __name__ == "__main__":
    unittest.main()
