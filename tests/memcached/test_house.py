# SPDX-License-Identifier: Apache-2.0
"""Items that expire or are flushed together: no thread but the housekeeper removes them, and no client waits for it."""
import contextlib
import ctypes
import os
import pathlib
import unittest

import shared

ITEMS = 60000
CONNECTIONS = 50
PTRACE_DETACH, PTRACE_CONT, PTRACE_SEIZE, PTRACE_INTERRUPT = 17, 7, 0x4206, 0x4207
WAIT_FOR_THREADS = 0x40000000 # __WALL


def ptrace(request, thread):
    call = ctypes.CDLL(None, use_errno=True).ptrace
    call.restype, call.argtypes = ctypes.c_long, [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    if call(request, thread, None, None) != 0:
        raise OSError(ctypes.get_errno(), f"ptrace {request:#x} of thread {thread}")


def thread_named(process, name):
    for task in pathlib.Path(f"/proc/{process}/task").iterdir():
        if (task / "comm").read_text(encoding="ascii").strip() == name:
            return int(task.name)
    raise AssertionError(f"process {process} has no thread {name}")


def is_in_a_system_call(process, thread):
    return pathlib.Path(f"/proc/{process}/task/{thread}/syscall").read_text(encoding="ascii").split()[0] not in ("-1", "running")


@contextlib.contextmanager
def frozen(process, name):
    """Stops one thread while it is in a system call, where it holds no lock."""
    thread = thread_named(process, name)
    try:
        ptrace(PTRACE_SEIZE, thread)
    except OSError as why:
        raise unittest.SkipTest(f"threads cannot be stopped here: {why}") from None
    try:
        while True:
            ptrace(PTRACE_INTERRUPT, thread)
            os.waitpid(thread, WAIT_FOR_THREADS)
            if is_in_a_system_call(process, thread):
                break
            ptrace(PTRACE_CONT, thread)
        yield
    finally:
        ptrace(PTRACE_DETACH, thread)


class HouseTest(unittest.TestCase):
    def items(self, server):
        return int(server.stats()["curr_items"])

    def serve_connections(self, server, name):
        for i in range(CONNECTIONS):
            key = b"%s%d" % (name, i)
            self.assertEqual(server.ask(b"get key%d\r\nset %s 0 0 1\r\nx\r\nget %s\r\n" % (i, key, key)),
                             b"END\r\nSTORED\r\nVALUE %s 0 1\r\nx\r\nEND\r\n" % key)

    def go_together(self, exptime, begin):
        """The items go while the housekeeper stands still, and then while it works."""
        server = shared.Server("-m", "64", "-t", "2")
        self.addCleanup(server.stop)
        server.stats() # it has all of its threads when it answers
        fill = b"".join(b"set key%d 0 %d 1 noreply\r\nx\r\n" % (i, exptime) for i in range(ITEMS))
        with frozen(server.process.pid, "mc-house"):
            server.ask(fill)
            begin(server)
            self.serve_connections(server, b"before")
            self.assertGreaterEqual(self.items(server), ITEMS - 2 * CONNECTIONS) # gets remove what they find
        self.serve_connections(server, b"after")
        shared.wait_for(lambda: self.items(server) < ITEMS / 2, "the housekeeper's work")

    def test_a_flush_holds_up_no_client_and_only_the_housekeeper_removes_items(self):
        self.go_together(0, lambda server: self.assertEqual(server.ask(b"flush_all\r\n"), b"OK\r\n"))

    def test_items_that_expire_together_hold_up_no_client_and_only_the_housekeeper_removes_them(self):
        self.go_together(2, lambda server: shared.wait_for(lambda: server.ask(b"get key%d\r\n" % (ITEMS - 1)) == b"END\r\n",
                                                           "the end of all items"))


if __name__ == "__main__":
    unittest.main()
