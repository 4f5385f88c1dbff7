# SPDX-License-Identifier: Apache-2.0
"""infprof merge: what other programs write, and what of it is drawn."""

import gzip
import json
import unittest

import harness


class Sources(harness.TestCase):
    def merge(self, content, name="rank0.json"):
        """Merges one trace; --json's answer."""
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        result = harness.run([harness.INFPROF, "merge", "--json", path, "-o", self.output])
        self.assertEnded(result, 0)
        return json.loads(result.stdout)

    def drawn(self):
        """What the timeline shows, without what describes rows and steps."""
        merged, = (self.output / "merged").glob("*.json.gz")
        with gzip.open(merged) as file:
            events = json.load(file)["traceEvents"]
        return [e for e in events
                if e["ph"] != "M" and not e["name"].startswith("ProfilerStep#")]

    def slices(self):
        return [(e["name"], e["cat"], e["dur"]) for e in self.drawn() if e["ph"] == "X"]

    def rows(self, what):
        return [(row["count"], row["why"]) for row in harness.report(self.output)["ledger"]
                if row["what"] == what]


    def rows_of_lanes(self):
        """What each event of the timeline is drawn on: (name, title of its row)."""
        merged, = (self.output / "merged").glob("*.json.gz")
        with gzip.open(merged) as file:
            events = json.load(file)["traceEvents"]
        titles = {(e["pid"], e["tid"]): e["args"]["name"] for e in events
                  if e["name"] == "thread_name"}
        return {(e["ph"], e["name"], titles.get((e["pid"], e.get("tid")))) for e in events
                if e["ph"] != "M"}

    def exported(self):
        return harness.export(self.output, rank=0)


class Kineto(Sources):
    def test_the_first_form(self):
        """PyTorch 1.8: categories in capitals, streams by name, ids in small letters."""
        events = [
            {"ph": "X", "cat": "Operator", "name": "aten::mm", "pid": 10, "tid": "20", "ts": 1635202069792700,
             "dur": 50, "args": {"Device": 10, "External id": 2, "Trace name": "PyTorch Profiler",
                                 "Trace iteration": 0}},
            {"ph": "X", "cat": "Runtime", "name": "cudaLaunchKernel", "pid": 10, "tid": "20",
             "ts": 1635202069792710, "dur": 5, "args": {"cbid": 211, "correlation": 34, "external id": 2}},
            {"ph": "s", "id": 34, "pid": 10, "tid": "20", "ts": 1635202069792710, "cat": "async", "name": "launch"},
            {"ph": "X", "cat": "Kernel", "name": "gemm", "pid": 0, "tid": "stream 7",
             "ts": 1635202069792720, "dur": 20, "args": {
                 "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": 34,
                 "external id": 2, "registers per thread": 16}},
            {"ph": "f", "id": 34, "pid": 0, "tid": "stream 7", "ts": 1635202069792720, "cat": "async",
             "name": "launch", "bp": "e"},
            {"ph": "X", "cat": "Memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": "stream 7",
             "ts": 1635202069792750, "dur": 2, "args": {"stream": 7, "correlation": 35, "external id": 2}},
            {"ph": "M", "name": "process_name", "pid": 0, "ts": 0, "tid": 0, "args": {"name": "python"}},
        ]
        answer = self.merge({"schemaVersion": 1, "traceEvents": events})
        self.assertEqual([n["what"] for n in answer["notes"] if n["fault"]], [])
        on = self.rows_of_lanes()
        stream = "GPU 0 stream 7"
        for thing in (("X", "gemm", stream), ("X", "Memcpy HtoD", stream), ("f", "launch", stream)):
            self.assertIn(thing, on)
        self.assertEqual([e["tid"] for e in self.exported() if e["name"] == "gemm"], ["stream 7"])
        ranks, = (self.output / "ranks").glob("*.json.gz")
        with gzip.open(ranks) as file:
            analysed = {e["name"]: e for e in json.load(file)["traceEvents"] if e["ph"] == "X"}
        self.assertEqual([analysed[n]["cat"] for n in ("aten::mm", "cudaLaunchKernel", "gemm")],
                         ["cpu_op", "Runtime", "kernel"])
        self.assertEqual(analysed["gemm"]["args"]["correlation"],
                         analysed["cudaLaunchKernel"]["args"]["correlation"])

    def test_work_of_other_devices(self):
        """Of whatever vendor: kernels are on their streams, and launches are launches."""
        for kernel, launch in [("kernel", "cuda_runtime"), ("kernel", "cuda_driver"),
                               ("kernel", "xpu_driver"), ("mtia_ccp_events", "mtia_runtime"),
                               ("kernel", "privateuse1_runtime"), ("gpu_memcpy", "xpu_runtime")]:
            with self.subTest(kernel=kernel, launch=launch):
                self.output = self.folder / f"{kernel}-{launch}"
                self.merge([
                    {"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": 1, "ts": 10, "dur": 9,
                     "args": {"External id": 1}},
                    {"ph": "X", "cat": launch, "name": "launch", "pid": 1, "tid": 1, "ts": 11, "dur": 2,
                     "args": {"External id": 1, "correlation": 4}},
                    {"ph": "X", "cat": kernel, "name": "work", "pid": 2, "tid": 3, "ts": 15, "dur": 2,
                     "args": {"device": 2, "stream": 3, "External id": 1, "correlation": 4}}])
                self.assertIn(("X", "work", "GPU 2 stream 3"), self.rows_of_lanes())
                ranks, = (self.output / "ranks").glob("*.json.gz")
                with gzip.open(ranks) as file:
                    analysed = {e["name"]: e["cat"] for e in json.load(file)["traceEvents"]
                                if e["ph"] == "X"}
                self.assertEqual(analysed["launch"], "Runtime")
                self.assertIn(analysed["work"], ("kernel", "gpu_memcpy"))


class Nccl(Sources):
    """The files of the profiler plug-in that NCCL has as an example: b and e, an array that ends {}]."""

    @staticmethod
    def pair(name, category, number, start, stop, args="", thread=1):
        begin = f', "args": {{{args}}}' if args else ""
        head = f'{{"name": "{name}", "cat": "{category}", "ph": "%s", "id": {number}, "pid": 225798, ' \
               f'"tid": {thread}, "ts": %s%s}},\n'
        return head % ("b", start, begin), head % ("e", stop, "")

    def sample(self, datatype='"ncclFloat32"', stream='"0x4142e90"'):
        coll = self.pair("AllReduce", "COLL", 0, "2001.250000", "2900.500000",
                         '"SeqNum": 0, "CommHash": 12715772615376301750, "Rank": 0, "Count": 65536, '
                         '"Datatype": "ncclFloat32", "Algorithm": "RING", "Protocol": "SIMPLE", "nChannels": 2')
        api = self.pair("AllReduce", "COLL_API", 0, "2000.000000", "2003.000000",
                        f'"count": 65536, "datatype": {datatype}, "root": 0, "GraphCaptured": 0, '
                        f'"Stream": {stream}')
        send = self.pair("ScheduleSend", "PROXY", 0, "2100.000000", "2150.000000", '"Channel": 0, "Peer": 1')
        idle = self.pair("Idle", "PROXY", 0, "2120.000000", "2180.000000")
        net = self.pair("SendWait", "NET", 0, "2200.000000", "2300.000000", '"Step": 0')
        launch = self.pair("KernelLaunch", "KERNEL_LAUNCH", 0, "2000.500000", "2000.900000")
        return "[\n" + api[0] + coll[0] + send[0] + send[1] + net[0] + net[1] + coll[1] + api[1] \
            + idle[0] + idle[1] + launch[0] + launch[1] + "{}]\n"

    DRAWN = [("AllReduce", "COLL", 899.25), ("AllReduce", "COLL_API", 3.0),
             ("ScheduleSend", "PROXY", 50.0), ("Idle", "PROXY", 60.0), ("SendWait", "NET", 100.0),
             ("KernelLaunch", "KERNEL_LAUNCH", 0.4)]

    def test_collectives_are_drawn(self):
        answer = self.merge(self.sample().encode(), "rank0.json")
        self.assertEqual(answer["sources"][0]["events"], 12)
        self.assertEqual([(n["what"], n["count"], n["fault"]) for n in answer["notes"]
                          if n.get("file")], [("trace-left-out", 1, False)])
        self.assertCountEqual(self.slices(), self.DRAWN)
        coll, = [e for e in self.drawn() if e["cat"] == "COLL"]
        self.assertEqual(coll["args"]["CommHash"], 12715772615376301750)

    def test_names_of_types_without_quotes(self):
        """As versions of it wrote them: no JSON."""
        answer = self.merge(self.sample("ncclFloat32", "0x4142e90").encode(), "rank0.json")
        self.assertEqual(answer["sources"][0]["events"], 12)
        self.assertEqual([(n["what"], n["count"]) for n in answer["notes"] if n.get("file")],
                         [("trace-left-out", 1), ("trace-repaired", 1)])
        self.assertCountEqual(self.slices(), self.DRAWN)
        api, = [e for e in self.drawn() if e["cat"] == "COLL_API"]
        self.assertEqual((api["args"]["datatype"], api["args"]["Stream"]), ("ncclFloat32", "0x4142e90"))

    def test_a_start_of_zero(self):
        """A known fault of it: the start was not taken. Of an array without a base 0 may be right."""
        text = self.sample().replace("2000.500000", "0.000000")
        self.merge(text.encode(), "rank0.json")
        self.assertIn(("KernelLaunch", "KERNEL_LAUNCH", 2000.9), self.slices())


class Phases(Sources):
    def test_halves_are_drawn_as_slices(self):
        place = {"pid": 1, "tid": 1}
        self.merge({"traceEvents": [
            {"ph": "B", "name": "outer", "cat": "c", "ts": 10, **place, "args": {"a": 1}},
            {"ph": "B", "name": "inner", "cat": "c", "ts": 11, **place},
            {"ph": "E", "ts": 14, **place},
            {"ph": "E", "name": "outer", "ts": 20.5, **place, "args": {"b": 2}},
            {"ph": "b", "name": "send", "cat": "n", "id": 3, "ts": 12, **place},
            {"ph": "n", "name": "half way", "cat": "n", "id": 3, "ts": 13, **place},
            {"ph": "e", "name": "send", "cat": "n", "id": 3, "ts": 30, **place},
            {"ph": "S", "name": "old", "cat": "n", "id": 9, "ts": 15, **place},
            {"ph": "F", "name": "old", "cat": "n", "id": 9, "ts": 16, **place},
            {"ph": "R", "name": "mark", "ts": 17, **place},
            {"ph": "b", "name": "lost", "cat": "n", "id": 4, "ts": 18, **place},
            {"ph": "E", "name": "never begun", "ts": 40, **place},
            {"ph": "N", "name": "object", "id": 1, "ts": 19, **place},
        ]})
        self.assertCountEqual(self.slices(), [
            ("outer", "c", 10.5), ("inner", "c", 3), ("send", "n", 18), ("old", "n", 1)])
        events = self.drawn()
        outer, = [e for e in events if e["name"] == "outer"]
        self.assertEqual(outer["args"], {"a": 1, "b": 2})
        self.assertEqual({e["name"] for e in events if e["ph"] == "i"}, {"half way", "mark"})
        count, why = self.rows("timeline-left-out")[0]
        self.assertEqual(count, 3)
        self.assertIn("halves of slices whose other half was not recorded", why)


if __name__ == "__main__":
    unittest.main()
