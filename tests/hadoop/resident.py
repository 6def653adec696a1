# SPDX-License-Identifier: Apache-2.0
"""Hadoop's commands in one JVM that stays: each that starts a JVM of its own costs two seconds of processor time."""
import pathlib
import queue
import subprocess
import threading
import time

from cluster import java
from daemons.errors import Failed, tail
from daemons.ports import HOST

END_LIMIT = 300  # seconds for a DataNode to end, also on a loaded machine
PROGRAM = pathlib.Path(__file__).resolve().parent / "java" / "Resident.java"


class Resident:
    """Takes the place of a cluster where that is only asked to run commands. Settings of one command do not reach the
    next one, but what the plugin says once about a DataNode in a process it says once for the same settings."""

    def __init__(self, cluster):
        self._cluster = cluster
        self._process = self._answers = self._reader = None
        self.work, self.local = cluster.work, cluster.local

    def run(self, *words, timeout=300):
        """Runs a command and gives its CompletedProcess."""
        name, arguments = java.program(list(words))
        if words[0] == java.EXAMPLES:  # their main ends the JVM
            return self._cluster.run(*words, timeout=timeout)
        if self._process is None:
            self._start()
        self._process.stdin.write(("\t".join([name, *arguments]) + "\n").encode())
        self._process.stdin.flush()
        try:
            status, out, err = self._answers.get(timeout=timeout)
        except queue.Empty as error:
            self.stop()
            raise Failed(f"{' '.join(words)} did not end within {timeout} s") from error
        if status is None:
            self.stop()
            text = tail(self._cluster.log("resident"))
            raise Failed(f"the JVM that runs commands has ended in {' '.join(words)}:\n{text}")
        return subprocess.CompletedProcess(words, status, out, err)

    def end_for_upgrade(self, name):
        """Tells a DataNode to end; the caller waits for that. The connection of these commands to the DataNode may be of a time
        before its last restart, and the DataNode may end before it has answered: both look like failures."""
        words = "hdfs", "dfsadmin", "-shutdownDatanode", f"{HOST}:{self._cluster.ports[name + '-ipc']}", "upgrade"
        done = [self.run(*words)]
        if done[0].returncode != 0:
            done.append(self.run(*words))
        deadline = time.monotonic() + END_LIMIT
        while done[-1].returncode != 0 and name in self._cluster.running():
            if time.monotonic() > deadline:
                raise Failed(f"{name} has not ended within {END_LIMIT} s of {' '.join(words)}; what the command said:\n"
                             + "".join(one.stdout + one.stderr for one in done) + f"\nits log: {self._cluster.log(name)}")
            time.sleep(0.1)

    def _start(self):
        argv = java.argv(str(PROGRAM), [], self._cluster.client_conf(), self._cluster.plugin, options=self._cluster.options())
        with open(self._cluster.log("resident"), "ab") as log:
            self._process = subprocess.Popen(argv, env=self._cluster.environment(), stdin=subprocess.PIPE,
                                             stdout=subprocess.PIPE, stderr=log)
        self._answers = queue.Queue()
        self._reader = threading.Thread(target=self._read, args=(self._process.stdout, self._answers), daemon=True)
        self._reader.start()

    @staticmethod
    def _read(stream, answers):
        for line in stream:
            status, out, err = map(int, line.split())
            answers.put((status, stream.read(out).decode(errors="replace"), stream.read(err).decode(errors="replace")))
        answers.put((None, "", ""))

    def stop(self):
        """Ends the JVM; the next command starts another one."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            self._reader.join()
            for stream in (process.stdin, process.stdout):
                stream.close()
