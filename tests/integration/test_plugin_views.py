# SPDX-License-Identifier: Apache-2.0
"""What the PyTorch plug-in of TensorBoard shows of ranks/, asked over HTTP as its pages ask, is what
the archive holds: numbers against numbers that are computed without it from `infprof export`."""

import gzip
import json
import pathlib
import shutil
import sys
import tempfile
import unittest
import urllib.parse
import urllib.request

import harness
from timeline_case import kineto_sample
from viewer import TensorBoard

sys.path.insert(0, str(harness.SOURCE / "tests" / "harness"))
import expected_views  # noqa: E402

DATA = harness.SOURCE / "tests" / "data" / "kineto"
RANKS = 2
ROUNDED_US = 0.51  # the tables of operators show whole us
SLICE_US = 0.005  # a slice is a nanosecond or two shorter where its end would cross in doubles


def allocate(sample):
    """Memory events in the operators of the second step, and one in none."""
    second = kineto_sample.STEP_US
    for at, size, address in ((250, 4096, 1), (300, 1024, 2), (700, -1024, 2), (1300, 512, 3),
                              (9900, 64, 4)):
        sample.events.append({
            "ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": sample.pid,
            "tid": sample.main, "ts": round(kineto_sample.FIRST_US + second + at, 3),
            "args": {"Device Type": 1, "Device Id": 0, "Addr": address, "Bytes": size,
                     "Total Allocated": 1 << 20, "Total Reserved": 1 << 21}})


def mark_steps(sample):
    for number in range(3):
        sample.op(f"ProfilerStep#{number}", sample.main, kineto_sample.STEP_US * number,
                  kineto_sample.STEP_US - 1, "user_annotation")


class Views(harness.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = pathlib.Path(tempfile.mkdtemp(prefix="infprof-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.root)
        (cls.root / "out").mkdir()
        made = [cls.root / f"rank{rank}.json" for rank in range(RANKS)]
        for rank, path in enumerate(made):
            kineto_sample.write(path, rank, steps=3, library="nccl", device=0,
                                extra=[mark_steps, allocate])
        cls.ranks = {}
        for job, files in (("ddp", [DATA / f"ddp-steps.rank{rank}.json.gz"
                                    for rank in range(RANKS)]),
                           ("made", made)):
            result = harness.run([harness.INFPROF, "merge", *files, "-o", cls.root / "out" / job])
            if result.returncode:
                raise AssertionError(str(result))
            archive = cls.root / "out" / job / "run.ifp"
            cls.ranks[job] = [expected_views.Rank(harness.export(archive, rank))
                              for rank in range(RANKS)]
        server = TensorBoard(cls.root / "out")
        cls.addClassCleanup(server.stop)
        cls.site = f"http://localhost:{server.port()}/data/plugin/pytorch_profiler/"
        wanted = {"ddp/merged", "ddp/ranks", "made/merged", "made/ranks"}
        harness.wait_for(lambda: cls.loaded() == wanted, timeout=180, what="all runs are loaded")

    @classmethod
    def ask(cls, path, **question):
        with urllib.request.urlopen(f"{cls.site}{path}?{urllib.parse.urlencode(question)}") as file:
            answer = file.read()
        if answer.startswith(b"\x1f\x8b"):  # some are packed, asked or not
            answer = gzip.decompress(answer)
        return json.loads(answer)

    @classmethod
    def loaded(cls):
        runs = cls.ask("runs")
        return None if runs["loading"] else set(runs["runs"])

    def worker(self, rank, job="ddp"):
        return {"run": f"{job}/ranks", "worker": f"unknown_{rank:04}", "span": "1"}

    def assertNear(self, found, expected, delta, what):
        self.assertAlmostEqual(found, expected, delta=delta, msg=what)

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
            rows = {row[0]: dict(zip(names[1:], row[1::2])) for row in steps["rows"]}
            self.assertEqual(list(rows), ["4", "5", "6"])
            slices = len(expected.host) + len(expected.device)
            for step, roles in expected.overview().items():
                self.assertEqual(rows[step].keys(), roles.keys())
                for role, us in roles.items():
                    self.assertNear(rows[step][role], us, SLICE_US * slices / 100, (step, role))
                self.assertGreater(roles["Kernel"], 0)
                self.assertGreater(roles["Communication"], 0)

    def test_operators(self):
        for rank, expected in enumerate(self.ranks["ddp"]):
            table = self.ask("operation/table", **self.worker(rank), group_by="Operation")["data"]
            rows = {row["name"]: row for row in table}
            ours = expected.operator_table()
            annotations = {s.name for s in expected.operators if s.category == "user_annotation"}
            self.assertLessEqual(ours.keys(), rows.keys())
            self.assertLessEqual(rows.keys() - ours.keys(), annotations)
            for name, figures in ours.items():
                self.assertEqual(rows[name]["calls"], figures["calls"], name)
                for figure in ("host_total_duration", "host_self_duration",
                               "device_total_duration", "device_self_duration"):
                    self.assertNear(rows[name][figure], figures[figure] / 1000,
                                    ROUNDED_US + SLICE_US * figures["calls"], (name, figure))

    def test_kernels(self):
        for rank, expected in enumerate(self.ranks["ddp"]):
            table = self.ask("kernel/table", **self.worker(rank), group_by="Kernel")["data"]
            names = [column["name"] for column in table["columns"]]
            places = [names.index(name) for name in
                      ("Calls", "Total Duration (us)", "Mean Duration (us)", "Max Duration (us)",
                       "Min Duration (us)")]
            rows = {row[0]: [row[i] for i in places] for row in table["rows"]}
            ours = expected.kernel_table()
            self.assertEqual(rows.keys(), ours.keys())
            for name, (calls, *times) in ours.items():
                self.assertEqual(rows[name][0], calls, name)
                for found, us in zip(rows[name][1:], times):
                    self.assertNear(found, us, ROUNDED_US, name)

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
            collectives = expected.collectives()
            spans = [span for s in collectives for span in expected.ranges(s)]
            size = sum(s.size for s in collectives)
            latency = expected_views.length(spans) / 1000
            self.assertGreater(size, 10**9)
            self.assertEqual(row[:4], ["nccl:all_reduce", len(collectives), size,
                                       round(size / len(collectives))])
            self.assertNear(row[4], latency, 1, "latency")
            self.assertNear(row[5], latency / len(collectives), 1, "latency of each")


if __name__ == "__main__":
    unittest.main()
