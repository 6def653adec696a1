# SPDX-License-Identifier: Apache-2.0
"""The row memcached: Debian's memcached and ours with the same flags, both running, asked in turns: by mcload over sockets, ours
also by mcnative, by messages and one-sided, where the stock side is stock memcached over TCP, or over TLS. pylibmc asks each server
with the libmemcached that belongs to it: Debian's, or ours."""
import contextlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time

from driver.procs import Failed, Process
from sides import core

HERE = os.path.dirname(os.path.abspath(__file__))
THREADS = 4
SIZE = 100
KEYS = 1000  # of mcload and mcnative
LATENCY_OPS, RATE_OPS, CONNECTIONS = 40000, 200000, 50
BESIDE_SIZE = 20000  # of the values that others get
# (operation, connections, operations, what mcload says, unit)
SOCKET_CELLS = (("get", 1, LATENCY_OPS, "p50_us", "us"), ("set", 1, LATENCY_OPS, "p50_us", "us"),
                ("get", CONNECTIONS, RATE_OPS, "rate", "ops/s"), ("set", CONNECTIONS, RATE_OPS, "rate", "ops/s"))
TAIL = ("get", 64, RATE_OPS, "p99_us", "us")  # the slowest of 100 requests of many clients
TLS = SOCKET_CELLS[:1] + SOCKET_CELLS[2:3]  # both servers with -Z
BESIDE = ("beside", THREADS, 400, "p50_us", "us")  # a get beside clients that pipeline gets, one for each thread of the server
NATIVE = (("messages", "get", "onesided=off"), ("messages", "set", "onesided=off"), ("onesided", "get", "onesided=on"))
BESIDE_TLS = ("messages-for-tls", "get", "onesided=off")  # stock by TLS: what a message, which stays on the host, saves
PYLIBMC = ("get", "set")  # by a program that is linked to libmemcached
PYTHON = "/usr/bin/python3"  # Debian's, to which its pylibmc belongs
STARTUP_SECONDS = 60
LIMIT = 300


def program(name):
    """A program that was built; None: it is not there."""
    path = os.path.join(os.environ.get("VERBENA_MEMCACHED_BIN", ""), name)
    return path if os.access(path, os.X_OK) else None


def has_pylibmc():
    """Whether the cells of pylibmc can be measured here."""
    return subprocess.run([PYTHON, "-c", "import pylibmc"], capture_output=True, timeout=LIMIT, check=False).returncode == 0


def value(number):
    """What the generators set for a key of this number."""
    return bytes([ord("a") + number % 26]) * SIZE


def missing(_root):
    """What the row lacks here, or None."""
    if not all(map(program, ("verbena-memcached", "mcload", "mcnative"))):
        return "the memcached server is not built: run ./verbena build memcached"
    return None if shutil.which("memcached") else "the stock side is missing: apt-get install memcached"


def certificate(folder):
    """Whether tls.pem and tls.key are in the folder now: servers of TLS need them."""
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30",
               "-keyout", f"{folder}/tls.key", "-out", f"{folder}/tls.pem", "-subj", "/CN=ohb"]
    with contextlib.suppress(FileNotFoundError):
        return subprocess.run(command, capture_output=True, timeout=LIMIT, check=False).returncode == 0
    return False


class Server:
    """One running server, on TCP, with or without TLS (certificate), or on a Unix socket."""

    def __init__(self, path, transport, folder, name, flags=("-m", "256")):
        if transport == "unix":
            where, self.address = ["-s", f"{folder}/{name}.sock"], f"unix:{folder}/{name}.sock"
        else:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                port = probe.getsockname()[1]
            where, self.address = ["-l", "127.0.0.1", "-p", str(port)], f"{transport}:{port}"
        if transport == "tls":
            where += ["-Z", "-o", f"ssl_chain_cert={folder}/tls.pem,ssl_key={folder}/tls.key"]
        user = ["-u", "root"] if os.geteuid() == 0 else []
        self.key = f"{folder}/{name}.key"
        if name.startswith("ours"):
            where += ["-o", f"verbena_key={self.key}"]
        self._process = Process(name, [path, *where, *user, "-t", str(THREADS), *flags], f"{folder}/{name}.log")
        self._await()

    def pin(self, cpu):
        """All threads of the server on one processor."""
        for thread in os.listdir(f"/proc/{self._process.pid}/task"):
            os.sched_setaffinity(int(thread), {cpu})

    def _await(self):
        end = time.monotonic() + STARTUP_SECONDS
        unix = self.address.startswith("unix:")
        where = self.address[5:] if unix else ("127.0.0.1", int(self.address[4:]))
        while True:
            with socket.socket(socket.AF_UNIX if unix else socket.AF_INET) as probe:
                try:
                    return probe.connect(where)
                except OSError as error:
                    if time.monotonic() > end or not self._process.alive():
                        raise Failed(f"{self._process.name} does not answer: {error}") from None
            time.sleep(0.05)

    def ask(self, operation, size, connections, ops, cpu):
        """What mcload measures on this processor."""
        command = [program("mcload"), self.address, operation, str(size), str(connections), str(ops)]
        result = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False,
                                preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
        if result.returncode != 0:
            raise Failed(f"mcload failed: {result.stderr.strip()}")
        return json.loads(result.stdout)

    def ask_native(self, operation, size, ops, cpu, option):
        """What mcnative measures on this processor: through the core."""
        config = f"127.0.0.1:{self.address[4:]};carrier=messages;key={self.key};{option}"
        command = [program("mcnative"), config, operation, str(size), str(ops)]
        result = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False,
                                preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
        if result.returncode != 0:
            raise Failed(f"mcnative failed: {result.stderr.strip()}")
        return json.loads(result.stdout)

    def ask_pylibmc(self, operation, ops, cpu, ours):
        """What pylibmc measures on this processor, with Debian's libmemcached or ours."""
        environment = dict(os.environ, VERBENA_MEMCACHED_KEY=self.key)
        if ours:
            environment["LD_LIBRARY_PATH"] = os.path.join(os.environ["VERBENA_MEMCACHED_BIN"], "compat")
        command = [PYTHON, os.path.join(HERE, "pylibmc_load.py"), f"127.0.0.1:{self.address[4:]}", operation, str(ops)]
        result = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False, env=environment,
                                preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
        if result.returncode != 0:
            raise Failed(f"pylibmc failed: {result.stderr.strip()}")
        return json.loads(result.stdout)

    def stop(self):
        self._process.stop()


@contextlib.contextmanager
def servers(transports=("tcp", "unix")):
    """Both servers on each transport: {transport: (stock, ours)}. tls is left out where no openssl makes a certificate."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        found = {}
        for transport in transports:
            if transport == "tls" and not certificate(folder):
                continue
            sides = []
            for name, path in (("stock", shutil.which("memcached")), ("ours", program("verbena-memcached"))):
                server = Server(path, transport, folder, f"{name}-{transport}")
                stack.callback(server.stop)
                sides.append(server)
            found[transport] = tuple(sides)
        yield found


def placements():
    """[(label, processor of the generator, processor of the server)]: two, and one for both."""
    places = [(label, *map(int, cpus.split(","))) for label, cpus in core.placements()]
    return [place for place in places if place[1] != place[2]] + [("one-cpu", places[0][1], places[0][1])]


def pairs(found, scale, index):
    """Every cell once: stock and ours, one after the other; which comes first changes with the pair."""
    cells = [socket_pair(sides, transport, place, scale, cell, index) for transport, sides in found.items()
             for place in placements() for cell in (TLS if transport == "tls" else SOCKET_CELLS)]
    cells += [socket_pair(found["tcp"], "tcp", place, scale, cell, index) for place in placements() for cell in (TAIL, BESIDE)]
    if "tls" in found:
        sides = found["tls"][0], found["tcp"][1]
        cells += [native_pair(sides, place, scale, BESIDE_TLS, index) for place in placements()]
    cells += [native_pair(found["tcp"], place, scale, cell, index) for place in placements() for cell in NATIVE]
    return cells + [pylibmc_pair(found["tcp"], place, scale, operation, index) for place in placements()
                    for operation in (PYLIBMC if has_pylibmc() else ())]


def socket_pair(sides, transport, place, scale, cell, index):
    """One of SOCKET_CELLS, TAIL or BESIDE at stock and ours."""
    (label, generator, processor), (operation, connections, ops, metric, unit) = place, cell
    got, size = {}, BESIDE_SIZE if operation == "beside" else SIZE
    for side in (0, 1) if index % 2 == 0 else (1, 0):
        sides[side].pin(processor)
        got[side] = sides[side].ask(operation, size, connections, max(min(ops, 1000), int(ops * scale)), generator)[metric]
    name = f"rate{connections}" if unit != "us" else "latency" if metric == "p50_us" else f"p99-{connections}"
    return {"row": f"memcached.{operation}", "transport": transport, "size": size, "metric": name,
            "unit": unit, "raw": got[0], "ours": got[1], "placement": label}


def native_pair(sides, place, scale, cell, index):
    """One of NATIVE, or BESIDE_TLS: ours through the core, stock by sockets."""
    (label, generator, processor), (transport, operation, option) = place, cell
    got, ops = {}, max(1000, int(LATENCY_OPS * scale))
    for side in (0, 1) if index % 2 == 0 else (1, 0):
        sides[side].pin(processor)
        measured = (sides[0].ask(operation, SIZE, 1, ops, generator) if side == 0
                    else sides[1].ask_native(operation, SIZE, ops, generator, option))
        got[side] = measured["p50_us"]
    return {"row": f"memcached.{operation}", "transport": transport, "size": SIZE, "metric": "latency", "unit": "us",
            "placement": label, "raw": got[0], "ours": got[1]}


def pylibmc_pair(sides, place, scale, operation, index):
    """The same program on both sides: with Debian's libmemcached to stock over TCP, with ours to ours."""
    (label, generator, processor), got, ops = place, {}, max(1000, int(LATENCY_OPS * scale))
    for side in (0, 1) if index % 2 == 0 else (1, 0):
        sides[side].pin(processor)
        got[side] = sides[side].ask_pylibmc(operation, ops, generator, side == 1)["p50_us"]
    return {"row": f"memcached.{operation}", "transport": "pylibmc", "size": SIZE, "metric": "latency", "unit": "us",
            "placement": label, "raw": got[0], "ours": got[1]}
