# SPDX-License-Identifier: Apache-2.0
"""A running guest: commands, and the faults that a test injects."""
import dataclasses
import re
import secrets
import shlex
import time

from .channel import Channel
from .errors import Failed

START_SECONDS = 120
MEMORY_FOLDERS = ("/run", "/tmp", "/var/tmp", "/root")


@dataclasses.dataclass
class Result:
    status: int
    output: str


class Guest:
    """One guest. `number` is 0 or 1: guest-a with 10.0.N.1 on its device N, guest-b with 10.0.N.2."""

    def __init__(self, number, snapshot, cables, folder, seconds, rails, keep):
        self.number, self.name = number, "guest-" + "ab"[number]
        self.address = f"10.0.0.{number + 1}"
        self._snapshot, self._cables, self._folder = snapshot, cables, folder
        self._deadline = time.monotonic() + seconds
        self._rails, self._keep = rails, keep
        self.machine = self._channel = None

    # ------------------------------------------------------------------------------------------ life

    def launch(self):
        """Starts QEMU and returns at once; prepare() waits for the guest."""
        self._cables.drain(self.number)
        left = max(10, self._deadline - time.monotonic())
        self.machine = self._snapshot.start(f"{self._folder}/{self.name}.console", self._cables.ends[self.number], left)
        self._channel = Channel(self.machine.control)

    def prepare(self):
        """Until the host's tree is mounted and the network devices are up."""
        try:
            self.machine.qmp("qmp_capabilities")
            deadline = time.monotonic() + START_SECONDS
            while self.machine.qmp("query-status")["status"] == "inmigrate":
                if time.monotonic() > deadline:
                    raise Failed("the snapshot was not read in time")
                time.sleep(0.02)
            self.machine.qmp("cont")
            self._channel.send("S", 0, 0, self._setup().encode())
            self._channel.expect("M", START_SECONDS, "mounting the host's file tree in the guest")
            self._run_or_fail(self._network_script())
        except Failed as failure:
            words = self.machine.last_words()
            self.kill()
            raise Failed(f"{self.name} could not be started: {failure}\n{words}") from failure

    def _setup(self):
        lines = [f"time {int(time.time())}", f"seed {secrets.token_hex(64)}", f"name {self.name}"]
        lines += [f"memory {path}" for path in MEMORY_FOLDERS]
        hidden = [path for path in self._keep if any(path.startswith(top + "/") for top in MEMORY_FOLDERS)]
        return "\n".join(lines + [f"keep {path}" for path in sorted(set(hidden))]) + "\n"

    def _network_script(self):
        hosts = "127.0.0.1 localhost\n" + "".join(
            f"10.0.{rail}.{number + 1} guest-{'ab'[number]}{'-1' if rail else ''}\n" for rail in (0, 1) for number in (0, 1))
        lines = ["set -e", f"printf %s {shlex.quote(hosts)} >/run/hosts",
                 "mount --bind /run/hosts /etc/hosts", "ip link set lo up"]
        for rail in range(self._rails):
            lines += [f"ip link set eth{rail} address 52:54:00:00:{rail:02x}:{self.number + 1:02x} mtu 4200",
                      f"ip addr add 10.0.{rail}.{self.number + 1}/24 dev eth{rail}", f"ip link set eth{rail} up",
                      f"rdma link add rxe{rail} type rxe netdev eth{rail}"]
        return "\n".join([*lines, "ip route add default dev eth0"])  # names the interface that a host is reached by

    def alive(self):
        return self.machine is not None and self.machine.alive()

    def kill(self):
        """As if the power failed."""
        if self.machine:
            self.machine.kill()
            self._channel.join()

    def reboot(self):
        """Kills it if it still runs, and starts it anew."""
        self.kill()
        self.launch()
        self.prepare()

    # -------------------------------------------------------------------------------------- commands

    def start(self, command, limit=60, sink=None):
        """Starts a line of bash; sink(bytes) gets the output as it comes. Ended by the guest after `limit` seconds."""
        return self._channel.start(command, limit, sink)

    def run(self, command, limit=60, sink=None):
        """Runs a line of bash to its end."""
        job = self.start(command, limit, sink)
        try:
            return Result(job.wait(), job.output)
        except Failed as failure:
            words = self.machine.last_words()
            self.kill()  # whoever does not answer will not answer later
            raise Failed(f"{self.name}: {failure}\n{words}") from failure

    def _run_or_fail(self, command, limit=60):
        result = self.run(command, limit)
        if result.status != 0:
            raise Failed(f"{self.name}: '{command}' gave status {result.status}: {result.output.strip()}")
        return result.output

    def wait_port(self, port, seconds=120):
        """Until something in the guest listens on that TCP port."""
        pattern = f":{port:04X} 0*:0000 0A"
        self._run_or_fail(f"until grep -qE '{pattern}' /proc/net/tcp /proc/net/tcp6; do sleep 0.05; done", seconds)

    # ---------------------------------------------------------------------------------------- faults

    def netem(self, faults=None, rail=0):
        """What tc-netem does to packets that this guest sends, such as "loss 10%" or "delay 20ms reorder 25%"; None ends it."""
        if faults:
            self._run_or_fail(f"tc qdisc replace dev eth{rail} root netem {faults}")
        else:
            self._run_or_fail(f"tc qdisc del dev eth{rail} root 2>/dev/null || true")

    def link(self, up, rail=0):
        """Switches the network device in the guest; its own sends fail at once."""
        self._run_or_fail(f"ip link set eth{rail} {'up' if up else 'down'}")

    def cable(self, plugged, rail=0):
        """Pulls or plugs the cable of the network device."""
        self.machine.qmp("set_link", name=f"nic{rail}", up=plugged)

    def stop(self):
        """Stands still, as seen by all others, until cont()."""
        self.machine.qmp("stop")

    def cont(self):
        self.machine.qmp("cont")

    def counters(self, rail=0):
        """The device's hardware counters by name."""
        folder = f"/sys/class/infiniband/rxe{rail}/ports/1/hw_counters"
        text = self._run_or_fail(f"cd {folder} && grep . *")
        return {name: int(value) for name, value in re.findall(r"(\w+):(\d+)", text)}


