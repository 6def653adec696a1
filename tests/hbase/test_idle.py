# SPDX-License-Identifier: Apache-2.0
"""Who has nothing to do lets the processor alone."""
import pathlib
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from shared import LONG, OURS, ClusterTest  # noqa: E402  (needs the path above)
from writer import Writer  # noqa: E402

SECONDS, LOOKS = 5, 6
# Of one thread in a second: master and region server tell each other something now and then, and each loop looks once a second.
WAKES = 20


def wakes(pid):
    """{thread: how often it has gone to sleep} of the plugin's threads in a process."""
    found = {}
    for thread in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            if (thread / "comm").read_text().startswith("verbena"):
                lines = (thread / "status").read_text().splitlines()
                found[thread.name] = next(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt_switches"))
        except OSError:
            pass  # it has ended
    return found


@LONG
class IdleTest(ClusterTest):
    def look(self, pids):
        """{name: how often in a second that thread of the plugin wakes that does so most often}, for some seconds."""
        before, start = {name: wakes(pid) for name, pid in pids.items()}, time.monotonic()
        time.sleep(SECONDS)
        after, seconds = {name: wakes(pid) for name, pid in pids.items()}, time.monotonic() - start
        busiest = {}
        for name in pids:
            rates = [(after[name][one] - before[name][one]) / seconds for one in before[name] if one in after[name]]
            print(name, [round(rate, 1) for rate in rates], "a second", flush=True)
            self.assertTrue(rates, f"no thread of the plugin in {name}")
            busiest[name] = max(rates)
        return busiest

    def test_threads_of_an_idle_client_and_server_sleep(self):
        client = Writer(self.cluster, "idle", "rest")
        self.addCleanup(lambda: client.process.poll() is None and client.process.kill())
        client.await_rows(1)
        pids = {"client": client.process.pid, **{name: self.cluster.daemons[name][0] for name in ("master", OURS)}}
        for _ in range(LOOKS):  # servers may still have to do with what other tests have left
            busiest = self.look(pids)
            if max(busiest.values()) < WAKES:
                break
        self.assertLess(max(busiest.values()), WAKES, busiest)
        log = client.stop()[1]
        self.assertGreater(self.counts(log)[0], 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
