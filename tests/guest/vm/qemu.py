# SPDX-License-Identifier: Apache-2.0
"""One QEMU process: its command line, its two control channels, its end.

Everything goes over sockets that are made here and inherited, so that there are no names that could clash or be left.
QEMU runs below timeout(1), which ends it when nobody else does, and gets SIGTERM from the kernel when the thread that
started it ends: start guests from a thread that lives as long as they.
"""
import atexit
import json
import os
import re
import socket
import subprocess
import time

from .errors import Failed, Unavailable, program, tail

KERNEL_OPTIONS = "console=ttyS0 panic=-1 rdinit=/init nokaslr mitigations=off apparmor=0 audit=0 quiet"
LINKS = 2  # network devices of each guest
OLDEST = (7, 2)  # has -netdev dgram
_LIVE = set()


def version():
    """The first line that QEMU says about itself. Unavailable when it is too old."""
    text = subprocess.run([program("qemu-system-x86_64"), "--version"], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60).stdout.partition("\n")[0]
    found = re.search(r"version (\d+)\.(\d+)", text)
    if not found or (int(found[1]), int(found[2])) < OLDEST:
        raise Unavailable(f"guests need QEMU 7.2 or newer, as Debian 12 and Ubuntu 24.04 have; here is: {text}")
    return text


def accelerator():
    """"kvm" where processor and permissions allow it; VERBENA_GUEST_ACCEL=tcg or kvm overrides."""
    chosen = os.environ.get("VERBENA_GUEST_ACCEL")
    if chosen:
        if chosen not in ("kvm", "tcg"):
            raise Failed(f"VERBENA_GUEST_ACCEL={chosen}: use kvm or tcg")
        return chosen
    with open("/proc/cpuinfo") as info:
        flags = next((line.split() for line in info if line.startswith("flags")), [])
    usable = os.access("/dev/kvm", os.R_OK | os.W_OK) and ("vmx" in flags or "svm" in flags)
    return "kvm" if usable else "tcg"


def arguments(options, kernel, initramfs, console, control, monitor, links):
    """QEMU's command line; control, monitor and links are descriptors."""
    accel = "tcg,thread=multi" if options.accel == "tcg" else "kvm"
    words = [program("qemu-system-x86_64"), "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
             "-M", "pc", "-accel", accel, "-cpu", "max", "-smp", str(options.cpus), "-m", str(options.memory),
             "-kernel", f"{kernel}/vmlinuz", "-initrd", str(initramfs), "-append", KERNEL_OPTIONS,
             "-serial", f"file:{console}",
             "-fsdev", "local,id=root,path=/,security_model=none,readonly=on,multidevs=remap",
             "-device", "virtio-9p-pci,fsdev=root,mount_tag=root",
             "-device", "virtio-serial-pci", "-chardev", f"socket,id=ctl,fd={control}",
             "-device", "virtserialport,chardev=ctl,name=ctl",
             "-chardev", f"socket,id=qmp,fd={monitor}", "-mon", "chardev=qmp,mode=control"]
    for number, link in enumerate(links):
        words += ["-netdev", f"dgram,id=net{number},local.type=fd,local.str={link}",
                  "-device", f"virtio-net-pci,netdev=net{number},id=nic{number},mac=52:54:00:00:{number:02x}:00,romfile="]
    return words


class Machine:
    """A QEMU process with the sockets `control` (to the agent) and `monitor` (QMP)."""

    booted = 0  # guests that this process has started from a snapshot

    def __init__(self, options, kernel, initramfs, console, links, seconds, incoming=None):
        self.console = console
        self.control, control = socket.socketpair()
        self.monitor, monitor = socket.socketpair()
        fds = [control.fileno(), monitor.fileno(), *[link.fileno() for link in links]]
        command = [program("setpriv"), "--pdeathsig", "TERM", program("timeout"), "-k", "2", str(int(seconds)),
                   *arguments(options, kernel, initramfs, console, fds[0], fds[1], fds[2:])]
        if incoming:
            command += ["-incoming", incoming]
            Machine.booted += 1
        with open(f"{console}.err", "wb") as errors:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors,
                                            pass_fds=fds, start_new_session=True)
        control.close()
        monitor.close()
        self._buffer = b""
        _LIVE.add(self)

    def alive(self):
        return self.process.poll() is None

    def last_words(self):
        """What the kernel and QEMU said last, for an error text."""
        return "\n".join(text for text in (tail(self.console, 40), tail(f"{self.console}.err", 5)) if text)

    def kill(self):
        """Ends QEMU at once; does nothing when it has ended."""
        for number in (15, 9):
            if self.process.poll() is None:
                self.process.send_signal(number)  # timeout(1) passes SIGTERM on, and SIGKILL after 2 s
                try:
                    self.process.wait(5)
                except subprocess.TimeoutExpired:
                    continue
        _kill_session(self.process.pid)
        self.control.close()
        self.monitor.close()
        _LIVE.discard(self)

    def qmp(self, command, seconds=60, **values):
        """Sends a command to QEMU's monitor and returns its result."""
        self.monitor.settimeout(seconds)
        message = {"execute": command, "arguments": values}
        try:
            self.monitor.sendall(json.dumps(message).encode() + b"\n")
            return self._answer(command, time.monotonic() + seconds)
        except OSError as error:
            raise Failed(f"QEMU does not answer {command}: {error}\n{self.last_words()}") from error

    def _answer(self, command, deadline):
        while time.monotonic() < deadline:
            line, newline, rest = self._buffer.partition(b"\n")
            if not newline:
                piece = self.monitor.recv(65536)
                if not piece:
                    raise Failed(f"QEMU ended at {command} (status {self.process.wait(10)})\n{self.last_words()}")
                self._buffer += piece
                continue
            self._buffer = rest
            answer = json.loads(line)
            if "error" in answer:
                raise Failed(f"QEMU refuses {command}: {answer['error'].get('desc')}")
            if "return" in answer:
                return answer["return"]  # all else is a greeting or an event
        raise Failed(f"QEMU does not answer {command}\n{self.last_words()}")


def _kill_session(leader):
    try:
        os.killpg(leader, 9)
    except (ProcessLookupError, PermissionError):
        pass


def kill_all():
    for machine in list(_LIVE):
        machine.kill()


atexit.register(kill_all)
