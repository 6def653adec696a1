# SPDX-License-Identifier: Apache-2.0
"""The disk that stands still in tests: who uses it waits and goes on with the right bytes, others do not wait."""
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

LIB = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib")
sys.path.insert(0, LIB)

from daemons.stall import Stall, Unavailable  # noqa: E402  (needs the path above)

LIMIT = 60
# Answers each line, a Python expression, with its value.
PROGRAM = """import os, sys
os.umask(0)
disk, other = os.open("disk/file", os.O_RDWR), os.open("other/file", os.O_RDWR)
print("ready", flush=True)
for line in sys.stdin:
    print(eval(line), flush=True)
"""
CALLS = {  # the call, what it answers, the kind that the disk tells
    "os.read(disk, 3)": ("b'abc'", "read"),
    "os.pread(disk, 2, 4)": ("b'ef'", "read"),
    "os.readv(disk, [bytearray(1)])": ("1", "read"),
    "os.sendfile(other, disk, 0, 1)": ("1", "read"),
    "os.write(disk, b'1')": ("1", "write"),
    "os.pwrite(disk, b'12', 0)": ("2", "write"),
    "os.writev(disk, [b'123'])": ("3", "write"),
    "os.fsync(disk)": ("None", "sync"),
    "os.fdatasync(disk)": ("None", "sync"),
    "os.close(os.open(FOLDER + 'disk/new', os.O_CREAT | os.O_WRONLY, 0o640))": ("None", "open"),
    "len(os.listdir(FOLDER + 'disk'))": ("2", None),
    "oct(os.stat(FOLDER + 'disk/new').st_mode)": ("0o100640", None),
    "os.pread(other, 3, 1)": ("b'ell'", None),
    "os.write(other, b'H')": ("1", None),
    "open(FOLDER + 'other/new', 'w').write('x')": ("1", None),
    "open(FOLDER + 'disks', 'w').write('x')": ("1", None),
}
# Where nothing but syncs waits.
SLOW_SYNCS = {
    "os.write(disk, b'1')": ("1", None),
    "os.fsync(disk)": ("None", "sync"),
    "os.pread(disk, 1, 0)": ("b'1'", None),
    "os.fdatasync(disk)": ("None", "sync"),
    "os.close(os.open(FOLDER + 'disk/new', os.O_CREAT | os.O_WRONLY, 0o640))": ("None", None),
}


class StallTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        for name in ("disk", "other"):
            (self.folder / name).mkdir()
            (self.folder / name / "file").write_text("abcdefgh" if name == "disk" else "hello")

    def start(self, call=None):
        """The program, for which the disk, or one kind of calls for it, may stand still."""
        try:
            self.disk = Stall(self.folder, self.folder / "disk", call)
        except Unavailable as cause:
            self.skipTest(str(cause))
        self.program = subprocess.Popen([sys.executable, "-c", f"FOLDER = {str(self.folder) + '/'!r}\n{PROGRAM}"],
                                        cwd=self.folder, env={**os.environ, **self.disk.environment()}, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(self.program.stdout.close)
        self.addCleanup(self.program.stdin.close)
        self.addCleanup(self.program.wait)
        self.addCleanup(self.program.kill)
        self.assertEqual(self.program.stdout.readline(), "ready\n")

    def ask(self, call):
        self.program.stdin.write(call + "\n")
        self.program.stdin.flush()

    def test_calls_for_the_disk_wait_until_it_goes_on_and_others_do_not(self):
        self.start()
        self.try_all(CALLS)

    def test_one_kind_of_calls_may_wait_alone(self):
        self.start("sync")
        self.try_all(SLOW_SYNCS)

    def try_all(self, calls):
        for call, (answer, kind) in calls.items():
            with self.subTest(call):
                with self.disk.standing():
                    self.ask(call)
                    if kind is None:
                        self.assertEqual(self.program.stdout.readline(), answer + "\n")
                    else:
                        self.await_waiting([kind])
                if kind is not None:
                    self.assertEqual(self.program.stdout.readline(), answer + "\n")
                self.assertEqual(self.disk.waiting(), [])

    def await_waiting(self, kinds):
        deadline = time.monotonic() + LIMIT
        while self.disk.waiting() != kinds:
            self.assertLess(time.monotonic(), deadline, f"{self.disk.waiting()} wait, not {kinds}")
            time.sleep(0.01)


if __name__ == "__main__":
    unittest.main()
