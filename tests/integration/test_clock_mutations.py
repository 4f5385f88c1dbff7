# SPDX-License-Identifier: Apache-2.0
"""Faults in the code that tests/unit/clocksync must notice: of the certificate test_certificate.c, of
what moves clocks for causality test_causality.c.

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

# Jobs that the tests look at for each mutation: each of them is found in a few.
JOBS = {"CERTIFICATE_JOBS": "40", "CAUSALITY_JOBS": "80"}

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

# Here the certificate stays true, and what is wrong is what it was kept in mind for.
CAUSALITY = [
    ("ends before beginnings stay", "causality.c",
     "if (missing_ns <= 0)",
     "if (missing_ns <= INT64_MAX)"),
    ("a clock is moved beyond what is certified", "causality.c",
     "lift.to_ns > most_ns || ",
     ""),
    ("beginnings are moved, too", "causality.c",
     "int64_t start_ns = clock->entered_ns;",
     "int64_t start_ns = clock->entered_ns - 50000;"),
    ("a move does not add to the one before", "causality.c",
     "lift.to_ns = now_ns + missing_ns + BEHIND_NS;",
     "lift.to_ns = missing_ns + BEHIND_NS;"),
    ("what was moved comes to the next operation as if it was not", "causality.c",
     "enter->at_ns + moved(&s->seen[c].moves, enter->at_ns);",
     "enter->at_ns;"),
    ("ends are looked at before all have come", "causality.c",
     "event->exit && waiting && s->states[event->operation].pending",
     "event->exit && !waiting"),
    ("moves give way too slowly", "leeway.c",
     "leeway.decay_ppm = track->drift_ppm + steepest_ppm(track);",
     "leeway.decay_ppm = track->drift_ppm / 8;"),
    ("the region is not looked at where it narrows later", "leeway.c",
     "	if (next < track->count)",
     "	if (next > track->count)"),
    ("the bound is that of the clock before it was moved", "track_at.c",
     "line_ns = ifp_moves_origin(&track->moves, global_ns);",
     "line_ns = global_ns;"),
    ("the largest bound is looked for on the line", "track_at.c",
     "	take_moves(track, stretch_ns, &most);",
     ""),
    ("many stamps at once are not moved", "converter.c",
     "converter->moves = ifp_clock_map_moves(map);",
     "converter->moves = NULL;"),
]


def run(command, **arguments):
    return subprocess.run(command, capture_output=True, text=True, check=False, **arguments)


class Mutations(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.commands = cls.ninja_commands("tests/test_certificate", "tests/test_causality")

    @staticmethod
    def ninja_commands(*targets):
        listed = run(["ninja", "-C", BUILD, "-t", "commands", *targets])
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

    def mutant(self, folder, test, name, old, new):
        """A test with a mutated source."""
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
        command = [w for w in self.command_of(f"tests/{test}") if w not in (":", "&&")]
        command[command.index("-o") + 1] = str(folder / "mutant")
        command.insert(command.index("-o"), str(made))
        linked = run(command, cwd=BUILD)
        self.assertEqual(linked.returncode, 0, linked.stderr)
        return folder / "mutant"

    def passes(self, program):
        return run([program], env={**os.environ, **JOBS})

    def catches(self, test, mutations):
        for what, name, old, new in mutations:
            with self.subTest(what), tempfile.TemporaryDirectory() as folder:
                done = self.passes(self.mutant(pathlib.Path(folder), test, name, old, new))
                self.assertNotEqual(done.returncode, 0, f"not noticed: {what}\n{done.stdout}")

    def test_sound_code_passes(self):
        for test in ("test_certificate", "test_causality"):
            done = self.passes(BUILD / "tests" / test)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_every_mutation_of_the_certificate_is_caught(self):
        self.catches("test_certificate", MUTATIONS)

    def test_every_mutation_of_causality_is_caught(self):
        self.catches("test_causality", CAUSALITY)


if __name__ == "__main__":
    unittest.main()
