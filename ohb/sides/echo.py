# SPDX-License-Identifier: Apache-2.0
"""Starts echo generators: the trivial side of the A/A control."""
import json
import os
import sys

from driver.procs import Failed, Process


class Generator:
    """One echo process that speaks the generator's line protocol."""

    def __init__(self, name, work):
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "echo_generator.py")
        argv = [sys.executable, script]
        self.name, self.command, self.properties = name, "python3 echo_generator.py", {}
        self._process = Process(f"echo generator {name}", argv, os.path.join(work, f"echo-{name}.log"), lines=True)
        self.pid = self._process.pid

    def await_ready(self, timeout=20):
        self.hello = json.loads(self._process.line(timeout))
        return self.hello

    def ask(self, line, timeout=60):
        self._process.send(line)
        answer = self._process.line(timeout)
        try:
            return json.loads(answer)
        except ValueError as error:
            raise Failed(f"{self._process.name} answered no JSON ({error})") from None

    def warm(self, row, params, timeout=60):
        return self.ask(" ".join(["warm", row] + [f"{key}={value}" for key, value in params.items()]), timeout)

    def block(self, row, seed, timeout=60):
        return self.ask(f"block {row} {seed}", timeout)

    def stop(self):
        self._process.stop(grace=1)
