# SPDX-License-Identifier: Apache-2.0
"""The verbs of infprof on archives of jobs that never ran (tests/harness/sample_job.h)."""

import gzip
import json
import os
import re
import subprocess
import unittest

import harness

SAMPLE = harness.BUILD / "tests" / "sample_archive"


def infprof(*arguments, prefix=(), **options):
    return harness.run([*prefix, harness.INFPROF, *arguments], **options)


class Cli(harness.TestCase):
    def sample(self, name="run.ifp", ranks=8, steps=5, slow=3, ms=300, only=None, job=None):
        path = self.folder / name
        command = [SAMPLE, path, ranks, steps, slow, ms]
        if only is not None:
            command += [only]
        if job is not None:
            command += [job]
        self.assertEnded(harness.run(command), 0)
        return path

    def assertRefused(self, result, status, text):
        """One clear line on stderr, nothing on stdout."""
        self.assertEnded(result, status)
        self.assertEqual(result.stdout, "")
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertIn(text, result.stderr)


class Use(Cli):
    def test_help_lists_the_verbs(self):
        result = infprof("--help")
        self.assertEnded(result, 0)
        for verb in ["merge", "report", "timeline", "view", "slice", "export", "check",
                     "collect"]:
            self.assertRegex(result.stdout, rf"(?m)^  {verb} ")
            self.assertEnded(infprof(verb, "--help"), 0)
            self.assertIn(f"Usage: infprof {verb} ", infprof(verb, "--help").stdout)

    def test_version(self):
        self.assertRegex(infprof("--version").stdout, r"^infprof \d+\.\d+\.\d+\n$")

    def test_bad_use_is_one_line_and_status_2(self):
        archive = self.sample()
        cases = [
            ([], "a command is missing"),
            (["mend"], 'there is no command "mend"'),
            (["--nope"], "there is no option --nope"),
            (["report"], "an argument is missing"),
            (["report", archive, "more"], 'one argument too many: "more"'),
            (["report", "--nope", archive], "there is no option --nope"),
            (["timeline", archive], "-o DIR is missing"),
            (["export", archive], "-o FILE is missing"),
            (["export", archive, "-o", "x", "--rank", "three"], '"three" is no list of numbers'),
            (["export", archive, "-o", "x", "--format", "csv"], '"csv" is none of chrome, perfetto'),
            (["collect", archive], "-o ARCHIVE|DIR is missing"),
        ]
        for arguments, text in cases:
            with self.subTest(arguments=arguments):
                self.assertRefused(infprof(*arguments), 2, text)

    def test_nothing_waits_at_a_pipe_that_nobody_writes_to(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        for arguments in (
            ["report", pipe],
            ["export", pipe, "-o", self.folder / "x.json"],
            ["collect", pipe, "-o", self.output],
        ):
            self.assertRefused(infprof(*arguments, timeout=10), 1, "not a regular file")
        result = infprof("check", pipe, timeout=10)
        self.assertEnded(result, 1)
        self.assertIn("no regular file", result.stdout)
        command = [harness.AGENT, "--collector", "tcp://127.0.0.1:1", "--key-file", pipe]
        result = harness.run([*command, "--", "true"], timeout=10)
        self.assertRefused(result, 2, "not a regular file")

    def test_bad_archives_are_one_line_and_status_1(self):
        other = self.folder / "text.ifp"
        other.write_text("hello\n")
        newer = self.sample("newer.ifp")
        content = bytearray(newer.read_bytes())
        content[8] = 99  # the version, behind the magic
        newer.write_bytes(content)
        for path, text in [
            (self.folder / "none.ifp", "No such file"),
            (self.folder, "run.ifp"),
            (other, "text.ifp"),
            (newer, "version 99"),
        ]:
            with self.subTest(path=path):
                self.assertRefused(infprof("report", path), 1, text)
                self.assertRefused(infprof("timeline", path, "-o", self.output), 1, text)
                self.assertFalse(self.output.exists())

    def test_a_full_disk_behind_stdout_is_a_failure(self):
        archive = self.sample()
        with open("/dev/full", "w") as full:
            status = subprocess.run(
                [harness.INFPROF, "report", archive],
                stdout=full,
                stderr=subprocess.DEVNULL,
                timeout=60,
                check=False,
            ).returncode
        self.assertEqual(status, 1)


class Report(Cli):
    def test_names_the_slow_rank(self):
        self.sample()
        result = infprof("report", self.folder)  # the directory means run.ifp in it
        self.assertEnded(result, 0)
        self.assertRegex(
            result.stdout.splitlines()[0],
            r"^8 of 8 ranks, 5 steps, one host, one clock; "
            r"rank 3 is late: 30\d ms at all_reduce in 5 of 5 steps$",
        )

    def test_json_behind_the_argument(self):
        archive = self.sample(slow=0, ms=0, steps=8)
        result = infprof("report", archive, "--json")
        self.assertEnded(result, 0)
        report = json.loads(result.stdout)
        self.assertEqual(report["schema"], 1)
        self.assertIsNone(report["verdict"]["rank"])
        self.assertEqual(report["verdict"]["kind"], "nobody")

    def test_an_archive_without_its_end_still_gives_a_verdict(self):
        archive = self.sample()
        content = archive.read_bytes()
        archive.write_bytes(content[: len(content) - 200])
        result = infprof("report", archive)
        self.assertEnded(result, 0)
        self.assertIn("rank 3 is late", result.stdout)


class Timeline(Cli):
    def test_draws_from_the_archive_alone(self):
        archive = self.sample()
        before = archive.read_bytes()
        result = infprof("timeline", archive, "-o", self.output)
        self.assertEnded(result, 0)
        self.assertIn("rank 3 is late", result.stdout.splitlines()[0])
        merged = list((self.output / "merged").glob("*.pt.trace.json.gz"))
        ranks = list((self.output / "ranks").glob("*.pt.trace.json.gz"))
        # Four files are what TensorBoard loads beside merged/ on two cores; the late rank is in one.
        self.assertEqual((len(merged), len(ranks)), (1, 4))
        self.assertTrue([path for path in ranks if "_0003." in path.name], ranks)
        for path in merged + ranks:
            with gzip.open(path, "rt") as file:
                self.assertIn("traceEvents", json.load(file))
            self.assertIn(str(path), result.stdout)
        self.assertEqual(harness.report(self.output)["verdict"]["rank"], 3)
        self.assertIn(f"tensorboard --logdir {self.output}", result.stdout)
        self.assertEqual(archive.read_bytes(), before)

    def test_nothing_stays_of_a_timeline_that_cannot_be_written(self):
        result = infprof("timeline", self.sample(), "-o", self.output, prefix=["prlimit", "--fsize=0"])
        self.assertRefused(result, 1, "File too large")
        self.assertFalse(self.output.exists())


    def test_tensorboard_is_named_where_there_is_something_for_it(self):
        archive = self.sample()
        for formats, named in (("pytorch", True), ("xplane", True), ("perfetto", False),
                               ("perfetto,xplane", True)):
            output = self.folder / formats
            result = infprof("timeline", archive, "-o", output, "--formats", formats)
            self.assertEnded(result, 0)
            self.assertEqual("tensorboard --logdir" in result.stdout, named, formats)
            output = self.folder / f"merged {formats}"
            trace = harness.SOURCE / "tests" / "data" / "kineto" / "ddp-steps.rank0.json.gz"
            result = infprof("merge", trace, "-o", output, "--formats", formats)
            self.assertEnded(result, 0)
            self.assertEqual("tensorboard --logdir" in result.stdout, named, formats)

    def test_slices_that_find_no_lane_are_told_at_once(self):
        """Of 100 that overlap 64 have lanes; the others are folded, but where files are computed from."""
        trace = self.folder / "rank0.json"
        trace.write_text(json.dumps({"baseTimeNanoseconds": 1_790_000_000_000_000_000, "traceEvents": [
            {"ph": "X", "cat": "cpu_op", "name": "late", "pid": 1, "tid": 1, "ts": 10 + i, "dur": 1000}
            for i in range(100)]}))
        formats = ["--formats", "pytorch,perfetto,xplane"]
        merged = infprof("merge", trace, "-o", self.output, *formats)
        self.assertEnded(merged, 0)
        drawn = infprof("timeline", self.output, "-o", self.output, *formats)
        self.assertEnded(drawn, 0)
        for text in (merged.stdout + merged.stderr, drawn.stdout):
            for files in ("merged/", "perfetto/"):
                self.assertRegex(text, f"(?m)^{files}: --budget 48MB: 64 of 100 events are shown, 36 that "
                                 "overlap 64 or more others on their lane are folded whatever the "
                                 "budget$")
                self.assertNotIn(f"{files}: more than", text)
            for files in ("ranks/", "plugins/profile/"):
                self.assertIn(f"timeline-left-out 36, rank 0: {files}: more than 64 slices overlap",
                              text)

    def test_merge_says_what_limits_leave_out(self):
        trace = harness.SOURCE / "tests" / "data" / "kineto" / "ddp-steps.rank0.json.gz"
        merged = infprof("merge", trace, "-o", self.output, "--budget", "100KB", "--ranks-budget", "1KB")
        self.assertEnded(merged, 0)
        self.assertRegex(merged.stdout, "(?m)^merged/: --budget 100KB: [0-9]+ of [0-9]+ events are shown")
        self.assertRegex(merged.stdout, "(?m)^ranks-reduced: ranks/ is empty")

    def test_the_report_keeps_what_it_says_of_each_drawing(self):
        traces = sorted((harness.SOURCE / "tests" / "data" / "kineto").glob("ddp-steps.rank*.gz"))
        drawn = {"--formats": "pytorch", "--budget": "100KB", "--ranks-budget": "200KB"}
        self.assertEnded(infprof("merge", *traces, "-o", self.output,
                                 *(word for pair in drawn.items() for word in pair)), 0)

        def labels():
            rows = harness.report(self.output)["ledger"]
            return {row["why"].partition("/")[0] for row in rows
                    if row["what"].startswith(("timeline-", "ranks-"))}

        self.assertEqual(labels(), {"merged", "ranks"})
        again = infprof("timeline", self.output, "-o", self.output, "--formats", "perfetto",
                        "--budget", "200KB")
        self.assertEnded(again, 0)
        self.assertNotIn("ranks-reduced", again.stdout)
        self.assertEqual(labels(), {"merged", "ranks", "perfetto"})
        for options, name in (([], "report.txt"), (["--json"], "report.json")):
            printed = infprof("report", self.output, *options)
            self.assertEnded(printed, 0)
            self.assertEqual(printed.stdout, (self.output / name).read_text())
        # Of the archive alone nothing is drawn.
        self.assertNotIn("perfetto/", infprof("report", self.output / "run.ifp").stdout)
        everything = ["--budget", "0", "--ranks-budget", "0"]
        self.assertEnded(infprof("timeline", self.output, "-o", self.output, *everything), 0)
        self.assertEqual(labels(), {"perfetto"})
        self.assertEnded(infprof("timeline", self.output, "-o", self.output, *everything,
                                 "--formats", "perfetto"), 0)
        self.assertEqual(labels(), set())

    def test_a_refused_drawing_says_that_an_earlier_one_is_there(self):
        trace = harness.SOURCE / "tests" / "data" / "kineto" / "ddp-steps.rank0.json.gz"
        told = "(what is in it is of an earlier drawing)"
        merged = infprof("merge", trace, "-o", self.output, "--budget", "1")
        self.assertEnded(merged, 1)
        self.assertNotIn(told, merged.stderr)
        self.assertEnded(infprof("timeline", self.output, "-o", self.output), 0)
        refused = infprof("timeline", self.output, "-o", self.output, "--budget", "1")
        self.assertEnded(refused, 1)
        self.assertRegex(refused.stderr, "merged/ was not drawn: .* or more " + re.escape(told))

    def test_runs_are_not_mixed_in_one_directory(self):
        """Neither drawings of two runs, nor one beside the archive of another."""
        archive = self.sample()
        traces = sorted((harness.SOURCE / "tests" / "data" / "kineto").glob("ddp-steps.rank*.gz"))
        other = self.folder / "other"
        merged = infprof("merge", *traces, "-o", other, "--archive-only")
        self.assertEnded(merged, 0)
        refused = infprof("timeline", archive, "-o", other)
        self.assertRefused(refused, 1, f"{other}/run.ifp is of another run")
        self.assertEqual([path.name for path in other.iterdir()], ["run.ifp"])
        self.assertEnded(infprof("timeline", other, "-o", other), 0)
        before = {path: path.read_bytes() for path in other.rglob("*") if path.is_file()}
        for formats in ("pytorch", "xplane", "perfetto"):
            refused = infprof("timeline", archive, "-o", other, "--formats", formats)
            self.assertRefused(refused, 1, f"{other}/report.json is of another run")
        after = {path: path.read_bytes() for path in other.rglob("*") if path.is_file()}
        self.assertEqual(after, before)
        self.assertEnded(infprof("timeline", other, "-o", other), 0)

    def test_fewer_ranks_begin_with_those_of_the_verdict(self):
        """Rank 3 is late; files of an earlier drawing do not stay beside fewer new ones."""
        archive = self.sample()
        self.assertEnded(infprof("timeline", archive, "-o", self.output, "--max-ranks-files", "8"), 0)
        self.assertEqual(len(list((self.output / "ranks").iterdir())), 8)
        (self.output / "ranks" / "notes.txt").write_text("the user's own")
        result = infprof("timeline", archive, "-o", self.output, "--max-ranks-files", "2")
        self.assertEnded(result, 0)
        names = sorted(path.name for path in (self.output / "ranks").iterdir())
        self.assertEqual(len(names), 3, names)
        held = [int(name.split("_")[1].split(".")[0]) for name in names if "_" in name]
        self.assertIn(3, held)
        self.assertIn(f"ranks-reduced: ranks/ holds 2 of 8 ranks ({held[0]}, {held[1]}): "
                      "--max-ranks-files is 2", result.stdout.splitlines())
        self.assertIn("ranks-reduced", [row["what"] for row in
                                        harness.report(self.output)["ledger"]])

    def test_limits_that_are_no_numbers(self):
        archive = self.sample(ranks=2)
        for option, value in (("--ranks-budget", "much"), ("--max-ranks-files", "-1")):
            result = infprof("timeline", archive, "-o", self.output, option, value)
            self.assertEnded(result, 2)
            self.assertIn(f"{option}", result.stderr)
            self.assertFalse(self.output.exists())


class Export(Cli):
    def test_every_event_of_every_rank(self):
        archive = self.sample(ranks=4, steps=6)
        events = harness.export(archive)
        self.assertEqual(len([e for e in events if e["ph"] != "M"]), 4 * 6 * 4)
        self.assertEqual(len([e for e in events if e["name"] == "gloo:all_reduce"]), 4 * 6 * 2)
        processes = {
            e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"
        }
        self.assertEqual(sorted(processes.values()), [f"rank {r} node1" for r in range(4)])
        self.assertEqual({e["pid"] for e in events}, set(processes))

    def test_processes_of_all_ranks_are_named_and_in_the_order_of_the_ranks(self):
        recorded = [
            {"ph": "M", "name": "process_name", "pid": 7, "tid": 0, "ts": 0,
             "args": {"name": "python3"}},
            {"ph": "M", "name": "process_sort_index", "pid": 7, "tid": 0, "ts": 0,
             "args": {"sort_index": 5000000}},
            {"ph": "X", "cat": "c", "name": "n", "pid": 7, "tid": 1, "ts": 1, "dur": 1},
            {"ph": "X", "cat": "c", "name": "n", "pid": "Spans", "tid": 1, "ts": 2, "dur": 1},
        ]
        for rank in (0, 1):
            (self.folder / f"rank{rank}.json").write_text(json.dumps({"traceEvents": recorded}))
        self.assertEnded(infprof("merge", "--archive-only", self.folder / "rank0.json",
                                 self.folder / "rank1.json", "-o", self.output), 0)
        path = self.folder / "all.json"
        self.assertEnded(infprof("export", self.output, "-o", path), 0)
        trace = json.loads(path.read_text())
        self.assertEqual(trace["displayTimeUnit"], "ms")
        self.assertEqual(trace["metadata"]["clock_bounds_ns"], {"rank 0": None, "rank 1": None})
        names, order = {}, {}
        for e in trace["traceEvents"]:
            if e["name"] == "process_name":
                names[e["pid"]] = e["args"]["name"]  # the last one holds
            if e["name"] == "process_sort_index":
                self.assertNotIn(e["pid"], order)
                order[e["pid"]] = e["args"]["sort_index"]
        self.assertEqual([names[pid] for pid in sorted(names, key=order.get)],
                         ["rank 0 unknown · python3", "rank 0 unknown · Spans",
                          "rank 1 unknown · python3", "rank 1 unknown · Spans"])

    def test_metadata_tell_whose_run_it_is(self):
        path = self.folder / "all.json"
        self.assertEnded(infprof("export", self.sample(ranks=2), "-o", path), 0)
        self.assertEqual(json.loads(path.read_text())["metadata"], {
            "source": "infprof", "run_id": "sample-1", "job": "job-1", "program": "train.py",
            "clock_bounds_ns": {"rank 0": 0, "rank 1": 0}})

    def test_the_archive_itself_is_not_overwritten(self):
        archive = self.sample()
        link = self.folder / "link"
        link.symlink_to(archive)
        before = archive.read_bytes()
        for output in (archive, link):
            self.assertRefused(infprof("export", self.folder, "-o", output), 1, "archive itself")
        self.assertEqual(archive.read_bytes(), before)

    def test_pipes_devices_and_the_standard_output_are_written_to(self):
        archive = self.sample()
        plain = self.folder / "plain.json"
        self.assertEnded(infprof("export", archive, "-o", plain), 0)
        expected = plain.read_text()
        self.assertEqual(infprof("export", archive, "-o", "-").stdout, expected)
        # the same, with what the verb prints behind it
        result = infprof("export", archive, "-o", "/dev/stdout")
        self.assertTrue(result.stdout.startswith(expected))
        device = self.folder / "full"
        device.symlink_to("/dev/full")  # should it be replaced, then not for everybody
        self.assertRefused(
            infprof("export", archive, "-o", device), 1, "No space left on device"
        )
        self.assertTrue(device.is_symlink())
        self.assertEqual(set(self.folder.iterdir()), {archive, plain, device})

    def test_the_target_of_a_link_is_replaced(self):
        archive = self.sample()
        target, link = self.folder / "target.json", self.folder / "link.json"
        target.write_text("earlier")
        link.symlink_to(target)
        self.assertEnded(infprof("export", archive, "-o", link), 0)
        self.assertTrue(link.is_symlink())
        self.assertIn("traceEvents", json.loads(target.read_text()))

    def test_one_rank_keeps_its_numbers(self):
        archive = self.sample(ranks=4, steps=6)
        events = harness.export(archive, rank=2)
        self.assertEqual(len(events), 6 * 4)
        self.assertEqual({e["pid"] for e in events}, {1002})
        operator = next(e for e in events if e["name"] == "aten::mm")
        self.assertEqual(operator["args"], {"External id": 5})
        self.assertEqual(operator["dur"], 1000)

    def test_a_rank_that_is_not_there(self):
        archive = self.sample(ranks=2)
        target = self.folder / "x.json"
        self.assertRefused(
            infprof("export", archive, "--rank", 7, "-o", target), 1, "no rank 7"
        )
        self.assertFalse(target.exists())


class Check(Cli):
    def test_whole_files_are_counted(self):
        archive = self.sample(ranks=2, steps=5)
        trace = self.folder / "trace.json.gz"
        with gzip.open(trace, "wt") as file:
            json.dump({"traceEvents": [{"name": "a", "ph": "X", "ts": 1, "dur": 2}]}, file)
        result = infprof("check", archive, trace)
        self.assertEnded(result, 0)
        lines = result.stdout.splitlines()
        self.assertRegex(lines[0], r"run\.ifp: archive, \d+ frames, 40 events$")
        self.assertRegex(lines[1], r"trace\.json\.gz: trace, 1 event$")
        self.assertEqual(len(lines), 2)

    def test_json_has_the_same(self):
        archive = self.sample(ranks=2, steps=5)
        trace = self.folder / "trace \"1\".json"
        trace.write_text('[{"name":"a\x01","ph":"X","ts":1,"dur":2},{}')
        result = infprof("check", "--json", archive, trace, self.folder / "none")
        self.assertEnded(result, 1)
        found = json.loads(result.stdout)
        self.assertEqual([(f["path"], f["kind"], f["events"]) for f in found["files"]],
                         [(str(archive), "archive", 40), (str(trace), "trace", 1)])
        self.assertEqual([(n["what"], n["count"], n["fault"]) for n in found["files"][1]["notes"]],
                         [("trace-left-out", 1, False), ("trace-repaired", 1, False)])
        self.assertEqual([n["fault"] for n in found["notes"]], [True])
        self.assertEqual(found["findings"], 1)

    def test_damage_is_found_and_the_rest_is_read(self):
        archive = self.sample(ranks=2, steps=5)
        content = bytearray(archive.read_bytes())
        middle = len(content) // 2
        content[middle : middle + 8] = bytes(8)
        archive.write_bytes(content)
        good = self.sample("good.ifp", ranks=2, steps=5)
        result = infprof("check", archive, good, self.folder / "none")
        self.assertEnded(result, 1)
        lines = result.stdout.splitlines()
        self.assertRegex(lines[0], r"run\.ifp: archive, \d+ frames, \d+ events$")
        for line in lines[1:-2]:
            self.assertRegex(line, r"run\.ifp: archive-damaged: 1 damaged: (\d+ bytes|frames)")
        self.assertGreater(len(lines), 3)
        self.assertRegex(lines[-2], r"good\.ifp: archive, \d+ frames, 40 events$")
        self.assertIn("No such file", lines[-1])

    def test_a_trace_that_was_cut_off(self):
        trace = self.folder / "cut.json"
        trace.write_text('{"traceEvents":[{"name":"a","ph":"X","ts":1,"dur":2},{"name":')
        result = infprof("check", trace)
        self.assertEnded(result, 1)
        self.assertIn("cut.json: trace, 1 event\n", result.stdout)
        self.assertIn("cut.json: trace-damaged: 1 damaged: byte 61:", result.stdout)


class Collect(Cli):
    def test_a_spool_is_added_once(self):
        self.output.mkdir()
        spools = [self.sample(f"rank{r}.ifp", ranks=8, only=r) for r in range(8)]
        first = infprof("collect", *spools[:7], "-o", self.output)
        self.assertEnded(first, 0)
        self.assertIn("0 were there already", first.stdout)
        second = infprof("collect", *spools, "-o", self.output)
        self.assertEnded(second, 0)
        self.assertRegex(second.stdout, r"added (\d+) frames, \d+ were there already")
        self.assertIn("rank 3 is late", infprof("report", self.output).stdout)
        self.assertEqual(len(harness.export(self.output / "run.ifp", rank=7)), 20)
        self.assertEqual(len(harness.export(self.output / "run.ifp", rank=0)), 20)

    def test_a_spool_of_another_job_is_refused(self):
        archive = self.sample(ranks=2)
        before = archive.read_bytes()
        spool = self.sample("other.ifp", ranks=2, only=1, job="job-2")
        self.assertRefused(infprof("collect", spool, "-o", archive), 1, "is of job job-2")
        self.assertEqual(archive.read_bytes(), before)

    def test_a_spool_that_is_not_there_makes_no_archive(self):
        target = self.folder / "new.ifp"
        self.assertRefused(
            infprof("collect", self.folder / "none", "-o", target), 1, "No such file"
        )
        self.assertFalse(target.exists())


if __name__ == "__main__":
    unittest.main()
