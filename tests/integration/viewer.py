# SPDX-License-Identifier: Apache-2.0
"""TensorBoard and Chromium for tests: a real server, a real browser.

Two scripts that the plug-in loads from the network are answered by stand-ins, so the tests need no
Internet: see tests/browser/trace_view.mjs. Everything else is real.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import threading

import harness

VIEW = harness.SOURCE / "tests" / "browser" / "trace_view.mjs"
DEADLINE_S = 180


class TensorBoard:
    """A server on a free port, with its directory as the only one it knows."""

    def __init__(self, directory):
        self.process = subprocess.Popen(
            [harness.PYTHON, "-m", "tensorboard.main", "--logdir", directory, "--port", "0",
             "--load_fast", "false"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            env=harness.environment(),
        )  # fmt: skip
        self.output = []
        self.reader = None

    def port(self):
        """The port that it says it listens on."""
        timer = threading.Timer(DEADLINE_S, self.stop)
        timer.start()
        try:
            for line in self.process.stdout:
                self.output.append(line)
                found = re.search(r"http://\S+?:(\d+)/", line)
                if found:
                    # Read on, so that a full pipe never stops the server.
                    self.reader = threading.Thread(target=self.process.stdout.read, daemon=True)
                    self.reader.start()
                    return found.group(1)
        finally:
            timer.cancel()
        raise AssertionError(f"TensorBoard does not start:\n{''.join(self.output)}")

    def stop(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        if self.reader:
            self.reader.join()
            self.process.stdout.close()


def find_chromium():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        path = shutil.which(name)
        if path:
            return path
    raise AssertionError("no Chromium on PATH: run deploy/install-dependencies check")


def draw(port, run, picture):
    """Lets the browser draw the Trace view of a run; its last line is what it shows, as JSON."""
    return harness.run(
        ["node", VIEW, port, run, picture, DEADLINE_S],
        timeout=DEADLINE_S + 60,
        env=harness.environment(
            INFPROF_NODE_MODULES=harness.NODE_MODULES, INFPROF_CHROMIUM=find_chromium()
        ),
    )


class Viewer:
    """Mixed into a test case that has an output directory: looks at it as a user does."""

    def setUp(self):
        super().setUp()
        node_modules = pathlib.Path(harness.NODE_MODULES)
        for needed in (pathlib.Path(harness.PYTHON), node_modules / "playwright-core"):
            if not needed.exists():
                self.fail(f"missing: {needed}: run deploy/install-dependencies check")

    def look(self, run):
        """What the browser shows of a run below the output directory."""
        server = TensorBoard(self.output)
        self.addCleanup(server.stop)
        picture = os.environ.get("INFPROF_SCREENSHOT", str(self.folder / "view.png"))
        result = draw(server.port(), run, picture)
        self.assertEnded(result, 0)
        return json.loads(result.stdout.splitlines()[-1])
