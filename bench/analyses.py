# SPDX-License-Identifier: Apache-2.0
"""What HolisticTraceAnalysis computes from the files of ranks/, beside what it computes from the
recorded traces.

    python3 -m venv hta && hta/bin/pip install HolisticTraceAnalysis==0.5.0
    bench/analyses.py --hta hta/bin/python TRACE...

The traces are those of one job, one for each rank. Prints every figure of every rank, and ends with
status 1 when one differs by more than --percent.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SOURCE / "tests" / "harness"))
import breakdown  # noqa: E402


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("traces", nargs="+", type=pathlib.Path, metavar="TRACE")
    parser.add_argument("--hta", required=True, type=pathlib.Path, metavar="PYTHON")
    parser.add_argument("--build", default=SOURCE / "build", type=pathlib.Path)
    parser.add_argument("--percent", default=0.5, type=float)
    return parser.parse_args()


def merge(options, folder):
    command = [options.build / "bin" / "infprof", "merge", *options.traces, "-o", folder / "out",
               "--ranks-budget", "100GB", "--max-ranks-files", str(len(options.traces))]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return sorted((folder / "out" / "ranks").iterdir())


def main():
    options = arguments()
    with tempfile.TemporaryDirectory() as folder:
        found = breakdown.hta(options.hta, merge(options, pathlib.Path(folder)))
    expected = breakdown.hta(options.hta, options.traces)
    worst = 0
    print(f"{'rank':>4}  {'figure':<16}{'originals':>14}{'ranks/':>14}{'differ by':>12}")
    for rank, (ours, theirs) in enumerate(zip(found, expected)):
        for key, value in theirs.items():
            percent = 100 * abs(ours[key] - value) / abs(value) if value else 0
            worst = max(worst, percent)
            print(f"{rank:>4}  {key:<16}{value:>14.2f}{ours[key]:>14.2f}{percent:>10.3f} %")
    return 1 if worst > options.percent or len(found) != len(expected) else 0


if __name__ == "__main__":
    sys.exit(main())
