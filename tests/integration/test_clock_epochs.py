# SPDX-License-Identifier: Apache-2.0
"""Clocks are compared while the programs run, and what comes of it is true.

Every rank runs in a time namespace of its own: its CLOCK_MONOTONIC_RAW is ahead by minutes that are
known to the nanosecond, while the TSC, which stamps the marks where the kernel trusts it, is one for
all. So there are two truths to hold the results against: the offsets, and the marks' own ticks.
"""

import os
import subprocess
import unittest

import archive_format as fmt
from harness import (AGENT, BUILD, TestCase, environment, export, kill_collector, mpirun, report,
                     wait_for)

APART_S = 137  # rank r's clock is r times as much ahead
SUSPENDED_S = 2
SUSPENDED_CLOCK = BUILD / "tests" / "suspended_clock.so"
MARKER = BUILD / "tests" / "marker"
RAW, TSC = 0, 2  # enum ifp_clock_domain


def frames(archive, kind):
    return [(rank, payload) for _, of, rank, _, _, payload in fmt.read_frames(archive.read_bytes())
            if of == kind and payload]


def edges(archive):
    """(epoch, client, server, round trips, low, high) of every edge."""
    found = []
    for _, payload in frames(archive, fmt.CLOCK):
        found += [edge[:6] for edge in fmt.read_clock(payload)[1]]
    return found


def whole_edges(archive):
    """Those of an archive whose last frame may not be whole."""
    data = archive.read_bytes()
    at = 16
    while at + 48 <= len(data) and at + 48 + fmt.payload_bytes(data, at) <= len(data):
        at += 48 + fmt.payload_bytes(data, at)
    return [edge for _, of, _, _, _, payload in fmt.read_frames(data[:at])
            if of == fmt.CLOCK and payload for edge in fmt.read_clock(payload)[1]]


EDGES = {2: 1, 4: 4, 8: 12}  # of a hypercube over so many clocks


@unittest.skipUnless(os.geteuid() == 0, "a time namespace needs root")
class ClockEpochs(TestCase):
    def command(self, *program, interval="200ms", options=(), before=""):
        script = (f'{before} exec unshare -T --monotonic "$((OMPI_COMM_WORLD_RANK * {APART_S}))" '
                  f'"{AGENT}" -o "{self.output}" --clock-interval {interval} '
                  f'{" ".join(options)} -- "$@"')
        return ["sh", "-c", script, "sh", *program]

    def job(self, ranks, *program, **how):
        result = mpirun(ranks, self.command(*program, **how))
        self.assertEnded(result, 0)
        self.take_epochs()
        return result

    def take_epochs(self):
        self.archive = self.output / "run.ifp"
        self.epochs = {}
        for edge in edges(self.archive):
            self.epochs.setdefault(edge[0], []).append(edge[1:])

    def assertTruthInEveryEdge(self):
        for number, found in self.epochs.items():
            for client, server, trips, low, high in found:
                offset = (server - client) * APART_S * 10**9
                self.assertLessEqual(low, offset, (number, client, server))
                self.assertGreaterEqual(high, offset, (number, client, server))
                self.assertIn(trips, range(1, 513))  # 8 at least, but for a deadline

    def marks(self, ranks):
        """[(ticks, microseconds of the timeline)] of every rank's marks, in order."""
        ticks = [[] for _ in range(ranks)]
        for rank, payload in frames(self.archive, fmt.EVENTS):
            for kind, source, clock, start, *_, name, _, _, _ in fmt.Block(payload).events():
                if name.startswith(b"work "):
                    self.assertEqual(clock, TSC)
                    ticks[rank].append(start)
        marks = []
        for rank in range(ranks):
            times = sorted(event["ts"] for event in export(self.archive, rank)
                           if event.get("name", "").startswith("work ") and event["ph"] == "X")
            self.assertEqual(len(times), len(ticks[rank]))
            marks.append(list(zip(sorted(ticks[rank]), times)))
        return marks

    def test_eight_ranks_come_out_as_if_they_had_one_clock(self):
        self.job(8, MARKER, 2500)
        self.assertGreaterEqual(len(self.epochs), 4)  # the first, the last, and some in between
        self.assertEqual(sorted(self.epochs), list(range(len(self.epochs))))
        for whole in (0, max(self.epochs)):
            self.assertEqual(len({edge[:2] for edge in self.epochs[whole]}), EDGES[8])
        self.assertTruthInEveryEdge()
        clocks = report(self.output)["clocks"]
        self.assertEqual([clock["method"] for clock in clocks[1:]], ["exchanged"] * 7)
        self.assertEqual(max(clock["epochs"] for clock in clocks), len(self.epochs))
        self.assertMarksLieTrue(self.marks(8), clocks)

    def assertMarksLieTrue(self, marks, clocks, count=2500):
        """All ranks' marks lie on rank 0's line from ticks to time, within their bounds."""
        (first_ticks, first_us), (last_ticks, last_us) = marks[0][0], marks[0][-1]
        us_per_tick = (last_us - first_us) / (last_ticks - first_ticks)
        for rank, clock in enumerate(clocks):
            self.assertEqual(len(marks[rank]), count)
            for ticks, us in marks[rank]:
                error_us = us - first_us - (ticks - first_ticks) * us_per_tick
                # RAW itself bends against the TSC by some ns between two readings
                self.assertLess(abs(error_us), clock["bound_ns"] / 1000 + 0.5, rank)

    def test_collector_that_was_started_again_goes_on_with_exchanges(self):
        command = ["mpirun", "--oversubscribe", "-n", 2, *self.command(MARKER, 12000)]
        job = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, env=environment(), text=True)
        self.addCleanup(job.kill)
        archive = self.output / "run.ifp"
        before = set()

        def three_exchanges():
            if archive.exists() and archive.stat().st_size > 1000:
                before.update(edge[0] for edge in whole_edges(archive))
            return len(before) >= 3

        wait_for(three_exchanges, what="some exchanges")
        words = kill_collector(self.output)
        collector = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                     env=environment())
        self.addCleanup(collector.kill)
        said = job.communicate(timeout=120)[1]
        self.assertEqual((job.returncode, collector.wait(timeout=60)), (0, 0), said)
        self.take_epochs()
        self.assertGreaterEqual(len(self.epochs), len(before) + 3)
        self.assertEqual(sorted(self.epochs), list(range(len(self.epochs))))
        self.assertTruthInEveryEdge()
        self.assertEqual(report(self.output)["clocks"][1]["epochs"], len(self.epochs))

    def test_zero_compares_before_and_after_only(self):
        self.job(2, MARKER, 1500, interval="0")
        self.assertEqual(sorted(self.epochs), [0, 1])
        self.assertTruthInEveryEdge()

    def test_over_mpi_at_the_ends_and_over_zeromq_in_between(self):
        self.job(2, MARKER, 1500, options=("--clock mpi",))
        self.assertGreaterEqual(len(self.epochs), 3)
        self.assertTruthInEveryEdge()
        self.assertEqual(report(self.output)["clocks"][1]["over"], "mpi")

    def test_machine_that_was_suspended_goes_on_where_it_belongs(self):
        """Rank 1's RAW stands still while its agent is stopped; BOOTTIME and REALTIME go on.

        Exchanges that were less than 3 s away from it are left out.
        """
        lag = self.folder / "lag"
        lag.write_bytes(bytes(8))
        before = (f'[ "$OMPI_COMM_WORLD_RANK" = 0 ] || export SUSPENDED_CLOCK="{lag}" '
                  f'LD_PRELOAD="{SUSPENDED_CLOCK}" '
                  f'ASAN_OPTIONS="$ASAN_OPTIONS:verify_asan_link_order=0";')
        nanoseconds = "".join(f"\\{byte:03o}" for byte in (SUSPENDED_S * 10**9).to_bytes(8, "little"))
        program = (f'"{MARKER}" 5000; if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then kill -STOP $PPID; '
                   f'sleep {SUSPENDED_S}; printf "{nanoseconds}" 1<>"{lag}"; kill -CONT $PPID; fi; '
                   f'"{MARKER}" 6000')
        self.job(2, "sh", "-c", program, before=before)
        edges_found = [edge for found in self.epochs.values() for edge in found]
        for ahead_s in (APART_S, APART_S - SUSPENDED_S):
            self.assertTrue([1 for client, server, _, low, high in edges_found
                             if low <= (server - client) * ahead_s * 10**9 <= high], ahead_s)
        found = report(self.output)
        self.assertEqual([(row["rank"], row["count"]) for row in found["ledger"]
                          if row["what"] == "clock-suspended"], [(1, 1)])
        self.assertLess(found["clocks"][1]["bound_ns"], SUSPENDED_S * 10**9 / 1000)
        self.assertMarksLieTrue(self.marks(2), found["clocks"], count=11000)

    def test_agent_that_stands_still_holds_up_neither_the_others_nor_the_end(self):
        self.job(4, MARKER, 6000, "stop-agent", 2)
        self.assertTruthInEveryEdge()
        ranks = [{rank for edge in found for rank in edge[:2]} for found in self.epochs.values()]
        self.assertIn({0, 1, 3}, ranks, "nothing was measured while the agent of 2 stood still")
        self.assertEqual(ranks[0], {0, 1, 2, 3})
        self.assertEqual(ranks[-1], {0, 1, 2, 3}, "it is back in time for the last one")
        rows = [row for row in report(self.output)["ledger"] if row["what"] == "clock-edge-lost"]
        self.assertTrue(rows)
        self.assertGreaterEqual(sum(row["count"] for row in rows), 2)


if __name__ == "__main__":
    unittest.main()
