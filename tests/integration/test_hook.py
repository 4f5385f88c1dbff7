# SPDX-License-Identifier: Apache-2.0
"""The start-up hook in real Python programs: what it reports, and that programs stay whole.

Each program runs under kineto_driver, which does for it what the agent does.
"""

import json
import os
import pathlib
import re
import tempfile
import textwrap
import unittest

import harness
from harness import BUILD, PYTHON

HOOK_FOLDER = BUILD / "lib/infprof/python"
LIBRARY = BUILD / "lib/infprof/libinfprof.so"
DRIVER = BUILD / "tests/kineto_driver"

# enum ifp_hook_bits, core/segment.h
LOADED, TORCH, STEPPED, ARMED = 1 << 0, 1 << 1, 1 << 2, 1 << 3
PROFILER_BEFORE, PROFILER_AFTER = 1 << 4, 1 << 5
NO_SYMBOL, FORWARD, ERROR = 1 << 6, 1 << 7, 1 << 8

# A program that trains: train(n) makes n steps of 20 ms.
TRAIN = """
import os, sys, time
import torch
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def train(steps, pause=0.02):
    for _ in range(steps):
        model(torch.randn(4, 8)).sum().backward()
        optimizer.step()
        time.sleep(pause)
"""

# Files of a package that has the names of torch which the hook uses, but no Kineto.
TORCH_WITHOUT_KINETO = {
    "torch/__init__.py": "import _ctypes as _C, torch.autograd.profiler",
    "torch/autograd/__init__.py": "def _kineto_step(): raise RuntimeError",
    "torch/autograd/profiler.py": "class profile: pass",
    "torch/optim/__init__.py": "",
    "torch/optim/optimizer.py": """
        hooks = []
        register_optimizer_step_post_hook = hooks.append
        class Optimizer:
            def step(self):
                for hook in hooks:
                    hook(self, (), {})
        """,
}


class Run:
    """One program under the driver: its output, and what was recorded of it."""

    def __init__(self, program, options=(), environment=None, python=(PYTHON,)):
        with tempfile.TemporaryDirectory() as folder:
            script = os.path.join(folder, "program.py")
            with open(script, "w") as file:
                file.write(program)
            done = harness.run(
                [DRIVER, *options, LIBRARY, HOOK_FOLDER, "--", *python, script],
                env=harness.environment(**{"PYTHONPATH": None, **(environment or {})}),
            )
        self.stdout, mark, rest = done.stdout.partition('{"wait_status"')
        self.stderr = done.stderr
        if done.returncode != 0 or not mark:
            raise AssertionError(str(done))
        self.__dict__.update(json.loads(mark + rest))


class HookTest(unittest.TestCase):
    def run_whole(self, program, *options, **more):
        """Runs a program that must end well, and print no more than without infprof."""
        run = Run(textwrap.dedent(program), options, **more)
        # Torch's profiler and its compiler print such lines themselves.
        said = [line for line in run.stderr.splitlines() if not re.match(r"USDT:|W\d{4} ", line)]
        self.assertEqual((run.wait_status, said), (0, []))
        return run


class Steps(HookTest):
    def test_each_step_is_a_mark(self):
        run = self.run_whole(TRAIN + "train(30, 0)")
        self.assertEqual((run.step_count, run.marks, run.marks_in_order), (30, 30, True))
        self.assertEqual(run.claim_pid, run.program_pid)
        # Windows were not wanted.
        self.assertEqual(run.hook_bits, LOADED | TORCH | STEPPED)

    def test_several_optimizers_count_iterations(self):
        run = self.run_whole("""
            import torch
            models = [torch.nn.Linear(2, 2) for _ in range(3)]
            optimizers = [torch.optim.SGD(model.parameters(), lr=0.1) for model in models]
            def step(which):
                models[which](torch.ones(2)).sum().backward()
                optimizers[which].step()
            for iteration in range(10):
                step(0)
                step(1)
                if iteration % 2:
                    step(2)
            """)
        self.assertEqual(run.step_count, 10)

    def test_a_new_optimizer_goes_on_counting(self):
        run = self.run_whole(TRAIN + textwrap.dedent("""
            train(10, 0)
            optimizer = torch.optim.Adam(model.parameters())
            train(11, 0)
            """))
        # Its first step counts as part of the iteration that was running.
        self.assertEqual(run.step_count, 20)

    def test_compiled_steps_are_counted(self):
        run = self.run_whole(TRAIN + textwrap.dedent("""
            import warnings
            warnings.filterwarnings("error", message=".*global hooks.*")
            compiled = torch.compile(model, backend="eager", fullgraph=True)
            for _ in range(5):
                compiled(torch.randn(4, 8)).sum().backward()
                optimizer.step()
            step = torch.compile(optimizer.step, backend="eager")
            for _ in range(5):
                step()
            """), "--steps", "5")
        self.assertEqual(run.hook_bits & (STEPPED | ERROR), STEPPED)
        self.assertEqual(run.step_count, 10)


class Windows(HookTest):
    def test_exactly_the_steps_asked_for(self):
        run = self.run_whole(
            TRAIN + 'train(450)\nprint("KINETO_USE_DAEMON" in os.environ)',
            "--steps", "5", "--ahead", "110", "--windows", "2",
        )
        self.assertEqual(run.stdout, "False\n")
        self.assertEqual(run.hook_bits, LOADED | TORCH | STEPPED | ARMED)
        self.assertEqual((run.marks, run.marks_in_order), (450, True))
        self.assertEqual(len(run.windows), 2)
        for window in run.windows:
            self.assertEqual((window["outcome"], window["reason"]), ("recorded", ""))
            first = window["first_step"]
            self.assertEqual(window["steps"], list(range(first, first + 5)))
            self.assertGreater(window["operators"], 50)

    def test_a_program_that_ends_before_its_window(self):
        run = self.run_whole(TRAIN + "train(60)", "--steps", "5", "--ahead", "1000")
        self.assertEqual([window["outcome"] for window in run.windows], ["ended"])

    def test_inference_gets_a_window_of_time(self):
        run = self.run_whole("""
            import time
            import torch
            model = torch.nn.Linear(64, 64)
            end = time.monotonic() + 10
            with torch.no_grad():
                while time.monotonic() < end:
                    model(torch.ones(4, 64))
                    time.sleep(0.005)
            """, "--time", "300")
        self.assertEqual(run.hook_bits, LOADED | TORCH | ARMED | FORWARD)
        (window,) = run.windows
        self.assertEqual(window["outcome"], "recorded")
        self.assertGreater(window["operators"], 20)
        self.assertAlmostEqual(window["duration_ns"] / 1e6, 300, delta=60)

    def test_a_forward_call_before_training_does_not_count_as_inference(self):
        run = self.run_whole(TRAIN + textwrap.dedent("""
            with torch.no_grad():
                model(torch.ones(8))
            train(3)
            """), "--steps", "5")
        self.assertEqual(run.hook_bits, LOADED | TORCH | STEPPED | ARMED)

    def test_a_program_that_asks_for_the_daemon_itself(self):
        """Torch counts the steps then, and the hook must not count them a second time."""
        run = self.run_whole(
            TRAIN + 'train(250)\nprint(os.environ["KINETO_USE_DAEMON"])',
            "--steps", "5", "--ahead", "110", environment={"KINETO_USE_DAEMON": "1"},
        )
        self.assertEqual(run.stdout, "1\n")
        (window,) = run.windows
        first = window["first_step"]
        self.assertEqual(window["steps"], list(range(first, first + 5)))


class OwnProfiler(HookTest):
    """Kineto armed beside a profiler of the program's own would crash the program."""

    def test_used_before_the_first_step(self):
        run = self.run_whole(TRAIN + textwrap.dedent("""
            with torch.profiler.profile() as profiler:
                model(torch.ones(8))
            assert any("linear" in event.key for event in profiler.key_averages())
            train(300)
            """), "--steps", "5", "--ahead", "100")
        self.assertEqual(run.hook_bits, LOADED | TORCH | STEPPED | PROFILER_BEFORE)
        (window,) = run.windows
        self.assertEqual(window["outcome"], "lost")
        self.assertIn("not armed", window["reason"])
        self.assertEqual(run.step_count, 300)

    def test_warming_up_at_the_first_step(self):
        run = self.run_whole(TRAIN + textwrap.dedent("""
            from torch.profiler import profile, schedule
            plan = schedule(wait=0, warmup=5, active=3)
            with profile(schedule=plan, acc_events=True) as profiler:
                for _ in range(8):
                    train(1)
                    profiler.step()
            train(50)
            """), "--steps", "5")
        self.assertEqual(run.hook_bits & (ARMED | PROFILER_BEFORE), PROFILER_BEFORE)
        self.assertEqual(run.step_count, 58)

    def test_recording_at_the_first_step(self):
        run = self.run_whole(TRAIN + textwrap.dedent("""
            with torch.profiler.profile() as profiler:
                train(10)
            assert any("Optimizer.step" in event.key for event in profiler.key_averages())
            """), "--steps", "5")
        self.assertEqual(run.hook_bits & (ARMED | PROFILER_BEFORE), PROFILER_BEFORE)

    def test_started_inside_the_window(self):
        # 60 ms a step: steps 43 to 47 are the window, and the program profiles 45 to 54.
        run = self.run_whole(TRAIN + textwrap.dedent("""
            train(44, 0.06)
            with torch.profiler.profile():
                train(10, 0.06)
            train(20, 0.06)
            """), "--steps", "5", "--ahead", "40")
        self.assertEqual(
            run.hook_bits & (ARMED | PROFILER_BEFORE | PROFILER_AFTER), ARMED | PROFILER_AFTER
        )
        self.assertEqual((run.step_count, len(run.windows)), (74, 1))

    def test_one_that_counts_steps_too_does_not_shift_the_window(self):
        # For 15 iterations it tells Kineto of each, as the hook does.
        run = self.run_whole(TRAIN + textwrap.dedent("""
            from torch.profiler import profile, schedule
            train(1)
            with profile(schedule=schedule(wait=20, warmup=1, active=1)) as profiler:
                for _ in range(15):
                    train(1)
                    profiler.step()
            train(250)
            """), "--steps", "5", "--ahead", "110")
        self.assertEqual(run.hook_bits & (ARMED | ERROR), ARMED)
        (window,) = run.windows
        first = window["first_step"]
        self.assertEqual(window["steps"], list(range(first, first + 5)))

    def test_one_that_is_switched_off_does_not_count(self):
        run = self.run_whole(TRAIN + textwrap.dedent("""
            with torch.autograd.profiler.profile(enabled=False):
                train(3)
            """), "--steps", "5")
        self.assertEqual(run.hook_bits & (ARMED | PROFILER_BEFORE), ARMED)


class Processes(HookTest):
    def test_a_fork_after_the_import_trains(self):
        run = self.run_whole(TRAIN + textwrap.dedent("""
            child = os.fork()
            if child == 0:
                train(5, 0)
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
            print(child)
            """), "--steps", "5")
        self.assertEqual((run.step_count, run.claim_pid), (5, int(run.stdout)))

    def test_a_fork_of_an_armed_process_lives(self):
        run = self.run_whole(TRAIN + textwrap.dedent("""
            train(5, 0)
            child = os.fork()
            if child == 0:
                train(50, 0)
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
            train(5, 0)
            """), "--steps", "5")
        self.assertEqual((run.step_count, run.claim_pid), (10, run.program_pid))

    def test_workers_of_multiprocessing_do_not_count(self):
        run = self.run_whole("""
            import multiprocessing
            import torch
            from torch.utils.data import DataLoader

            def work(item):
                parameter = torch.nn.Parameter(torch.ones(1))
                optimizer = torch.optim.SGD([parameter], lr=0.1)
                parameter.sum().backward()
                optimizer.step()
                return item

            class Items(torch.utils.data.Dataset):
                def __len__(self):
                    return 8
                def __getitem__(self, i):
                    return work(torch.ones(1) * i)

            if __name__ == "__main__":
                assert len(list(DataLoader(Items(), num_workers=2))) == 8
                for method in "spawn", "forkserver":
                    context = multiprocessing.get_context(method)
                    child = context.Process(target=work, args=(1,))
                    child.start()
                    child.join()
                    assert child.exitcode == 0
            """, "--steps", "5")
        self.assertEqual((run.step_count, run.claim_pid), (0, 0))
        self.assertEqual(run.hook_bits, LOADED | TORCH)

    def test_isolated_python_has_no_hook(self):
        run = self.run_whole(TRAIN + "train(3, 0)", "--steps", "5", python=(PYTHON, "-I"))
        self.assertEqual((run.hook_bits, run.step_count), (0, 0))

    def test_a_shell_between(self):
        run = self.run_whole(
            TRAIN + "train(3, 0)", python=("sh", "-c", '"$0" "$1"; exit $?', PYTHON)
        )
        self.assertEqual(run.step_count, 3)


class Python(HookTest):
    """The hook is not noticed by what has nothing to do with torch."""

    def run_with_sitecustomize(self, text, program):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "sitecustomize.py"), "w") as file:
                file.write(textwrap.dedent(text))
            return Run(textwrap.dedent(program), environment={"PYTHONPATH": folder})

    def test_torch_is_not_imported(self):
        run = self.run_whole("""
            import sys
            print([name for name in sys.modules if name.startswith("torch")])
            """)
        self.assertEqual((run.stdout, run.hook_bits), ("[]\n", LOADED))

    def test_the_users_sitecustomize_runs(self):
        run = self.run_with_sitecustomize(
            "import builtins\nbuiltins.mine = __name__",
            "import sitecustomize\nprint(mine, hasattr(sitecustomize, 'builtins'))",
        )
        self.assertEqual((run.stdout, run.stderr), ("sitecustomize True\n", ""))
        self.assertEqual(run.hook_bits, LOADED)

    def test_a_failing_sitecustomize_fails_as_without_the_hook(self):
        run = self.run_with_sitecustomize("raise ValueError('mine')", "print('alive')")
        self.assertEqual((run.stdout, run.wait_status), ("alive\n", 0))
        self.assertIn("ValueError: mine", run.stderr)
        self.assertEqual(run.hook_bits, LOADED)

    def test_without_a_library_nothing_happens(self):
        environment = harness.environment(
            PYTHONPATH=HOOK_FOLDER,
            INFPROF_LIBRARY="/nonexistent/libinfprof.so", INFPROF_SEGMENT="/proc/1/fd/3",
        )
        done = harness.run(
            [PYTHON, "-c", "import sys; print(sys.meta_path[0])"], env=environment
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertNotIn("infprof", done.stdout)

    def test_a_torch_that_cannot_be_armed_is_left_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in TORCH_WITHOUT_KINETO.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(textwrap.dedent(text))
            run = self.run_whole("""
                from torch.optim.optimizer import Optimizer
                optimizer = Optimizer()
                for _ in range(3):
                    optimizer.step()
                """, "--steps", "5", environment={"PYTHONPATH": folder})
        self.assertEqual(run.hook_bits, LOADED | TORCH | STEPPED | NO_SYMBOL)
        self.assertEqual(run.step_count, 3)

    def test_an_error_in_the_hook_stays_there(self):
        run = self.run_whole("""
            import torch
            class Unhashable(torch.optim.SGD):
                __hash__ = None
            parameter = torch.nn.Parameter(torch.ones(1))
            optimizer = Unhashable([parameter], lr=0.1)
            for _ in range(3):
                parameter.sum().backward()
                optimizer.step()
            """, "--steps", "5")
        self.assertEqual(run.hook_bits, LOADED | TORCH | ERROR)

    def test_import_machinery_works_as_ever(self):
        run = self.run_whole("""
            import importlib, importlib.machinery, importlib.util, inspect, pickle, sys
            name = "torch.optim.optimizer"
            import torch
            module = sys.modules[name]
            assert type(module.__loader__) is importlib.machinery.SourceFileLoader
            assert "exec_module" not in vars(module.__loader__)
            assert "class Optimizer" in inspect.getsource(module)
            spec = importlib.util.find_spec(name)
            assert spec.origin == module.__file__ and spec.loader.get_code(name)
            fresh = importlib.machinery.PathFinder.find_spec(name, torch.optim.__path__)
            pickle.loads(pickle.dumps(fresh.loader))
            found = sys.meta_path[0].find_spec(name, torch.optim.__path__)
            assert pickle.loads(pickle.dumps(found.loader)).path == module.__file__
            signature = inspect.signature(torch.autograd.profiler.profile)
            assert "record_shapes" in signature.parameters

            def step(namespace):
                parameter = torch.nn.Parameter(torch.ones(1))
                optimizer = namespace.Optimizer([parameter], {})
                type(optimizer).step = lambda self: None
                optimizer._patch_step_function()
                optimizer.step()

            importlib.reload(module)
            step(module)
            # A module that is loaded at its first use.
            spec = importlib.util.find_spec(name)
            spec.loader = importlib.util.LazyLoader(spec.loader)
            lazy = importlib.util.module_from_spec(spec)
            sys.modules[name] = lazy
            spec.loader.exec_module(lazy)
            step(lazy)
            """)
        self.assertEqual(run.hook_bits, LOADED | TORCH | STEPPED)
        self.assertGreaterEqual(run.step_count, 1)


if __name__ == "__main__":
    unittest.main()
