# SPDX-License-Identifier: Apache-2.0
"""Jobs on a cluster: their counters, their output, the logs of their tasks."""
import glob
import hashlib
import os
import re

from cluster import conf
from daemons.errors import Failed

GROUP = "Verbena Shuffle"
_COUNTER = re.compile(r"^\t\t(.+?)=(\d+)$")
_HEADING = re.compile(r"^\t(\S.*?)\s*$")


def counters(text):
    """{group: {counter: number}} of what a job prints at its end."""
    groups, current = {}, None
    for line in text.splitlines():
        if (found := _COUNTER.match(line)) and current is not None:
            current[found[1].strip()] = int(found[2])  # one has a space at its end
        elif found := _HEADING.match(line):
            current = groups.setdefault(found[1], {})
    return groups


def side(ours, more=None):
    """Options of a job: with our consumer or with the stock one."""
    options = {conf.CONSUMER: conf.SHUFFLE_CONSUMER if ours else conf.STOCK_CONSUMER, **(more or {})}
    return [word for name, value in options.items() for word in ("-D", f"{name}={value}")]


# Examples whose classes are tools, which one JVM can run one after the other.
TOOLS = {**{f"tera{name}": f"org.apache.hadoop.examples.terasort.Tera{name.capitalize()}"
            for name in ("gen", "sort", "validate")},
         "randomwriter": "org.apache.hadoop.examples.RandomWriter", "sort": "org.apache.hadoop.examples.Sort"}


def rows(path, first, count):
    """Writes so many rows of TeraSort's form, with different keys in no order; gives them."""
    made = [hashlib.sha256(str(number).encode()).digest()[:10] + b"%-88d\r\n" % number
            for number in range(first, first + count)]
    with open(path, "wb") as file:
        file.write(b"".join(made))
    return made


def run(cluster, name, ours, arguments, more=None, timeout=900):
    """Runs a job of the released examples; gives its counters and all it said. cluster: or what runs its commands."""
    words = [TOOLS[name]] if name in TOOLS else ["examples", name]
    done = cluster.run(*words, *side(ours, more), *arguments, timeout=timeout)
    text = done.stderr + done.stdout
    if done.returncode != 0:
        raise Failed(f"{name} ended with status {done.returncode}:\n{text[-3000:]}")
    return counters(text), text


def digest(cluster, folder, ordered=False):
    """SHA-256 of a job's output: of its bytes, or of its lines in order."""
    target = os.path.join(cluster.work, "fetched-" + folder.strip("/").replace("/", "-"))
    done = cluster.run("hdfs", "dfs", "-get", folder, target)
    if done.returncode != 0:
        raise Failed(f"cannot get {folder}: {done.stderr[-2000:]}")
    whole = hashlib.sha256()
    for part in sorted(glob.glob(target + "/part-*")):
        with open(part, "rb") as file:
            data = file.read()
        whole.update(b"".join(sorted(data.splitlines(True))) if ordered else data)
    return whole.hexdigest()


def task_logs(cluster):
    """All that tasks have logged so far."""
    texts = []
    for path in glob.glob(os.path.join(cluster.local(), "logs*", "*", "*", "syslog*")):
        with open(path, errors="replace") as file:
            texts.append(file.read())
    return "\n".join(texts)
