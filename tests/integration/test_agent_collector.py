# SPDX-License-Identifier: Apache-2.0
"""An agent whose collector dies under it: the program notices nothing, and nothing gets lost."""

import re
import subprocess
import unittest

import harness
from harness import AGENT, BUILD, COLLECTOR, INFPROF

MARKER = BUILD / "tests" / "marker"
RANGES = 4000  # of a millisecond each


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
        words = harness.kill_collector(self.output)
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

    def test_the_limits_of_what_is_drawn_are_handed_on(self):
        agent = subprocess.Popen(
            [AGENT, "--ranks-budget", "5MB", "--max-ranks-files", "3", "-o", self.output, "--",
             MARKER, str(RANGES)],
            stderr=subprocess.DEVNULL, env=harness.environment(TMPDIR=self.spool),
        )  # fmt: skip
        self.addCleanup(agent.wait)
        self.addCleanup(agent.kill)
        harness.wait_for(lambda: harness.collector_of(self.output), what="a collector")
        words = harness.collector_of(self.output)[1]
        self.assertEqual(words[words.index("--ranks-budget") + 1], "5000000")
        self.assertEqual(words[words.index("--max-ranks-files") + 1], "3")

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


class FullDisk(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.disk = self.folder / "disk"
        self.disk.mkdir()
        mounted = harness.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", self.disk])
        if mounted.returncode != 0:
            self.skipTest("a file system of its own takes a privilege")
        self.addCleanup(harness.run, ["umount", "-l", self.disk])

    def test_a_disk_that_is_full_from_the_start_costs_a_warning(self):
        with open(self.disk / "fill", "wb", buffering=0) as file:
            while True:
                try:
                    file.write(bytes(4096))
                except OSError:
                    break
        result = harness.run([AGENT, "-o", self.disk / "out", "--", "sh", "-c", "exit 3"])
        self.assertEnded(result, 3)
        self.assertEqual(len(result.stderr.splitlines()), 1, str(result))
        self.assertIn("No space left", result.stderr)

    def test_a_disk_that_becomes_full_costs_the_program_nothing(self):
        spool = self.folder / "spool"
        spool.mkdir()
        result = harness.run(
            [AGENT, "-o", self.disk / "out", "--", MARKER, 20000],
            env=harness.environment(TMPDIR=spool),
        )
        self.assertEnded(result, 0)
        self.assertEqual(result.stdout, "rank 0 done\n")
        (kept,) = spool.glob("*.ifp")
        self.assertIn(str(kept), result.stderr)


class OnOneOfSeveralHosts(harness.TestCase):
    def test_agents_reach_a_collector_over_the_network_with_its_keys(self):
        keys = self.folder / "keys"
        self.assertEnded(harness.run([COLLECTOR, "--keygen", keys]), 0)
        collector = subprocess.Popen(
            [COLLECTOR, "-l", "tcp://127.0.0.1:*", "-o", self.output, "--key-file", keys],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=harness.environment(),
            text=True,
        )
        self.addCleanup(collector.stdout.close)
        self.addCleanup(collector.kill)
        ready, address = collector.stdout.readline().split()
        self.assertEqual(ready, "ready")
        options = ["--collector", address, "--key-file", keys]
        result = harness.mpirun(2, [AGENT, *options, "--", MARKER, 50], cwd=self.folder)
        self.assertEnded(result, 0)
        self.assertEqual(collector.wait(timeout=60), 0)
        self.assertEqual(harness.report(self.output)["ranks"], 2)
        self.assertFalse((self.folder / "infprof-out").exists())


if __name__ == "__main__":
    unittest.main()
