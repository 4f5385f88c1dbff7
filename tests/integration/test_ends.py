# SPDX-License-Identifier: Apache-2.0
"""However a job ends, what was recorded until then is drawn, and nothing is held up or left."""

import time
import unittest

from harness import (AGENT, BUILD, TestCase, export, mpirun, report, run,
                     traces_on_the_machine, wait_for, wait_for_report)

PROGRAMS = BUILD / "tests"
MARKER = PROGRAMS / "marker"


def ranges(events):
    """Names of the ranges that `marker` recorded."""
    return [event["name"] for event in events if event["name"].startswith("work ")]


class Ends(TestCase):
    def rank_report(self, rank):
        (row,) = [row for row in report(self.output)["per_rank"] if row["rank"] == rank]
        return row

    def test_a_job_that_ends_well_keeps_every_mark(self):
        result = mpirun(4, [AGENT, "-o", self.output, "--", MARKER, 200])
        self.assertEnded(result, 0)
        self.assertEqual(sorted(result.stdout.splitlines()), [f"rank {r} done" for r in range(4)])
        for rank in range(4):
            names = ranges(export(self.output / "run.ifp", rank))
            self.assertEqual(sorted(names), sorted(f"work {i}" for i in range(200)))

    def test_a_rank_killed_in_mid_run_leaves_its_prefix_and_the_others(self):
        result = mpirun(4, [AGENT, "-o", self.output, "--", MARKER, 400, "kill-self", 2])
        self.assertNotEqual(result.returncode, 0, str(result))
        wait_for_report(self.output)
        names = ranges(export(self.output / "run.ifp", 2))
        self.assertEqual(names, [f"work {i}" for i in range(200)])
        for rank in (0, 1, 3):
            self.assertGreater(len(ranges(export(self.output / "run.ifp", rank))), 100)
        end = self.rank_report(2)["end"]
        self.assertEqual((end["how"], end["status"]), ("signalled", 9))
        self.assertIn((2, "rank-failed"),
                      {(row["rank"], row["what"]) for row in report(self.output)["ledger"]})
        self.assertTrue(list((self.output / "merged").glob("*.pt.trace.json.gz")))

    def test_rank_0_s_agent_killed_in_mid_run_leaves_what_was_recorded(self):
        before = traces_on_the_machine()
        result = mpirun(4, [AGENT, "-o", self.output, "--", MARKER, 4000, "kill-agent", 0])
        self.assertNotEqual(result.returncode, 0, str(result))
        wait_for_report(self.output, timeout=90)
        self.assertEqual(self.rank_report(0)["end"]["how"], "lost")
        self.assertTrue(list((self.output / "merged").glob("*.pt.trace.json.gz")))
        for rank in range(4):
            self.assertTrue(ranges(export(self.output / "run.ifp", rank)), f"rank {rank}")
        # the next run on this machine removes what the killed agent could not
        self.assertEnded(run([AGENT, "-o", self.folder / "next", "--", MARKER, 10]), 0)
        wait_for(lambda: traces_on_the_machine() <= before, what="nothing is left behind")

    def test_a_failing_rank_does_not_hold_the_job_up(self):
        program = PROGRAMS / "barrier_exit"
        if not program.exists():
            self.skipTest("built without MPI")
        started = time.monotonic()
        bare = mpirun(4, [program])
        bare_s = time.monotonic() - started
        started = time.monotonic()
        watched = mpirun(4, [AGENT, "-o", self.output, "--", program])
        watched_s = time.monotonic() - started
        self.assertEnded(bare, 3)
        self.assertEnded(watched, 3)
        self.assertLess(watched_s, bare_s + 3)
        wait_for_report(self.output)
        self.assertEqual(self.rank_report(1)["end"]["status"], 3)


if __name__ == "__main__":
    unittest.main()
