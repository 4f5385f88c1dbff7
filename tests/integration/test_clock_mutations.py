# SPDX-License-Identifier: Apache-2.0
"""Faults in the code of the certificate that tests/unit/clocksync/test_certificate.c must notice.

Each mutation is one replacement in one source file. The file is compiled with it, and the test is
linked once more with that object in front of the library, so that it takes the place of the sound
one.
"""

import os
import pathlib
import shlex
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["INFPROF_SOURCE"])
BUILD = pathlib.Path(os.environ["INFPROF_BUILD"])
ESTIMATE = SOURCE / "clocksync" / "estimate"

# Jobs that the test looks at for each mutation: each of them is found in a few.
JOBS = "40"

# What is forgotten, the file, the sound text and what takes its place.
MUTATIONS = [
    ("the message back is not believed to take time", "edge.c",
     "low_ns = trip->t3_ns - trip->t4_ns - ROUNDING_NS",
     "low_ns = trip->t3_ns - trip->t1_ns - ROUNDING_NS"),
    ("the message there is not believed to take time", "edge.c",
     "high_ns = trip->t2_ns - trip->t1_ns + ROUNDING_NS",
     "high_ns = trip->t2_ns - trip->t4_ns + ROUNDING_NS"),
    ("the lower end is dropped: the intersection only moves up", "edge.c",
     "edge->low_ns = low_ns - own_ns;",
     "edge->low_ns = high_ns;"),
    ("the upper end is dropped", "edge.c",
     "edge->high_ns = high_ns + own_ns;",
     "edge->high_ns = low_ns;"),
    ("the smallest upper end is not kept, but the largest", "edge.c",
     "edge->high_ns = min64(edge->high_ns, high_ns + apart_ns);",
     "edge->high_ns = max64(edge->high_ns, high_ns + apart_ns);"),
    ("the largest lower end is not kept, but the smallest", "edge.c",
     "edge->low_ns = max64(edge->low_ns, low_ns - apart_ns);",
     "edge->low_ns = min64(edge->low_ns, low_ns - apart_ns);"),
    ("clocks do not drift between round trips", "edge.c",
     "apart_ns = ifp_drift_ns(",
     "apart_ns = 0 * ifp_drift_ns("),
    ("clocks do not drift between the edges of an exchange", "epoch.c",
     "edge->low_ns -= ifp_drift_ns(away_ns, epoch->drift_ppm);",
     ""),
    ("clocks drift only half as fast there", "epoch.c",
     "edge->high_ns += ifp_drift_ns(away_ns, epoch->drift_ppm);",
     "edge->high_ns += ifp_drift_ns(away_ns, epoch->drift_ppm) / 2;"),
    ("the wrong end goes back over an edge", "graph.c",
     "from->high_ns = to->high_ns - low_ns;",
     "from->high_ns = to->high_ns - high_ns;"),
    ("the wrong end goes forth over an edge", "graph.c",
     "to->low_ns = from->low_ns + low_ns;",
     "to->low_ns = from->low_ns + high_ns;"),
    ("no edge is ever rejected", "graph.c",
     "} while (rejected > 0);",
     "} while (rejected < 0);"),
    ("cones open too slowly", "track.c",
     "int64_t drift_ns = ifp_drift_ns(global_ns - from->global_ns, drift_ppm);",
     "int64_t drift_ns = ifp_drift_ns(global_ns - from->global_ns, drift_ppm / 2);"),
    ("cones open on one side only", "track.c",
     "limits[0] = from->low_ns - drift_ns;",
     "limits[0] = from->low_ns;"),
    ("the bound looks upwards only", "track_at.c",
     "above = above > below ? above : below;",
     ""),
    ("the bound looks downwards only", "track_at.c",
     "above = above > below ? above : below;",
     "above = below;"),
]


def run(command, **arguments):
    return subprocess.run(command, capture_output=True, text=True, check=False, **arguments)


class Mutations(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.commands = cls.ninja_commands("tests/test_certificate")

    @staticmethod
    def ninja_commands(target):
        listed = run(["ninja", "-C", BUILD, "-t", "commands", target])
        if listed.returncode != 0:
            raise unittest.SkipTest("only Ninja tells how a program is built")
        if "-fsanitize" in listed.stdout:
            raise unittest.SkipTest("sanitizers make it slow, and find nothing here")
        return listed.stdout.splitlines()

    def command_of(self, suffix):
        """The command of the build that makes the file that ends like this."""
        for line in self.commands:
            words = shlex.split(line)
            if "-o" in words and words[words.index("-o") + 1].endswith(suffix):
                return words
        self.fail(f"the build does not make {suffix}")

    def mutant(self, folder, name, old, new):
        """The certificate's test with a mutated source."""
        text = (ESTIMATE / name).read_text()
        self.assertEqual(text.count(old), 1, f"{name} holds {old!r} once")
        source, made = folder / name, folder / (name + ".o")
        source.write_text(text.replace(old, new))
        command = self.command_of(f"estimate/{name}.o")
        command[command.index("-o") + 1] = str(made)
        command[-1] = str(source)
        compiled = run([*command, "-w", "-Wno-error"], cwd=BUILD)
        self.assertEqual(compiled.returncode, 0, compiled.stderr)
        # the link: CMake puts ": &&" around it
        command = [w for w in self.command_of("tests/test_certificate") if w not in (":", "&&")]
        command[command.index("-o") + 1] = str(folder / "mutant")
        command.insert(command.index("-o"), str(made))
        linked = run(command, cwd=BUILD)
        self.assertEqual(linked.returncode, 0, linked.stderr)
        return folder / "mutant"

    def test_sound_code_passes(self):
        done = run([BUILD / "tests" / "test_certificate"], env={**os.environ, "CERTIFICATE_JOBS": JOBS})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_every_mutation_is_caught(self):
        for what, name, old, new in MUTATIONS:
            with self.subTest(what), tempfile.TemporaryDirectory() as folder:
                mutant = self.mutant(pathlib.Path(folder), name, old, new)
                done = run([mutant], env={**os.environ, "CERTIFICATE_JOBS": JOBS})
                self.assertNotEqual(done.returncode, 0, f"not noticed: {what}\n{done.stdout}")


if __name__ == "__main__":
    unittest.main()
