# SPDX-License-Identifier: Apache-2.0
"""A file system whose device carries so many bytes a second, and whose page cache holds no more than is said.

A file is its device (a loop device). The rate is the kernel's limit for that device (blkio.throttle of the root control
group: it holds for the kernel's own threads, too, which write what others left in the page cache). The mount belongs to
a process of its own: it is gone when that process is, and what is to see the folder has enter() before its command.
"""
import functools
import os
import shutil
import subprocess
import tempfile
import threading

from driver.procs import Failed, Process

BYTES_PER_SECOND = 100 << 20
_SIZE = 16 << 30  # of the sparse file
_PROBE = 8 << 20
_OWN_MOUNTS = ("unshare", "--mount", "--propagation", "private")
_DIRTY = 16 << 20  # bytes that wait in the page cache to be written; who writes more has to wait
_CHECK = 0.2  # seconds between two looks at what is in the page cache
_START = 60
_LIMITS = tuple(f"/sys/fs/cgroup/blkio/blkio.throttle.{way}_bps_device" for way in ("read", "write"))


@functools.cache
def missing():
    """What is in the way of a slow disk here, or None."""
    lacking = [program for program in ("losetup", "mkfs.ext4", "mount", "nsenter", "unshare") if not shutil.which(program)]
    if lacking:
        return "a slow disk needs the programs " + " ".join(lacking) + ": apt-get install e2fsprogs mount util-linux"
    if os.getuid() != 0:
        return "a slow disk needs root: it is a loop device whose rate the kernel limits"
    if not all(os.access(path, os.W_OK) for path in _LIMITS):
        return "a slow disk needs the limits of control groups v1 (blkio.throttle in the root group), which are not here"
    with tempfile.TemporaryDirectory() as folder:
        image = os.path.join(folder, "image")
        _make_file_system(image, _PROBE)
        done = subprocess.run([*_OWN_MOUNTS, "mount", "-o", "loop", image, folder], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else f"a slow disk needs loop devices that this process may mount: {done.stderr.strip()}"


def _make_file_system(image, size):
    with open(image, "wb") as file:
        file.truncate(size)
    done = subprocess.run(["mkfs.ext4", "-q", "-O", "^has_journal", image], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"mkfs.ext4: {done.stderr.strip()}")


def _write(path, text):
    try:
        with open(path, "w") as file:
            file.write(text)
    except OSError as error:
        raise Failed(f"cannot write '{text}' to {path}: {error}") from error


class Disk:
    """A context manager."""

    def __init__(self, work, bytes_per_second=BYTES_PER_SECOND):
        self._image, self._mount = os.path.join(work, "slow-disk.img"), os.path.join(work, "slow-disk")
        self._work, self._rate, self._number = work, bytes_per_second, None
        self._holder = self._evictor = None
        self._ended = threading.Event()
        self._keep = 0
        self.folder = os.path.join(self._mount, "local")

    def __enter__(self):
        try:
            self._make()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def _make(self):
        os.makedirs(self._mount, exist_ok=True)
        _make_file_system(self._image, _SIZE)
        ready = 'mount -o loop,noatime,discard "$0" "$1" && mkdir "$2" && echo mounted && exec sleep infinity'
        self._holder = Process("slow disk", [*_OWN_MOUNTS, "sh", "-c", ready,
                                             self._image, self._mount, self.folder],
                               os.path.join(self._work, "slow-disk.log"), lines=True)
        self._holder.line(_START)
        device = os.stat(self.seen(self._mount)).st_dev
        self._number = f"{os.major(device)}:{os.minor(device)}"
        self._limit(self._rate)
        self._evictor = threading.Thread(target=self._evict, daemon=True)
        self._evictor.start()

    def _limit(self, rate):
        for path in _LIMITS:
            _write(path, f"{self._number} {rate}")
        device = f"/sys/class/bdi/{self._number}"
        if os.path.exists(f"{device}/max_bytes"):  # Linux 6.2
            _write(f"{device}/strict_limit", "1" if rate else "0")
            _write(f"{device}/max_bytes" if rate else f"{device}/max_ratio", str(_DIRTY if rate else 100))

    def seen(self, path):
        """Where this process finds what is at path for those that are inside."""
        return f"/proc/{self._holder.pid}/root{path}"

    def enter(self):
        """What has to stand before a command that is to see the disk."""
        return ["nsenter", "--target", str(self._holder.pid), "--mount", "--"]

    def keep(self, count):
        """From now on so many bytes of the files that were written last may stay in the page cache."""
        self._keep = count

    def _evict(self):
        while not self._ended.wait(_CHECK):
            self.drop()

    def drop(self):
        """Takes out of the page cache what may not be there. Bytes that wait to be written stay."""
        left = self._keep
        for _, size, path in sorted(self._files(), reverse=True):
            left -= size
            if left < 0:
                _forget(path)

    def _files(self):
        for folder, _, names in os.walk(self.seen(self.folder)):
            for name in names:
                path = os.path.join(folder, name)
                try:
                    state = os.stat(path)
                except OSError:
                    continue  # removed meanwhile
                yield state.st_mtime_ns, state.st_size, path

    def stop(self):
        """After everything that uses the disk has ended. May be called twice."""
        self._ended.set()
        if self._evictor is not None:
            self._evictor.join(_START)
            self._evictor = None
        if self._number is not None:
            self._limit(0)
            self._number = None
        if self._holder is not None:
            self._holder.stop(grace=1)
            self._holder = None
        if os.path.exists(self._image):
            os.unlink(self._image)


def _forget(path):
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return  # removed meanwhile
    try:
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(file)
