# SPDX-License-Identifier: Apache-2.0
"""The burst buffer before lustre: for tests: its servers, clusters that know them, and flushers."""
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "memcached")]

from case import new_key  # noqa: E402  (needs the path above)
from cluster import java  # noqa: E402
from cluster.cluster import Cluster  # noqa: E402
from daemons.errors import Failed  # noqa: E402

STATE = HERE.parents[1] / ".verbena/build/memcached-release"
os.environ.setdefault("VERBENA_MEMCACHED_BUILD", str(pathlib.Path(os.environ.get("VERBENA_MEMCACHED", STATE / "x")).parent))
import shared  # noqa: E402  (reads the variable)

FLUSHER = "org.verbena.hadoop.lustre.LustreFlusher"
LIMIT = 1200  # seconds of a command


class Buffered(Cluster):
    """Daemons, containers and clients know the servers."""

    buffer = {}

    def site(self, name):
        site = super().site(name)
        site["core-site"].update(self.buffer)
        return site


class Burst:
    """Two servers with a key. more: other settings of the buffer."""

    def __init__(self, folder, **more):
        self._folder = pathlib.Path(folder)
        self._copies = self._folder / "copies"
        key = new_key(pathlib.Path(folder) / "key")
        self._servers, self._flushers = [], []
        for _ in range(2):
            self._servers.append(shared.Server("-m", "128", "-o", "verbena_pinned=80", "-o", f"verbena_key={key}"))
        places = ",".join(f"127.0.0.1:{server.port}" for server in self._servers)
        self.settings = {"verbena.lustre.buffer.servers": f"{places};key={key};timeout=60000",
                         "verbena.lustre.buffer.local": self._copies,
                         **{f"verbena.lustre.buffer.{name}": value for name, value in more.items()}}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        for process in self._flushers:
            process.kill()
            process.wait()
        for server in self._servers:
            server.stop()

    def kind(self):
        """A class of clusters that know these servers."""
        return type("Buffered", (Buffered,), {"buffer": self.settings})

    def pinned(self):
        return sum(int(server.stats("verbena")["pinned_items"]) for server in self._servers)

    def stored(self):
        """Items that have come to the servers until now, also those that were flushed."""
        return sum(int(server.stats()["total_items"]) for server in self._servers)

    def flusher(self, cluster, *words):
        """Starts one. What it says goes to a file: nobody reads a pipe while jobs run."""
        argv = java.argv(FLUSHER, list(words), cluster.client_conf(), os.environ["VERBENA_HADOOP_JAR"], options=java.QUICK)
        with self._said(len(self._flushers)).open("w") as said:
            process = subprocess.Popen(argv, stdout=said, stderr=subprocess.STDOUT, preexec_fn=shared.end_with_the_test)
        self._flushers.append(process)
        return process

    def _said(self, number):
        return self._folder / f"flusher-{number}.log"

    def said(self, flusher):
        """What a flusher has said until now."""
        return self._said(self._flushers.index(flusher)).read_text(errors="replace")

    def flush(self, cluster):
        """What is closed now."""
        once = self.flusher(cluster, "--once")
        once.wait(timeout=LIMIT)
        if once.returncode != 0:
            raise Failed(f"the flusher ended with status {once.returncode}: {self.said(once)}")

    def flush_all(self, cluster, root):
        """Until nothing is left, also of the files that daemons write at the end of a job: neither items nor records nor copies."""
        deadline = time.monotonic() + LIMIT
        while left := self._left(pathlib.Path(root)):
            if time.monotonic() > deadline:
                raise Failed(f"left in the buffer: {left}")
            self.flush(cluster)

    def _left(self, root):
        pinned = self.pinned()
        found = [str(path) for path in (root / ".verbena-buffer", *self._copies.glob("*")) if path.exists()]
        return [*found, f"{pinned} pinned items"] if found or pinned else []
