# SPDX-License-Identifier: Apache-2.0
"""Asks daemons whether they serve."""
import json
import socket
import urllib.request

_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
LIMIT = 10  # seconds of one question


def ask(at, path):
    """The JSON that a daemon answers, or None while it does not."""
    try:
        with _OPENER.open(f"http://{at}{path}", timeout=LIMIT) as answer:
            return json.load(answer)
    except (OSError, ValueError):
        return None


def bean(at, name):
    """A JMX bean of a daemon; empty while it is not there."""
    answer = ask(at, f"/jmx?qry={name}") or {}
    return (answer.get("beans") or [{}])[0]


def answers(at, question, beginning):
    """Whether a server answers a line with what begins so."""
    host, port = at.rsplit(":", 1)
    try:
        with socket.create_connection((host, int(port)), LIMIT) as one:
            one.sendall(question)
            return one.recv(64).startswith(beginning)
    except OSError:
        return False
