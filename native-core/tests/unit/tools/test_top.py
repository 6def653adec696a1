# SPDX-License-Identifier: Apache-2.0
"""vbn-top sees running processes of the core, and only those. TOOLS: folder of the tools."""
import fcntl
import json
import os
import subprocess
import sys
import time
import unittest

BIN = os.environ["TOOLS"]
LIMIT = 60  # seconds for anything here


def top(*options):
    done = subprocess.run([os.path.join(BIN, "vbn-top"), "--count", "1", *options], capture_output=True, text=True,
                          timeout=LIMIT, check=True)
    return done.stdout


class Top(unittest.TestCase):
    def setUp(self):
        self.busy = subprocess.Popen([os.path.join(BIN, "vbn-perf"), "--transport", "shm", "--row", "core.am.rate",
                                      "--size", "8", "--blocks", "101", "--scale", "100"], stdout=subprocess.DEVNULL)

    def tearDown(self):
        self.busy.kill()
        self.busy.wait(LIMIT)

    def _seen(self):
        """The entry of the busy process, once it has a peer and has sent it something."""
        deadline = time.monotonic() + LIMIT
        while time.monotonic() < deadline:
            for process in json.loads(top("--json"))["processes"]:
                counters = process["counters"]
                if process["pid"] == self.busy.pid and process["traffic"] and counters["peers.connected"][0]:
                    return process
            self.assertIsNone(self.busy.poll(), "vbn-perf ended")
            time.sleep(0.1)
        self.fail("vbn-top does not show a process that uses the core")

    def test_a_busy_process_is_shown_with_its_counters_until_it_is_killed(self):
        process = self._seen()
        self.assertEqual(process["command"], "vbn-perf")
        self.assertEqual(process["counters"]["peers.connected"][0], 1)
        messages = next(row for row in process["traffic"] if row["class"] == "am" and row["up_to"] == 64)
        self.assertEqual(messages["way"], "shm")
        self.assertGreaterEqual(messages["bytes"][0], messages["operations"][0])
        self.assertIn(str(self.busy.pid), top("--pid", str(self.busy.pid)))
        self.assertRegex(top("--pid", str(self.busy.pid), "--traffic"), r"shm +am +<=64B")
        self.busy.kill()
        self.busy.wait(LIMIT)
        left = [process["pid"] for process in json.loads(top("--json"))["processes"]]
        self.assertNotIn(self.busy.pid, left)

    def test_a_page_that_can_be_shortened_is_left_out_and_its_process_named(self):
        self._seen()
        folder = f"/proc/{self.busy.pid}/fd"
        page = next(os.path.join(folder, name) for name in os.listdir(folder)
                    if os.readlink(os.path.join(folder, name)).startswith("/memfd:vbn-stats"))
        with open(page, "rb") as file:
            content = file.read()
        fd = os.memfd_create("vbn-stats", os.MFD_ALLOW_SEALING)
        try:
            os.write(fd, content)
            seen = json.loads(top("--json", "--pid", str(os.getpid())))
            self.assertEqual((seen["processes"], seen["left_out"]), ([], [os.getpid()]))
            self.assertRegex(top("--pid", str(os.getpid())), f"(?m)^ *{os.getpid()} .* left out: .* not sealed")
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
            seen = json.loads(top("--json", "--pid", str(os.getpid())))
            self.assertEqual((len(seen["processes"]), seen["left_out"]), (1, []))
        finally:
            os.close(fd)

    def test_a_process_without_the_core_is_not_shown(self):
        self.assertEqual(json.loads(top("--json", "--pid", str(os.getpid())))["processes"], [])

    def test_wrong_options_name_the_right_ones(self):
        for words in (["--interval", "never"], ["--count", "0"], ["--colour"], ["--pid"], ["more"]):
            done = subprocess.run([os.path.join(BIN, "vbn-top"), *words], capture_output=True, text=True, timeout=LIMIT)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertRegex(done.stderr, r"\Avbn-top: [^\n]+\n\Z")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
