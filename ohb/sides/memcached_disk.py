# SPDX-License-Identifier: Apache-2.0
"""The rows memcached.disk and memcached.disk.slow: a cache of four times the server's memory, with the rest on the same disk:
Debian's memcached with extstore, and ours. Each is started anew, filled and asked by mczipf; keys have a Zipf distribution of 0.99,
and a miss is set. The disk is where temporary files are, or slowdisk's."""
import contextlib
import json
import os
import shutil
import subprocess
import tempfile

from driver.procs import Failed
from sides import memcached, slowdisk

MEMORY_MB, SIZE, CONNECTIONS = 64, 1000, 16
WORDS = "ext_page_size=8" # as the disk is small: a page is emptied as a whole
LIMIT = 900


def missing(root, row):
    """What the row lacks here, or None."""
    built = None if memcached.program("mczipf") else "run ./verbena build memcached"
    return memcached.missing(root) or built or (slowdisk.missing() if row.disk == "slow" else None)


def ask(name, program, keys, ops, cpus, where):
    """What mczipf measures at a new server with a file of its own in this folder, which has place for all items twice."""
    generator, processor = cpus
    with tempfile.TemporaryDirectory(dir=where) as folder:
        disk = f"{WORDS},ext_path={folder}/disk:{2 * keys * (SIZE + 100) >> 20}m"  # memcached wants this order
        server = memcached.Server(program, "tcp", folder, name, ["-m", str(MEMORY_MB), "-o", disk])
        try:
            server.pin(processor)
            command = [memcached.program("mczipf"), server.address[4:], *map(str, (SIZE, keys, CONNECTIONS, ops))]
            result = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False,
                                    preexec_fn=lambda: os.sched_setaffinity(0, {generator}))
        finally:
            server.stop()
    if result.returncode != 0:
        raise Failed(f"mczipf failed at {name}: {result.stderr.strip()}")
    return json.loads(result.stdout)


@contextlib.contextmanager
def disk(row, work):
    """The folder for the files of servers."""
    if row.disk == "slow":
        os.makedirs(work, exist_ok=True)
        with slowdisk.Disk(work) as found:
            yield found.seen(found.folder)
    else:
        yield os.environ.get("VERBENA_BENCH_DISK")


def pairs(row, where, params, index):
    """All cells once; which side comes first changes with the pair."""
    programs = ("stock", shutil.which("memcached")), ("ours", memcached.program("verbena-memcached"))
    label, *cpus = memcached.placements()[0]
    got = {}
    for side in (0, 1) if index % 2 == 0 else (1, 0):
        got[side] = ask(*programs[side], params["keys"], params["ops"], cpus, where)
    common = {"row": row.name, "transport": "tcp", "size": SIZE, "placement": label}
    return [{**common, "metric": f"rate{CONNECTIONS}", "unit": "ops/s", "raw": got[0]["rate"], "ours": got[1]["rate"]},
            {**common, "metric": f"p99-{CONNECTIONS}", "unit": "us", "raw": got[0]["p99_us"], "ours": got[1]["p99_us"]},
            {**common, "metric": "misses", "unit": "%", "raw": 100 * (1 - got[0]["hits"]), "ours": 100 * (1 - got[1]["hits"])}]
