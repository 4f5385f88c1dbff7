# SPDX-License-Identifier: Apache-2.0
"""What headless Chromium shows of a job in the pages of both plug-ins of a real TensorBoard: the
views of ranks/, and xprof with all ranks selected. The numbers are read from the pages, and are those
that the archive holds (expected_views.py). Charts are drawn by tests/browser/charts.js.

INFPROF_SCREENSHOT is a folder that the pictures go to.
"""

import collections
import json
import os
import unittest

from viewer import DEADLINE_S, browse, find_missing
from views_case import (CLOCKS, DATA, RANKS, ROUNDED_US, ViewsCase, expected_views, kineto_sample,
                        mark_steps)

HOSTS = 8  # of the job in xprof
STEPS = 3
SHOWN = 1  # the rank of which all views are looked at
# Run, view, worker, and how many tables and charts it has.
VIEWS = (
    ("ddp/ranks", "Overview", "unknown_0000", 3),
    ("ddp/ranks", "Overview", "unknown_0001", 3),
    ("ddp/ranks", "Operator", "unknown_0001", 5),
    ("ddp/ranks", "GPU Kernel", "unknown_0001", 3),
    ("ddp/ranks", "Distributed", "All", 4),
    ("made/ranks", "Memory", "unknown_0001", 3),
)


def records(table):
    """Rows of a table by the headings of its columns."""
    return [dict(zip(table["headings"], row)) for row in table["rows"]]


def mean(values):
    values = list(values)
    return sum(values) / len(values)


class BrowserViews(ViewsCase):
    @classmethod
    def setUpClass(cls):
        for path in find_missing():
            raise AssertionError(f"missing: {path}: run deploy/install-dependencies check")
        super().setUpClass()
        folder = os.environ.get("INFPROF_SCREENSHOT", cls.root)
        shown = cls.browse("plugin_views.mjs", folder, DEADLINE_S,
                           *(",".join(map(str, view)) for view in VIEWS))
        cls.views = {(view["view"], view["worker"]): view["tables"] for view in shown}
        cls.xprof = cls.browse("xprof.mjs", folder, DEADLINE_S)

    @classmethod
    def draw_more(cls):
        files = [cls.root / f"eight{rank}.json" for rank in range(HOSTS)]
        for rank, path in enumerate(files):
            kineto_sample.write(path, rank, steps=STEPS, library="nccl", device=rank,
                                extra=[mark_steps])
        cls.merge("eight", files, "--formats", "xplane")

    @classmethod
    def browse(cls, script, *arguments):
        result = browse(script, cls.port, *arguments)
        if result.returncode:
            raise AssertionError(str(result))
        return json.loads(result.stdout.splitlines()[-1])

    def tables(self, view, worker=f"unknown_{SHOWN:04}"):
        """Charts by kind, those that come more than once in their order; the page's own first."""
        found = collections.defaultdict(list)
        for table in self.views[view, worker]:
            found[table["chart"]].append(table)
        return found

    def test_overview(self):
        for rank, expected in enumerate(self.ranks["ddp"]):
            tables = self.tables("Overview", f"unknown_{rank:04}")
            steps, = tables["SteppedAreaChart"]
            self.assertOverview(
                {row.pop("Step"): {role: float(us) for role, us in row.items()}
                 for row in records(steps)}, expected)
            summary = {row["Category"]: row for row in records(tables["Table"][0])}
            roles = expected.overview().values()
            whole = mean(sum(step.values()) for step in roles)
            for role, row in summary.items():
                us = whole if role == "Average Step Time" else mean(step[role] for step in roles)
                self.assertNear(float(row["Time Duration (us)"]), us, ROUNDED_US + CLOCKS * us,
                                role)
                self.assertNear(float(row["Percentage (%)"]), 100 * us / whole, 0.01, role)
            self.assertEqual(len(summary), 9)

    def test_operators(self):
        table, = self.tables("Operator")[None]
        columns = {"calls": "Calls",
                   "host_total_duration": "Host Total Duration (us)",
                   "host_self_duration": "Host Self Duration (us)",
                   "device_total_duration": "Device Total Duration (us)",
                   "device_self_duration": "Device Self Duration (us)"}
        rows = {row["Name"]: {word: int(row[heading]) for word, heading in columns.items()}
                for row in records(table)}
        self.assertEqual(len(rows), len(table["rows"]))
        self.assertOperators(rows, self.ranks["ddp"][SHOWN])

    def test_the_longest_operators(self):
        longest = [records(chart) for chart in self.tables("Operator")["PieChart"]]
        figures = ("device_self_duration", "device_total_duration", "host_self_duration",
                   "host_total_duration")
        ours = self.ranks["ddp"][SHOWN].operator_table()
        self.assertEqual(len(longest), len(figures))
        for figure, rows in zip(figures, longest):
            shown = {row["name"]: float(row["value"]) for row in rows}
            times = {name: row[figure] / 1000 for name, row in ours.items() if name in shown}
            self.assertEqual(len(shown), 10)
            self.assertGreater(len(times), 7)  # the others are annotations
            for name, us in times.items():
                self.assertNear(shown[name], us, ROUNDED_US, (figure, name))

    def test_kernels(self):
        table, = self.tables("GPU Kernel")[None]
        rows = {row["Name"]: [int(row["Calls"]), *(float(row[f"{what} Duration (us)"])
                                                   for what in ("Total", "Mean", "Max", "Min"))]
                for row in records(table)}
        self.assertEqual(len(rows), len(table["rows"]))
        self.assertKernels(rows, self.ranks["ddp"][SHOWN])

    def assertMeans(self, chart, of_ranks):
        """A chart of all steps: the mean of them for each rank, in us."""
        rows = {row[0]: list(map(float, row[1:])) for row in chart["rows"]}
        self.assertEqual(list(rows), [f"unknown_{rank:04}" for rank in range(RANKS)])
        for shown, steps in zip(rows.values(), of_ranks):
            for found, figures in zip(shown, zip(*steps.values()), strict=True):
                self.assertNear(found, mean(figures), 1, chart["headings"])

    def test_distributed(self):
        tables = self.tables("Distributed", "All")
        overlap, waiting = tables["ColumnChart"]
        self.assertEqual(overlap["headings"][1:],
                         ["Computation", "Overlapping", "Communication", "Other"])
        self.assertMeans(overlap, [expected.overlap() for expected in self.ranks["ddp"]])
        self.assertEqual(waiting["headings"][1:], ["Data Transfer Time", "Synchronizing Time"])
        self.assertMeans(waiting, expected_views.waiting(self.ranks["ddp"]))
        (row,) = tables["Table"][0]["rows"]  # of rank 0
        self.assertCollectives([row[0], *map(int, row[1:4]), *map(float, row[4:6])],
                               self.ranks["ddp"][0])

    def test_gpus(self):
        cells = [text for row in self.tables("Distributed", "All")[None][0]["rows"] for text in row]
        self.assertEqual([text for text in cells if text.startswith(("Process", "GPU"))],
                         ["Process 0000", "GPU0", "Process 0001", "GPU1"])
        self.assertEqual(cells.count("NVIDIA H200"), RANKS)

    def test_memory(self):
        events, operators = self.tables("Memory")[None]
        expected = self.ranks["made"][SHOWN].memory_table()["GPU0"]
        words = {"Size Increase (KB)": "more", "Self Size Increase (KB)": "own more",
                 "Allocation Count": "allocations", "Self Allocation Count": "own allocations",
                 "Allocation Size (KB)": "allocated", "Self Allocation Size (KB)": "own allocated"}
        rows = {row["Operator Name"]: row for row in records(operators)}
        self.assertEqual(set(rows), {"aten::linear", "aten::addmm"})
        for name, row in rows.items():
            for heading, word in words.items():
                unit = 1024 if heading.endswith("(KB)") else 1
                self.assertEqual(float(row[heading]), expected[name][word] / unit, (name, heading))
        # Those of 1 KB and more, with the ms of views_case.allocate().
        self.assertEqual(sorted(events["rows"]), [["aten::addmm", "1", "10.3", "10.7", "0.4"],
                                                  ["aten::linear", "4", "10.25", "", ""]])

    def test_memory_over_time(self):
        curve, = self.tables("Memory")["LineChart"]
        self.assertEqual(curve["title"], "Peak Memory Usage: 1.0MB")
        self.assertEqual({tuple(row[1:]) for row in curve["rows"]}, {("1", "2")})
        times = [float(row[0]) for row in curve["rows"]]
        self.assertEqual(len(times), 9)
        self.assertNear(min(times), 10.25, 1e-6, "first")
        self.assertNear(max(times), 19.9, 1e-6, "last")

    def test_xprof_shows_all_ranks_in_order(self):
        processes = self.xprof["trace"]["processes"]
        self.assertEqual(
            [process["name"] for process in processes],
            [f"rank{rank:04} {row}" for rank in range(HOSTS)
             for row in (f"/device:GPU:{rank}", "/host:CPU", "/host:CPU other")])
        for rank in range(HOSTS):
            gpu, host, _ = ({thread["name"]: thread["slices"] for thread in process["threads"]}
                            for process in processes[3 * rank:3 * rank + 3])
            for stream in (7, 17):
                self.assertEqual(gpu[f"GPU {rank} stream {stream}"], 2 * STEPS)
            self.assertEqual(gpu["Steps"], STEPS)
            # Nine operators and launches of each step, and its mark; two gradients.
            self.assertEqual(host[f"main {4000 + rank}"], 10 * STEPS)
            self.assertEqual(host[f"pt_autograd_0 {4500 + rank}"], 10 * STEPS)
        self.assertEqual(self.xprof["trace"]["arrows"], HOSTS * STEPS * 4)

    def test_xprof_s_overview(self):
        """Means of the ranks and steps of 10 ms: two products and two collectives in each."""
        lines = self.xprof["overview"]
        found = {name: lines[lines.index(name) + 2] for name in
                 ("Device Compute Time", "Device Collective Communication Time", "All Others Time")}
        device = 2 * kineto_sample.GEMM_US, 2 * kineto_sample.ALL_REDUCE_KERNEL_US
        times = [*device, kineto_sample.STEP_US - sum(device)]
        self.assertEqual(list(found.values()), [f"{us / 1000:.1f} ms" for us in times])

    def test_xprof_s_kernels(self):
        calls, us = collections.Counter(), collections.Counter()
        for row in self.xprof["kernels"]:
            calls[row["Kernel Name"], row["Op Name"]] += int(row["Occurrences"])
            us[row["Kernel Name"]] += float(row["Total Duration (μs)"])
        number = HOSTS * STEPS * 2
        self.assertEqual(calls, {("gemm", "aten/addmm"): number,
                                 ("ncclKernel", "record_param_comms"): number})
        self.assertEqual(us, {"gemm": number * kineto_sample.GEMM_US,
                              "ncclKernel": number * kineto_sample.ALL_REDUCE_KERNEL_US})


if __name__ == "__main__":
    unittest.main()
