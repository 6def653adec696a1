# SPDX-License-Identifier: Apache-2.0
"""The row mpi.rma: windows by the libraries of mpi.messages, on one host and by TCP only."""
import time

from driver.procs import Failed
from sides import core, mpi, ranks

ours, before, peers, missing = mpi.ours, mpi.before, mpi.peers, mpi.missing

UNITS = dict.fromkeys(("put", "get", "fetch_and_op", "compare_and_swap", "accumulate", "flush", "lock", "fence", "pscw", "counter",
                       "tcp"), "us")
MOST = {}  # as in mpi
TARGETS = {"put.8": (0.9, None), "get.8": (0.9, None), "fetch_and_op.8": (0.9, None), "put.65536": (1.0, None),
           "get.65536": (1.0, None), "flush": (1.0, None), "lock": (1.0, None), "fence": (1.0, None), "pscw": (1.0, None),
           "counter": (0.5, None), "tcp.counter": (0.5, None)}
COUNTING = 9  # ranks of the form counter


def better(name):
    return core.better(UNITS[name.split(".")[0]])


def target(name):
    """(ratio, library or None) promised for a cell, or None."""
    return TARGETS.get(ranks.bare(name))


class Bench(mpi.Bench):
    """Where a stock library ends a form early, the cells before count, and the reason is in the details of each block. A form that
    does not end is not run again."""

    def __init__(self, library, root, folder):
        super().__init__(library, root, folder)
        self._refused, self._endless = {}, set()

    def block(self, _side=None, _seed=None):
        metrics, dropped = self._of_two("rma")
        cpus = core.placements()[0][1]
        for name, count, words, tcp in (("counter", COUNTING, ("counter",), False), ("tcp.rma", 2, ("rma", cpus), True),
                                        ("tcp.counter", COUNTING, ("counter",), True)):
            metrics.update({("tcp." if tcp else "") + ranks.metric(cell["row"], cell["size"]): cell["value"]
                            for cell in self._cells(name, cpus, count, *words, tcp=tcp)})
        return {"metrics": metrics, "details": {"dropped": dropped, "refused": dict(self._refused)}}

    def _cells(self, name, cpus, count, *words, tcp=False):
        """Those of a form, as the program prints them."""
        cells, began = [], time.monotonic()
        if tcp and self.library.no_tcp:
            self._refused[name] = self.library.no_tcp
            return cells
        if name in self._endless:
            return cells
        try:
            self._answers(cpus, count, *words, tcp=tcp, found=cells)
        except Failed as failure:
            if self.library.name == "verbena":
                raise
            self._refused[name] = f"ended early, after {len(cells)} cells: {failure}"
            if time.monotonic() - began >= ranks.LIMIT_S:
                self._endless.add(name)
        return cells
