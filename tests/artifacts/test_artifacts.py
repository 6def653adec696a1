# SPDX-License-Identifier: Apache-2.0
"""What this checkout has built for users: one jar and one POM each that stand by themselves, and what the jars say of
themselves."""
import hashlib
import os
import pathlib
import sys
import tempfile
import unittest
import xml.etree.ElementTree as tree
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import artifacts  # noqa: E402  (needs the path above)
import elf  # noqa: E402

POM = "{http://maven.apache.org/POM/4.0.0}"


def opened(name):
    return zipfile.ZipFile(artifacts.built(name)[0])


class Artifacts(unittest.TestCase):
    @unittest.skipUnless(os.environ.get("VERBENA_TEST_FULL"), "runs with --full: Maven, on what the last build installed")
    def test_maven_brings_for_each_its_one_jar_and_one_pom(self):
        wanted = {f"{name}-{artifacts.VERSION}.{kind}" for name in artifacts.NAMES for kind in ("jar", "pom")}
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual({path.name for path in artifacts.resolved(folder).iterdir()}, wanted)

    def test_a_build_leaves_one_jar_in_each_folder(self):
        for name in artifacts.NAMES:
            jar = artifacts.built(name)[0]
            self.assertEqual([path.name for path in jar.parent.glob("*.jar")], [jar.name])

    def test_their_poms_stand_by_themselves(self):
        for name in artifacts.NAMES:
            with self.subTest(name):
                pom = tree.parse(artifacts.built(name)[1]).getroot()
                self.assertEqual([pom.findtext(POM + key) for key in ("groupId", "artifactId", "version")],
                                 [artifacts.GROUP, name, artifacts.VERSION])
                self.assertEqual(pom.findtext(f"{POM}licenses/{POM}license/{POM}name"), "Apache-2.0")
                for part in ("parent", "dependencies", "dependencyManagement", "repositories"):
                    self.assertIsNone(pom.find(POM + part), part)

    def test_the_jars_name_version_commit_licence_and_what_of_others_is_inside(self):
        for name in artifacts.NAMES:
            with self.subTest(name), opened(name) as jar:
                manifest = jar.read("META-INF/MANIFEST.MF").decode()
                self.assertRegex(manifest, rf"(?m)^Implementation-Version: {artifacts.VERSION}\r?$")
                self.assertRegex(manifest, r"(?m)^Verbena-Commit: (unknown|[0-9a-f]{40})\r?$")
                self.assertIn("Apache License", jar.read("META-INF/LICENSE").decode())
                notice = jar.read("META-INF/NOTICE").decode()
                for other in ("JCTools", "OpenSSL", "LZ4", "Zstandard"):
                    self.assertIn(other, notice)

    def test_no_class_of_jctools_is_where_a_users_own_would_be(self):
        for name in artifacts.NAMES:
            with self.subTest(name), opened(name) as jar:
                entries = jar.namelist()
                self.assertEqual(len(entries), len(set(entries)))
                self.assertEqual([entry for entry in entries if entry.startswith("org/jctools/")], [])
                self.assertTrue(any(entry.startswith("org/verbena/shaded/jctools/") for entry in entries))

    def test_their_native_libraries_run_from_glibc_2_28_on_and_need_nothing_else(self):
        machines = {"linux-x86_64": "Advanced Micro Devices X86-64", "linux-aarch64": "AArch64"}
        for name in artifacts.NAMES:
            with self.subTest(name), tempfile.TemporaryDirectory() as folder, opened(name) as jar:
                libraries = [entry for entry in jar.namelist() if entry.endswith(".so")]
                self.assertGreater(len(libraries), 0)
                for library in libraries:
                    path = jar.extract(library, folder)
                    self.assertEqual(elf.machine(path), machines[library.split("/")[2]])
                    self.assertEqual(elf.younger(path), [], library)
                    self.assertEqual(elf.search_paths(path), [], library)
                    self.assertLessEqual({word.split(".so")[0] for word in elf.needed(path)},
                                         {"libc", "libpthread", "libdl", "ld-linux-x86-64", "ld-linux-aarch64"}, library)
                    digest = hashlib.sha256(jar.read(library)).hexdigest()
                    self.assertEqual(jar.read(library + ".sha256").decode().strip(), digest)


if __name__ == "__main__":
    unittest.main()
