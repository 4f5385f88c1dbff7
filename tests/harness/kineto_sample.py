# SPDX-License-Identifier: Apache-2.0
"""Traces as Kineto writes them, made up: small jobs of which every number is known.

Each step lasts 10 ms on every rank. On the main thread: the forward pass with two linear layers,
later the optimizer. On the backward thread: two gradients, each with its all-reduce. With a GPU,
every matrix product and every all-reduce launches one kernel.
"""

import json

BASE_NS = 1790857026000000000
FIRST_US = 5224531827
STEP_US = 10000
LAYERS = 2

GEMM_US = 300.5
ALL_REDUCE_KERNEL_US = 700.25


class Sample:
    """One rank's trace while it is made."""

    def __init__(self, rank, library, device):
        self.rank = rank
        self.library = library
        self.device = device
        self.pid = 4000 + rank
        self.main = self.pid
        self.backward = self.pid + 500
        self.events = []
        self.external = 0
        self.correlation = 0
        self.flow = 0

    def slice(self, category, name, tid, start, dur, pid=None, **args):
        event = {
            "ph": "X",
            "cat": category,
            "name": name,
            "pid": self.pid if pid is None else pid,
            "tid": tid,
            "ts": round(FIRST_US + start, 3),
            "dur": dur,
            "args": args,
        }
        self.events.append(event)
        return event

    def op(self, name, tid, start, dur, category="cpu_op", **args):
        self.external += 1
        args["External id"] = self.external
        return self.slice(category, name, tid, start, dur, **args)

    def flow_half(self, phase, category, number, tid, start, pid=None):
        event = {
            "ph": phase,
            "id": number,
            "pid": self.pid if pid is None else pid,
            "tid": tid,
            "ts": round(FIRST_US + start, 3),
            "cat": category,
            "name": category,
        }
        if phase == "f":
            event["bp"] = "e"
        self.events.append(event)

    def kernel(self, name, tid, start, dur, stream, external):
        """A launch at start on the host, the kernel 50 us later on the GPU, and their arrow."""
        if self.device is None:
            return
        self.correlation += 1
        ids = {"External id": external, "correlation": self.correlation}
        self.slice("cuda_runtime", "cudaLaunchKernel", tid, start, 5.5, cbid=211, **ids)
        self.slice(
            "kernel",
            name,
            stream,
            start + 50,
            dur,
            pid=self.device,
            device=self.device,
            stream=stream,
            context=1,
            grid=[8, 1, 1],
            block=[256, 1, 1],
            **{"registers per thread": 32, "shared memory": 0, "est. achieved occupancy %": 50},
            **{"blocks per SM": 0.5, "warps per SM": 4.0},
            **ids,
        )
        self.flow_half("s", "ac2g", self.correlation, tid, start)
        self.flow_half("f", "ac2g", self.correlation, stream, start + 50, self.device)

    def forward(self, start):
        self.op("DistributedDataParallel.forward", self.main, start, 3000, "user_annotation")
        for layer in range(LAYERS):
            at = start + 100 + 1000 * layer
            self.op("aten::linear", self.main, at, 900)
            dims = {"Input Dims": [[4, 8], [8, 4]], "Input type": ["float", "float"]}
            self.op("aten::addmm", self.main, at + 100, 700, **dims)
            self.kernel("gemm", self.main, at + 200, GEMM_US, 7, self.external)
            self.flow += 1
            self.flow_half("s", "fwdbwd", self.flow, self.main, at + 100)

    def all_reduce(self, start):
        self.op("record_param_comms", self.backward, start, 600)
        outer = self.external
        self.op(
            f"{self.library}:all_reduce",
            self.backward,
            start + 50,
            500,
            "user_annotation",
            **{"Input Dims": [[294912]], "Input type": ["float"]},
        )
        self.kernel("ncclKernel", self.backward, start + 100, ALL_REDUCE_KERNEL_US, 17, outer)

    def back(self, start, collectives):
        for layer in range(LAYERS):
            at = start + 1500 * layer
            name = "autograd::engine::evaluate_function: AddmmBackward0"
            self.op(name, self.backward, at, 1400)
            self.flow_half("f", "fwdbwd", self.flow - layer, self.backward, at)
            self.op("aten::mm", self.backward, at + 100, 400)
            if layer < collectives:
                self.all_reduce(at + 600)

    def step(self, start, collectives):
        self.forward(start + 100)
        self.back(start + 3200, collectives)
        self.op("Optimizer.step#SGD.step", self.main, start + 7000, 2000, "user_annotation")
        self.op("aten::add_", self.main, start + 7100, 400)

    def meta(self, what, pid, tid, /, **args):
        self.events.append(
            {"name": what, "ph": "M", "ts": FIRST_US, "pid": pid, "tid": tid, "args": args}
        )

    def frame(self, length):
        """What Kineto says about itself, around the events."""
        self.meta("process_name", self.pid, 0, name="python3")
        self.meta("thread_name", self.pid, self.main, name=f"thread {self.main} (python3)")
        self.meta(
            "thread_name", self.pid, self.backward, name=f"thread {self.backward} (pt_autograd_0)"
        )
        self.slice("Trace", "PyTorch Profiler (0)", "PyTorch Profiler", 0, length, pid="Spans")
        for name, at in (("Iteration Start: PyTorch Profiler", 0), ("Record Window End", length)):
            self.events.append(
                {"name": name, "ph": "i", "s": "g", "pid": "", "tid": "", "ts": FIRST_US + at}
            )


def write(
    path, rank, steps=5, library="gloo", device=None, short_step=None, restart=None, extra=()
):
    """Writes the trace of one rank.

    short_step: number (from 0) of a step that lacks one all-reduce. restart: number of the step
    that is the first of a second window, in which all ids begin anew. extra: calls that add to
    the sample before it is written. Gives the Sample.
    """
    sample = Sample(rank, library, device)
    for number in range(steps):
        if number == restart:
            sample.external = sample.correlation = sample.flow = 0
        sample.step(STEP_US * number, LAYERS - 1 if number == short_step else LAYERS)
    for add in extra:
        add(sample)
    sample.frame(STEP_US * steps)
    path.write_text(
        json.dumps(
            {
                "schemaVersion": 1,
                "deviceProperties": [],
                "displayTimeUnit": "ms",
                "baseTimeNanoseconds": BASE_NS,
                "traceEvents": sample.events,
                "traceName": str(path),
            },
            indent=1,
        )
    )
    return sample
