# SPDX-License-Identifier: Apache-2.0
"""What analyses of GPU time compute from ranks/ is what they compute from the recorded traces.

With INFPROF_HTA_PYTHON, an interpreter that has HolisticTraceAnalysis 0.5.0, that itself is asked,
too.
"""

import os
import sys
import unittest

import harness

sys.path.insert(0, str(harness.SOURCE / "tests" / "harness"))
import breakdown  # noqa: E402

DATA = harness.SOURCE / "tests" / "data" / "kineto"
ORIGINALS = [DATA / f"ddp-steps.rank{rank}.json.gz" for rank in (0, 1)]
HTA_PYTHON = os.environ.get("INFPROF_HTA_PYTHON")


class Breakdown(harness.TestCase):
    def merge(self, *options):
        self.assertEnded(
            harness.run([harness.INFPROF, "merge", *ORIGINALS, "-o", self.output, *options]), 0
        )
        return sorted((self.output / "ranks").iterdir())

    def assertAlike(self, found, expected, percent):
        self.assertEqual(found.keys(), expected.keys())
        for key, value in expected.items():
            # HolisticTraceAnalysis gives two decimals of a percentage.
            least = 0.006 if key == "overlap_percent" else 0
            delta = max(abs(value) * percent / 100, least)
            self.assertAlmostEqual(found[key], value, delta=delta, msg=key)

    def test_the_sample_tells_the_figures_apart(self):
        for path in ORIGINALS:
            figures = breakdown.breakdown(breakdown.read(path))
            self.assertGreater(min(figures.values()), 0, figures)

    def test_files_of_ranks_give_the_figures_of_the_originals(self):
        for path, original in zip(self.merge(), ORIGINALS):
            self.assertAlike(breakdown.breakdown(breakdown.read(path)),
                             breakdown.breakdown(breakdown.read(original)), 0.01)

    def test_fewer_steps_give_the_figures_of_these_steps(self):
        """What their launches in the kept steps put on the GPU, of the originals."""
        files = self.merge("--ranks-budget", "400kB")
        for path, original in zip(files, ORIGINALS):
            events = breakdown.read(path)
            names = {e["name"] for e in events if e["name"].startswith("ProfilerStep#")}
            self.assertEqual(len(names), 1, names)
            recorded = breakdown.read(original)
            step, = (e for e in recorded if e.get("cat") == "user_annotation"
                     and e["name"] in names)
            launched = {e["args"]["correlation"] for e in recorded
                        if e.get("cat") in ("cuda_runtime", "cuda_driver")
                        and step["ts"] <= e["ts"] < step["ts"] + step["dur"]}
            expected = [e for e in recorded if e.get("cat") in breakdown.DEVICE
                        and e["args"]["correlation"] in launched]
            self.assertAlike(breakdown.breakdown(events), breakdown.breakdown(expected), 0.01)

    @unittest.skipUnless(HTA_PYTHON, "INFPROF_HTA_PYTHON names no interpreter")
    def test_holistic_trace_analysis(self):
        found = self.ask_hta("found", self.merge())
        expected = self.ask_hta("expected", ORIGINALS)
        for ours, theirs, original in zip(found, expected, ORIGINALS):
            self.assertAlike(ours, theirs, 0.5)
            self.assertAlike(ours, breakdown.breakdown(breakdown.read(original)), 0.5)

    def ask_hta(self, name, paths):
        """Its figures of the traces, in us."""
        copies = [breakdown.magnify(path, self.folder / f"{name}{i}.json.gz")
                  for i, path in enumerate(paths)]
        return [
            {key: value if "percent" in key else value / 1000 for key, value in figures.items()}
            for figures in breakdown.hta(HTA_PYTHON, copies)
        ]


if __name__ == "__main__":
    unittest.main()
