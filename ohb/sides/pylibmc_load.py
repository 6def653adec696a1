# SPDX-License-Identifier: Apache-2.0
"""usage: pylibmc_load.py HOST:PORT get|set OPS. The time of a request by pylibmc, with the libmemcached that is found at its start.
Each answer is compared. Prints one line of JSON: ops, p50_us. It runs with the Python that pylibmc belongs to, without others of
the driver's modules."""
import json
import statistics
import sys
import time

import pylibmc

SIZE = 100
KEYS = 1000


def value(number):
    """As memcached.value."""
    return bytes([ord("a") + number % 26]) * SIZE


def measured(client, operation, ops):
    """Nanoseconds of each request."""
    times = []
    for i in range(ops):
        key, wanted = f"pylibmc:{i % KEYS}", value(i % KEYS)
        start = time.perf_counter_ns()
        got = client.get(key) if operation == "get" else client.set(key, wanted)
        times.append(time.perf_counter_ns() - start)
        if got != (wanted if operation == "get" else True):
            sys.exit(f"the answer for {key} is wrong: {got!r}")
    return times


def main():
    address, operation, ops = sys.argv[1], sys.argv[2], int(sys.argv[3])
    client = pylibmc.Client([address])
    for number in range(KEYS):
        client.set(f"pylibmc:{number}", value(number))
    measured(client, operation, min(ops, KEYS)) # connections and mappings are there
    times = measured(client, operation, ops)
    print(json.dumps({"ops": ops, "p50_us": statistics.median(times) / 1000}))


main()
