# SPDX-License-Identifier: Apache-2.0
"""Wrong use of infprof-agent: one clear line, the right exit status, and nothing half-done."""

import os
import unittest

import harness
from harness import AGENT


class Usage(harness.TestCase):
    def assertRefused(self, arguments, status, words, env=None):
        """The agent ends with one line that has the words, and has not run the program."""
        proof = self.folder / "ran"
        command = [AGENT, *arguments]
        if "PROGRAM" in command:
            command[command.index("PROGRAM") :] = ["touch", proof]
        before = set(self.folder.rglob("*"))
        result = harness.run(command, cwd=self.folder, env=env)
        self.assertEnded(result, status)
        lines = result.stderr.splitlines()
        self.assertEqual(len(lines), 1, str(result))
        for word in words:
            self.assertIn(word, lines[0])
        self.assertEqual(result.stdout, "")
        self.assertFalse(proof.exists(), "the program was run")
        self.assertEqual(set(self.folder.rglob("*")), before, "something was left behind")

    def test_the_separator_is_missing(self):
        self.assertRefused(["touch", "PROGRAM"], 2, ["--"])
        self.assertRefused([], 2, ["--"])

    def test_no_program_behind_the_separator(self):
        self.assertRefused(["--"], 2, ["no program"])

    def test_an_unknown_option(self):
        self.assertRefused(["--frobnicate", "--", "PROGRAM"], 2, ["--frobnicate"])

    def test_values_that_cannot_be(self):
        self.assertRefused(["--steps", "5:1", "--", "PROGRAM"], 2, ["--steps 5:1"])
        self.assertRefused(["--warmup", "x", "--", "PROGRAM"], 2, ["warmup"])
        self.assertRefused(["--clock", "sundial", "--", "PROGRAM"], 2, ["clock", "sundial"])
        self.assertRefused(["--duration", "0", "--", "PROGRAM"], 2, ["duration"])
        for address in ("here", "tcp://head", "tcp://127.0.0.1:99999", "ipc://collector"):
            self.assertRefused(
                ["--collector", address, "--", "PROGRAM"], 2, [f"--collector {address}"]
            )
        self.assertRefused(["--key-file", "k", "--", "PROGRAM"], 2, ["--key-file", "--collector"])
        self.assertRefused(
            ["--collector", "tcp://h:1", "--key-file", "/nonexistent", "--", "PROGRAM"],
            2,
            ["/nonexistent"],
        )

    def test_an_output_directory_that_cannot_be_written(self):
        self.assertRefused(["-o", "/proc/infprof", "--", "PROGRAM"], 2, ["/proc/infprof"])
        plain = self.folder / "plain"
        plain.write_text("")
        self.assertRefused(["-o", plain, "--", "PROGRAM"], 2, [str(plain)])

    def test_an_output_directory_with_an_earlier_run(self):
        self.output.mkdir()
        (self.output / "run.ifp").write_text("earlier")
        self.assertRefused(["-o", self.output, "--", "PROGRAM"], 2, ["earlier run"])
        self.assertEqual((self.output / "run.ifp").read_text(), "earlier")

    def test_an_identity_that_cannot_be(self):
        env = harness.environment(OMPI_COMM_WORLD_RANK=8, OMPI_COMM_WORLD_SIZE=8, PMIX_NAMESPACE=1)
        self.assertRefused(["--", "PROGRAM"], 2, ["OMPI_COMM_WORLD_RANK=8"], env=env)

    def test_a_program_that_is_not_there_or_cannot_be_executed(self):
        text = self.folder / "text"
        text.write_text("not a program\n")
        for program, status in (("/nonexistent/program", 127), (text, 126)):
            result = harness.run([AGENT, "-q", "-o", self.output, "--", program])
            self.assertEnded(result, status)
            self.assertEqual(len(result.stderr.splitlines()), 1, str(result))
            self.assertIn(str(program), result.stderr)
            self.output = self.folder / "out2"

    def test_help_and_version_go_to_stdout(self):
        result = harness.run([AGENT, "--help"])
        self.assertEnded(result, 0)
        self.assertIn("--steps", result.stdout)
        self.assertEqual(result.stderr, "")
        result = harness.run([AGENT, "--version"])
        self.assertEnded(result, 0)
        self.assertRegex(result.stdout, r"\d+\.\d+\.\d+")


class Off(harness.TestCase):
    def test_the_program_takes_the_place_of_the_agent(self):
        result = harness.run([AGENT, "--off", "--", "sh", "-c", "echo $PPID; env"], cwd=self.folder)
        self.assertEnded(result, 0)
        parent, _, variables = result.stdout.partition("\n")
        self.assertEqual(int(parent), os.getpid())
        for name in ("INFPROF_SEGMENT", "KINETO_", "PMIX_MCA_gds"):
            self.assertNotIn(name, variables)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_its_exit_status_is_its_own(self):
        self.assertEnded(harness.run([AGENT, "--off", "--", "sh", "-c", "exit 3"]), 3)
        self.assertEnded(harness.run([AGENT, "--off", "--", "/nonexistent"]), 127)

    def test_it_can_be_switched_off_by_the_environment(self):
        env = harness.environment(INFPROF_OFF="1")
        result = harness.run([AGENT, "--", "sh", "-c", "exit 4"], cwd=self.folder, env=env)
        self.assertEnded(result, 4)
        self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
