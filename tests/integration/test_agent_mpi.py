# SPDX-License-Identifier: Apache-2.0
"""Agents under mpirun: the job behaves as without them."""

import os
import re
import signal
import subprocess
import time
import unittest

import harness
from harness import AGENT

RANKS = 4


class Job(harness.TestCase):
    def mpirun(self, *command, options=(), **keywords):
        agent = [AGENT, "-o", self.output, *options, "--"]
        return harness.mpirun(RANKS, [*agent, *command], **keywords)

    def test_every_rank_runs_and_one_archive_holds_them(self):
        result = self.mpirun("sh", "-c", "echo rank $OMPI_COMM_WORLD_RANK")
        self.assertEnded(result, 0)
        ranks = sorted(re.findall(r"rank (\d)", result.stdout))
        self.assertEqual(ranks, [str(rank) for rank in range(RANKS)])
        self.assertTrue((self.output / "run.ifp").exists())

    def test_an_output_of_an_earlier_run_ends_the_job_before_any_program(self):
        self.output.mkdir()
        (self.output / "run.ifp").write_text("earlier")
        result = self.mpirun("touch", self.folder / "ran")
        self.assertEqual(result.returncode, 2, str(result))
        self.assertIn("earlier run", result.stderr)
        self.assertFalse((self.folder / "ran").exists())

    def test_a_failing_rank_ends_the_job_as_soon_as_without_infprof(self):
        script = "test $OMPI_COMM_WORLD_RANK = 2 && exit 3; exec sleep 600"
        begin = time.monotonic()
        bare = harness.mpirun(RANKS, ["sh", "-c", script])
        bare_s = time.monotonic() - begin
        begin = time.monotonic()
        watched = self.mpirun("sh", "-c", script)
        watched_s = time.monotonic() - begin
        self.assertEqual(bare.returncode, 3, str(bare))
        self.assertEqual(watched.returncode, 3, str(watched))
        self.assertLess(watched_s, bare_s + 3)

    def signalled(self, number, command):
        """Words on stdout and exit status of a job whose mpirun gets a signal when all are ready."""
        process = subprocess.Popen(
            ["mpirun", "--oversubscribe", "-n", str(RANKS), *map(str, command)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=harness.environment(),
            start_new_session=True,
        )
        try:
            # mpirun may join what several ranks print
            stdout = b""
            while stdout.count(b"ready") < RANKS:
                piece = os.read(process.stdout.fileno(), 65536)
                self.assertNotEqual(piece, b"", "the job ended before it was ready")
                stdout += piece
            process.send_signal(number)
            stdout += process.communicate(timeout=60)[0]
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        return stdout.replace(b"ready", b"").split(), process.returncode

    def test_signals_that_mpirun_sends_reach_each_program_once(self):
        script = (
            "import signal, sys\n"
            "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])\n"
            "print('ready', flush=True)\n"
            "got = [signal.sigtimedwait([signal.SIGUSR1], 30) is not None,\n"
            "       signal.sigtimedwait([signal.SIGUSR1], 0.3) is not None]\n"
            "print(f'\\ngot{sum(got)}\\n', end='', flush=True)\n"
        )
        command = [AGENT, "-q", "-o", self.output, "--", "python3", "-c", script]
        stdout, status = self.signalled(signal.SIGUSR1, command)
        self.assertEqual(stdout, [b"got1"] * RANKS)
        self.assertEqual(status, 0)

    def test_sigterm_to_mpirun_ends_the_job_as_without_infprof(self):
        program = ["sh", "-c", "echo ready; exec sleep 600"]
        bare = self.signalled(signal.SIGTERM, program)
        watched = self.signalled(signal.SIGTERM, [AGENT, "-q", "-o", self.output, "--", *program])
        self.assertEqual(watched, bare)

    def test_a_rank_that_cannot_start_its_program_ends_the_job(self):
        result = self.mpirun("/nonexistent/program")
        self.assertEqual(result.returncode, 127, str(result))


if __name__ == "__main__":
    unittest.main()
