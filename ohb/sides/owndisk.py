# SPDX-License-Identifier: Apache-2.0
"""A file system of its own on a loop device, which only those see who enter() its mount namespace.

The mount belongs to a process of its own: it is gone when that process is.
"""
import functools
import os
import shutil
import subprocess
import tempfile

from driver.procs import Failed, Process, Scope

_PROBE = 8 << 20
_OWN_MOUNTS = ("unshare", "--mount", "--propagation", "private")
_START = 60


@functools.cache
def missing():
    """What is in the way of such a disk here, or None."""
    lacking = [program for program in ("losetup", "mkfs.ext4", "mount", "nsenter", "unshare") if not shutil.which(program)]
    if lacking:
        return "a disk of its own needs the programs " + " ".join(lacking) + ": apt-get install e2fsprogs mount util-linux"
    if os.getuid() != 0:
        return "a disk of its own is a loop device, which only root can make: run it as root"
    with tempfile.TemporaryDirectory() as folder:
        image = os.path.join(folder, "image")
        _make_file_system(image, _PROBE)
        done = subprocess.run([*_OWN_MOUNTS, "mount", "-o", "loop", image, folder], capture_output=True, text=True, check=False)
    failed = done.returncode != 0
    return f"a disk of its own needs loop devices, and this system mounts none: {done.stderr.strip()}" if failed else None


def _make_file_system(image, size):
    with open(image, "wb") as file:
        file.truncate(size)
    done = subprocess.run(["mkfs.ext4", "-q", "-O", "^has_journal", image], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"mkfs.ext4: {done.stderr.strip()}")


class OwnDisk(Scope):
    """A context manager."""

    def __init__(self, work, name, size, then="true"):
        """name: of the image, the folder on which it is mounted, and the log, in work; size: of the sparse image, in bytes.

        then: shell commands inside the namespace, after the mount."""
        self._image, self.mount = os.path.join(work, name + ".img"), os.path.join(work, name)
        self._work, self._name, self._size, self._then = work, name, size, then
        self._holder = None
        self.folder = os.path.join(self.mount, "local")

    def start(self):
        """Called once."""
        os.makedirs(self.mount, exist_ok=True)
        _make_file_system(self._image, self._size)
        ready = (f'mount -o loop,noatime,discard "$0" "$1" && mkdir "$2" && {self._then} && echo mounted && '
                 "exec sleep infinity")
        self._holder = Process(self._name, [*_OWN_MOUNTS, "sh", "-c", ready, self._image, self.mount, self.folder],
                               os.path.join(self._work, self._name + ".log"), lines=True)
        self._holder.line(_START)

    def seen(self, path):
        """Where this process finds what is at path for those that are inside."""
        return f"/proc/{self._holder.pid}/root{path}"

    def enter(self):
        """What has to stand before a command that is to see the disk."""
        return ["nsenter", "--target", str(self._holder.pid), "--mount", "--"]

    def stop(self):
        """After everything that uses the disk has ended. May be called twice."""
        if self._holder is not None:
            self._holder.stop(grace=1)
            self._holder = None
        if os.path.exists(self._image):
            os.unlink(self._image)
