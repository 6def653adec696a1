# SPDX-License-Identifier: Apache-2.0
"""How many bytes processes have moved through Verbena: the counters of the core, out of the statistics pages that it keeps.

A page is a memfd that its process keeps open (native-core/src/base/stats_format.h has the layout, docs/tools.md the meaning).
What is mapped here outlives the process, so the totals of ranks that have ended are whole.
"""
import mmap
import os
import struct
import threading
import time

from driver import noise

MAGIC = b"VBNSTAT3"
HEADER = struct.Struct("<8sIIIIQQIIHHH10x")
NAME, MOST = "/memfd:vbn-stats ", 1 << 20
POLL_SECONDS, POLL_SHARE = 0.03, 8  # a look waits so long, and at least so many times what the last one took
# (counters whose sum it is, how it is called)
WAYS = ((("self.tx.bytes",), "in packets within a process"), (("shm.tx.bytes",), "in packets over shared memory"),
        (("tcp.tx.bytes",), "in packets over TCP"), (("rc.tx.bytes", "ud.tx.bytes"), "in packets over RDMA devices"),
        (("get.mapped.bytes", "put.mapped.bytes"), "in place, in memory that both sides map"),
        (("copy.read.bytes", "copy.written.bytes"), "copied from process to process, without packets"),
        (("get.native.bytes", "put.native.bytes"), "by RDMA offload"))


class Page:
    """The page behind a path, mapped; ValueError when it is none."""

    def __init__(self, path):
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            self.inode = os.fstat(file.fileno()).st_ino
            if not HEADER.size <= size <= MOST:
                raise ValueError("no statistics page")
            self._memory = mmap.mmap(file.fileno(), size, prot=mmap.PROT_READ)
        magic, self._counters, self._rows, self._row_bytes, names, *_ = HEADER.unpack_from(self._memory)
        self._first = HEADER.size + names
        if magic != MAGIC or self._first + self._rows * self._row_bytes > size or 8 * self._counters > self._row_bytes:
            raise ValueError("a statistics page of another version")
        self._names = [name.decode() for name in self._memory[HEADER.size:self._first].split(b"\0")[:self._counters]]

    def counters(self):
        """{name: sum of all workers}"""
        rows = [struct.unpack_from(f"<{self._counters}Q", self._memory, self._first + row * self._row_bytes)
                for row in range(self._rows)]
        return dict(zip(self._names, map(sum, zip(*rows))))


class Pages:
    """The pages of a process and of all below it. Look as often as processes may have come; the sum keeps those that are gone."""

    def __init__(self):
        self._found = {}

    def look(self, root=None):
        for pid in noise.tree(root or os.getpid()):
            folder = f"/proc/{pid}/fd"
            try:
                for name in os.listdir(folder):
                    if os.readlink(f"{folder}/{name}").startswith(NAME):
                        page = Page(f"{folder}/{name}")
                        self._found.setdefault(page.inode, page)
            except (OSError, ValueError):
                continue  # it ended meanwhile, or is another user's

    def totals(self):
        """{counter: sum}"""
        sums = {}
        for page in self._found.values():
            for name, value in page.counters().items():
                sums[name] = sums.get(name, 0) + value
        return sums

    def while_running(self, call):
        """What call() gives; meanwhile the processes below this one are looked for, again and again."""
        ended = threading.Event()

        def watch():
            pause = POLL_SECONDS
            while not ended.wait(pause):
                start = time.monotonic()
                self.look()
                pause = max(POLL_SECONDS, POLL_SHARE * (time.monotonic() - start))

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            return call()
        finally:
            ended.set()
            watcher.join()


def size(count):
    """Bytes for people."""
    for unit in ("bytes", "KiB", "MiB"):
        if count < 10240:
            return f"{count:,.0f} {unit}"
        count /= 1024
    return f"{count:,.1f} GiB"


def lines(totals, what):
    """What the totals say, as text: through which ways of the core the bytes of `what` went."""
    ways = [(sum(totals.get(name, 0) for name in names), text) for names, text in WAYS]
    ways = sorted(((count, text) for count, text in ways if count), reverse=True)
    if not ways:
        return ["Verbena's statistics pages counted no byte: there is no proof that data went through Verbena."]
    return [f"Through Verbena went {size(sum(count for count, _ in ways))} {what}: "
            + "; ".join(f"{size(count)} {text}" for count, text in ways) + "."]
