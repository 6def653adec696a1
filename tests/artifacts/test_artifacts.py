# SPDX-License-Identifier: Apache-2.0
"""What Maven gets that asks for one of our jars: that jar, and nothing else; and what the jars say of themselves."""
import pathlib
import sys
import tempfile
import unittest
import xml.etree.ElementTree as tree
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import artifacts  # noqa: E402  (needs the path above)

POM = "{http://maven.apache.org/POM/4.0.0}"


class Artifacts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = artifacts.resolved(folder.name)

    def test_each_brings_its_one_jar_and_one_pom(self):
        wanted = {f"{name}-{artifacts.VERSION}.{kind}" for name in artifacts.NAMES for kind in ("jar", "pom")}
        self.assertEqual({path.name for path in self.folder.iterdir()}, wanted)

    def test_their_poms_stand_by_themselves(self):
        for name in artifacts.NAMES:
            with self.subTest(name):
                pom = tree.parse(self.folder / f"{name}-{artifacts.VERSION}.pom").getroot()
                self.assertEqual([pom.findtext(POM + key) for key in ("groupId", "artifactId", "version")],
                                 [artifacts.GROUP, name, artifacts.VERSION])
                self.assertEqual(pom.findtext(f"{POM}licenses/{POM}license/{POM}name"), "Apache-2.0")
                for part in ("parent", "dependencies", "dependencyManagement", "repositories"):
                    self.assertIsNone(pom.find(POM + part), part)

    def test_the_jars_name_version_commit_licence_and_what_of_others_is_inside(self):
        for name in artifacts.NAMES:
            with self.subTest(name), zipfile.ZipFile(self.folder / f"{name}-{artifacts.VERSION}.jar") as jar:
                manifest = jar.read("META-INF/MANIFEST.MF").decode()
                self.assertRegex(manifest, rf"(?m)^Implementation-Version: {artifacts.VERSION}\r?$")
                self.assertRegex(manifest, r"(?m)^Verbena-Commit: (unknown|[0-9a-f]{40})\r?$")
                self.assertIn("Apache License", jar.read("META-INF/LICENSE").decode())
                notice = jar.read("META-INF/NOTICE").decode()
                for other in ("JCTools", "OpenSSL", "LZ4", "Zstandard"):
                    self.assertIn(other, notice)

    def test_no_class_of_jctools_is_where_a_users_own_would_be(self):
        for name in artifacts.NAMES:
            with self.subTest(name), zipfile.ZipFile(self.folder / f"{name}-{artifacts.VERSION}.jar") as jar:
                entries = jar.namelist()
                self.assertEqual(len(entries), len(set(entries)))
                self.assertEqual([entry for entry in entries if entry.startswith("org/jctools/")], [])
                self.assertTrue(any(entry.startswith("org/verbena/shaded/jctools/") for entry in entries))


if __name__ == "__main__":
    unittest.main()
