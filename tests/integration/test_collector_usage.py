# SPDX-License-Identifier: Apache-2.0
"""Wrong use of infprof-collector: one clear line, the right exit status, nothing touched."""

import unittest

import harness
from harness import COLLECTOR


class Usage(harness.TestCase):
    def assertRefused(self, arguments, status, text):
        before = set(self.folder.rglob("*"))
        result = harness.run([COLLECTOR, "--idle-timeout", "10s", *arguments], cwd=self.folder)
        self.assertEnded(result, status)
        self.assertEqual(result.stdout, "")
        self.assertEqual(len(result.stderr.splitlines()), 1, str(result))
        self.assertIn(text, result.stderr)
        self.assertEqual(set(self.folder.rglob("*")), before, "something was left or removed")

    def test_addresses_that_cannot_be(self):
        for address, text in (
            ("here", "give tcp://HOST:PORT or ipc:///PATH"),
            ("tcp://127.0.0.1", "a host and a port"),
            ("tcp://127.0.0.1:99999", '"99999" is no port'),
            ("ipc://collector", "the whole path"),
        ):
            self.assertRefused(["--listen", address, "-o", "out"], 2, f"{address}: ")
            self.assertRefused(["--listen", address, "-o", "out"], 2, text)

    def test_a_file_that_is_no_socket_is_not_replaced_by_one(self):
        path = self.folder / "precious"
        path.write_text("do not remove")
        self.assertRefused(["--listen", f"ipc://{path}", "-o", "out"], 1, "another file")
        self.assertEqual(path.read_text(), "do not remove")

    def test_values_that_cannot_be(self):
        self.assertRefused(["--output", ""], 2, "output directory is empty")
        self.assertRefused(["--ready-fd", "77", "-o", "out"], 2, "--ready-fd 77 is not open")
        self.assertRefused(["more"], 2, '"more"')


if __name__ == "__main__":
    unittest.main()
