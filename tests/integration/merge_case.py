# SPDX-License-Identifier: Apache-2.0
"""What the tests of infprof merge share: traces written, read and compared without infprof's code."""

import collections
import gzip
import json
import pathlib

import archive_format as fmt
import harness

DATA = harness.SOURCE / "tests" / "data" / "kineto"
DDP = [DATA / "ddp.rank0.json.gz", DATA / "ddp.rank1.json.gz"]
ON_DEMAND = [DATA / "ondemand.rank0.json.gz", DATA / "ondemand.rank1.json.gz"]


def read(path):
    with (gzip.open(path) if path.name.endswith(".gz") else open(path, "rb")) as file:
        return json.load(file, parse_float=lambda text: text)


def nanoseconds(value, base=0):
    """Exact: numbers with a point are kept as text by read()."""
    text = str(value)
    sign = -1 if text.startswith("-") else 1
    whole, _, part = text.lstrip("-").partition(".")
    digits = part.ljust(4, "0")
    rounded = int(whole) * 1000 + int(digits[:3]) + (digits[3] >= "5")
    return sign * rounded + base


def canonical(trace):
    """All events in an order of their own, with absolute times in ns."""
    base = trace.get("baseTimeNanoseconds", 0)
    events = []
    for event in trace["traceEvents"]:
        event = dict(event)
        # A name of a lane may come without a time: it has none to compare.
        start = nanoseconds(event.pop("ts", 0), base) if event.get("ph") != "M" else 0
        event.pop("ts", None)
        duration = nanoseconds(event.pop("dur", 0))
        if not event.get("args"):
            event.pop("args", None)
        events.append((start, duration, json.dumps(event, sort_keys=True)))
    return collections.Counter(events)


def documents(output, kind):
    """The documents of one kind in an archive, each with its rank."""
    frames = fmt.read_frames((output / "run.ifp").read_bytes())
    return [(rank, json.loads(payload)) for _, of_kind, rank, *_, payload in frames
            if of_kind == kind]


class Merge(harness.TestCase):
    def merge(self, *arguments, status=0, timeout=300):
        result = harness.run(
            [harness.INFPROF, "merge", *arguments, "-o", self.output], timeout=timeout)
        self.assertEnded(result, status)
        return result

    def merge_json(self, *arguments):
        return json.loads(self.merge("--json", *arguments).stdout)

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, (dict, list)):
            content = json.dumps(content)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def trace(self, name, rank=None, world=None, start=1000, **members):
        info = {} if rank is None else {"rank": rank}
        if world is not None:
            info["world_size"] = world
        return self.write(name, {
            "distributedInfo": info,
            **members,
            "traceEvents": [
                {"ph": "X", "cat": "cpu_op", "name": f"of {name}", "pid": 7, "tid": 7,
                 "ts": start, "dur": 5, "args": {"External id": 1}},
            ],
        })

    def ranks(self, *arguments):
        """Which file became which rank, and the sentences that told of faults."""
        result = self.merge_json("--archive-only", *arguments)
        ranks = {pathlib.Path(s["path"]).name: s.get("rank") for s in result["sources"]}
        return ranks, [n["why"] for n in result["notes"] if n["fault"]]

    def exported(self, rank, output=None):
        """The trace that export gives back for a rank."""
        path = self.folder / f"export{rank}.json"
        done = harness.run(
            [harness.INFPROF, "export", output or self.output, "--rank", rank, "-o", path])
        self.assertEnded(done, 0)
        return read(path)

    def drawn(self):
        """The elements of the timeline of all ranks."""
        merged, = (self.output / "merged").glob("*.json.gz")
        return read(merged)["traceEvents"]
