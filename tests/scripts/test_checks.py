# SPDX-License-Identifier: Apache-2.0
"""The checks of tests/checks/run.py find what they look for."""
import pathlib
import shutil
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/checks"))
import run  # noqa: E402


class SettingsPageTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ("native-core/tools/gen_settings.py", "native-core/config/settings.yaml", "docs/settings.md"):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.root / name)

    def test_the_committed_page_is_what_the_table_says(self):
        self.assertEqual(run.check_settings_page(self.root), [])

    def test_a_row_that_changed_without_the_page_is_told_with_the_command(self):
        table = self.root / "native-core/config/settings.yaml"
        table.write_text(table.read_text().replace("default: 64,", "default: 128,", 1))
        self.assertIn("gen_settings.py --table", run.check_settings_page(self.root)[0])

    def test_a_page_that_is_missing_is_told(self):
        (self.root / "docs/settings.md").unlink()
        self.assertEqual(len(run.check_settings_page(self.root)), 1)

    def test_a_broken_table_is_told_as_the_generator_tells_it(self):
        (self.root / "native-core/config/settings.yaml").write_text("- {key: broken}\n")
        self.assertIn("settings.yaml:1", run.check_settings_page(self.root)[0])


if __name__ == "__main__":
    unittest.main()
