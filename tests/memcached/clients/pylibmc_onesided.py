# SPDX-License-Identifier: Apache-2.0
"""usage: pylibmc_onesided.py HOST:PORT. Gets of an item, until the server counts none of a whole series of them."""
import sys
import time

import pylibmc

SECONDS = 60
PATIENT = {"connect_timeout": 60000, "_poll_timeout": 60000}  # ms: a server may stand still on a loaded machine
SERIES = 20 # fewer than the gets among which one goes to the server


def gets_at_server(client):
    return int(client.get_stats()[0][1]["cmd_get"])


def main():
    client = pylibmc.Client(sys.argv[1:], behaviors=PATIENT)
    end = time.monotonic() + SECONDS
    client.set("item", "value")
    while True:
        before = gets_at_server(client)
        for _ in range(SERIES):
            if client.get("item") != "value":
                sys.exit("a get failed")
        if gets_at_server(client) == before:
            break
        if time.monotonic() > end:
            sys.exit("every series of gets reached the server")
    print("all steps passed")


main()
