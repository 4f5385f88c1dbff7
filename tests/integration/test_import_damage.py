# SPDX-License-Identifier: Apache-2.0
"""Damaged, odd and hostile files: what infprof merge keeps of them, and what it and check say."""

import bz2
import gzip
import json
import lzma
import os
import re
import shutil
import struct
import subprocess
import threading
import unittest

import harness


def event(name, ts):
    return b'{"ph":"X","cat":"a","name":"%s","pid":1,"tid":1,"ts":%d,"dur":1}' % (name, ts)


A, B, C = event(b"a", 5), event(b"b", 6), event(b"c", 7)
HEAD, TAIL = b'{"schemaVersion":1,"traceEvents":[', b'],"traceName":"x"}'
WHOLE = HEAD + b",".join([A, B, C]) + TAIL
PACKED = gzip.compress(WHOLE, mtime=0)
TWO_MEMBERS = gzip.compress(HEAD + A + b",", mtime=0) + gzip.compress(B + TAIL, mtime=0)


def changed(content, at, byte):
    content = bytearray(content)
    content[at] = byte
    return bytes(content)


def zstd(content):
    return subprocess.run(["zstd", "-q", "-c"], input=content, stdout=subprocess.PIPE,
                          check=True).stdout


DAMAGED, LEFT_OUT, REPAIRED = "trace-damaged", "trace-left-out", "trace-repaired"

# What the file is, the events kept, the bytes of JSON lost, and the rows: what they are, how many,
# whether that is a fault.
TABLE = [
    # Whole in one way or another.
    ("whole.json", WHOLE, 3, 0, []),
    ("byte-order-mark.json", b"\xef\xbb\xbf" + WHOLE, 3, 0, []),
    ("crlf.json", WHOLE.replace(b",", b",\r\n"), 3, 0, []),
    ("blanks.json", b" \n\t" + WHOLE + b"\n \n", 3, 0, []),
    ("no-bracket.json", b"[" + A + b",\n" + B, 2, 0, []),
    ("comma-for-bracket.json", b"[" + A + b",\n" + B + b",\n", 2, 0, []),
    ("two-members.json.gz", TWO_MEMBERS, 2, 0, []),
    ("zeros-behind.json.gz", PACKED + bytes(512), 3, 0, []),
    ("gzip-named-json.json", PACKED, 3, 0, []),
    ("json-named-gzip.json.gz", WHOLE, 3, 0, []),
    # Repaired.
    ("last-comma.json", b"[" + A + b",]", 1, 0, [(REPAIRED, 1, False)]),
    ("last-commas.json", HEAD + A + b"," + TAIL[:-1] + b",}", 1, 0, [(REPAIRED, 2, False)]),
    ("control.json", b"[" + A.replace(b'"a"', b'"\x01\n\x7f"') + b"]", 1, 0,
     [(REPAIRED, 1, False)]),
    ("escapes.json", b"[" + A.replace(b'"a"', b'"\\q\\u12"') + b"]", 1, 0,
     [(REPAIRED, 1, False)]),
    ("latin-1.json", b"[" + A.replace(b'"a"', b'"\xe4"') + b"]", 1, 0, [(REPAIRED, 1, False)]),
    ("no-number.json", b"[" + A[:-1] + b',"args":{"v":NaN,"w":-Infinity}}]', 1, 0,
     [(REPAIRED, 1, False)]),
    ("words.json", b"[" + A[:-1] + b',"args":{"datatype":ncclFloat32,"Stream":0x4142e90}}]', 1, 0,
     [(REPAIRED, 1, False)]),
    ("empty-element.json", b"[" + A + b",\n{}]\n", 1, 0, [(LEFT_OUT, 1, False)]),
    # Not a time that can be: told, as what it is.
    ("times.json", b"[" + A + b',{"ph":"X","name":"t","ts":"5"},7]', 1, 0, [(LEFT_OUT, 2, True)]),
    # Cut off.
    ("cut-in-string.json", HEAD + A + b"," + B[:25], 1, 25, [(DAMAGED, 1, True)]),
    ("cut-in-number.json", HEAD + A + b"," + B[:-10], 1, len(B) - 10, [(DAMAGED, 1, True)]),
    ("cut-between.json", HEAD + A + b"," + B, 2, 0, [(DAMAGED, 1, True)]),
    ("cut-behind-comma.json", HEAD + A + b",", 1, 0, [(DAMAGED, 1, True)]),
    ("cut-behind-bracket.json", HEAD + A + b"]", 1, 0, [(DAMAGED, 1, True)]),
    ("cut-in-member.json", WHOLE[:-3], 3, len(TAIL) - 4, [(DAMAGED, 1, True)]),
    ("cut-array.json", b"[" + A + b"," + B[:20], 1, 20, [(DAMAGED, 1, True)]),
    ("cut-in-header.json", HEAD[:12], 0, 0, [(LEFT_OUT, 0, True)]),
    ("cut-at-array.json", HEAD, 0, 0, [(DAMAGED, 1, True)]),
    ("cut.json.zst", None, None, None, [(DAMAGED, 1, True)]),  # made by content()
    ("cut.json.gz", gzip.compress(WHOLE + b" " * 200000, mtime=0)[:-40], 3, None,
     [(DAMAGED, 1, True)]),
    # Holes and wrong bytes.
    ("hole.json", HEAD + A + b"," + B[:20] + C[30:] + b"," + C + TAIL, 2, None,
     [(DAMAGED, 1, True)]),
    ("nul-inside.json", HEAD + A + b"," + B[:-9] + b"\0" + B[-8:] + b"," + C + TAIL, 2, None,
     [(DAMAGED, 1, True)]),
    ("nul-behind.json", WHOLE + bytes(100), 3, 100, [(DAMAGED, 1, True)]),
    ("missing-comma.json", HEAD + A + B + TAIL, 2, 0, [(DAMAGED, 1, True)]),
    ("two-commas.json", HEAD + A + b",," + B + TAIL, 2, 1, [(DAMAGED, 1, True)]),
    ("brace-too-many.json", HEAD + A + b"}," + B + TAIL, 2, 2, [(DAMAGED, 1, True)]),
    ("two-ends.json", b'{"traceEvents":[' + A + b"]}]", 1, 1, [(DAMAGED, 1, True)]),
    ("text-behind.json", WHOLE + b"\nKilled\n", 3, 8, [(DAMAGED, 1, True)]),
    # Before the first event.
    ("text-before.json", b"WARNING: x\n" + WHOLE, 3, len(b"WARNING: x\n" + HEAD) - 15,
     [(DAMAGED, 1, True)]),
    ("bad-header.json", b'{"a":1 2,' + WHOLE[1:], 3, 20, [(DAMAGED, 1, True)]),
    ("no-head.json", A[20:] + b"," + B + b"," + C + TAIL, 2, len(A) - 19, [(DAMAGED, 1, True)]),
    ("one-on-a-line.json", b"\n".join([A, B, C]), 3, 0, [(DAMAGED, 1, True)]),
    ("other-name.json", WHOLE.replace(b"traceEvents", b"traceEvemts"), 3, len(HEAD),
     [(DAMAGED, 1, True)]),
    # Packed files.
    ("checksum.json.gz", changed(PACKED, -8, PACKED[-8] ^ 1), 3, 0, [(DAMAGED, 1, True)]),
    ("length.json.gz", changed(PACKED, -4, PACKED[-4] ^ 1), 3, 0, [(DAMAGED, 1, True)]),
    ("garbage-behind.json.gz", PACKED + b"garbage", 3, 0, [(DAMAGED, 1, True)]),
    ("second-member-bad.json.gz", changed(TWO_MEMBERS, TWO_MEMBERS.rindex(b"\x1f\x8b") + 2, 99),
     1, 1, [(DAMAGED, 1, True)]),
    ("gzip-header-alone.json.gz", PACKED[:10], 0, 0, [(LEFT_OUT, 0, True)]),
    # No trace at all.
    ("empty.json", b"", 0, 0, [(LEFT_OUT, 0, True)]),
    ("bracket.json", b"[", 0, 0, [(LEFT_OUT, 0, True)]),
    ("no-events.json", HEAD + TAIL, 0, 0, [(LEFT_OUT, 0, True)]),
    ("text.json", b"no trace", 0, 0, [(LEFT_OUT, 0, True)]),
    ("utf-16.json", WHOLE.decode().encode("utf-16"), 0, 0, [(LEFT_OUT, 0, True)]),
    ("elf.json", b"\x7fELF" + bytes(range(256)) * 300, 0, 0, [(LEFT_OUT, 0, True)]),
    ("nsight.json", b'{"Type":79,"CudaEvent":{"startNs":"5","endNs":"9","deviceId":0}}\n' * 3
     + b'{"type":"String","id":"1","value":"kernel"}\n', 0, 0, [(LEFT_OUT, 0, True)]),
    ("nsight-old.json", b'{"data":["[Unknown]","gemm"]}\n{"Type":79,"CudaEvent":{}}\n', 0, 0,
     [(LEFT_OUT, 0, True)]),
    ("other.json", b'{"name":"no trace","list":[{"name":"x"},{"id":1}]}', 0, 0,
     [(LEFT_OUT, 0, True)]),
]


class DamageCase(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.good = self.write("good.json", WHOLE)

    def write(self, name, content):
        path = self.folder / os.fsdecode(name)
        path.write_bytes(content)
        return path

    def merge(self, *arguments, status=0, timeout=120, **options):
        self.output = self.folder / "merged"
        shutil.rmtree(self.output, ignore_errors=True)
        result = harness.run(
            [harness.INFPROF, "merge", "--json", "--in-order", "--archive-only", *arguments,
             "-o", self.output], timeout=timeout, **options)
        self.assertEnded(result, status)
        return result

    def check(self, *arguments, **options):
        return harness.run([harness.INFPROF, "check", "--json", *arguments], timeout=60, **options)


class Table(DamageCase):
    def content(self, name, content):
        if name == "cut.json.zst":
            if not shutil.which("zstd"):
                self.skipTest("there is no zstd")
            return zstd(HEAD + b",".join([A] * 20000) + TAIL)[:-5]
        return content

    def test_what_is_kept_and_told(self):
        for name, content, events, lost, rows in TABLE:
            with self.subTest(name):
                path = self.write(name, self.content(name, content))
                result = self.merge(self.good, path)
                answer = json.loads(result.stdout)
                source = [s for s in answer["sources"] if s["path"] == str(path)][0]
                notes = [n for n in answer["notes"] if n.get("file") == str(path)]
                if events is not None:
                    self.assertEqual(source["events"], events)
                else:
                    self.assertGreater(source["events"], 0)
                if lost is not None:
                    self.assertEqual(source["lost_bytes"], lost, notes)
                self.assertEqual([(n["what"], n["count"], n["fault"]) for n in notes], rows)
                fault = any(row[2] for row in rows)
                self.assertEqual(path.name in result.stderr, fault, result.stderr)
                if fault:
                    self.strict(path)
                self.compare_with_check(path, source, notes, fault)

    def test_what_is_known_is_called_by_its_name(self):
        path = self.write("nsight.json", b'{"Type":59,"NvtxEvent":{"Timestamp":"5"}}\n' * 2)
        self.assertIn("an export of Nsight Systems as JSON lines", self.merge(self.good, path).stderr)

    def test_other_forms_are_called_by_their_names(self):
        self.merge(self.good)
        text = WHOLE.decode()
        forms = {"a zip archive": b"PK\x03\x04" + bytes(60), "xz": lzma.compress(WHOLE),
                 "bzip2": bz2.compress(WHOLE), "UTF-16": text.encode("utf-16"),
                 "an archive of infprof": (self.output / "run.ifp").read_bytes()}
        for what, content in forms.items():
            with self.subTest(what):
                path = self.write("other.json.gz", content)
                self.assertRegex(self.merge(self.good, path).stderr, f"nothing was read of .*{what}")
                self.strict(path)
                known = content.startswith(b"\x89IFP")  # which check reads
                self.assertEnded(self.check(path), 0 if known else 1)

    def strict(self, path):
        self.merge("--strict", self.good, path, status=2)
        self.assertFalse(self.output.exists())

    def compare_with_check(self, path, source, notes, fault):
        before = sorted(self.folder.iterdir())
        result = self.check(path)
        self.assertEnded(result, 1 if fault else 0)
        found, = json.loads(result.stdout)["files"]
        for key in ("path", "elements", "events", "left_out", "json_bytes", "lost_bytes",
                    "unread_bytes"):
            self.assertEqual(found[key], source[key], key)
        self.assertEqual(found["notes"],
                         [{k: v for k, v in note.items() if k != "file"} for note in notes])
        self.assertEqual(sorted(self.folder.iterdir()), before)
        # As text: a line for the file, and one for each row.
        lines = harness.run([harness.INFPROF, "check", path]).stdout.splitlines()
        self.assertEqual(len(lines), 1 + len(notes), lines)


class Odd(DamageCase):
    """What is no regular file that can be read and stays as it is."""

    def faults(self, result):
        return [n["why"] for n in json.loads(result.stdout)["notes"] if n["fault"]]

    def test_a_pipe_is_not_waited_for(self):
        pipe = self.folder / "pipe.json"
        os.mkfifo(pipe)
        self.assertRegex(self.faults(self.merge(self.good, pipe))[0], r"pipe\.json is no regular")
        self.assertEnded(self.check(pipe), 1)
        # In a directory it is not even looked at.
        self.assertEqual(self.faults(self.merge(self.folder)), [])

    def test_of_the_output_of_a_run_its_archive_is_checked(self):
        self.merge(self.good)
        archive = self.output / "run.ifp"
        result = self.check(self.output)
        self.assertEnded(result, 0)
        found, = json.loads(result.stdout)["files"]
        self.assertEqual((found["path"], found["kind"]), (str(archive), "archive"))
        archive.write_bytes(changed(archive.read_bytes(), 200, 0x55))
        self.assertEnded(self.check(self.output), 1)

    def test_a_link_that_leads_nowhere_is_told(self):
        folder = self.folder / "traces"
        folder.mkdir()
        (folder / "gone.json").symlink_to("nowhere")
        (folder / "self.json").symlink_to("self.json")
        (folder / "notes.txt").symlink_to("nowhere")  # would not have been read anyway
        expected = [f"{folder}/gone.json is a symbolic link that leads nowhere",
                    f"{folder}/self.json is a symbolic link that leads nowhere"]
        self.assertEqual(self.faults(self.merge(self.good, folder)), expected)
        result = self.check(self.good, folder)
        self.assertEnded(result, 1)
        self.assertEqual(self.faults(result), expected)

    def test_the_standard_input(self):
        with open(self.good, "rb") as file:
            answer = json.loads(self.merge("/dev/stdin", stdin=file).stdout)
        self.assertEqual(answer["sources"][0]["events"], 3)
        ours, theirs = os.pipe()
        os.close(theirs)
        with os.fdopen(ours) as pipe:
            self.assertRegex(self.faults(self.merge(self.good, "/dev/stdin", stdin=pipe))[0],
                             "/dev/stdin is no regular file")

    def test_a_directory_without_traces(self):
        empty = self.folder / "empty"
        empty.mkdir()
        result = harness.run([harness.INFPROF, "merge", empty, "-o", self.folder / "out"])
        self.assertEnded(result, 1)
        self.assertIn("no trace to read", result.stderr)
        self.assertEnded(self.check(empty), 1)

    def test_a_file_that_may_not_be_read(self):
        secret = self.write("secret.json", WHOLE)
        secret.chmod(0)
        self.folder.chmod(0o755)
        out = self.folder / "out"
        out.mkdir()
        out.chmod(0o777)
        drop = []
        if os.getuid() == 0:
            if not shutil.which("setpriv"):
                self.skipTest("there is no setpriv to run without root's rights")
            drop = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        result = harness.run([*drop, harness.INFPROF, "merge", "--json", "--archive-only",
                              "--in-order", self.good, secret, "-o", out])
        self.assertEnded(result, 0)
        self.assertRegex(self.faults(result)[0], "Permission denied")
        self.assertIn("secret.json", result.stderr)
        result = harness.run([*drop, harness.INFPROF, "check", secret])
        self.assertEnded(result, 1)
        self.assertIn("Permission denied", result.stdout)

    def test_names_of_any_kind(self):
        names = [b"a b.json", b"line\nend.json", b'quo"te.json', b"quo'te.json", b"back\\slash.json",
                 "ünï.json".encode(), b"latin\xe4.json", b"-dash.json", b"%s%n.json"]
        paths = [self.write(name, b"[" + A + b",{\"ph\":3}]") for name in names]
        result = self.merge(*paths)
        answer = json.loads(result.stdout)
        shown = [os.fsencode(p).decode(errors="replace") for p in paths]
        self.assertEqual([s["path"] for s in answer["sources"]], shown)
        self.assertEqual({s["events"] for s in answer["sources"]}, {1})
        self.assertEqual(len(result.stderr.splitlines()), len(names), result.stderr)
        report = harness.run([harness.INFPROF, "report", self.output])
        self.assertEnded(report, 0)
        found = json.loads(self.check(*paths).stdout)
        self.assertEqual([f["path"] for f in found["files"]], shown)
        lines = harness.run([harness.INFPROF, "check", *paths]).stdout.splitlines()
        self.assertEqual(len(lines), 2 * len(names), lines)

    def change_while_read(self, change):
        """Merges a file while a thread changes it without end; the events that came of it."""
        path = self.write("busy.json", b"[" + b",\n".join([A] * 50000))
        ended = threading.Event()

        def work():
            while not ended.is_set():
                change(path)

        worker = threading.Thread(target=work)
        worker.start()
        try:
            answer = json.loads(self.merge(self.good, path).stdout)
        finally:
            ended.set()
            worker.join()
        return [s for s in answer["sources"] if s["path"] == str(path)][0]["events"]

    def test_a_file_that_grows_while_it_is_read(self):
        def grow(path):
            with open(path, "ab") as file:
                file.write(b",\n" + A)

        self.assertGreaterEqual(self.change_while_read(grow), 50000)

    def test_a_file_that_shrinks_while_it_is_read(self):
        def shrink(path):
            os.truncate(path, max(0, os.path.getsize(path) - 4096))

        self.assertLessEqual(self.change_while_read(shrink), 50000)


BASE = b'{"baseTimeNanoseconds":0,"traceEvents":['  # stated in front: the file is read once
BLANKS = gzip.compress(b" " * (64 << 20), 1, mtime=0)


class Large(DamageCase):
    def test_bytes_lost_beyond_4_gib(self):
        """4 GiB in the middle of an event."""
        content = gzip.compress(BASE + A + b"," + B[:-5] + b"@", mtime=0) + BLANKS * 64
        content += gzip.compress(b"," + C + TAIL, mtime=0)
        path = self.write("large.json.gz", content)
        result = self.merge(path, timeout=600)
        source, = json.loads(result.stdout)["sources"]
        lost = len(B) - 5 + 1 + (4 << 30) + 1
        self.assertEqual(source["events"], 2)
        self.assertEqual(source["lost_bytes"], lost)
        self.assertEqual(source["json_bytes"], len(BASE + A + C + TAIL) + 1 + lost)
        self.assertIn(f", {lost} bytes of its JSON are lost", result.stderr)


if __name__ == "__main__":
    unittest.main()
