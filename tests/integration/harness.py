# SPDX-License-Identifier: Apache-2.0
"""What the program tests share: where things are, and running a job with a deadline.

Nothing here sleeps to wait for something: processes are waited for, files are looked at after the
process that writes them has ended, and every wait has a deadline after which the whole process
group is killed and the test fails with what was printed.
"""

import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest

BUILD = pathlib.Path(os.environ["INFPROF_BUILD"])
SOURCE = pathlib.Path(os.environ["INFPROF_SOURCE"])
PYTHON = os.environ.get("INFPROF_PYTHON", "")
NODE_MODULES = os.environ.get("INFPROF_NODE_MODULES", "")
AGENT = BUILD / "bin" / "infprof-agent"
COLLECTOR = BUILD / "bin" / "infprof-collector"
INFPROF = BUILD / "bin" / "infprof"


class Result:
    """How a command ended."""

    def __init__(self, command, returncode, stdout, stderr):
        self.command = command
        self.returncode = returncode
        self.stdout = stdout
        self.stderr = stderr

    def __str__(self):
        return (
            f"$ {' '.join(map(str, self.command))}\n-> {self.returncode}\n"
            f"--- stdout\n{self.stdout[-4000:]}\n--- stderr\n{self.stderr[-6000:]}"
        )


def environment(**changes):
    """This process' environment without what would leak from an outer run, plus changes."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("INFPROF_")}
    env.update(OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    for name, value in changes.items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = str(value)
    return env


def run(command, timeout=120, cwd=None, env=None, stdin=subprocess.DEVNULL, binary=False):
    """Runs a command in a process group of its own; kills the group at the deadline."""
    process = subprocess.Popen(
        list(map(str, command)),
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env=environment() if env is None else env,
        start_new_session=True,
    )
    try:
        stdout, stderr = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        stdout, stderr = process.communicate()
        raise AssertionError(
            f"not ended after {timeout} s: {' '.join(map(str, command))}\n"
            f"{stdout[-3000:].decode(errors='replace')}\n{stderr[-3000:].decode(errors='replace')}"
        ) from None
    if not binary:
        stdout = stdout.decode(errors="replace")
    return Result(command, process.returncode, stdout, stderr.decode(errors="replace"))


def mpirun(ranks, command, mpi_options=(), **options):
    """mpirun of a command on this machine, however few its cores."""
    return run(["mpirun", "--oversubscribe", "-n", ranks, *mpi_options, *command], **options)


def report(output):
    """report.json of an output directory."""
    return json.loads((pathlib.Path(output) / "report.json").read_text())


def ledger_words(output):
    """The stable words of the ledger's rows: what did not reach the user, by rank."""
    return {(row["rank"], row["what"]) for row in report(output)["ledger"]}


def export(archive, rank=None):
    """The archive's events as `infprof export` writes them."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "export.json"
        command = [INFPROF, "export", archive, "--format", "chrome", "-o", path]
        if rank is not None:
            command += ["--rank", rank]
        result = run(command)
        if result.returncode != 0:
            raise AssertionError(str(result))
        return json.loads(path.read_text())["traceEvents"]


def wait_for(condition, timeout=60, what="the condition"):
    """Looks at a condition of the outside world, ten times a second, up to a deadline."""
    never = threading.Event()
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout} s: {what}")
        never.wait(0.1)


def wait_for_report(output, timeout=60):
    """The collector outlives a job that was killed: waits until it has written the report."""
    path = pathlib.Path(output) / "report.json"
    wait_for(path.exists, timeout, f"{path} is written")
    return report(output)


def collector_of(output):
    """Process and command line of the collector that writes into output."""
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().decode().split("\0")[:-1]
        except OSError:
            continue
        if words and words[0].endswith("infprof-collector") and str(output) in words:
            return int(entry.name), words
    return None


def kill_collector(output):
    """Ends the collector that writes into output without a word; the command that starts it again."""
    pid, words = collector_of(output)
    watch = os.pidfd_open(pid)
    try:
        signal.pidfd_send_signal(watch, signal.SIGKILL)
        if not select.select([watch], [], [], 60)[0]:
            raise AssertionError("the collector is still there")
    finally:
        os.close(watch)
    place = words.index("--ready-fd")
    del words[place:place + 2]
    return words


def traces_on_the_machine():
    """What infprof has at this moment in the places where something could be left behind."""
    places = [*pathlib.Path("/dev/shm").glob("*infprof*"), *pathlib.Path("/tmp").glob("infprof*"),
              *pathlib.Path(f"/tmp/infprof-{os.getuid()}").glob("*")]
    return {str(path) for path in places if not path.name.startswith("infprof-test-")}


class TestCase(unittest.TestCase):
    """A test with a directory of its own, removed afterwards."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="infprof-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.output = self.folder / "out"

    def assertEnded(self, result, status):
        self.assertEqual(result.returncode, status, str(result))
