# SPDX-License-Identifier: Apache-2.0
"""Programs that write and read files of HDFS while a test makes faults (java/Mix.java), and what HDFS has acknowledged to them."""
import pathlib
import subprocess
import threading

from cluster import java

PROGRAM = pathlib.Path(__file__).resolve().parent / "java" / "Mix.java"
WRITER = "org.apache.hadoop.hdfs.ParallelOutputStream"  # the class that writes small files
LIMIT = 1200  # seconds for a verification


class Writers:
    """One program at a time; kind: "write", or "small" for small files alone. settings: of the client."""

    def __init__(self, cluster, folder, seed, kind="write", settings=None):
        self.files, self.wrong, self.failed = {}, [], []
        self.closed = 0  # by this program
        self._cluster, self._folder, self._seed, self._kind = cluster, folder, seed, kind
        self._settings = [f"{name}={value}" for name, value in (settings or {}).items()]
        self._lock = threading.Lock()
        self._program = self._reader = None
        self._count = 0

    def _argv(self, *words, options=()):
        return java.argv(str(PROGRAM), [*words, *self._settings], self._cluster.client_conf(), self._cluster.plugin,
                         options=[*self._cluster.options(), *options])

    def restart(self):
        """Kills the program and starts another."""
        self.close()
        self._count += 1
        self.closed = 0
        argv = self._argv(self._kind, f"{self._folder}/{self._count}", str(self._seed + self._count),
                          options=[f"-Xlog:class+load:file={self._cluster.log('classes')}::filesize=0"])
        with open(self._cluster.log("mix"), "ab") as log:
            self._program = subprocess.Popen(argv, env=self._cluster.environment(), stdin=subprocess.DEVNULL,
                                             stdout=subprocess.PIPE, stderr=log, text=True)
        self._reader = threading.Thread(target=self._read, args=(self._program.stdout,), daemon=True)
        self._reader.start()

    def close(self):
        if self._program:
            self._program.kill()
            self._program.wait()
            self._reader.join()  # a dead program's last lines count
            self._program.stdout.close()
            self._program = None

    def _read(self, stream):
        for line in stream:
            kind, path, what = line.rstrip("\n").split(" ", 2)
            with self._lock:
                if kind in ("flushed", "closed"):
                    self.files[path] = kind, int(what)
                    self.closed += kind == "closed"
                elif kind == "deleting":
                    self.files.pop(path, None)
                else:
                    (self.wrong if kind == "wrong" else self.failed).append(line)

    def more_closed(self, count):
        """A condition to wait for: the program has closed so many files more than now."""
        goal = self.closed + count
        return lambda: self.closed >= goal

    def has_loaded(self, name):
        """Whether the last program has used a class."""
        return f" {name} source:" in pathlib.Path(self._cluster.log("classes")).read_text(encoding="utf-8")

    def faults(self):
        """What is not as it was acknowledged, or was not when the program read it; asked after close()."""
        lines = [f"{kind} {path} {length}" for path, (kind, length) in sorted(self.files.items())]
        done = subprocess.run(self._argv("verify"), env=self._cluster.environment(), input="\n".join(lines) + "\n", text=True,
                              capture_output=True, timeout=LIMIT, check=False)
        answers = done.stdout.splitlines()
        if done.returncode != 0 or len(answers) != len(lines):
            return [f"{len(answers)} answers for {len(lines)} files: {done.stderr[-3000:]}"]
        return [line for line in answers if not line.startswith("right ")] + self.wrong
