# SPDX-License-Identifier: Apache-2.0
"""What infprof costs a step: the example job without it, with marks only, and with a window open.

    bench/step_time.py --build build --python .venv/bin/python [--ranks 2] [--rounds 5] \\
        [-- --device cuda --width 384]

The three kinds of run take turns, so that a machine whose speed drifts does so for all of them; the
order changes from round to round. Printed are medians over the rounds, with their range, of the
ratio to the run without infprof of the same round, and what the agents and the archive used.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
WINDOW = 10  # steps


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=SOURCE / "build", type=pathlib.Path)
    parser.add_argument("--python", default=SOURCE / ".venv/bin/python")
    parser.add_argument("--ranks", default=2, type=int)
    parser.add_argument("--rounds", default=5, type=int)
    parser.add_argument("--steps", default=800, type=int,
                        help="long enough that the window, some seconds after the first, lies inside")
    parser.add_argument("program", nargs="*", help="further options of the example, behind --")
    return parser.parse_args()


def train(args, *agent):
    """Runs the job; returns the milliseconds a step that the program itself measured."""
    command = ["mpirun", "--oversubscribe", "-n", args.ranks, args.build / "bin/infprof-agent",
               *agent, "--", args.python, SOURCE / "examples/train_jepa.py",
               "--steps", args.steps, *args.program]
    env = dict(os.environ, OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1",
               OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    done = subprocess.run(list(map(str, command)), env=env, capture_output=True, text=True,
                          timeout=600)
    found = re.findall(r"step (\d+) .*\((\d+) ms a step\)", done.stdout)
    if done.returncode or not found:
        sys.exit(f"the job failed: {done.stderr[-2000:]}")
    return float(found[-1][1])


def step_times(args, output):
    """Milliseconds of each step of rank 0, from the step marks of the whole run."""
    trace = output / "rank0.json"
    subprocess.run([args.build / "bin/infprof", "export", output / "run.ifp", "--format", "chrome",
                    "--rank", "0", "-o", trace],
                   check=True, capture_output=True)
    ends = sorted(e["ts"] for e in json.loads(trace.read_text())["traceEvents"]
                  if e.get("cat") == "step")
    return {n + 2: (b - a) / 1000 for n, (a, b) in enumerate(zip(ends, ends[1:]))}


def recorded(output):
    """First and last step of the window that was recorded on all ranks."""
    windows = json.loads((output / "report.json").read_text())["windows"]
    found = [(w["first_step"], w["last_step"]) for w in windows if w["outcome"] == "recorded"]
    if not found:
        sys.exit(f"no window was recorded; give more --steps: {windows}")
    return found[0]


def step_ratios(args, output):
    """Step time inside the window, and after it, over that of the steps well before it."""
    first, last = recorded(output)
    times = step_times(args, output)
    parts = [[ms for step, ms in times.items() if low <= step <= high]
             for low, high in ((10, first - 10), (first, last), (last + 20, args.steps))]
    before, inside, after = map(statistics.median, parts)
    return inside / before, after / before


def costs(output, ranks):
    """Of the agents: share of a core, peak memory; of the archive: bytes an event."""
    found = json.loads((output / "report.json").read_text())
    ends = [row["end"] for row in found["per_rank"]]
    cpu = [row["end"]["agent_cpu_ns"] / (row["end"]["ended_realtime_ns"]
                                          - row["started_realtime_ns"])
           for row in found["per_rank"]]
    events = sum(row["events"] for row in found["per_rank"])
    size = (output / "run.ifp").stat().st_size
    return max(cpu), max(end["agent_peak_bytes"] for end in ends), events, size


def row(name, values, form="{:.3f}"):
    print(f"  {name:44}" + form.format(statistics.median(values)) + "   ("
          + " to ".join(form.format(f(values)) for f in (min, max)) + ")")


def main():
    args = arguments()
    marks, window, parts, cpu, peak, per_event = [], [], [], [], [], []
    for turn in range(args.rounds):
        taken = {}
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            kinds = [("off", ["--off"]),
                     ("marks", ["-q", "-o", folder / "marks", "--steps", "0"]),
                     ("window", ["-q", "-o", folder / "window", "--steps", WINDOW])]
            for name, options in kinds[turn % 3:] + kinds[: turn % 3]:
                taken[name] = train(args, *options)
            marks.append(taken["marks"] / taken["off"])
            window.append(taken["window"] / taken["off"])
            parts.append(step_ratios(args, folder / "window"))
            share, memory, events, size = costs(folder / "window", args.ranks)
            cpu.append(100 * share)
            peak.append(memory / 2**20)
            per_event.append(size / events)
    print(f"{args.ranks} ranks, {args.steps} steps, {args.rounds} rounds; median (range)")
    row("whole run: marks only / off", marks)
    row("whole run: one window of 10 steps / off", window)
    row("a step inside the window / one before it", [inside for inside, _ in parts])
    row("a step after the window / one before it", [after for _, after in parts])
    row("agent, % of a core", cpu, "{:.2f}")
    row("agent, peak MiB", peak, "{:.1f}")
    row("archive, bytes an event", per_event, "{:.2f}")


if __name__ == "__main__":
    main()
