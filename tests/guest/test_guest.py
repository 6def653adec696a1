# SPDX-License-Identifier: Apache-2.0
"""Commands in one guest: status, output, limits, ends; what the guest sees of the host."""
import os
import secrets
import shlex
import signal
import tempfile
import time
import unittest

import shared
from shared import vm


LIMIT = 8  # seconds of a command that hangs, so that a guest on a loaded machine has begun it


class GuestTest(unittest.TestCase):
    def setUp(self):
        self.guest = shared.one()

    def test_the_status_of_a_command_is_passed_on(self):
        for status in (0, 1, 42, 255):
            self.assertEqual(self.guest.run(f"exit {status}").status, status)

    def test_a_command_killed_by_a_signal_gives_128_and_its_number(self):
        self.assertEqual(self.guest.run("kill -SEGV $$").status, 128 + signal.SIGSEGV)

    def test_output_and_errors_come_in_the_order_in_which_they_were_written(self):
        result = self.guest.run("for i in 1 2 3; do echo o$i; echo e$i >&2; done; printf end")
        self.assertEqual(result.output, "o1\ne1\no2\ne2\no3\ne3\nend")

    def test_output_comes_while_the_command_runs(self):
        job = self.guest.start("echo first; until [ -e /tmp/go ]; do sleep 0.05; done; echo second")
        job.wait_output("first")
        self.assertIsNone(job.status)
        self.assertEqual(self.guest.run("touch /tmp/go").status, 0)
        self.assertEqual(job.wait(), 0)
        self.assertEqual(job.output, "first\nsecond\n")

    def test_megabytes_of_output_come_whole(self):
        result = self.guest.run("seq 1 200000")
        self.assertEqual(result.output.split("\n"), [*map(str, range(1, 200001)), ""])

    def test_several_commands_run_at_once(self):
        made = " ".join(f"/tmp/fifo{i}" for i in range(5))
        self.guest.run(f"mkfifo {made}; true")
        jobs = [self.guest.start(f"read x < /tmp/fifo{i}; echo $x") for i in range(5)]
        for i in reversed(range(5)):
            self.assertEqual(self.guest.run(f"echo {i} > /tmp/fifo{i}").status, 0)
        for i, job in enumerate(jobs):
            self.assertEqual((job.wait(), job.output), (0, f"{i}\n"))

    def test_a_command_that_hangs_ends_at_its_limit_with_what_it_started(self):
        result = self.guest.run("sleep 1000 & echo on; trap '' TERM; while true; do sleep 1; done", limit=LIMIT)
        self.assertEqual((result.status, result.output), (124, "on\n"))
        self.assertEqual(self.guest.run("pgrep -x sleep").status, 1)

    def test_what_a_command_leaves_behind_is_killed_and_keeps_nobody_waiting(self):
        self.assertEqual(self.guest.run("sleep 999 & echo started").output, "started\n")
        self.assertEqual(self.guest.run("pgrep -f 'sleep 99[9]'").status, 1)

    def test_a_daemon_in_a_session_of_its_own_stays(self):
        self.guest.run("setsid sleep 888 > /dev/null 2>&1 & until pgrep -f '^sleep 88[8]'; do sleep 0.1; done")
        self.assertEqual(self.guest.run("pkill -f 'sleep 88[8]'").status, 0)

    def test_a_signal_reaches_the_command(self):
        job = self.guest.start("trap 'echo got; exit 9' USR1; echo ready; while true; do sleep 0.05; done")
        job.wait_output("ready")
        job.signal(signal.SIGUSR1)
        self.assertEqual(job.wait(), 9)
        self.assertIn("got\n", job.output)

    def test_standard_input_is_empty(self):
        self.assertEqual(self.guest.run("cat; echo $?").output, "0\n")

    def test_what_is_written_on_the_host_is_read_in_the_guest_and_cannot_be_changed_there(self):
        with tempfile.TemporaryDirectory(dir=shared.HERE, prefix=".test-") as folder:
            secret = secrets.token_hex(16)
            with open(os.path.join(folder, "file"), "w") as file:
                file.write(secret)
            path = shlex.quote(f"{folder}/file")
            result = self.guest.run(f"cat {path}; echo; touch {path}; touch /etc/x")
            self.assertEqual(result.output.splitlines()[0], secret)
            self.assertEqual(result.output.count("Read-only file system"), 2)

    def test_the_guest_has_the_time_of_the_host_and_a_soft_roce_device(self):
        result = self.guest.run("date +%s; ls /sys/class/infiniband; ibv_devinfo -d rxe0")
        seconds, device, text = result.output.split("\n", 2)
        self.assertLess(abs(int(seconds) - time.time()), 3600)
        self.assertEqual((result.status, device), (0, "rxe0"))
        self.assertIn("PORT_ACTIVE", text)

    def test_a_device_talks_to_itself(self):
        server = self.guest.start("ibv_rc_pingpong -g 1 -n 20")
        self.guest.wait_port(18515)
        self.assertEqual(self.guest.run("ibv_rc_pingpong -g 1 -n 20 guest-a").status, 0)
        self.assertEqual(server.wait(), 0)

    def test_the_end_of_qemu_is_a_clear_error_of_each_command_that_runs(self):
        jobs = [self.guest.start(f"sleep 10{i}") for i in range(2)]
        self.guest.machine.process.send_signal(signal.SIGTERM)
        for i, job in enumerate(jobs):
            with self.assertRaisesRegex(vm.Failed, f"'sleep 10{i}' did not end: the guest ended"):
                job.wait()
        self.guest.kill()

    def test_a_kernel_panic_ends_the_guest_and_the_console_tells_of_it(self):
        with self.assertRaisesRegex(vm.Failed, "(?s)did not end.*[Pp]anic"):
            self.guest.run("echo c > /proc/sysrq-trigger")
        self.assertFalse(self.guest.alive())


class HiddenFolderTest(unittest.TestCase):
    def test_a_working_folder_below_tmp_stays_visible_and_another_one_does_not(self):
        shared.need_packages()
        here = os.getcwd()
        with tempfile.TemporaryDirectory(dir="/tmp") as folder, tempfile.TemporaryDirectory(dir="/tmp") as other:
            for path in (folder, other):
                with open(os.path.join(path, "file"), "w") as file:
                    file.write("seen")
            try:
                os.chdir(folder)
                with vm.one() as guest:
                    self.assertEqual(guest.run(f"cat {folder}/file; test -e {other} || echo -n hidden").output, "seenhidden")
            finally:
                os.chdir(here)


if __name__ == "__main__":
    unittest.main()
