# SPDX-License-Identifier: Apache-2.0
"""./verbena demo memcached: both servers running, asked in turns over sockets, by messages and one-sided."""
import functools
import socket
import sys

from driver import stage, travelled, turns
from driver.board import Board
from driver.demopage import About, Shown
from driver.procs import Failed
from sides import memcached

SCALE = 0.05
WAYS = {"tcp": "TCP", "unix": "Unix socket", "messages": "messages beside TCP", "onesided": "one-sided beside TCP"}
ABOUT = About(
    "memcached", "memcached with and without Verbena", "Debian's memcached with the same flags",
    ("Debian's memcached and verbena-memcached, each with four threads of which all run on one processor, get and set values of "
     "100 bytes; the client has the other processor.",
     "TCP and Unix sockets: the same client asks both servers. Messages and one-sided: libverbena-memcached asks ours, a socket "
     "client asks stock over TCP.",
     "One client: the median time of a request. 50 connections: the time of all requests over their number.",
     "Every answer's length was checked. At the end the content of both servers was read back and compared."),
    "Existing clients use the server as it is: the socket rows show their gain. The rows of messages and one-sided gets need a "
    "program that is linked with libverbena-memcached (docs/memcached.md):",
    "./verbena memcached -m 1024\ncc program.c $(pkg-config --cflags --libs verbena-memcached)")


def values(cells):
    """{row: {metric: (stock, ours, unit)}}, every value as microseconds of a request."""
    found = {}
    for cell in cells:
        many = cell["metric"] != "latency"
        name = f"{cell['row'].removeprefix('memcached.')}, {WAYS[cell['transport']]}, {'50 connections' if many else 'one client'}"
        stock, ours = (1e6 / cell[side] if many else cell[side] for side in ("raw", "ours"))
        found[name] = {turns.TIME: (stock, ours, "us")}
    return found


def _asked(server, keys):
    """What a server answers to a get of these keys, as bytes."""
    unix = server.address.startswith("unix:")
    with socket.socket(socket.AF_UNIX if unix else socket.AF_INET) as sock:
        sock.settimeout(memcached.LIMIT)
        sock.connect(server.address[5:] if unix else ("127.0.0.1", int(server.address[4:])))
        sock.sendall(b"".join(b"get %s\r\n" % key for key in keys))
        answer = b""
        while answer.count(b"END\r\n") < len(keys):
            part = sock.recv(1 << 16)
            if not part:
                raise Failed("a server closed the connection while its values were read back")
            answer += part
        return answer


def same_content(servers):
    """Both servers hold what was set, over sockets and, at ours, by messages."""
    keys = [b"key-%012u" % number for number in range(memcached.KEYS)]
    for transport, (stock, ours) in servers.items():
        if _asked(stock, keys) != _asked(ours, keys) or b"VALUE" not in _asked(ours, keys):
            raise Failed(f"the results differ: the servers hold other values ({WAYS[transport]})")
    keys = [b"mcload:%08u" % number for number in range(memcached.KEYS)]
    wanted = b"".join(b"VALUE %s 0 %u\r\n%s\r\nEND\r\n" % (key, memcached.SIZE, memcached.value(number))
                      for number, key in enumerate(keys))
    if _asked(servers["tcp"][1], keys) != wanted:
        raise Failed("the results differ: a value that was set by messages reads otherwise from a socket")


def cells(servers, pages):
    """What turns.rounds() measures; the first are the last that a busy machine leaves out, so both kinds alternate."""
    place = memcached.placements()[0]
    one, messages, onesided = ([_socket(servers, "tcp", place, cell) for cell in memcached.SOCKET_CELLS[:2]],
                               [_native(servers, place, cell, pages) for cell in memcached.NATIVE[:2]],
                               [_native(servers, place, cell, pages) for cell in memcached.NATIVE[2:]])
    many = [_socket(servers, "tcp", place, cell) for cell in memcached.SOCKET_CELLS[2:]]
    unix = [_socket(servers, "unix", place, cell) for cell in memcached.SOCKET_CELLS[:2]]
    return [one[0], messages[0], one[1], messages[1], many[0], *onesided, many[1], *unix]


def _socket(servers, transport, place, cell):
    return lambda index: values([memcached.socket_pair(servers[transport], transport, place, SCALE, cell, index)])


def _native(servers, place, cell, pages):
    """In the first pair the client's counters are looked for."""
    def measure(index):
        call = functools.partial(memcached.native_pair, servers["tcp"], place, SCALE, cell, index)
        return values([call() if index else pages.while_running(call)])
    return measure


def show(_root, _folder, seconds):
    pages = travelled.Pages()
    with memcached.servers() as servers:
        rows = turns.rounds(cells(servers, pages), seconds, stage.note)
        same_content(servers)
        counted = pages.totals()
    return Shown(Board(rows.values()), (), [
        *travelled.lines(counted, "of the server's answers, and of requests of the first pair"),
        "One-sided gets are loads in memory of the server that the client maps: no counter sees them."])


if __name__ == "__main__":
    sys.exit(stage.play(ABOUT, show, memcached.missing))
