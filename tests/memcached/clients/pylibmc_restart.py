# SPDX-License-Identifier: Apache-2.0
"""usage: pylibmc_restart.py HOST:PORT|PATH. Says "stored"; behind the next line of input, that the server is lost; behind another
one, that it is used again."""
import sys
import time

import pylibmc

SECONDS = 120
PATIENT = {"connect_timeout": 60000, "_poll_timeout": 60000}  # ms: a server may stand still on a loaded machine


def until(condition, what):
    end = time.monotonic() + SECONDS
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"did not come: {what}")
        time.sleep(0.05)


def is_lost(client):
    """A value, which may be read from memory a while longer, is right."""
    try:
        value = client.get("key")
    except pylibmc.Error:
        return True
    if value not in ("before", None):
        sys.exit(f"got {value!r}")
    return False


def is_back(client):
    try:
        return client.get("key") is None and client.set("key", "after") and client.get("key") == "after"
    except pylibmc.Error:
        return False


def main():
    client = pylibmc.Client([sys.argv[1]], behaviors={"retry_timeout": 1, **PATIENT})
    client.set("key", "before")
    for word, condition in (("stored", lambda: client.get("key") == "before"), ("lost", lambda: is_lost(client)),
                            ("back", lambda: is_back(client))):
        until(condition, word)
        print(word, flush=True)
        sys.stdin.readline()


main()
