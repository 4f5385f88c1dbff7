# SPDX-License-Identifier: Apache-2.0
"""What the tests of the timeline share: drawing made-up jobs."""

import gzip
import json
import pathlib
import sys

import harness

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "harness"))
import kineto_sample  # noqa: E402

DRIVER = harness.BUILD / "tests" / "timeline_driver"
SPAN = "1796081559203"


class TimelineCase(harness.TestCase):
    """Draws into self.output."""

    def draw(self, files, options=()):
        """What timeline_driver says of the files that it made from these traces."""
        result = harness.run([DRIVER, *options, self.output, *files])
        self.assertEnded(result, 0)
        return json.loads(result.stdout)

    def job(self, ranks, options=(), change=None, **sample):
        """Draws a made-up job. change: rank to arguments of its own for kineto_sample.write."""
        files = []
        for rank in range(ranks):
            path = self.folder / f"rank{rank}.json"
            arguments = dict(sample, **(change or {}).get(rank, {}))
            if arguments.get("library") == "nccl":
                arguments.setdefault("device", rank)
            kineto_sample.write(path, rank, **arguments)
            files.append(path)
        return self.draw(files, options)

    def merged(self):
        return self.output / "merged" / f"all_0.{SPAN}.pt.trace.json.gz"

    def rank_file(self, rank, host="node03"):
        return self.output / "ranks" / f"{host}_{rank:04}.{SPAN}.pt.trace.json.gz"

    def text(self, path):
        return gzip.decompress(path.read_bytes()).decode()

    def events(self, path):
        return json.loads(self.text(path))["traceEvents"]


def why(drawn, rank):
    """The reasons in the ledger for what is not drawn of a rank; -1 = of the whole run."""
    return {row["why"]: row["count"] for row in drawn["ledger"] if row["rank"] == rank}
