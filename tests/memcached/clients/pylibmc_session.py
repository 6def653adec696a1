# SPDX-License-Identifier: Apache-2.0
"""usage: pylibmc_session.py HOST:PORT|PATH [binary].
What pylibmc (libmemcached underneath) asks a server, with what it must give back."""
import sys

import pylibmc

PATIENT = {"connect_timeout": 60000, "_poll_timeout": 60000}  # ms: a server may stand still on a loaded machine


def equal(got, wanted):
    if got != wanted:
        sys.exit(f"got {got!r}, wanted {wanted!r}")


def storage(client):
    equal(client.set("k", "v"), True)
    equal(client.get("k"), "v")
    equal(client.get("none"), None)
    equal(client.add("k", "x"), False)
    equal(client.replace("k", b"bytes"), True)
    equal(client.append("k", b"+"), True)
    equal(client.prepend("k", b"-"), True)
    equal(client.get("k"), b"-bytes+")
    equal(client.delete("k"), True)
    equal(client.delete("k"), False)
    large = bytes(range(256)) * 3000
    equal(client.set("large", large), True)
    equal(client.get("large"), large)


def many(client):
    wanted = {f"m{i}": {"number": i} for i in range(300)}
    equal(client.set_multi(wanted), [])
    equal(client.get_multi([f"m{i}" for i in range(400)]), wanted)
    equal(client.delete_multi(list(wanted)), True)


def longer_than_every_buffer(client):
    """Neither side may wait until the other one reads: questions and answers are of megabytes. By the binary protocol libmemcached
    reads after it has written all questions, so that answers have to fit the buffers of any host's kernel."""
    wanted = {f"long{i}".ljust(200, "."): "v" * 200 for i in range(100 if client.binary else 15000)}
    equal(client.set_multi(wanted), [])
    equal(client.get_multi([*wanted, *(key + "none" for key in wanted)]), wanted)
    equal(client.delete_multi(list(wanted)), True)


def numbers(client):
    equal(client.set("n", 10), True)
    equal(client.incr("n", 5), 15)
    equal(client.decr("n", 20), 0)
    equal(client.touch("n", 100), True)


def compare(client):
    client.behaviors["cas"] = True
    equal(client.set("c", "1"), True)
    value, cas = client.gets("c")
    equal(value, "1")
    equal(client.cas("c", "2", cas), True)
    equal(client.cas("c", "3", cas), False)
    equal(client.get("c"), "2")


def main():
    client = pylibmc.Client([sys.argv[1]], binary="binary" in sys.argv[2:],
                            behaviors={"tcp_nodelay": True, "ketama": True, **PATIENT})
    for step in (storage, many, longer_than_every_buffer, numbers, compare):
        step(client)
    equal(client.flush_all(), True)
    equal(client.get("c"), None)
    equal(len(client.get_stats()), 1)
    print("all steps passed")


main()
