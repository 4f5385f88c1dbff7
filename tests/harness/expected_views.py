# SPDX-License-Identifier: Apache-2.0
"""The numbers that the views of TensorBoard's PyTorch plug-in should show of a job, from the events
of its ranks as `infprof export` gives them back: written from what the views say they show, on whole
nanoseconds, and without any of the plug-in's code.

A view's time is in us. Everything is of the steps that the profiler recorded (ProfilerStep#N).
"""

import bisect
import collections
import json

from breakdown import DEVICE, common, length, ns, union

LAUNCHES = ("cuda_runtime", "cuda_driver")
OPERATORS = ("cpu_op", "user_annotation")
BYTES = {"float": 4, "int": 4, "long int": 8, "c10::Half": 2, "c10::BFloat16": 2,
         "unsigned char": 1}  # fmt: skip


class Slice:
    """One event with its children: what it holds on its thread."""

    def __init__(self, event):
        self.name, self.category = event["name"], event.get("cat", "")
        self.args = event.get("args", {})
        self.start = ns(event["ts"])
        self.end = self.start + ns(event["dur"])
        self.lane = event["pid"], event["tid"]
        self.parent = None
        self.launched = []  # on a GPU, by a launch

    @property
    def span(self):
        return self.start, self.end

    @property
    def dur(self):
        return self.end - self.start

    @property
    def is_step(self):
        return self.name.startswith("ProfilerStep#")

    @property
    def is_collective(self):
        return self.category in OPERATORS and self.name.startswith(("nccl:", "gloo:"))

    @property
    def size(self):
        """In bytes, of a collective."""
        total = 0
        for dims, kind in zip(self.args.get("Input Dims", []), self.args.get("Input type", [])):
            elements = 1
            for dim in dims:
                elements *= dim
            total += elements * BYTES[kind]
        return total


def within(spans, step):
    return [(max(s, step[0]), min(e, step[1])) for s, e in spans if s < step[1] and e > step[0]]


def without(spans, others):
    """The time of spans that is not in others."""
    left = []
    others = union(others)
    for start, end in union(spans):
        for other_start, other_end in others:
            if other_end <= start or other_start >= end:
                continue
            if other_start > start:
                left.append((start, other_start))
            start = max(start, other_end)
        if start < end:
            left.append((start, end))
    return left


class Rank:
    """One rank of the job."""

    def __init__(self, events):
        slices = [Slice(e) for e in events if e["ph"] == "X" and "dur" in e]
        self.host = [s for s in slices if s.category in (*OPERATORS, *LAUNCHES)]
        self.steps = sorted((s for s in self.host if s.is_step), key=lambda s: s.start)
        inside = [s.span for s in self.steps]
        self.host = [s for s in self.host if any(a <= s.start < b for a, b in inside)]
        self._nest()
        self.launches = [s for s in self.host if s.category in LAUNCHES]
        self.operators = [s for s in self.host if s.category in OPERATORS and not s.is_step]
        by_correlation = {s.args["correlation"]: s for s in self.launches}
        self.device = []
        for s in slices:
            launch = s.category in DEVICE and by_correlation.get(s.args["correlation"])
            if launch:
                launch.launched.append(s)
                s.launch = launch
                self.device.append(s)
        self.memory = [e for e in events if e["ph"] == "i" and e["name"] == "[memory]"
                       and any(a <= ns(e["ts"]) < b for a, b in inside)]
        self._find_owners()
        self._fold_repeated()

    def _nest(self):
        lanes = collections.defaultdict(list)
        for s in self.host:
            lanes[s.lane].append(s)
        for lane in lanes.values():
            stack = []
            for s in sorted(lane, key=lambda s: (s.start, -s.dur, not s.is_step)):
                while stack and stack[-1].end <= s.start:
                    stack.pop()
                s.parent = stack[-1] if stack else None
                if s.category in OPERATORS:
                    stack.append(s)

    def _find_owners(self):
        """Of a launch: the collective around it, else the operator that it names."""
        by_id = {s.args["External id"]: s for s in self.operators if "External id" in s.args}
        for launch in self.launches:
            owner = launch.parent
            while owner and not owner.is_collective:
                owner = owner.parent
            launch.owner = owner or by_id.get(launch.args.get("External id"))

    def _fold_repeated(self):
        """
        An operator with nothing but one of its own name inside is counted once (aten::linear in
        aten::linear): the outer one's time, and what the inner one holds.
        """
        children, launched = (collections.defaultdict(list) for _ in range(2))
        for s in self.operators:
            children[id(s.parent)].append(s)
        for launch in self.launches:
            launched[id(launch.owner)].append(launch)
        folded = set()
        for s in sorted(self.operators, key=lambda s: (s.start, -s.dur)):
            inside = children[id(s)]
            while len(inside) == 1 and inside[0].name == s.name and id(s) not in folded:
                inner, = inside
                folded.add(id(inner))
                inside = children[id(s)] = children[id(inner)]
                for child in inside:
                    child.parent = s
                for launch in launched[id(s)]:
                    launch.owner = None
                launched[id(s)] = launched[id(inner)]
                for launch in launched[id(s)]:
                    launch.owner = s
        self.operators = [s for s in self.operators if id(s) not in folded]

    def collectives(self):
        return sorted((s for s in self.operators if s.is_collective), key=lambda s: s.start)

    def ranges(self, collective):
        """Of one collective: on the host, then its kernels."""
        kernels = [d.span for launch in self.launches if launch.owner is collective
                   for d in launch.launched if d.category == "kernel"]
        return sorted([collective.span, *kernels], key=lambda span: (span[0], -span[1]))

    def step_spans(self):
        """A step lasts until the last of what it has launched has ended; the next begins there."""
        spans, before = [], self.steps[0].start
        for step in self.steps:
            ends = [d.end for launch in self.launches
                    if step.start <= launch.start and launch.end <= step.end
                    for d in launch.launched]
            spans.append((max(before, step.start), max([step.end, *ends])))
            before = spans[-1][1]
        return spans

    def roles(self):
        """What a rank does, in the order in which a moment is counted."""
        owned = [(d, d.launch.owner) for d in self.device if d.category == "kernel"]
        of_collectives = [d.span for d, owner in owned if owner and owner.is_collective]
        return {
            "Kernel": [d.span for d, owner in owned if not (owner and owner.is_collective)],
            "Memcpy": [d.span for d in self.device if d.category == "gpu_memcpy"],
            "Memset": [d.span for d in self.device if d.category == "gpu_memset"],
            "Communication": of_collectives + [s.span for s in self.collectives()],
            "Runtime": [s.span for s in self.launches],
            "DataLoader": [],
            "CPU Exec": [s.span for s in self.operators if not s.is_collective],
        }

    def overview(self):
        """By step: us of each role."""
        table = {}
        for step, span in zip(self.steps, self.step_spans()):
            row, left = {}, [span]
            for role, spans in self.roles().items():
                rest = without(left, spans)
                row[role] = (length(left) - length(rest)) / 1000
                left = rest
            row["Other"] = length(left) / 1000
            table[step.name.split("#")[1]] = row
        return table

    def overlap(self):
        """By step: us of computation alone, of both, of communication alone, of neither."""
        table, roles = {}, self.roles()
        for step, span in zip(self.steps, self.step_spans()):
            compute = within(roles["Kernel"], span)
            communication = within(roles["Communication"], span)
            both = common(compute, communication)
            alone = length(compute) - both, length(communication) - both
            neither = span[1] - span[0] - both - sum(alone)
            table[step.name.split("#")[1]] = [v / 1000 for v in (alone[0], both, alone[1], neither)]
        return table

    def operator_table(self):
        """By name: calls, and us on the host and on the GPU, in all and by themselves."""
        table = collections.defaultdict(collections.Counter)
        inner, owned, device = (collections.Counter() for _ in range(3))
        for s in self.operators:
            inner[id(s.parent)] += s.dur
        for launch in self.launches:
            if launch.owner:
                owned[id(launch.owner)] += launch.dur
                device[id(launch.owner)] += sum(d.dur for d in launch.launched)
        total_device = collections.Counter()
        for s in self.operators:
            around = s
            while around:
                total_device[id(around)] += device[id(s)]
                around = around.parent
        for s in self.operators:
            if s.name.startswith("Optimizer.") or s.category != "cpu_op" and not s.is_collective:
                continue
            row = table[s.name]
            row["calls"] += 1
            row["host_total_duration"] += s.dur
            row["host_self_duration"] += s.dur - inner[id(s)] - owned[id(s)]
            row["device_total_duration"] += total_device[id(s)]
            row["device_self_duration"] += device[id(s)]
        return table

    def kernel_table(self):
        """By name: calls and us: total, mean, longest, shortest."""
        durations = collections.defaultdict(list)
        for d in self.device:
            if d.category == "kernel":
                durations[d.name].append(d.dur / 1000)
        return {name: (len(v), sum(v), sum(v) / len(v), max(v), min(v))
                for name, v in durations.items()}

    def memory_table(self):
        """By device and operator: bytes more, bytes more by itself, allocations, those by itself,
        bytes allocated, those by itself."""
        table = collections.defaultdict(lambda: collections.defaultdict(collections.Counter))
        lanes = collections.defaultdict(list)
        for s in sorted(self.operators, key=lambda s: (s.start, -s.dur)):
            lanes[s.lane].append(s)
        for e in self.memory:
            at, size = ns(e["ts"]), e["args"]["Bytes"]
            device = f"GPU{e['args']['Device Id']}" if e["args"]["Device Type"] else "CPU"
            lane = lanes[e["pid"], e["tid"]]
            i = bisect.bisect_right([s.start for s in lane], at) - 1
            inner = lane[i] if i >= 0 else None
            while inner and inner.end < at:
                inner = inner.parent
            own = True
            while inner and not inner.is_step:
                row = table[device][inner.name]
                for word, by in (("more", size), ("allocations", size > 0),
                                 ("allocated", max(size, 0))):
                    row[word] += by
                    row["own " + word] += by * own
                own, inner = False, inner.parent
        return table


def waiting(ranks):
    """
    Of each rank and step: us of data transfer and of waiting. The shortest of the ranks' ranges of
    one collective is what the transfer takes.
    """
    lists = [[(s, rank.ranges(s)) for s in rank.collectives()] for rank in ranks]
    tables = []
    for rank, mine in zip(ranks, lists):
        steps = collections.defaultdict(lambda: ([], []))
        for k, (collective, ranges) in enumerate(mine):
            step = next(s for s in rank.steps if s.start <= collective.start < s.end)
            whole, transfer = steps[step.name.split("#")[1]]
            for j, (start, end) in enumerate(ranges):
                shortest = min(o[k][1][j][1] - o[k][1][j][0] for o in lists)
                whole.append((start, end))
                transfer.append((end - shortest, end))
        tables.append({step: [length(transfer) / 1000, (length(whole) - length(transfer)) / 1000]
                       for step, (whole, transfer) in steps.items()})
    return tables


