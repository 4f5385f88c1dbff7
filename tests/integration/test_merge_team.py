# SPDX-License-Identifier: Apache-2.0
"""infprof merge in several processes: the same result as in one, and no harm when one fails.

Launchers are mpirun, and what mpirun, srun and torchrun would set: then a test decides when which
process starts and ends, and sees each status, which mpirun would not tell.
"""

import gzip
import json
import pathlib
import signal
import subprocess
import tempfile
import unittest

import harness

DATA = harness.SOURCE / "tests" / "data" / "kineto"


def openmpi(rank, world):
    return {"OMPI_COMM_WORLD_RANK": rank, "OMPI_COMM_WORLD_SIZE": world, "PMIX_NAMESPACE": "17",
            "OMPI_COMM_WORLD_LOCAL_RANK": rank, "OMPI_COMM_WORLD_LOCAL_SIZE": world}


def slurm(rank, world):
    return {"SLURM_PROCID": rank, "SLURM_STEP_NUM_TASKS": world, "SLURM_LOCALID": rank,
            "SLURM_STEP_TASKS_PER_NODE": world, "SLURM_JOB_ID": "5", "SLURM_STEP_ID": "0",
            "SLURM_NODEID": 0}


def torchrun(rank, world):
    return {"TORCHELASTIC_RUN_ID": "none", "RANK": rank, "WORLD_SIZE": world, "LOCAL_RANK": rank,
            "LOCAL_WORLD_SIZE": world, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}


def content(directory):
    """All files of a run by their paths in it."""
    return {str(path.relative_to(directory)): path.read_bytes()
            for path in sorted(pathlib.Path(directory).rglob("*")) if path.is_file()}


class Team(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.traces = self.folder / "traces"
        self.traces.mkdir()
        self.meeting = self.output / ".merge"
        self.started = []
        self.addCleanup(self.end_all)

    def end_all(self):
        for process in self.started:
            process.kill()
            process.communicate()

    def write(self, name, data):
        (self.traces / name).write_bytes(data)

    def trace(self, name, rank, world, count=3):
        self.write(name, json.dumps({
            "distributedInfo": {"rank": rank, "world_size": world},
            "traceEvents": [
                {"ph": "X", "cat": "cpu_op", "name": f"{name} {i}", "pid": 7, "tid": 7,
                 "ts": 1000 + 10 * i, "dur": 5} for i in range(count)]}).encode())

    def good_traces(self, count=4):
        for rank in range(count):
            self.trace(f"rank{rank}.json", rank, count, 3 + rank)

    def alone(self, *arguments, status=0):
        """What one process makes of it: its result and its output directory."""
        output = pathlib.Path(tempfile.mkdtemp(prefix="alone-", dir=self.folder))
        result = harness.run([harness.INFPROF, "merge", self.traces, "-o", output, *arguments])
        self.assertEnded(result, status)
        return result, output

    def start(self, rank, world, *arguments, launcher=openmpi, prefix=(), cwd=None):
        process = subprocess.Popen(
            [str(word) for word in (*prefix, harness.INFPROF, "merge",
                                    *(arguments or [self.traces]), "-o", self.output)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            cwd=cwd, env=harness.environment(**launcher(rank, world)))
        self.started.append(process)
        return process

    def end(self, process, status):
        """The lines that a process has printed, after it has ended as it should."""
        stdout, stderr = process.communicate(timeout=60)
        self.assertEqual(process.returncode, status, stderr)
        return stdout.splitlines(), stderr.splitlines()

    def start_waiting(self, launcher=openmpi):
        """Processes 0 and 1 of 3, which have read their parts and wait for process 2."""
        processes = [self.start(rank, 3, launcher=launcher) for rank in (0, 1)]
        harness.wait_for(self.delivered, what="process 1 hands its part in")
        return processes

    def delivered(self):
        seat = self.meeting / "1"
        return seat.exists() and "delivered" in seat.read_text()

    def assertSameAsAlone(self):
        _, output = self.alone()
        self.assertEqual(content(self.output), content(output))
        self.assertFalse(self.meeting.exists())


class Same(Team):
    def mpirun(self, ranks, *arguments, status=0):
        result = harness.mpirun(
            ranks, [harness.INFPROF, "merge", self.traces, "-o", self.output, *arguments])
        self.assertEnded(result, status)
        return result

    def compare(self, ranks, *arguments):
        """The same files, byte by byte, and the same lines, but for the directory's name."""
        alone, output = self.alone(*arguments)
        result = self.mpirun(ranks, *arguments)
        self.assertEqual(content(self.output), content(output))
        self.assertFalse(self.meeting.exists())
        self.assertEqual(result.stdout.replace(str(self.output), str(output)), alone.stdout)
        self.assertEqual(result.stderr, alone.stderr)
        return result

    def test_samples_in_three_processes(self):
        for path in DATA.glob("*.json.gz"):
            self.write(path.name, path.read_bytes())
        self.compare(3)

    def test_damage_of_all_parts_is_told_once(self):
        whole = gzip.decompress((DATA / "ddp.rank0.json.gz").read_bytes())
        for rank in range(4):
            self.write(f"rank{rank}.json", whole[: len(whole) * (rank + 2) // 6])
        self.write("rank4.json", b"no trace")
        result = self.compare(3, "--json")
        self.assertEqual(sum("damaged" in line for line in result.stderr.splitlines()), 4)

    def test_more_processes_than_files_one_of_them_no_trace(self):
        self.trace("rank0.json", 0, 1)
        self.write("large.json", b"\0" * 10000)
        self.compare(4, "--archive-only", "--json")

    def test_strict_is_decided_by_process_0(self):
        self.trace("rank3.json", 3, 8)
        result = self.mpirun(3, "--strict", status=2)
        lines = [line for line in result.stderr.splitlines() if line.startswith("infprof")]
        self.assertEqual(len(lines), 2, result.stderr)
        self.assertIn("7 of the 8 ranks of the job are missing", lines[0])
        self.assertFalse(self.output.exists())

    def test_no_trace_at_all_is_one_line(self):
        result = self.mpirun(3, status=1)
        lines = [line for line in result.stderr.splitlines() if line.startswith("infprof")]
        self.assertEqual(len(lines), 1, result.stderr)
        self.assertIn("there is no trace to read", lines[0])
        self.assertFalse(self.output.exists())

    def test_an_earlier_run_is_never_written_over(self):
        self.good_traces()
        self.mpirun(2)
        before = content(self.output)
        result = self.mpirun(2, status=1)
        self.assertIn("is there already: name another directory", result.stderr)
        self.assertEqual(content(self.output), before)

    def test_other_launchers(self):
        self.good_traces()
        _, output = self.alone()
        for launcher in (slurm, torchrun):
            with self.subTest(launcher.__name__):
                self.output = self.folder / launcher.__name__
                processes = [self.start(rank, 3, launcher=launcher) for rank in (2, 1, 0)]
                printed = [self.end(process, 0) for process in processes]
                self.assertEqual(printed[:2], [([], []), ([], [])])
                self.assertTrue(printed[2][0])
                self.assertEqual(content(self.output), content(output))


class Alone(Team):
    def test_alone_waits_for_no_other_process(self):
        self.good_traces()
        self.end(self.start(2, 3, self.traces, "--alone"), 0)
        self.assertSameAsAlone()

    def test_variables_that_cannot_be_are_named(self):
        self.good_traces()
        _, lines = self.end(self.start(3, 3), 1)
        self.assertEqual(len(lines), 1)
        self.assertIn("--alone", lines[0])
        self.assertIn("OMPI_COMM_WORLD_RANK=3", lines[0])


class Failing(Team):
    def setUp(self):
        super().setUp()
        self.good_traces()

    def fail_together(self, processes, *texts):
        """All end with status 1; process 0 alone says why, in one line."""
        _, lines = self.end(processes[0], 1)
        self.assertEqual(len(lines), 1, lines)
        for text in texts:
            self.assertIn(text, lines[0])
        for process in processes[1:]:
            self.assertEqual(self.end(process, 1), ([], []))
        self.assertFalse(self.output.exists())

    def test_other_arguments(self):
        for other in ([self.traces / "rank0.json"], [self.traces, "--strict"]):
            with self.subTest(other=other):
                self.fail_together([self.start(0, 2), self.start(1, 2, *other)],
                                   "process 1 of 2 (", "has other arguments than process 0")

    def test_files_of_another_file_system(self):
        for name, data in (("here", b"[]"), ("there", b"[ ]"), ("nowhere", None)):
            (self.folder / name).mkdir()
            if data:
                (self.folder / name / "rank0.json").write_bytes(data)
        for name, text in (("there", "3 bytes here and 2 at process 0"),
                           ("nowhere", "process 0 sees rank0.json, but here: No such file")):
            with self.subTest(name):
                # the only file is process 0's, unless there is a larger one
                (self.folder / "here" / "rank1.json").write_bytes(b"[          ]")
                (self.folder / name / "rank1.json").write_bytes(b"[          ]")
                files = ["rank0.json", "rank1.json"]
                self.fail_together(
                    [self.start(0, 2, *files, cwd=self.folder / "here"),
                     self.start(1, 2, *files, cwd=self.folder / name)],
                    "process 1 of 2 (", text)

    def test_a_process_that_cannot_write(self):
        for rank in (0, 1):
            self.write(f"rank{rank}.json", gzip.decompress(
                (DATA / f"ddp.rank{rank}.json.gz").read_bytes()))
        self.fail_together([self.start(0, 2), self.start(1, 2, prefix=["prlimit", "--fsize=1000"])],
                           "process 1 of 2 (", "to a spill file: File too large")

    def test_one_that_dies_after_its_part_is_not_needed(self):
        leader, other = self.start_waiting()
        other.kill()
        self.end(other, -signal.SIGKILL)
        last = self.start(2, 3)
        self.end(leader, 0)
        self.assertEqual(self.end(last, 0), ([], []))
        self.assertSameAsAlone()

    def test_the_others_end_when_process_0_dies(self):
        leader, other = self.start_waiting()
        leader.kill()
        self.end(leader, -signal.SIGKILL)
        _, lines = self.end(other, 1)
        self.assertEqual(len(lines), 1, lines)
        self.assertRegex(lines[0], r"^infprof\[1\]: error: process 0 of 3 \(.*\) has died")
        self.assertFalse(self.output.exists())

    def leave_parts(self):
        leader, other = self.start_waiting(torchrun)
        for process in (other, leader):
            process.kill()
            self.end(process, -signal.SIGKILL)
        self.assertTrue((self.meeting / "1.part").exists())

    def test_parts_of_a_killed_attempt_do_no_harm(self):
        """Not even where the next job has the same name, as those of torchrun have."""
        for world in (1, 3):
            with self.subTest(world=world):
                self.output = self.folder / f"of-{world}"
                self.meeting = self.output / ".merge"
                self.leave_parts()
                for process in [self.start(rank, world, launcher=torchrun)
                                for rank in reversed(range(world))]:
                    self.end(process, 0)
                self.assertSameAsAlone()

    def test_two_at_once_are_refused(self):
        waiting = self.start_waiting()
        for process in (self.start(0, 1), self.start(0, 2, launcher=slurm),
                        self.start(1, 2, launcher=slurm)):
            _, lines = self.end(process, 1)
            self.assertEqual(len(lines), 1, lines)
            self.assertIn("another merge is at work", lines[0])
        for process in [*waiting, self.start(2, 3)]:
            self.end(process, 0)
        self.assertSameAsAlone()


if __name__ == "__main__":
    unittest.main()
