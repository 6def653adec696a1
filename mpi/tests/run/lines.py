# SPDX-License-Identifier: Apache-2.0
"""Tests of what a user reads: lines are whole, also those of ranks that end or are ended meanwhile; options and limits are
named. Each takes the build folder and gives a list of what is wrong."""
import os
import re
import resource
import shutil
import socket
import subprocess
import tempfile

from hosts import Ssh
from runner import HERE, LIMIT, Skipped, expect, launch
from wrappers import instrumented

OPTIONS = HERE.parents[1] / "launch/options.c"


def writes_of(*words, **options):
    """What a program writes to stderr, and mpiexec to both: one text for each write."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, subprocess.Popen([str(word) for word in words], stderr=theirs, stdin=subprocess.DEVNULL, **options) as process:
        theirs.close()
        ours.settimeout(LIMIT)
        found = []
        while record := ours.recv(1 << 16):
            found.append(record.decode())
        process.wait(LIMIT)
    return found


def library(build):
    """A line of the library is one write: a rank that is killed while it speaks has said all of it or nothing."""
    found = writes_of(build / "tests/fatal", stdout=subprocess.DEVNULL)
    return expect(len(found) == 1 and re.fullmatch(r"rank 0 of 1, MPI_Send: .*; the job ends \(MPI_ERRORS_ARE_FATAL\)\n", found[0]),
                  *found)


def launcher(build):
    """A write of mpiexec holds whole lines, of ranks with their labels, and its own."""
    script = "echo one >&2; printf tw >&2; echo o >&2; exit $((3 * (PMI_SIZE == 1)))"
    found = writes_of(build / "bin/mpiexec", "-l", "-n", 2, "sh", "-c", script, stdout=subprocess.DEVNULL)
    fails = writes_of(build / "bin/mpiexec", "-l", "-n", 1, "sh", "-c", script, stdout=subprocess.DEVNULL)
    return expect(sorted("".join(found).splitlines()) == ["[0] one", "[0] two", "[1] one", "[1] two"] and
                  all(text.endswith("\n") for text in found + fails) and
                  re.fullmatch(r"\[0\] one\n\[0\] two\nmpiexec: rank 0 .* exit code 3; the job ends\n", "".join(fails)),
                  *found, *fails)


def ends_inside(build):
    """Who ends in the middle of a line does not spoil the next one's; nothing is added where nobody follows."""
    script = 'printf "half a line"; [ $PMI_RANK = 0 ] || kill -9 $$; exec sleep 1000'
    with tempfile.TemporaryFile("w+") as shown: # both in one place, as on a terminal
        subprocess.run([build / "bin/mpiexec", "-n", "2", "sh", "-c", script], stdout=shown, stderr=shown, timeout=LIMIT,
                       stdin=subprocess.DEVNULL, check=False)
        shown.seek(0)
        lines = shown.read().splitlines()
    alone = launch(build, "-n", 1, "printf", "half a line")
    long = launch(build, "-n", 1, "-l", "sh", "-c", "printf %020000d 1")
    ours = [line for line in lines if line.startswith("mpiexec: rank 1 on ")] # rank 0 may speak before or after it, or not at all
    return expect(len(ours) == 1 and {*lines} - {*ours} == {"half a line"} and alone == (0, "half a line", "") and
                  long == (0, f"[0] {1:020000d}", ""), *lines, alone, long[0], long[1].count("\n"), long[2])


def variables(build):
    """-x as Open MPI has it: NAME=VALUE for this program, NAME as it is."""
    show = "echo $PMI_RANK $FIRST $SECOND $KEPT"
    status, out, err = launch(build, "-n", 1, "-x", "FIRST=a=b c", "-x", "SECOND=", "-x", "KEPT", "sh", "-c", show, ":",
                              "-n", 1, "-x", "SECOND=2", "sh", "-c", show, environment={"KEPT": "kept"})
    problems = expect(status == 0 and set(out.splitlines()) == {"0 a=b c kept", "1 2 kept"}, status, out, err)
    for word, text in (("=1", "give NAME or NAME=VALUE"), ("NOT_SET_HERE", "there is no such variable here")):
        status, _, err = launch(build, "-n", 1, "-x", word, "true")
        problems += expect(status == 2 and f"-x {word}: {text}" in err, status, err)
    return problems


def help_text(build):
    """Each word that options.c knows stands in the list, with one dash or two, and -h prints the list, too."""
    status, text, err = launch(build, "--help")
    words = set(re.findall(r'"(--?[A-Za-z][\w-]*)"', OPTIONS.read_text()))
    twins = {word for word in words if word.startswith("--") and word[1:] in words}
    missing = [word for word in words - twins if re.search(rf"(?m)(^| )-?{word}($|[,: ])", text) is None]
    return expect(status == 0 and len(words) > 15 and not missing and launch(build, "-h")[1] == text, status, *missing, text, err)


def descriptors(build):
    """Too few of them for the ranks: one line with the number that is enough."""
    def limited(most):
        return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    status, _, err = launch(build, "-n", 64, "true", preexec_fn=limited(64))
    found = re.fullmatch(r"mpiexec: 64 ranks on this host take (\d+) descriptors, and the limit is 64: raise it \(ulimit -n \1; "
                         r"the hard one, ulimit -Hn, too\), or take more hosts\n", err)
    if status != 1 or found is None:
        return [f"status {status}", err]
    status, _, err = launch(build, "-n", 64, "true", preexec_fn=limited(int(found[1])))
    return expect(status == 0 and err == "", status, err)


def descriptors_elsewhere(build):
    """Of ranks on other hosts mpiexec needs none: they may be more than it may open."""
    with Ssh() as ssh:
        status, out, err = launch(build, *ssh, "-hosts", "one,two,three", "-ppn", 20, "-n", 60, "sh", "-c", "echo rank $PMI_RANK",
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (150, 150)))
    return expect(status == 0 and err == "" and sorted(out.split("\n")) == sorted(["", *(f"rank {i}" for i in range(60))]),
                  status, out, err)


def processes(build):
    """A user that may have no more of them."""
    if instrumented(build):
        raise Skipped("a build with sanitizers: the one for leaks starts a process at the end")
    with tempfile.TemporaryDirectory() as folder: # of a user that nobody is, where root runs this: root has no such limit
        program = shutil.copy(build / "bin/mpiexec", folder)
        os.chmod(folder, 0o755)
        other = {"user": 40000 + os.getpid() % 20000, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        done = subprocess.run([program, "-n", "2", "true"], capture_output=True, text=True, timeout=LIMIT, check=False, cwd="/",
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NPROC, (1, 1)), **other)
    return expect(done.returncode == 1 and re.fullmatch(r"mpiexec: rank \d of 2 cannot be started: .*ulimit -u.*\n", done.stderr),
                  done.returncode, done.stderr)


TESTS = (library, launcher, ends_inside, variables, help_text, descriptors, descriptors_elsewhere, processes)
