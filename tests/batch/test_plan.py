# SPDX-License-Identifier: Apache-2.0
"""What a session plans before anything runs: ports for all daemons, and refusals of what is not there."""
import contextlib
import io
import os
import subprocess
import sys
import threading
import time
import types
import zipfile
from unittest import mock

from case import LIMIT, ROOT, Case

sys.path.insert(0, str(ROOT / "hadoop-rdma/batch"))

from batch import cli, hosts, jobs  # noqa: E402  (needs the path above)
from batch.buffer import Buffer  # noqa: E402
from batch.errors import Failed, excerpt  # noqa: E402
from batch.hadoop import MODES, SHARED, Hadoop  # noqa: E402
from batch.places import Places  # noqa: E402
from batch.session import Session, systems  # noqa: E402


class PlanTest(Case):
    def release(self, name, *files):
        for file in files:
            path = self.folder / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("")
            path.chmod(0o755)
        return str(self.folder / name)

    def options(self, *more):
        """Of a session with each system."""
        jar = self.release("jars", "one.jar") + "/one.jar"
        (self.folder / "shared").mkdir(exist_ok=True)
        words = ["run", "--hadoop", self.release("hadoop", "hadoop-common-3.jar"), "--yarn", "--memcached", "64",
                 "--hbase", self.release("hbase", "lib/hbase-server-2.jar"), "--spark", self.release("spark", "bin/spark-class"),
                 "--jar", jar, "--hbase-jar", jar, "--spark-jar", jar, "--memcached-program", jar, "--local", str(self.local),
                 "--work", str(self.work), "--time-limit", "900", "--hosts", "localhost", *more, "--", "true"]
        return cli.parser().parse_args(words)

    def places(self, mode):
        options = self.options("--mode", mode, "--shared", str(self.folder / "shared"))
        options.token = "0a1b2c"
        held = hosts.Held("127.0.0.1")
        self.addCleanup(held.release)
        node = {"name": "n", "host": "h", "address": "127.0.0.1", "ports": held.numbers(), "memory": 8192, "processors": 2}
        self.work.mkdir(exist_ok=True)
        return Places(options, jobs.Job("1", ["n"], "local"), str(self.work), [node])

    def test_a_node_offers_a_port_to_each_daemon_in_each_mode(self):
        for mode in MODES:
            with self.subTest(mode=mode):
                at = self.places(mode)
                if mode == SHARED[-1]:
                    at.options.hbase, at.options.buffer = None, 64
                planned = []
                for one in systems(at):
                    one.write()
                    planned += one.daemons()
                names = [daemon["name"] for daemon in planned]
                self.assertEqual(len(set(names)), len(names))
                self.assertTrue({"nodemanager-0", "spark-worker-0", "memcached-0"} <= set(names), names)
                self.assertEqual("buffer-0" in names, mode == SHARED[-1])

    def test_ports_of_a_node_are_no_outgoing_connections_and_stay_its_own_until_its_process_ends(self):
        held = hosts.Held("127.0.0.1")
        numbers = held.numbers()
        self.assertEqual(len(set(numbers)), hosts.PORTS)
        self.assertLessEqual(set(numbers), set(hosts.RANGE))
        if hosts.lowest_outgoing() > hosts.RANGE.start + hosts.ENOUGH:
            self.assertLess(max(numbers), hosts.lowest_outgoing())
        held.release()  # their daemons have not begun yet
        other = f"from batch import hosts; hosts.candidates = lambda: {numbers}; hosts.Held('127.0.0.1')"
        done = subprocess.run([sys.executable, "-B", "-c", other], cwd=ROOT / "hadoop-rdma/batch", capture_output=True, text=True,
                              timeout=600, check=False)
        self.assertRegex(done.stderr, f"Failed: .* has no {hosts.PORTS} free ports at 127.0.0.1 ")

    def test_a_host_whose_outgoing_connections_take_all_ports_offers_the_same_range(self):
        with mock.patch.object(hosts, "lowest_outgoing", lambda: 1024):
            self.assertEqual(set(hosts.candidates()), set(hosts.RANGE))
        with mock.patch.object(hosts, "lowest_outgoing", lambda: 25000):
            self.assertEqual(set(hosts.candidates()), set(range(hosts.RANGE.start, 25000)))

    def test_what_this_host_lacks_is_said_before_anything_starts(self):
        empty = self.folder / "empty"
        empty.mkdir()
        (self.folder / "bad").mkdir()
        (self.folder / "bad/core-site.xml").write_text("<configuration><property><value>1</value></property></configuration>")
        for words, text in ((("--hadoop", str(empty)), f"--hadoop {empty} has neither share/hadoop nor the jars of Hadoop"),
                            (("--hadoop", "/nosuch"), "--hadoop /nosuch has neither"),
                            (("--hbase", "/nosuch"), "--hbase /nosuch has no jars of HBase"),
                            (("--spark", "/nosuch"), "--spark /nosuch has no bin/spark-class"),
                            (("--conf", "/nosuch"), "--conf /nosuch is no folder on this host"),
                            (("--conf", str(self.folder / "bad")), "core-site.xml has a property without a name"),
                            (("--mode", "lustre", "--shared", "/nosuch"), "--shared /nosuch is no folder on this host"),
                            (("--jar", "/nosuch.jar"), "--jar /nosuch.jar is no file on this host"),
                            (("--memcached-program", "/nosuch"), "--memcached-program /nosuch is no file on this host"),
                            (("--in", "/nosuch=/in"), "--in /nosuch: there is no such file or folder"),
                            (("--in", "file:/nosuch=/in"), "--in file:/nosuch: there is no such file or folder")):
            with self.subTest(words=words):
                with self.assertRaises(Failed) as caught:
                    cli.run(self.options(*words))
                self.assertIn(text, str(caught.exception))
                self.assertFalse(self.work.exists())

    def test_files_are_named_as_daemons_find_them_from_their_own_folders(self):
        options = self.options("--mode", "off", "--memcached-program", "true")
        options.jar = os.path.relpath(options.jar)
        kept = cli._made(options).options
        self.assertEqual(kept.jar, str(self.folder / "jars/one.jar"))
        self.assertEqual(kept.memcached_program, "true")

    def test_the_burst_buffer_by_its_name_in_hibds_release_is_the_mode_lustre_with_a_buffer(self):
        words = ("--mode", "hhh-l-bb", "--shared", str(self.folder / "shared"))
        with self.assertRaisesRegex(Failed, "--mode hhh-l-bb is --mode lustre with a burst buffer: give --buffer MIB"):
            cli.run(self.options(*words))
        options = self.options(*words, "--buffer", "64")
        options.hbase = None
        cli._checked(options, jobs.found(options))
        self.assertEqual(options.mode, "lustre")

    def staging(self, mode):
        """(its path in the file system, the folder on the shared path) of a session with YARN."""
        hadoop = Hadoop(self.places(mode))
        return hadoop.sites(None)["mapred-site"]["yarn.app.mapreduce.am.staging-dir"], hadoop.shared

    def test_what_yarn_writes_beside_the_users_files_lies_in_the_sessions_own_folder(self):
        path, folder = self.staging("lustre")
        self.assertEqual(folder, str(self.folder / "shared/.verbena-1-0a1b2c"))
        self.assertEqual(path, "/.verbena-1-0a1b2c/staging")
        self.assertEqual(self.staging("hhh"), ("/tmp/hadoop-yarn/staging", None))

    def test_calls_of_all_protocols_go_by_the_core_where_that_is_wanted(self):
        at = self.places("hhh")
        self.assertNotIn("verbena.rpc.key.file", Hadoop(at).sites(0)["core-site"])
        at.options.rpc = True
        with self.assertRaisesRegex(Failed, "--rpc: .*/one.jar has no list of protocols .*: --jar names the jar of hadoop-rdma"):
            Hadoop(at)
        with zipfile.ZipFile(at.options.jar, "w") as jar:
            jar.writestr("org/verbena/hadoop/rpc/protocols", "a.OnePB\nb.OtherPB\n")
        for node in (0, None):
            core = Hadoop(at).sites(node)["core-site"]
            self.assertEqual({name for name in core if name.startswith("rpc.")}, {"rpc.engine.a.OnePB", "rpc.engine.b.OtherPB"})
            self.assertEqual(core["rpc.engine.a.OnePB"], "org.verbena.hadoop.rpc.VerbenaRpcEngine")
            self.assertEqual(core["verbena.rpc.key.file"], at.key)
        with self.assertRaisesRegex(Failed, "--rpc lets calls of --hadoop go by the core"):
            cli.run(self.options("--mode", "stock", "--rpc"))

    def session(self, ends=None):
        return Session(str(self.work), jobs.Job("1", ["n"], "local", ends), types.SimpleNamespace(out=[], local=str(self.local)))

    def test_a_flush_that_has_no_end_leaves_the_rest_of_the_job_for_copies(self):
        at = self.places("lustre")
        at.options.buffer = 64
        hadoop = Hadoop(at)
        one = Buffer(at, hadoop)
        hadoop.java = lambda *_: ["sleep", "1000"]
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            self.assertFalse(one.flush(0.1))
        self.assertIn("files of the burst buffer were not flushed within 0 s, half of the time", said.getvalue())
        given = []
        for ends in (None, time.time() + 1000):
            session = self.session(ends)
            session.systems = [mock.Mock(spec=Buffer, flush=given.append)]
            self.assertFalse(session.flush())
        self.assertIsNone(given[0])
        self.assertTrue(0 < given[1] <= 500, given)

    def test_the_burst_buffer_is_flushed_where_nothing_can_be_told_to_end(self):
        """As on a full disk."""
        session, flushed = self.session(), []
        session.systems = [mock.Mock(spec=Buffer, flush=lambda _: flushed.append(1) or True)]
        said = io.StringIO()
        with mock.patch("batch.signals.ignore"), mock.patch.object(session, "stop"), contextlib.redirect_stdout(said), \
                mock.patch.object(session.board, "write", side_effect=OSError(28, "No space left on device")):
            self.assertTrue(cli._saved_and_stopped(session))
        self.assertEqual(flushed, [1])
        self.assertIn("could not be told to end ([Errno 28] No space left on device)", said.getvalue())

    @staticmethod
    def agent(board, ranks):
        """Plays the one of a node: ends what it is told to end."""
        told = None
        while told != -1:
            board.write("state/0", {name: {"pid": 1, "rank": rank, "status": None if told is None or rank < told else 0}
                                    for name, rank in ranks.items()})
            time.sleep(0.05)
            told = board.read("stop")
        board.write("gone/0", "n")

    def test_what_writes_has_ended_when_the_burst_buffer_is_flushed(self):
        """A job of YARN that outlives its client would write on, and the flush would have no end."""
        session = self.session()
        session.board.write("node/0", {"name": "n"})
        ranks, alive = {"buffer-0": 0, "flusher-0": 1, "resourcemanager-0": 2, "nodemanager-0": 3}, []

        def flush(_):
            alive.extend(name for name, one in session.states().items() if one["status"] is None)
            return True
        session.systems = [mock.Mock(spec=Buffer, flush=flush)]
        agent = threading.Thread(target=self.agent, args=(session.board, ranks), daemon=True)
        agent.start()
        self.wait_for("the daemons run", session.states)
        with mock.patch("batch.signals.ignore"):
            self.assertTrue(cli._saved_and_stopped(session))
        agent.join(LIMIT)
        self.assertEqual(sorted(alive), ["buffer-0", "flusher-0"])
        self.assertTrue(session.board.read("gone/0"))

    def test_an_excerpt_has_the_first_line_the_first_error_and_the_end(self):
        log = self.folder / "a.log"
        log.write_text("\nbegins\n" + "goes on\n" * 30 + "x FATAL the cause\n" + "\tat a.b.C\n" * 30 + "ERROR later\nends\n")
        lines = excerpt(str(log)).splitlines()
        self.assertEqual(lines[:5], [f"from {log}:", "    begins", "    ...", "    x FATAL the cause", "    ..."])
        self.assertEqual(lines[-2:], ["    ERROR later", "    ends"])
        self.assertEqual(len(lines), 5 + 12)
        log.write_text("one\ntwo\n")
        self.assertEqual(excerpt(str(log)), f"from {log}:\n    one\n    two")
        log.write_text("")
        self.assertEqual(excerpt(str(log)), f"{log} is empty")
        self.assertIn("its log cannot be read: ", excerpt(str(self.folder / "none")))
