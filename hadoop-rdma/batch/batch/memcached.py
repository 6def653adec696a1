# SPDX-License-Identifier: Apache-2.0
"""A memcached server on each node."""
import os
import shutil

from . import ask, places
from .errors import Failed


class Memcached:
    kind, port = "memcached", "mc"

    def __init__(self, at):
        self._at = at
        own = os.path.join(places.TREE, ".verbena", "build", "memcached-release", "verbena-memcached")
        self._program = at.options.memcached_program or (own if os.access(own, os.X_OK) else shutil.which("verbena-memcached"))
        if not self._program:
            raise Failed(f"no memcached server: run {places.TREE}/verbena build memcached, or name one with --memcached-program")

    def write(self):
        """It has no files."""

    def memory(self):
        """MiB of a server."""
        return self._at.options.memcached

    def flags(self):
        return []

    def daemons(self):
        user = ["-u", "root"] if os.getuid() == 0 else []
        return [self._at.daemon(f"{self.kind}-{node}", node, 0, [
            self._program, "-m", str(self.memory()), "-l", self._at.address(node), "-p", str(self._at.port(node, self.port)),
            *self.flags(), *user]) for node in self._at.indexes()]

    def addresses(self):
        return [self._at.at(node, self.port) for node in self._at.indexes()]

    def lacks(self):
        silent = [one for one in self.addresses() if not ask.answers(one, b"version\r\n", b"VERSION")]
        return f"the memcached server {silent[0]} does not answer" if silent else None

    def environment(self):
        return {"MEMCACHED_SERVERS": ",".join(self.addresses())}

    def sentence(self):
        return f"{len(self._at.nodes)} memcached servers of {self.memory()} MiB"
