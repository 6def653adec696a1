# SPDX-License-Identifier: Apache-2.0
"""A client that writes while servers come and go."""
import os
import signal
import subprocess
import threading

from shared import LIMIT


class Writer:
    """A client that writes rows one after the other, or does something else without end, and tells how much was done."""

    def __init__(self, cluster, table, what="write", options=()):
        self._log = open(os.path.join(cluster.work, f"{table}.log"), "w+")
        self.process = subprocess.Popen(cluster.argv("Rows", [what, table], options=options), env=cluster.environment(), text=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._log)
        self.acknowledged, self._condition = 0, threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            with self._condition:
                self.acknowledged = int(line) + 1
                self._condition.notify_all()
        with self._condition:
            self._condition.notify_all()

    def await_rows(self, count):
        with self._condition:
            done = self._condition.wait_for(lambda: self.acknowledged >= count or self.process.poll() is not None, LIMIT)
        if not done or self.process.poll() is not None:
            raise AssertionError(f"{self.acknowledged} of {count} rows: {self.said()[-3000:]}")

    def stop(self, number=signal.SIGTERM):
        """Gives the number of acknowledged rows and the log."""
        self.process.send_signal(number)
        self.process.wait(LIMIT)
        self._reader.join(LIMIT)
        self.process.stdout.close()
        said = self.said()
        self._log.close()
        return self.acknowledged, said

    def said(self):
        self._log.seek(0)
        return self._log.read()
