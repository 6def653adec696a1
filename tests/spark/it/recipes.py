# SPDX-License-Identifier: Apache-2.0
"""The recipes of docs/spark.md for YARN and Kubernetes, taken from the page and given to Spark's own client."""
import os
import re
import shlex
import subprocess
import tempfile
import unittest

from shared import HERE, ROOT, jvm, spark

LIMIT = 120  # seconds for one JVM
GIB = 1 << 30


def recipe(heading):
    """Words behind spark-submit in the section of the page with this heading."""
    with open(os.path.join(ROOT, "docs", "spark.md"), encoding="utf-8") as file:
        section = file.read().split(f"\n### {heading}\n", 1)[1].split("\n#", 1)[0]
    block = re.search(r"(?:^    .*\n)+", section, re.MULTILINE).group(0)
    words = shlex.split(block.replace("\\\n", " "))
    assert words[0] == "spark-submit", words
    return words[1:]


class Recipes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="verbena-recipes-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.path = f"{cls.folder.name}:{spark.plugin_jar(ROOT)}:{spark.home()}/jars/*"
        subprocess.run(["javac", *jvm.FOR_TOOLS, "--release", "17", "-proc:none", "-cp", cls.path, "-d", cls.folder.name,
                        os.path.join(HERE, "java", "Recipe.java")], check=True, timeout=LIMIT)

    def told(self, words):
        done = subprocess.run(["java", *jvm.QUICK.split(), "-cp", self.path, "org.verbena.spark.Recipe", *words],
                              capture_output=True, text=True, timeout=LIMIT, check=False, cwd=self.folder.name,
                              env={**os.environ, "HADOOP_CONF_DIR": self.folder.name, "SPARK_LOCAL_IP": spark.HOST})
        return done, dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)

    def assert_right(self, heading):
        done, told = self.told(recipe(heading))
        self.assertEqual(done.returncode, 0, done.stderr[-4000:])
        self.assertEqual(told["plugins"], "org.verbena.spark.VerbenaPlugin")
        self.assertEqual(int(told["asked"]), 12 * GIB)
        self.assertEqual(told["budget"], told["wanted"], "the memory that the recipe asks for is there")
        self.assertEqual(int(told["wanted"]), 3 * GIB)
        self.assertEqual(told["warning"], "null")
        self.assertLessEqual(int(told["sum"]), 12 * GIB, "heap, map outputs, buffers and the JVM's own memory fit")
        self.assertEqual(int(told["buffers"]), 192 << 20, "the page says so")
        return told

    def test_yarn(self):
        self.assertEqual(self.assert_right("On YARN")["master"], "yarn")

    def test_kubernetes(self):
        told = self.assert_right("On Kubernetes")
        self.assertTrue(told["master"].startswith("k8s://"), told)
        self.assertEqual(told["medium"], "Memory")
        self.assertEqual(told["limit"], told["asked"], "what we count with is the pod's limit")

    def test_a_size_that_is_no_quantity_is_found(self):
        words = [re.sub(r"sizeLimit=.*", "sizeLimit=4g", word) for word in recipe("On Kubernetes")]
        self.assertNotEqual(words, recipe("On Kubernetes"))
        done, told = self.told(words)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(told["medium"], "Memory", done.stderr[-4000:])
        self.assertNotIn("budget", told, "all but the size is right")
