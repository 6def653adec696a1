# SPDX-License-Identifier: Apache-2.0
"""Faults on a real cluster: the job ends right, the log says what happened and what helps, nothing stays behind."""
import glob
import mmap
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest

from shared import FULL, HERE, LONG, NO_HOST_LOCAL, ROOT, TIMEOUT, Shared, SparkTest, await_true, gone, jvm, procs, reason, spark

# The input is made in the map tasks, so that only the shuffle needs memory; 144 MB, in the full form 1.1 GB.
SHUFFLE = {"job": "tiny", "maps": 12, "pairs": 96000 if FULL else 12000, "size": 1000, "reducers": 12}
SMALL = {**SHUFFLE, "pairs": 2000}
REREAD = {**SMALL, "job": "reread"}
WORDS = {**SHUFFLE, "job": "reread", "words": 256}  # values that a codec shrinks to less than half
ATTEMPTS = 5  # at a moment of a job that is over when somebody looks, as the scheduler may have it
# When an executor is killed: map outputs that there are, and seconds after that. By default, the first.
PHASES = (("fetch", 12, 0), ("map", 2, 0), ("reduce", 12, 0.2))
INVERTED = bytes(range(255, -1, -1))  # a table for bytes.translate


@LONG
class Memory(SparkTest):
    def test_a_budget_of_32_mib_is_kept_and_the_rest_goes_to_disk_and_comes_back(self):
        for properties in ({}, NO_HOST_LOCAL) if FULL else ({},):
            with self.subTest(properties):
                ours = self.application({"spark.verbena.memory": "32m", **properties})
                sizes = []
                stop = threading.Event()
                watcher = threading.Thread(target=self._watch, args=(ours, sizes, stop))
                watcher.start()
                try:
                    self.right(ours, "memory", SHUFFLE)
                    ours.await_said("INFO ShuffleEngine: Verbena")
                finally:
                    stop.set()
                    watcher.join()
                self.assertGreater(max(sizes), 24 << 20)
                self.assertLessEqual(max(sizes), (32 << 20) + (1 << 20), "slabs, and a page of header each")
                ours.stop()
                self.assertGreater(ours.total("to disk"), 64 << 20)
                told = []
                for log in ours.executor_logs():
                    self.assertIn("at most 32 MiB in /dev/shm (spark.verbena.memory)", log)
                    told.append(log.count("map outputs go to disk from now on"))
                # Once by each that had more than fits; how many map tasks an executor gets is the scheduler's choice.
                self.assertEqual(max(told), 1)

    def test_what_shrinks_is_compressed_on_disk_and_read_from_there_by_everybody(self):
        for properties in ({}, NO_HOST_LOCAL):
            with self.subTest(properties):
                ours = self.application({"spark.verbena.memory": "16m", **properties})
                self.right(ours, "words", WORDS)
                files = self._packed()
                self.assertTrue(files, "no map output was compressed on its way to disk")
                self.right(ours, "words", WORDS, 1)  # all map tasks are over, so are all spills of theirs
                for path in files:
                    self.assertLess(os.path.getsize(path), WORDS["pairs"] * WORDS["size"] * 0.75)
                ours.stop()  # beside stock's, the cluster has cores for one application

    @staticmethod
    def _packed():
        """Data files in the layout of PackedFile."""
        found = []
        for path in glob.glob(f"{Shared.folder.name}/**/shuffle_*.data", recursive=True):
            with open(path, "rb") as file:
                if file.read().endswith(b"vbnpack1"):
                    found.append(path)
        return found

    @staticmethod
    def _watch(application, sizes, stop):
        """Bytes of the slabs of each executor, again and again."""
        while not stop.is_set():
            for folder in application.slab_folders().values():
                total = 0
                for path in glob.glob(f"{folder}/slab-*"):
                    try:
                        total += os.stat(path).st_blocks * 512
                    except OSError:
                        pass  # the executor has ended
                sizes.append(total)
            time.sleep(0.02)


class Repaired(SparkTest):
    """Executors killed at three moments of a job, and damaged memory: Spark repairs both."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # Spark detects damage by the compression's checksums, as it does for files; for ours see LostOutputTest.
        cls.ours = cls.application_of_class({"spark.verbena.compress": "as-spark"})

    def test_an_executor_killed_in_the_map_fetch_or_reduce_phase_costs_time_but_not_the_result(self):
        usual = self.right(self.ours, "killed", SHUFFLE)["tasks"]
        for number, (phase, outputs, delay) in enumerate(PHASES if FULL else PHASES[:1]):
            with self.subTest(phase):
                self.assertTrue(any(self._lose(outputs, delay, 1 + number + 3 * attempt) > usual for attempt in range(ATTEMPTS)),
                                "no task ran again")

    def _lose(self, outputs, delay, seed):
        """A job that loses an executor: how many tasks it took. The usual number when it had all that it needed before, or was
        over, and its outputs forgotten, when an executor was to be killed."""
        victim = []
        killer = threading.Thread(target=self._kill, args=(self.ours.map_outputs(), outputs, delay, victim))
        killer.start()
        answer = self.right(self.ours, "killed", SHUFFLE, seed)
        killer.join()
        await_true(lambda: not set(victim) & set(self.ours.executors()), "the killed executor ends")
        await_true(lambda: len(self.ours.executors()) == 2 and len(self.ours.slab_folders()) >= 1, "a new executor")
        return answer["tasks"]

    def _kill(self, before, outputs, delay, victim):
        """Kills an executor that has map outputs when so many new ones are published."""
        await_true(lambda: len(self.ours.map_outputs() - before) >= outputs, f"{outputs} map outputs")
        time.sleep(delay)
        alive = set(self.ours.executors())
        found = [pid for pid, folder in self.ours.slab_folders().items() if pid in alive and glob.glob(f"{folder}/m-*")]
        victim.extend(found[:1])
        for pid in victim:
            os.kill(pid, signal.SIGKILL)

    def test_damaged_slabs_are_detected_and_computed_again_when_compression_is_on(self):
        before = self.ours.map_outputs()
        self.right(self.ours, "damaged", REREAD)
        usual = self.right(self.ours, "damaged", REREAD, seed=1)["tasks"]
        self.assertEqual(usual, REREAD["reducers"], "the second run only reads what the first one wrote")
        for share in (500, 1) if FULL else (500,):
            with self.subTest(f"one byte of {share}"):
                self.assertTrue(any(self._damaged(folder, share) > usual for folder in self._folders(before)),
                                "no map task ran again")
        self.assertEqual(len(self.ours.executors()), 2)

    def _folders(self, before):
        """Of the executors that have new map outputs. All of one executor may be stale: others have been computed again."""
        return [folder for folder in self.ours.slab_folders().values()
                if {os.path.basename(path) for path in glob.glob(f"{folder}/m-*")} - before]

    def _damaged(self, folder, share):
        """Changes bytes in all slabs of an executor, while nobody reads: how many tasks the job takes then."""
        for path in glob.glob(f"{folder}/slab-*"):
            with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
                start, end = mmap.PAGESIZE, len(memory) - mmap.PAGESIZE
                memory[start:end:share] = memory[start:end:share].translate(INVERTED)
        return self.right(self.ours, "damaged", REREAD, seed=2)["tasks"]


@unittest.skipUnless(FULL, "long: --full")
class OneAfterAnother(SparkTest):
    def test_fifty_applications_of_which_each_loses_an_executor_leave_nothing(self):
        for _ in range(50):
            ours = self.application()
            self.right(ours, "short", SMALL)
            os.kill(ours.executors()[0], signal.SIGKILL)
            ours.stop()
            gone(ours)


@LONG
class OneSided(SparkTest):
    """Something is wrong on one side only: that side uses Spark's own shuffle or transport."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = tempfile.TemporaryDirectory(prefix="verbena-it-")
        cls.addClassCleanup(cls.folder.cleanup)

    def test_an_executor_with_another_job_key_is_refused_and_its_blocks_come_by_sparks_transport(self):
        jars = os.path.join(spark.home(), "jars", "*")
        subprocess.run(["javac", *jvm.FOR_TOOLS, "--release", "17", "-cp", jars, "-d", self.folder.name,
                        os.path.join(HERE, "java", "WrongKey.java")], check=True, timeout=120)
        ours = self.application({**NO_HOST_LOCAL, "spark.driver.extraClassPath": self.folder.name,
                                 "spark.executor.extraClassPath": self.folder.name,
                                 "spark.plugins": "WrongKey,org.verbena.spark.VerbenaPlugin"})
        for seed in range(20):  # until each has asked the other one for blocks, and told of what it counted
            self.assertEqual(self.right(ours, "key", SMALL, seed)["failed_tasks"], 0)
            if seed > 0 and all("WARN Link: blocks of" in log for log in ours.executor_logs()):
                break
        ours.stop()
        self.assertGreater(ours.total("by Spark's transport"), 0)
        for path in ("by shared-memory messages", "by TCP", "from mapped memory of neighbours"):
            self.assertLess(ours.total(path), 1 << 20, path)  # the driver's broadcasts to the one that has its key
        self.assertRegex(ours.driver_log(), r"wireup.auth_failed [1-9]")
        for log in ours.executor_logs():
            warned = re.findall(r"WARN Link: blocks of (executor \S+) at \S+ come by Spark's transport for now: (.*)",
                                log)
            self.assertEqual(len(warned), len({peer for peer, _ in warned}), warned)
            self.assertTrue(all("key" in cause for _, cause in warned), warned)
            self.assertTrue(warned, reason(log))

    def test_a_native_library_for_another_processor_is_named_and_sparks_shuffle_used(self):
        library = os.path.join(self.folder.name, "libother.so")
        shutil.copy(shutil.which("true"), library)
        with open(library, "r+b") as file:
            file.seek(18)
            file.write(b"\xb7\x00" if os.uname().machine == "x86_64" else b"\x3e\x00")  # aarch64 or x86_64
        ours = self.application({"spark.executor.extraJavaOptions": f"-Dverbena.native.path={library}"})
        self.assertEqual(self.right(ours, "library", SMALL)["failed_tasks"], 0)
        self.assertEqual(ours.slab_folders(), {})
        for log in ours.await_said("stands aside on executor"):
            self.assertEqual(len(re.findall("WARN .*Verbena stands aside on executor .* is for", log)), 1, reason(log))
            self.assertIn(library, log)

    def test_an_executor_with_another_build_than_the_drivers_ends_and_names_both(self):
        jar = shutil.copy(spark.plugin_jar(ROOT), self.folder.name)
        manifest = os.path.join(self.folder.name, "manifest")
        with open(manifest, "w") as file:
            file.write("Verbena-Commit: of-another-day\n")
        subprocess.run(["jar", *jvm.FOR_TOOLS, "--update", "--file", jar, "--manifest", manifest], check=True, timeout=120)
        ours = self.application({"spark.driver.extraClassPath": spark.plugin_jar(ROOT), "spark.executor.extraClassPath": jar},
                                jar=False)
        said = r"this executor has Verbena \S+ of of-another-day, the driver has \S+ of [0-9a-z]+: give them the same jar"
        await_true(lambda: any(re.search(said, log) for log in ours.executor_logs()), "an executor names both builds")

    def test_a_jar_that_only_the_driver_has_is_sent_to_the_executors_and_the_plugin_alone_sets_the_manager(self):
        ours = self.application({"spark.driver.extraClassPath": spark.plugin_jar(ROOT), "spark.shuffle.manager": None},
                                jar=False)
        self.right(ours, "sent", SMALL)
        self.assertEqual(ours.hello["shuffle_manager"], spark.OURS["spark.shuffle.manager"])
        self.assertTrue(ours.slab_folders())  # an executor that got no task has none
        self.assertIn("is sent to the executors", ours.driver_log())

    def test_the_manager_works_without_the_plugin(self):
        ours = self.application({"spark.plugins": None})
        self.right(ours, "half", SMALL)
        self.assertEqual(ours.hello["shuffle_manager"], spark.OURS["spark.shuffle.manager"])
        self.assertTrue(ours.slab_folders())  # an executor that got no task has none


class Settings(SparkTest):
    """A wrong setting ends the application at its start and names what would be right."""

    def test_a_wrong_setting_stops_the_application_with_the_nearest_right_one(self):
        cases = {"spark.verbena.memroy=1g": "did you mean spark.verbena.memory?",
                 "spark.verbena.memory=much": "a size like 512m or 4g",
                 "spark.verbena.core.link.widnow=9": "did you mean link.window?",
                 "spark.verbena.transport=shm,tpc": "known transports: self"}
        if not FULL:
            cases = dict([next(iter(cases.items()))])
        for number, (setting, answer) in enumerate(cases.items()):
            with self.subTest(setting):
                log = os.path.join(Shared.folder.name, f"setting-{number}.log")
                argv = [os.path.join(spark.home(), "bin", "spark-submit"), "--master", "local[1]", "--jars",
                        spark.plugin_jar(ROOT), "--conf", "spark.plugins=org.verbena.spark.VerbenaPlugin",
                        "--conf", "spark.ui.enabled=false", "--conf", setting,
                        "--class", "org.verbena.ohb.spark.SparkJobs", spark.jobs_jar(ROOT), "serve"]
                process = procs.Process("spark-submit", argv, log)
                status = process.wait(TIMEOUT)
                process.stop()
                self.assertNotIn(status, (0, None))
                with open(log, errors="replace") as file:
                    self.assertIn(answer, file.read())
