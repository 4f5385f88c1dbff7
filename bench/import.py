# SPDX-License-Identifier: Apache-2.0
"""How fast traces become an archive, against HolisticTraceAnalysis loading the same files.

    python3 -m venv hta && hta/bin/pip install HolisticTraceAnalysis==0.5.0
    bench/import.py --hta hta/bin/python TRACES
    bench/import.py --large 5 TRACES

TRACES is a directory with gzipped traces of torch.profiler. Each of --ranks ranks gets one of them,
the largest ones first, with ids of its own (processes, threads, correlations, flows, the rank). Both
programs load all ranks once before anything is timed, then take turns; printed are medians over the
rounds. HolisticTraceAnalysis stays one process that has imported everything, while infprof starts
anew each time. --large makes one plain file of that many GB instead, for the memory that one takes.
"""

import argparse
import concurrent.futures
import gzip
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent
SAMPLES = 2
MB = 1e6

# Reads lines of one word each; loads all traces and answers with seconds, seconds of processors and
# KiB for each.
LOADER = """
import logging, resource, sys, time
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
files = dict(enumerate(sys.argv[1:]))
whose = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
def cpu():
    return sum(sum(resource.getrusage(who)[:2]) for who in whose)
for line in sys.stdin:
    begin, cpu_begin = time.perf_counter(), cpu()
    analysis = TraceAnalysis(trace_files=files)
    seconds, cpu_seconds = time.perf_counter() - begin, cpu() - cpu_begin
    events = sum(len(frame) for frame in analysis.t.traces.values())
    peaks = [resource.getrusage(who).ru_maxrss for who in whose]
    del analysis
    print("loaded", seconds, cpu_seconds, *peaks, events, flush=True)
"""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("traces", type=pathlib.Path)
    parser.add_argument("--build", default=SOURCE / "build", type=pathlib.Path)
    parser.add_argument("--hta", type=pathlib.Path, metavar="PYTHON",
                        help="an interpreter with HolisticTraceAnalysis 0.5.0")
    parser.add_argument("--ranks", default=8, type=int)
    parser.add_argument("--rounds", default=5, type=int)
    parser.add_argument("--large", type=float, metavar="GB", help="one file of this size instead")
    return parser.parse_args()


def largest_samples(folder):
    found = sorted(folder.glob("*.json.gz"), key=lambda path: -path.stat().st_size)[:SAMPLES]
    if not found:
        sys.exit(f"no *.json.gz in {folder}")
    return [gzip.decompress(path.read_bytes()).decode() for path in found]


def with_own_ids(text, rank, ranks):
    """The trace as another rank would have written it; its layout stays as it is."""
    def move(match):
        number = int(match[2])
        # Small numbers of processes and threads are devices and streams.
        own = number < 1000 and match[1] in ('"pid": ', '"tid": ')
        return match[1] + str(number if own else number + 1_000_000 * rank)

    text = re.sub(r'("(?:pid|tid|id|correlation|External id)": )(\d+)', move, text)
    head, found, tail = text.partition('"distributedInfo":')
    if not found:
        info = json.dumps({"backend": "nccl", "rank": rank, "world_size": ranks})
        return text.replace("{", f'{{"distributedInfo": {info},', 1)
    for key, value in (("rank", rank), ("world_size", ranks)):
        tail = re.sub(rf'"{key}": \d+', f'"{key}": {value}', tail, count=1)
    return head + found + tail


def make_ranks(args, folder):
    samples = largest_samples(args.traces)
    files = []
    for rank in range(args.ranks):
        path = folder / f"rank{rank}.pt.trace.json.gz"
        text = with_own_ids(samples[rank % len(samples)], rank, args.ranks)
        path.write_bytes(gzip.compress(text.encode(), 6))
        files.append(path)
    return files


def make_large(args, path):
    """The events of one sample again and again, the keys around them once."""
    text = largest_samples(args.traces)[0]
    begin = text.index("[", text.index('"traceEvents"')) + 1
    end = json.JSONDecoder().raw_decode(text, begin - 1)[1] - 1
    events = text[begin:end].rstrip().rstrip(",").encode()
    with path.open("wb") as out:
        out.write(text[:begin].encode())
        while out.tell() + len(events) < args.large * 1e9:
            out.write(events + b",")
        out.write(events + text[end:].encode())


def apart(function, *args):
    """Calls it in a process of its own: a child's peak memory counts from its parent's."""
    with concurrent.futures.ProcessPoolExecutor(max_workers=1) as pool:
        return pool.submit(function, *args).result()


class Infprof:
    def __init__(self, args, folder):
        self.program = args.build / "bin/infprof"
        self.output = folder / "out"

    def load(self, files):
        """Seconds of one run, of processors, and its peak in KiB; self.result is what it says."""
        shutil.rmtree(self.output, ignore_errors=True)
        command = [self.program, "merge", "--archive-only", "--json", "-o", self.output, *files]
        with tempfile.TemporaryFile() as said:
            begin = time.perf_counter()
            child = subprocess.Popen(list(map(str, command)), stdout=said)
            _, status, usage = os.wait4(child.pid, 0)
            seconds = time.perf_counter() - begin
            child.returncode = os.waitstatus_to_exitcode(status)
            if status:
                sys.exit(f"infprof merge failed: status {child.returncode}")
            said.seek(0)
            self.result = json.load(said)
        return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss

    def total(self, key):
        return sum(source[key] for source in self.result["sources"])

    def archive_bytes(self):
        return pathlib.Path(self.result["archive"]).stat().st_size


class Hta:
    def __init__(self, python, files):
        self.process = subprocess.Popen(
            [python, "-c", LOADER, *map(str, files)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def load(self):
        """Seconds, of processors, and peaks in KiB of the process and of its largest worker."""
        self.process.stdin.write("load\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith("loaded "):
                seconds, cpu_seconds, own, worker, self.events = line.split()[1:]
                return float(seconds), float(cpu_seconds), (int(own), int(worker))
        sys.exit("HolisticTraceAnalysis has failed: does it load these files alone?")

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def megabytes(kib):
    return f"{kib * 1024 / MB:.0f} MB"


HEADING = ("| | wall | processors | raw JSON | events | peak memory |\n"
           "|---|---|---|---|---|---|")


def row(name, seconds, cpu_seconds, json_bytes, events, memory):
    print(f"| {name} | {seconds:.2f} s | {cpu_seconds:.2f} s | {json_bytes / MB / seconds:.0f} MB/s "
          f"| {events / 1e6 / seconds:.2f} M/s | {memory} |")


def medians(runs):
    """Of the seconds, and of the seconds of processors."""
    return [statistics.median(run[i] for run in runs) for i in (0, 1)]


def spread(ours, theirs, i):
    """How many times as much theirs is: the median of the rounds, the least and the most."""
    ratios = sorted(b[i] / a[i] for a, b in zip(ours, theirs))
    return f"{statistics.median(ratios):.0f} ({ratios[0]:.0f} to {ratios[-1]:.0f} in single rounds)"


def compare(args, folder):
    files = apart(make_ranks, args, folder)
    infprof = Infprof(args, folder)
    hta = Hta(args.hta, files) if args.hta else None
    ours, theirs = [], []
    for number in range(args.rounds + 1):
        mine = infprof.load(files)
        other = hta.load() if hta else None
        if number:
            ours.append(mine)
            theirs.append(other)
    json_bytes, events = infprof.total("json_bytes"), infprof.total("events")
    packed = sum(path.stat().st_size for path in files)
    print(f"{args.ranks} files, {events} events, {json_bytes / MB:.0f} MB of JSON in "
          f"{packed / MB:.0f} MB of gzip; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; "
          f"medians of {args.rounds} rounds\n")
    print(HEADING)
    row("infprof merge --archive-only", *medians(ours), json_bytes, events,
        megabytes(max(kib for *_, kib in ours)))
    if hta:
        own, worker = (max(peaks[i] for *_, peaks in theirs) for i in (0, 1))
        row("HolisticTraceAnalysis 0.5.0", *medians(theirs), json_bytes, events,
            f"{megabytes(own)} + {megabytes(worker)} a worker")
        print(f"\nHolisticTraceAnalysis takes {spread(ours, theirs, 0)} times as long, and "
              f"{spread(ours, theirs, 1)} times as much of the processors")
        hta.close()
    print(f"archive: {infprof.archive_bytes() / events:.2f} bytes per event")


def large(args, folder):
    path = folder / "large.pt.trace.json"
    infprof = Infprof(args, folder)
    apart(make_large, args, path)
    seconds, cpu_seconds, kib = infprof.load([path])
    json_bytes, events = infprof.total("json_bytes"), infprof.total("events")
    print(f"one file, {events} events\n")
    print(HEADING)
    row(f"infprof merge --archive-only, {json_bytes / 1e9:.1f} GB", seconds, cpu_seconds, json_bytes,
        events, megabytes(kib))


def main():
    args = arguments()
    with tempfile.TemporaryDirectory(prefix="infprof-import-") as name:
        (large if args.large else compare)(args, pathlib.Path(name))


if __name__ == "__main__":
    main()
