#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What merged timelines cost: time, memory, and size on the disk.

    bench/timeline.py [--build DIR] [--rounds N] [--ranks 1024 --steps 20 --events 250] [ARCHIVE ...]

Draws a made-up job and one with twice as many events a step, and the archives that are given, by
turns. Prints medians and ranges; the cost of an event tells whether it grows with their number.
Then packs what was drawn of each once more, alone: what of the time is gzip's. Made-up archives are
made in a temporary directory, without --ranks 0.
"""

import argparse
import gzip
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
DRAWN = re.compile(
    r"(?P<ranks>\d+) ranks, (?P<events>[\d.]+) M events, (?P<json>[\d.]+) MB of JSON, "
    r"(?P<packed>[\d.]+) MB packed: (?P<wall>[\d.]+) s, (?P<cpu>[\d.]+) s of CPU, .*"
    r"peak (?P<peak>\d+) MB")
PACKED = re.compile(r"MB packed: [\d.]+ s of CPU, (?P<into>[\d.]+) MB/s in, (?P<out>[\d.]+) MB/s out")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=SOURCE / "build", type=pathlib.Path)
    parser.add_argument("--rounds", default=5, type=int)
    parser.add_argument("--ranks", default=1024, type=int, help="of made-up jobs; 0: none")
    parser.add_argument("--steps", default=20, type=int)
    parser.add_argument("--events", default=250, type=int)
    parser.add_argument("--budget", default=64_000_000, type=int)
    parser.add_argument("--precedence", action="store_true",
                        help="run with chrt -r 1: for a machine that has other work")
    parser.add_argument("archives", nargs="*", metavar="ARCHIVE", type=pathlib.Path)
    return parser.parse_args()


def run(options, expected, *arguments):
    before = ["chrt", "-r", "1"] if options.precedence else []
    result = subprocess.run(
        [*before, options.build / "bench" / "bench_timeline", *map(str, arguments)],
        check=True, capture_output=True, text=True)
    found = expected.search(result.stdout)
    return {name: float(value) for name, value in found.groupdict().items()}


def make(options, events, path):
    run(options, DRAWN, options.ranks, options.steps, events, options.budget, path)


def pack(options, archive, folder):
    """Speeds of gzip alone, for the timeline of the archive as infprof draws it."""
    drawn, unpacked = folder / "drawn", folder / "drawn.json"
    subprocess.run(
        [options.build / "bin" / "infprof", "timeline", archive, "-o", drawn, "--budget",
         str(options.budget), "--max-ranks-files", "1"],
        check=True, capture_output=True)
    (path,) = (drawn / "merged").glob("*.gz")
    unpacked.write_bytes(gzip.decompress(path.read_bytes()))
    runs = [run(options, PACKED, "deflate", unpacked) for _ in range(options.rounds)]
    shutil.rmtree(drawn)
    return runs


def spread(runs, tell, digits=2):
    values = [tell(one) for one in runs]
    return (f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to "
            f"{max(values):.{digits}f})")


def report(options, name, drawn, packed):
    first = drawn[0]
    print(f"{name}: {first['ranks']:.0f} ranks, {first['events']:.2f} M events, "
          f"{first['json']:.1f} MB of JSON for a budget of {options.budget / 1e6:.0f} MB, "
          f"{first['packed']:.1f} MB packed ({first['json'] / first['packed']:.1f} to 1)")
    print(f"  {spread(drawn, lambda one: one['wall'])} s, "
          f"{spread(drawn, lambda one: one['cpu'])} s of CPU, "
          f"{spread(drawn, lambda one: one['cpu'] / one['events'])} us an event; "
          f"peak {statistics.median(one['peak'] for one in drawn):.0f} MB")
    print(f"  {spread(drawn, lambda one: one['events'] / one['wall'])} M events/s read, "
          f"{spread(drawn, lambda one: one['json'] / one['wall'], 0)} MB/s of JSON and "
          f"{spread(drawn, lambda one: one['packed'] / one['wall'], 1)} MB/s of gzip written")
    print(f"  gzip alone, on one core: {spread(packed, lambda one: one['into'], 0)} MB/s in, "
          f"{spread(packed, lambda one: one['out'], 1)} MB/s out")


def main():
    options = arguments()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        archives = {str(path): path for path in options.archives}
        for events in (options.events, 2 * options.events) if options.ranks else ():
            path = folder / f"{events}.ifp"
            make(options, events, path)
            archives[f"made up, {options.steps} steps of {events} events"] = path
        # bench_timeline writes beside the archive, which others may not want.
        for title, path in archives.items():
            if path.parent != folder:
                archives[title] = folder / f"given{len(list(folder.iterdir()))}.ifp"
                archives[title].symlink_to(path.resolve())
        drawn = {title: [] for title in archives}
        for _ in range(options.rounds):
            for title, path in archives.items():
                drawn[title].append(run(options, DRAWN, path, options.budget))
        for title, path in archives.items():
            report(options, title, drawn[title], pack(options, path, folder))


if __name__ == "__main__":
    main()
