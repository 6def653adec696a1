# SPDX-License-Identifier: Apache-2.0
"""The row lustre.buffer: TeraGen into a shared directory of 100 MB/s by the file system lustre:, without and with the burst buffer.
Time ends with the job; then the flusher empties the buffer, and the files of both sides have to be the same."""
import contextlib
import hashlib
import os
import shutil
import subprocess
import time

from driver.procs import Failed, Process
from sides import hadoop, memcached, slowdisk

ROW, MAPS = 100, 4  # bytes of a row of teragen; files
FLUSHER = "org.verbena.hadoop.lustre.LustreFlusher"
LIMIT = 900  # seconds for one command
NAMES = "without", "with"


def missing(root):
    """What the row lacks here, or None."""
    if not memcached.program("verbena-memcached"):
        return "verbena-memcached is not built: run ./verbena build memcached"
    return slowdisk.missing() or hadoop.missing(root)


class Directory:
    """A shared directory on a slow disk, and Hadoop's commands that see it."""

    def __init__(self, root, work, disk, server):
        self._java, self._conf = hadoop.harness(root, "cluster.java"), hadoop.harness(root, "cluster.conf")
        self._plugin, self._work, self._disk = hadoop.plugin(root), work, disk
        buffer = {"verbena.lustre.buffer.servers": f"127.0.0.1:{server.address[4:]};key={server.key}",
                  "verbena.lustre.buffer.local": os.path.join(work, "copies")}
        for name, more in zip(NAMES, ({}, buffer)):
            self._conf.write(os.path.join(work, name), {"core-site": {
                **self._conf.lustre(disk.folder)["core-site"], "fs.defaultFS": "lustre:///",
                "hadoop.tmp.dir": os.path.join(work, "tmp"), **more}})

    def _argv(self, side, program, *arguments):
        conf = os.path.join(self._work, NAMES[side])
        return [*self._disk.enter(), *self._java.argv(*self._java.program([program, *arguments]), conf, self._plugin)]

    def _run(self, side, program, *arguments):
        start = time.monotonic()
        done = subprocess.run(self._argv(side, program, *arguments), capture_output=True, text=True, timeout=LIMIT, check=False)
        if done.returncode != 0:
            raise Failed(f"{program} ended with status {done.returncode}:\n{(done.stderr + done.stdout)[-3000:]}")
        return time.monotonic() - start

    def generate(self, side, rows):
        """Seconds of the job, and a digest of its files after the flush."""
        flusher = Process("flusher", self._argv(1, FLUSHER), os.path.join(self._work, "flusher.log"))
        try:
            seconds = self._run(side, "examples", "teragen", "-Dmapreduce.framework.name=local",
                                "-Dmapreduce.terasort.final.sync=false",  # else each map waits for the disk on both sides
                                f"-Dmapreduce.job.maps={MAPS}", f"-Dmapreduce.local.map.tasks.maximum={MAPS}", str(rows), "/out")
        finally:
            flusher.stop()
        self._run(1, FLUSHER, "--once")
        return seconds, self._digest()

    def _digest(self):
        """Of the output, which is deleted."""
        folder, digest = self._disk.seen(os.path.join(self._disk.folder, "out")), hashlib.sha256()
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), "rb") as file:
                for piece in iter(lambda: file.read(1 << 20), b""):
                    digest.update(piece)
        shutil.rmtree(folder)
        return digest.hexdigest()


@contextlib.contextmanager
def directory(root, work, rows):
    """Of a server that has room for the rows of a job."""
    os.makedirs(work, exist_ok=True)
    flags = "-m", str(256 + (2 * rows * ROW >> 20)), "-o", "verbena_pinned=80"
    with slowdisk.Disk(work) as disk:
        server = memcached.Server(memcached.program("verbena-memcached"), "tcp", work, "ours-buffer", flags)
        try:
            yield Directory(root, work, disk, server)
        finally:
            server.stop()


def pairs(place, rows, index):
    """The job once without and once with the buffer; which comes first changes with the pair."""
    got = {}
    for side in (0, 1) if index % 2 == 0 else (1, 0):
        got[side] = place.generate(side, rows)
    if got[0][1] != got[1][1]:
        raise Failed("the files of both sides differ")
    return [{"row": "lustre.buffer", "transport": f"m{MAPS}", "size": rows * ROW, "metric": "wall", "unit": "s",
             "raw": got[0][0], "ours": got[1][0]}]
