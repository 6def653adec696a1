# SPDX-License-Identifier: Apache-2.0
"""usage: pylibmc_together.py HOST:PORT... A client that children of fork() and threads use at the same time: each reads the items
that it has stored itself."""
import os
import sys
import threading

import pylibmc

CHILDREN = 4
THREADS = 4
ROUNDS = 50
PATIENT = {"connect_timeout": 60000, "_poll_timeout": 60000}  # ms: a server may stand still on a loaded machine


def use(client, name):
    for i in range(ROUNDS):
        key, value = f"{name}-{i % 5}", f"{name} has stored {i}" * (1 + i % 3 * 100)
        if not client.set(key, value):
            sys.exit(f"{name}: not stored")
        if (got := client.get(key)) != value:
            sys.exit(f"{name}: got {got!r}, stored {value!r}")
        found = client.get_multi([key, "before-the-fork", "none"])
        if found != {key: value, "before-the-fork": "parent"}:
            sys.exit(f"{name}: got {found!r}")


def in_children(client):
    children = []
    for number in range(CHILDREN):
        child = os.fork()
        if child == 0:
            use(client, f"child{number}")
            os._exit(0)
        children.append(child)
        use(client, f"parent{number}")
    for child in children:
        if os.waitpid(child, 0)[1] != 0:
            sys.exit("a child failed")


def in_threads(client):
    pool = pylibmc.ThreadMappedPool(client)
    failed = []

    def work(number):
        try:
            with pool.reserve() as mine:
                use(mine, f"thread{number}")
        except BaseException as problem: # pylint: disable=broad-except
            failed.append(problem)
        finally:
            pool.relinquish()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        sys.exit(f"a thread failed: {failed[0]}")


def main():
    client = pylibmc.Client(sys.argv[1:], behaviors={"ketama": True, **PATIENT})
    client.set("before-the-fork", "parent")
    in_children(client)
    in_threads(client)
    print("all steps passed")


main()
