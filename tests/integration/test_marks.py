# SPDX-License-Identifier: Apache-2.0
"""Programs that mark, of every kind, under an agent that does nothing but marks, and without one."""

import json
import pathlib
import shutil
import sys
import tempfile
import unittest

import harness

TESTS = harness.BUILD / "tests"
LIBRARY = harness.BUILD / "lib" / "infprof" / "libinfprof.so"
PACKAGE = harness.BUILD / "lib" / "infprof" / "python"


class Marks:
    """What a program has marked."""

    def __init__(self, lines):
        records = [json.loads(line) for line in lines]
        self.counters = records.pop()
        self.events = [event for event in records if event["kind"] != "meta"]

    def names(self):
        return [event["name"] for event in self.events]

    def one(self, name):
        found = [event for event in self.events if event["name"] == name]
        assert len(found) == 1, f"{len(found)} events are named {name}: {self.names()}"
        return found[0]


def run_marked(command, **variables):
    """Runs a program under run_marked: its result and its marks."""
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "events"
        result = harness.run(
            [TESTS / "run_marked", path, LIBRARY, *command], env=harness.environment(**variables)
        )
        return result, Marks(path.read_text().splitlines())


class MarkingPrograms(unittest.TestCase):
    def check_recorded(self, program):
        result, marks = run_marked([program])
        self.assertEqual((result.returncode, result.stdout), (0, "recorded\n"), result)
        self.assertEqual(
            marks.names(), ["moment", "bytes", "inner", "outer", "request", "step 1"], result
        )
        outer, inner = marks.one("outer"), marks.one("inner")
        self.assertLess(outer["start"], inner["start"])
        self.assertLess(inner["start"] + inner["dur"], outer["start"] + outer["dur"])
        self.assertEqual(marks.one("bytes")["args"], {"value": 4096})
        self.assertEqual(marks.one("step 1")["correlation"], 1)
        self.assertEqual(marks.counters["ranges_open"], 0)
        self.assertEqual(marks.counters["pops_unmatched"], 0)

    def test_plain_c(self):
        self.check_recorded(TESTS / "marks_program")

    def test_without_an_agent_nothing_is_recorded_or_printed(self):
        result = harness.run([TESTS / "marks_program"])
        self.assertEqual((result.returncode, result.stdout), (0, "not recorded\n"), result)
        self.assertEqual(result.stderr, "")

    def test_built_with_address_sanitizer(self):
        program = TESTS / "marks_program_asan"
        if not program.exists():
            self.skipTest("the compiler has no AddressSanitizer")
        self.check_recorded(program)

    def test_in_another_pid_namespace_nothing_is_recorded(self):
        unshare = ["unshare", "--pid", "--fork"]
        if harness.run([*unshare, "true"]).returncode != 0:
            self.skipTest("PID namespaces are not allowed here")
        result, marks = run_marked([*unshare, TESTS / "marks_program"])
        self.assertEqual((result.returncode, result.stdout), (0, "not recorded\n"), result)
        self.assertEqual(marks.events, [])

    def test_the_header_is_strict_c_and_c_plus_plus(self):
        source = harness.SOURCE / "tests" / "programs" / "marks_program.c"
        for compiler, language in (("cc", "c"), ("c++", "c++")):
            if not shutil.which(compiler):
                self.skipTest(f"there is no {compiler}")
            with self.subTest(language), tempfile.TemporaryDirectory() as directory:
                program = pathlib.Path(directory) / "program"
                flags = "-Wall -Wextra -Wshadow -Wconversion -pedantic -Werror -O2".split()
                flags += ["-std=c11"] if language == "c" else ["-std=c++11"]
                built = harness.run(
                    [compiler, "-x", language, *flags, "-I", harness.SOURCE / "include", source]
                    + ["-x", "none", "-ldl", "-o", program]
                )
                self.assertEqual(built.returncode, 0, built)
                self.check_recorded(program)

    def test_the_exit_status_is_the_programs(self):
        result, marks = run_marked(["sh", "-c", "exit 3"])
        self.assertEqual(result.returncode, 3)
        self.assertEqual(marks.events, [])


@unittest.skipUnless((TESTS / "nvtx_program").exists(), "built without the headers of NVTX")
class Nvtx(unittest.TestCase):
    def setUp(self):
        self.result, self.marks = run_marked([TESTS / "nvtx_program"])
        self.assertEqual(self.result.returncode, 0, self.result)

    def test_ranges_and_marks_of_the_default_domain(self):
        outer, inner = self.marks.one("outer"), self.marks.one("with attributes")
        self.assertEqual((outer["kind"], outer["source"], outer["category"]), ("slice", "nvtx", "nvtx"))
        self.assertLess(outer["start"], inner["start"])
        self.assertLess(inner["start"] + inner["dur"], outer["start"] + outer["dur"])
        started = self.marks.one("started")
        self.assertLess(started["start"], outer["start"])
        self.assertGreater(started["start"] + started["dur"], outer["start"] + outer["dur"])
        self.assertEqual(self.marks.one("mark")["kind"], "instant")
        self.assertEqual(self.marks.one("(unnamed)")["kind"], "instant")

    def test_a_wide_name_is_replaced_and_its_range_kept(self):
        wide = self.marks.one("(wide-character name)")
        self.assertEqual((wide["kind"], wide["args"]), ("slice", {}))

    def test_domains_have_names_and_nest_each_for_itself(self):
        solve = self.marks.one("first: solve")
        registered = [e for e in self.marks.events if e["name"] == "second: registered"]
        self.assertEqual([e["kind"] for e in registered], ["slice", "slice"])
        overlapping = registered[0]
        self.assertLess(solve["start"], overlapping["start"])
        self.assertLess(overlapping["start"], solve["start"] + solve["dur"])
        self.assertLess(
            solve["start"] + solve["dur"], overlapping["start"] + overlapping["dur"]
        )
        self.assertEqual(self.marks.one("first: registered")["kind"], "instant")

    def test_any_number_of_domains(self):
        for i in range(40):
            outer, inner = self.marks.one(f"d{i:02}: out"), self.marks.one(f"d{i:02}: in")
            self.assertLess(outer["start"], inner["start"])
            self.assertLess(inner["start"] + inner["dur"], outer["start"] + outer["dur"])

    def test_one_pop_too_many_is_counted(self):
        self.assertEqual(self.marks.counters["pops_unmatched"], 1)
        self.assertEqual(self.marks.counters["ranges_open"], 0)

    def test_without_an_agent_nvtx_switches_itself_off(self):
        program = str(TESTS / "nvtx_program")
        result = harness.run([program], env=harness.environment(NVTX_INJECTION64_PATH=LIBRARY))
        self.assertEqual(result.returncode, 10, result)  # its first range got no id


@unittest.skipUnless((harness.BUILD / "examples" / "stencil").exists(), "built without MPI")
class Stencil(unittest.TestCase):
    """The example in C and MPI, each rank under an agent of its own."""

    program = harness.BUILD / "examples" / "stencil"

    def test_each_rank_marks_its_steps_and_phases(self):
        steps = 20
        with tempfile.TemporaryDirectory() as directory:
            marked = f'exec "{TESTS}/run_marked" "{directory}/$OMPI_COMM_WORLD_RANK" "$@"'
            result = harness.mpirun(
                2, ["sh", "-c", marked, "sh", LIBRARY, self.program, "64", str(steps)]
            )
            self.assertEqual(result.returncode, 0, result)
            self.assertIn("2 ranks", result.stdout)
            self.assertIn("right", result.stdout)
            for rank in ("0", "1"):
                marks = Marks((pathlib.Path(directory) / rank).read_text().splitlines())
                numbers = [e["correlation"] for e in marks.events if e["category"] == "step"]
                self.assertEqual(numbers, list(range(1, steps + 1)))
                self.assertEqual(marks.names().count("exchange halo"), steps)
                self.assertEqual(marks.names().count("total heat"), steps // 10)
                self.assertEqual(marks.counters["ranges_open"], 0)

    def test_it_computes_the_same_without_an_agent(self):
        result = harness.mpirun(3, [self.program, "64", "20"])
        self.assertEqual(result.returncode, 0, result)
        self.assertRegex(result.stdout, r"^64 x 64 points, 20 steps, 3 ranks: .* right$")


PROGRAM = r"""
import asyncio, os, sys, threading
import infprof

@infprof.range()
def function(x):
    return x + 1

@infprof.range
def bare(x):
    return x + 2

@infprof.range("named")
async def coroutine():
    await asyncio.sleep(0)
    return 5

class Awkward:
    def __str__(self):
        raise RuntimeError("no name")

for number in (1, 2):
    with infprof.step(number):
        with infprof.range("outer"):
            with infprof.range("caf\u00e9 \"quoted\""):
                pass
        infprof.counter("loss", 1 / number)
assert function(1) == 2 and bare(1) == 3 and function.__name__ == "function"
async def both():
    return await asyncio.gather(coroutine(), coroutine())
assert asyncio.run(both()) == [5, 5]
infprof.push("pushed")
infprof.pop()
threading.Thread(target=infprof.instant, args=("from a thread",)).start()
infprof.end(infprof.start("started"))
try:
    with infprof.range("raises"):
        raise KeyError("the program's own")
except KeyError:
    pass
infprof.push(Awkward()); infprof.pop()
infprof.instant(None); infprof.instant("\ud800"); infprof.instant(b"bytes")
infprof.counter("not a number", "x"); infprof.end("x"); infprof.end(-1)
with infprof.step("x"):
    pass
if os.fork() == 0:
    infprof.instant("from a child")
    os._exit(0)
os.wait()
print(infprof.active())
"""


class PythonPackage(unittest.TestCase):
    command = [sys.executable, "-c", PROGRAM]

    def test_everything_is_recorded_under_an_agent(self):
        result, marks = run_marked(self.command, PYTHONPATH=PACKAGE)
        self.assertEqual((result.returncode, result.stdout), (0, "True\n"), result)
        self.assertEqual(result.stderr, "")
        self.assertEqual(marks.names().count("outer"), 2)
        self.assertEqual(marks.names().count('caf\u00e9 "quoted"'), 2)
        self.assertEqual([marks.one(f"step {n}")["correlation"] for n in (1, 2)], [1, 2])
        losses = [e["args"]["value"] for e in marks.events if e["name"] == "loss"]
        self.assertEqual(losses, [1, 0.5])
        named = [e for e in marks.events if e["name"] == "named"]
        self.assertEqual(len(named), 2)
        for name in ("function", "bare", "pushed", "started", "raises"):
            self.assertEqual((marks.one(name)["kind"], marks.one(name)["args"]), ("slice", {}))
        thread, child = marks.one("from a thread"), marks.one("from a child")
        self.assertEqual(thread["pid"], marks.one("pushed")["pid"])
        self.assertNotEqual(thread["tid"], marks.one("pushed")["tid"])
        self.assertNotEqual(child["pid"], thread["pid"])
        self.assertEqual(marks.counters["ranges_open"], 0)

    def test_nothing_happens_without_an_agent(self):
        for library in (None, "", "/nonexistent/libinfprof.so", "/etc/hostname", LIBRARY):
            with self.subTest(library=library):
                env = harness.environment(PYTHONPATH=PACKAGE, INFPROF_LIBRARY=library)
                result = harness.run(self.command, env=env)
                self.assertEqual((result.returncode, result.stdout), (0, "False\n"), result)
                self.assertEqual(result.stderr, "")

    def test_the_packages_version_is_the_projects(self):
        header = (harness.SOURCE / "include" / "infprof" / "version.h").read_text()
        folder = harness.SOURCE / "agent" / "inject" / "python"
        version = header.split('INFPROF_VERSION "')[1].split('"')[0]
        self.assertIn(f'version = "{version}"', (folder / "pyproject.toml").read_text())
        self.assertIn(f'__version__ = "{version}"', (folder / "infprof/__init__.py").read_text())


if __name__ == "__main__":
    unittest.main()
