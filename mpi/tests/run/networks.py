# SPDX-License-Identifier: Apache-2.0
"""Tests of jobs on hosts that have no default route: network namespaces that a cable joins. Each takes the build folder and gives
a list of what is wrong."""
import os
import pathlib
import subprocess
import tempfile

from runner import Skipped, launch

HOSTS = ("one", "two")
# Programs of windows, with arguments; three seeds of random programs.
WINDOWS = (("win_moves",), ("win_accumulates",), ("win_epochs",), ("win_locks",), ("win_dynamic",), ("win_computes",),
           ("win_threads",), ("win_random", 1, 3))
# Runs the other host's command in the network of the process whose id stands in FOLDER/HOST.
ENTER = """#!/bin/sh
for word; do host=$command; command=$word; done
exec nsenter --net="/proc/$(cat 'FOLDER'/"$host")/ns/net" sh -c "$command"
"""


class Cable:
    """Two hosts and the cable between them; the words for mpiexec are its value in a with statement."""

    def __init__(self, prefix, bits):
        self._folder = tempfile.TemporaryDirectory()
        self._holders = [self._host(name) for name in HOSTS]
        one, two = (holder.pid for holder in self._holders)
        self.ready = all(holder.stdout.readline() == "up\n" for holder in self._holders) and self._run(
            one, f"ip link add c type veth peer name c netns {two}")
        for pid, number in ((one, 1), (two, 2)):
            self.ready = self.ready and self._run(
                pid, f"ip addr add {prefix}{number}{bits} dev c {'nodad' if ':' in prefix else ''} && ip link set c up")
        enter = pathlib.Path(self._folder.name) / "enter"
        enter.write_text(ENTER.replace("FOLDER", self._folder.name))
        enter.chmod(0o700)
        self._words = ["-launcher", "ssh", "-launcher-exec", enter, "-hosts", ",".join(HOSTS)]

    def _host(self, name):
        # A host's setting may say that new namespaces have no IPv6.
        allow = "f=/proc/sys/net/ipv6/conf/all/disable_ipv6; [ $(cat $f) = 0 ] || echo 0 >$f; "
        holder = subprocess.Popen(["unshare", "--net", "sh", "-c", allow + "ip link set lo up && echo up && exec sleep 1000"],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        (pathlib.Path(self._folder.name) / name).write_text(str(holder.pid))
        return holder

    @staticmethod
    def _run(pid, command):
        return subprocess.run(["nsenter", f"--net=/proc/{pid}/ns/net", "sh", "-c", command], check=False).returncode == 0

    def __enter__(self):
        return self._words

    def __exit__(self, *_):
        for holder in self._holders:
            holder.kill()
            holder.communicate()
        self._folder.cleanup()


def joined(build, prefix, bits, programs=(("moves",),)):
    if os.geteuid() != 0:
        raise Skipped("network namespaces need root")
    cable = Cable(prefix, bits)
    with cable as words:
        if not cable.ready:
            raise Skipped("no network namespace, or no command ip (Debian: iproute2)")
        for name, *arguments in programs:
            status, out, err = launch(build, *words, "-n", 4, build / "tests" / name, *arguments)
            if status != 0:
                return [f"{name}: status {status}", out, err]
    return []


def networks_ipv4(build):
    """Two hosts without a default route: the job starts without a setting."""
    return joined(build, "10.1.1.", "/24")


def networks_ipv6(build):
    return joined(build, "fd00:1::", "/64")


def networks_windows(build):
    """Windows of ranks on two hosts, two ranks on each."""
    return joined(build, "10.1.2.", "/24", WINDOWS)


TESTS = (networks_ipv4, networks_ipv6, networks_windows)
