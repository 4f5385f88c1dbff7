# SPDX-License-Identifier: Apache-2.0
"""infprof merge: what it finds in real traces is what Python finds in them.

tests/data/traces.json has the counts of each file, made by tests/harness/count_traces.py without
any of infprof's code; tests/data/identities.json says by hand which rank each file of a set must
become. The files of tests/data/kineto are always there; the larger ones, of which those are cuts,
are looked for below the directory that the environment variable INFPROF_TRACES names.
"""

import collections
import hashlib
import json
import os
import pathlib
import unittest

import archive_format as fmt
import harness
from merge_case import DATA, Merge, canonical, documents, read

TABLES = harness.SOURCE / "tests" / "data"
EXPECTED = json.loads((TABLES / "traces.json").read_text())
IDENTITIES = json.loads((TABLES / "identities.json").read_text())
WHERE = os.environ.get("INFPROF_TRACES")
FILES = {path.name: path for folder in filter(None, [DATA, WHERE])
         for path in pathlib.Path(folder).rglob("*.json.gz")}
SMALL = sorted(path.name for path in DATA.glob("*.json.gz"))
LARGE = sorted(set(EXPECTED) - set(SMALL))
SKIP = unittest.skipUnless(
    WHERE, "INFPROF_TRACES is not set: the large traces of tests/data/traces.json are not here")


class Counts(Merge):
    def check_counts(self, names):
        for name in names:
            with self.subTest(name):
                self.output = self.folder / name
                self.check_file(FILES[name], EXPECTED[name])

    def check_file(self, path, want):
        self.assertEqual(hashlib.sha256(path.read_bytes()).hexdigest(), want["sha256"],
                         "this is another file than the one that was counted")
        source, = self.merge_json("--archive-only", path)["sources"]
        rows = {row["what"]: row["count"] for rank, document in documents(self.output, fmt.LEDGER)
                if rank == source["rank"] for row in document["rows"]}
        self.assertEqual(rows, want["rows"])
        self.assertEqual(source["elements"], want["elements"])
        self.assertEqual(source["left_out"], want["rows"].get("trace-left-out", 0))
        self.assertEqual(source["events"] + source["left_out"], source["elements"])
        (_, rank), = documents(self.output, fmt.RANK)
        self.assertEqual(int(rank["imported"]["base_time_ns"]), want["base_ns"])
        exported = self.exported(source["rank"])
        events = exported["traceEvents"]
        self.assertEqual(len(events), source["events"])
        self.assertEqual(collections.Counter(e["ph"] for e in events), want["phases"])
        self.assertEqual(collections.Counter(f"{e['ph']} {e.get('cat', '')}" for e in events
                                             if e["ph"] != "M"), want["categories"])
        recorded, got = canonical(read(path)), canonical(exported)
        self.assertEqual((list((recorded - got))[:3], list((got - recorded))[:3]), ([], []))

    def test_of_the_small_files(self):
        self.assertEqual(set(SMALL) - set(EXPECTED), set())
        self.check_counts(SMALL)

    @SKIP
    def test_of_the_large_files(self):
        self.assertEqual(set(LARGE) - set(FILES), set())
        self.check_counts(LARGE)


class Identities(Merge):
    def check_identity(self, number, case):
        self.output = self.folder / str(number)
        result = self.merge_json(
            "--archive-only", *case["options"], *[FILES[name] for name in case["ranks"]])
        ranks = {pathlib.Path(source["path"]).name: source["rank"] for source in result["sources"]}
        self.assertEqual(ranks, case["ranks"])
        self.assertEqual(result["world"], case["world"])
        self.assertEqual([note["why"] for note in result["notes"] if note["fault"]],
                         case["faults"])
        told = [row["why"] for rank, document in documents(self.output, fmt.LEDGER)
                for row in document["rows"] if row["what"] == "trace-identity"]
        self.assertEqual(told, [why for why in case["faults"] if "missing" not in why])

    def check_identities(self, large):
        for number, case in enumerate(IDENTITIES):
            if any(name in LARGE for name in case["ranks"]) == large:
                with self.subTest(case["about"]):
                    self.check_identity(number, case)

    def test_of_the_small_files(self):
        self.check_identities(large=False)

    @SKIP
    def test_of_the_large_files(self):
        self.check_identities(large=True)


class Drawn(Merge):
    """All slices are in the timeline: of these files, no row says otherwise."""

    def check_drawn(self, names):
        for name in names:
            with self.subTest(name):
                self.output = self.folder / name
                self.merge(FILES[name])
                self.assertEqual(self.slices(self.drawn()),
                                 self.slices(read(FILES[name])["traceEvents"]))

    def slices(self, elements):
        """How many there are of each name; steps are drawn once more, in a row of their own."""
        return collections.Counter(e["name"] for e in elements if e["ph"] == "X"
                                   and not e["name"].startswith("ProfilerStep#"))

    def test_of_the_small_files(self):
        self.check_drawn(SMALL)


if __name__ == "__main__":
    unittest.main()
