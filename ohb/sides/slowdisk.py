# SPDX-License-Identifier: Apache-2.0
"""A file system whose device carries so many bytes a second, and whose page cache holds no more than is said.

A file is its device (owndisk). The rate is the kernel's limit for that device (blkio.throttle of the root control group:
it holds for the kernel's own threads, too, which write what others left in the page cache).
"""
import glob
import os
import threading

from driver.procs import Failed
from sides import owndisk

BYTES_PER_SECOND = 100 << 20
_SIZE = 16 << 30  # of the sparse file
DIRTY = 16 << 20  # bytes that wait in the page cache to be written; who writes more has to wait
_CHECK = 0.2  # seconds between two looks at what is in the page cache
_END = 60  # seconds for the last look
_LIMITS = tuple(f"/sys/fs/cgroup/blkio/blkio.throttle.{way}_bps_device" for way in ("read", "write"))


def missing(bounded=False):
    """What is in the way of a slow disk here, or None. bounded: few bytes may wait in the page cache to be written."""
    if owndisk.missing():
        return owndisk.missing()
    if not all(os.access(path, os.W_OK) for path in _LIMITS):
        return "a slow disk needs control groups v1 (blkio.throttle in the root group), and this system has none"
    if bounded and not glob.glob("/sys/class/bdi/*/max_bytes"):
        return "a slow disk with a bounded page cache needs Linux 6.2, whose bdi has max_bytes"
    return None


def _write(path, text):
    try:
        with open(path, "w") as file:
            file.write(text)
    except OSError as error:
        raise Failed(f"cannot write '{text}' to {path}: {error}") from error


class Disk(owndisk.OwnDisk):
    """A context manager."""

    def __init__(self, work, bytes_per_second=BYTES_PER_SECOND, dirty=DIRTY):
        super().__init__(work, "slow-disk", _SIZE)
        self._rate, self._dirty, self._number = bytes_per_second, dirty, None
        self._evictor = None
        self._ended = threading.Event()
        self._keep = 0

    def start(self):
        super().start()
        device = os.stat(self.seen(self.mount)).st_dev
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
            _write(f"{device}/max_bytes" if rate else f"{device}/max_ratio", str(self._dirty if rate else 100))

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
            self._evictor.join(_END)
            self._evictor = None
        if self._number is not None:
            self._limit(0)
            self._number = None
        super().stop()


def _forget(path):
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return  # removed meanwhile
    try:
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(file)
