# SPDX-License-Identifier: Apache-2.0
"""Programs that end while PyTorch's profiler holds a window end as they would without infprof.

Without the hook's wait such a process dies of a segmentation fault: in torch's destructors while a
window is recorded, in Kineto's thread while it is written.
"""

import concurrent.futures
import textwrap
import unittest

from harness import AGENT, PYTHON, TestCase, environment, run, wait_for_report

# until(condition): steps of many operators, until then. window(): Kineto has begun one.
PROGRAM = """
    import glob, os, sys, threading, time
    import torch
    torch.set_num_threads(1)
    model = torch.nn.Linear(8, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    count = 0
    def step():
        global count
        value = torch.zeros(4, 8)
        for _ in range(300):
            value.add_(0.001)
        model(value).sum().backward()
        optimizer.step()
        count += 1
        time.sleep(0.005)
    def until(condition):
        end = time.monotonic() + 60
        while not condition():
            assert time.monotonic() < end
            step()
    folder = os.environ["KINETO_ONDEMAND_TRACE_DIR"]
    def window():
        return glob.glob(folder + "/window*.tmp")
    def steps(number):
        for _ in range(number):
            step()
    def work_in_the_background():
        # No call of torch's: a daemon thread that is in one at the end aborts any program.
        while True:
            sum(range(1000))
            time.sleep(0.001)
    class Items(torch.utils.data.Dataset):
        def __len__(self):
            return 1000
        def __getitem__(self, i):
            return torch.ones(1) * i
    def keep_loading():
        loader = torch.utils.data.DataLoader(Items(), num_workers=1, persistent_workers=True)
        items = iter(loader)
        next(items)
        return items
"""
IN_THE_WINDOW = "until(window); steps(5)"
BEHIND_THE_WINDOW = "until(window); steps(22)"
# Its file is complete, and Kineto frees its memory; no step goes on meanwhile.
WRITTEN = BEHIND_THE_WINDOW + """
while window():
    time.sleep(0.005)
"""

IN_THREADS = "threading.Thread(target=work_in_the_background, daemon=True).start()\n"
FAILS = "\nprint('done')\nraise ValueError('mine')"
EXITS = "\nprint('done')\nsys.exit(3)"
ENDS = "\nprint('done')"

# name, code, status, --steps, (outcome, steps recorded at least, at most)
PROGRAMS = [
    ("far before", "steps(250)" + ENDS, 0, "100000:100020", ("ended", 0, 0)),
    ("at its beginning", "until(window)" + ENDS, 0, "20", ("ended", 0, 0)),
    ("inside", IN_THE_WINDOW + EXITS, 3, "20", ("recorded", 4, 6)),
    ("inside, threads", IN_THREADS + IN_THE_WINDOW + FAILS, 1, "20", ("recorded", 4, 6)),
    ("collected", BEHIND_THE_WINDOW + ENDS, 0, "20", ("recorded", 20, 20)),
    ("processed", BEHIND_THE_WINDOW + "; time.sleep(1.2)" + EXITS, 3, "20", ("recorded", 20, 20)),
    ("written", WRITTEN + ENDS, 0, "20", ("recorded", 20, 20)),
    ("written, loader", "items = keep_loading()\n" + WRITTEN + FAILS, 1, "20", ("recorded", 20, 20)),
]


class WindowAtExit(TestCase):
    def agent(self, i):
        _, code, _, steps, _ = PROGRAMS[i]
        path = self.folder / f"program{i}.py"
        path.write_text(textwrap.dedent(PROGRAM) + code)
        output = self.folder / f"out{i}"
        return run([AGENT, "-o", output, "--steps", steps, "--", PYTHON, path], timeout=150,
                   env=environment()), output

    def assertRecorded(self, output, outcome, least, most):
        found = wait_for_report(output)
        window = found["windows"][-1]  # a loaded machine may be late for the first attempt
        self.assertEqual(window["outcome"], outcome, found)
        steps = window["last_step"] - window["first_step"] + 1 if window["last_step"] else 0
        self.assertTrue(least <= steps <= most, (steps, found))
        cut = [row for row in found["ledger"] if row["what"].startswith("window-")
               and "the program ended" in row["why"]]
        self.assertEqual(len(cut), 0 if steps == 20 else 1, found["ledger"])

    def test_programs_end_as_without_infprof(self):
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            ended = list(pool.map(self.agent, range(len(PROGRAMS))))
        for (name, _, status, _, expected), (result, output) in zip(PROGRAMS, ended):
            with self.subTest(name):
                self.assertEnded(result, status)
                self.assertEqual(result.stdout, "done\n")
                self.assertRecorded(output, *expected)


if __name__ == "__main__":
    unittest.main()
