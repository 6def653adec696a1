# SPDX-License-Identifier: Apache-2.0
"""Tests of the checker of Java packages, run as a program on files made here."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECKER = pathlib.Path(__file__).resolve().parents[3] / "tools/check_java_circles.py"


class JavaCirclesTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def put(self, package, name, text, below="plugin/src/main/java"):
        path = self.root / below / package.replace(".", "/") / f"{name}.java"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"// a file\npackage {package};\n\n{text}\n", encoding="utf-8")

    def expect(self, code, *texts):
        result = subprocess.run([sys.executable, "-B", str(CHECKER), str(self.root)], capture_output=True, text=True, timeout=60,
                                check=False)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        for text in texts:
            self.assertIn(text, result.stdout + result.stderr)

    def test_packages_that_use_each_other_are_named_with_the_classes(self):
        self.put("org.roof", "Roof", "import org.cellar.Cellar;\nclass Roof { Cellar cellar; }")
        for use in ("import org.roof.Roof;\nclass Cellar { Roof roof; }", "class Cellar { org.roof.Roof roof; }",
                    "import static org.roof.Roof.NAME;\nclass Cellar { }", "import org.roof.*;\nclass Cellar { }",
                    "class Cellar { int of() { return org.roof.Roof.of(); } }"):
            with self.subTest(use):
                self.put("org.cellar", "Cellar", use)
                self.expect(1, "2 Java packages use each other: org.cellar org.roof;", "org.roof uses org.cellar: Cellar",
                            "org.cellar uses org.roof: ", "circles of Java packages: 1 in 2 packages")

    def test_comments_and_texts_are_no_use(self):
        self.put("org.roof", "Roof", "import org.cellar.Cellar;\nclass Roof { Cellar cellar; }")
        for harmless in ("/** {@link org.roof.Roof} */\nclass Cellar { }", "class Cellar { } // org.roof.Roof",
                         'class Cellar { String name = "org.roof.Roof"; }',
                         'class Cellar { String name = """\n org.roof.Roof"""; }',
                         "import my.org.roof.Roof;\nclass Cellar { }"):
            with self.subTest(harmless):
                self.put("org.cellar", "Cellar", harmless)
                self.expect(0, "circles of Java packages: none in 2 packages")

    def test_a_circle_through_several_modules_and_packages_is_one(self):
        for package, other in (("org.a", "org.b"), ("org.b", "org.c"), ("org.c", "org.a"), ("org.top", "org.a")):
            self.put(package, "One", f"class One {{ {other}.One one; }}", f"module-{package}/src/main/java")
        self.expect(1, "3 Java packages use each other: org.a org.b org.c;", "1 in 4 packages")

    def test_classes_of_a_host_system_in_a_package_of_ours_are_no_use(self):
        self.put("org.host", "Ours", "import org.cellar.Cellar;\nclass Ours { Cellar cellar; }")
        self.put("org.cellar", "Cellar", "import org.host.Theirs;\nclass Cellar { Theirs theirs; }")
        self.expect(0, "none in 2 packages")
        self.put("org.cellar", "Cellar", "import org.host.Ours;\nclass Cellar { Ours ours; }")
        self.expect(1, "org.cellar uses org.host: Ours")

    def test_tests_and_outputs_of_builds_do_not_count(self):
        self.put("org.roof", "Roof", "import org.cellar.Cellar;\nclass Roof { Cellar cellar; }")
        self.put("org.cellar", "Cellar", "class Cellar { }")
        for below in ("plugin/src/test/java", "plugin/target/src/main/java", ".verbena/src/main/java"):
            self.put("org.cellar", "Up", "class Up { org.roof.Roof roof; }", below)
        self.expect(0, "none in 2 packages")

    def test_an_empty_tree_is_refused(self):
        self.expect(1, "is this the repository?")


if __name__ == "__main__":
    unittest.main()
