# SPDX-License-Identifier: Apache-2.0
"""usage: pymemcache_session.py HOST:PORT|unix:PATH. Each call of pymemcache's Client, with what it must give back."""
import sys

from pymemcache.client.base import Client, PooledClient
from pymemcache.client.hash import HashClient
from pymemcache.exceptions import MemcacheClientError, MemcacheServerError


def equal(got, wanted):
    if got != wanted:
        sys.exit(f"got {got!r}, wanted {wanted!r}")


def fails(error, call, *arguments):
    try:
        call(*arguments)
    except error:
        return
    sys.exit(f"{call.__name__}{arguments!r:.80} did not fail")


def storage(client):
    equal(client.set("k", "v", noreply=False), True)
    equal(client.get("k"), b"v")
    equal(client.get("none", "default"), "default")
    equal(client.add("k", "x", noreply=False), False)
    equal(client.add("k2", "w", expire=100, noreply=False), True)
    equal(client.replace("k2", "r", noreply=False), True)
    equal(client.replace("k3", "r", noreply=False), False)
    equal(client.append("k", "+", noreply=False), True)
    equal(client.prepend("k", "-", noreply=False), True)
    equal(client.get("k"), b"-v+")
    equal(client.set_many({f"m{i}": f"value {i}" for i in range(300)}, noreply=False), [])
    many = client.get_many([f"m{i}" for i in range(400)])
    equal(many, {f"m{i}": b"value %d" % i for i in range(300)})
    equal(client.delete_many([f"m{i}" for i in range(300)], noreply=False), True)
    equal(client.get_many(["m1", "m2"]), {})


def compare(client):
    client.set("c", "1", noreply=False)
    value, cas = client.gets("c")
    equal(value, b"1")
    equal(client.cas("c", "2", cas, noreply=False), True)
    equal(client.cas("c", "3", cas, noreply=False), False)
    equal(client.cas("absent", "3", cas, noreply=False), None)
    equal(set(client.gets_many(["c", "k"])), {"c", "k"})
    equal(client.get("c"), b"2")


def numbers(client):
    client.set("n", "10", noreply=False)
    equal(client.incr("n", 5), 15)
    equal(client.decr("n", 20), 0)
    equal(client.incr("absent", 1), None)
    client.set("n", "word", noreply=False)
    fails(MemcacheClientError, client.incr, "n", 1)


def expiry(client):
    client.set("e", "v", expire=1000, noreply=False)
    equal(client.touch("e", 500, noreply=False), True)
    equal(client.touch("absent", 500, noreply=False), False)
    client.set("e", "v", expire=-1, noreply=False)
    equal(client.get("e"), None)
    equal(client.delete("e", noreply=False), False)


def large(client):
    value = b"x" * (1 << 20)
    fails(MemcacheServerError, lambda: client.set("large", value, noreply=False))
    value = value[:-200]
    equal(client.set("large", value, noreply=False), True)
    equal(client.get("large"), value)


def server(client):
    equal(client.version(), b"1.6.18")
    equal(client.stats()[b"threads"] > 0, True)
    equal(b"evictions" in client.stats("settings"), True)
    equal(client.cache_memlimit(64), True)
    equal(client.flush_all(noreply=False), True)
    equal(client.get("k"), None)
    client.set("noreply", "v", noreply=True)
    equal(client.get("noreply"), b"v")


def main():
    address = sys.argv[1]
    plain = Client(address, connect_timeout=60, timeout=60)
    for step in (storage, compare, numbers, expiry, large, server):
        step(plain)
    plain.quit()
    pool = PooledClient(address, max_pool_size=4, timeout=60)
    storage(pool)
    pool.close()
    hashed = HashClient([address], timeout=60)
    equal(hashed.set("h", "v", noreply=False), True)
    equal(hashed.get_many(["h", "none"]), {"h": b"v"})
    print("all steps passed")


main()
