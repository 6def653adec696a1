# SPDX-License-Identifier: Apache-2.0
"""Frames between host and agent, against a scripted agent: what a damaged or dead guest does to commands that wait."""
import os
import pathlib
import socket
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from vm import Failed  # noqa: E402
from vm.channel import Channel  # noqa: E402


class FramesTest(unittest.TestCase):
    def setUp(self):
        ours, self.agent = socket.socketpair()
        self.channel = Channel(ours)
        self.addCleanup(ours.close)
        self.addCleanup(self.channel.join)
        self.addCleanup(self.agent.close)

    def test_a_command_is_sent_with_its_limit_and_its_length(self):
        self.channel.start("echo ä", 7)
        self.assertEqual(self.agent.recv(100), "R 1 7 7\necho ä".encode())

    def test_frames_that_come_in_pieces_are_put_together(self):
        job = self.channel.start("x", 5)
        for byte in b"O 1 0 3\nabcO 1 0 2\n\n9X 1 42 0\n":
            self.agent.send(bytes([byte]))
        self.assertEqual(job.wait(20), 42)
        self.assertEqual(job.output, "abc\n9")

    def test_output_goes_to_the_command_that_made_it(self):
        first, second = self.channel.start("x", 5), self.channel.start("y", 5)
        self.agent.send(b"O 2 0 1\nbO 1 0 1\naX 2 0 0\nX 1 1 0\n")
        self.assertEqual((first.wait(20), second.wait(20)), (1, 0))
        self.assertEqual((first.output, second.output), ("a", "b"))

    def test_the_guests_end_is_the_end_of_its_commands(self):
        job = self.channel.start("x", 5)
        self.agent.send(b"O 1 0 10\nhalf")
        self.agent.close()
        with self.assertRaisesRegex(Failed, "'x' did not end: the guest ended"):
            job.wait(20)

    def test_no_command_can_be_started_in_a_guest_that_has_ended(self):
        self.agent.close()
        self.channel.join()
        with self.assertRaisesRegex(Failed, "the guest has ended"):
            for _ in range(2):
                self.channel.start("x", 5)

    def test_the_agents_error_is_told(self):
        self.agent.send(b"E 0 0 9\nno module")
        with self.assertRaisesRegex(Failed, "booting failed: no module"):
            self.channel.expect("B", 20, "booting")

    def test_damaged_frames_end_the_waiting(self):
        for damage in (b"O 1 zero 3\nabc", b"x" * 300, b"O 1\n"):
            with self.subTest(damage):
                ours, agent = socket.socketpair()
                with ours, agent:
                    channel = Channel(ours)
                    job = channel.start("x", 5)
                    agent.send(damage)
                    with self.assertRaisesRegex(Failed, "'x' did not end"):
                        job.wait(20)
                    channel.join()

    def test_a_guest_that_does_not_answer_is_waited_for_no_longer_than_said(self):
        job = self.channel.start("x", 5)
        with self.assertRaisesRegex(Failed, "does not answer: 'x'"):
            job.wait(0.2)


if __name__ == "__main__":
    unittest.main()
