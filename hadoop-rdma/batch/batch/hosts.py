# SPDX-License-Identifier: Apache-2.0
"""What a node says of itself: names, address, memory, processors, ports that are free."""
import array
import fcntl
import os
import random
import resource
import socket
import struct
import tempfile

from .errors import Failed

SIOCGIFADDR = 0x8915
PORTS = 48  # that a node offers: more than all daemons of a node need
OFFSET = 20  # from a DataNode's port to that of its greeting: verbena.hdfs.port.offset
RANGE = range(20000, 32000)
ENOUGH = 1000  # ports for several sessions on one host
OUTGOING = "/proc/sys/net/ipv4/ip_local_port_range"  # its lowest port is above RANGE, unless the host says otherwise
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


def lowest_outgoing():
    """The first port that the kernel gives to outgoing connections."""
    with open(OUTGOING) as file:
        return int(file.read().split()[0])


def candidates():
    """Ports in a random order: those that no outgoing connection of this host takes, or all where the host leaves too few."""
    lowest = lowest_outgoing()
    known = [port for port in RANGE if port < lowest]
    if len(known) < ENOUGH:
        known = list(RANGE)
    return random.sample(known, len(known))


class Held:
    """Free ports of an address, bound until the daemons that get them start, and from the first moment this process' own: other
    sessions of this user pass them by until it ends, also while a daemon is slow to take its port. Byte N of a file of the user is
    locked by the process that has port N. The port behind the first one by OFFSET is free, too."""

    def __init__(self, at):
        self._at, self._sockets = at, []
        path = os.path.join(tempfile.gettempdir(), f"verbena-ports-{os.getuid()}.lock")
        self._locks = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        ports = candidates()
        self._greeting = self._pair(ports)
        for port in ports:
            if len(self._sockets) == PORTS:
                return
            one = self._taken(port)
            if one:
                self._sockets.append(one)
        raise self._lacking()

    def _lacking(self):
        return Failed(f"{socket.gethostname()} has no {PORTS} free ports at {self._at} between {RANGE.start} and {RANGE.stop}: "
                      "'ss -ltn' lists those that are taken")

    def _taken(self, port):
        """A socket that has the port; None: somebody else has it."""
        try:
            fcntl.lockf(self._locks, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
        except OSError:
            return None
        one = socket.socket()
        try:
            one.bind((self._at, port))
            return one
        except OSError:
            one.close()
            fcntl.lockf(self._locks, fcntl.LOCK_UN, 1, port)
            return None

    def _pair(self, ports):
        for port in ports:
            first = self._taken(port)
            second = first and port + OFFSET in RANGE and self._taken(port + OFFSET)
            if second:
                self._sockets.append(first)
                ports[:] = [other for other in ports if other not in (port, port + OFFSET)]
                return second
            if first:
                first.close()
        raise self._lacking()

    def numbers(self):
        """The first is the DataNode's."""
        return [one.getsockname()[1] for one in self._sockets]

    def release(self):
        for one in [*self._sockets, self._greeting]:
            one.close()


def facts(at, name, ports, environment=os.environ):
    return {"name": name, "host": socket.gethostname(), "address": at, "ports": ports, "memory": _memory(environment),
            "processors": len(os.sched_getaffinity(0)), "locked": _locked_memory()}
