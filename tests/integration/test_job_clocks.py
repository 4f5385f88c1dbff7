# SPDX-License-Identifier: Apache-2.0
"""Ranks whose clocks differ by minutes come out on one time axis, whatever the program is.

Every rank runs in a time namespace of its own, which shifts MONOTONIC and its kin by a known amount
and leaves REALTIME alone: so the test looks at infprof's own marks and at what the report says of
the clocks, not at anything that Kineto stamped.
"""

import gzip
import json
import os
import unittest

from harness import AGENT, BUILD, PYTHON, TestCase, mpirun, report

APART_S = 137  # rank r's clock is r times as much ahead
MARKER = BUILD / "tests" / "marker"
MPI_SUM = BUILD / "tests" / "mpi_sum"
MPI_CALLS = BUILD / "tests" / "mpi_calls"
DRIFT = 50e-6  # that the certificate assumes to be possible
MPI4PY = "from mpi4py import MPI; c = MPI.COMM_WORLD; s = c.allreduce(c.rank + 1)\n" \
         "if c.rank == 0: print('sum', s)"


@unittest.skipUnless(os.geteuid() == 0, "a time namespace needs root")
class JobClocks(TestCase):
    def job(self, ranks, clock, *program, options=""):
        script = (f'exec unshare -T --monotonic "$((OMPI_COMM_WORLD_RANK * {APART_S}))" '
                  f'"{AGENT}" -o "{self.output}" --clock {clock} {options} -- "$@"')
        result = mpirun(ranks, ["sh", "-c", script, "sh", *program])
        self.assertEnded(result, 0)
        return result

    def assertClocks(self, ranks, over):
        clocks = report(self.output)["clocks"]
        self.assertEqual(len(clocks), ranks)
        self.assertEqual(clocks[0]["offset_ns"], 0)
        for clock in clocks[1:]:
            error_ns = clock["offset_ns"] - clock["rank"] * APART_S * 10**9
            self.assertEqual((clock["method"], clock["over"]), ("exchanged", over))
            self.assertGreaterEqual(clock["epochs"], 2)
            self.assertLessEqual(abs(error_ns), clock["bound_ns"])
            self.assertLess(clock["bound_ns"], 50e6)

    def marks_by_rank(self):
        (path,) = (self.output / "merged").glob("*.pt.trace.json.gz")
        with gzip.open(path) as file:
            events = json.load(file)["traceEvents"]
        marks = {}
        for event in events:
            if event["ph"] == "X" and event["name"].startswith("work "):
                marks.setdefault(event["pid"], []).append(event["ts"])
        return list(marks.values())

    def test_marks_of_ranks_minutes_apart_lie_side_by_side(self):
        self.job(4, "zmq", MARKER, 300)
        self.assertClocks(4, "zmq")
        marks = self.marks_by_rank()
        self.assertEqual([len(rank) for rank in marks], [300] * 4)
        self.assertLess(max(map(min, marks)), min(map(max, marks)), "the ranks do not overlap")

    def test_over_mpi_around_a_program_without_mpi(self):
        self.job(2, "mpi", PYTHON, "-c", "print('no MPI')")
        self.assertClocks(2, "mpi")

    def test_over_mpi_around_mpi4py(self):
        self.assertIn("sum 3", self.job(2, "mpi", PYTHON, "-c", MPI4PY).stdout)
        self.assertClocks(2, "mpi")

    def test_over_mpi_around_a_c_program(self):
        self.assertIn("sum 3", self.job(2, "mpi", MPI_SUM).stdout)
        self.assertClocks(2, "mpi")

    def test_a_program_with_mpi_runs_as_well_without_asking(self):
        self.assertIn("sum 10", self.job(4, "auto", MPI_SUM).stdout)
        self.assertClocks(4, "zmq")

    def test_barriers_narrow_what_two_exchanges_certify(self):
        """Half way between two exact exchanges the certificate is the drift of half the time."""
        run_s = 8
        ends_only_ns = DRIFT * run_s / 2 * 1e9
        bounds = {}
        for mpi in ("off", "auto"):
            self.output = self.folder / mpi
            self.job(2, "zmq", MPI_CALLS, "barriers", run_s * 1000,
                     options=f"--clock-interval 0 --mpi {mpi}")
            self.assertClocks(2, "zmq")
            bounds[mpi] = report(self.output)["clocks"][1]["bound_ns"]
        self.assertGreater(bounds["off"], ends_only_ns)
        self.assertLess(bounds["auto"], ends_only_ns)


if __name__ == "__main__":
    unittest.main()
