# SPDX-License-Identifier: Apache-2.0
"""Programs that a profiler could break stay whole, and the report says what was not recorded."""

import concurrent.futures
import os
import pathlib
import subprocess
import textwrap
import unittest

from harness import (AGENT, BUILD, PYTHON, SOURCE, TestCase, environment, export, ledger_words,
                     mpirun, report, run)

MARKER = BUILD / "tests" / "marker"
MARKER_ASAN = BUILD / "tests" / "marker_asan"

TRAINING = """
    import torch
    model = torch.nn.Linear(8, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    def step():
        loss = model(torch.ones(4, 8)).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


class WholePrograms(TestCase):
    def program(self, *parts):
        path = self.folder / "program.py"
        path.write_text("\n".join(textwrap.dedent(part) for part in parts))
        return path

    def agent(self, *command, timeout=120, **changes):
        return run([AGENT, "-o", self.output, "--", *command], timeout=timeout,
                   env=environment(**changes))

    def test_a_program_that_ends_before_its_window(self):
        result = self.agent(PYTHON, self.program(TRAINING, "for _ in range(3): step()\nprint('ok')"))
        self.assertEnded(result, 0)
        self.assertEqual(result.stdout, "ok\n")
        self.assertIn((0, "window-lost"), ledger_words(self.output))

    def test_no_pytorch_at_all(self):
        result = self.agent(PYTHON, "-c", "print('plain')")
        self.assertEnded(result, 0)
        self.assertEqual(result.stdout, "plain\n")
        self.assertIn((0, "no-torch"), ledger_words(self.output))

    def test_python_isolated_from_its_environment(self):
        result = self.agent(PYTHON, "-I", self.program(TRAINING, "step()\nprint('ok')"))
        self.assertEnded(result, 0)
        self.assertEqual(result.stdout, "ok\n")
        self.assertIn((0, "hook-off"), ledger_words(self.output))

    def test_a_sitecustomize_of_the_user_runs_too(self):
        (self.folder / "sitecustomize.py").write_text("import builtins; builtins.mine = 'user'\n")
        result = self.agent(PYTHON, "-c", "print(mine)", PYTHONPATH=str(self.folder))
        self.assertEnded(result, 0)
        self.assertEqual(result.stdout, "user\n")

    def test_fork_after_import_torch(self):
        result = self.agent(PYTHON, self.program(TRAINING, """
            import os
            step()
            child = os.fork()
            if child == 0:
                step()
                os._exit(7)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """))
        self.assertEnded(result, 0)
        self.assertEqual(result.stdout, "7\n")

    def profiled(self, *parts):
        """A program with its own profiler: its own trace must be whole."""
        own = self.folder / "own.json"
        result = self.agent(PYTHON, self.program(TRAINING, "from torch.profiler import *", *parts,
                                                 "print('ok')"), own, timeout=180)
        self.assertEnded(result, 0)
        self.assertEqual(result.stdout, "ok\n")
        self.assertIn("aten::linear", own.read_text())
        return ledger_words(self.output)

    def test_its_own_profiler_recording_at_the_first_step(self):
        words = self.profiled("""
            import sys
            with profile(activities=[ProfilerActivity.CPU]) as p:
                for _ in range(5):
                    step()
            p.export_chrome_trace(sys.argv[1])
            for _ in range(50):
                step()
        """)
        self.assertIn((0, "not-armed"), words)

    def test_its_own_profiler_warming_up_at_the_first_step(self):
        words = self.profiled("""
            import sys
            with profile(activities=[ProfilerActivity.CPU],
                         schedule=schedule(wait=0, warmup=5, active=3, repeat=1),
                         on_trace_ready=lambda p: p.export_chrome_trace(sys.argv[1])) as p:
                for _ in range(9):
                    step()
                    p.step()
        """)
        self.assertIn((0, "not-armed"), words)

    def test_its_own_profiler_after_ours_was_armed(self):
        words = self.profiled("""
            import sys, time
            for _ in range(150):
                step()
                time.sleep(0.05)
            with profile(activities=[ProfilerActivity.CPU]) as p:
                step()
            p.export_chrome_trace(sys.argv[1])
        """)
        self.assertNotIn((0, "not-armed"), words)

    def test_a_program_built_with_address_sanitizer(self):
        result = self.agent(MARKER_ASAN, 50)
        self.assertEnded(result, 0)
        self.assertNotIn("AddressSanitizer", result.stderr)
        names = [e["name"] for e in export(self.output / "run.ifp", 0)]
        self.assertEqual(sum(name.startswith("work ") for name in names), 50)

    def test_a_shell_script_around_the_program(self):
        script = self.folder / "run.sh"
        script.write_text(f"{MARKER} 20\n{MARKER} 30\nexit 5\n")
        self.assertEnded(self.agent("bash", script), 5)
        names = [e["name"] for e in export(self.output / "run.ifp", 0)]
        self.assertEqual(sum(name.startswith("work ") for name in names), 50)

    def test_two_jobs_at_once_on_one_host(self):
        def job(name):
            return mpirun(2, [AGENT, "-o", self.folder / name, "--", MARKER, 100])

        with concurrent.futures.ThreadPoolExecutor() as pool:
            for result in pool.map(job, ["one", "two"]):
                self.assertEnded(result, 0)
        for name in ("one", "two"):
            self.assertEqual(report(self.folder / name)["ranks"], 2)
            for rank in range(2):
                names = [e["name"] for e in export(self.folder / name / "run.ifp", rank)]
                self.assertEqual(sum(n.startswith("work ") for n in names), 100)


@unittest.skipUnless(os.geteuid() == 0, "mounting needs root")
class SmallFileSystems(TestCase):
    """In a mount namespace of its own, a job finds a small /dev/shm or a full disk."""

    def in_small_mount(self, folder, size, command):
        script = f'mount -t tmpfs -o size={size} none "{folder}" && exec "$@"'
        return run(["unshare", "--mount", "sh", "-c", script, "sh", *command])

    def test_a_64_MB_dev_shm_serves_eight_ranks(self):
        result = self.in_small_mount("/dev/shm", "64m", [
            "mpirun", "--oversubscribe", "-n", 8, AGENT, "-o", self.output, "--", MARKER, 50])
        self.assertEnded(result, 0)
        for rank in range(8):
            names = [e["name"] for e in export(self.output / "run.ifp", rank)]
            self.assertEqual(sum(n.startswith("work ") for n in names), 50)

    def test_a_full_disk_under_the_output_does_not_stop_the_program(self):
        small = self.folder / "small"
        small.mkdir()
        result = self.in_small_mount(small, "64k", [AGENT, "-o", small / "out", "--", MARKER, 4000])
        self.assertEnded(result, 0)
        self.assertEqual(result.stdout, "rank 0 done\n")
        self.assertIn("No space left", result.stderr)


if __name__ == "__main__":
    unittest.main()
