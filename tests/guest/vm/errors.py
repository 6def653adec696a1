# SPDX-License-Identifier: Apache-2.0
"""What goes wrong: each text names the cause and, where there is one, the cure."""
import os
import shutil

PACKAGES = {  # program -> Debian's and Ubuntu's package
    "qemu-system-x86_64": "qemu-system-x86",
    "depmod": "kmod",
    "gcc": "gcc",
    "ip": "iproute2",
    "tc": "iproute2",
    "rdma": "iproute2",
    "ibv_rc_pingpong": "ibverbs-utils",
    "rping": "rdmacm-utils",
    "ib_send_lat": "perftest",
    "dpkg-deb": "dpkg",
    "setpriv": "util-linux",
    "timeout": "coreutils",
    "modprobe": "kmod",
}
PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


class Failed(Exception):
    """A guest could not be started, died or did not answer."""


class Unavailable(Failed):
    """This machine lacks what guests need."""


def program(name):
    """The path of a program that an ordinary user may not have in his PATH."""
    path = shutil.which(name, path=PATH)
    if path is None:
        raise Unavailable(f"{name} is not installed: apt-get install {PACKAGES[name]}")
    return path


def missing():
    """The packages to install, [] when everything is there."""
    return sorted({package for name, package in PACKAGES.items() if shutil.which(name, path=PATH) is None})


def tail(path, count=15):
    """The last lines of a log, indented."""
    try:
        with open(path, errors="replace") as log:
            return "".join("    " + line.rstrip() + "\n" for line in log.readlines()[-count:]).rstrip()
    except OSError:
        return ""
