# SPDX-License-Identifier: Apache-2.0
"""One program under one agent: it must be the same program as without."""

import glob
import hashlib
import os
import resource
import signal
import subprocess
import unittest

import harness
from harness import AGENT

PLACES = (f"/tmp/infprof-{os.geteuid()}/*", "/tmp/*", "/dev/shm/*")


class Run(harness.TestCase):
    def agent(self, *command, options=(), **keywords):
        return harness.run([AGENT, "-o", self.output, *options, "--", *command], **keywords)

    def start(self, *command):
        process = subprocess.Popen(
            [AGENT, "-q", "-o", self.output, "--", *command],
            stdout=subprocess.PIPE,
            env=harness.environment(),
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        return process

    def test_a_run_leaves_an_archive_and_nothing_else_outside(self):
        process = self.start("true")
        self.assertEqual(process.wait(timeout=60), 0)
        self.assertGreater((self.output / "run.ifp").stat().st_size, 0)
        # names of this agent's own things have its process number in them
        own = [path for where in PLACES for path in glob.glob(where) if f"-{process.pid}-" in path]
        self.assertEqual(own, [])

    def test_exit_statuses_pass_through(self):
        for status in (0, 1, 3, 77, 255):
            self.output = self.folder / str(status)
            self.assertEnded(self.agent("sh", "-c", f"exit {status}"), status)

    def test_the_agent_dies_of_the_signal_that_killed_the_program(self):
        for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL, signal.SIGTERM):
            self.output = self.folder / number.name
            result = self.agent("sh", "-c", f"kill -{number.value} $$")
            self.assertEnded(result, -number)

    def test_the_agent_leaves_no_core_of_its_own(self):
        cores = self.folder / "cores"
        cores.mkdir()

        def allow_cores():
            hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
            resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))

        process = subprocess.run(
            [AGENT, "-q", "-o", self.output, "--", "sh", "-c", "ulimit -c 0; kill -SEGV $$"],
            cwd=cores,
            env=harness.environment(),
            preexec_fn=allow_cores,
            timeout=60,
            check=False,
        )
        self.assertEqual(process.returncode, -signal.SIGSEGV)
        self.assertEqual(list(cores.iterdir()), [])

    def test_a_signal_to_the_agent_reaches_the_program_once(self):
        for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP, signal.SIGINT):
            self.output = self.folder / number.name
            process = self.start(
                "python3",
                "-c",
                "import signal, sys\n"
                f"signal.pthread_sigmask(signal.SIG_BLOCK, [{number.value}, signal.SIGALRM])\n"
                "print('ready', flush=True)\n"
                f"print(signal.sigtimedwait([{number.value}], 30).si_signo)\n"
                # a second one would be here within this time
                f"print(signal.sigtimedwait([{number.value}], 0.3))\n"
                "sys.exit(9)",
            )
            self.assertEqual(process.stdout.readline(), b"ready\n")
            process.send_signal(number)
            stdout, _ = process.communicate(timeout=60)
            self.assertEqual(stdout.split(), [str(number.value).encode(), b"None"])
            self.assertEqual(process.returncode, 9)

    def test_a_signal_without_a_handler_ends_both(self):
        process = self.start("sh", "-c", "echo ready; exec sleep 600")
        self.assertEqual(process.stdout.readline(), b"ready\n")
        process.terminate()
        self.assertEqual(process.wait(timeout=60), -signal.SIGTERM)

    def test_the_program_dies_with_a_killed_agent(self):
        process = self.start("sh", "-c", "echo $$; exec sleep 600")
        program = int(process.stdout.readline())
        watch = os.pidfd_open(program)
        self.addCleanup(os.close, watch)
        process.kill()
        process.wait(timeout=60)
        # stdout is closed when the last process that holds it has ended
        self.assertEqual(process.stdout.read(), b"")

    def test_a_megabyte_a_second_on_stdout_is_not_touched(self):
        script = (
            "import hashlib, os, sys, time\n"
            "total = hashlib.sha256()\n"
            "for i in range(30):\n"
            "    piece = os.urandom(100000)\n"
            "    total.update(piece)\n"
            "    sys.stdout.buffer.write(piece)\n"
            "    sys.stdout.buffer.flush()\n"
            "    time.sleep(0.1)\n"
            "sys.stderr.write(total.hexdigest())\n"
        )
        result = self.agent("python3", "-c", script, options=["-q"], binary=True)
        self.assertEnded(result, 0)
        self.assertEqual(len(result.stdout), 3000000)
        self.assertEqual(hashlib.sha256(result.stdout).hexdigest(), result.stderr)

    def test_stdin_is_the_programs(self):
        path = self.folder / "input"
        path.write_text("from stdin\n")
        with path.open() as stdin:
            result = self.agent("cat", stdin=stdin)
        self.assertEqual(result.stdout, "from stdin\n")

    def test_the_program_starts_with_the_mask_and_the_descriptors_of_the_agent(self):
        script = (
            "import os, signal\n"
            "print(signal.pthread_sigmask(signal.SIG_BLOCK, []), signal.getsignal(signal.SIGPIPE),"
            " sorted(map(int, os.listdir('/proc/self/fd')))[:-1], os.getcwd())"
        )
        bare = harness.run(["python3", "-c", script], cwd=self.folder)
        watched = self.agent("python3", "-c", script, cwd=self.folder)
        self.assertEqual(watched.stdout, bare.stdout, str(watched))

    def test_quiet_says_nothing(self):
        result = self.agent("true", options=["--quiet"])
        self.assertEnded(result, 0)
        self.assertEqual(result.stderr, "")

    def test_options_may_stand_in_a_config_file(self):
        config = self.folder / "config.json"
        config.write_text(f'{{"output": "{self.output}", "quiet": true, "steps": ["3", "40:42"]}}')
        env = harness.environment(INFPROF_CONFIG=config)
        result = harness.run([AGENT, "--", "sh", "-c", "exit 5"], env=env)
        self.assertEnded(result, 5)
        self.assertEqual(result.stderr, "")
        self.assertTrue((self.output / "run.ifp").exists())

    def test_runs_without_a_name_never_meet(self):
        for _ in range(2):
            self.assertEnded(harness.run([AGENT, "--", "true"], cwd=self.folder), 0)
        archives = list(self.folder.glob("infprof-out/true-*/run.ifp"))
        self.assertEqual(len(archives), 2)

    def test_two_agents_that_claim_one_rank_do_not_mix(self):
        env = harness.environment(PMI_RANK=0, PMI_SIZE=1, PMI_JOBID=f"twice-{os.getpid()}")
        first = subprocess.Popen(
            [AGENT, "-q", "-o", self.output, "--", "sh", "-c", "echo ready; read line"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=env,
        )
        self.addCleanup(first.kill)
        self.assertEqual(first.stdout.readline(), b"ready\n")
        second = harness.run(
            [AGENT, "-o", self.folder / "second", "--", "sh", "-c", "exit 3"], env=env
        )
        self.assertEnded(second, 3)
        self.assertIn("two agents claim to be rank 0", second.stderr)
        self.assertFalse((self.folder / "second").exists())
        first.communicate(b"go on\n", timeout=60)
        self.assertEqual(first.returncode, 0)
        # one after the other they may have one name
        third = harness.run([AGENT, "-q", "-o", self.folder / "third", "--", "true"], env=env)
        self.assertEnded(third, 0)
        self.assertEqual(third.stderr, "")

    def test_a_collector_that_is_not_there_costs_a_warning(self):
        result = harness.run(
            [AGENT, "--collector", f"ipc://{self.folder}/nobody", "--", "sh", "-c", "exit 3"]
        )
        self.assertEnded(result, 3)
        self.assertEqual(len(result.stderr.splitlines()), 1, str(result))
        self.assertIn("without infprof", result.stderr)


if __name__ == "__main__":
    unittest.main()
