#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The core that was cross-built for aarch64, started under QEMU's user emulation.

usage: aarch64.py BUILD NATIVE SYSROOT [--list] [NAME ...]
BUILD: for aarch64; NATIVE: of this host; SYSROOT: OpenSSL, lz4 and zstd for arm64
"""
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/lib"))
import elf  # noqa: E402  (needs the path above)
import program  # noqa: E402
import unittests  # noqa: E402

EMULATOR = ("qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu")
CROSS, HERE = "aarch64-linux-gnu-gcc", "gcc"
LIMIT = 300  # seconds for one program
LOADER = r"""
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **paths)
{
    void *library = count == 2 ? dlopen(paths[1], RTLD_NOW) : NULL;
    if (library == NULL || dlsym(library, "JNI_OnLoad") == NULL) {
        puts(dlerror());
        return 1;
    }
    puts("loaded");
    return 0;
}
"""
BUILD = NATIVE = SYSROOT = None


def compiled(folder, compiler, source, *arguments):
    program = os.path.join(folder, f"{pathlib.Path(source).stem}-{compiler}")
    subprocess.run([compiler, "-O1", "-D_GNU_SOURCE", "-o", program, source, *arguments], check=True, timeout=LIMIT)
    return program


def libraries(build, *folders):
    return (f"-I{ROOT}/native-core/include", os.path.join(build, "libvbn.a"), *(f"-L{folder}" for folder in folders), "-lssl",
            "-lcrypto", "-llz4", "-lzstd", "-lpthread", "-ldl")


def output(*command, **environment):
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False, env={**os.environ, **environment})
    if done.returncode != 0:
        raise AssertionError(f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Aarch64(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        source = ROOT / "native-core/examples/pingpong.c"
        cls.there = compiled(cls.folder, CROSS, source, *libraries(BUILD, f"{SYSROOT}/usr/lib/aarch64-linux-gnu"))
        cls.here = compiled(cls.folder, HERE, source, *libraries(NATIVE))
        cls.key = os.path.join(cls.folder, "key")
        output(*EMULATOR, f"{BUILD}/vbn-info", "--new-key", cls.key)

    def test_the_library_of_the_jar_loads_and_needs_no_newer_glibc_than_the_other_one(self):
        library = f"{BUILD}/libvbnjni.so"
        self.assertEqual((elf.machine(library), elf.younger(library), elf.search_paths(library)), ("AArch64", [], []))
        source = pathlib.Path(self.folder, "loader.c")
        source.write_text(LOADER)
        self.assertEqual(output(*EMULATOR, compiled(self.folder, CROSS, source, "-ldl"), library), "loaded\n")

    def test_vbn_info_opens_a_worker_with_both_transports(self):
        said = output(*EMULATOR, f"{BUILD}/vbn-info")
        self.assertRegex(said, r"(?m)^worker +ok +opens")
        for transport in ("shm", "tcp"):
            self.assertRegex(said, rf"(?m)^transport {transport} +ok .*\(ready\)")

    def test_two_processes_play_ping_pong_by_shared_memory_and_by_tcp(self):
        for transport in ("shm", "tcp"):
            with self.subTest(transport):
                self.play((*EMULATOR, self.there), (*EMULATOR, self.there), transport)

    @unittest.skipUnless(platform.machine() == "x86_64", "this host's processor is no other one")
    def test_both_processors_understand_each_other_by_tcp(self):
        for server, client in (((*EMULATOR, self.there), (self.here,)), ((self.here,), (*EMULATOR, self.there))):
            with self.subTest(server[0]):
                self.play(server, client, "tcp")

    def play(self, server, client, transport):
        transports = {"VBN_TL_ENABLE": transport, "VBN_TL_TCP_INTERFACE": "lo"}
        with subprocess.Popen([*server, self.key], stdout=subprocess.PIPE, text=True,
                              env={**os.environ, **transports}) as answering:
            try:
                said = output(*client, self.key, answering.stdout.readline().strip(), **transports)
                answering.wait(LIMIT)
            finally:
                answering.kill()
        self.assertRegex(said, rf"^1000 round trips of \d+ ns over .*{transport}")
        self.assertEqual(answering.returncode, 0)


if __name__ == "__main__":
    OPTIONS = program.read(program.parser(__doc__, build="for aarch64", native="of this host", sysroot="libraries for arm64"))
    BUILD, NATIVE, SYSROOT = map(os.path.abspath, (OPTIONS.build, OPTIONS.native, OPTIONS.sysroot))
    sys.exit(unittests.main(unittests.of_classes(Aarch64), OPTIONS))
