# SPDX-License-Identifier: Apache-2.0
"""Odd surroundings: closed descriptors, closed pipes, limits. The program must not notice."""

import os
import resource
import subprocess
import unittest

import harness
from harness import AGENT, BUILD, INFPROF

MARKER = BUILD / "tests" / "marker"
SAMPLE = BUILD / "tests" / "sample_archive"


def closed_pipe():
    """The writing end of a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    return writing


class ClosedFiles(harness.TestCase):
    def test_a_closed_stderr_pipe_does_not_change_how_a_program_ends(self):
        pipe = closed_pipe()
        self.addCleanup(os.close, pipe)
        for command, status in (
            (["sh", "-c", "exit 5"], 5),
            (["sh", "-c", "kill -KILL $$"], -9),
            (["/nonexistent"], 127),
            # the program itself dies of it, as without an agent
            (["sh", "-c", "echo x >&2; kill -PIPE $$"], -13),
        ):
            self.output = self.folder / f"out{status}"
            process = subprocess.run(
                [AGENT, "-o", self.output, "--", *command],
                stderr=pipe,
                env=harness.environment(),
                timeout=60,
                check=False,
            )
            self.assertEqual(process.returncode, status, command)
            self.assertTrue((self.output / "report.txt").exists())

    def ignored(self, status):
        """Signals that a process ignores, from SigIgn, without the two that libc keeps for itself."""
        return int(status.split()[1], 16) & ~(0b11 << 31)

    def test_the_program_starts_with_the_dispositions_of_the_agent(self):
        show = ["grep", "SigIgn", "/proc/self/status"]
        for restored in (True, False):
            for options in (["--off"], ["-q", "-o", self.folder / f"out{restored}"]):
                bare, watched = (
                    subprocess.run(
                        command,
                        stdout=subprocess.PIPE,
                        env=harness.environment(),
                        restore_signals=restored,
                        timeout=60,
                        check=True,
                    ).stdout
                    for command in (show, [AGENT, *options, "--", *show])
                )
                self.assertEqual(self.ignored(watched), self.ignored(bare))

    def test_descriptors_that_are_closed_stay_closed_and_are_not_used_for_files(self):
        found = self.folder / "found"
        program = self.folder / "program.py"
        program.write_text(
            "import os, sys\n"
            "is_open = [os.path.lexists(f'/proc/self/fd/{fd}') for fd in range(3)]\n"
            f"open('{found}', 'w').write(repr(is_open))\n"
            "sys.exit(7)\n"
        )
        for i, (closing, is_open) in enumerate(
            (
                ("<&-", [False, True, True]),
                (">&- 2>&-", [True, False, False]),
                ("<&- >&- 2>&-", [False, False, False]),
            )
        ):
            self.output = self.folder / f"out{i}"
            script = f"exec {AGENT} -o {self.output} -- python3 -S {program} {closing}"
            self.assertEnded(harness.run(["sh", "-c", script]), 7)
            self.assertEqual(found.read_text(), repr(is_open), closing)
            result = harness.run([INFPROF, "check", self.output / "run.ifp"])
            self.assertEnded(result, 0)

    def test_what_a_verb_prints_does_not_get_into_its_file(self):
        archive = self.folder / "run.ifp"
        self.assertEnded(harness.run([SAMPLE, archive, 2, 2, 0, 10]), 0)
        good, bad = self.folder / "good.json", self.folder / "bad.json"
        self.assertEnded(harness.run([INFPROF, "export", archive, "-o", good]), 0)
        script = f"{INFPROF} export {archive} -o {bad} >&-"
        result = harness.run(["sh", "-c", script])
        self.assertEnded(result, 1)
        self.assertIn("standard output", result.stderr)
        self.assertEqual(bad.read_bytes(), good.read_bytes())


class Names(harness.TestCase):
    def test_names_with_blanks_quotes_and_control_characters(self):
        names = ["my runs", "it's $HOME", 'a"b\\c', "two\nlines\x1b[31m", "-x", "%s%n"]
        for name in [*names, "latin \udce9"]:
            output = self.folder / name / "run"
            result = harness.run([AGENT, "-o", output, "--", "true"])
            self.assertEnded(result, 0)
            self.assertTrue((output / "report.json").exists())
            for line in result.stderr.splitlines():
                self.assertTrue(line.startswith("infprof: "), repr(line))
                self.assertNotIn("\x1b", line)
            command = result.stderr.splitlines()[-1]
            self.assertIn("tensorboard --logdir ", command)
            word = command.partition("--logdir ")[2]
            if "\udce9" not in name:  # harness.run() decodes what the agent prints
                read = subprocess.run(
                    ["bash", "-c", f"printf %s {word}"],
                    stdout=subprocess.PIPE,
                    timeout=60,
                    check=True,
                ).stdout
                self.assertEqual(os.fsdecode(read), str(output))


class Limits(harness.TestCase):
    def test_a_limit_for_files_costs_the_recording_and_not_the_program(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))

        process = subprocess.run(
            [AGENT, "-q", "-o", self.output, "--", "sh", "-c", "exit 6"],
            stderr=subprocess.PIPE,
            env=harness.environment(),
            preexec_fn=limit,
            timeout=100,
            check=False,
        )
        self.assertEqual(process.returncode, 6, process.stderr)
        self.assertIn(b"without infprof", process.stderr)
        self.assertEqual(len(process.stderr.splitlines()), 1, process.stderr)

    def test_a_limit_for_files_is_an_error_of_a_verb(self):
        archive = self.folder / "run.ifp"
        self.assertEnded(harness.run([SAMPLE, archive, 8, 20, 0, 10]), 0)
        target = self.folder / "big.json"
        script = f"ulimit -f 8; exec {INFPROF} export {archive} -o {target}"
        result = harness.run(["sh", "-c", script])
        self.assertEnded(result, 1)
        self.assertIn("File too large", result.stderr)
        self.assertEqual(list(self.folder.iterdir()), [archive])


if __name__ == "__main__":
    unittest.main()
