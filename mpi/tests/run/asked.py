# SPDX-License-Identifier: Apache-2.0
"""Tests of signals to mpiexec: which ranks get, and how it asks them to end. Each takes the build folder and gives a list of what
is wrong."""
import os
import signal
import subprocess
import sys
import tempfile

from hosts import Ssh, children, is_gone, wait_for
from runner import LIMIT, expect, launch, started

# Says which signals it gets; after SIGTERM it ends with 0. With a folder HEARD it also leaves a file there for SIGTSTP.
HEARER = """
import os, signal, time
def hear(number, _):
    os.write(1, signal.Signals(number).name.encode() + b"\\n")
    if number == signal.SIGTSTP and "HEARD" in os.environ:
        open(os.environ["HEARD"] + "/%d" % os.getpid(), "w").close()
    if number == signal.SIGTERM:
        os._exit(0)
for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGTSTP, signal.SIGCONT, signal.SIGTERM):
    signal.signal(number, hear)
os.write(1, b"up\\n")
while True:
    time.sleep(0.1) # pause() would not see a signal that came just before it
"""
# Forks until SIGTERM comes, and waits for its children, who end when they get it, too. SIGTERM is blocked around fork, since Python
# forgets in the child what came before its own code runs there. So the last child may be forked behind the signal: it is passed on.
FORKER = """
import os, signal
asked, TERM = [], {signal.SIGTERM}
signal.signal(signal.SIGTERM, lambda *_: asked.append(1))
for i in range(2000):
    signal.pthread_sigmask(signal.SIG_BLOCK, TERM)
    last = os.fork()
    if last == 0:
        signal.sigwait(TERM)
        os._exit(0)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, TERM)
    if asked:
        os.kill(last, signal.SIGTERM)
        break
    if i == 100:
        os.write(1, b"up\\n")
while True:
    try:
        os.wait()
    except ChildProcessError:
        break
os.write(1, b"all have heard\\n")
"""
# As an Ssh of hosts.py: what a login shell is to run, by the leader of a session.
IN_SESSION = """#!/bin/sh
for command; do :; done
exec setsid --wait sh -c "$command"
"""
DEAF = 'trap "" TERM; echo up; while :; do sleep 1000; done'


def open_to(*numbers):
    """Whoever runs the tests may have these ignored, a shell in the background for one."""
    return lambda: [signal.signal(number, signal.SIG_DFL) for number in numbers] and None


def lines_of(process, count):
    return sorted(process.stdout.readline() for _ in range(count))


def hear(build, *words):
    """Two ranks get each signal that is theirs, and go on; SIGTERM ends them, in their own way."""
    numbers = signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP, signal.SIGCONT, signal.SIGTERM
    with started(build, *words, "-n", 2, sys.executable, "-c", HEARER, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                 preexec_fn=open_to(*numbers)) as process:
        found = lines_of(process, 2)
        for number in numbers:
            process.send_signal(number)
            found += lines_of(process, 2)
        out, err = process.communicate(timeout=LIMIT)
    wanted = ["up\n"] * 2 + [f"{number.name}\n" for number in numbers for _ in range(2)]
    return expect((process.returncode, out, found) == (143, "", wanted) and "the ranks get SIGTERM" in err, process.returncode,
                  found, out, err)


def forwarded(build):
    return hear(build)


def forwarded_elsewhere(build):
    with Ssh() as ssh:
        return hear(build, *ssh, "-hosts", "one,two")


def state_of(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return file.read().rpartition(")")[2].split()[0]


def as_job():
    """Of a shell."""
    os.setpgrp()
    open_to(signal.SIGTSTP)()


def stands_still(build):
    """Ctrl-Z as a shell has it: mpiexec stops, and ranks are told, those of other hosts, too; SIGCONT wakes all. It comes when the
    ranks have heard of SIGTSTP: SIGCONT takes away a SIGTSTP that has not been delivered yet."""
    with Ssh() as ssh, tempfile.TemporaryDirectory() as heard, \
            started(build, *ssh, "-hosts", "one,two", "-n", 2, "-env", "HEARD", heard, sys.executable, "-c", HEARER,
                    stdout=subprocess.PIPE, start_new_session=False, preexec_fn=as_job) as process:
        found = lines_of(process, 2)
        process.send_signal(signal.SIGTSTP)
        stopped = wait_for(lambda: state_of(process.pid) == "T" and len(os.listdir(heard)) == 2)
        process.send_signal(signal.SIGCONT)
        found += lines_of(process, 4)
    return expect(stopped and found == ["up\n"] * 2 + ["SIGCONT\n"] * 2 + ["SIGTSTP\n"] * 2, stopped, found)


def stands_still_elsewhere(build):
    """A program of another host that does not ask for SIGTSTP, in a session as sshd makes one: it stops, and goes on."""
    with Ssh(IN_SESSION) as ssh, started(build, *ssh, "-hosts", "one", "-n", 1, "sh", "-c", "echo $$; exec sleep 1000",
                                         stdout=subprocess.PIPE, start_new_session=False, preexec_fn=as_job) as process:
        rank = int(process.stdout.readline())
        process.send_signal(signal.SIGTSTP)
        stopped = wait_for(lambda: state_of(process.pid) == state_of(rank) == "T")
        process.send_signal(signal.SIGCONT)
        goes_on = wait_for(lambda: state_of(process.pid) != "T" and state_of(rank) != "T")
        process.terminate()
        process.wait(LIMIT)
    return expect(stopped and goes_on and process.returncode == 143, stopped, goes_on, process.returncode)


def programs_of_scripts(build, *words):
    """What a script has started is asked, too, and has its time although the script has ended."""
    script = f"'{sys.executable}' -c '{HEARER}'; true"
    with started(build, *words, "-n", 2, "sh", "-c", script, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        found = lines_of(process, 2)
        process.terminate()
        found += sorted(process.stdout.read().splitlines())
        process.wait(LIMIT)
    return expect((process.returncode, found) == (143, ["up\n"] * 2 + ["SIGTERM"] * 2), process.returncode, found)


def scripts(build):
    return programs_of_scripts(build)


def scripts_elsewhere(build):
    with Ssh() as ssh:
        return programs_of_scripts(build, *ssh, "-hosts", "one,two")


def scripts_that_fork(build):
    """A program that forks without a pause: whatever it has started is asked, and nothing has to be killed."""
    with started(build, "-kill-after", LIMIT, "-n", 1, sys.executable, "-c", FORKER, stdout=subprocess.PIPE,
                 stderr=subprocess.DEVNULL) as process:
        found = [process.stdout.readline()]
        process.terminate()
        found.append(process.stdout.read())
        process.wait(LIMIT)
    return expect((process.returncode, found) == (143, ["up\n", "all have heard\n"]), process.returncode, found)


def killed_then(build):
    """Who does not end when it is asked is killed, after the time that -kill-after names."""
    problems = []
    with Ssh() as ssh:
        for words in (["-kill-after", 1], ["-kill-after", 0], [*ssh, "-hosts", "one,two", "--kill-after", 1]):
            with started(build, *words, "-n", 2, "sh", "-c", DEAF, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                lines_of(process, 2)
                process.terminate()
                _, err = process.communicate(timeout=LIMIT)
            is_told = "; the job ends" if 0 in words else "SIGKILL after 1 s"
            problems += expect(process.returncode == 143 and is_told in err, process.returncode, err)
    for wrong in ("-1", "x", "86401"):
        status, _, err = launch(build, "-kill-after", wrong, "true")
        problems += expect(status == 2 and f"-kill-after {wrong}: not a number of seconds from 0 to 86400" in err, status, err)
    return problems


def second_interrupt(build):
    """Does not wait: not for ranks that have a day, not for who reads."""
    reading, writing = os.pipe()
    script = 'trap "" TERM INT; echo up >&2; while :; do echo more; done'
    with open(reading, "rb"), open(writing, "wb"), \
            started(build, "-kill-after", 86400, "-n", 2, "sh", "-c", script, stdout=writing, stderr=subprocess.PIPE) as process:
        lines = [process.stderr.readline() for _ in range(2)]
        process.send_signal(signal.SIGINT)
        while lines[-1] and "SIGKILL after 86400 s" not in lines[-1]:
            lines.append(process.stderr.readline())
        ranks = children(process.pid, "sh")

        def ended():
            process.send_signal(signal.SIGINT)
            return process.poll() is not None
        wait_for(ended)
        left = [pid for pid in ranks if not wait_for(lambda pid=pid: is_gone(pid, "sh"))]
    return expect(process.returncode == 130 and len(ranks) == 2 and not left, process.returncode, *lines, ranks, left)


def ignored(build):
    """What was ignored when mpiexec was started is not passed on (nohup). But the ends of children are seen, and SIGINT ends the
    job, as a script has it in the background."""
    numbers = signal.SIGHUP, signal.SIGUSR2

    def ignore():
        for number in (*numbers, signal.SIGCHLD, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
    with started(build, "-n", 1, sys.executable, "-c", HEARER, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                 preexec_fn=ignore) as process:
        found = lines_of(process, 1)
        for number in (*numbers, signal.SIGUSR1): # the last one is heard when the first ones could have been
            process.send_signal(number)
        found += lines_of(process, 1)
        process.send_signal(signal.SIGINT)
        found += [process.stdout.read()]
        process.wait(LIMIT)
    return expect((process.returncode, found) == (130, ["up\n", "SIGUSR1\n", "SIGTERM\n"]), process.returncode, found)


TESTS = (forwarded, forwarded_elsewhere, stands_still, stands_still_elsewhere, scripts, scripts_elsewhere, scripts_that_fork,
         killed_then,
         second_interrupt, ignored)
