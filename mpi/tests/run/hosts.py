# SPDX-License-Identifier: Apache-2.0
"""Tests of jobs on several hosts: fakes on this one (-fake-hosts), hosts behind a program that stands for ssh, and behind a
real sshd on loopback (sshd.py). Each takes the build folder and gives a list of what is wrong."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import sshd
from runner import LIMIT, expect, launch

# Runs the other host's command here, behind what a login shell prints.
SAME_HOST = """#!/bin/sh
for command; do :; done
echo 'Welcome to this host'
exec sh -c "$command"
"""


class Ssh:
    """A program for -launcher-exec; `command` has what remote.c says to a login shell in $command, and the host in $host."""

    def __init__(self, script=SAME_HOST):
        self._folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self._folder.name) / "ssh"
        self.path.write_text(script)
        self.path.chmod(0o700)

    def __enter__(self):
        return ["-launcher", "ssh", "-launcher-exec", self.path]

    def __exit__(self, *_):
        self._folder.cleanup()


def wait_for(condition):
    """What the condition gives as soon as that is true; None: it never was."""
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.01)
    return None


def children(pid, name):
    listing = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(pid)], capture_output=True, text=True).stdout
    return [int(line.split()[0]) for line in listing.splitlines() if name in line]


def is_gone(pid, word):
    """No process of this id has the word in its command: a zombie has none, and another one may have got the id."""
    try:
        return word.encode() not in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return True


def rank_of(pid):
    """PMI_RANK of a process that mpiexec has started."""
    variables = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return next(int(one.split(b"=")[1]) for one in variables if one.startswith(b"PMI_RANK="))


def placement(build):
    """Which host a rank gets, and which ranks the runtime takes for those of one node."""
    groups = "echo $PMI_RANK:$VBN_TL_SHM_GROUP"
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("# two hosts\na:1\n\nb slots=3 # the large one\n")
        file.flush()
        for words, wanted in ((["-n", 4, "-fake-hosts", 2], "1122"), (["-n", 4, "-fake-hosts", 2, "-ppn", 1], "1212"),
                              (["-n", 5, "-fake-hosts", 2], "11122"), (["-n", 3, "-fake-hosts", 4], "123"),
                              (["-launcher", "fork", "-hosts", "a:1,b:3", "-n", 6], "122212"),
                              (["-launcher", "fork", "-hostfile", file.name, "-n", 4], "1222"),
                              (["-launcher", "fork", "-host", "a", "-n", 1, "sh", "-c", groups, ":", "-host", "b", "-n", 2],
                               "122"),
                              (["-fake-hosts", 2, "-n", 1, "sh", "-c", groups, ":", "-n", 3], "1122")):
            _, out, err = launch(build, *words, "sh", "-c", groups)
            if sorted(out.split()) != [f"{rank}:{group}" for rank, group in enumerate(wanted)]:
                return [f"{words}: wanted {wanted}", out, err]
    for words, wanted in ((["-n", 5, "-fake-hosts", 2, "-ppn", 2], ["0 of 3", "1 of 3", "0 of 2", "1 of 2", "2 of 3"]),
                          (["-n", 3], ["0 of 3", "1 of 3", "2 of 3"])):
        _, out, err = launch(build, *words, build / "tests/nodes")
        if sorted(out.splitlines()) != [f"{rank}: {place}" for rank, place in enumerate(wanted)]:
            return [f"{words}:", out, err]
    return []


def bad_hosts(build):
    for words, text in ((["-hosts", "a:0"], "a: '0'"), (["-hosts", "a:x"], "'x'"), (["-hosts", ","], "no host"),
                        (["-hosts", "-oProxyCommand=x"], "-oProxyCommand=x"), (["-hostfile", "/nonexistent"], "/nonexistent"),
                        (["-hostfile", "/dev/null"], "names no host"), (["-launcher", "slurm"], "slurm"),
                        (["-fake-hosts", "2", "-hosts", "a"], "-fake-hosts")):
        status, _, err = launch(build, *words, "true")
        if status != 2 or text not in err or len(err.splitlines()) != 1:
            return [f"{words}: status {status}", err]
    return []


def no_shared_memory(build):
    """Fakes reach each other by the network only: without it a job fails, and says which setting keeps them apart."""
    status, out, err = launch(build, "-n", 2, "-fake-hosts", 2, build / "tests/moves",
                              environment={"VBN_TL_ENABLE": "self,shm"})
    alone, *_ = launch(build, "-n", 2, build / "tests/moves", environment={"VBN_TL_ENABLE": "self,shm"})
    return expect(status not in (0, 124) and "tl.shm.group" in err and alone == 0, status, out, err, alone)


def other_hosts(build):
    """Daemons of two hosts start ranks, and carry output, input, variables, folders and exit codes."""
    with Ssh() as ssh:
        status, out, err = launch(build, *ssh, "-hosts", "one,two", "-n", 4, build / "tests/moves")
        if status != 0:
            return [f"status {status}", out, err]
        status, out, err = launch(build, *ssh, "-hosts", "one,two", "-genv", "ALL", "every where", "-n", 1, "-env", "MINE",
                                  "one", "sh", "-c", "echo $PMI_RANK $ALL $MINE", ":", "-n", 2, "-wdir", "/", "sh", "-c",
                                  "echo $PMI_RANK $ALL $MINE $PWD")
        if status != 0 or set(out.splitlines()) != {"0 every where one", "1 every where /", "2 every where /"}:
            return [f"status {status}", out, err]
        script = "i=0; while [ $i -lt 300 ]; do printf %0200d $PMI_RANK; echo; i=$((i+1)); done; wc -c"
        with open(build / "bin/mpiexec", "rb") as file:  # longer than what may be on its way
            status, out, err = launch(build, *ssh, "-hosts", "one,two", "-n", 2, "-l", "sh", "-c", script, stdin=file)
        lines = sorted(set(out.splitlines()))
        size = (build / "bin/mpiexec").stat().st_size
        wanted = sorted([f"[0] {0:0200d}", f"[1] {1:0200d}", f"[0] {size}", "[1] 0"])
        if status != 0 or lines != wanted or len(out.splitlines()) != 602:
            return [f"status {status}", *lines, err]
        status, _, err = launch(build, *ssh, "-hosts", "one,two", "-n", 2, "sh", "-c", "exit $PMI_RANK")
        return expect(status == 1 and "rank 1 on two ended with exit code 1" in err, status, err)


def host_failures(build):
    """What is wrong with a host is said, and nothing hangs."""
    strange = "it sends frames that no daemon of Verbena sends"
    for script, text in (("exit 255", "cannot log in"), ("exec sh -c 'exec /nonexistent/mpiexec'", "at the same path"),
                         ("exit 9", "exit code 9"), ("kill -9 $$", "ended before the daemon answered"),
                         ("head -c 100000 /dev/zero; sleep 1000 & wait", strange),
                         (r"printf '\nverbena-daemon 1\n\377\377\377\377aaaaaaaaaaaaaa'; sleep 1000 & wait", strange),
                         (r"printf '\nverbena-daemon 1\n\001\000\000\000\000\000\000\000\004x'; sleep 1000 & wait", strange)):
        with Ssh("#!/bin/sh\n" + script + "\n") as ssh:
            status, out, err = launch(build, *ssh, "-hosts", "one", "-n", 2, "sleep", "1000")
        if status != 1 or "host one" not in err or text not in err:
            return [f"{script}: status {status}", out, err]
    status, _, err = launch(build, "-launcher-exec", "/nonexistent/ssh", "-host", "elsewhere", "true")
    if status != 1 or "cannot run /nonexistent/ssh" not in err or "-launcher-exec" not in err:
        return [f"no ssh: status {status}", err]
    with Ssh() as ssh:
        status, _, err = launch(build, *ssh, "-hosts", "one,two", "-n", 2, "/nonexistent/program")
        if status != 127 or "cannot run /nonexistent/program on " not in err:
            return [f"no program: status {status}", err]
        status, _, err = launch(build, *ssh, "-hosts", "one,two", "-n", 2, "-wdir", "/nonexistent", "true")
        return expect(status == 127 and "-wdir /nonexistent on " in err, status, err)


def of_count(count, pids):
    return pids if len(pids) == count else None


def start_sleepers(build, ssh):
    """A job of two hosts with two ranks each; gives mpiexec, its daemons and the ranks, the first host's first."""
    process = subprocess.Popen([build / "bin/mpiexec", *ssh, "-hosts", "one,two", "-n", "4", "sleep", "1000"],
                               stderr=subprocess.PIPE, text=True, start_new_session=True)
    daemons = wait_for(lambda: of_count(2, children(process.pid, "--daemon"))) or []
    ranks_of = {daemon: wait_for(lambda daemon=daemon: of_count(2, children(daemon, "sleep 1000"))) or []
                for daemon in daemons}
    ranks = sorted((pid for pids in ranks_of.values() for pid in pids), key=rank_of)
    return process, sorted(daemons, key=lambda daemon: ranks[0] not in ranks_of[daemon]) if ranks else [], ranks


def host_deaths(build):
    """Whoever is killed, rank, daemon or mpiexec: the job ends, with the name of the host, and nothing is left."""
    for which, status, words in (("rank", 137, ["on one ended by signal 9"]), ("daemon", 1, ["host one: its daemon"]),
                                 ("mpiexec", -9, []), ("terminate", 143, ["signal 15"])):
        with Ssh() as ssh:
            process, daemons, ranks = start_sleepers(build, ssh)
            victims = {"rank": ranks, "daemon": daemons}.get(which, [process.pid])
            if len(daemons) == 2 and len(ranks) == 4:
                os.kill(victims[0], signal.SIGTERM if which == "terminate" else signal.SIGKILL)
            else:
                process.kill()
            try:
                _, err = process.communicate(timeout=LIMIT)
            except subprocess.TimeoutExpired:
                process.kill()
                return [f"{which}: no end", *process.communicate()]
            left = [pid for pids, word in ((daemons, "--daemon"), (ranks, "sleep")) for pid in pids
                    if not wait_for(lambda pid=pid, word=word: is_gone(pid, word))]
        if len(ranks) != 4 or process.returncode != status or left or not all(word in err for word in words):
            return [f"{which}: status {process.returncode}, daemons {daemons}, ranks {ranks}, left {left}", err]
    return []


# Speaks by PMI when its rank, the shell that has started it, has ended; the other ranks wait for it.
OUTLIVES = """
import os, socket, sys, time
while os.getppid() == int(sys.argv[1]):
    time.sleep(0.01)
pmi = socket.socket(fileno=int(os.environ["PMI_FD"]))
for _ in range(3):
    pmi.sendall(b"cmd=get_appnum\\n")
    assert b"appnum=0" in pmi.recv(100)
open(sys.argv[2], "w").close()
"""


def outlives(build):
    """A program that outlives its rank and still speaks by PMI is no error of its host."""
    with Ssh() as ssh, tempfile.TemporaryDirectory() as folder:
        said = f"{folder}/said"
        script = (f"if [ $PMI_RANK = 0 ]; then '{sys.executable}' -c '{OUTLIVES}' $$ {said} & exit 0; fi; "
                  f"until [ -e {said} ]; do sleep 0.01; done")
        status, out, err = launch(build, *ssh, "-hosts", "one,two", "-ppn", 2, "-n", 4, "sh", "-c", script)
    return expect((status, out, err) == (0, "", ""), status, out, err)


def real_ssh(build):
    """By a real sshd on loopback: two names of it are two hosts."""
    with sshd.Server() as server:
        words = ["-launcher", "ssh", "-launcher-exec", server.client]
        status, out, err = launch(build, *words, "-hosts", "one,two", "-n", 4, build / "tests/nodes")
        if status != 0 or sorted(re.sub("^\\d: ", "", line) for line in out.splitlines()) != sorted(["0 of 2", "1 of 2"] * 2):
            return [f"status {status}", out, err]
        status, out, err = launch(build, *words, "-hosts", "one,two", "-n", 4, build / "tests/dies", "kill", "Allreduce")
        if status != 137 or "rank 1 on one ended by signal 9" not in err:
            return [f"status {status}", out, err]
        status, out, err = launch(build, *words, "-hosts", "one,stranger", "-n", 2, "true")
        if status != 1 or "host stranger: " not in err or "cannot log in" not in err:
            return [f"status {status}", out, err]
        return expect(wait_for(lambda: not server.sessions()), f"left: {server.sessions()}")


TESTS = (placement, bad_hosts, no_shared_memory, other_hosts, host_failures, host_deaths, outlives, real_ssh)
