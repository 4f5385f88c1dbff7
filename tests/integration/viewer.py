# SPDX-License-Identifier: Apache-2.0
"""TensorBoard and Chromium for tests: a real server, a real browser.

Scripts that the plug-ins load from the network are answered by stand-ins, so the tests need no
Internet: see tests/browser/page.mjs. Everything else is real.
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

SCRIPTS = harness.SOURCE / "tests" / "browser"
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


def browse(script, port, *arguments):
    """Runs a script of tests/browser; its last line is what it has seen, as JSON."""
    return harness.run(
        ["node", SCRIPTS / script, port, *arguments],
        timeout=DEADLINE_S + 60,
        env=harness.environment(
            INFPROF_NODE_MODULES=harness.NODE_MODULES, INFPROF_CHROMIUM=find_chromium()
        ),
    )


def draw(port, run, picture):
    """Lets the browser draw the Trace view of a run."""
    return browse("trace_view.mjs", port, run, picture, DEADLINE_S)


def find_missing():
    """What the tests need of what is installed for them, and is not there."""
    needed = pathlib.Path(harness.PYTHON), pathlib.Path(harness.NODE_MODULES) / "playwright-core"
    return [path for path in needed if not path.exists()]


class Viewer:
    """Mixed into a test case that has an output directory: looks at it as a user does."""

    def setUp(self):
        super().setUp()
        for path in find_missing():
            self.fail(f"missing: {path}: run deploy/install-dependencies check")

    def look(self, run):
        """What the browser shows of a run below the output directory."""
        server = TensorBoard(self.output)
        self.addCleanup(server.stop)
        picture = os.environ.get("INFPROF_SCREENSHOT", str(self.folder / "view.png"))
        result = draw(server.port(), run, picture)
        self.assertEnded(result, 0)
        return json.loads(result.stdout.splitlines()[-1])
