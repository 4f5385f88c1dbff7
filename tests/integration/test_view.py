# SPDX-License-Identifier: Apache-2.0
"""infprof view with stand-ins for TensorBoard; test_view_tensorboard.py has the real one."""

import os
import pathlib
import signal
import socket
import subprocess
import sys
import unittest
import urllib.request

import harness

# What stands in for tensorboard/main.py. It notes its arguments and the process that it starts.
SERVER = """
import http.server, pathlib, signal, subprocess, sys
here = pathlib.Path(__file__).parent
worker = subprocess.Popen([sys.executable, "-S", "-c", "import signal; signal.pause()"])
server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
(here / "arguments").write_text("\\n".join(sys.argv[1:]))
(here / "worker").write_text(str(worker.pid))
print("see http://example.org/ about the warning below")
print("TensorBoard 9.9.9 at http://127.0.0.1:%d/ (Press CTRL+C to quit)" % server.server_port,
      file=sys.stderr, flush=True)
"""
SERVES = SERVER + "server.serve_forever()\n"
SERVES_ONCE = SERVER + "server.handle_request()\nsys.exit('it is enough')\n"
STUBBORN = SERVER.replace("here =", "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nhere =")
FAILS = "import sys\nsys.exit('the port is taken')\n"


class View(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.output.mkdir()
        self.put("merged/all_0.1.pt.trace.json.gz")

    def put(self, name, content=""):
        path = self.output / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        return path

    def python(self, name, modules, main=SERVES):
        """A Python that has these modules and no others besides its own."""
        modules_folder = self.folder / f"{pathlib.Path(name).name} modules"
        for module in modules:
            (modules_folder / module).mkdir(parents=True)
            (modules_folder / module / "__init__.py").write_text("")
        if "tensorboard" in modules:
            self.tensorboard = modules_folder / "tensorboard"
            (self.tensorboard / "main.py").write_text(main)
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\nPYTHONPATH='{modules_folder}' exec {sys.executable} -S \"$@\"\n")
        path.chmod(0o755)
        return path

    def view(self, *options, **changes):
        return harness.run([harness.INFPROF, "view", self.output, *options], cwd=self.folder,
                           env=harness.environment(PYTHON=None, **changes))

    def start(self, *options, **changes):
        """A view that is up, and its address."""
        process = subprocess.Popen(
            [harness.INFPROF, "view", self.output, *map(str, options)], cwd=self.folder, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=harness.environment(PYTHON=None, **changes))
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process, process.stdout.readline().strip()

    def assertRefused(self, result, text):
        self.assertEnded(result, 1)
        self.assertEqual(result.stdout, "")
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertIn(text, result.stderr)

    def assertGone(self, pid):
        def gone():
            try:
                state = pathlib.Path(f"/proc/{pid}/stat").read_text().split(") ")[1][0]
            except (FileNotFoundError, ProcessLookupError):
                return True
            return state == "Z"  # its new parent has not looked yet

        harness.wait_for(gone, what=f"process {pid} has ended")

    def worker(self):
        return int((self.tensorboard / "worker").read_text())


class Missing(View):
    def test_what_is_not_installed_is_named_with_the_command_that_installs_it(self):
        for modules, packages in [
            ([], "tensorboard torch-tb-profiler"),
            (["tensorboard"], "torch-tb-profiler"),
            (["tensorboard", "xprof"], "torch-tb-profiler"),
            (["torch_tb_profiler"], "tensorboard"),
        ]:
            with self.subTest(modules=modules):
                python = self.python(f"python{len(modules)}{packages}".replace(" ", ""), modules)
                self.assertRefused(self.view("--python", python),
                                   f"{python} -m pip install {packages}\n")

    def test_another_python_can_be_named(self):
        self.python("bin/python3", ["tensorboard"])
        self.assertRefused(self.view(PATH=f"{self.folder / 'bin'}:{os.environ['PATH']}"),
                           "python3 -m pip install torch-tb-profiler; or name a Python that has it: "
                           "--python PYTHON\n")

    def test_xplanes_take_another_plug_in(self):
        (self.output / "merged" / "all_0.1.pt.trace.json.gz").unlink()
        self.put("plugins/profile/run/rank0.xplane.pb")
        python = self.python("python", ["tensorboard", "torch_tb_profiler"])
        self.assertRefused(self.view("--python", python), f"{python} -m pip install xprof\n")

    def test_a_part_that_cannot_be_shown_is_told(self):
        self.put("plugins/profile/run/rank0.xplane.pb")
        python = self.python("python", ["tensorboard", "torch_tb_profiler"])
        process, address = self.start("--python", python)
        self.assertTrue(address)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate()
        self.assertEqual(process.returncode, 0, stderr)
        self.assertIn(f"a part will not be shown: {python} -m pip install xprof\n", stderr)

    def test_how_to_draw_for_xprof_where_it_is_installed(self):
        told = f"infprof timeline {self.output} -o {self.output} --formats xplane"
        both = self.python("both", ["tensorboard", "torch_tb_profiler", "xprof"])
        one = self.python("one", ["tensorboard", "torch_tb_profiler"])
        cases = (("no archive", both, False), ("run.ifp", one, False), ("run.ifp", both, True),
                 ("plugins/profile/1/a.xplane.pb", both, False))
        for name, python, expected in cases:
            with self.subTest(name=name, python=python.name):
                self.put(name)
                process, address = self.start("--python", python)
                self.assertTrue(address)
                process.send_signal(signal.SIGINT)
                self.assertEqual(told in process.communicate()[1], expected)

    def test_a_python_that_is_none(self):
        for python, text in [("/nonexistent/python", "start /nonexistent/python: No such file"),
                             ("true", "true is no Python that works: "),
                             (self.output, "Permission denied")]:
            self.assertRefused(self.view("--python", python), text)
        self.assertRefused(self.view(PATH=self.output), "name it with --python")

    def test_the_python_of_the_directory_is_tried_as_well(self):
        self.python("bin/python3", [])
        self.python(".venv/bin/python", ["tensorboard", "torch_tb_profiler"])
        process, address = self.start(PATH=f"{self.folder / 'bin'}:{os.environ['PATH']}")
        self.assertTrue(address)
        process.send_signal(signal.SIGINT)
        self.assertIn("by .venv/bin/python", process.communicate()[1])
        # One that is asked for is not replaced.
        self.assertRefused(self.view("--python", "bin/python3"), "bin/python3 -m pip install")


class Nothing(View):
    def test_the_verb_that_makes_what_is_missing_is_named(self):
        self.put("merged/all_0.1.pt.trace.json.gz").unlink()
        self.put("other/rank0.json.gz")
        self.put("profile/run/rank0.xplane.pb")  # not below plugins/
        self.assertRefused(self.view(), "infprof merge of traces")
        archive = self.put("run.ifp")
        self.assertRefused(self.view(), f"infprof timeline {self.output} -o {self.output} draws it")
        result = harness.run([harness.INFPROF, "view", archive])
        self.assertRefused(result, f"infprof timeline {archive} -o DIR")
        result = harness.run([harness.INFPROF, "view", self.folder / "none"])
        self.assertRefused(result, "No such file")


class Runs(View):
    def setUp(self):
        super().setUp()
        self.packages = ["tensorboard", "torch_tb_profiler"]

    def test_the_address_is_printed_and_answers(self):
        process, address = self.start("--python", self.python("python", self.packages))
        self.assertRegex(address, r"^http://127\.0\.0\.1:\d+/$")
        with urllib.request.urlopen(address) as answer:
            self.assertEqual(answer.status, 200)
        self.assertEqual(
            (self.tensorboard / "arguments").read_text().split("\n"),
            ["--logdir", str(self.output), "--host", "127.0.0.1", "--port", "0",
             "--load_fast", "false"])
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(), 0)

    def test_host_and_port_are_passed_on(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        process, address = self.start("--python", self.python("python", self.packages),
                                      "--host", "localhost", "--port", port)
        self.assertTrue(address)
        arguments = (self.tensorboard / "arguments").read_text()
        self.assertIn(f"--host\nlocalhost\n--port\n{port}\n", arguments)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(), 0)

    def test_a_port_that_another_program_has_is_told_before_anything_starts(self):
        python = self.python("python", self.packages)
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            result = self.view("--python", python, "--port", port)
        self.assertEnded(result, 1)
        self.assertIn(f"port {port} of 127.0.0.1 is in use", result.stderr.splitlines()[-1])
        self.assertFalse((self.tensorboard / "arguments").exists())

    def test_signals_end_all(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=number):
                python = self.python(f"python{number}", self.packages)
                process, _ = self.start("--python", python)
                process.send_signal(number)
                self.assertEqual(process.wait(), 0)
                self.assertGone(self.worker())

    def test_two_signals_end_one_that_does_not_want_to(self):
        python = self.python("python", self.packages, STUBBORN + "server.serve_forever()\n")
        process, _ = self.start("--python", python)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(), 0)
        self.assertGone(self.worker())

    def test_all_ends_when_infprof_is_killed(self):
        process, _ = self.start("--python", self.python("python", self.packages))
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
        server = int(children.read_text())
        process.kill()
        self.assertGone(server)
        os.kill(self.worker(), signal.SIGKILL)

    def test_one_that_does_not_start(self):
        result = self.view("--python", self.python("python", self.packages, FAILS))
        self.assertEnded(result, 1)
        self.assertEqual(result.stdout, "")
        self.assertIn("the port is taken\n", result.stderr)
        self.assertIn("TensorBoard exited with status 1 before it was up", result.stderr)

    def test_one_that_ends_on_its_own(self):
        process, address = self.start("--python",
                                      self.python("python", self.packages, SERVES_ONCE))
        self.assertTrue(address)
        _, stderr = process.communicate()
        self.assertEqual(process.returncode, 1)
        self.assertIn("it is enough\n", stderr)
        self.assertIn("TensorBoard exited with status 1\n", stderr)
        self.assertGone(self.worker())


if __name__ == "__main__":
    unittest.main()
