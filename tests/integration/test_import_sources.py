# SPDX-License-Identifier: Apache-2.0
"""infprof merge: what other programs write, and what of it is drawn."""

import gzip
import json
import unittest

import harness


class Sources(harness.TestCase):
    def merge(self, content, name="rank0.json"):
        """Merges one trace; --json's answer."""
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        result = harness.run([harness.INFPROF, "merge", "--json", path, "-o", self.output])
        self.assertEnded(result, 0)
        return json.loads(result.stdout)

    def drawn(self):
        """What the timeline shows, without what describes rows and steps."""
        merged, = (self.output / "merged").glob("*.json.gz")
        with gzip.open(merged) as file:
            events = json.load(file)["traceEvents"]
        return [e for e in events
                if e["ph"] != "M" and not e["name"].startswith("ProfilerStep#")]

    def slices(self):
        return [(e["name"], e["cat"], e["dur"]) for e in self.drawn() if e["ph"] == "X"]

    def rows(self, what):
        return [(row["count"], row["why"]) for row in harness.report(self.output)["ledger"]
                if row["what"] == what]


class Phases(Sources):
    def test_halves_are_drawn_as_slices(self):
        place = {"pid": 1, "tid": 1}
        self.merge({"traceEvents": [
            {"ph": "B", "name": "outer", "cat": "c", "ts": 10, **place, "args": {"a": 1}},
            {"ph": "B", "name": "inner", "cat": "c", "ts": 11, **place},
            {"ph": "E", "ts": 14, **place},
            {"ph": "E", "name": "outer", "ts": 20.5, **place, "args": {"b": 2}},
            {"ph": "b", "name": "send", "cat": "n", "id": 3, "ts": 12, **place},
            {"ph": "n", "name": "half way", "cat": "n", "id": 3, "ts": 13, **place},
            {"ph": "e", "name": "send", "cat": "n", "id": 3, "ts": 30, **place},
            {"ph": "S", "name": "old", "cat": "n", "id": 9, "ts": 15, **place},
            {"ph": "F", "name": "old", "cat": "n", "id": 9, "ts": 16, **place},
            {"ph": "R", "name": "mark", "ts": 17, **place},
            {"ph": "b", "name": "lost", "cat": "n", "id": 4, "ts": 18, **place},
            {"ph": "E", "name": "never begun", "ts": 40, **place},
            {"ph": "N", "name": "object", "id": 1, "ts": 19, **place},
        ]})
        self.assertCountEqual(self.slices(), [
            ("outer", "c", 10.5), ("inner", "c", 3), ("send", "n", 18), ("old", "n", 1)])
        events = self.drawn()
        outer, = [e for e in events if e["name"] == "outer"]
        self.assertEqual(outer["args"], {"a": 1, "b": 2})
        self.assertEqual({e["name"] for e in events if e["ph"] == "i"}, {"half way", "mark"})
        count, why = self.rows("timeline-left-out")[0]
        self.assertEqual(count, 3)
        self.assertIn("halves of slices whose other half was not recorded", why)


if __name__ == "__main__":
    unittest.main()
