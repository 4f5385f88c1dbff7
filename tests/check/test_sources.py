# SPDX-License-Identifier: Apache-2.0
"""The rules of CONTRIBUTING.md and ARCHITECTURE.md that a program can check."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["INFPROF_SOURCE"])
BUILD = pathlib.Path(os.environ["INFPROF_BUILD"])

# What each folder may include (ARCHITECTURE.md, "Folders, and who may include whom").
ARROWS = {
    "core": {"core"},
    "trace": {"core", "trace"},
    "clocksync": {"core", "trace", "clocksync"},
    "agent/inject": {"core", "agent/inject"},
    "agent": {"core", "trace", "clocksync", "agent"},
    "collector": {"core", "trace", "clocksync", "collector"},
    "cli": {"core", "trace", "clocksync", "collector", "cli"},
}
MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 60
MAX_COMPLEXITY = 15


def tracked(*patterns):
    """Files of the repository, or of the tree where it is no checkout, that match."""
    listed = subprocess.run(
        ["git", "-C", SOURCE, "ls-files", "--cached", "--others", "--exclude-standard", *patterns],
        capture_output=True, text=True,
    )
    if listed.returncode == 0:
        return [SOURCE / line for line in listed.stdout.splitlines() if (SOURCE / line).exists()]
    return [path for pattern in patterns for path in SOURCE.rglob(pattern)]


def folder_of(path):
    name = str(path.relative_to(SOURCE))
    return max((f for f in ARROWS if name.startswith(f + "/")), key=len, default=None)


class Sources(unittest.TestCase):
    def assertNone(self, faults, rule):
        self.assertFalse(faults, rule + "\n  " + "\n  ".join(map(str, faults)))

    def test_every_source_states_its_licence(self):
        faults = [
            path.relative_to(SOURCE)
            for path in tracked("*.c", "*.h", "*.py", "*.mjs", "*.cmake", "*CMakeLists.txt")
            if "SPDX-License-Identifier: Apache-2.0"
            not in "\n".join(path.read_text().splitlines()[:2])
        ]
        self.assertNone(faults, "no SPDX line at the top")

    def test_includes_follow_the_arrows(self):
        faults = []
        for path in tracked("*.c", "*.h"):
            folder = folder_of(path)
            if folder is None:
                continue
            for target in re.findall(r'^#include "([^"]+)"', path.read_text(), re.M):
                known = [f for f in ARROWS if target.startswith(f + "/")]
                allowed = any(target.startswith(f + "/") for f in ARROWS[folder])
                if known and not allowed:
                    faults.append(f"{path.relative_to(SOURCE)} includes {target}")
        self.assertNone(faults, "an include against the arrows of ARCHITECTURE.md")

    def test_headers_compile_alone(self):
        faults = []
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "alone.c"
            for path in tracked("*.h"):
                if "tests" in path.relative_to(SOURCE).parts:
                    continue
                source.write_text(f'#include "{path}"\n')
                done = subprocess.run(
                    ["cc", "-std=gnu17", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror",
                     "-fsyntax-only", f"-I{SOURCE}", f"-I{SOURCE}/include", str(source)],
                    capture_output=True, text=True,
                )
                if done.returncode:
                    faults.append(f"{path.relative_to(SOURCE)}: {done.stderr.splitlines()[0]}")
        self.assertNone(faults, "a header that does not compile alone")

    def test_files_keep_to_one_job(self):
        faults = []
        for path in tracked("*.c", "*.h"):
            lines = len(path.read_text().splitlines())
            if lines > MAX_FILE_LINES:
                faults.append(f"{path.relative_to(SOURCE)}: {lines} lines")
        self.assertNone(faults, f"a file of more than {MAX_FILE_LINES} lines")

    @unittest.skipUnless(shutil.which("pmccabe"), "pmccabe is not installed")
    def test_functions_fit_a_screen(self):
        done = subprocess.run(["pmccabe", *map(str, tracked("*.c"))], capture_output=True,
                              text=True, check=True)
        faults = []
        for line in done.stdout.splitlines():
            complexity, _, _, _, lines, place, function = line.split(None, 6)
            if int(complexity) > MAX_COMPLEXITY or int(lines) > MAX_FUNCTION_LINES:
                place = place.replace(str(SOURCE) + "/", "")
                faults.append(f"{place} {function}: {lines} lines, complexity {complexity}")
        self.assertNone(faults, "a function that is too long or branches too much")

    def test_injected_library_exports_only_what_its_map_says(self):
        library = BUILD / "lib" / "infprof" / "libinfprof.so"
        (version_script,) = (SOURCE / "agent" / "inject").glob("*.map")
        text = version_script.read_text()
        meant = set(re.findall(r"^\s+(\w+);", text.split("local:")[0], re.M))
        listed = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True,
                                text=True, check=True).stdout
        exported = {line.split()[-1].split("@")[0] for line in listed.splitlines()
                    if line.split()[-2] in "TDBRW"}
        self.assertEqual(exported, meant)

    def test_injected_library_needs_libc_only(self):
        library = BUILD / "lib" / "infprof" / "libinfprof.so"
        listed = subprocess.run(["readelf", "-d", library], capture_output=True, text=True,
                                check=True).stdout
        needed = set(re.findall(r"NEEDED.*\[([^]]+)\]", listed))
        self.assertLessEqual(needed, {"libc.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"})

    def test_only_the_clock_helper_links_mpi(self):
        for program in ("infprof-agent", "infprof-collector", "infprof"):
            listed = subprocess.run(["readelf", "-d", BUILD / "bin" / program],
                                    capture_output=True, text=True, check=True).stdout
            self.assertNotIn("libmpi", listed)

    def test_main_functions_only_wire(self):
        faults = []
        for path in tracked("agent/main.c", "collector/main.c", "cli/main.c"):
            lines = len(path.read_text().splitlines())
            if lines > 120:
                faults.append(f"{path.relative_to(SOURCE)}: {lines} lines")
        self.assertNone(faults, "a main.c that does more than wire")


if __name__ == "__main__":
    unittest.main()
