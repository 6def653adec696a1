# SPDX-License-Identifier: Apache-2.0
"""The burst buffer before the shared folder of the mode lustre: a memcached server and a flusher on each node."""
import contextlib
import os
import subprocess

from .errors import say
from .memcached import Memcached

FLUSHER = "org.verbena.hadoop.lustre.LustreFlusher"
FLUSHERS = 1  # their rank: all writers have a higher one, and the servers a lower one
KILLED = 10  # seconds
SHARE = 80  # per cent of a server's memory that bytes may take which are not flushed yet


class Buffer(Memcached):
    """Its servers are known in the site files, and by no client of memcached."""

    kind, port = "buffer", "bb"

    def __init__(self, at, hadoop):
        super().__init__(at)
        self._hadoop = hadoop
        hadoop.buffer = self

    def memory(self):
        return self._at.options.buffer

    def flags(self):
        return ["-o", f"verbena_pinned={SHARE}", "-o", f"verbena_key={self._at.key}"]

    def site(self):
        """Properties of core-site.xml; the folder has the same name on all nodes, since tasks run anywhere with one file."""
        return {"verbena.lustre.buffer.servers": ",".join(self.addresses()) + f";key={self._at.key}",
                "verbena.lustre.buffer.local": self._at.common("buffer"),
                "verbena.lustre.buffer.fault": self._at.options.buffer_fault}

    def daemons(self):
        """The flushers end before the servers."""
        flushers = [self._at.daemon(f"flusher-{node}", node, FLUSHERS,
                                    self._hadoop.java(FLUSHER, self._at.conf(f"node{node}"), 256))
                    for node in self._at.indexes()]
        return [*super().daemons(), *flushers]

    def flush(self, limit):
        """Waits, for so many seconds, until the shared folder has all files. False: it lacks some, and lines say why."""
        argv = self._hadoop.java(FLUSHER, self._at.conf("client"), 256, "--once")
        environment = {**os.environ, **self._hadoop.environment()}
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, env=environment)
        try:
            return child.wait(limit) == 0
        except subprocess.TimeoutExpired:
            say(f"files of the burst buffer were not flushed within {int(limit)} s, half of the time left: the shared folder is "
                "slow, or a writer's host is lost; raise --reserve")
            return False
        finally:
            child.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(KILLED)  # no longer: it may hang in a call of the shared folder

    def environment(self):
        return {}

    def sentence(self):
        return f"a burst buffer of {len(self._at.nodes)} servers of {self.memory()} MiB before {self._at.options.shared}"
