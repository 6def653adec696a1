# SPDX-License-Identifier: Apache-2.0
"""Sessions of memcached servers, which start in no time: starts, ends and faults. The nodes are on this host."""
import contextlib
import json
import os
import signal
import socket
import unittest

from case import LIMIT, ROOT, Case, processes

SERVER = ROOT / ".verbena/build/memcached-release/verbena-memcached"
PBSDSH = """#!/bin/sh
# A stand-in: OpenPBS is no package of Debian. pbsdsh -n LINE -- COMMAND gives a command the environment of the node's login.
[ "$1" = -n ] && [ "$3" = -- ] || exit 2
echo "$2" >>'{folder}/lines'
shift 3
exec env -i HOME="$HOME" PATH=/usr/bin:/bin "$@"
"""
ASK = """import os, socket
for one in os.environ["MEMCACHED_SERVERS"].split(","):
    host, port = one.split(":")
    with socket.create_connection((host, int(port))) as server:
        server.sendall(b"version\\r\\n")
        print("has", server.recv(99).decode().split()[0])
"""


@unittest.skipUnless(SERVER.exists(), f"needs {SERVER}")
class SessionTest(Case):
    def words(self, command, *more, nodes=2):
        return super().words(command, "--local-nodes", str(nodes), "--memcached", "64", "--memcached-program", str(SERVER), *more)

    def log(self, name):
        return (self.work / "log" / name).read_text(errors="replace")

    def state(self, node):
        path = self.work / "state" / str(node)
        return json.loads(path.read_text()) if path.exists() else {}

    def until_running(self, child, mark):
        """Waits until the user's command runs, which makes the file mark."""
        self.wait_for("the command runs", lambda: mark.exists() or self.assertIsNone(child.poll()))

    def test_a_command_has_its_servers_and_its_status_is_the_sessions(self):
        status, output = self.run_all(*self.words("run", "--time-limit", "900", "--", "python3", "-c", ASK + "raise SystemExit(7)"))
        self.assertEqual(status, 7, output)
        self.assertEqual(output.count("has VERSION"), 2, output)
        self.assertIn("2 memcached servers of 64 MiB", output)
        self.assert_nothing_left()

    def test_a_pbs_job_has_an_agent_on_each_node_of_its_file(self):
        (self.folder / "pbsdsh").write_text(PBSDSH.format(folder=self.folder))
        (self.folder / "pbsdsh").chmod(0o755)
        (self.folder / "nodes").write_text("localhost\nlocalhost\nip6-localhost\n")
        self.environment.update(PBS_NODEFILE=str(self.folder / "nodes"), PBS_JOBID="12.here", PBS_WALLTIME="900",
                                PATH=f"{self.folder}:{os.environ['PATH']}")
        status, output = self.run_all(*self.words("run", "--", "python3", "-c", ASK))
        self.assertEqual(status, 0, output)
        self.assertEqual(output.count("has VERSION"), 2, output)
        self.assertEqual(sorted((self.folder / "lines").read_text().split()), ["0", "2"])
        self.assertIn("2 nodes by pbsdsh", output)
        self.assert_nothing_left()

    def test_a_daemon_that_ends_ends_the_command_with_the_end_of_its_log(self):
        mark = self.folder / "mark"
        child = self.begin(*self.words("run", "--time-limit", "900", "--", "sh", "-c", f"touch '{mark}'; exec sleep 1000"))
        self.until_running(child, mark)
        os.kill(self.state(1)["memcached-1"]["pid"], signal.SIGKILL)
        output, _ = child.communicate(timeout=LIMIT)
        self.assertEqual(child.returncode, 1, output)
        self.assertIn("the command is ended: memcached-1 has ended with status -9; ", output)
        self.assert_nothing_left()

    def test_a_start_that_fails_takes_down_what_has_come_up(self):
        broken = self.folder / "broken"
        broken.write_text(f"#!/bin/sh\nmkdir '{self.folder}/one' 2>/dev/null || "
                          "{ echo no memory for the second >&2; seq -f 'at line %g' 60 >&2; exit 3; }\n"
                          f"exec '{SERVER}' \"$@\"\n")
        broken.chmod(0o755)
        status, output = self.run_all(*self.words("run", "--memcached-program", str(broken), "--time-limit", "900", "--", "true"))
        self.assertEqual(status, 1)
        self.assertRegex(output, r"memcached-[01] has ended with status 3; from \S+/log/memcached-[01].log:\n"
                         r"    no memory for the second\n    \.\.\.\n    at line 49\n(.*\n)*    at line 60\n")
        self.assert_nothing_left()

    def test_a_launcher_that_ends_is_said(self):
        mark = self.folder / "mark"
        child = self.begin(*self.words("run", "--time-limit", "900", "--", "sh", "-c", f"touch '{mark}'; exec sleep 1000"))
        self.until_running(child, mark)
        agents = processes(f"{self.work}\0" + "1")
        self.assertEqual(len(agents), 1)
        os.kill(agents[0], signal.SIGKILL)
        output, _ = child.communicate(timeout=LIMIT)
        self.assertEqual(child.returncode, 1, output)
        self.assertIn("has ended with status -9, and the daemons that it had started with it", output)
        self.wait_for("its daemon has ended with it", lambda: not self.left())

    def test_signals_end_the_command_then_the_servers(self):
        for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT):
            with self.subTest(signal=number):
                mark = self.folder / f"mark{number}"
                self.work = self.folder / f"work{number}"
                child = self.begin(*self.words("run", "--time-limit", "900", "--", "sh", "-c", f"touch '{mark}'; exec sleep 1000"))
                self.until_running(child, mark)
                child.send_signal(number)
                child.send_signal(number)
                output, _ = child.communicate(timeout=LIMIT)
                self.assertEqual(child.returncode, 1, output)
                self.assertIn(f"the command is ended: signal {number.name}", output)
                self.assert_nothing_left()

    def test_a_signal_while_the_session_stops_stops_nothing_less(self):
        mark = self.folder / "mark"
        slow = self.folder / "slow"  # a server that takes its time to end
        slow.write_text(f"#!/bin/sh\ntrap 'touch {mark}; sleep 3; kill $!; exit 0' TERM\n'{SERVER}' \"$@\" &\nwait\nwait\n")
        slow.chmod(0o755)
        child = self.begin(*self.words("run", "--memcached-program", str(slow), "--time-limit", "900", "--", "true"))
        self.wait_for("a server is being ended", mark.exists)
        child.send_signal(signal.SIGTERM)
        output, _ = child.communicate(timeout=LIMIT)
        self.assertEqual(child.returncode, 0, output)
        self.assert_nothing_left()

    def test_the_end_of_the_job_leaves_time_to_save(self):
        for limit in (44, 104, 464):  # on a loaded machine the start takes longer than what is not reserved
            self.work = self.folder / f"work{limit}"
            status, output = self.run_all(*self.words("run", "--time-limit", str(limit), "--reserve", "14", "--least", "0", "--",
                                                      "sleep", "1000"))
            if status == 124:
                break
            self.assertRegex(output, "the job ends in 14 s: .*(did not start|does not answer|nothing was run)")
        self.assertEqual(status, 124, output)
        self.assertIn("the job ends in 14 s: the command is ended, so that there is time to save", output)
        self.assert_nothing_left()

    def test_a_job_that_is_too_short_is_refused_before_anything_starts(self):
        status, output = self.run_all(*self.words("run", "--time-limit", "100", "--", "true"))
        self.assertEqual(status, 1)
        self.assertRegex(output, "ends in [0-9]+ s, of which saving and stopping get 120: ask the batch system for more time")
        self.assertFalse(self.work.exists())

    def test_agents_whose_leader_is_killed_end_by_themselves(self):
        mark = self.folder / "mark"
        child = self.begin(*self.words("run", "--orphan", "30", "--time-limit", "900", "--", "sh", "-c",
                                       f"touch '{mark}'; exec sleep 1000"))
        self.until_running(child, mark)
        child.kill()
        child.wait()
        for pid in set(processes(f"VERBENA_BATCH={self.work}", "environ")) & set(processes("sleep")):
            with contextlib.suppress(ProcessLookupError):  # of the command, which was the leader's child and is nobody's now
                os.kill(pid, signal.SIGKILL)
        self.wait_for("the agents have ended", lambda: not self.left())
        self.assertEqual(list(self.local.glob("*")), [])

    def test_a_session_is_started_looked_at_and_stopped_by_commands_of_their_own(self):
        status, output = self.run_all(*self.words("start", "--time-limit", "900"))
        self.assertEqual(status, 0, output)
        self.assertRegex(output, "export MEMCACHED_SERVERS=127.0.0.1:[0-9]+,127.0.0.1:[0-9]+\n")
        base = self.words("start")[:3]
        status, output = self.run_all(*base, "status", str(self.work))
        self.assertEqual((status, output.count("process ")), (0, 2), output)
        os.kill(self.state(0)["memcached-0"]["pid"], signal.SIGKILL)
        self.wait_for("it is seen", lambda: self.state(0)["memcached-0"]["status"] is not None)
        status, output = self.run_all(*base, "status", str(self.work))
        self.assertEqual(status, 1)
        self.assertIn("ENDED with status -9", output)
        status, output = self.run_all(*base, "stop", str(self.work))
        self.assertEqual(status, 0, output)
        self.assert_nothing_left()

    def test_wrong_words_are_refused_with_their_cure(self):
        plain = [*self.words("run")[:3], "run"]
        for words, text in ((["--", "true"], "nothing to start: give --hadoop, --spark or --memcached"),
                            (["--memcached", "64"], "run: give a command behind --"),
                            (["--memcached", "64", "--buffer", "64", "--", "true"], "--buffer stands before the shared folder"),
                            (["--memcached", "64", "--out", "/a", "--hadoop", "/x", "--", "true"], "--out /a: write FROM=TO"),
                            (["--memcached", "64", "--in", "a=b", "--", "true"], "copy to and from the file system of --hadoop")):
            with self.subTest(words=words):
                status, output = self.run_all(*plain, "--time-limit", "900", *words)
                self.assertEqual(status, 1, output)
                self.assertIn(text, output)

    def test_nodes_with_one_address_are_refused(self):
        words = [word for word in self.words("run", "--time-limit", "900", "--", "true") if word != "--one-host"]
        status, output = self.run_all(*words)
        self.assertEqual(status, 1)
        self.assertIn("2 nodes have the address 127.0.0.1: --interface names the network that tells them apart", output)
        self.assert_nothing_left()

    def test_an_interface_without_an_address_is_named_with_its_host(self):
        words = self.words("run", "--time-limit", "900", "--interface", "nosuch0", "--", "true")
        status, output = self.run_all(*words)
        self.assertEqual(status, 1)
        self.assertIn(f"{socket.gethostname()} has no address of the interface nosuch0", output)
        self.assert_nothing_left()


