# SPDX-License-Identifier: Apache-2.0
"""Noise guard: how much of the machine somebody else used while a block ran, from /proc."""
import os

FOREIGN_LIMIT = 0.15  # share of all CPU time; more marks the pair


def _stat_cpu(text):
    """(total, idle, steal) in ticks from the first line of /proc/stat."""
    fields = [int(word) for word in text.split("\n", 1)[0].split()[1:9]]
    return sum(fields), fields[3] + fields[4], fields[7]


def _processes():
    """{pid: (parent, CPU ticks with those of reaped children)} of all processes."""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat") as stat:
                fields = stat.read().rpartition(")")[2].split()
        except OSError:
            continue  # the process ended meanwhile
        found[int(entry)] = int(fields[1]), sum(int(word) for word in fields[11:15])
    return found


def _below(processes, root):
    for pid in processes:
        ancestor, steps = pid, 0
        while ancestor not in (0, root) and steps < 64:
            ancestor, steps = processes.get(ancestor, (0, 0))[0], steps + 1
        if ancestor == root:
            yield pid


def tree(root):
    """The process and all its descendants."""
    return list(_below(_processes(), root))


def _tree_cpu(root):
    """CPU ticks of root and all its descendants, ended and reaped children included."""
    processes = _processes()
    return sum(processes[pid][1] for pid in _below(processes, root))


class Snapshot:
    """Counters at one moment."""

    def __init__(self, root=None):
        with open("/proc/stat") as stat:
            text = stat.read()
        self.total, self.idle, self.steal = _stat_cpu(text)
        self.switches = next(int(line.split()[1]) for line in text.splitlines() if line.startswith("ctxt "))
        with open("/proc/loadavg") as load:
            self.queue = int(load.read().split()[3].split("/")[0])
        self.own = _tree_cpu(root or os.getpid())


def between(before, after):
    """Noise of the time between two snapshots, as it stands in the result file."""
    total = max(1, after.total - before.total)
    idle = max(0, after.idle - before.idle)
    own = max(0, after.own - before.own)
    foreign = max(0, total - idle - own) / total
    return {"idle": round(idle / total, 4), "steal": round(max(0, after.steal - before.steal) / total, 4),
            "foreign": round(foreign, 4), "runq": after.queue, "switches": after.switches - before.switches}


def is_marked(noise):
    """True when the block ran beside too much foreign work to count."""
    return noise["foreign"] > FOREIGN_LIMIT or noise["steal"] > FOREIGN_LIMIT
