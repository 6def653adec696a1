# SPDX-License-Identifier: Apache-2.0
"""Writers whose moments a test chooses (java/Writer.java)."""
import contextlib
import pathlib
import subprocess

from case import NO_OTHERS, WITH_PLUGIN, HdfsCase
from cluster import java

PROGRAM = pathlib.Path(__file__).resolve().parent / "java" / "Writer.java"
FILES = 12  # all of them of the DataNode without the plugin: one in 3 ** 12 times


class WritingCase(HdfsCase):
    @contextlib.contextmanager
    def writer(self, path, *settings):
        """A program that writes what it is asked to."""
        argv = java.argv(str(PROGRAM), [path, NO_OTHERS, *settings], self.cluster.client_conf(), self.cluster.plugin,
                         options=java.QUICK)
        with self.process(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as program:
            yield program

    def ask(self, program, command):
        answer = self.answer(program, command)
        self.assertRegex(answer, r"^done \d+$")
        return int(answer.split()[1])

    @staticmethod
    def answer(program, command):
        """What the program says when it has done that; empty when it has ended."""
        program.stdin.write(command + "\n")
        program.stdin.flush()
        return program.stdout.readline()

    def assert_content(self, path, least):
        """At least so many bytes are readable, all as they were written."""
        copy = self.folder / "pattern"
        copy.unlink(missing_ok=True)
        self.dfs("-get", path, str(copy))
        content = copy.read_bytes()
        self.assertGreaterEqual(len(content), least)
        whole = bytes(range(251)) * (len(content) // 251 + 1)
        self.assertTrue(content == whole[:len(content)], "what was read differs")

    @contextlib.contextmanager
    def writer_by_core(self, path, *settings):
        """(program, DataNode): it writes a file of one replica to a DataNode with the plugin, and has flushed 100,000 bytes."""
        for number in range(FILES):  # the NameNode chooses the DataNode
            with self.writer(f"{path}{number}", "dfs.replication=1", *settings) as program:
                self.ask(program, "flush 100000")
                name, = self.pipeline(f"{path}{number}", 1)
                if name in WITH_PLUGIN:
                    yield program, name
                    program.kill()
                    return
                self.ask(program, "close")
        self.fail("no file went to a DataNode with the plugin")
