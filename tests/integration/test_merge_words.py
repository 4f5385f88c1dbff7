# SPDX-License-Identifier: Apache-2.0
"""What infprof merge says where it cannot go on, or is not certain: what, and what to do."""

import gzip
import json
import re
import unittest

import harness
from merge_case import DDP, Merge

NESTED = "[" * 62 + "]" * 62  # in args of an event: object, array, object, args


def with_descriptors(count, *command):
    return ["sh", "-c", f'ulimit -n {count}; exec "$@"', "sh", *command]


class Failures(Merge):
    def assertSays(self, result, *texts):
        (line,) = result.stderr.splitlines()
        for text in texts:
            self.assertIn(text, line)

    def test_json_has_the_error(self):
        for arguments, text in (((self.folder / "none.json",), "there is no trace to read"),
                                (DDP, "run.ifp is there already")):
            if arguments == DDP:
                self.merge("--archive-only", *DDP)
            result = self.merge("--json", *arguments, status=1)
            self.assertIn(text, json.loads(result.stdout)["error"])
            self.assertSays(result, text)

    def test_json_has_the_error_of_a_directory_that_cannot_be(self):
        self.output = self.write("file", "mine")
        result = self.merge("--json", *DDP, status=1)
        self.assertIn("is a file", json.loads(result.stdout)["error"])

    def test_a_file_or_nothing_as_output(self):
        mine = self.write("file", "mine")
        for verb in (["merge", *DDP], ["timeline", self.archive()]):
            for output, text in ((mine, f"{mine} is a file: give a directory with -o"),
                                 ("", "the name of the output directory is empty: -o DIR")):
                with self.subTest(verb=verb[0], output=output):
                    result = harness.run([harness.INFPROF, *verb, "-o", output], cwd=self.folder)
                    self.assertEnded(result, 1)
                    self.assertSays(result, text)
        self.assertEqual(mine.read_text(), "mine")

    def archive(self):
        self.merge("--archive-only", *DDP)
        return self.output / "run.ifp"

    def test_an_archive_that_was_not_drawn_can_be(self):
        """As after a kill between the archive and the drawing."""
        self.archive()
        result = self.merge(*DDP, status=1)
        self.assertSays(result, "run.ifp is there already",
                        f"infprof timeline {self.output} -o {self.output}")
        command = result.stderr.partition("with: infprof ")[2].split()
        self.assertEnded(harness.run([harness.INFPROF, *command]), 0)
        self.assertTrue((self.output / "report.json").exists())

    def test_few_descriptors(self):
        for count in range(4, 8):
            with self.subTest(count=count):
                output = self.folder / f"out{count}"
                result = harness.run(
                    with_descriptors(count, harness.INFPROF, "merge", *DDP, "-o", output))
                if result.returncode:
                    self.assertIn("Too many open files", result.stderr)
                left = {path.name for path in output.iterdir()} if output.exists() else set()
                self.assertNotIn(".merge", left)
                self.assertTrue(left in (set(), {"run.ifp"}) or result.returncode == 0, left)

    def test_too_few_descriptors_are_no_fault_of_a_file(self):
        result = harness.run(
            with_descriptors(5, harness.INFPROF, "merge", *DDP, "-o", self.output))
        self.assertEnded(result, 1)
        self.assertSays(result, "allow more open files (ulimit -n)", "ddp.rank")
        self.assertFalse(self.output.exists())


class Uncertain(Merge):
    def notes(self, *arguments):
        return [(note["why"], note["fault"]) for note in self.merge_json(*arguments)["notes"]
                if note.get("what") == "trace-identity"]

    def test_an_expression_that_finds_nothing(self):
        for names in (["a.json"], ["a.json", "b.json"]):
            self.output = self.folder / f"out{len(names)}"
            notes = self.notes("--archive-only", "--rank-from", "worker-([0-9]+)",
                               *[self.trace(name) for name in names])
            ((why, fault),) = notes
            self.assertTrue(fault)
            self.assertIn('--rank-from "worker-([0-9]+)" finds a number in no path', why)
            self.assertIn("/a.json", why)
            self.assertIn("order of their names", why)
            self.assertEqual(why.count("--rank-from"), 1)

    def test_an_expression_by_which_two_are_one_is_not_advised(self):
        notes = self.notes("--archive-only", "--rank-from", "/w([0-9])", self.trace("w1a.json"),
                           self.trace("w1b.json"))
        self.assertIn("are both rank 1 by --rank-from", notes[0][0])
        self.assertIn("not known by --rank-from", notes[1][0])
        self.assertIn("(--in-order tells them)", notes[1][0])

    def test_what_was_tried(self):
        ((why, _),) = self.notes("--archive-only", self.trace("a.json"), self.trace("b.json"))
        self.assertIn('by distributedInfo or "rank" and a number in their names', why)
        self.assertIn("(--rank-from or --in-order tells them)", why)

    def test_a_rank_that_is_none(self):
        for n, rank in enumerate((-1, 2**70, 1 << 20, "none")):
            self.output = self.folder / f"out{n}"
            trace = {"distributedInfo": {"rank": rank, "world_size": 2},
                     "traceEvents": [{"ph": "X", "name": "n", "ts": 1, "dur": 1, "pid": 1, "tid": 1}]}
            path = self.write(f"x/rank{n}.json", trace)
            ((why, fault),) = self.notes("--archive-only", path)
            self.assertRegex(why, f'states a rank of "?{rank}"?, which is none: it is not believed')
            self.assertFalse(fault)


class Bytes(Merge):
    def notes(self, content, name="t.json"):
        result = self.merge_json("--archive-only", self.write(name, content))
        return result["sources"][0]["events"], [note["why"] for note in result["notes"]
                                                if note["what"] == "trace-damaged"]

    def trace_with(self, args):
        return ('{"traceEvents":[{"ph":"X","name":"n","ts":1,"dur":1,"pid":1,"tid":1,"args":'
                '{"a":%s}}]}' % args).encode()

    def test_what_follows_a_gzip_member(self):
        packed = gzip.compress(self.trace_with("1"), mtime=0)
        for n, (tail, text) in enumerate(((b"some other bytes", "trailing bytes that are no gzip"),
                                          (b"\x1f", "cut off"), (packed[:9], "cut off"),
                                          (b"\0" * 100, None), (b"\0\0x", "trailing bytes"))):
            with self.subTest(tail=tail):
                self.output = self.folder / f"out{n}"
                events, whys = self.notes(packed + tail, f"{n}.json.gz")
                self.assertEqual(events, 1)
                self.assertEqual([bool(re.search(text or "$", why)) for why in whys],
                                 [True] if text else [])

    def test_the_depth_that_is_read(self):
        self.assertEqual(len(NESTED), 2 * 62)
        for n, (args, events) in enumerate(((NESTED[2:-2], 1), (NESTED, 0))):
            self.output = self.folder / f"out{n}"
            path = self.write(f"d{n}.json", self.trace_with(args))
            result = harness.run([harness.INFPROF, "merge", "--json", "--archive-only", path, "-o",
                                  self.output])
            self.assertEqual(result.returncode, 0 if events else 1, str(result))
            if not events:
                self.assertIn("the limit is 64", json.loads(result.stdout)["error"])


if __name__ == "__main__":
    unittest.main()
