# SPDX-License-Identifier: Apache-2.0
"""Tests of mpiexec's stdout and stderr: whole on each kind of file, and nothing of mpiexec waits for who reads them. Each takes the
build folder and gives a list of what is wrong."""
import fcntl
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile

from hosts import Ssh, children, is_gone, wait_for
from runner import LIMIT, Skipped, expect, launch, started

LINES = "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done"
# Writes without end; at SIGUSR1 it says how many bytes so far, and what mpiexec answers by PMI.
WRITER = """
import os, signal, socket
def report(*_):
    pmi.sendall(b"cmd=get_appnum\\n")
    answer = pmi.recv(100)
    os.write(2, b"%d %s" % (written, answer))
written = 0
pmi = socket.socket(fileno=int(os.environ["PMI_FD"]))
signal.signal(signal.SIGUSR1, report)
os.write(2, b"up\\n")
while True:
    written += os.write(1, b"x" * 999 + b"\\n")
"""
# Fills a pipe of 1 MiB, as large as those of a kernel with pages of 64 KiB, while the daemon stands still, and ends; then the
# daemon goes on.
LARGE_PIPE = """
import fcntl, os, signal, time
daemon, rank = os.getppid(), os.getpid()
fcntl.fcntl(1, fcntl.F_SETPIPE_SZ, 1 << 20)
os.kill(daemon, signal.SIGSTOP)
os.write(1, (b"x" * 1023 + b"\\n") * 1024)
if os.fork() == 0:
    os.close(1)
    while os.getppid() == rank:
        time.sleep(0.01)
    os.kill(daemon, signal.SIGCONT)
"""
MOST = 4 << 20 # bytes under way: far more than all buffers between a rank and its reader


def pipe(flags=0):
    """A small one. Gives (to read, to write)."""
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETFL, fcntl.fcntl(writing, fcntl.F_GETFL) | flags)
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    return reading, writing


def is_full(writing):
    return not select.select([], [writing], [], 0)[1]


def all_of(reading):
    with open(reading, "rb") as file:
        return file.read().decode()


def non_blocking(build):
    """A pipe that its owner has made non-blocking, and which is full before anybody reads; its flags stay as they are."""
    reading, writing = pipe(os.O_NONBLOCK)
    with started(build, "-n", 1, "sh", "-c", LINES, stdout=writing) as process:
        full = wait_for(lambda: is_full(writing) or process.poll() is not None)
        flags = fcntl.fcntl(writing, fcntl.F_GETFL)
        os.close(writing)
        lines = all_of(reading).splitlines()
        process.wait(LIMIT)
    return expect(full and process.returncode == 0 and flags & os.O_NONBLOCK and lines == [f"line {i}" for i in range(20000)],
                  process.returncode, flags, len(lines))


def flags_stay(build):
    """A shell shares the file: it does not become non-blocking, not even while mpiexec waits for its reader."""
    reading, writing = pipe()
    with started(build, "-n", 1, "sh", "-c", LINES, stdout=writing) as process:
        wait_for(lambda: is_full(writing) or process.poll() is not None)
        flags = fcntl.fcntl(writing, fcntl.F_GETFL)
        os.close(writing)
        lines = all_of(reading).splitlines()
        process.wait(LIMIT)
    return expect(process.returncode == 0 and not flags & os.O_NONBLOCK and len(lines) == 20000, process.returncode, flags)


def reports(process):
    """Sends SIGUSR1 until the rank has written nothing between two of its reports; the last one."""
    before = None
    while True:
        process.send_signal(signal.SIGUSR1)
        line = process.stderr.readline()
        if line == before or not line:
            return line
        before = line


def unread(build, writing, *words):
    """While nobody reads, signals and PMI go on, what mpiexec holds is bounded, and SIGTERM ends it."""
    with started(build, *words, sys.executable, "-c", WRITER, stdout=writing, stderr=subprocess.PIPE) as process:
        first = process.stderr.readline()
        last = reports(process)
        process.terminate()
        process.wait(LIMIT)
        rest = process.stderr.read()
    found = re.fullmatch(r"(\d+) cmd=appnum appnum=0\n", last)
    return expect(first == "up\n" and found and int(found[1]) < MOST and process.returncode == 143 and "signal 15" in rest,
                  process.returncode, first, last, rest)


def nobody_reads(build):
    """A pipe, a terminal, and a pipe that is non-blocking."""
    problems = []
    for reading, writing in (pipe(), pty.openpty(), pipe(os.O_NONBLOCK)):
        problems += unread(build, writing, "-n", 1)
        os.close(reading)
        os.close(writing)
    return problems


def nobody_reads_elsewhere(build):
    """The rank is on another host."""
    reading, writing = pipe()
    with Ssh() as ssh, open(reading, "rb"), open(writing, "wb"):
        return unread(build, writing, *ssh, "-hosts", "one", "-n", 1)


def large_pipe_elsewhere(build):
    """All of it arrives."""
    with Ssh() as ssh:
        status, out, err = launch(build, *ssh, "-hosts", "one", "-n", 1, sys.executable, "-c", LARGE_PIPE)
    return expect((status, len(out), err) == (0, 1 << 20, ""), status, len(out), err)


def into(build, stdout, *words):
    process = subprocess.run([build / "bin/mpiexec", *map(str, words)], stdout=stdout, stderr=subprocess.PIPE, text=True,
                             timeout=LIMIT, check=False, stdin=subprocess.DEVNULL)
    return process.returncode, process.stderr


def full_disk(build):
    """One line that says so, once; the ranks go on, and mpiexec does not end with 0. The first failure's code comes first."""
    script = 'echo one; echo two; echo "$PMI_RANK is there" >&2; exit '
    for code, status in ((0, 1), (3, 3)):
        with open("/dev/full", "wb") as full:
            found, err = into(build, full, "-n", 1, "sh", "-c", script + str(code))
        told = [line for line in err.splitlines() if "stdout cannot be written: No space left on device" in line]
        if found != status or len(told) != 1 or "0 is there" not in err:
            return [f"exit {code}: status {found}", err]
    return []


# As an Ssh of hosts.py: when the daemon has ended it waits for a file before it ends, too.
LINGERS = """#!/bin/sh
for command; do :; done
sh -c "$command"
touch {0}/ended
until [ -e {0}/go ]; do sleep 0.01; done
"""


def on_one_processor():
    """The thread that writes gets it when another one gives it away. What is ignored from the start is no signal of the ranks."""
    signal.signal(signal.SIGCONT, signal.SIG_IGN)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def told_at_the_end(build):
    """What mpiexec says right before its end is written, too: here of a signal that comes together with the end of the last ssh."""
    for _ in range(5):
        with tempfile.TemporaryDirectory() as folder, Ssh(LINGERS.format(folder)) as ssh, \
                started(build, *ssh, "-hosts", "one", "-kill-after", 0, "-n", 1, "true", stderr=subprocess.PIPE,
                        preexec_fn=on_one_processor) as process:
            wait_for(pathlib.Path(folder, "ended").exists)
            lingers = children(process.pid, "ssh")
            process.send_signal(signal.SIGSTOP)
            process.terminate()
            pathlib.Path(folder, "go").touch()
            wait_for(lambda: all(is_gone(pid, "ssh") for pid in lingers))
            process.send_signal(signal.SIGCONT)
            _, err = process.communicate(timeout=LIMIT)
        if process.returncode != 143 or "signal 15 (Terminated); the job ends" not in err:
            return [f"status {process.returncode}", err]
    return []


def without_threads(build):
    """Where mpiexec gets no thread it writes by itself: a full disk is told, and a reader that has gone ends the job."""
    words = [build / "tests/no_threads", build / "bin/mpiexec", "-n", "1", "sh", "-c"]
    with open("/dev/full", "wb") as full:
        told = subprocess.run([*words, "echo one"], stdout=full, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                              timeout=LIMIT, check=False)
    if told.returncode == 77:
        raise Skipped("seccomp refuses filters here")
    reading, writing = pipe()
    os.close(reading)
    with open(writing, "wb") as nobody:
        gone = subprocess.run([*words, "echo one; sleep 1000"], stdout=nobody, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                              text=True, timeout=LIMIT, check=False)
    return expect((told.returncode, gone.returncode) == (1, 141) and "stdout cannot be written: No space left" in told.stderr,
                  told, gone)


def reader_is_gone(build):
    """As with `mpiexec ... | head`: the job ends, quietly, and its ranks are asked to."""
    script = 'trap "echo asked >&2; exit 0" TERM; echo up; while :; do echo more; done 2> /dev/null'
    with started(build, "-n", 1, "bash", "-c", script, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        first = process.stdout.readline()
        process.stdout.close()
        process.wait(LIMIT)
        err = process.stderr.read()
    return expect(first == "up\n" and process.returncode == 141 and err in ("asked\n", ""), process.returncode, err)


def regular_file(build):
    """What was there stays in front; stdout and stderr are one file in order."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "out"
        path.write_text("before\n")
        with path.open("a") as shown:
            process = subprocess.run([build / "bin/mpiexec", "-n", "1", "sh", "-c", LINES + "; exit 3"], stdout=shown, stderr=shown,
                                     timeout=LIMIT, check=False, stdin=subprocess.DEVNULL)
        lines = path.read_text().splitlines()
    return expect(process.returncode == 3 and lines[:-1] == ["before"] + [f"line {i}" for i in range(20000)] and
                  lines[-1].startswith("mpiexec: rank 0 on"), process.returncode, len(lines), *lines[-3:])


def asks(build, *words):
    """A question is there before its answer, which only then is given; gives all that was shown."""
    script = 'if [ $PMI_RANK = 0 ]; then printf "Enter n: "; read n; echo got $n; fi'
    with started(build, *words, "-n", 2, "sh", "-c", script, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        shown = ""
        while not shown.endswith("Enter n: ") and (more := os.read(process.stdout.fileno(), 100).decode()):
            shown += more
        process.stdin.write("5\n")
        process.stdin.close()
        shown += process.stdout.read()
    return shown


def prompts(build):
    with Ssh() as ssh:
        found = [asks(build), asks(build, "-l"), asks(build, *ssh, "-hosts", "one"),
                 asks(build, *ssh, "-l", "-hosts", "one,two")]
    plain, tagged = "Enter n: got 5\n", "[0] Enter n: got 5\n"
    return expect(found == [plain, tagged, plain, tagged], *found)


def tags(build):
    """Another rank's line ends an open one; who goes on in it then begins a line."""
    with tempfile.TemporaryDirectory() as folder:
        script = (f'if [ $PMI_RANK = 0 ]; then printf ask; read n; printf "more "; read n; echo end; '
                  f'else until [ -e {folder}/go ]; do sleep 0.01; done; printf line; fi')
        with started(build, "-l", "-n", 2, "sh", "-c", script, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            shown = ""
            for end, answer in (("[0] ask", lambda: pathlib.Path(f"{folder}/go").touch()),
                                ("[1] line", lambda: process.stdin.write("1\n") and process.stdin.flush()),
                                ("more ", lambda: process.stdin.write("2\n") and process.stdin.flush())):
                while not shown.endswith(end) and (more := os.read(process.stdout.fileno(), 100).decode()):
                    shown += more
                answer()
            shown += process.stdout.read()
    return expect(shown == "[0] ask\n[1] line\n[0] more end\n", repr(shown))


def whole_while_full(build):
    """What waits while the reader is slow is no prompt: lines stay whole."""
    reading, writing = pipe()
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("".join(f"{i}\n" for i in range(200000)))
        file.flush()
        with started(build, "-n", 3, "cat", file.name, stdout=writing) as process:
            wait_for(lambda: is_full(writing))
            os.close(writing)
            lines = all_of(reading).splitlines()
            process.wait(LIMIT)
    return expect(sorted(map(int, lines)) == [i // 3 for i in range(600000)], len(lines))


def closed(build):
    """Whichever of 0, 1 and 2 are closed: ranks get the job key all the same."""
    problems = []
    for which in ("<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"):
        shown = subprocess.run(["sh", "-c", f'"$0" -n 2 "$1" {which}', build / "bin/mpiexec", build / "tests/moves"],
                               capture_output=True, text=True, timeout=LIMIT, check=False)
        problems += expect((shown.returncode, shown.stdout, shown.stderr) == (0, "", ""), which, shown)
    return problems


def numbered_by_scripts(build):
    """A script that opens files as 3 to 9 between mpiexec and the program takes nothing from the program."""
    script = "for fd in 3 4 5 6 7 8 9; do eval \"exec $fd>/dev/null\"; done; exec \"$0\""
    status, out, err = launch(build, "-n", 2, "sh", "-c", script, build / "tests/moves")
    return expect((status, out, err) == (0, "", ""), status, out, err)


TESTS = (closed, numbered_by_scripts, non_blocking, flags_stay, nobody_reads, nobody_reads_elsewhere, full_disk, told_at_the_end,
         without_threads, reader_is_gone, regular_file, prompts, tags, whole_while_full, large_pipe_elsewhere)
