# SPDX-License-Identifier: Apache-2.0
"""Runs rows and makes the result document; whatever happens, the document says what happened."""
import contextlib
import functools
import json
import os
import time

from driver import blocks, noise, plan, rivals, schema, tpch, verdicts
from driver.procs import Failed, Killed
from driver.session import QUICK_WARM_LIMIT, WARM_LIMIT, Sides
from sides import burst, core, fetch, hbase, hdfs, memcached, memcached_disk, merge, mr, netty, rpc, spark, verbs

UNITS = {"wall_ms": "ms", "cpu_ms": "ms", "executor_cpu_ms": "ms", "task_cpu_ms": "ms",
         "disk_written_bytes": "B", "disk_read_bytes": "B", "disk_bytes": "B"}
CORE_SECONDS = 600  # the core row repeats its program at most this long to reach its pairs
HADOOP_SECONDS = 1800


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class Runner:
    """Runs a list of rows into one document. Not reusable.

    What measures a kind of row returns whether somebody looked at what was delivered: the entry's "verified"."""

    def __init__(self, root, work, json_file, quick, pairs, starts=1):
        self.root, self.work, self.json_file, self.quick, self.starts = root, work, json_file, quick, starts
        self.pairs = plan.pair_count(pairs, quick)
        self.document = {"schema": schema.VERSION, "run_id": time.strftime("%Y%m%dT%H%M%S") + f"-{os.getpid()}",
                         "started": now(), "commit": schema.commit(root), "machine": schema.machine(),
                         "status": "complete", "runs": []}
        self._sides = None

    def run(self, rows):
        """All rows, then the verdicts; the document's status tells how it ended. Killed is recorded, not raised."""
        if not self.quick and self.pairs < (needed := verdicts.needed(rows)):
            spark.note(f"verdicts on so many rows at once need {needed} pairs of each: give --pairs {needed}, or choose fewer rows")
        os.makedirs(os.path.dirname(os.path.abspath(self.json_file)), exist_ok=True)
        lines = self.json_file + ".part"
        try:
            with open(lines, "w") as part, contextlib.ExitStack() as stack:
                stack.callback(self._stop_sides)
                for row in rows:
                    self._run_row(row, part)
        except Killed as killed:
            self.document["status"] = "killed"
            spark.note(f"ended by {killed}")
        if self.document["status"] == "complete" and any(run["status"] == "failed" for run in self.document["runs"]):
            self.document["status"] = "failed"
        verdicts.settle(self.document)
        self.document = schema.anonymous(self.document, self.root, next((row.against for row in rows if row.against), None))
        schema.write(self.json_file, self.document)
        os.unlink(lines)
        return self.document

    def _run_row(self, row, part):
        params = row.parameters(self.quick)
        entry = self.entry(row, params)
        self.document["runs"].append(entry)
        lacking = plan.missing(row, self.root)
        if lacking:
            entry["status"] = "skipped"
            entry["notes"].append(lacking)
            return
        spark.note(f"{row.name}: {row.title}")
        try:
            runners = {"core": self._core, "verbs": self._verbs, "fetch": self._fetch, "memcached": self._memcached,
                       "ranks": self._ranks, "hdfs": self._hdfs, "mr": self._mr, "burst": self._burst, "hbase": self._hbase,
                       "netty": self._netty, "merge": self._merge, "rpc": self._rpc, "tpch": self._tpch}
            entry["verified"] = runners.get(row.kind, self._pairs)(row, params, entry, part)
        except Failed as failure:
            entry["status"] = "failed"
            entry["notes"].append(str(failure))
            self._stop_sides()
        except Killed as killed:
            entry["status"] = "killed"
            entry["notes"].append(f"ended by {killed}")
            raise

    def entry(self, row, params):
        """A run of the document, yet without blocks."""
        where = {**({"network": row.network} if row.network else {}), **({"starts": self.starts} if self.starts > 1 else {})}
        return {"row": row.name, "title": row.title, "stock": row.stock, "control": row.control,
                "status": "complete", "params": {**params, **where, "pairs": self.pairs}, "started": now(), "sides": {},
                "blocks": [], "result": {}, "headline": row.metric, "hold": row.hold, "verified": False, "notes": []}

    def _each_start(self, row, entry):
        """(number, pairs, sides) of each start; one alone takes the sides of the row before, where they suit."""
        for start, pairs in enumerate(blocks.shares(self.pairs, self.starts)):
            if self.starts > 1:
                self._stop_sides()
            sides = self._sides_for(row)
            if start == 0:
                entry["sides"] = sides.describe()
                entry["notes"] += sides.notes()
            yield start, pairs, sides
            entry["sides"]["b"]["carrier"] = sides.carrier("b")

    def _pairs(self, row, params, entry, part):
        params = self._with_data(params)

        def on_block(block):
            entry["blocks"].append(block)
            part.write(json.dumps({"row": row.name, **block}) + "\n")
            part.flush()
            spark.note(f"{row.name}: block {block['index'] + 1} of {2 * self.pairs}, side {block['side']}, "
                       f"{block['metrics'].get('wall_ms', 0):.0f} ms" + (", noisy" if block["marked"] else ""))

        for start, pairs, sides in self._each_start(row, entry):
            sides.warm(row, params, QUICK_WARM_LIMIT if self.quick else WARM_LIMIT)
            blocks.run_pairs(functools.partial(sides.block, row), pairs, on_block, start)
            sides.drop(row)
        entry["result"] = describe(blocks.reduce(entry["blocks"]))
        return True  # blocks.same_content

    def _tpch(self, row, params, entry, part):
        """Adds a row for each query to the document; the row itself is their sum."""
        queries = tpch.Queries(row, self._with_data({"job": "tpch", **params}), self.pairs, part)
        for start, pairs, sides in self._each_start(row, entry):
            queries.warm(sides, tpch.QUICK_WARM_RUNS if self.quick else tpch.WARM_RUNS)
            queries.measure(sides, pairs, start)
        entry["blocks"] = tpch.total(queries.done)
        entry["result"] = describe(blocks.reduce(entry["blocks"]))
        for name, found in queries.done.items():
            query = plan.query(row, name)
            self.document["runs"].append({
                **self.entry(query, {**query.params, **params}), "sides": entry["sides"], "blocks": found, "headline": None,
                "result": describe(blocks.reduce(found)), "verified": True})
        return True  # blocks.same_content of each query

    def _with_data(self, params):
        if params.get("job") != "tpch":
            return params
        scale = params["scale"]
        folder = os.path.join(self.work, f"tpch-{scale:g}")
        spark.note(f"TPC-H data, scale {scale}")
        spark.generate_tpch(self.root, folder, scale, os.path.join(self.work, "tpch.log"))
        return {**{key: value for key, value in params.items() if key != "scale"}, "data": folder}

    def _sides_for(self, row):
        if self._sides is None or not self._sides.serves(row):
            self._stop_sides()
            sides = Sides(row, self.root, os.path.join(self.work, "sides"))
            self._sides = sides
            sides.__enter__()
        return self._sides

    def _stop_sides(self):
        if self._sides is not None:
            self._sides.stop()
            self._sides = None

    def _core(self, row, params, entry, part):
        log = os.path.join(self.work, "vbn-perf.log")
        scale = params["scale"]
        if row.against:
            self._perf(row, entry, part, lambda index: core.pairs_against(self.root, row.against, log, row.name, scale, index),
                       2 * CORE_SECONDS)
        else:
            self._perf(row, entry, part, lambda _index: core.pairs(self.root, log, row.name, scale))
            entry["sides"]["a"]["versions"] = core.ucx_versions(entry["result"])
        return False  # vbn-perf looks at no payload

    def _verbs(self, row, params, entry, part):
        with verbs.guest(self.root) as guest:
            self._perf(row, entry, part, lambda _index: verbs.pairs(guest, core.program(self.root), params["scale"]))
        return False  # vbn-perf looks at no payload, perftest neither

    def _fetch(self, row, _params, entry, part):
        with fetch.guest(self.root) as guest:
            self._perf(row, entry, part, lambda _index: fetch.pairs(guest, self.root))
        return True  # FetchProgram compares each block; ib_read_bw, the bare side, none

    def _memcached(self, row, params, entry, part):
        if row.disk:
            with memcached_disk.disk(row, os.path.join(self.work, "disk")) as where:
                self._perf(row, entry, part, lambda index: memcached_disk.pairs(row, where, params, index))
            return True  # mczipf compares each answer
        with memcached.servers(("tcp", "unix", "tls")) as found:
            self._perf(row, entry, part, lambda index: memcached.pairs(found, params["scale"], index))
        return True  # mcload and mcnative compare each answer

    def _hdfs(self, row, params, entry, part):
        stock = hdfs.short_circuit() if params.get("stock") == "short-circuit" else {}
        ours = hdfs.parallel() if params.get("ours") == "parallel" else {}
        with contextlib.ExitStack() as stack:
            if "mode" in params:
                ours = stack.enter_context(hdfs.moded(self.root, params["mode"], params.get("memory")))
            disk = stack.enter_context(hdfs.disk(row, os.path.join(self.work, "disk")))
            sides = stack.enter_context(hdfs.clusters(self.root, os.path.join(self.work, "hdfs"), stock, row.network, ours, **disk))
            hdfs.warm(sides, **({"rounds": 1, "large": 0} if disk else {}))  # the disk is slower than code that is not compiled
            measured = hdfs.measured(params["cells"])
            self._perf(row, entry, part, lambda index: measured(sides, index), HADOOP_SECONDS)
            entry["notes"] += sides[1].said()
        return True  # HdfsLoad compares what it reads

    def _hbase(self, row, params, entry, part):
        with hbase.clusters(self.root, os.path.join(self.work, "hbase"), params.get("part", "all")) as sides:
            hbase.warm(sides, cells=hbase.SETS["quick part" if "part" in params else "quick"])
            self._perf(row, entry, part, lambda index: hbase.pairs(sides, hbase.SETS[params["cells"]], index), HADOOP_SECONDS)
            entry["notes"] += sides[1].said()
        return True  # CallLoad compares what it reads

    def _rpc(self, row, params, entry, part):
        with rpc.both(self.root, os.path.join(self.work, "rpc")) as sides:
            self._perf(row, entry, part, lambda index: rpc.pairs(sides, params["calls"], index))
        return True

    def _netty(self, row, params, entry, part):
        with netty.both(self.root, os.path.join(self.work, "netty")) as sides:
            self._perf(row, entry, part, lambda index: netty.pairs(sides, params["rounds"], index))
        return True  # EchoLoad compares what comes back

    def _mr(self, row, params, entry, part):
        cells, work = mr.SETS[params["cells"]], os.path.join(self.work, "mr")
        with mr.shared(self.root, work) if row.name == "lustre.jobs" else mr.sides(self.root, work, row.network) as both:
            mr.prepare(both, cells)
            self._perf(row, entry, part, lambda index: mr.pairs(both, cells, index), HADOOP_SECONDS)
        return True  # mr.both_run compares what reducers saw or wrote

    def _merge(self, row, params, entry, part):
        with merge.both(self.root, os.path.join(self.work, "merge"), params) as sides:
            self._perf(row, entry, part, lambda index: merge.pairs(sides, params, index))
        return True  # merge.pairs compares what was read

    def _burst(self, row, params, entry, part):
        with burst.directory(self.root, os.path.join(self.work, "burst"), params["rows"]) as place:
            self._perf(row, entry, part, lambda index: burst.pairs(place, params["rows"], index), HADOOP_SECONDS)
        return True  # burst.pairs compares the files

    def _ranks(self, row, _params, entry, part):
        rivals.measure(self, row, entry, part)
        return True  # the benchmarks look at what was delivered

    def _perf(self, row, entry, part, pairs, seconds=CORE_SECONDS):
        """Blocks of vbn-perf; pairs(index) gives each of its cells once. No new pair is begun after so many seconds."""
        units, start = {}, time.monotonic()
        for index in range(self.pairs):
            before, began = noise.Snapshot(), time.monotonic()
            cells = pairs(index)
            if not cells:
                raise Failed(f"no program here measures '{row.name}': 'ohb list' shows the rows; core.jni needs ./verbena build")
            halves = core.blocks(cells, index, time.monotonic() - began, noise.between(before, noise.Snapshot()))
            units.update({core.metric_name(cell): cell["unit"] for cell in cells})
            for block in halves:
                entry["blocks"].append(block)
                part.write(json.dumps({"row": row.name, **block}) + "\n")
            part.flush()
            spark.note(f"{row.name}: pair {index + 1} of {self.pairs}, {len(cells)} cells"
                       + (", noisy" if halves[0]["marked"] else ""))
            if time.monotonic() - start > seconds:
                break
        entry["result"] = {name: {**summary, "unit": units[name], "better": core.better(units[name])}
                           for name, summary in blocks.reduce(entry["blocks"]).items()}
        side = {"command": "vbn-perf", "settings": {}, "versions": {}, "carrier": None}
        entry["sides"] = {"a": {"name": "before" if row.against else "raw", **side}, "b": {"name": "verbena", **side}}
        entry["headline"] = verdicts.headline(entry["result"], row.metric)


def describe(result):
    """Adds unit and direction to the summaries of timed rows."""
    return {name: {**summary, "unit": UNITS[name], "better": "lower"} for name, summary in result.items()}
