# SPDX-License-Identifier: Apache-2.0
"""The checks of tests/checks/run.py find what they look for."""
import contextlib
import io
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/checks"))
import editorconfig  # noqa: E402
import format as formatting  # noqa: E402
import includes  # noqa: E402
import prose  # noqa: E402
import run  # noqa: E402
import traps  # noqa: E402
import tree  # noqa: E402

STRICT = {"end_of_line": "lf", "trim_trailing_whitespace": "true", "indent_style": "space", "insert_final_newline": "true",
          "max_line_length": "20"}


class FolderTest(unittest.TestCase):
    """A folder to put files in; with_git() makes a repository of it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def put(self, name, text=""):
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def with_git(self, *names):
        for name in names:
            self.put(name)
        subprocess.run(["git", "init", "-q", self.root], check=True)
        subprocess.run(["git", "-C", self.root, "add", "-f", "--", *names], check=True)

    def tool(self, name, *arguments):
        return subprocess.run([sys.executable, ROOT / "native-core/tools" / name, self.root, *arguments],
                              capture_output=True, text=True)


class ProgramTest(unittest.TestCase):
    def main(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = run.main(list(arguments))
        return status, out.getvalue(), err.getvalue()

    def test_list_names_the_checks_and_runs_none(self):
        with mock.patch.dict(run.CHECKS, {name: None for name in run.CHECKS}):
            status, out, _ = self.main(str(ROOT), "--list")
        self.assertEqual((status, out.split()), (0, list(run.CHECKS)))

    def test_a_name_runs_that_check_and_a_part_all_it_means(self):
        with mock.patch.dict(run.CHECKS, {name: lambda root: [] for name in run.CHECKS}):
            self.assertIn("1 passed, 0 failed, 0 skipped", self.main(str(ROOT), "settings")[1])
            self.assertIn("3 passed, 0 failed, 0 skipped", self.main(str(ROOT), "setting")[1])

    def test_a_name_that_means_nothing_is_an_error(self):
        self.assertEqual(self.main(str(ROOT), "nosuch"), (2, "", "no test matches 'nosuch'\n"))

    def test_problems_end_it_with_1_and_what_cannot_run_is_skipped(self):
        def cannot(root):
            raise run.Skipped("no program")

        with mock.patch.dict(run.CHECKS, {"layers": lambda root: ["a wrong"], "shell": cannot}):
            status, out, _ = self.main(str(ROOT), "layers", "shell")
        self.assertEqual(status, 1)
        self.assertIn("FAIL layers\n    Error: a wrong\n", out)
        self.assertIn("0 passed, 1 failed, 1 skipped", out)


class TreeTest(FolderTest):
    def test_what_a_user_builds_at_the_top_level_is_no_error(self):
        self.with_git("README.md")
        self.put("ring")
        self.put("build/a.c")
        self.assertEqual(run.check_top_level(self.root), [])
        self.assertEqual(tree.files(self.root), [pathlib.Path("README.md")])

    def test_what_git_knows_there_is_an_error(self):
        self.with_git("README.md", "ring", "mine/a.c")
        self.assertEqual(run.check_top_level(self.root),
                         ["'mine' does not belong at the top level", "'ring' does not belong at the top level"])

    def test_a_new_file_in_a_known_folder_is_looked_at_and_an_ignored_or_deleted_one_is_not(self):
        self.with_git("tests/a.py", "tests/gone.py", ".gitignore")
        self.put(".gitignore", "*.pyc\n")
        self.put("tests/new.c", "int x;\n")
        self.put("tests/a.pyc")
        (self.root / "tests/gone.py").unlink()
        self.assertEqual([str(path) for path in tree.files(self.root)], [".gitignore", "tests/a.py", "tests/new.c"])
        self.assertEqual(len(run.check_spdx(self.root)), 1)


class ProseTest(FolderTest):
    LONG = "one " * 31

    def found(self, name, text):
        """The lines and beginnings of long and of bare sentences of a page."""
        self.put(name, text)
        return [[line.split(":", 2)[1:] for line in lines] for lines in prose.found(self.root, [pathlib.Path(name)])]

    def test_a_sentence_above_30_words_is_found_in_a_paragraph_an_item_and_a_cell(self):
        for text in (f"A b.\n{self.LONG}.", f"A b.\n* {self.LONG}", f"A b.\n| c d | {self.LONG} |"):
            long, bare = self.found("docs/a.md", text)
            self.assertEqual(([line for line, _ in long], bare), (["2" if "\n*" in text or "|" in text else "1"], []))
        self.assertEqual(self.found("docs/a.md", "one " * 30), [[], []])

    def test_what_and_who_in_place_of_a_noun_are_found_and_a_relative_clause_is_not(self):
        for text in ("It shows what ended.", "Who waits loses.", "The table says who waits.", "Ask whoever is there."):
            self.assertEqual(len(self.found("docs/a.md", text)[1]), 1, text)
        self.assertEqual(self.found("docs/a.md", "A user who waits loses."), [[], []])

    def test_a_number_with_a_full_stop_ends_a_sentence_and_begins_an_item(self):
        found = [sentence for _, sentence in prose.sentences(pathlib.Path("a.md"), "Seen in 2026. All good.\n1. An item.")]
        self.assertEqual(found, ["Seen in 2026.", "All good.", "An item."])

    def test_code_and_addresses_of_links_are_no_words(self):
        text = f"See [it](what.md), \"what\" and `what {self.LONG}`.\n\n    what who\n\n```\nwhat who\n```\n"
        self.assertEqual(self.found("docs/a.md", text), [[], []])

    def test_comments_of_public_headers_and_help_texts_are_read_and_other_files_are_not(self):
        header = "memcached-rdma/client/include/verbena/mc.h"
        self.assertEqual(len(self.found(header, "int what; /* Says what\n * ended. */")[1]), 1)
        self.assertEqual(self.found("docs/help/a.txt", "usage: a b\n  c  what ended\nAll good.\n")[1][0][0], "2")
        self.put("mpi/a.md", "It shows what ended.")
        self.assertFalse(prose.is_public(pathlib.Path("mpi/a.md")))

    TEXTS = {
        "native-core/src/a.c": 'fail(&e, "%s: who waits here "\n     "loses " NAME " what it has"); // what a comment says',
        "ohb/driver/a.py": '"""What a docstring says."""\nraise Failed(f"{a}: tell us what {b} "\n             "had to do")',
        "spark-rdma-shuffle/src/main/java/A.java": 'LOG.warn("nobody knows what " + b + " had\\n"\n + " to do"); /* what else */',
        "tests/command/a.sh": 'die "$1: say what you would like" \\\n    "to have" # what a comment says',
    }

    def test_texts_of_the_code_are_read_as_one_with_their_values_and_comments_are_not(self):
        for name, text in self.TEXTS.items():
            with self.subTest(name):
                long, bare = self.found(name, text + "\n")
                self.assertEqual((long, len(bare), bare[0][0] if bare else ""), ([], 1, "2" if "driver" in name else "1"), bare)
        self.assertEqual(self.found("ohb/driver/b.py", f"print('{self.LONG}', a)")[0][0][0], "1")

    def test_names_other_languages_and_code_of_tests_are_no_texts(self):
        for name, text in (("ohb/driver/a.py", '"what_it_is", "who", "SELECT what from one table", "^(?:what of that)$"'),
                           ("ohb/tests/a.py", '"nobody knows what it is"'), ("mpi/tests/a.c", '"nobody knows what it is"')):
            self.assertEqual(self.found(name, text), [[], []], name)

    def test_a_count_above_its_limit_is_an_error_with_the_sentences(self):
        self.put("docs/a.md", "It shows what ended.")
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(prose.check(self.root, [pathlib.Path("docs/a.md")], 0, 1), [])
            problems = prose.check(self.root, [pathlib.Path("docs/a.md")], 0, 0)
        self.assertEqual(problems[1], "docs/a.md:1: It shows what ended.")


class EditorConfigTest(unittest.TestCase):
    def test_later_sections_win_and_unset_takes_away(self):
        config = editorconfig.EditorConfig("root = true\n[*]\na = 1\nb = 2\n[{*.{py,sh},x}]\na = 3\n[**/c/**]\nb = unset\n")
        self.assertEqual(config.of(pathlib.Path("m.c")), {"a": "1", "b": "2"})
        self.assertEqual(config.of(pathlib.Path("p/m.py")), {"a": "3", "b": "2"})
        self.assertEqual(config.of(pathlib.Path("p/x")), {"a": "3", "b": "2"})
        self.assertEqual(config.of(pathlib.Path("p/c/m")), {"a": "1"})

    def test_ours_leaves_prose_and_inputs_of_fuzz_targets_alone(self):
        config = editorconfig.EditorConfig((ROOT / ".editorconfig").read_text())
        for name, most in (("a.c", "132"), ("a.java", "132"), ("verbena", "132"), ("CMakeLists.txt", "132"), ("a.md", "off")):
            self.assertEqual(config.of(pathlib.Path("tests", name))["max_line_length"], most, name)
        self.assertEqual(list(formatting.line_problems(b"\t \r\n \n" + b"x" * 999,
                                                       config.of(pathlib.Path("a/corpus/b/c.c")))), [])


class LinesTest(FolderTest):
    def problems(self, content):
        return list(formatting.line_problems(content, STRICT))

    def test_each_kind_of_wrong_line_is_told_with_its_number(self):
        for content, line, told in ((b"a\nb \n", 2, "trailing blanks"), (b"a\n\t\n\n", 2, "trailing blanks"),
                                    (b"a\n\tb\n", 2, "tab"), (b"a\r\n", 1, "carriage return"),
                                    (b"a\nb", 2, "no newline at the end"), (b"x" * 21 + b"\n", 1, "21 columns")):
            self.assertIn((line, told), [(at, text[:len(told)]) for at, text in self.problems(content)], content)

    def test_right_lines_are_right(self):
        self.assertEqual(self.problems(b""), [])
        self.assertEqual(self.problems("a\n\n    b\n{}\n".format("\u00e4" * 20).encode()), [])

    def test_what_needs_no_thought_is_mended(self):
        self.assertEqual(formatting.mended(b"a \r\n\tb  \n \nc", STRICT), b"a\n\tb\n\nc\n")

    def test_fix_writes_the_file_and_tells_what_is_left(self):
        self.put(".editorconfig", "[*]\n" + "".join(f"{key} = {value}\n" for key, value in STRICT.items()))
        self.put("a.py", "a \n" + "b" * 30)
        files = [pathlib.Path("a.py")]
        self.assertEqual(len(formatting.check_lines(self.root, files)), 3)
        self.assertEqual(formatting.check_lines(self.root, files, fix=True), ["a.py:2: 30 columns, at most 20 are allowed"])
        self.assertEqual((self.root / "a.py").read_text(), "a\n" + "b" * 30 + "\n")

    def test_a_file_that_is_no_text_is_left_alone(self):
        self.put(".editorconfig", "[*]\ntrim_trailing_whitespace = true\n")
        (self.root / "a.png").write_bytes(b"\0 \n")
        self.assertEqual(formatting.check_lines(self.root, [pathlib.Path("a.png")]), [])


class ClangFormatTest(FolderTest):
    def fake(self, version, says=""):
        self.put("clang-format", f"#!/bin/sh\n[ $1 = --version ] && echo clang-format version {version} || echo '{says}' >&2\n")
        (self.root / "clang-format").chmod(0o755)
        return mock.patch.dict(os.environ, {"VERBENA_CLANG_FORMAT": str(self.root / "clang-format")})

    def test_without_the_right_version_the_check_is_skipped_and_says_which(self):
        with mock.patch.dict(os.environ, {"VERBENA_CLANG_FORMAT": ""}), self.assertRaises(run.Skipped) as why:
            run.check_c_format(self.root)
        self.assertIn(f"no clang-format {formatting.CLANG_FORMAT}", str(why.exception))
        with self.fake("14.0.6"):
            self.assertIsNone(formatting.clang_format())
        with self.fake(formatting.CLANG_FORMAT):
            self.assertIsNotNone(formatting.clang_format())

    def test_a_file_is_told_once_at_its_first_place_with_the_command(self):
        place = "mpi/a.c:{}:1: warning: code should be clang-formatted [-Wclang-format-violations]"
        says = place.format(3) + "\n    int error;\n" + place.format(9)
        with self.fake(formatting.CLANG_FORMAT, says):
            told = formatting.check_c(self.root, [pathlib.Path("mpi/a.c")], formatting.clang_format())
        self.assertEqual(len(told), 1)
        self.assertRegex(told[0], r"^mpi/a\.c:3: clang-format .* --fix mpi/a\.c$")

    def test_an_error_of_the_program_is_told(self):
        with self.fake(formatting.CLANG_FORMAT, "Error reading .clang-format: unknown key"):
            told = formatting.check_c(self.root, [pathlib.Path("a.c")], formatting.clang_format())
        self.assertEqual(told, ["Error reading .clang-format: unknown key"])

    @unittest.skipUnless(formatting.clang_format(), f"needs clang-format {formatting.CLANG_FORMAT}")
    def test_the_real_one_finds_and_mends(self):
        shutil.copy(ROOT / ".clang-format", self.root)
        self.put("a.c", "int f(void)\n{\n  return 1;\n}\n")
        arguments = self.root, [pathlib.Path("a.c"), pathlib.Path("b.py")], formatting.clang_format()
        self.assertEqual([text[:5] for text in formatting.check_c(*arguments)], ["a.c:2"])
        self.assertEqual(formatting.check_c(*arguments, fix=True), [])
        self.assertEqual((self.root / "a.c").read_text(), "int f(void)\n{\n    return 1;\n}\n")


class IncludesTest(FolderTest):
    def check(self, text):
        self.put("native-core/tests/a.cc", text)
        return includes.check(self.root, [pathlib.Path("native-core/tests/a.cc")])

    def test_an_algorithm_without_its_header_is_told_with_its_line(self):
        self.assertEqual(self.check("#include <vector>\n\nint n = std::count(a, b, 0);\n"),
                         ["native-core/tests/a.cc:3: std::count without #include <algorithm>"])
        self.assertEqual(self.check("auto n = std::min<size_t>(a, b);\nauto m = std::max(a, b);\n"),
                         ["native-core/tests/a.cc:1: std::min without #include <algorithm>"])

    def test_what_is_included_or_something_else_is_right(self):
        self.assertEqual(self.check("#include <algorithm>\nint n = std::count(a, b, 0);\n"), [])
        self.assertEqual(self.check("std::count_down n; std::filler f; n.std::x();\n"), [])


class TrapsTest(FolderTest):
    TABLE = "tests/hadoop/traps/a.txt"

    def check(self, rows):
        self.put(self.TABLE, rows)
        self.put("tests/hadoop/test_a.py", "def test_it_holds():\n    pass\n")
        self.put("x/src/test/java/ATest.java", "class ATest {\n    void it_holds() {\n    }\n}\n")
        return traps.check(self.root, [pathlib.Path(name) for name in (self.TABLE, "tests/hadoop/test_a.py",
                                                                       "x/src/test/java/ATest.java")])

    def test_rows_that_name_tests_are_right(self):
        self.assertEqual(self.check("# why\n\nH1 | test_a.test_it_holds\nH1 | ATest.it_holds\n"), [])

    def test_a_test_or_file_that_is_gone_and_a_row_without_form_are_told_with_their_lines(self):
        told = self.check("H1 | test_a.test_it\nH2 | BTest.it_holds\nH3 ATest.it_holds\n")
        self.assertEqual(told, [f"{self.TABLE}:1: no test test_it in test_a", f"{self.TABLE}:2: no file of tests BTest",
                                f"{self.TABLE}:3: not of the form 'H1 | FILE.TEST': H3 ATest.it_holds"])


class BudgetsTest(FolderTest):
    def check(self, name, text):
        self.put("a.c")
        self.put(name, text)
        done = self.tool("check_budgets.py", "a.c", name)
        return done.stdout + done.stderr

    def test_a_long_script_and_its_long_function_are_told(self):
        bash = "#!/usr/bin/env bash\nf() {\n" + "    true\n" * 41 + "}\n"
        self.assertIn("x: f has 41 lines, at most 40", self.check("x", bash))
        self.assertIn("x: 601 lines, at most 600", self.check("x", "#!/bin/bash\n" + "true\n" * 600))
        self.assertIn("0 over", self.check("x", "#!/bin/sh\n" + "true\n" * 700))

    def test_texts_of_a_bash_function_do_not_count(self):
        for text in ("cat <<'END'\n" + "x\n" * 50 + "END\n", 'echo "' + 'it\'s $(f "a b") (c\n' * 50 + '"\n',
                     "echo 'a\n" + '"\n' * 50 + "'\n"):
            told = self.check("x", "#!/bin/bash\nf() { # it's\n" + text + "true\n" * 39 + "}\ng() {\ntrue\n}\n")
            self.assertIn("1 bash files, 2 functions, 0 over", told)
            self.assertIn("f has 41 lines", self.check("x", "#!/bin/bash\nf() {\n" + text + "true\n" * 40 + "}\n"))

    def test_python_has_the_same_limits(self):
        self.assertIn("f has 41 lines, at most 40", self.check("a.py", "def f():\n" + "    x = 1\n" * 41))
        self.assertIn("a.py: 601 lines", self.check("a.py", "x = 1\n" * 601))


class EnvironmentTest(FolderTest):
    def check(self, name, text):
        self.put("native-core/config/settings.yaml", '- {key: a.b, type: int, default: 1, help: "H.", since: 0.1}\n')
        self.put("native-core/src/tl/a.c", "int x = s->a_b;\n")
        self.put(f"native-core/{name}", text)
        return self.tool("check_settings.py")

    def test_a_getenv_in_base_is_told_with_its_line(self):
        for text in ("getenv(name)", "secure_getenv (name)", "environ[0]"):
            done = self.check("src/base/a.c", f"/* x\n */\nchar *x = {text};\n")
            self.assertEqual(done.returncode, 1)
            self.assertIn("src/base/a.c:3: reads the environment", done.stderr)

    def test_the_one_that_reads_settings_and_words_about_it_are_right(self):
        self.assertEqual(self.check("src/api/config.c", "x = getenv(name);\n").returncode, 0)
        self.assertEqual(self.check("src/base/a.c", '/* getenv() */ f("getenv()"); // environ\n').returncode, 0)


class SettingsPageTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ("native-core/tools/gen_settings.py", "native-core/config/settings.yaml", "mpi/config/settings.yaml",
                     "docs/settings.md"):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.root / name)

    def test_the_committed_page_is_what_the_table_says(self):
        self.assertEqual(run.check_settings_page(self.root), [])

    def test_a_row_that_changed_without_the_page_is_told_with_the_command(self):
        table = self.root / "native-core/config/settings.yaml"
        table.write_text(table.read_text().replace("default: 64,", "default: 128,", 1))
        self.assertIn("gen_settings.py --repository .", run.check_settings_page(self.root)[0])

    def test_a_page_that_is_missing_is_told(self):
        (self.root / "docs/settings.md").unlink()
        self.assertEqual(len(run.check_settings_page(self.root)), 1)

    def test_those_of_the_plugins_are_as_their_table_says_and_each_setting_is_read(self):
        self.assertEqual(run.check_plugin_settings(ROOT), [])

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
