# SPDX-License-Identifier: Apache-2.0
"""The state of a booted guest, kept in the cache: a guest starts from it in two seconds instead of ten and more.

It depends on the kernel, the first file system, QEMU and its options: all of that is the key, so that a change of any makes
a new one. The host's tree is mounted after the start, as QEMU cannot save a mounted one.
"""
import dataclasses
import hashlib
import shlex
import time

from . import cache, initramfs, kernel, network, qemu
from .channel import Channel
from .errors import Failed

BOOT_SECONDS = {"tcg": 240, "kvm": 40}


@dataclasses.dataclass(frozen=True)
class Options:
    """Size of a guest, in MiB and processors, and how it is run: tcg or kvm."""
    memory: int = 1024
    cpus: int = 1
    accel: str = "tcg"


@dataclasses.dataclass(frozen=True)
class Snapshot:
    folder: object
    kernel: object
    options: Options

    @property
    def incoming(self):
        return "exec:cat " + shlex.quote(str(self.folder / "state"))

    def start(self, console, links, seconds):
        """A machine that reads this snapshot."""
        return qemu.Machine(self.options, self.kernel, self.folder / "initramfs", console, links, seconds, self.incoming)


def key(options, kernel_folder):
    """The cache's name for what a snapshot depends on."""
    words = qemu.arguments(options, kernel_folder, "", "", 0, 0, [0] * qemu.LINKS)
    parts = [*words, qemu.version(), initramfs.digest(), str((kernel_folder / "made").stat().st_mtime_ns)]
    if options.accel == "kvm":
        with open("/proc/cpuinfo") as info:
            parts += [line for line in info if line.startswith(("flags", "model name"))][:2]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _save(machine, target):
    machine.qmp("stop")
    machine.qmp("migrate", uri="exec:cat > " + shlex.quote(str(target)))
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        state = machine.qmp("query-migrate")
        if state.get("status") == "completed":
            return
        if state.get("status") == "failed":
            raise Failed(f"QEMU could not save the guest: {state.get('error-desc', 'no space left in the cache?')}")
        time.sleep(0.1)
    raise Failed("QEMU did not save the guest within 120 s")


def _make(folder, options, kernel_folder):
    print(f"guest: booting it for a snapshot ({options.accel}, {options.memory} MiB, {options.cpus} CPU)", flush=True)
    initramfs.write(folder / "initramfs", kernel_folder)
    seconds = BOOT_SECONDS[options.accel]
    with network.Cables() as cables:
        machine = qemu.Machine(options, kernel_folder, folder / "initramfs", folder / "console", cables.ends[0], seconds + 130)
        channel = Channel(machine.control)
        try:
            channel.expect("B", seconds, "booting the guest")
            machine.qmp("qmp_capabilities")
            _save(machine, folder / "state")
        except Failed as failure:
            raise Failed(f"{failure}\n{machine.last_words()}") from failure
        finally:
            machine.kill()
            channel.join()
    (folder / "agent").unlink()
    (folder / "made").touch()


def _with_accelerator(memory, cpus, accel):
    options = Options(memory, cpus, accel)
    folder = kernel.get()
    snapshot = cache.entry("snapshot", key(options, folder), lambda half: _make(half, options, folder))
    return Snapshot(snapshot, folder, options)


def get(memory, cpus):
    """The snapshot of a guest of that size, made if need be. Where KVM turns out not to work, without it."""
    accel = qemu.accelerator()
    unusable = cache.root() / "kvm-unusable"
    if accel == "kvm" and unusable.exists() and time.time() - unusable.stat().st_mtime < 86400:
        accel = "tcg"
    try:
        return _with_accelerator(memory, cpus, accel)
    except Failed:
        if accel == "tcg":
            raise
        print("guest: KVM does not work here: going on without it for a day", flush=True)
        unusable.touch()
        return _with_accelerator(memory, cpus, "tcg")
