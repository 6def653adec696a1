# SPDX-License-Identifier: Apache-2.0
"""The row rpc: calls between two JVMs through Hadoop's RPC, by its TCP and by ours, in turns; one client and 16."""
import contextlib
import json
import os

from driver.procs import Failed, Process
from sides import hadoop

MAIN = "org.verbena.ohb.hadoop.RpcLoad"
START, LIMIT = 120, 300  # seconds
SIDES = ("stock", "core")  # stock, ours
CLIENTS = (1, 16)
WARM_CALLS = 20_000
LOG4J = "log4j.rootLogger=WARN,stderr\nlog4j.logger.org.verbena=INFO\nlog4j.appender.stderr=org.apache.log4j.ConsoleAppender\n" \
    "log4j.appender.stderr.target=System.err\nlog4j.appender.stderr.layout=org.apache.log4j.SimpleLayout\n"


class Side:
    """A server and its clients' JVM. Not thread-safe."""

    def __init__(self, root, folder, side):
        self._processes, self._side = [], side
        try:
            port = json.loads(self._start(root, folder, "server").line(START))["port"]
            self._client = self._start(root, folder, "client", str(port))
            self._client.line(START)
        except BaseException:
            self.stop()
            raise

    def _start(self, root, folder, role, *words):
        java = hadoop.harness(root, "cluster.java")
        plugin = java.plugin(root) if self._side == "core" else None
        beside = ":".join(filter(None, [hadoop.jar(root), plugin]))
        argv = java.argv(MAIN, [self._side, role, *words], folder, beside, "256m")
        log = os.path.join(folder, f"{self._side}-{role}.log")
        self._processes.append(Process(f"the {role} of {self._side}", argv, log, lines=True))
        return self._processes[-1]

    def ask(self, clients, calls):
        """The answer, and the processor time of both processes in seconds."""
        pids = [process.pid for process in self._processes]
        before = hadoop.processor_seconds(pids)
        self._client.send(f"call {clients} {calls // clients}")
        answer = json.loads(self._client.line(LIMIT))
        if "error" in answer:
            raise Failed(f"{self._client.name}: {answer['error']}; its log is {self._client.log}")
        return answer, hadoop.processor_seconds(pids) - before

    def check(self):
        """Calls of ours go by the core."""
        with open(self._client.log, errors="replace") as log:
            if self._side == "core" and "is reached by the core" not in log.read():
                raise Failed(f"the server of core is not reached by the core; the client's log is {self._client.log}")

    def stop(self):
        for process in reversed(self._processes):
            process.stop()


@contextlib.contextmanager
def both(root, folder):
    """Both sides, running and warm: (stock, ours)."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "log4j.properties"), "w") as file:
        file.write(LOG4J)
    with contextlib.ExitStack() as stack:
        sides = []
        for side in SIDES:
            sides.append(Side(root, folder, side))
            stack.callback(sides[-1].stop)
        for side in sides:
            for clients in CLIENTS:
                side.ask(clients, WARM_CALLS)
            side.check()
        yield tuple(sides)


def pairs(sides, calls, index):
    """Both sides once with each number of clients; which comes first changes with the pair."""
    entries = []
    for clients in CLIENTS:
        got = {}
        for side in (0, 1) if index % 2 == 0 else (1, 0):
            answer, processor = sides[side].ask(clients, calls)
            got[side] = {("cpu", "s/M"): max(processor, 0.01) / answer["calls"] * 1e6}
            if clients == 1:
                got[side]["latency", "us"] = answer["p50_ns"] / 1000
            else:
                got[side]["throughput", "1/s"] = answer["calls"] / (answer["ns"] / 1e9)
        entries += [{"row": "rpc.null", "transport": f"t{clients}", "size": 8, "metric": metric, "unit": unit,
                     "raw": got[0][metric, unit], "ours": got[1][metric, unit]} for metric, unit in got[0]]
    return entries
