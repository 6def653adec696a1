# SPDX-License-Identifier: Apache-2.0
"""A program that reads a file of HDFS at any place while a test does other things (java/Preads.java)."""
import contextlib
import pathlib
import subprocess
import threading

from cluster import java

PROGRAM = str(pathlib.Path(__file__).resolve().parent / "java" / "Preads.java")
READER = "org.apache.hadoop.hdfs.ReadConnection"  # the class by which small reads are asked for
LIMIT = 300  # seconds for its end
READS = 200  # of each kind, between two changes


class Preads:
    """A program that reads a file at any place, and compares, until it is told to end or finds a fault."""

    def __init__(self, cluster, path, source, settings=None):
        self.reads, self.last = 0, ""
        self._log, self._classes = cluster.log("preads"), cluster.log("preads-classes")
        settings = [f"{name}={value}" for name, value in (settings or {}).items()]
        argv = java.argv(PROGRAM, [path, str(source), *settings], cluster.client_conf(), cluster.plugin,
                         options=[*cluster.options(), f"-Xlog:class+load:file={self._classes}::filesize=0"])
        with open(self._log, "ab") as log:
            self._program = subprocess.Popen(argv, env=cluster.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                             stderr=log, text=True)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self._program.stdout:
            self.last = line.strip()
            self.reads = int(self.last.split()[1]) if self.last.startswith("read ") else self.reads

    def more(self, count):
        """A condition to wait for: so many reads more than now."""
        goal = self.reads + count

        def reached():
            if self._program.poll() is not None:
                raise AssertionError(f"the reader has ended: {self.text()[-3000:]}")
            return self.reads >= goal
        return reached

    def end(self):
        """Whether all that was read was right."""
        self._program.stdin.write("\n")
        self._program.stdin.flush()
        self._program.wait(LIMIT)
        self._reader.join(LIMIT)
        return self.last == "right"

    def close(self):
        self._program.kill()
        self._program.wait()
        self._reader.join()
        self._program.stdout.close()
        with contextlib.suppress(BrokenPipeError):
            self._program.stdin.close()

    def text(self):
        """What it has logged, of all such programs of the cluster."""
        return pathlib.Path(self._log).read_text(errors="replace")

    def has_loaded(self, name):
        """Whether it has used a class."""
        return f" {name} source:" in pathlib.Path(self._classes).read_text(encoding="utf-8")
