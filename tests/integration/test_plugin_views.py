# SPDX-License-Identifier: Apache-2.0
"""What the PyTorch plug-in of TensorBoard shows of ranks/, asked over HTTP as its pages ask, is what
the archive holds: numbers against numbers that are computed without it from `infprof export`."""

import gzip
import json
import unittest

from views_case import DATA, RANKS, ViewsCase, expected_views


class Views(ViewsCase):
    def worker(self, rank, job="ddp"):
        return {"run": f"{job}/ranks", "worker": f"unknown_{rank:04}", "span": "1"}

    def test_gpus(self):
        """What the traces say of them, by the numbers that the events name."""
        shown = self.ask("distributed/gpuinfo", run="ddp/ranks", worker="All", span="1")["data"]
        for rank in range(RANKS):
            with gzip.open(DATA / f"ddp-steps.rank{rank}.json.gz") as file:
                device = json.load(file)["deviceProperties"][rank]
            (name, gpu), = shown["unknown"][f"Process {rank:04}"].items()
            self.assertEqual(name, f"GPU{rank}")
            self.assertEqual(gpu["Name"], device["name"])
            self.assertEqual(gpu["Compute Capability"],
                             f"{device['computeMajor']}.{device['computeMinor']}")

    def test_which_views_there_are(self):
        views = ["Overview", "Operator", "Kernel", "Trace"]
        self.assertEqual(self.ask("views", run="ddp/ranks"), [*views, "Distributed"])
        self.assertEqual(set(self.ask("views", run="made/ranks")),
                         {*views, "Memory", "Distributed"})

    def test_overview(self):
        for rank, expected in enumerate(self.ranks["ddp"]):
            steps = self.ask("overview", **self.worker(rank))["steps"]
            names = [c["name"] for c in steps["columns"] if c.get("role") != "tooltip"]
            self.assertOverview({row[0]: dict(zip(names[1:], row[1::2])) for row in steps["rows"]},
                                expected)

    def test_operators(self):
        for rank, expected in enumerate(self.ranks["ddp"]):
            table = self.ask("operation/table", **self.worker(rank), group_by="Operation")["data"]
            self.assertOperators({row["name"]: row for row in table}, expected)

    def test_kernels(self):
        for rank, expected in enumerate(self.ranks["ddp"]):
            table = self.ask("kernel/table", **self.worker(rank), group_by="Kernel")["data"]
            names = [column["name"] for column in table["columns"]]
            places = [names.index(name) for name in
                      ("Calls", "Total Duration (us)", "Mean Duration (us)", "Max Duration (us)",
                       "Min Duration (us)")]
            self.assertKernels({row[0]: [row[i] for i in places] for row in table["rows"]},
                               expected)

    def test_memory(self):
        expected = self.ranks["made"][1].memory_table()["GPU0"]
        self.assertEqual(sum(row["own allocations"] for row in expected.values()), 3)
        table = self.ask("memory", **self.worker(1, "made"), memory_metric="B")
        # Not its calls: it counts those that it passed on the way to the last memory event.
        rows = {row[0]: row[2:] for row in table["rows"]["GPU0"]}
        words = ("more", "own more", "allocations", "own allocations", "allocated",
                 "own allocated")
        operators = {s.name for s in self.ranks["made"][1].operators if s.category == "cpu_op"}
        shown = expected.keys() & operators
        self.assertEqual(len(shown), 2)
        self.assertEqual(rows.keys(), shown)
        for name in shown:
            self.assertEqual(rows[name], [expected[name][word] for word in words], name)

    def assertStepsNear(self, found, expected):
        self.assertEqual(found.keys(), {*expected, "all"})
        for step, figures in expected.items():
            for ours, theirs in zip(figures, found[step]):
                self.assertNear(theirs, ours, 1, step)

    def test_computation_and_communication_of_each_step(self):
        shown = self.ask("distributed/overlap", run="ddp/ranks", worker="All", span="1")["data"]
        for rank, expected in enumerate(self.ranks["ddp"]):
            worker = self.worker(rank)["worker"]
            self.assertStepsNear({step: workers[worker] for step, workers in shown.items()},
                                 expected.overlap())
            self.assertGreater(sum(figures[1] for figures in expected.overlap().values()), 1)

    def test_waiting_in_collectives_of_each_step(self):
        shown = self.ask("distributed/waittime", run="ddp/ranks", worker="All", span="1")["data"]
        for rank, expected in enumerate(expected_views.waiting(self.ranks["ddp"])):
            worker = self.worker(rank)["worker"]
            self.assertStepsNear({step: workers[worker] for step, workers in shown.items()},
                                 expected)

    def test_collectives(self):
        shown = self.ask("distributed/commops", run="ddp/ranks", worker="All", span="1")["data"]
        for rank, expected in enumerate(self.ranks["ddp"]):
            row, = shown[self.worker(rank)["worker"]]["rows"]
            self.assertCollectives(row, expected)


if __name__ == "__main__":
    unittest.main()
