# SPDX-License-Identifier: Apache-2.0
"""An agent whose collector dies under it: the program notices nothing, and nothing gets lost."""

import os
import pathlib
import re
import select
import signal
import subprocess
import unittest

import harness
from harness import AGENT, BUILD, INFPROF

MARKER = BUILD / "tests" / "marker"
RANGES = 4000  # of a millisecond each


def collector_of(output):
    """Process and command line of the collector that writes into output."""
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().decode().split("\0")[:-1]
        except OSError:
            continue
        if words and words[0].endswith("infprof-collector") and str(output) in words:
            return int(entry.name), words
    return None


class CollectorDies(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.spool = self.folder / "spool"
        self.spool.mkdir()

    def start_and_kill_collector(self):
        """A running agent, and the command line of its collector, which is dead."""
        agent = subprocess.Popen(
            [AGENT, "-o", self.output, "--", MARKER, str(RANGES)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=harness.environment(TMPDIR=self.spool),
            text=True,
        )
        self.addCleanup(agent.kill)
        archive = self.output / "run.ifp"
        # some frames of events have been stored, but not all
        harness.wait_for(
            lambda: archive.exists() and archive.stat().st_size > 6000, what="frames in the archive"
        )
        pid, words = collector_of(self.output)
        watch = os.pidfd_open(pid)
        self.addCleanup(os.close, watch)
        signal.pidfd_send_signal(watch, signal.SIGKILL)
        self.assertTrue(select.select([watch], [], [], 60)[0], "the collector is still there")
        place = words.index("--ready-fd")
        del words[place : place + 2]
        return agent, words

    def assertAllRanges(self):
        names = [
            event["name"]
            for event in harness.export(self.output / "run.ifp")
            if event["name"].startswith("work ")
        ]
        self.assertEqual(len(names), RANGES)
        self.assertEqual(len(set(names)), RANGES)

    def test_a_collector_that_is_started_again_gets_all_of_it_once(self):
        agent, command = self.start_and_kill_collector()
        collector = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=harness.environment()
        )
        self.addCleanup(collector.kill)
        stdout, stderr = agent.communicate(timeout=90)
        said = collector.communicate(timeout=60)[1]
        self.assertEqual((agent.returncode, stdout), (0, "rank 0 done\n"), stderr)
        self.assertEqual(collector.returncode, 0, said)
        self.assertAllRanges()
        self.assertEqual(list(self.spool.iterdir()), [])

    def test_without_a_collector_the_rest_is_kept_and_can_be_added(self):
        agent, _ = self.start_and_kill_collector()
        stdout, stderr = agent.communicate(timeout=90)
        self.assertEqual((agent.returncode, stdout), (0, "rank 0 done\n"), stderr)
        command = re.search(r"infprof (collect \S+ -o \S+)$", stderr, re.M)
        self.assertIsNotNone(command, stderr)
        added = harness.run([INFPROF, *command[1].split()])
        self.assertEnded(added, 0)
        self.assertAllRanges()
        # what was added twice is there once
        self.assertEnded(harness.run([INFPROF, *command[1].split()]), 0)
        self.assertAllRanges()


if __name__ == "__main__":
    unittest.main()
