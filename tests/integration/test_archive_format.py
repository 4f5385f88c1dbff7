# SPDX-License-Identifier: Apache-2.0
"""Archives are what docs/format-archive.md says, read by a second reader."""

import pathlib
import tempfile
import unittest

import archive_format as fmt
import harness

TRACES = [harness.SOURCE / "tests" / "data" / "kineto" / name
          for name in ("ddp.rank0.json.gz", "ondemand.rank1.json.gz", "ondemand-cpu.json.gz")]


def parse(line):
    return tuple(bytes.fromhex(word[1:]) if word[0] == "x" else int(word)
                 for word in line.split(" "))


@unittest.skipUnless(fmt.ZSTD, "libzstd is not here as a shared library")
class ArchiveFormat(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "run.ifp"
            result = harness.run([harness.BUILD / "tests" / "archive_driver", path, *TRACES])
            assert result.returncode == 0, result
            cls.expected = [parse(line) for line in result.stdout.splitlines()]
            cls.data = path.read_bytes()
        cls.frames = fmt.read_frames(cls.data)

    def test_events_are_those_that_were_written(self):
        got = []
        for _, kind, rank, count, _, payload in self.frames:
            if kind == fmt.EVENTS and payload:
                events = list(fmt.Block(payload).events())
                self.assertEqual(len(events), count)
                got += [(rank, *event) for event in events]
        self.assertGreater(len(got), 900)
        self.assertEqual(got, self.expected)

    def test_clock_samples(self):
        payloads = [payload for _, kind, rank, *_, payload in self.frames
                    if kind == fmt.CLOCK and rank == 1]
        self.assertEqual(len(payloads), 1)
        tuples, edges = fmt.read_clock(payloads[0])
        least, most = -(1 << 63), (1 << 63) - 1
        self.assertEqual(tuples, [(1000, 1700000000000000000, 77, 90),
                                  (least, most, (1 << 64) - 1, 0), (most, -1, 1, 5)])
        self.assertEqual(edges, [(1, 1, 0, 16, -70, 80, 1, 2, 3, least, 1)])

    def test_index_lists_all_other_frames(self):
        offset, kind, rank, _, sequence, payload = self.frames[-1]
        self.assertEqual((kind, rank, sequence), (fmt.INDEX, 0xFFFFFFFF, 0))
        entries, own_offset = fmt.read_index(payload)
        self.assertEqual(own_offset, offset)
        self.assertEqual(entries, [(at, number, of_kind, of_rank, count, len(body))
                                   for at, of_kind, of_rank, count, number, body
                                   in self.frames[:-1]])


if __name__ == "__main__":
    unittest.main()
