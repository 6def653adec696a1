#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command in a guest with a soft-RoCE device, or two commands in two guests that are joined by a network.

Output comes as it is made; the status is the command's (in a pair the first that is not 0), 124 at the limit, 125 when a
guest could not be started or died.
"""
import argparse
import os
import pathlib
import shlex
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "ohb")]

import vm  # noqa: E402  (needs the path above)
from driver import procs  # noqa: E402
from vm import errors  # noqa: E402

LISTENS = "for i in $(seq 60); do grep -qs ' 0A ' /proc/net/tcp /proc/net/tcp6 && break; sleep 0.05; done"


def parse(words):
    parser = argparse.ArgumentParser(
        prog="./verbena guest", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="%(prog)s [options] -- COMMAND...\n       %(prog)s --pair [options] -- COMMAND_A... ::: COMMAND_B...")
    parser.add_argument("--pair", action="store_true",
                        help="two guests, guest-a (10.0.0.1) and guest-b (10.0.0.2); B starts when A listens, or after 3 s")
    parser.add_argument("--limit", type=int, default=300, metavar="S", help="seconds for a command (300)")
    parser.add_argument("--memory", type=int, default=1024, metavar="MIB", help="of each guest (1024)")
    parser.add_argument("--cpus", type=int, default=1, help="of each guest (1)")
    parser.add_argument("--rails", type=int, default=1, choices=(1, 2), help="networks: rxe0, or rxe0 and rxe1 (10.0.1.x)")
    parser.add_argument("--netem", metavar="FAULTS", help='for what both send: "loss 1%%", "delay 20ms reorder 25%%", ...')
    parser.add_argument("--path", metavar="DIR", help="looked into first for programs")
    parser.add_argument("--check", action="store_true", help="only says which packages are missing; status 1 if any")
    parser.add_argument("command", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    if options.command[:1] == ["--"]:
        del options.command[0]
    if not options.command and not options.check:
        parser.error("no command; --help shows the use")
    if options.pair != (":::" in options.command) and not options.check:
        parser.error("--pair takes two commands with ::: between them; without --pair there is one")
    return options


def line(words, options):
    """The line of bash for these words, which runs in the folder that we were called in."""
    start = f"cd -- {shlex.quote(os.getcwd())} || exit 125\n"
    if options.path:
        start += f"PATH={shlex.quote(os.path.abspath(options.path))}:$PATH\n"
    return start + (words[0] if len(words) == 1 else shlex.join(words))


def write(data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def prefixed(name):
    """A sink that writes whole lines with a name in front; calling it with None writes what is left."""
    rest = bytearray()

    def sink(data):
        rest.extend(b"\n" if data is None and rest else data or b"")
        *lines, tail = rest.split(b"\n")
        write(b"".join(b"%s: %s\n" % (name, text) for text in lines))
        rest[:] = tail
    return sink


def run_one(options):
    with vm.one(options.memory, options.cpus, options.limit + 120, options.rails) as guest:
        guest.netem(options.netem)
        return guest.run(line(options.command, options), options.limit, write).status


def run_pair(options):
    middle = options.command.index(":::")
    sinks = prefixed(b"a"), prefixed(b"b")
    with vm.pair(options.memory, options.cpus, options.limit + 120, options.rails) as (a, b):
        for guest in (a, b):
            guest.netem(options.netem)
        job = a.start(line(options.command[:middle], options), options.limit, sinks[0])
        a.run(LISTENS, 30)
        second = b.run(line(options.command[middle + 1:], options), options.limit, sinks[1]).status
        if second != 0:
            job.signal(15)  # it would wait for a partner who is gone
        first = job.wait()
    for sink in sinks:
        sink(None)
    return second if second != 0 else first


def main(words):
    options = parse(words)
    if options.check:
        print(" ".join(errors.missing()))
        return 1 if errors.missing() else 0
    procs.install_signals()
    try:
        return run_pair(options) if options.pair else run_one(options)
    except procs.Killed as signal:
        print(f"guest: ended by {signal}", file=sys.stderr)
        return 130
    except vm.Failed as failure:
        print(f"guest: {failure}", file=sys.stderr)
        return 125


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
