# SPDX-License-Identifier: Apache-2.0
"""The checks of tests/checks/run.py find what they look for."""
import pathlib
import shutil
import subprocess
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


class MpiLayersTest(unittest.TestCase):
    def check(self, layer, include):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("native-core/src/base/a.c", ""), (f"mpi/{layer}/a.c", f'#include "{include}"\n')):
                path = pathlib.Path(folder) / name
                path.parent.mkdir(parents=True)
                path.write_text(text)
            return subprocess.run([sys.executable, ROOT / "native-core/tools/check_layers.py", folder],
                                  capture_output=True, text=True)

    def test_an_include_upwards_is_told(self):
        done = self.check("rt", "comm/comm.h")
        self.assertEqual(done.returncode, 1)
        self.assertIn("rt includes \"comm/comm.h\" of the higher layer comm", done.stderr)

    def test_a_header_inside_the_core_is_told(self):
        self.assertIn("mpi/ uses vbn/vbn.h", self.check("mpi/p2p", "base/list.h").stderr)

    def test_an_include_downwards_is_right(self):
        self.assertEqual(self.check("mpi/comm", "grp/grp.h").returncode, 0)


class LostPeersTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "native-core/src/link").mkdir(parents=True)
        (self.root / "docs").mkdir()

    def check(self, source, page):
        (self.root / "native-core/src/link/link_x.c").write_text(source)
        (self.root / "docs/peer-lost.md").write_text(page)
        return subprocess.run([sys.executable, ROOT / "native-core/tools/check_peer_lost.py", self.root], capture_output=True,
                              text=True)

    def test_a_cause_that_the_page_lacks_is_told_with_its_file(self):
        done = self.check('void f(void)\n{\n    link_peer_end(peer, VBN_ERR_PEER_LOST, "the moon fell down", true);\n}\n', "")
        self.assertEqual(done.returncode, 1)
        self.assertIn('"the moon fell down" of link/link_x.c', done.stderr)

    def test_of_a_format_the_longest_piece_has_to_stand_there_across_lines(self):
        source = 'void f(void)\n{\n    tcp_ep_fail(ep, s,\n        "gone %s: the moon "\n        "fell (%d) down");\n}\n'
        self.assertEqual(self.check(source, "text `the\n  moon fell` and more").returncode, 0)
        self.assertEqual(self.check(source, "the moon rose").returncode, 1)

    def test_other_texts_do_not_count(self):
        source = 'void f(void)\n{\n    LOG_INFO(log, "all is very well");\n    link_fail(p, s, "all is lost now");\n}\n'
        self.assertEqual(self.check(source, "all is lost now").returncode, 0)

    def test_where_no_text_is_found_the_check_fails(self):
        self.assertEqual(self.check("", "").returncode, 1)


if __name__ == "__main__":
    unittest.main()
