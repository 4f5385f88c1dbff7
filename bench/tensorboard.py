# SPDX-License-Identifier: Apache-2.0
"""How long TensorBoard and a browser take with what infprof draws, by the budgets of the files.

    bench/tensorboard.py TRACE...

Makes a job of --ranks ranks from copies of the traces (torch.profiler's, gzipped) and draws it with
each budget. Then, for --rounds rounds, every case once, in another order each time:

merged budgets, with an empty ranks/: from the start of TensorBoard until the plug-in has loaded the
run, and from the choice of the Trace view until headless Chromium has drawn it;

ranks budgets (files x MB in all), beside a merged timeline of --beside MB: from the start until that
is listed, and until everything is; the processor time that TensorBoard and its processes took for it,
and the most memory that they had at one time, looked at ten times a second;

--whole MERGED:FILES:MB,..., all that a job writes: from the start until headless Chromium, which opens
the page when merged is listed, has drawn it, whatever else is being loaded meanwhile.

Printed are medians, the least and the largest value in brackets. On a machine that does other work,
only the processor times mean anything.
"""

import argparse
import gzip
import itertools
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

SOURCE = pathlib.Path(__file__).resolve().parent.parent
TICKS = os.sysconf("SC_CLK_TCK")
LOOK_S = 0.1
DEADLINE_S = 600


def numbers(text):
    return [int(word) for word in text.split(",") if word]


def wholes(text):
    return [tuple(map(int, word.split(":"))) for word in text.split(",") if word]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("traces", nargs="+", type=pathlib.Path, metavar="TRACE")
    parser.add_argument("--build", default=SOURCE / "build", type=pathlib.Path)
    parser.add_argument("--python", default=SOURCE / ".venv/bin/python", type=pathlib.Path)
    parser.add_argument("--node-modules", default=SOURCE / ".node/node_modules", type=pathlib.Path)
    parser.add_argument("--ranks", default=16, type=int)
    parser.add_argument("--rounds", default=3, type=int)
    parser.add_argument("--merged", default=[25, 50, 64, 100, 150], type=numbers, metavar="MB,...")
    parser.add_argument("--files", default=[2, 4, 8, 16], type=numbers, metavar="N,...")
    parser.add_argument("--sizes", default=[32, 64, 128, 256], type=numbers, metavar="MB,...")
    parser.add_argument("--beside", default=64, type=int, metavar="MB")
    parser.add_argument("--whole", default=[(64, 16, 128)], type=wholes, metavar="MB:N:MB,...")
    return parser.parse_args()


class Job:
    """An archive, and what is drawn of it."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        traces = folder / "traces"
        traces.mkdir()
        for rank in range(options.ranks):
            # Not a link: what is one file is one rank.
            shutil.copyfile(options.traces[rank % len(options.traces)],
                            traces / f"rank{rank:04}.json.gz")
        self.infprof("merge", "--in-order", "--archive-only", *sorted(traces.iterdir()),
                     "-o", folder / "job")

    def infprof(self, *command):
        subprocess.run([self.options.build / "bin" / "infprof", *command], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def draw(self, name, merged, files=1, size=0):
        out = self.folder / name
        self.infprof("timeline", self.folder / "job", "-o", out, "--budget", f"{merged}MB",
                     "--ranks-budget", f"{size}MB", "--max-ranks-files", str(files))
        if not size:
            shutil.rmtree(out / "ranks")
        return out

    def held(self, out):
        """What there is in ranks/ in the end, in words."""
        files = list((out / "ranks").iterdir())
        size = sum(len(gzip.decompress(path.read_bytes())) for path in files)
        return f"{len(files)} files, {size / 1e6:.0f} MB"


def processes_of(group):
    """(processor ticks, bytes in memory) of each process of a group."""
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        if int(fields[2]) == group:
            yield sum(map(int, fields[11:15])), int(fields[21]) * os.sysconf("SC_PAGE_SIZE")


class Watch(threading.Thread):
    """Looks at the processes of TensorBoard until it is told to stop."""

    def __init__(self, group):
        super().__init__(daemon=True)
        self.group, self.most_bytes, self.cpu_s = group, 0, 0
        self.over = threading.Event()
        self.start()

    def run(self):
        while not self.over.wait(LOOK_S):
            self.look()

    def look(self):
        found = list(processes_of(self.group))
        self.most_bytes = max(self.most_bytes, sum(size for _, size in found))
        # What a process has waited for counts as its own: children that end are not lost.
        self.cpu_s = max(self.cpu_s, sum(ticks for ticks, _ in found) / TICKS)

    def stop(self):
        self.over.set()
        self.join()
        self.look()


def runs_of(port):
    try:
        with urllib.request.urlopen(
            f"http://localhost:{port}/data/plugin/pytorch_profiler/runs"
        ) as answer:
            found = json.load(answer)
    except (urllib.error.URLError, ConnectionError):
        return [], True
    return found["runs"], found["loading"]


def measure(viewer, directory, in_browser):
    """Figures of one start, by name."""
    begin = time.monotonic()
    server = viewer.TensorBoard(directory)
    watch = Watch(server.process.pid)
    figures = {}
    wanted = sum(1 for entry in directory.iterdir() if entry.is_dir())
    try:
        port = server.port()
        while True:
            runs, loading = runs_of(port)
            if "merged" in runs:
                figures.setdefault("listed", time.monotonic() - begin)
            if not loading and len(runs) == wanted:
                break
            if time.monotonic() - begin > DEADLINE_S:
                raise SystemExit(f"{directory.name}: not loaded within {DEADLINE_S} s")
            time.sleep(LOOK_S)
        figures["ready"] = time.monotonic() - begin
        watch.stop()
        figures["cpu"], figures["memory"] = watch.cpu_s, watch.most_bytes / 1e6
        if in_browser:
            result = viewer.draw(port, "merged", directory.parent / "view.png")
            if result.returncode:
                raise SystemExit(str(result))
            figures["drawn"] = json.loads(result.stdout.splitlines()[-1])["drawn_ms"] / 1000
    finally:
        server.stop()
    return figures


def measure_whole(viewer, directory):
    begin = time.time()  # the browser's clock, too
    server = viewer.TensorBoard(directory)
    watch = Watch(server.process.pid)
    try:
        port = server.port()
        answering = time.time() - begin
        result = viewer.draw(port, "merged", directory.parent / "view.png")
        if result.returncode:
            raise SystemExit(str(result))
        watch.stop()
    finally:
        server.stop()
    view = json.loads(result.stdout.splitlines()[-1])
    return {"answering": answering, "whole": view["drawn_at_ms"] / 1000 - begin,
            "drawn": view["drawn_ms"] / 1000, "cpu": watch.cpu_s,
            "memory": watch.most_bytes / 1e6}


def table(title, columns, rows):
    print(f"\n{title}")
    print("".join(f"{heading:>26}" for heading in ["", *(heading for heading, _ in columns)]))
    for label, samples in rows:
        cells = []
        for _, name in columns:
            values = [sample[name] for sample in samples]
            cells.append(f"{statistics.median(values):.1f} [{min(values):.1f}, {max(values):.1f}]")
        print("".join(f"{cell:>26}" for cell in [label, *cells]))


def main():
    options = arguments()
    os.environ.update(INFPROF_BUILD=str(options.build), INFPROF_SOURCE=str(SOURCE),
                      INFPROF_PYTHON=str(options.python),
                      INFPROF_NODE_MODULES=str(options.node_modules))
    sys.path.insert(0, str(SOURCE / "tests" / "integration"))
    import viewer

    with tempfile.TemporaryDirectory(prefix="infprof-bench-") as folder:
        job = Job(options, pathlib.Path(folder))
        cases = {}
        for size in options.merged:
            cases["merged", size] = job.draw(f"merged{size}", size)
        for files, size in itertools.product(options.files, options.sizes):
            cases[files, size] = job.draw(f"ranks{files}x{size}", options.beside, files, size)
        for merged, files, size in options.whole:
            cases["whole", merged, files, size] = job.draw(f"whole{merged}x{files}x{size}", merged,
                                                           files, size)
        held = {case: job.held(out) for case, out in cases.items() if case[0] != "merged"}
        samples = {case: [] for case in cases}
        print(f"{os.cpu_count()} cores, load average before {os.getloadavg()[0]:.1f}; "
              f"{options.ranks} ranks, {options.rounds} rounds", flush=True)
        for number in range(options.rounds):
            order = list(cases)
            random.Random(number).shuffle(order)
            for case in order:
                samples[case].append(measure_whole(viewer, cases[case]) if case[0] == "whole" else
                                     measure(viewer, cases[case], case[0] == "merged"))
                print(case, samples[case][-1], file=sys.stderr, flush=True)
    table("merged alone", [("ready after s", "ready"), ("Trace view drawn after s", "drawn"),
                           ("processor s", "cpu"), ("MB in memory", "memory")],
          [(f"{size} MB", samples["merged", size]) for size in options.merged])
    table(f"ranks/ beside {options.beside} MB of merged",
          [("merged listed after s", "listed"), ("all listed after s", "ready"),
           ("processor s", "cpu"), ("MB in memory", "memory")],
          [(held[files, size], samples[files, size])
           for files, size in itertools.product(options.files, options.sizes)])
    table("everything that a job writes",
          [("answering after s", "answering"), ("drawn after s", "whole"),
           ("of these the view's s", "drawn"), ("processor s", "cpu"), ("MB in memory", "memory")],
          [(f"{case[1]} MB, {held[case]}", samples[case]) for case in cases if case[0] == "whole"])


if __name__ == "__main__":
    main()
