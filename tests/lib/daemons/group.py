# SPDX-License-Identifier: Apache-2.0
"""Daemons of one cluster, started and ended together; known again from a file, so that another command can end them."""
import json
import os
import shutil

from . import ports, processes
from .errors import Failed, PortTaken, tail

ATTEMPTS = 3  # when another process takes a chosen port first


class Group:
    """Everything is below the folder work. product names the cluster in texts: Hadoop, HBase; command is its ./verbena command."""

    product, command, state = "", "", "cluster.json"

    def __init__(self, work, tied=False):
        """tied: daemons die with this process."""
        self.work, self._tied = os.path.abspath(work), tied
        self.ports, self.daemons = {}, {}

    def log(self, name):
        return os.path.join(self.work, "log", name + ".log")

    def conf(self, name):
        return os.path.join(self.work, "conf", name)

    def client_conf(self):
        return self.conf("client")

    def data(self):
        return os.path.join(self.work, "data")

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        """Returns when every daemon is registered. Fails with the cause, and then nothing is left."""
        running = self.load(self.work)
        if running is not None and running.running():
            raise Failed(f"a {self.product} is running in {self.work}: end it first (./verbena {self.command} stop)")
        for attempt in range(1, ATTEMPTS + 1):
            shutil.rmtree(self.work, ignore_errors=True)
            os.makedirs(os.path.join(self.work, "log"))
            try:
                self.launch_all()
                return
            except PortTaken:
                self.stop()
                if attempt == ATTEMPTS:
                    raise
            except BaseException:
                self.stop(keep_logs=True)
                raise

    def spawn(self, name, argv, environment):
        """Starts one daemon, without waiting for it."""
        self.daemons[name] = processes.spawn(argv, self.log(name), environment, self._tied)
        self.save()

    def check_alive(self):
        for name, process in self.daemons.items():
            if not processes.alive(*process):
                text = tail(self.log(name))
                kind = PortTaken if "Address already in use" in tail(self.log(name), 200) else Failed
                raise kind(f"the {name} has ended; the last lines of its log {self.log(name)}:\n{text}")

    def kill(self, name, number=processes.signal.SIGKILL):
        """Sends a signal to one daemon."""
        processes.kill(*self.daemons[name], number)

    def running(self):
        return [name for name, process in self.daemons.items() if processes.alive(*process)]

    def remove(self, folders, keep_logs):
        """Removes what ended daemons have left, and gives back their ports; logs too unless they are to be kept."""
        ports.give_back(self.ports.values())
        self.daemons = {}
        for folder in ["data", "conf", *folders, *([] if keep_logs else ["log"])]:
            shutil.rmtree(os.path.join(self.work, folder), ignore_errors=True)
        if not keep_logs:
            shutil.rmtree(self.work, ignore_errors=True)
        elif os.path.exists(os.path.join(self.work, self.state)):
            os.unlink(os.path.join(self.work, self.state))

    def save(self):
        fresh = os.path.join(self.work, self.state + ".new")
        with open(fresh, "w") as file:
            json.dump({"ports": self.ports, "daemons": self.daemons, **self.kept()}, file)
        os.replace(fresh, os.path.join(self.work, self.state))

    @classmethod
    def load(cls, work):
        """The cluster that another command started in a folder, or None."""
        try:
            with open(os.path.join(work, cls.state)) as file:
                kept = json.load(file)
        except (OSError, ValueError):
            return None
        cluster = cls.restored(work, kept)
        cluster.ports = kept["ports"]
        cluster.daemons = {name: tuple(process) for name, process in kept["daemons"].items()}
        return cluster
