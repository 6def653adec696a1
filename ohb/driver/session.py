# SPDX-License-Identifier: Apache-2.0
"""Both sides of a row, up at once: starts them, warms them, runs their blocks, stops them."""
import os
import time

from driver.procs import Failed, Scope
from sides import echo, hosts, slowdisk, spark

WARM_LIMIT, QUICK_WARM_LIMIT = 60, 5  # seconds of warm-up per side after the first run
AGREE = 0.05
CLUSTERS = ("spark.authenticate", "spark.shuffle.service")  # settings that master and workers need, too
DISK = ("disk_written_bytes", "disk_read_bytes")


def properties_of_sides(row):
    """{side: the properties that it has beside those of both}."""
    return {"a": {**(spark.PLUGIN if row.against else spark.STOCK), **row.stock_properties},
            "b": spark.STOCK if row.control else {**spark.PLUGIN, **row.our_properties}}


class Sides(Scope):
    """Generators a (stock) and b (ours, or stock again in a control row)."""

    def __init__(self, row, root, work):
        self.row, self._root, self._work = row, root, work
        self._cluster = self._hosts = self._disk = None
        self.generators = {}

    def start(self):
        os.makedirs(self._work, exist_ok=True)
        if self.row.kind in ("spark", "tpch"):
            self._start_spark()
        else:
            self.generators = {"a": echo.Generator("a", self._work), "b": echo.Generator("b", self._work)}
        for generator in self.generators.values():
            generator.await_ready()

    def _start_spark(self):
        row, driver = self.row, {}
        local = spark.memory_folder() if row.tmpfs else None
        if row.network:
            self._hosts = hosts.Hosts(self._work, None if row.network == "unshaped" else row.network).__enter__()
            first, second = hosts.ADDRESSES
            self._cluster = spark.Cluster(self._work, wrapper={second: self._hosts.enter()}, hosts=hosts.ADDRESSES,
                                          master=first, local=local)
            driver = {"spark.driver.host": first, "spark.driver.bindAddress": first}
        else:
            if row.disk == "slow":
                self._disk = slowdisk.Disk(self._work).__enter__()
                local = self._disk.folder
            # A worker's shuffle service listens on one port.
            served = "spark.shuffle.service.enabled" in row.properties
            driver = {"spark.shuffle.service.port": str(spark.free_ports(1)[0])} if served else {}
            self._cluster = spark.Cluster(
                self._work, local=local, wrapper=self._disk.enter() if self._disk else (),
                properties={key: value for key, value in {**row.properties, **driver}.items() if key.startswith(CLUSTERS)},
                **({"workers": 1, "cores": 4, "memory": "10g"} if served else {}))
        self._cluster.__enter__()
        plugins = {"a": spark.built_plugin(row.against)} if row.against else {}
        own = properties_of_sides(row)
        for side, name in (("a", "before" if row.against else "stock"), ("b", "again" if row.control else "ours")):
            self.generators[side] = spark.Generator(name, self._cluster.url, self._root, self._work, own[side],
                                                    {**driver, **row.properties}, plugin=plugins.get(side))

    def _setup(self, row):
        kind = "spark" if row.kind == "tpch" else row.kind
        return (kind, row.control, row.properties, row.stock_properties, row.our_properties, row.tmpfs, row.network,
                row.disk, row.against)

    def serves(self, row):
        """True when the row can run on these sides without starting others."""
        return self._setup(row) == self._setup(self.row)

    def notes(self):
        """What a reader of the result has to know about these sides."""
        return [self._hosts.note] if self._hosts and self._hosts.note else []

    def warm(self, row, params, limit):
        """Prepares the row on both sides; then blocks until three agree within 5 %, at most limit seconds a side."""
        for generator in self.generators.values():
            generator.warm(row.name, params)
            deadline, times = time.monotonic() + limit, []
            while time.monotonic() < deadline:
                times.append(generator.block(row.name, 0)["wall_ms"])
                last = times[-3:]
                if len(last) == 3 and max(last) <= min(last) * (1 + AGREE):
                    break

    def block(self, row, side, seed):
        """One block as it goes into the result file."""
        if self._disk:
            self._disk.keep(row.stock_cache if side == "a" else 0)
        answer = self.generators[side].block(row.name, seed)
        if answer.get("failed_tasks"):
            raise Failed(f"{answer['failed_tasks']} tasks of side {side} failed and were repeated in a measured block")
        names = ("wall_ms", "executor_cpu_ms", "task_cpu_ms") if row.kind == "spark" else ("wall_ms", "cpu_ms")
        metrics = {name: answer.pop(name) for name in names if answer.get(name)}
        if row.disk:
            disk = {name: answer.pop(name) for name in DISK if name in answer}
            metrics.update({**disk, "disk_bytes": sum(disk.values())} if disk else {})
        return {"metrics": metrics, "records": answer.pop("records"), "checksum": answer.pop("checksum"),
                "details": {key: value for key, value in answer.items() if key not in ("row", "seed")}}

    def drop(self, row):
        """Frees the cached input of a row on both sides."""
        if row.kind == "spark":
            for generator in self.generators.values():
                generator.ask(f"drop {row.name}")

    def describe(self):
        """The 'sides' entry of the result."""
        entry = {}
        for side, generator in self.generators.items():
            hello = generator.hello or {}
            entry[side] = {"name": generator.name, "command": generator.command, "settings": generator.properties,
                           "versions": {key: value for key, value in hello.items()
                                        if key in ("spark", "java", "shuffle_manager")},
                           "carrier": None}
        return entry

    def carrier(self, side):
        """What moved the data of a Spark side, by the last lines of the plugin in its executors' logs; None if none."""
        app = (self.generators[side].hello or {}).get("app_id")
        if self._cluster is None or not app:
            return None
        lines = []
        for path in spark.executor_logs(self._work, app):
            with open(path, errors="replace") as log:
                lines += [line.strip() for line in log if ": Verbena " in line and (" INFO " in line or " WARN " in line)]
        return [line.split(": ", 1)[-1] for line in lines[-8:]] or None

    def stop(self):
        """Stops generators, then daemons. May be called twice."""
        for generator in self.generators.values():
            generator.stop()
        if self._cluster is not None:
            self._cluster.stop()
        if self._hosts is not None:
            self._hosts.stop()
        if self._disk is not None:
            self._disk.stop()
