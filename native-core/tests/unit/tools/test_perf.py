# SPDX-License-Identifier: Apache-2.0
"""vbn-perf measures what it is told to, and says in one line what it cannot. TOOLS: folder of the tools."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.join(os.environ["TOOLS"], "vbn-perf")
LIMIT = 100  # seconds for anything here
KILLED_AT_FORK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

pid_t fork(void)
{
    const pid_t parent = getpid();
    pid_t (*real)(void) = (pid_t (*)(void))dlsym(RTLD_NEXT, "fork");
    const pid_t child = real();
    if (child != 0)
        raise(SIGKILL);
    while (getppid() == parent)
        usleep(1000);
    return child;
}
"""

OTHER_UCX = """#!/bin/sh
# The server waits for its end. The client has numbers where it is given the libraries beside it.
[ "$1" = 127.0.0.1 ] || exec sleep 60
[ "$LD_LIBRARY_PATH" = "$(dirname "$(dirname "$0")")/lib" ] || exit 1
echo iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr
echo 1000,0.1,0.2,0.25,1,2,3,4
"""


def run(*options, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("VBN_")} | variables
    return subprocess.run([PROGRAM, *options], capture_output=True, text=True, timeout=LIMIT, env=environment)


class Perf(unittest.TestCase):
    def refused(self, *options, **variables):
        done = run(*options, **variables)
        self.assertEqual((done.returncode, done.stdout), (2, ""), (options, done.stderr))
        self.assertRegex(done.stderr, r"\Avbn-perf: [^\n]+\n\Z", options)
        return done.stderr

    def test_wrong_use_is_told_in_one_line(self):
        for options, word in ((["--row", "nosuch"], '"nosuch"'), (["--row", "core.am.latency,core.am"], '"core.am"'),
                              (["--transport", "foo"], '"foo"'), (["--transport", "shm,"], '""'), (["--size", "8,x"], "8,x"),
                              (["--size", "-8"], "-8"), (["--blocks", "0"], "--blocks"), (["--blocks", "many"], "many"),
                              (["--scale", "0"], "--scale"), (["--cpus", "1"], "--cpus"), (["--stages", "lz4,zstd"], "--stages"),
                              (["--colour"], "--colour"), (["more"], "more"), (["--row"], "--row needs a value")):
            self.assertIn(word, self.refused(*options))

    def test_what_the_core_refuses_is_told_once(self):
        self.assertIn("did you mean VBN_TL_TCP_PORT?", self.refused("--row", "core.am.latency", VBN_TL_TCP_PROT="1"))
        self.assertIn("tl.tcp.interface", self.refused("--transport", "tcp", "--row", "core.am.latency",
                                                       VBN_TL_TCP_INTERFACE="no-such"))

    def test_a_row_that_is_not_for_this_transport_says_so(self):
        done = run("--transport", "shm", "--row", "core.perftest.am.latency")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, "# core.perftest.am.latency over shm: left out, it is for rc and ud\n")

    def test_a_row_is_measured(self):
        done = run("--transport", "shm", "--row", "core.am.latency", "--size", "8", "--blocks", "1", "--scale", "0.01")
        self.assertEqual(done.returncode, 0, done.stderr)
        line = json.loads(done.stdout)
        self.assertEqual((line["row"], line["transport"], line["size"]), ("core.am.latency", "shm", 8))

    def test_another_ucx_is_run_with_its_own_libraries(self):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "bin", "ucx_perftest")
            os.mkdir(os.path.dirname(program))
            with open(program, "w") as file:
                file.write(OTHER_UCX)
            os.chmod(program, 0o755)
            row = ("--transport", "shm", "--row", "core.pypi-ucx.am.latency", "--size", "8", "--blocks", "1", "--scale", "0.001")
            done = run(*row, "--pypi-ucx", folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(done.stdout)["raw"], 250, "the client's fourth number, in microseconds")
            os.unlink(program)
            for options, why in ((("--pypi-ucx", folder), "has no bin/ucx_perftest"), ((), "it needs --pypi-ucx DIR")):
                done = run(*row, *options)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stdout, r"\A# core.pypi-ucx.am.latency over shm: left out, .*" + why)

    def test_killed_before_its_server_runs_it_leaves_no_process(self):
        with tempfile.TemporaryDirectory() as folder:
            library = os.path.join(folder, "fork.so")
            subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", library, "-ldl"], input=KILLED_AT_FORK, text=True,
                           check=True, timeout=LIMIT)
            done = run("--transport", "shm", "--row", "core.am.rate", "--size", "8", "--scale", "100", LD_PRELOAD=library,
                       ASAN_OPTIONS="verify_asan_link_order=0")  # run() returns when nobody has its pipes open
        self.assertEqual((done.returncode, done.stdout), (-signal.SIGKILL, ""))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
