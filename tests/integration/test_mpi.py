# SPDX-License-Identifier: Apache-2.0
"""The collectives of MPI programs are recorded, and the programs do not notice."""

import collections
import gzip
import json
import os
import unittest

import harness
from harness import AGENT, BUILD, PYTHON, export, mpirun, report

TESTS = BUILD / "tests"
CALLS = TESTS / "mpi_calls"
LIBRARY = BUILD / "lib" / "infprof" / "libinfprof.so"

# What mpi_calls does on each communicator, in its order, and the bytes of one rank's part.
EVERY = [
    ("Barrier", None),
    ("Allreduce", 4),
    ("Allreduce", 4),
    ("Reduce_scatter", None),
    ("Reduce_scatter_block", 4),
    ("Reduce", 4),
    ("Allgather", 4),
    ("Allgather", 4),
    ("Allgatherv", None),
    ("Alltoall", 4),
    ("Alltoallv", None),
    ("Bcast", 4),
    ("Gather", 4),
    ("Scatter", 4),
]
# What it looks at depends on who is root, which is known on the world only.
OF_A_ROOT = {"Bcast", "Reduce", "Gather", "Scatter"}

MPI4PY = """
from mpi4py import MPI
import array
world = MPI.COMM_WORLD
numbers = array.array('d', [world.rank] * 10)
world.Barrier()
world.Allreduce(MPI.IN_PLACE, numbers)
assert numbers[0] == sum(range(world.size))
assert world.allgather(world.rank) == list(range(world.size))
print('right')
"""


class MpiCase(harness.TestCase):
    def agent(self, *program, options=(), **keywords):
        return harness.run([AGENT, "-q", "-o", self.output, *options, "--", *program], **keywords)

    def job(self, ranks, *program, options=(), **keywords):
        command = [AGENT, "-q", "-o", self.output, *options, "--", *program]
        result = mpirun(ranks, command, **keywords)
        self.assertEnded(result, 0)
        return result

    def calls(self, rank=0):
        """Names without "mpi:MPI_", and args, of one rank, in order of time."""
        events = [e for e in export(self.output / "run.ifp", rank) if e.get("cat") == "mpi"]
        for event in events:
            self.assertEqual((event["ph"], event["name"][:8]), ("X", "mpi:MPI_"))
        events.sort(key=lambda event: event["ts"])
        return [(event["name"][8:], event.get("args", {})) for event in events]


@unittest.skipUnless(CALLS.exists(), "built without MPI")
class MpiPrograms(MpiCase):
    def test_every_collective_with_bytes_and_its_number_on_the_world(self):
        self.assertEqual(self.job(3, CALLS, "every").stdout, "right\n")
        for rank in range(3):
            calls = self.calls(rank)
            world, copy = calls[: len(EVERY)], calls[len(EVERY):]
            self.assertEqual([(name, args.get("bytes")) for name, args in world], EVERY)
            self.assertEqual([args["number"] for _, args in world],
                             list(range(1, len(EVERY) + 1)))
            self.assertEqual({(args["Process Group Name"], args["Group size"])
                              for _, args in world}, {("MPI_COMM_WORLD", 3)})
            self.assertEqual(
                copy,
                [(name, {} if bytes_ is None or name in OF_A_ROOT else {"bytes": bytes_})
                 for name, bytes_ in EVERY])

    def test_two_threads_at_once(self):
        self.assertEqual(self.job(2, CALLS, "threads").stdout, "right\n")
        for rank in range(2):
            calls = self.calls(rank)
            self.assertEqual([name for name, _ in calls], ["Allreduce"] * 1000)
            numbers = [args["number"] for _, args in calls if "number" in args]
            self.assertEqual(numbers, list(range(1, 501)))

    def test_calls_that_fail_end_as_without_infprof(self):
        self.assertEqual(mpirun(2, [CALLS, "errors"]).stdout, "right\n")
        self.assertEqual(self.job(2, CALLS, "errors").stdout, "right\n")
        calls = self.calls()
        self.assertEqual([name for name, _ in calls], ["Allreduce", "Bcast", "Barrier"])
        self.assertEqual(["error" in args for _, args in calls], [True, True, False])

    def test_the_late_rank_of_a_program_without_pytorch(self):
        self.job(4, CALLS, "steps", "2")
        verdict = report(self.output)["verdict"]
        self.assertEqual((verdict["kind"], verdict["rank"]), ("late", 2), verdict)
        self.assertEqual(verdict["at"], "MPI_Allreduce")
        self.assertGreater(verdict["late_ns"], 10e6)

    def test_arrows_join_the_parts_of_a_collective(self):
        self.job(4, CALLS, "steps", "2")
        (path,) = (self.output / "merged").glob("*.pt.trace.json.gz")
        with gzip.open(path) as file:
            events = json.load(file)["traceEvents"]
        slices = collections.Counter(e["name"] for e in events if e["ph"] == "X")
        self.assertEqual((slices["mpi:MPI_Allreduce"], slices["mpi:MPI_Barrier"]), (48, 48))
        joined = {event["id"] for event in events if event["ph"] == "s"}
        self.assertGreaterEqual(len(joined), 12, "one arrow for each of the late rank's calls")

    def test_mpi_that_was_loaded_out_of_sight(self):
        result = self.job(2, TESTS / "mpi_loader", TESTS / "mpi_plugin.so")
        self.assertEqual(result.stdout, "right\n")
        self.assertEqual([name for name, _ in self.calls(1)], ["Barrier", "Allreduce"])

    def test_another_tool_behind_ours_gets_its_turn(self):
        # A sanitized agent wants its own library first, in front of what is preloaded.
        sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        tool = ["env", f"ASAN_OPTIONS={sanitizer}", f"LD_PRELOAD={TESTS / 'mpi_tool.so'}"]
        result = mpirun(2, [*tool, AGENT, "-q", "-o", self.output, "--", CALLS, "steps", "0"])
        self.assertEnded(result, 0)
        self.assertEqual(sorted(result.stdout.splitlines()),
                         ["right"] + ["tool: 12 reductions, 12 barriers"] * 2)
        self.assertEqual(len(self.calls(1)), 24)

    def test_two_programs_of_one_rank_have_no_world_in_common(self):
        script = f"{CALLS} steps 0 && {CALLS} steps 0"
        self.assertEqual(self.agent("sh", "-c", script, options=["--mpi", "on"]).stdout,
                         "right\nright\n")
        numbers = [args.get("number") for _, args in self.calls()]
        self.assertEqual(numbers, [*range(1, 25), *[None] * 24])


@unittest.skipUnless(PYTHON, "there is no Python with mpi4py")
class Mpi4py(MpiCase):
    def test_mpi4py(self):
        result = self.job(2, PYTHON, "-c", MPI4PY)
        self.assertEqual(result.stdout.count("right"), 2)
        for rank in range(2):
            on_world = [(name, args.get("bytes")) for name, args in self.calls(rank)
                        if "number" in args]
            self.assertEqual(on_world[:2], [("Barrier", None), ("Allreduce", 80)])


class Preload(MpiCase):
    def test_an_mpi_whose_handles_are_integers(self):
        result = self.agent(TESTS / "fake_mpi_program", options=["--mpi", "on"])
        self.assertEqual((result.returncode, result.stdout), (0, "right\n"), result)
        calls = self.calls()
        names = ["Barrier", "Bcast", "Alltoallv", "Reduce", "Gather"]
        self.assertEqual([name for name, _ in calls], names * 2)
        self.assertEqual([(args["number"], args.get("bytes")) for _, args in calls[:5]],
                         [(1, None), (2, 6), (3, None), (4, 12), (5, 21)])
        self.assertEqual([args for _, args in calls[5:]], [{}] * 5)

    def test_without_an_agent_the_library_only_passes_on(self):
        result = harness.run([TESTS / "fake_mpi_program"],
                             env=harness.environment(LD_PRELOAD=LIBRARY))
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "right\n", ""))

    def test_a_program_without_mpi(self):
        result = self.agent("sh", "-c", "echo hello; exit 3", options=["--mpi", "on"])
        self.assertEqual((result.returncode, result.stdout), (3, "hello\n"), result)
        self.assertEqual(self.calls(), [])

    def test_a_sanitized_program(self):
        program = TESTS / "marks_program_asan"
        if not program.exists():
            self.skipTest("the compiler has no AddressSanitizer")
        result = self.agent(program, options=["--mpi", "on"])
        self.assertEqual((result.returncode, result.stdout), (0, "recorded\n"), result)

    def preloaded(self, *options, **variables):
        """What the program finds in LD_PRELOAD."""
        clean = dict.fromkeys(["LD_PRELOAD", *launcher_variables()])
        result = self.agent("sh", "-c", 'echo "$LD_PRELOAD"', options=options,
                            env=harness.environment(**{**clean, **variables}))
        self.assertEnded(result, 0)
        return result.stdout.strip()

    def test_where_no_launcher_of_mpi_programs_is_nothing_is_preloaded(self):
        self.assertEqual(self.preloaded(), "")

    def test_the_option_decides_otherwise(self):
        self.assertEqual(self.preloaded("--mpi", "on"), str(LIBRARY))

    @unittest.skipUnless(CALLS.exists(), "built without MPI")
    def test_mpi_off(self):
        result = self.job(2, "sh", "-c", f'echo "<$LD_PRELOAD>"; exec {CALLS} steps 0',
                          options=["--mpi", "off"])
        self.assertEqual(sorted(result.stdout.splitlines()), ["<>", "<>", "right"])
        self.assertEqual(self.calls(), [])


def launcher_variables():
    return [name for name in os.environ if name.startswith(("OMPI_COMM", "PMI", "SLURM", "TORCHE"))]


if __name__ == "__main__":
    unittest.main()
