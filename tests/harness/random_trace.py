# SPDX-License-Identifier: Apache-2.0
"""Made-up traces with everything that makes drawing hard, the same for the same seed."""

import json
import random

BASE_NS = 1_790_000_000_000_000_000
THREADS = (100, 101)
STREAMS = (7, 20)
OPERATORS = ("aten::mm", "aten::add", "aten::to", "c10d::allreduce_", "record_param_comms",
             "a name \\\"in quotes\\\" \\u00e9 \u2026", "x" * 300)
KERNELS = ("gemm", "void elementwise<" + "float, " * 30 + ">", "ncclDevKernel_AllReduce_Sum_f32")


class Trace:
    def __init__(self, seed, rank):
        self.random = random.Random(seed * 1000 + rank)
        self.rank = rank
        self.events = []
        self.slices = []

    def add(self, phase, category, name, pid, tid, start_ns, **more):
        event = {"ph": phase, "cat": category, "name": name, "pid": pid, "tid": tid,
                 "ts": f"{start_ns // 1000}.{start_ns % 1000:03}", **more}
        if "dur" in event:
            event["dur"] = f"{event['dur'] // 1000}.{event['dur'] % 1000:03}"
        self.events.append(event)
        return event

    def slice(self, category, name, pid, tid, start_ns, dur_ns, args=None):
        event = self.add("X", category, name, pid, tid, start_ns, dur=dur_ns)
        if args:
            event["args"] = args
        self.slices.append((pid, tid, start_ns))

    def duration(self, most):
        """Over many orders of magnitude, 0 too."""
        return min(most, int(10 ** self.random.uniform(-0.5, 7)))

    def nest(self, tid, start, end, depth):
        """Slices side by side, some with others inside."""
        at = start
        while at < end and self.random.random() < 0.93:
            at += self.duration((end - at) // 4) if self.random.random() < 0.5 else 0
            dur = self.duration(end - at)
            category = self.random.choice(
                ("cpu_op", "cpu_op", "cpu_op", "cuda_runtime", "python_function", "user_annotation",
                 "custom", "overhead"))
            name = self.random.choice(OPERATORS)
            if category == "user_annotation" and self.random.random() < 0.5:
                name = self.random.choice(("nccl:all_reduce", "gloo:broadcast", "my range"))
            args = {"External id": len(self.events), "Input Dims": [[self.random.randrange(9)] * 30],
                    "bytes": self.random.randrange(10**9)} if self.random.random() < 0.7 else None
            self.slice(category, name, 100, tid, at, dur, args)
            if depth and self.random.random() < 0.6:
                self.nest(tid, at, at + dur, depth - 1)
            at += dur

    def stream(self, stream, end):
        at = self.random.randrange(1000)
        while at < end:
            dur = self.duration(10**5)
            category, name = self.random.choice(
                [("kernel", name) for name in KERNELS] + [("gpu_memcpy", "Memcpy HtoD"),
                                                          ("gpu_memset", "Memset")])
            self.slice(category, name, 0, stream, at, dur,
                       {"device": 0, "stream": stream, "correlation": len(self.events)})
            at += dur + self.duration(10**6)

    def crowd(self, pid, tid, start, end, count):
        """Slices most of which cross most others: those that begin later end later. Some nest."""
        half = (end - start) // 2
        for _ in range(count):
            at = start + self.random.randrange(half)
            dur = half + self.random.randrange(half // 16)
            if self.random.random() < 0.3:
                dur = self.duration(end - at)
            category, name = self.random.choice(
                (("cpu_op", "aten::mm"), ("cpu_op", "c10d::allreduce_"), ("custom", "own"),
                 ("user_annotation", "nccl:all_reduce"), ("user_annotation", "my range")))
            self.slice(category, name, pid, tid, at, dur)

    def arrows(self, count):
        for number in range(1, count + 1):
            for phase, place in zip("sf", self.random.sample(self.slices, 2)):
                self.add(phase, "ac2g", "ac2g", *place, id=number)

    def text(self):
        # Times are written by hand: floats would lose nanoseconds.
        lines = []
        for event in self.events:
            line = json.dumps(event)
            for key in ("ts", "dur"):
                line = line.replace(f'"{key}": "{event.get(key)}"', f'"{key}": {event.get(key)}')
            lines.append(line)
        head = {"schemaVersion": 1, "baseTimeNanoseconds": BASE_NS,
                "distributedInfo": {"rank": self.rank, "world_size": 2}}
        return json.dumps(head)[:-1] + ',"traceEvents":[\n' + ",\n".join(lines) + "\n]}\n"


def trace(seed, rank, steps=6, step_ns=2_000_000, crowd=0):
    """A trace as text; steps may be 0. crowd: so many slices open together on lanes of their own."""
    made = Trace(seed, rank)
    length = max(1, steps) * step_ns
    for step in range(steps):
        made.slice("user_annotation", f"ProfilerStep#{step + 1}", 100, 100,
                   step * step_ns, step_ns - made.random.choice((0, 1, 5000)))
    for tid in THREADS:
        for step in range(max(1, steps)):
            for _ in range(3):
                made.nest(tid, step * step_ns, (step + 1) * step_ns, 4)
    made.slice("python_function", "main.py(1): <module>", 100, 101, 0, length)
    for stream in STREAMS:
        made.stream(stream, length)
    if crowd:
        # Over all steps, and within one, with pauses around it.
        made.crowd(100, 102, 0, length, crowd)
        made.crowd(0, 30, length // 3, length // 3 + step_ns // 4, crowd)
        made.crowd(0, 30, length // 3 + step_ns // 2, length, crowd)
    for _ in range(30):
        at = made.random.randrange(length)
        made.slice("cpu_op", "crossing", 100, made.random.choice(THREADS), at, step_ns)
        made.add("i", "cpu_instant_event", "[memory]", 100, 100, at, s="t",
                 args={"Bytes": at, "Device Type": 0})
        made.add("C", "counter", "queue", 100, 100, at, args={"length": at % 7})
    made.arrows(60)
    return made.text()
