# SPDX-License-Identifier: Apache-2.0
"""What the tests of the plug-in's views share: two jobs, drawn and shown by a TensorBoard.

ddp: a real one, three steps of two ranks under DDP on two GPUs. made: one of which every number is
known, with memory events.
"""

import gzip
import json
import pathlib
import shutil
import sys
import tempfile
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
# Ranks are aligned by their collectives: files have the job's time, exports the rank's own, and one
# runs faster than the other by so much at most.
CLOCKS = 20e-6


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


class ViewsCase(harness.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = pathlib.Path(tempfile.mkdtemp(prefix="infprof-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.root)
        cls.output = cls.root / "out"
        cls.output.mkdir()
        made = [cls.root / f"rank{rank}.json" for rank in range(RANKS)]
        for rank, path in enumerate(made):
            kineto_sample.write(path, rank, steps=3, library="nccl", device=0,
                                extra=[mark_steps, allocate])
        cls.ranks = {}
        for job, files in (("ddp", [DATA / f"ddp-steps.rank{rank}.json.gz"
                                    for rank in range(RANKS)]),
                           ("made", made)):
            cls.merge(job, files)
            archive = cls.output / job / "run.ifp"
            cls.ranks[job] = [expected_views.Rank(harness.export(archive, rank))
                              for rank in range(RANKS)]
        cls.draw_more()
        server = TensorBoard(cls.output)
        cls.addClassCleanup(server.stop)
        cls.port = server.port()
        wanted = {"ddp/merged", "ddp/ranks", "made/merged", "made/ranks"}
        harness.wait_for(lambda: cls.loaded() == wanted, timeout=180, what="all runs are loaded")

    @classmethod
    def draw_more(cls):
        """What else the TensorBoard is to show."""

    @classmethod
    def merge(cls, job, files, *options):
        result = harness.run([harness.INFPROF, "merge", *files, "-o", cls.output / job, *options])
        if result.returncode:
            raise AssertionError(str(result))

    @classmethod
    def ask(cls, path, **question):
        site = f"http://localhost:{cls.port}/data/plugin/pytorch_profiler/"
        with urllib.request.urlopen(f"{site}{path}?{urllib.parse.urlencode(question)}") as file:
            answer = file.read()
        if answer.startswith(b"\x1f\x8b"):  # some are packed, asked or not
            answer = gzip.decompress(answer)
        return json.loads(answer)

    @classmethod
    def loaded(cls):
        runs = cls.ask("runs")
        return None if runs["loading"] else set(runs["runs"])

    def assertNear(self, found, expected, delta, what):
        self.assertAlmostEqual(found, expected, delta=delta, msg=what)

    def assertOverview(self, rows, expected):
        """rows: us of each role by step."""
        slices = len(expected.host) + len(expected.device)
        self.assertEqual(list(rows), ["4", "5", "6"])
        for step, roles in expected.overview().items():
            self.assertEqual(rows[step].keys(), roles.keys())
            for role, us in roles.items():
                self.assertNear(rows[step][role], us,
                                SLICE_US * slices / 100 + CLOCKS * us, (step, role))
            self.assertGreater(roles["Kernel"], 0)
            self.assertGreater(roles["Communication"], 0)

    def assertOperators(self, rows, expected):
        """rows: by name, with the members that the plug-in's answers have."""
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

    def assertKernels(self, rows, expected):
        """rows: by name: calls, total, mean, longest, shortest."""
        ours = expected.kernel_table()
        self.assertEqual(rows.keys(), ours.keys())
        for name, (calls, *times) in ours.items():
            self.assertEqual(rows[name][0], calls, name)
            for found, us in zip(rows[name][1:], times):
                self.assertNear(found, us, ROUNDED_US, name)

    def assertCollectives(self, row, expected):
        """row: name, calls, bytes, bytes of each, us, us of each."""
        collectives = expected.collectives()
        spans = [span for s in collectives for span in expected.ranges(s)]
        size = sum(s.size for s in collectives)
        latency = expected_views.length(spans) / 1000
        self.assertGreater(size, 10**9)
        self.assertEqual(row[:4], ["nccl:all_reduce", len(collectives), size,
                                   round(size / len(collectives))])
        self.assertNear(row[4], latency, 1, "latency")
        self.assertNear(row[5], latency / len(collectives), 1, "latency of each")
