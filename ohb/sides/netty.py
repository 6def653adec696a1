# SPDX-License-Identifier: Apache-2.0
"""The row netty: 64 bytes there and back between two JVMs through HBase's Netty, by its epoll transport and by ours, in turns."""
import contextlib
import json
import os

from driver.procs import Failed, Process
from sides import hadoop, hbase

MAIN = "org.verbena.ohb.hbase.EchoLoad"
BYTES = 64
START, LIMIT = 120, 300  # seconds
TRANSPORTS = ("epoll", "core")  # stock, ours
WARM_ROUNDS = 20_000


class Side:
    """An echo server and its client. Not thread-safe."""

    def __init__(self, root, folder, transport):
        self._processes = []
        try:
            port = json.loads(self._start(root, folder, transport, "server").line(START))["port"]
            self._client = self._start(root, folder, transport, "client", str(port))
            self._client.line(START)
        except BaseException:
            self.stop()
            raise

    def _start(self, root, folder, transport, side, *words):
        java = hadoop.harness(root, "servers.java")
        argv = java.argv(MAIN, [transport, side, *words], folder, java.plugin(root), "256m", beside=[hadoop.jar(root, hbase.JAR)])
        log = os.path.join(folder, f"{transport}-{side}.log")
        self._processes.append(Process(f"the {side} of {transport}", argv, log, lines=True))
        return self._processes[-1]

    def ask(self, rounds):
        """The answer, and the processor time of both processes in seconds."""
        pids = [process.pid for process in self._processes]
        before = hadoop.processor_seconds(pids)
        self._client.send(f"echo {rounds} {BYTES}")
        answer = json.loads(self._client.line(LIMIT))
        if "error" in answer:
            raise Failed(f"{self._client.name}: {answer['error']}; its log is {self._client.log}")
        return answer, hadoop.processor_seconds(pids) - before

    def stop(self):
        for process in reversed(self._processes):
            process.stop()


@contextlib.contextmanager
def both(root, folder):
    """Both sides, running and warm: (stock, ours)."""
    os.makedirs(folder, exist_ok=True)
    with contextlib.ExitStack() as stack:
        sides = []
        for transport in TRANSPORTS:
            sides.append(Side(root, folder, transport))
            stack.callback(sides[-1].stop)
        for side in sides:
            side.ask(WARM_ROUNDS)
        yield tuple(sides)


def pairs(sides, rounds, index):
    """Both sides once, one after the other; which comes first changes with the pair."""
    got = {}
    for side in (0, 1) if index % 2 == 0 else (1, 0):
        answer, processor = sides[side].ask(rounds)
        got[side] = {("latency", "us"): answer["p50_ns"] / 1000, ("cpu", "s/M"): max(processor, 0.01) / answer["calls"] * 1e6}
    return [{"row": "netty.echo", "transport": "t1", "size": BYTES, "metric": metric, "unit": unit, "raw": got[0][metric, unit],
             "ours": got[1][metric, unit]} for metric, unit in got[0]]
