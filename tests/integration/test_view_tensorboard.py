# SPDX-License-Identifier: Apache-2.0
"""infprof view with the real TensorBoard: its plug-in shows the run."""

import json
import os
import signal
import subprocess
import unittest
import urllib.request

import harness
from timeline_case import TimelineCase


class View(TimelineCase):
    def test_the_runs_are_shown_until_it_is_ended(self):
        if not os.access(harness.PYTHON, os.X_OK):
            self.fail(f"INFPROF_PYTHON ({harness.PYTHON!r}) is no Python with TensorBoard")
        self.job(2)
        process = subprocess.Popen(
            [harness.INFPROF, "view", "--python", harness.PYTHON, self.output],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=harness.environment())
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        address = process.stdout.readline().strip()
        self.assertRegex(address, r"^http://127\.0\.0\.1:\d+/$")

        def shown():
            with urllib.request.urlopen(f"{address}data/plugin/pytorch_profiler/runs") as answer:
                return {"merged", "ranks"} <= set(json.load(answer)["runs"])

        harness.wait_for(shown, timeout=120, what="the plug-in shows both runs")
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, stderr)
        with self.assertRaises(OSError):
            urllib.request.urlopen(address)


if __name__ == "__main__":
    unittest.main()
