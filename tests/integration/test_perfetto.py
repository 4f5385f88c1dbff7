# SPDX-License-Identifier: Apache-2.0
"""Timelines in Perfetto's form hold what an export of everything holds."""

import collections
import gzip
import json
import pathlib
import subprocess
import sys
import unittest
from decimal import Decimal

import harness
from test_slice import Slice, read

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "harness"))
import pftrace  # noqa: E402


def normal(value):
    """JSON as Perfetto can hold it: what it has no type for is text."""
    if isinstance(value, dict):
        return {key: normal(v) for key, v in value.items()} or "{}"
    if isinstance(value, list):
        return [normal(v) for v in value] or "[]"
    if isinstance(value, Decimal):
        return float(value)
    return "null" if value is None else value


def as_text(args):
    return json.dumps(normal(args or {}) if args else {}, sort_keys=True)


def of_export(events):
    """(rank, kind, name, ns, ns, args) of everything but arrows and names; series of counters."""
    ranks = {e["pid"]: int(e["args"]["name"].split()[1]) for e in events
             if e["name"] == "process_name" and e["args"]["name"].startswith("rank ")}
    found = collections.Counter()
    for e in events:
        at = int(Decimal(e["ts"]) * 1000)
        if e["ph"] == "C":
            for key, value in e["args"].items():
                found[ranks[e["pid"]], "C", f"{e['name']} {key}", at, 0, as_text(value)] += 1
        elif e["ph"] not in "stfM":
            args = dict(e.get("args", {}))
            kind = "X" if e["ph"] == "X" else "i"
            found[ranks[e["pid"]], kind, e["name"], at, int(Decimal(e.get("dur", 0)) * 1000),
                  as_text(args)] += 1
    return found


def of_trace(trace):
    found = collections.Counter()
    for track, name, category, start, end, args, _ in trace.slices():
        if trace.tracks[track]["name"] != "steps":
            kind = "i" if end is None else "X"
            found[trace.rank_of(track), kind, name, start, 0 if end is None else end - start,
                  as_text(args)] += 1
    for at, kind, track, _, _, _, _, value in trace.events:
        if kind == pftrace.COUNTER:
            found[trace.rank_of(track), "C", trace.tracks[track]["name"], at, 0,
                  as_text(value)] += 1
    return found


class Perfetto(Slice):
    def pftrace(self, archive, *options, name="x.pftrace"):
        path = self.folder / name
        result = harness.run([harness.INFPROF, "slice", archive, *options, "-o", path])
        self.assertEnded(result, 0)
        return pftrace.Trace(path)

    def exported(self, archive):
        path = self.folder / "everything.json"
        self.assertEnded(harness.run([harness.INFPROF, "export", archive, "-o", path]), 0)
        return of_export(read(path))

    def merge(self, *traces):
        for rank, events in enumerate(traces):
            (self.folder / f"rank{rank}.json").write_text(json.dumps({"traceEvents": events}))
        files = [self.folder / f"rank{rank}.json" for rank in range(len(traces))]
        self.assertEnded(harness.run([harness.INFPROF, "merge", "--archive-only", "-o",
                                      self.output, *files]), 0)
        return self.output

    def test_everything_is_there_to_the_nanosecond(self):
        archive = self.archive(3, library="nccl")
        expected = self.exported(archive)
        self.assertEqual(of_trace(self.pftrace(archive)), expected)
        self.assertEqual(of_trace(self.pftrace(archive, name="x.pftrace.gz")), expected)

    def test_an_export_is_a_slice_of_everything(self):
        archive = self.archive(3, library="nccl")
        command = [harness.INFPROF, "export", archive, "--format", "perfetto", "-o"]
        self.pftrace(archive)
        result = harness.run([*command, self.folder / "export.pftrace"])
        self.assertEnded(result, 0)
        self.assertEqual((self.folder / "export.pftrace").read_bytes(),
                         (self.folder / "x.pftrace").read_bytes())
        self.assertRegex(result.stdout, r"export\.pftrace: \d+ events\n")
        result = harness.run([*command, self.folder / "one.pftrace", "--rank", 1])
        self.assertEnded(result, 0)
        one = of_trace(pftrace.Trace(self.folder / "one.pftrace"))
        self.assertEqual(one, collections.Counter({
            event: count for event, count in self.exported(archive).items() if event[0] == 1}))
        result = harness.run([*command, self.folder / "none.pftrace", "--rank", 7])
        self.assertEnded(result, 1)
        self.assertIn("no rank 7: it has ranks 0-2", result.stderr)
        self.assertFalse((self.folder / "none.pftrace").exists())

    def test_the_name_of_an_export_says_the_format(self):
        archive = self.archive(3)
        command = [harness.INFPROF, "export", archive, "-o"]
        for name, options in (("x.pftrace", []), ("x.pftrace.gz", []), ("x.json", []), ("x", []),
                              ("y", ["--format", "perfetto"])):
            path = self.folder / name
            self.assertEnded(harness.run([*command, path, *options]), 0)
            content = path.read_bytes()
            if name.endswith(".gz"):
                content = gzip.decompress(content)
            self.assertEqual(content[:1] != b"{", name not in ("x.json", "x"), name)
        for name, option, other in (("z.pftrace", "chrome", "perfetto"), ("z.json.gz", "perfetto", "chrome")):
            result = harness.run([*command, self.folder / name, "--format", option])
            self.assertEnded(result, 2)
            self.assertIn(f"--format {option}, but the name {self.folder / name} is one of {other}: ",
                          result.stderr)
            self.assertFalse((self.folder / name).exists())

    def test_ranks_are_named_in_one_way_by_all_verbs(self):
        archive = self.archive(3, library="nccl")
        for verb in ("slice", "export"):
            for option, ranks in (("--rank", "1"), ("--ranks", "1"), ("--rank", "0,2"), ("--ranks", "1-2")):
                path = self.folder / f"{verb}{option}{ranks}.pftrace"
                self.assertEnded(harness.run([harness.INFPROF, verb, archive, option, ranks, "-o", path]), 0)
                found = {event[0] for event in of_trace(pftrace.Trace(path))}
                self.assertEqual(found, {"1": {1}, "0,2": {0, 2}, "1-2": {1, 2}}[ranks])
            result = harness.run([harness.INFPROF, verb, archive, "--rank", "0", "--ranks", "1", "-o",
                                  self.folder / "z.json"])
            self.assertEnded(result, 2)
            self.assertIn("--rank and --ranks are the same", result.stderr)
        path = self.folder / "two.json"
        self.assertEnded(harness.run([harness.INFPROF, "export", archive, "--ranks", "0,2", "-o", path]), 0)
        exported = json.loads(path.read_text())
        self.assertEqual(set(exported["metadata"]["clock_bounds_ns"]), {"rank 0", "rank 2"})
        names = {event["args"]["name"].split()[1] for event in exported["traceEvents"]
                 if event["name"] == "process_name"}
        self.assertEqual(names, {"0", "2"})

    def test_a_timeline_holds_all_slices(self):
        archive = self.archive(3, library="nccl")
        output = self.folder / "drawn"
        result = harness.run([harness.INFPROF, "timeline", archive, "-o", output, "--formats",
                              "perfetto"])
        self.assertEnded(result, 0)
        path = output / "perfetto" / "run.pftrace.gz"
        self.assertIn(f"{path}  {path.stat().st_size} bytes, ", result.stdout)
        self.assertFalse((output / "merged").exists())
        # The picture has marks of steps as steps, and counters that it makes of slices.
        drawn = of_trace(pftrace.Trace(path))
        self.assertEqual({event[1] for event in drawn}, {"X", "C"})
        self.assertEqual(
            *({event: count for event, count in events.items() if event[1] == "X"}
              for events in (drawn, self.exported(archive))))

    def test_real_traces(self):
        samples = harness.SOURCE / "tests" / "data" / "kineto"
        for path in sorted(samples.iterdir()):
            with self.subTest(trace=path.name):
                output = self.folder / path.name
                self.assertEnded(harness.run([harness.INFPROF, "merge", "--archive-only", "-o",
                                              output, path]), 0)
                self.assertEqual(of_trace(self.pftrace(output)), self.exported(output))

    def test_a_process_for_each_rank_and_a_track_for_each_lane_in_order(self):
        trace = self.pftrace(self.archive(3, library="nccl"))
        self.assertEqual(
            [trace.processes[uuid] for uuid in
             sorted(trace.processes, key=lambda uuid: trace.tracks[uuid]["order"])],
            [f"rank {rank} · node03 · ±0" for rank in range(3)])
        for process in trace.processes:
            lanes = [t for t in trace.tracks.values() if t.get("parent") == process]
            lanes.sort(key=lambda t: t["order"])
            names = [t["name"] for t in lanes]
            self.assertEqual(names[0], "steps")
            self.assertRegex(names[1], r"^main \d+$")
            self.assertRegex(names[2], r"^pt_autograd_0 \d+$")
            self.assertRegex(names[3], r"^GPU \d stream 7$")
            self.assertRegex(names[4], r"^GPU \d stream 17$")

    def test_arrows_join_the_slices_that_they_join_elsewhere(self):
        archive = self.archive(2, library="nccl")
        events = self.slice(archive)
        slices = {(e["pid"], e["tid"], e["ts"]): e for e in events if e["ph"] == "X"}
        expected = collections.defaultdict(set)
        for e in events:
            if e["ph"] in "sf":
                end = slices[e["pid"], e["tid"], e["ts"]]
                expected[e["id"]].add((end["name"], int(end["ts"] * 1000)))
        found = collections.defaultdict(set)
        for _, name, _, start, _, _, flows in self.pftrace(archive).slices():
            for flow in flows:
                found[flow].add((name, start))
        self.assertEqual(found, expected)
        self.assertEqual(len(found), 2 * 5 * 6)

    def test_args_keep_their_types(self):
        args = {"int": 5, "negative": -7, "large": 2**63, "larger": 2**64, "float": 0.1,
                "exponent": 1e300, "yes": True, "no": False, "nothing": None,
                "text": "a \"b\"\n\u00e4", "empty": {}, "none": [], "list": [1, [2.5, "x"], {"k": 1}],
                "nested": {"a": {"b": [True, None]}}, "": "nameless"}
        place = {"pid": 1, "tid": 1, "cat": "c"}
        archive = self.merge([{"ph": "X", "name": "n", "ts": 1, "dur": 2, "args": args, **place},
                              {"ph": "i", "name": "m", "ts": 2, "args": args, **place}])
        expected = normal(args) | {"larger": str(2**64)}
        for _, _, _, _, _, found, _ in self.pftrace(archive).slices():
            self.assertEqual(found, expected)

    def test_each_number_of_a_counter_is_a_series(self):
        place = {"ph": "C", "pid": 1, "tid": 1}
        events = [{"name": "memory", "ts": ts, "args": {"used": ts * 10, "free": 0.5 - ts}, **place}
                  for ts in (1, 2, 3)]
        events += [{"name": "other", "ts": 2, "args": {"v": 2**40}, **place}]
        archive = self.merge(events, events)
        trace = self.pftrace(archive)
        self.assertEqual(of_trace(trace), self.exported(archive))
        series = [t for t in trace.tracks.values() if "counter" in t]
        self.assertEqual(len(series), 2 * 3)

    def test_events_without_a_picture_are_instants(self):
        place = {"pid": 1, "tid": 1, "cat": "c"}
        archive = self.merge([
            {"ph": "X", "name": "slice", "ts": 10, "dur": 90, **place},
            {"ph": "B", "name": "half", "ts": 14, "args": {"a": 1}, **place},
            {"ph": "P", "name": "sample", "ts": 16, "args": {"a": [{"b": 2}]}, "sf": 7, **place}])
        instants = {name: args for _, name, _, _, end, args, _ in self.pftrace(archive).slices()
                    if end is None}
        self.assertEqual(instants, {
            "half": {"a": 1},
            "sample": {"a": [{"b": 2}], "further members": {"ph": "P", "sf": 7}}})

    def test_every_byte_is_as_the_format_has_it(self):
        """A small trace as the compiler of protocol buffers decodes it (tests/data/perfetto/)."""
        data = harness.SOURCE / "tests" / "data" / "perfetto"
        self.assertEnded(harness.run([harness.INFPROF, "merge", "--archive-only", "-o",
                                      self.output, data / "small.json"]), 0)
        self.pftrace(self.output)
        with open(self.folder / "x.pftrace", "rb") as file:
            decoded = subprocess.run(["protoc", "--decode_raw"], stdin=file, check=True,
                                     capture_output=True, text=True, timeout=60).stdout
        self.assertEqual(decoded, (data / "small.txt").read_text())


if __name__ == "__main__":
    unittest.main()
