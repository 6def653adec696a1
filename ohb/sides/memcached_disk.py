# SPDX-License-Identifier: Apache-2.0
"""The row memcached.disk: a cache of four times the server's memory, with the rest on the same disk: Debian's memcached with
extstore, and ours. Each is started anew, filled and asked by mczipf; keys have a Zipf distribution of 0.99, and a miss is set."""
import json
import os
import shutil
import subprocess
import tempfile

from driver.procs import Failed
from sides import memcached

MEMORY_MB, SIZE, CONNECTIONS = 64, 1000, 16
WORDS = "ext_page_size=8" # as the disk is small: a page is emptied as a whole
LIMIT = 900


def missing(root):
    """What the row lacks here, or None."""
    return memcached.missing(root) or (None if memcached.program("mczipf") else "run ./verbena build memcached")


def ask(name, program, keys, ops, cpus):
    """What mczipf measures at a new server with a disk of its own, which has place for all items twice."""
    generator, processor = cpus
    with tempfile.TemporaryDirectory(dir=os.environ.get("VERBENA_BENCH_DISK")) as folder:
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


def pairs(keys, ops, index):
    """Both cells once; which side comes first changes with the pair."""
    programs = ("stock", shutil.which("memcached")), ("ours", memcached.program("verbena-memcached"))
    label, *cpus = memcached.placements()[0]
    got = {}
    for side in (0, 1) if index % 2 == 0 else (1, 0):
        got[side] = ask(*programs[side], keys, ops, cpus)
    common = {"row": "memcached.disk", "transport": "tcp", "size": SIZE, "placement": label}
    return [{**common, "metric": f"rate{CONNECTIONS}", "unit": "ops/s", "raw": got[0]["rate"], "ours": got[1]["rate"]},
            {**common, "metric": "misses", "unit": "%", "raw": 100 * (1 - got[0]["hits"]), "ours": 100 * (1 - got[1]["hits"])}]
