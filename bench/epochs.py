# SPDX-License-Identifier: Apache-2.0
"""What comparing clocks while a program runs costs: encrypted or not, to agents and to the program.

    bench/epochs.py --build build [--ranks 8] [--seconds 5] [--rounds 5] [--interval 200ms] [--spin]

Every rank has a time namespace of its own (root), so that there is something to compare. The kinds of
run take turns: without exchanges in between ("0"), with them every interval ("plain"), and the same with
keys ("keys"), all over TCP to a collector of their own. The program does equal pieces of work and times
them. Printed are medians over the rounds with their range: processor time of an agent and of an exchange,
how long an exchange takes from its first shortest round trip to its last, and the program's mean time
for a piece as a ratio to that of the run without of the same round.
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
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent
os.environ.setdefault("INFPROF_BUILD", "build")
os.environ.setdefault("INFPROF_SOURCE", str(SOURCE))
sys.path.insert(0, str(SOURCE / "tests/integration"))
import archive_format as fmt  # noqa: E402

APART_S = 137  # what rank r's clock is ahead by, times r
PIECE = 20000  # loops: about a millisecond


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=SOURCE / "build", type=pathlib.Path)
    parser.add_argument("--ranks", default=8, type=int)
    parser.add_argument("--seconds", default=5.0, type=float)
    parser.add_argument("--rounds", default=5, type=int)
    parser.add_argument("--interval", default="200ms")
    parser.add_argument("--kinds", default="0,plain,keys")
    parser.add_argument("--spin", action="store_true",
                        help="the program does nothing but work; else it pauses after each piece")
    parser.add_argument("--realtime", action="store_true",
                        help="on a machine with other work: program and, before it, agents go first")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def work(seconds, spin):
    """The program: prints the mean time of a piece of work, by the wall and by the processor."""
    begun, used, pieces = time.perf_counter(), time.process_time(), 0
    while time.perf_counter() - begun < seconds:
        for _ in range(PIECE):
            pass
        pieces += 1
        if not spin:
            time.sleep(0.01)
    wall, cpu = (time.perf_counter() - begun) / pieces, (time.process_time() - used) / pieces
    sys.stdout.write(f"piece {wall} {cpu};\n")  # at once: all ranks write


def frames(archive, kind):
    return [payload for _, of, _, _, _, payload in fmt.read_frames(archive.read_bytes())
            if of == kind and payload]


def durations_ms(archive):
    """Of every exchange that was made while the programs ran."""
    spans = {}
    for payload in frames(archive, fmt.CLOCK):
        for edge in fmt.read_clock(payload)[1]:
            epoch, client, t1, t4 = edge[0], edge[1], edge[6], edge[9]
            ahead = client * APART_S * 10**9
            first, last = spans.get(epoch, (t1 - ahead, t4 - ahead))
            spans[epoch] = min(first, t1 - ahead), max(last, t4 - ahead)
    return [(last - first) / 1e6 for epoch, (first, last) in spans.items()
            if epoch not in (0, max(spans))], len(spans)


def measure(args, kind):
    """Agents' processor time in ms a rank, exchanges, their durations, seconds of a piece of work."""
    with tempfile.TemporaryDirectory() as folder:
        output, keys = pathlib.Path(folder) / "out", pathlib.Path(folder) / "keys"
        options = []
        if kind == "keys":
            subprocess.run([args.build / "bin/infprof-collector", "--keygen", keys], check=True,
                           capture_output=True)
            options = ["--key-file", str(keys)]
        collector = subprocess.Popen(
            [args.build / "bin/infprof-collector", "-l", "tcp://127.0.0.1:*", "-o", output,
             *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        address = collector.stdout.readline().split()[1]
        script = (f'exec unshare -T --monotonic "$((OMPI_COMM_WORLD_RANK * {APART_S}))" "$@"')
        interval = "0" if kind == "0" else args.interval
        done = subprocess.run(
            ["mpirun", "--oversubscribe", "-n", str(args.ranks), "sh", "-c", script, "sh",
             *(["chrt", "-r", "2"] if args.realtime else []),
             args.build / "bin/infprof-agent", "--collector", address, *options,
             "--clock-interval", interval, "--",
             *(["chrt", "-r", "1"] if args.realtime else []), sys.executable, __file__, "--work",
             "--seconds", str(args.seconds), *(["--spin"] if args.spin else [])],
            env=dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1"),
            capture_output=True, text=True, timeout=300)
        collector.wait(timeout=120)
        collector.stdout.close()
        pieces = re.findall(r"piece (\S+) (\S+);", done.stdout)
        if len(pieces) != args.ranks:
            sys.exit(f"the job failed: {done.stdout}{done.stderr[-2000:]}")
        ends = [json.loads(payload) for payload in frames(output / "run.ifp", fmt.END)]
        took, exchanges = durations_ms(output / "run.ifp")
        return {"cpu": statistics.mean(int(end["agent_cpu_ns"]) for end in ends) / 1e6,
                "exchanges": exchanges, "took": took,
                "wall": statistics.mean(float(wall) for wall, _ in pieces),
                "work": statistics.mean(float(cpu) for _, cpu in pieces)}


def show(name, values, unit):
    print(f"  {name}: {statistics.median(values):.4g} {unit} "
          f"({min(values):.4g} to {max(values):.4g})")


def main():
    args = arguments()
    if args.work:
        work(args.seconds, args.spin)
        return
    kinds = args.kinds.split(",")
    runs = {kind: [] for kind in kinds}
    for number in range(args.rounds):
        for kind in kinds[number % len(kinds):] + kinds[:number % len(kinds)]:
            runs[kind].append(measure(args, kind))
    for kind in kinds:
        print(f"{kind}: exchanges of a run {[run['exchanges'] for run in runs[kind]]}")
        show("processor time of an agent", [run["cpu"] for run in runs[kind]], "ms")
        if kind == "0":
            continue
        pairs = list(zip(runs[kind], runs[kinds[0]]))
        show("... for an exchange", [(run["cpu"] - none["cpu"]) /
                                     (run["exchanges"] - none["exchanges"])
                                     for run, none in pairs], "ms")
        show("an exchange takes", [took for run in runs[kind] for took in run["took"]], "ms")
        show("a piece of work, ratio of its time", [run["wall"] / none["wall"]
                                                    for run, none in pairs], "")
        show("... of its processor time", [run["work"] / none["work"] for run, none in pairs], "")


if __name__ == "__main__":
    main()
