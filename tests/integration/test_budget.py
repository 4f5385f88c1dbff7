# SPDX-License-Identifier: Apache-2.0
"""What a timeline shows within a budget, whatever the run.

Archives are made of random traces (the seeds are in the names of the tests) and of the samples in
tests/data; with INFPROF_TRACES, a directory, of all traces below it as well. What is true is found
from `infprof export`, by other means than the picture's: places by first fit, busy times by walking
up the slices around each one.
"""

import collections
import decimal
import gzip
import json
import os
import pathlib
import shutil
import sys
import unittest
import zlib

import harness

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "harness"))
import kineto_sample  # noqa: E402
import random_trace  # noqa: E402

DRIVER = harness.BUILD / "tests" / "picture_driver"
DATA = harness.SOURCE / "tests" / "data" / "kineto"
SEEDS = (1, 2, 3, 4)
GIGABYTE = 10**9
COLLECTIVES = ("nccl", "gloo:", "c10d::", "record_param_comms")
ROWS = 64  # that a lane has for slices which overlap; what finds none is always folded

Slice = collections.namedtuple("Slice", "start end category name step kind args lane")


def is_collective(category, name):
    return category != "python_function" and name.startswith(COLLECTIVES)


def nanoseconds(text):
    return int(decimal.Decimal(text) * 1000)


def forest(slices):
    """Pairs of a slice and the list of those around it, innermost last, of one lane."""
    around = []
    for one in slices:
        while around and around[-1].end <= one.start:
            around.pop()
        yield one, list(around)
        around.append(one)


class Archive:
    """What an archive holds, by its export."""

    def __init__(self, path):
        self.path = path
        self.slices, self.steps, self.moments, self.crowded = {}, {}, 0, []
        for line in harness.run([DRIVER, path]).stdout.splitlines():
            if line.startswith('{"rank":'):
                self.read(json.loads(line)["rank"])

    def read(self, rank):
        result = harness.run(
            [harness.INFPROF, "export", self.path, "--rank", rank, "-o", "-"])
        events = json.loads(result.stdout, parse_float=str)["traceEvents"]
        steps = []
        lanes = collections.defaultdict(list)
        for event in events:
            if event["ph"] in "iC" and not event["name"].startswith(("Iteration", "Record Window")):
                self.moments += 1
            if event["ph"] != "X":
                continue
            start = nanoseconds(event["ts"])
            end = start + nanoseconds(event["dur"])
            lanes[event["pid"], event["tid"]].append((start, -end, event))
            if event["name"].startswith("ProfilerStep#") and event["cat"] == "user_annotation":
                steps.append((start, end, int(event["name"].partition("#")[2])))
        self.steps[rank] = sorted(steps)
        self.slices[rank] = [
            lane for key in lanes.values() for lane in self.first_fit(rank, key)]

    def step_at(self, rank, moment):
        """The number of the last step that has begun, when it has not ended; else -1."""
        begun = [step for step in self.steps[rank] if step[0] <= moment]
        return begun[-1][2] if begun and moment < begun[-1][1] else -1

    def first_fit(self, rank, found):
        places = []  # ends of what is open, and what is on them
        for start, minus_end, event in sorted(found, key=lambda one: one[:2]):
            end = -minus_end
            for ends, lane in places:
                while ends and ends[-1] <= start:
                    ends.pop()
                if not ends or end <= ends[-1]:
                    break
            else:
                ends, lane = [], []
                places.append((ends, lane))
            ends.append(end)
            lane.append(Slice(start, end, event.get("cat", ""), event["name"],
                              self.step_at(rank, start), "event", None, None))
        self.crowded += [one for _, lane in places[ROWS:] for one in lane]
        return [lane for _, lane in places]

    def count(self):
        return self.moments + sum(len(lane) for lanes in self.slices.values() for lane in lanes)

    def collectives(self):
        return sum(is_collective(one.category, one.name)
                   for lanes in self.slices.values() for lane in lanes for one in lane)

    def busy(self, by_step=True):
        """ns in which a category is open on a lane, by rank, step and category."""
        sums = collections.Counter()
        for rank, lanes in self.slices.items():
            for lane in lanes:
                for one, around in forest(lane):
                    if not any(other.category == one.category for other in around):
                        key = (rank, one.step if by_step else None, one.category)
                        sums[key] += one.end - one.start
        return +sums


class Picture:
    """What picture_driver drew."""

    def __init__(self, archive, budget, max_events=0):
        result = harness.run([DRIVER, archive.path, budget, max_events])
        self.error = result.stderr
        self.drawn = result.returncode == 0
        if not self.drawn:
            return
        lines = [json.loads(line, parse_float=str) for line in result.stdout.splitlines()]
        self.summary = lines.pop()
        self.lanes, self.flows, self.moments = collections.defaultdict(list), [], 0
        rank = None
        for line in lines:
            if "rank" in line:
                rank = line["rank"]
            elif "slice" in line:
                self.lanes[rank, line["on"]].append(
                    Slice(line["start"], line["start"] + line["dur"], line["cat"], line["name"],
                          line["step"], line["slice"], line["args"] or {}, line["on"]))
            elif "moment" in line:
                self.moments += line["cat"] != "step" and line["moment"] != "value"
            elif "flow" in line:
                self.flows.append(line)

    def slices(self, kind):
        return [one for lane in self.lanes.values() for one in lane if one.kind == kind]

    def collectives(self):
        themselves = sum(is_collective(one.category, one.name) for one in self.slices("event"))
        folded = sum(one.args.get("collectives", 0) for one in self.slices("fold"))
        return themselves, folded

    def groups_steps(self):
        return "a lane has one fold for every " in self.summary["text"]

    def busy(self, by_step=True):
        sums = collections.Counter()
        for (rank, _), lane in self.lanes.items():
            for one, around in forest(lane):
                step = one.step if by_step else None
                open_categories = {other.category for other in around if other.kind == "event"}
                if one.kind == "event" and one.category not in open_categories:
                    sums[rank, step, one.category] += one.end - one.start
                for category, found in one.args.get("by category", {}).items():
                    if one.kind == "fold" and category not in open_categories:
                        sums[rank, step, category] += nanoseconds(found["busy_us"])
        return +sums

    def shown(self):
        return collections.Counter(
            (rank, one.start, one.end, one.category)
            for (rank, _), lane in self.lanes.items() for one in lane if one.kind != "fold")


class Budget(harness.TestCase):
    def merge(self, files, name="run", options=()):
        output = self.folder / name
        result = harness.run(
            [harness.INFPROF, "merge", *files, "-o", output, "--archive-only", *options])
        self.assertEnded(result, 0)
        return Archive(output / "run.ifp")

    def random_archive(self, seed, **options):
        files = []
        for rank in range(2):
            files.append(self.folder / f"rank{rank}.json")
            files[-1].write_text(random_trace.trace(seed, rank, **options))
        return self.merge(files)

    def least(self, archive):
        """The least budget, as the refusal of a smaller one tells it."""
        refused = Picture(archive, 1)
        self.assertIn("give --budget ", refused.error)
        told = refused.error.partition("give --budget ")[2].split()[0]
        return int(told[:-2]) * 10 ** {"KB": 3, "MB": 6, "GB": 9}[told[-2:]]

    def assertTrue_to(self, archive, picture, busy):
        """Whatever is shown adds up to what the archive holds."""
        themselves, folded = picture.collectives()
        self.assertEqual(themselves + folded, archive.collectives())
        events = len(picture.slices("event")) + picture.moments
        self.assertEqual(picture.summary["shown"], events)
        self.assertEqual(picture.summary["recorded"], archive.count())
        counted = sum(one.args["events"] for one in picture.slices("fold"))
        self.assertEqual(len(picture.slices("event")) + counted,
                         archive.count() - archive.moments)
        by_step = not picture.groups_steps()
        self.assertEqual(picture.busy(by_step), busy[by_step])

    def assertDrawable(self, picture):
        for lane in picture.lanes.values():
            for one, around in forest(lane):
                self.assertTrue(not around or one.end <= around[-1].end, one)
                self.assertFalse([other for other in around if other.kind == "fold"], one)
            self.assertEqual(lane, sorted(lane, key=lambda one: one.start))
        starts = {(on, one.start) for (_, on), lane in picture.lanes.items() for one in lane
                  if one.kind != "fold"}
        for flow in picture.flows:
            self.assertIn(tuple(flow["from"]), starts)
            self.assertIn(tuple(flow["to"]), starts)
        self.assertEqual(len({flow["flow"] for flow in picture.flows}), len(picture.flows))

    def picture(self, archive, budget):
        return Picture(archive, budget)

    def busy(self, archive):
        """By whether steps are told apart."""
        return {by_step: archive.busy(by_step) for by_step in (False, True)}

    def check(self, archive, steps=9):
        least = self.least(archive)
        self.assertFalse(self.picture(archive, max(1, least - 1000)).drawn)
        busy = self.busy(archive)
        before = None
        factor = (GIGABYTE / least) ** (1 / 24)
        budgets = [int(least * factor**i) for i in range(steps)] + [GIGABYTE]
        for budget in budgets:
            with self.subTest(budget=budget):
                picture = self.picture(archive, budget)
                self.assertLessEqual(picture.summary["bytes"], budget)
                self.assertTrue_to(archive, picture, busy)
                self.assertDrawable(picture)
                if before:
                    self.assertFalse(before.shown() - picture.shown(), "shown before")
                    self.assertLessEqual(len(before.flows), len(picture.flows))
                before = picture
        folded = sum(one.args["events"] for one in before.slices("fold"))
        self.assertEqual(folded, len(archive.crowded))
        self.assertEqual(f"{folded} that overlap 64 or more others on their lane are folded "
                         "whatever the budget" in before.summary["text"], folded != 0)
        self.assertEqual(before.summary["text"] == "", folded == 0)

    def check_crowded(self, seed, steps, **options):
        archive = self.random_archive(seed, steps=steps, crowd=500)
        found = collections.Counter(is_collective(one.category, one.name)
                                    for one in archive.crowded)
        self.assertGreater(found[True], 200)
        self.assertGreater(found[False], 200)
        self.check(archive, **options)


class Options(Budget):
    """The files and lines that users see."""

    def draw(self, archive, *options, status=0):
        self.output = self.folder / f"drawn{len(list(self.folder.iterdir()))}"
        result = harness.run(
            [harness.INFPROF, "timeline", archive.path, "-o", self.output, *options])
        self.assertEnded(result, status)
        return result

    def json_text(self):
        (path,) = (self.output / "merged").glob("*.gz")
        return gzip.decompress(path.read_bytes()).decode()

    def sample(self):
        """A job of 8 ranks: those of a real one, which recorded 3 steps, by turns."""
        files = [self.folder / f"{rank}.json.gz" for rank in range(8)]
        for rank, path in enumerate(files):
            shutil.copy(DATA / f"ddp-steps.rank{rank % 2}.json.gz", path)
        archive = self.merge(files, options=["--in-order"])
        self.assertEqual({rank: len(steps) for rank, steps in archive.steps.items()},
                         {rank: 3 for rank in range(8)})
        return archive

    def made_up(self):
        """A job of 8 ranks and 5 steps with operators, launches, kernels and collectives."""
        files = [self.folder / f"{rank}.json" for rank in range(8)]
        for rank, path in enumerate(files):
            kineto_sample.write(path, rank, library="nccl", device=rank)
        return self.merge(files, "made-up", ["--in-order"])

    def test_every_collective_of_a_job_is_itself_by_default(self):
        for archive in (self.sample(), self.made_up()):
            self.draw(archive)
            text = self.json_text()
            self.assertLess(len(text), 48_000_000)
            events = json.loads(text)["traceEvents"]
            shown = sum(is_collective(e["cat"], e["name"]) for e in events if e["ph"] == "X")
            self.assertEqual(shown, archive.collectives())
            self.assertGreater(shown, 8 * 3 * 5)

    def test_files_are_within_the_budget_and_can_be_drawn(self):
        archive = self.random_archive(11)
        full = None
        for budget in (60_000, 120_000, 250_000, 500_000, 0):
            with self.subTest(budget=budget):
                self.draw(archive, "--budget", budget)
                text = self.json_text()
                self.assertLessEqual(len(text.encode()), budget or GIGABYTE)
                events = json.loads(text, parse_float=decimal.Decimal)["traceEvents"]
                self.assertNested(events)
                self.assertPaired(events)
                notes = [e["name"] for e in events if e.get("cat") == "note"]
                self.assertEqual(len(notes), budget != 0)
                full = text
        self.assertNotIn('"cat":"fold"', full)

    def assertNested(self, events):
        lanes = collections.defaultdict(list)
        for e in events:
            if e["ph"] == "X":
                lanes[e["pid"], e["tid"]].append((e["ts"], -e["dur"]))
        for lane in lanes.values():
            ends = []
            for start, minus_dur in sorted(lane):
                while ends and ends[-1] <= start:
                    ends.pop()
                self.assertTrue(not ends or start - minus_dur <= ends[-1])
                ends.append(start - minus_dur)

    def assertPaired(self, events):
        starts = {(e["pid"], e["tid"], e["ts"]) for e in events if e["ph"] == "X"}
        halves = collections.defaultdict(list)
        for e in events:
            if e["ph"] in "sf":
                self.assertIn((e["pid"], e["tid"], e["ts"]), starts)
                halves[e["id"]].append(e["ph"])
        self.assertFalse([one for one in halves.values() if one != ["s", "f"]])

    def test_the_file_is_one_gzip_member_and_the_same_with_one_core(self):
        archive = self.random_archive(15)
        self.draw(archive, "--budget", "400KB")
        (path,) = (self.output / "merged").glob("*.gz")
        packed = path.read_bytes()
        reader = zlib.decompressobj(31)
        reader.decompress(packed)
        self.assertTrue(reader.eof)
        self.assertEqual(reader.unused_data, b"")
        cores = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(cores)})
        self.addCleanup(os.sched_setaffinity, 0, cores)
        self.draw(archive, "--budget", "400KB")
        (path,) = (self.output / "merged").glob("*.gz")
        self.assertEqual(path.read_bytes(), packed)

    def test_what_is_folded_is_told(self):
        archive = self.random_archive(12)
        result = self.draw(archive, "--budget", "100KB")
        told = [line for line in result.stdout.splitlines() if line.startswith("merged/: ")]
        self.assertEqual(len(told), 1)
        self.assertRegex(told[0], r"--budget 100KB: \d+ of \d+ events are shown, .* folded")
        shown, recorded = map(int, (told[0].split()[3], told[0].split()[5]))
        self.assertEqual(recorded, archive.count())
        note = [e for e in json.loads(self.json_text())["traceEvents"] if e.get("cat") == "note"]
        self.assertEqual("merged/: " + note[0]["name"], told[0])
        rows = json.loads((self.output / "report.json").read_text())["ledger"]
        folded = {row["rank"]: row["count"] for row in rows if row["what"] == "timeline-folded"}
        self.assertEqual(set(folded), {0, 1})
        self.assertEqual(sum(folded.values()), recorded - shown)
        by_category = sum(
            row["count"] for row in rows if row["what"] == "timeline-folded-by-category")
        self.assertEqual(by_category, recorded - shown)
        self.assertIn("timeline-folded", (self.output / "report.txt").read_text())

    def test_a_budget_that_is_too_small_is_refused_in_one_line(self):
        archive = self.random_archive(13)
        for options, needed in ((("--budget", "1KB"), "--budget "),
                                (("--max-events", "3"), "--max-events ")):
            result = self.draw(archive, *options, status=1)
            self.assertEqual(len(result.stderr.splitlines()), 1)
            self.assertIn("merged/ was not drawn: ", result.stderr)
            self.assertIn(f"of 2 ranks needs: give {needed}", result.stderr)
            least = result.stderr.partition(f"give {needed}")[2].split()[0]
            self.assertFalse((self.output / "merged").exists())
            self.draw(archive, options[0], least)

    def test_what_fits_is_drawn_where_something_else_is_refused(self):
        archive = self.random_archive(13)
        result = self.draw(archive, "--formats", "pytorch,perfetto", "--budget", "1KB", status=1)
        (line,) = result.stderr.splitlines()
        self.assertRegex(line, "merged/ was not drawn: --budget 1KB is less .* give --budget "
                         "[0-9]+KB or more; perfetto/ was not drawn: --budget 1KB is less ")
        self.assertEqual(
            sorted(path.name for path in self.output.iterdir()),
            ["ranks", "report.json", "report.txt"])
        self.assertEqual(len(list((self.output / "ranks").iterdir())), 2)
        rows = json.loads((self.output / "report.json").read_text())["ledger"]
        refused = [row for row in rows if row["what"] == "timeline-refused"]
        self.assertEqual([row["why"].split()[0] for row in refused], ["merged/", "perfetto/"])
        with_arrows = sum(row["count"] for row in refused) // 2
        self.assertGreaterEqual(with_arrows, archive.count())
        # Where the least of one does fit, it is there.
        result = self.draw(archive, "--formats", "pytorch,perfetto", "--max-events", "3", status=1)
        self.assertEqual(result.stderr.count("give --max-events "), 2)

    def test_names_of_threads_are_short_until_everything_is_whole(self):
        name = "worker " + "x" * 1_000_000
        events = [{"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": 2, "ts": i, "dur": 9}
                  for i in range(20)]
        events.append({"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": name}})
        path = self.folder / "0.json"
        path.write_text(json.dumps({"baseTimeNanoseconds": random_trace.BASE_NS, "traceEvents": events}))
        archive = self.merge([path])
        for budget, cut in (("20KB", True), ("50MB", False)):
            self.draw(archive, "--budget", budget)
            titles = [e["args"]["name"] for e in json.loads(self.json_text())["traceEvents"]
                      if e["name"] == "thread_name" and "worker" in e["args"]["name"]]
            self.assertEqual(len(titles), 9)
            for title in titles:
                self.assertEqual(title.partition(" · overlapping ")[0],
                                 name[:93] + "\u2026" if cut else name)

    def test_files_of_ranks_are_there_together_or_not_at_all(self):
        archive = self.random_archive(13)
        self.draw(archive)
        ranks = self.output / "ranks"
        before = {path.name: path.read_bytes() for path in ranks.iterdir()}
        self.assertEqual(len(before), 2)
        # What is in the way of the second file of two.
        waiting = [name.replace(".json.gz", ".waiting.gz") for name in sorted(before)]
        (ranks / waiting[1]).mkdir()
        again = [harness.INFPROF, "timeline", archive.path, "-o", self.output]
        whole = sum(len(gzip.decompress(content)) for content in before.values())
        result = harness.run([*again, "--ranks-budget", whole * 9 // 10])
        self.assertEnded(result, 1)
        self.assertIn("it is a directory", result.stderr)
        (ranks / waiting[1]).rmdir()
        self.assertEqual({path.name: path.read_bytes() for path in ranks.iterdir()}, before)
        # What a drawing that was killed has left.
        (ranks / waiting[0]).write_bytes(b"whole")
        (ranks / (waiting[1] + ".partial")).write_bytes(b"half")
        self.assertEnded(harness.run(again), 0)
        self.assertEqual({path.name: path.read_bytes() for path in ranks.iterdir()}, before)

    def test_a_limit_of_events(self):
        archive = self.random_archive(14)
        before = 0
        for limit in (200, 1000, 3000, 10**6):
            self.draw(archive, "--max-events", limit)
            events = json.loads(self.json_text())["traceEvents"]
            drawn = [e for e in events if e["ph"] != "M" and e.get("cat") not in ("note", "alarm")]
            self.assertLessEqual(len(drawn), limit)
            self.assertGreaterEqual(len(drawn), before)
            before = len(drawn)
        self.assertFalse([e for e in events if e.get("cat") in ("fold", "note")])

    def test_the_agent_hands_its_budget_to_the_collector(self):
        result = harness.run(
            [harness.AGENT, "-o", self.folder / "run", "--budget", "1", "--", "true"])
        self.assertEnded(result, 0)
        self.assertIn("merged/ was not drawn: --budget 1 is less than a timeline of 1 rank needs", result.stderr)


class Properties(Budget):
    def test_samples(self):
        for path in sorted(DATA.glob("*.json.gz")):
            with self.subTest(path=path.name):
                self.check(self.merge([path], path.name))

    def test_traces_from_outside(self):
        folder = os.environ.get("INFPROF_TRACES")
        if not folder:
            self.skipTest("INFPROF_TRACES names none")
        for path in sorted(pathlib.Path(folder).rglob("*.json.gz")):
            with self.subTest(path=path.name):
                self.check(self.merge([path], path.name))


def random_test(seed, steps):
    def test(self):
        self.check(self.random_archive(seed, steps=steps), steps=11)

    return test


def crowded_test(seed, steps):
    def test(self):
        self.check_crowded(seed, steps)

    return test


for count in (0, 6, 40):
    setattr(Properties, f"test_crowded_lanes_with_{count}_steps", crowded_test(count + 7, count))
for number in SEEDS:
    for count in (0, 6) if number > 1 else (0, 6, 40):
        setattr(Properties, f"test_random_seed_{number}_with_{count}_steps", random_test(number, count))


if __name__ == "__main__":
    unittest.main()
