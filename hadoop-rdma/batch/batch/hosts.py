# SPDX-License-Identifier: Apache-2.0
"""What a node says of itself: names, address, memory, processors, ports that are free."""
import array
import fcntl
import os
import resource
import socket
import struct

from .errors import Failed

SIOCGIFADDR = 0x8915
PORTS = 48  # that a node offers: more than all daemons of a node need
OFFSET = 20  # from a DataNode's port to that of its greeting: verbena.hdfs.port.offset
TRIES = 100
DEVICES = "/sys/class/infiniband"


def of_interface(name):
    """The IPv4 address of an interface."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        request = array.array("B", struct.pack("256s", name.encode()[:15]))
        try:
            fcntl.ioctl(probe.fileno(), SIOCGIFADDR, request)
        except OSError as error:
            raise Failed(f"{socket.gethostname()} has no address of the interface {name} ({error.strerror}): --interface names "
                         "another; 'ip -4 -brief address' lists them") from error
    return socket.inet_ntoa(request.tobytes()[20:24])


def address(interface, name):
    """The address that a node's daemons listen on. name: the node's in the job's list, which other nodes know it by."""
    if interface:
        return of_interface(interface)
    for one in (name, socket.gethostname()):
        try:
            found = socket.getaddrinfo(one, None, socket.AF_INET, socket.SOCK_STREAM)[0][4][0]
        except OSError:
            continue
        if not found.startswith("127."):
            return found
    raise Failed(f"{socket.gethostname()}: the names {name} and {socket.gethostname()} give no address but loopback: "
                 "--interface names the network of the daemons; 'ip -4 -brief address' lists them")


def _memory(environment):
    """MiB of the job on this node."""
    given = environment.get("SLURM_MEM_PER_NODE", "")
    if given.isdigit() and int(given) > 0:
        return int(given)
    each, count = environment.get("SLURM_MEM_PER_CPU", ""), environment.get("SLURM_CPUS_ON_NODE", "")
    if each.isdigit() and count.isdigit():
        return int(each) * int(count)
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20


def _locked_memory():
    """MiB that a process may lock, for devices that need it; None: no limit, or no such device."""
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    has_device = os.path.isdir(DEVICES) and os.listdir(DEVICES)
    return soft >> 20 if has_device and soft != resource.RLIM_INFINITY else None


class Held:
    """Free ports of an address, bound until the daemons that get them start, so that another job passes them by.
    The port behind the first one by OFFSET is free, too."""

    def __init__(self, at):
        self._at, self._sockets = at, []
        self._greeting = self._pair()
        while len(self._sockets) < PORTS:
            self._sockets.append(self._bound(0))

    def _bound(self, port):
        one = socket.socket()
        try:
            one.bind((self._at, port))
        except OSError:
            one.close()
            raise
        return one

    def _pair(self):
        for _ in range(TRIES):
            first = self._bound(0)
            try:
                second = self._bound(first.getsockname()[1] + OFFSET)
            except (OSError, OverflowError):
                first.close()
                continue
            self._sockets.append(first)
            return second
        raise Failed(f"{socket.gethostname()} has no two free ports {OFFSET} apart at {self._at}: 'ss -ltn' lists "
                     "those that are taken")

    def numbers(self):
        """The first is the DataNode's."""
        return [one.getsockname()[1] for one in self._sockets]

    def release(self):
        for one in [*self._sockets, self._greeting]:
            one.close()


def facts(at, name, ports, environment=os.environ):
    return {"name": name, "host": socket.gethostname(), "address": at, "ports": ports, "memory": _memory(environment),
            "processors": len(os.sched_getaffinity(0)), "locked": _locked_memory()}
