#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What merged timelines of made-up jobs cost: time, memory, and size on the disk.

    bench/timeline.py [--build DIR] [--rounds N] [--ranks 1024 --steps 20 --events 250]

Draws the job and one with twice as many events a step, by turns. Prints medians and the range of the
CPU time; the cost of an event tells whether it grows with their number. Archives are made in a
temporary directory.
"""

import argparse
import pathlib
import re
import statistics
import subprocess
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
LINE = re.compile(
    r"(?P<ranks>\d+) ranks, (?P<events>[\d.]+) M events, (?P<json>[\d.]+) MB of JSON, "
    r"(?P<packed>[\d.]+) MB packed: (?P<wall>[\d.]+) s, (?P<cpu>[\d.]+) s of CPU, .*"
    r"peak (?P<peak>\d+) MB")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=SOURCE / "build", type=pathlib.Path)
    parser.add_argument("--rounds", default=5, type=int)
    parser.add_argument("--ranks", default=1024, type=int)
    parser.add_argument("--steps", default=20, type=int)
    parser.add_argument("--events", default=250, type=int)
    parser.add_argument("--budget", default=64_000_000, type=int)
    return parser.parse_args()


def draw(options, events, archive):
    result = subprocess.run(
        [options.build / "bench" / "bench_timeline", str(options.ranks), str(options.steps),
         str(events), str(options.budget), archive],
        check=True, capture_output=True, text=True)
    found = LINE.search(result.stdout)
    return {name: float(value) for name, value in found.groupdict().items()}


def main():
    options = arguments()
    sizes = [options.events, 2 * options.events]
    with tempfile.TemporaryDirectory() as folder:
        drawn = {size: [] for size in sizes}
        for _ in range(options.rounds + 1):  # the first one makes the archives
            for size in sizes:
                drawn[size].append(draw(options, size, f"{folder}/{size}.ifp"))
    for size in sizes:
        runs = drawn[size][1:]
        median = {name: statistics.median(run[name] for run in runs) for name in runs[0]}
        cpu = [run["cpu"] for run in runs]
        print(f"{options.ranks} ranks, {options.steps} steps, {median['events']:.2f} M events: "
              f"{median['wall']:.2f} s, {median['cpu']:.2f} s of CPU ({min(cpu):.2f} to "
              f"{max(cpu):.2f}), {median['cpu'] / median['events']:.2f} us an event; "
              f"{median['json']:.1f} MB of JSON for a budget of {options.budget / 1e6:.0f} MB, "
              f"{median['packed']:.1f} MB packed ({median['json'] / median['packed']:.1f} to 1); "
              f"peak {median['peak']:.0f} MB")


if __name__ == "__main__":
    main()
