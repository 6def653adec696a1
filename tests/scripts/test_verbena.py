# SPDX-License-Identifier: Apache-2.0
"""The ./verbena command itself: help, wrong input, use from another folder and through a link."""
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERBENA = ROOT / "verbena"
COMMANDS = ["demo", "test", "fuzz", "build", "bench", "doctor", "guest", "spark", "clean"]


def run(*arguments, program=VERBENA, cwd=None):
    return subprocess.run([program, *arguments], cwd=cwd, capture_output=True, text=True, timeout=60)


class VerbenaTest(unittest.TestCase):
    def test_help_names_every_command(self):
        result = run("--help")
        self.assertEqual(result.returncode, 0)
        for command in COMMANDS:
            self.assertIn(command, result.stdout)

    def test_every_command_has_help_of_its_own(self):
        for command in COMMANDS:
            with self.subTest(command):
                result = run(command, "--help")
                self.assertEqual(result.returncode, 0)
                self.assertIn(f"usage: ./verbena {command}", result.stdout)

    def test_an_unknown_command_is_named_and_fails(self):
        result = run("frobnicate")
        self.assertEqual(result.returncode, 1)
        self.assertIn("unknown command 'frobnicate'", result.stderr)

    def test_an_unknown_test_part_is_named_with_the_known_ones(self):
        result = run("test", "nosuch")
        self.assertEqual(result.returncode, 1)
        self.assertIn("unknown part 'nosuch'", result.stderr)
        self.assertIn("core", result.stderr)

    def test_a_bad_number_of_minutes_is_named_before_anything_is_built(self):
        result = run("fuzz", "tcp", "soon")
        self.assertEqual(result.returncode, 1)
        self.assertIn("'soon' is not a number of minutes", result.stderr)

    def test_it_works_from_any_folder_and_through_a_link(self):
        with tempfile.TemporaryDirectory() as folder:
            link = pathlib.Path(folder) / "v"
            link.symlink_to(VERBENA)
            result = run("test", "nosuch", program=link, cwd=folder)
            self.assertIn("unknown part 'nosuch'", result.stderr)


if __name__ == "__main__":
    unittest.main()
