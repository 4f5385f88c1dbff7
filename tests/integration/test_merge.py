# SPDX-License-Identifier: Apache-2.0
"""infprof merge: traces that exist already become one run.

What is expected of each file is counted here by Python's own JSON reader; test_import_counts.py does
the same for large traces.
"""

import collections
import gzip
import json
import pathlib
import unittest

import archive_format as fmt
import harness
from merge_case import DATA, DDP, ON_DEMAND, Merge, canonical, documents, nanoseconds, read


def header(trace):
    """What stands around the events, without what an export states itself."""
    members = {k: v for k, v in trace.items() if k not in ("traceEvents", "baseTimeNanoseconds")}
    return {"schemaVersion": 1, "displayTimeUnit": "ms", **members}


class Fidelity(Merge):
    def test_every_sample_comes_back_as_it_was(self):
        for path in sorted(DATA.glob("*.json.gz")):
            with self.subTest(path.name):
                self.output = self.folder / path.name
                result = self.merge_json("--archive-only", path)
                source, = result["sources"]
                want = read(path)
                self.assertEqual(source["elements"], len(want["traceEvents"]))
                self.assertEqual(source["elements"], source["events"] + source["left_out"])
                exported = self.folder / "export.json"
                done = harness.run([harness.INFPROF, "export", self.output, "--rank",
                                    source["rank"], "-o", exported])
                self.assertEnded(done, 0)
                self.assertEqual(header(read(exported)), header(want))
                want, got = canonical(want), canonical(read(exported))
                missing, added = want - got, got - want
                self.assertEqual(sum(missing.values()), source["left_out"],
                                 (list(missing)[:3], list(added)[:3]))
                self.assertFalse(added, list(added)[:3])

    def test_events_of_any_kind_come_back(self):
        events = [
            {"ph": "X", "cat": "a", "name": "negative", "pid": -5, "tid": -9, "ts": 10, "dur": 1},
            {"ph": "X", "cat": "a", "name": "text", "pid": "a \"b\"", "tid": "t", "ts": 11, "dur": 1},
            {"ph": "X", "cat": "a", "name": "large", "pid": 2**63 - 1, "tid": 2**70, "ts": 12,
             "dur": 1},
            {"ph": "X", "cat": ["b"], "name": "listed", "pid": 1, "tid": 1, "ts": 13, "dur": 0},
            {"ph": "X", "cat": "a", "name": "far", "pid": 1, "tid": 1, "ts": 5 * 10**15, "dur": 1},
            {"ph": "s", "cat": "f", "name": "flow", "pid": 1, "tid": 1, "ts": 12, "id": "0xabc"},
            {"ph": "f", "cat": "f", "name": "flow", "pid": 1, "tid": 2, "ts": 13, "id": "0xabc",
             "bp": "e"},
            {"ph": "s", "cat": "f", "name": "flow", "pid": 1, "tid": 1, "ts": 12, "id": -7},
            {"ph": "b", "cat": "g", "name": "async", "pid": 1, "tid": 1, "ts": 12, "id": 5},
            {"ph": "n", "cat": "g", "name": "async", "pid": 1, "tid": 1, "ts": 13, "id": "q"},
            {"ph": "e", "cat": "g", "name": "async", "pid": 1, "tid": 1, "ts": 15, "id": 5},
            {"ph": "B", "cat": "a", "name": "half", "pid": 1, "tid": 1, "ts": 14},
            {"ph": "E", "name": "half", "pid": 1, "tid": 1, "ts": 15},
            {"ph": "C", "name": "counter", "pid": 1, "tid": 1, "ts": 15, "args": {"v": 1}},
            {"ph": "i", "name": "moment", "pid": 1, "tid": 1, "ts": 16, "s": "g", "id": 3},
            {"ph": "P", "name": "sample", "pid": 1, "tid": 1, "ts": 16, "args": {"a": [{"b": 2}]}},
        ]
        path = self.write("rank0.json", events)
        self.merge("--archive-only", path)
        exported = self.folder / "export.json"
        done = harness.run([harness.INFPROF, "export", self.output, "--rank", 0, "-o", exported])
        self.assertEnded(done, 0)
        self.assertNotIn("left out", done.stderr)
        self.assertEqual(canonical(read(exported)), canonical({"traceEvents": events}))

    def test_what_stands_around_the_events_comes_back(self):
        around = {"schemaVersion": 3, "displayTimeUnit": "ns", "a": {"b": [1, "\"x\"", None]},
                  "large": 2**70, "distributedInfo": {"rank": 0, "pg_config": [{"ranks": [0]}]},
                  "deviceProperties": [{"name": "ä", "totalGlobalMem": 150754820096}], "z": 1.50}
        much = {"much": "x" * 500_000}
        path = self.write("rank0.json", {**around, "baseTimeNanoseconds": 5, **much,
                                         "traceEvents": [], "behind": []})
        path.write_text(path.read_text().replace('"traceEvents": []', '"traceEvents": ' + json.dumps(
            [{"ph": "X", "name": "a", "ts": 1, "dur": 1}])))
        result = self.merge_json("--archive-only", path)
        self.assertEqual([n["why"] for n in result["notes"]],
                         ["much of the trace's header is not kept: 500002 bytes"])
        exported = self.folder / "export.json"
        done = harness.run([harness.INFPROF, "export", self.output, "--rank", 0, "-o", exported])
        self.assertEnded(done, 0)
        self.assertEqual(header(read(exported)), header({**around, "z": "1.5", "behind": []}))

    def test_ids_of_two_ranks_never_meet_in_an_export_of_all(self):
        ids = [0, 5, -7, 2**31, "0xabc", "5"]
        for rank in (0, 1):
            self.write(f"rank{rank}.json", [
                {"ph": phase, "cat": "c", "name": f"{rank}", "pid": pid, "tid": 1, "ts": 10,
                 "id": i}
                for i in ids for phase in "sfbe" for pid in (0, -1, "p", 2**62)])
        self.merge("--archive-only", self.folder / "rank0.json", self.folder / "rank1.json")
        seen = {"0": set(), "1": set()}
        for event in harness.export(self.output):
            if event["ph"] in "sfbe":
                seen[event["name"]].add(("id", event["ph"] in "sf", event["id"]))
                seen[event["name"]].add(("pid", event["pid"]))
        self.assertEqual(len(seen["0"]), 2 * len(ids) + 4)
        self.assertEqual(len(seen["1"]), 2 * len(ids) + 4)
        self.assertFalse(seen["0"] & seen["1"])

    def test_the_archive_does_not_depend_on_the_order_of_the_work(self):
        result = self.merge("--archive-only", *DDP)
        self.assertEqual(result.stderr, "")  # no bar where there is no terminal
        first = (self.output / "run.ifp").read_bytes()
        self.output = self.folder / "again"
        self.merge("--archive-only", *reversed(DDP))
        self.assertEqual((self.output / "run.ifp").read_bytes(), first)


class Drawn(Merge):
    def test_two_ranks_become_one_timeline(self):
        result = self.merge_json(*DDP)
        self.assertEqual([s["rank"] for s in result["sources"]], [0, 1])
        merged, = (self.output / "merged").glob("*.json.gz")
        self.assertEqual(len(list((self.output / "ranks").glob("*.json.gz"))), 2)
        events = read(merged)["traceEvents"]
        titles = [e["args"]["name"] for e in events if e["name"] == "process_name"]
        ranks = [t for t in titles if t.startswith("rank ")]
        self.assertEqual(len(ranks), 2)
        self.assertEqual(set(titles) - set(ranks), {"infprof"})
        for title in ranks:
            self.assertIn("NOT ALIGNED", title)
        self.assertIn((1, "clock-unaligned"), harness.ledger_words(self.output))
        self.assertIn("clocks not aligned; cannot tell whether a rank is late", result["text"])

    def test_what_the_limits_of_ranks_leave_out_is_printed(self):
        result = self.merge_json("--max-ranks-files", "1", *DDP)
        held, = (self.output / "ranks").glob("*.json.gz")
        self.assertTrue(held.name.startswith("unknown_0000."))
        self.assertIn("ranks-reduced: ranks/ holds 1 of 2 ranks (0): --max-ranks-files is 1",
                      result["lines"])

    def test_gpus_are_told_of_where_the_trace_tells_of_all_that_it_names(self):
        """The plug-in fails on a number that has no entry."""
        trace = json.loads(gzip.decompress(DDP[1].read_bytes()))
        for count, told in ((2, True), (1, False)):
            self.output = self.folder / f"out{count}"
            part = dict(trace, deviceProperties=trace["deviceProperties"][:count])
            self.merge(self.write("rank1.json", part))
            file, = (self.output / "ranks").glob("*.json.gz")
            self.assertEqual(read(file).get("deviceProperties"),
                             part["deviceProperties"] if told else None)

    def test_steps_are_those_of_the_profiler(self):
        steps = [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{n}", "pid": 1,
                  "tid": 1, "ts": 1000 * n, "dur": 900} for n in (3, 4, 5)]
        self.merge(self.write("rank0.json", {"traceEvents": steps}))
        rank, = harness.report(self.output)["per_rank"]
        self.assertEqual(rank["steps"], 3)

    def test_the_report_lists_the_steps_of_the_traces(self):
        paths = []
        for rank, numbers in enumerate(((3, 4, 7), (3, 4, 7), (4, 5))):
            steps = [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{n}", "pid": 1,
                      "tid": 1, "ts": 1000 * n, "dur": 900} for n in numbers]
            paths.append(self.write(f"rank{rank}.json", {"traceEvents": steps}))
        self.merge(*paths)
        lines = (self.output / "report.txt").read_text().splitlines()
        self.assertIn("Steps: 3-4, 7; from rank 2 on 4-5", lines)

    def test_flows_and_processes_of_two_ranks_never_meet(self):
        """Each arrow begins and ends in the process of one rank, and begins once."""
        self.merge(*DDP)
        merged, = (self.output / "merged").glob("*.json.gz")
        pids, starts, ends = set(), {}, {}
        for event in read(merged)["traceEvents"]:
            pids.add(event["pid"])
            if event["ph"] in "sf":
                side = starts if event["ph"] == "s" else ends
                self.assertNotIn(event["id"], side)
                side[event["id"]] = event["pid"]
        self.assertEqual(len({p for p in starts.values()}), 2)
        self.assertEqual(starts, ends)

    def test_kernels_meet_the_launches_of_their_own_rank(self):
        self.merge(*DDP)
        merged, = (self.output / "merged").glob("*.json.gz")
        launches, kernels = collections.defaultdict(set), collections.defaultdict(set)
        for event in read(merged)["traceEvents"]:
            correlation = (event.get("args") or {}).get("correlation")
            if event["ph"] == "X" and correlation:
                on_gpu = "stream" in event["args"]
                (kernels if on_gpu else launches)[event["pid"]].add(correlation)
        self.assertEqual(len(kernels), 2)
        for pid, path in zip(sorted(kernels), DDP):
            pairs = collections.defaultdict(set)
            for event in read(path)["traceEvents"]:
                correlation = (event.get("args") or {}).get("correlation")
                if event["ph"] == "X" and correlation:
                    pairs["stream" in event["args"]].add(correlation)
            self.assertEqual(kernels[pid] & launches[pid], pairs[True] & pairs[False])

    def test_an_earlier_run_is_never_written_over(self):
        self.merge("--archive-only", DDP[0])
        before = (self.output / "run.ifp").read_bytes()
        result = self.merge(DDP[1], status=1)
        self.assertIn("run.ifp is there already", result.stderr)
        self.assertEqual((self.output / "run.ifp").read_bytes(), before)

    def test_a_report_of_another_program_stays(self):
        mine = self.write("out/report.json", '{"mine": 1}')
        self.output = mine.parent
        result = self.merge(DDP[0], status=1)
        self.assertIn("report.json is there already", result.stderr)
        self.assertEqual(list(self.output.iterdir()), [mine])
        self.assertEqual(mine.read_text(), '{"mine": 1}')

    def test_a_timeline_that_cannot_be_drawn_is_a_failure(self):
        result = self.merge("--json", "--max-events", "1", *DDP, status=1)
        self.assertIn("give --max-events", result.stderr)
        self.assertIs(json.loads(result.stdout)["undrawn"], True)
        self.assertEqual(result.stderr.count("not drawn"), 1)
        self.assertFalse((self.output / "merged").exists())
        self.assertEqual(len(list((self.output / "ranks").iterdir())), len(DDP))
        self.assertEqual(self.exported(1)["distributedInfo"]["rank"], 1)  # the archive is whole
        self.assertTrue((self.output / "report.json").exists())


class Identity(Merge):
    def test_what_the_traces_state(self):
        ranks, faults = self.ranks(self.trace("b.json", 0, 2), self.trace("a.json", 1, 2))
        self.assertEqual(ranks, {"b.json": 0, "a.json": 1})
        self.assertEqual(faults, [])

    def test_names_where_two_files_state_one_rank(self):
        ranks, faults = self.ranks(*ON_DEMAND)
        self.assertEqual(ranks, {"ondemand.rank0.json.gz": 0, "ondemand.rank1.json.gz": 1})
        self.assertEqual(len(faults), 1)
        self.assertIn("both rank 0 by distributedInfo", faults[0])

    def test_names_of_directories(self):
        ranks, faults = self.ranks(self.trace("rank_1/t.json"), self.trace("rank_0/u.json"))
        self.assertEqual((ranks, faults), ({"t.json": 1, "u.json": 0}, []))

    def test_the_host_is_that_of_the_name_also_where_two_files_have_it(self):
        name = "trainer_77.1700000000000.pt.trace.json"
        self.merge("--archive-only", self.trace(f"rank0/{name}"), self.trace(f"rank1/{name}"))
        ranks = documents(self.output, fmt.RANK)
        self.assertEqual([(rank, d["host"], d["child_pid"]) for rank, d in ranks],
                         [(0, "trainer", "77"), (1, "trainer", "77")])

    def test_files_of_one_name_are_told_apart(self):
        files = [self.trace(f"node{i}/rank3.json") for i in range(2)]
        _, faults = self.ranks(*files)
        self.assertEqual(
            faults[0], "{} and {} are both rank 3 by the file names, which is not believed"
            .format(*files))

    def test_an_expression(self):
        ranks, faults = self.ranks(
            "--rank-from", "worker([0-9]+)", self.trace("worker01.json"), self.trace("worker00.json"))
        self.assertEqual((ranks, faults), ({"worker01.json": 1, "worker00.json": 0}, []))

    def test_the_order_of_the_arguments(self):
        ranks, faults = self.ranks("--in-order", self.trace("z.json"), self.trace("a.json"))
        self.assertEqual((ranks, faults), ({"z.json": 0, "a.json": 1}, []))

    def test_the_order_of_the_names_is_told(self):
        ranks, faults = self.ranks(*[self.trace(f"t{i}.json") for i in (10, 9)])
        self.assertEqual(ranks, {"t9.json": 0, "t10.json": 1})
        self.assertIn("numbered in the order of the file names", faults[0])

    def test_a_file_without_a_rank_comes_behind_the_others(self):
        ranks, faults = self.ranks(
            self.trace("a.json", 0, 2), self.trace("b.json", 1, 2), self.trace("coordinator.json"))
        self.assertEqual(ranks, {"a.json": 0, "b.json": 1, "coordinator.json": 2})
        self.assertIn("coordinator.json has no rank", faults[0])

    def test_missing_ranks_are_told(self):
        ranks, faults = self.ranks(self.trace("a.json", 2, 4))
        self.assertEqual(ranks, {"a.json": 2})
        self.assertEqual(faults, ["3 of the 4 ranks of the job are missing: no file is theirs"])

    def test_strict_makes_faults_errors_and_writes_nothing(self):
        result = self.merge("--strict", self.trace("a.json", 2, 4), status=2)
        self.assertIn("3 of the 4 ranks", result.stderr)
        self.assertFalse(self.output.exists())

    def test_a_directory_of_the_user_stays(self):
        self.output.mkdir()
        self.merge("--strict", self.trace("a.json", 2, 4), status=2)
        self.assertEqual(list(self.output.iterdir()), [])

    def test_an_expression_that_is_none_is_bad_use(self):
        for expression, text in (("(", "Unmatched ( or \\("), ("rank", "has no group")):
            result = self.merge("--rank-from", expression, self.trace("a.json"), status=2)
            line, = result.stderr.splitlines()
            self.assertIn(text, line)
            self.assertFalse(self.output.exists())


class Damage(Merge):
    def test_what_stands_before_the_damage_is_kept(self):
        whole = gzip.decompress(DDP[0].read_bytes())
        cut = self.write("rank0.json", whole[: len(whole) // 2])
        result = self.merge("--json", "--archive-only", cut)
        self.assertIn("damaged", result.stderr)
        source, = json.loads(result.stdout)["sources"]
        complete = len(json.loads(whole)["traceEvents"])
        self.assertGreater(source["events"], complete // 4)
        self.assertLess(source["events"], complete)
        self.output = self.folder / "strict"
        self.merge("--strict", cut, status=2)

    def test_what_stands_behind_a_hole_is_kept(self):
        whole = gzip.decompress(DDP[0].read_bytes())
        middle = len(whole) // 2
        hole = self.write("rank0.json", whole[:middle] + whole[middle + 1000:])
        result = self.merge("--json", "--archive-only", hole)
        self.assertRegex(result.stderr, r"damaged.* [1-9]\d* bytes of its JSON are lost")
        source, = json.loads(result.stdout)["sources"]
        complete = len(json.loads(whole)["traceEvents"])
        self.assertGreater(source["events"], complete - 10)
        self.assertLess(source["events"], complete)

    def test_what_is_no_trace_does_not_stop_the_others(self):
        good = self.trace("rank0.json")
        bad = [self.write("empty.json", b""), self.write("text.json", b"hello"),
               self.folder / "absent.json"]
        result = self.merge("--archive-only", good, *bad)
        for path in bad:
            self.assertIn(path.name, result.stderr)

    def test_damage_of_all_sorts(self):
        event = b'{"ph":"X","cat":"a","name":"e","pid":1,"tid":1,"ts":5,"dur":1}'
        packed = bytearray(gzip.compress(b"[" + event + b"]"))
        packed[-8] ^= 1  # the checksum
        cases = {
            "no-bracket.json": (b"[" + event, 1, False),
            "comma.json": (b"[" + event + b",]", 1, False),
            "cut-inside.json": (b"[" + event + b"," + event[:20], 1, True),
            "two-ends.json": (b'{"traceEvents":[' + event + b"]}]", 1, True),
            "control.json": (b"[" + event.replace(b'"e"', b'"e\x01\\q"') + b"]", 1, False),
            "checksum.json.gz": (bytes(packed), 1, True),
            "bracket.json": (b"[", 0, True),
            "text.json": (b"no trace", 0, True),
        }
        for name, (content, events, fault) in cases.items():
            with self.subTest(name):
                self.output = self.folder / ("out-" + name)
                result = self.merge_json(
                    "--archive-only", "--in-order", self.trace("good.json"),
                    self.write(name, content))
                source, = [s for s in result["sources"] if s["path"].endswith("/" + name)]
                self.assertEqual(source["events"], events)
                faults = [n for n in result["notes"] if n["fault"]]
                self.assertEqual(bool(faults), fault, result["notes"])

    def test_nothing_at_all_is_an_error(self):
        for path in [self.write("empty.json", b""), self.folder / "absent.json"]:
            result = self.merge(path, status=1)
            self.assertIn(path.name, result.stderr)
            self.assertFalse(self.output.exists())

    def test_stamps_of_zero_do_not_stretch_the_timeline(self):
        events = [{"ph": "X", "cat": "cpu_op", "name": f"e{i}", "pid": 1, "tid": 1,
                   "ts": 5_000_000_000_000 + i, "dur": 1} for i in range(10)]
        events.append({"ph": "X", "cat": "cpu_op", "name": "zero", "pid": 1, "tid": 1,
                       "ts": 0, "dur": 1})
        path = self.write("rank0.json", {"baseTimeNanoseconds": 1790857026000000000,
                                         "traceEvents": events})
        result = self.merge("--json", path)
        self.assertIn("trace-misplaced 1: events whose times cannot be of this job", result.stderr)
        merged, = (self.output / "merged").glob("*.json.gz")
        times = [nanoseconds(e["ts"]) for e in read(merged)["traceEvents"] if e["ph"] == "X"]
        self.assertLess(max(times) - min(times), 1_000_000)

    def test_a_fault_is_told_once(self):
        events = [{"ph": "X", "cat": "cpu_op", "name": "e", "pid": 1, "tid": 1, "ts": ts, "dur": 1}
                  for ts in (5_000_000_000_000, 0)]
        path = self.write("rank0.json", {"baseTimeNanoseconds": 1790857026000000000,
                                         "traceEvents": events})
        result = self.merge(path)
        self.assertEqual((result.stdout + result.stderr).count("cannot be of this job"), 1)

    def test_events_of_another_job_are_told_of_at_once(self):
        """Nobody can say which of two files is of the job: the wall clocks are years apart."""
        for rank, base in enumerate((1790857026000000000, 1690857026000000000)):
            events = [{"ph": "X", "cat": "cpu_op", "name": "e", "pid": 1, "tid": 1, "ts": ts, "dur": 1}
                      for ts in range(10 + rank)]
            self.write(f"rank{rank}.json", {"baseTimeNanoseconds": base, "traceEvents": events})
        result = self.merge(self.folder / "rank0.json", self.folder / "rank1.json")
        rows = [row for row in harness.report(self.output)["ledger"] if row["what"] == "timeline-left-out"
                and row["why"].endswith("the time cannot be of this job")]
        for row in rows:
            self.assertIn(f"timeline-left-out {row['count']}, rank {row['rank']}: {row['why']}\n", result.stdout)
        self.assertTrue(rows)


if __name__ == "__main__":
    unittest.main()
