# SPDX-License-Identifier: Apache-2.0
"""The same sources give the same bytes: in another folder, at another time, in another time zone, for another user's files."""
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/lib"))
import artifacts  # noqa: E402  (needs the path above)

LIMIT = 1800  # seconds for one build


def copy(folder):
    """The files that git knows or would add, with times of their own."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-coz", "--exclude-standard"], check=True, capture_output=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes((ROOT / name).read_bytes())
            (folder / name).chmod((ROOT / name).stat().st_mode)


def build(folder, mask, **environment):
    """name -> path of each jar, built in a folder with a copy."""
    modules = ",".join(f"{name}/dist" for name in artifacts.NAMES)
    command = ["mvn", "-B", "-q", "-DskipTests", "package", "-pl", modules, "-am"]
    for more in (["-o"], []):  # what is not there yet is fetched, as by ./verbena
        done = subprocess.run([*command, *more], cwd=folder, capture_output=True, text=True, timeout=LIMIT, check=False,
                              umask=mask, env={**os.environ, **environment})
        if done.returncode == 0:
            return {name: folder / name / f"dist/target/{name}-{artifacts.VERSION}.jar" for name in artifacts.NAMES}
    raise AssertionError(f"Maven failed in {folder}:\n{done.stdout[-3000:]}")


def contents(path):
    with zipfile.ZipFile(path) as jar:
        return {entry.filename: hashlib.sha256(jar.read(entry)).hexdigest() for entry in jar.infolist()}


@unittest.skipUnless(os.environ.get("VERBENA_TEST_FULL"), "runs with --full: two builds")
class Reproducible(unittest.TestCase):
    def test_two_builds_in_two_folders_give_the_same_bytes(self):
        with tempfile.TemporaryDirectory() as folder:
            one, other = pathlib.Path(folder, "a"), pathlib.Path(folder, "another/place")
            for place in (one, other):
                copy(place)
            first = build(one, 0o022, TZ="UTC", LC_ALL="C")
            second = build(other, 0o077, TZ="Asia/Tokyo", LC_ALL="C.UTF-8", VERBENA_JOBS="1")
            for name in artifacts.NAMES:
                self.assertEqual(contents(first[name]), contents(second[name]), name)
                self.assertEqual(first[name].read_bytes() == second[name].read_bytes(), True, f"{name}: the archives differ")


if __name__ == "__main__":
    unittest.main()
