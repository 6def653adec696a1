# SPDX-License-Identifier: Apache-2.0
"""The client library as it is installed: a program is compiled and linked by pkg-config alone, from a folder that was moved."""
import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile
import unittest

import shared

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "memcached-rdma/client/example/mcexample.c"
LIMIT = 120


def call(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=LIMIT, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{shlex.join(map(str, command))} gave {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


class InstallTest(unittest.TestCase):
    @unittest.skipUnless(shutil.which("pkg-config"), "pkg-config is not installed")
    def test_a_program_is_built_by_pkg_config_from_any_prefix_and_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            first, moved = pathlib.Path(folder) / "first", pathlib.Path(folder) / "moved"
            call("cmake", "--install", shared.BUILD, "--prefix", first)
            first.rename(moved)
            package = next(moved.rglob("verbena-memcached.pc"))
            environment = dict(os.environ, PKG_CONFIG_PATH=str(package.parent))
            flags = shlex.split(call("pkg-config", "--cflags", "--libs", "verbena-memcached", env=environment))
            program = pathlib.Path(folder) / "example"
            call("cc", "-Wall", "-Werror", EXAMPLE, "-o", program, *flags)
            server = shared.Server()
            try:
                text = call(program, f"127.0.0.1:{server.port};connect=60000;timeout=60000",
                            env=dict(os.environ, LD_LIBRARY_PATH=str(package.parent.parent)))
            finally:
                server.stop()
        self.assertIn("greeting: hello", text)

    def test_the_libraries_for_unmodified_programs_are_in_a_folder_of_their_own(self):
        with tempfile.TemporaryDirectory() as folder:
            call("cmake", "--install", shared.BUILD, "--prefix", folder)
            names = [path.name for path in pathlib.Path(folder).glob("lib*/verbena/libmemcached/*")]
        wanted = [f"{name}{end}" for name in ("libmemcached.so.11", "libmemcachedutil.so.2", "libhashkit.so.2")
                  for end in ("", ".0.0")]
        self.assertEqual(sorted(names), sorted(wanted))


if __name__ == "__main__":
    unittest.main()
