# SPDX-License-Identifier: Apache-2.0
"""Launchers of others: one that speaks PMI-1 and does not say which ranks share a node."""
import os
import selectors
import socket
import subprocess
import tempfile
import time

from runner import LIMIT, expect


class Server:
    """The key-value space and the barriers of a job of PMI-1."""

    def __init__(self, size):
        self.size, self.values, self.waiting = size, {}, []

    def answer(self, link, line):
        """Serves one line of a rank."""
        words = dict(word.split("=", 1) for word in line.split() if "=" in word)
        key = words.get("key", "")
        if words["cmd"] == "put":
            self.values[key] = words["value"]
        if words["cmd"] == "barrier_in":
            self.waiting.append(link)
            if len(self.waiting) == self.size:
                for one in self.waiting:
                    one.sendall(b"cmd=barrier_out\n")
                self.waiting = []
            return
        found = f"rc=0 msg=success value={self.values[key]}" if key in self.values else "rc=-1 msg=unknown value=unknown"
        answers = {"init": "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0", "get_appnum": "cmd=appnum appnum=0",
                   "get_maxes": "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024", "get": f"cmd=get_result {found}",
                   "get_universe_size": f"cmd=universe_size size={self.size}", "put": "cmd=put_result rc=0 msg=success",
                   "get_my_kvsname": "cmd=my_kvsname kvsname=job", "finalize": "cmd=finalize_ack rc=0"}
        link.sendall((answers[words["cmd"]] + "\n").encode())


def serve(links, end):
    """Until every rank has closed its end."""
    server, chooser = Server(len(links)), selectors.DefaultSelector()
    for link in links:
        chooser.register(link, selectors.EVENT_READ, bytearray())
    while chooser.get_map() and time.monotonic() < end:
        for ready, _ in chooser.select(1):
            data = ready.fileobj.recv(4096)
            if not data:
                chooser.unregister(ready.fileobj)
            ready.data.extend(data)
            while b"\n" in ready.data:
                line, _, rest = bytes(ready.data).partition(b"\n")
                ready.data[:] = rest
                server.answer(ready.fileobj, line.decode())
    chooser.close()


def run_job(program, environments):
    """One rank with each environment; gives their exit codes and what they have printed."""
    end = time.monotonic() + LIMIT
    links, ranks = [], []
    with tempfile.TemporaryFile("w+") as out:
        try:
            for rank, environment in enumerate(environments):
                ours, theirs = socket.socketpair()
                links.append(ours)
                ranks.append(subprocess.Popen([program], stdout=out, stderr=out, pass_fds=[theirs.fileno()], env={
                    **os.environ, **environment, "PMI_FD": str(theirs.fileno()), "PMI_RANK": str(rank),
                    "PMI_SIZE": str(len(environments))}))
                theirs.close()
            serve(links, end)
            codes = [rank.wait(max(1, end - time.monotonic())) for rank in ranks]
        finally:
            for rank in ranks:
                if rank.poll() is None:
                    rank.kill()
                    rank.wait()
            for link in links:
                link.close()
        out.seek(0)
        return codes, out.read()


def hosts_without_map(build):
    """Ranks ask each other who shares a host; tl.shm.group stands for a host of its own."""
    groups = ("1", "2", "1", "2")
    codes, out = run_job(build / "tests/shared", [{"VBN_TL_SHM_GROUP": group, "VBN_TL_TCP_INTERFACE": "lo"} for group in groups])
    wanted = ["rank 0: shares with 0 2 across with 2 ", "rank 1: shares with 1 3 across with 3 ",
              "rank 2: shares with 0 2 across with 0 ", "rank 3: shares with 1 3 across with 1 "]
    return expect(codes == [0] * 4 and sorted(out.splitlines()) == wanted, codes, out)


TESTS = (hosts_without_map,)
