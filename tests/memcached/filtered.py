#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: filtered.py NUMBER,NUMBER... PROGRAM [WORD...]. Runs a program that any other system call than these ends.
       filtered.py no:NUMBER,NUMBER... PROGRAM [WORD...]. Runs a program for which these fail with EPERM, as in containers."""
import ctypes
import errno
import os
import struct
import sys

PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, FILTER_MODE = 22, 38, 2
LOAD_NUMBER, IF_EQUAL, RETURN = 0x20, 0x15, 0x06 # of the machine of filters: load a word, compare, return
KILL_PROCESS, ALLOW, ERROR = 0x80000000, 0x7fff0000, 0x00050000


def instruction(code, value, if_true=0, if_false=0):
    return struct.pack("HBBI", code, if_true, if_false, value)


def install(numbers, these, others):
    code = instruction(LOAD_NUMBER, 0)
    for number in numbers:
        code += instruction(IF_EQUAL, number, 0, 1) + instruction(RETURN, these)
    code += instruction(RETURN, others)
    kept = ctypes.create_string_buffer(code, len(code))
    program = ctypes.create_string_buffer(struct.pack("H6xP", len(code) // 8, ctypes.addressof(kept)))
    libc = ctypes.CDLL(None, use_errno=True)
    for words in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (PR_SET_SECCOMP, FILTER_MODE, program, 0, 0)):
        if libc.prctl(*words) != 0:
            sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")


refused = sys.argv[1].startswith("no:")
install([int(number) for number in sys.argv[1].removeprefix("no:").split(",")],
        *((ERROR | errno.EPERM, ALLOW) if refused else (ALLOW, KILL_PROCESS)))
os.execv(sys.argv[2], sys.argv[2:])
