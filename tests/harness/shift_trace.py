# SPDX-License-Identifier: Apache-2.0
"""Rewrites a trace of torch.profiler as if its clock had been another one.

    shift_trace.py TRACE.json.gz OUT.json.gz [--shift NS] [--ppm PPM] [--step NS --after K]
                   [--collectives-only]

--shift moves all times, --ppm lets the clock run faster from the first collective on (and slower
before it), --step sets it forward (or back) half way between the end of collective K and the start
of the next, counted from 1 in order of their starts. Numbers are exact: a time comes out as the
whole nanosecond nearest to what the other clock would have shown. --collectives-only keeps NCCL's
kernels and the profiler's steps, for tests that align many times.
"""

import argparse
import decimal
import gzip
import json

decimal.getcontext().prec = 40
THOUSAND = decimal.Decimal(1000)


def nanoseconds(microseconds):
    return int((decimal.Decimal(microseconds) * THOUSAND).to_integral_value())


def microseconds(ns):
    return decimal.Decimal(ns) / THOUSAND


def is_collective(event):
    return (event.get("ph") == "X" and event.get("cat") == "kernel"
            and event["name"].startswith("nccl"))


def times(event):
    start = nanoseconds(event["ts"])
    return start, start + nanoseconds(event.get("dur", 0))


def collectives(trace):
    """Start and end of each, in ns of the trace, by start."""
    return sorted(times(event) for event in trace["traceEvents"] if is_collective(event))


class Clock:
    """What another clock shows at a moment of the trace's own."""

    def __init__(self, trace, shift=0, ppm=0, step=0, after=None):
        spans = collectives(trace)
        self.shift, self.ppm, self.step = shift, decimal.Decimal(ppm), step
        self.origin = spans[0][0] if spans else 0
        self.stepped = None
        if after is not None:
            self.stepped = (max(end for _, end in spans[:after]) + spans[after][0]) // 2

    def offset(self, ns):
        gained = int(((ns - self.origin) * self.ppm / 1_000_000).to_integral_value())
        stepped = self.step if self.stepped is not None and ns >= self.stepped else 0
        return self.shift + gained + stepped

    def at(self, ns):
        return ns + self.offset(ns)


def kept(event):
    return is_collective(event) or event.get("name", "").startswith("ProfilerStep#")


def rewrite(trace, clock):
    for event in trace["traceEvents"]:
        if "ts" not in event:
            continue
        start, end = times(event)
        event["ts"] = microseconds(clock.at(start))
        if "dur" in event:
            event["dur"] = microseconds(clock.at(end) - clock.at(start))


def load(path):
    with gzip.open(path) as file:
        return json.load(file, parse_float=decimal.Decimal)


def dump(trace, path):
    """Numbers with a point stay as they are: a double has no room for nanoseconds of this epoch."""
    numbers = []

    def mark(value):
        if isinstance(value, decimal.Decimal):
            numbers.append(format(value, "f"))
            return f"\u0001{len(numbers) - 1}\u0001"
        if isinstance(value, dict):
            return {key: mark(item) for key, item in value.items()}
        if isinstance(value, list):
            return [mark(item) for item in value]
        return value

    marked = json.dumps(mark(trace)).split("\\u0001")
    for i in range(1, len(marked), 2):
        marked[i - 1] = marked[i - 1][:-1]
        marked[i] = numbers[int(marked[i])]
        marked[i + 1] = marked[i + 1][1:]
    with gzip.open(path, "wt", compresslevel=1) as file:
        file.write("".join(marked))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("trace")
    parser.add_argument("out")
    parser.add_argument("--shift", type=int, default=0)
    parser.add_argument("--ppm", type=decimal.Decimal, default=decimal.Decimal(0))
    parser.add_argument("--step", type=int, default=0)
    parser.add_argument("--after", type=int)
    parser.add_argument("--collectives-only", action="store_true")
    options = parser.parse_args()
    trace = load(options.trace)
    if options.collectives_only:
        trace["traceEvents"] = [event for event in trace["traceEvents"] if kept(event)]
    rewrite(trace, Clock(trace, options.shift, options.ppm, options.step, options.after))
    dump(trace, options.out)


if __name__ == "__main__":
    main()
