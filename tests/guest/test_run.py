# SPDX-License-Identifier: Apache-2.0
"""The command line: status, output, wrong use; nothing stays behind however it ends. The cache: made once, renewed."""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
import unittest.mock

import shared
from vm import cache, folder, kernel, snapshot

RUN = str(shared.HERE / "run.py")
SECONDS = 300


def run(*words, **more):
    return subprocess.run([RUN, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, **more)


def children(marker):
    """Processes whose environment holds the marker."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if marker.encode() in path.read_bytes():
                found.append(int(path.parent.name))
    return found


class FolderTest(unittest.TestCase):
    def test_folders_of_killed_runs_are_swept_those_of_living_ones_and_new_ones_stay(self):
        with tempfile.TemporaryDirectory() as base, unittest.mock.patch.object(tempfile, "tempdir", base):
            old = time.time() - 2 * folder.NEW_SECONDS
            left, new = (pathlib.Path(base) / (folder.PREFIX + name) for name in ("left", "new"))
            for path in (left, new):
                path.mkdir()
                (path / "A.console").write_text("boot")
            os.utime(left, (old, old))
            with folder.own() as living:
                self.assertFalse(left.exists())
                self.assertTrue(new.exists())
                os.utime(living, (old, old))
                with folder.own():
                    self.assertTrue(os.path.isdir(living))
            self.assertFalse(os.path.exists(living))


class WrongUseTest(unittest.TestCase):
    def test_help_shows_both_forms(self):
        result = run("--help")
        self.assertEqual(result.returncode, 0)
        self.assertIn("--pair", result.stdout)
        self.assertIn(":::", result.stdout)

    def test_wrong_use_is_told_before_a_guest_starts(self):
        for words, text in ((["--"], "no command"), (["--pair", "--", "true"], "two commands"),
                            (["--", "true", ":::", "true"], "two commands"), (["--rails", "3", "--", "true"], "rails")):
            with self.subTest(words):
                result = run(*words)
                self.assertEqual(result.returncode, 2)
                self.assertIn(text, result.stderr)

    def test_missing_packages_are_named(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("env", "python3"):
                os.symlink(shutil.which(name), os.path.join(folder, name))
            script = f"import sys; sys.path.insert(0, '{shared.HERE}'); from vm import errors; " \
                     f"errors.PATH = '{folder}'; print(errors.missing())"
            result = subprocess.run(["/usr/bin/python3", "-c", script], capture_output=True, text=True, timeout=60)
        self.assertIn("'qemu-system-x86'", result.stdout)
        self.assertIn("'ibverbs-utils'", result.stdout)


class RunTest(unittest.TestCase):
    def setUp(self):
        shared.need_packages()

    def test_status_and_output_of_the_command(self):
        result = run("--", "pwd; exit 7", cwd=shared.HERE)
        self.assertEqual((result.returncode, result.stdout), (7, f"{shared.HERE}\n"), result.stderr)

    def test_words_keep_their_spaces(self):
        self.assertEqual(run("--", "printf", "%s|", "a b", "$HOME").stdout, "a b|$HOME|")

    def test_the_limit_ends_a_command_that_hangs(self):
        self.assertEqual(run("--limit", "1", "--", "sleep 1000").returncode, 124)

    def test_a_pair_gives_the_output_of_both_with_names(self):
        result = run("--pair", "--netem", "delay 2ms", "--", "ibv_rc_pingpong", "-g", "1", "-n", "10", ":::",
                     "ibv_rc_pingpong", "-g", "1", "-n", "10", "guest-a")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertRegex(result.stdout, "(?m)^a: 10 iters")
        self.assertRegex(result.stdout, "(?m)^b: 10 iters")

    def test_a_pair_whose_client_fails_does_not_wait_for_the_server(self):
        self.assertEqual(run("--pair", "--", "sleep 1000", ":::", "exit 3").returncode, 3)

    def test_it_works_without_standard_input(self):
        script = f"exec <&-; exec {RUN} -- 'echo fine'"
        result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=SECONDS)
        self.assertEqual((result.returncode, result.stdout), (0, "fine\n"), result.stderr)

    def end_by(self, number):
        """Status of a run that got that signal; no QEMU may stay."""
        marker = f"VERBENA_TEST_MARKER={os.getpid()}-{number}"
        process = subprocess.Popen([RUN, "--", "echo up; sleep 1000"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, env={**os.environ, **dict([marker.split("=")])})
        with process:
            self.assertEqual(process.stdout.readline(), b"up\n")
            self.assertGreater(len(children(marker)), 1)
            process.send_signal(number)
            status = process.wait(60)
        deadline = time.monotonic() + 30
        while children(marker) and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertEqual(children(marker), [])
        return status

    def test_ended_by_a_signal_it_leaves_no_process_behind(self):
        self.assertEqual(self.end_by(signal.SIGTERM), 130)

    def test_killed_it_leaves_no_process_behind(self):
        self.assertEqual(self.end_by(signal.SIGKILL), -signal.SIGKILL)


class CacheTest(unittest.TestCase):
    """With a cache of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="verbena-cache-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name) / "guest"
        self.cache_before = os.environ.get("VERBENA_CACHE", "")
        changed = unittest.mock.patch.dict(os.environ, VERBENA_CACHE=folder.name)
        changed.start()
        self.addCleanup(changed.stop)

    def entries(self, prefix):
        return sorted(path.name for path in self.folder.glob(prefix + "-*"))

    def test_an_entry_is_made_once_and_a_half_made_one_is_not_seen(self):
        def fail(folder):
            (folder / "half").touch()
            raise ValueError("died")

        with self.assertRaises(ValueError):
            cache.entry("thing", "1", fail)
        self.assertEqual(self.entries("thing"), [])
        made = cache.entry("thing", "1", lambda folder: (folder / "whole").touch())
        self.assertEqual([path.name for path in made.iterdir()], ["whole"])
        self.assertEqual(cache.entry("thing", "1", fail), made)

    def test_what_a_killed_maker_left_is_swept_away(self):
        half = self.folder / ".thing-1.half"
        half.mkdir(parents=True)
        (half / "old").touch()
        made = cache.entry("thing", "1", lambda folder: (folder / "new").touch())
        self.assertEqual([path.name for path in made.iterdir()], ["new"])

    def test_entries_that_were_not_used_for_long_go_when_a_new_one_comes(self):
        old = cache.entry("thing", "old", lambda folder: None)
        young = cache.entry("thing", "young", lambda folder: None)
        os.utime(old, (0, 0))
        new = cache.entry("thing", "new", lambda folder: None)
        self.assertEqual(self.entries("thing"), sorted([young.name, new.name]))

    def test_a_snapshot_is_for_one_kernel_one_size_of_guest_and_one_agent(self):
        shared.need_packages()
        folder = self.folder / "kernel"
        folder.mkdir(parents=True)
        (folder / "made").touch()
        options = [snapshot.Options(), snapshot.Options(memory=2048), snapshot.Options(cpus=2), snapshot.Options(accel="kvm")]
        keys = [snapshot.key(choice, folder) for choice in options]
        self.assertEqual(keys[0], snapshot.key(options[0], folder))
        os.utime(folder / "made", (1, 1))
        keys.append(snapshot.key(options[0], folder))
        with unittest.mock.patch("vm.initramfs.digest", return_value="another agent"):
            keys.append(snapshot.key(options[0], folder))
        self.assertEqual(len(set(keys)), len(keys))

    def test_two_runs_at_once_share_a_new_snapshot_and_a_damaged_one_is_renewed(self):
        shared.need_packages()
        with unittest.mock.patch.dict(os.environ, VERBENA_CACHE=self.cache_before):
            source = kernel.get()
        shutil.copytree(source, cache.root() / source.name)
        runs = [subprocess.Popen([RUN, "--", "echo up"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
                for _ in range(2)]
        outputs = [process.communicate(timeout=SECONDS)[0] for process in runs]
        self.assertEqual([process.returncode for process in runs], [0, 0])
        self.assertEqual(sum("booting it for a snapshot" in output for output in outputs), 1)
        [name] = self.entries("snapshot")
        with open(self.folder / name / "state", "r+b") as state:
            state.truncate(1 << 20)
        result = run("--", "echo up")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("trying again with a new snapshot", result.stdout)
        self.assertEqual(self.entries("snapshot"), [name])


if __name__ == "__main__":
    unittest.main()
