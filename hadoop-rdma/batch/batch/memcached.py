# SPDX-License-Identifier: Apache-2.0
"""A memcached server on each node."""
import os
import shutil

from . import ask, places
from .errors import Failed


class Memcached:
    def __init__(self, at):
        self._at = at
        own = os.path.join(places.TREE, ".verbena", "build", "memcached-release", "verbena-memcached")
        self._program = at.options.memcached_program or (own if os.access(own, os.X_OK) else shutil.which("verbena-memcached"))
        if not self._program:
            raise Failed(f"no memcached server: run {places.TREE}/verbena build memcached, or name one with --memcached-program")

    def write(self):
        """It has no files."""

    def daemons(self):
        return [self._at.daemon(f"memcached-{node}", node, 0, [
            self._program, "-m", str(self._at.options.memcached), "-l", self._at.address(node), "-p",
            str(self._at.port(node, "mc")), *(["-u", "root"] if os.getuid() == 0 else [])]) for node in self._at.indexes()]

    def _addresses(self):
        return [self._at.at(node, "mc") for node in self._at.indexes()]

    def lacks(self):
        silent = [one for one in self._addresses() if not ask.answers(one, b"version\r\n", b"VERSION")]
        return f"the memcached server {silent[0]} does not answer" if silent else None

    def environment(self):
        return {"MEMCACHED_SERVERS": ",".join(self._addresses())}

    def sentence(self):
        return f"{len(self._at.nodes)} memcached servers of {self._at.options.memcached} MiB"
