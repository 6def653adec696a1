# SPDX-License-Identifier: Apache-2.0
"""Two network namespaces as two hosts, joined by a virtual cable that the kernel shapes. This process is on the first.

    this process, what it starts: 10.77.0.1 --veth, tc tbf-- 10.77.0.2: what is started with enter() before its command

Nothing stays: the namespaces and the cable end with their processes, and this process returns to where it was.
"""
import ctypes
import os
import shutil
import subprocess
import time

from driver.procs import Failed, Process, Scope

ADDRESSES = ("10.77.0.1", "10.77.0.2")
CLONE_NEWNET = 0x40000000
_LIBC = ctypes.CDLL(None, use_errno=True)
_SELF = "/proc/thread-self/ns/net"
_CABLE = ("vbn-a", "vbn-b")  # names in the first and the second namespace
_START = 60  # seconds
_MEGABIT = {"kbit": 0.001, "mbit": 1, "gbit": 1000}


def missing():
    """What is in the way of namespaces here, or None."""
    lacking = [program for program in ("ip", "tc", "nsenter", "unshare") if not shutil.which(program)]
    if lacking:
        return "two hosts need the programs " + " ".join(lacking) + ": apt-get install iproute2 util-linux"
    if os.getuid() != 0:
        return "two hosts are network namespaces with a virtual cable, which only root can make: run it as root"
    probe = ["unshare", "--net", "ip", "link", "add", _CABLE[0], "type", "veth", "peer", "name", _CABLE[1]]
    done = subprocess.run(probe, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else f"two hosts need network namespaces with veth: {done.stderr.strip()}"


def _call(function, *arguments):
    if function(*arguments) != 0:
        raise Failed(f"{function.__name__} of a network namespace: {os.strerror(ctypes.get_errno())}")


def _run(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"{' '.join(words)}: {done.stderr.strip()}")


def burst(rate):
    """Bytes that tbf lets through at once: what a rate like "10gbit" carries in a millisecond, at least 256 KiB."""
    number = rate.rstrip("kmgbit")
    return max(256 << 10, int(float(number) * _MEGABIT[rate[len(number):]] * 1e6 / 8 / 1000))


class Hosts(Scope):
    """A context manager, for the main thread: sockets and children made inside belong to the first host."""

    def __init__(self, work, rate=None):
        """rate: of the cable in each direction, as tc writes it ("10gbit"); None leaves it as fast as it is."""
        self._work, self._rate = work, rate
        self._home = self._second = None
        self.note = None

    def start(self):
        os.makedirs(self._work, exist_ok=True)
        self._home = os.open(_SELF, os.O_RDONLY | os.O_CLOEXEC)
        before = os.readlink(_SELF)
        _call(_LIBC.unshare, CLONE_NEWNET)
        first = os.readlink(_SELF)
        self._second = Process("second host", ["unshare", "--net", "sleep", "infinity"],
                               os.path.join(self._work, "second-host.log"))
        deadline = time.monotonic() + _START
        while os.readlink(f"/proc/{self._second.pid}/ns/net") in (before, first):
            if time.monotonic() > deadline or not self._second.alive():
                raise Failed(f"no second network namespace within {_START} s; see {self._second.log}")
            time.sleep(0.01)
        _run("ip", "link", "add", _CABLE[0], "type", "veth", "peer", "name", _CABLE[1], "netns", str(self._second.pid))
        for enter, cable, address in (((), _CABLE[0], ADDRESSES[0]), (self.enter(), _CABLE[1], ADDRESSES[1])):
            _run(*enter, "ip", "link", "set", "lo", "up")
            _run(*enter, "ip", "address", "add", address + "/24", "dev", cable)
            _run(*enter, "ip", "link", "set", cable, "up")
            self._shape(enter, cable)

    def _shape(self, enter, cable):
        if self._rate is None:
            return
        try:
            _run(*enter, "tc", "qdisc", "add", "dev", cable, "root", "tbf", "rate", self._rate,
                 "burst", str(burst(self._rate)), "latency", "50ms")
        except Failed as failure:
            self.note = f"the kernel does not shape the cable, it is as fast as it can be: {failure}"

    def enter(self):
        """What has to stand before a command that is to run on the second host."""
        return ["nsenter", "--target", str(self._second.pid), "--net", "--"]

    def cable(self, plugged):
        """Pulls the cable, or plugs it in again."""
        _run("ip", "link", "set", _CABLE[0], "up" if plugged else "down")

    def stop(self):
        """After everything on both hosts has ended. May be called twice."""
        if self._home is not None:
            _call(_LIBC.setns, self._home, CLONE_NEWNET)
            os.close(self._home)
            self._home = None
        if self._second is not None:
            self._second.stop(grace=1)
            self._second = None
