# SPDX-License-Identifier: Apache-2.0
"""The command verbena-batch: run, or start, status, save and stop."""
import argparse
import os
import secrets
import shutil
import subprocess
import sys
import time

from . import agent, jobs, signals, sites
from .errors import Failed, say
from .hadoop import BUFFERED, MODES, SHARED
from .places import FILES, Places
from .session import Session, check
from .signals import Interrupted

EXAMPLE = """in a batch script:
  verbena-batch run --hadoop $HADOOP_HOME --mode hhh --in data=/in --out /out=result -- \\
      yarn jar $HADOOP_HOME/share/hadoop/mapreduce/hadoop-mapreduce-examples-3.5.0.jar wordcount /in /out
"""
TIMED_OUT = 124  # exit status, as that of timeout(1)


def _nodes(parser):
    parser.add_argument("--launcher", choices=jobs.LAUNCHERS,
                        help="the program that starts processes on nodes; default: that of the batch system")
    parser.add_argument("--hosts", help="names of nodes, in place of those of the batch system")
    parser.add_argument("--hostfile", help="a file with a name in each line")
    parser.add_argument("--local-nodes", type=int, default=1, help="outside of a batch system: so many nodes on this host")
    parser.add_argument("--one-host", action="store_true", help="nodes may share an address, for tests on one host")
    parser.add_argument("--interface", help="whose address daemons listen on, such as ib0; default: that of the node's name")
    parser.add_argument("--work", help="a new folder for settings and logs that all nodes see; default: ./verbena-JOB")
    parser.add_argument("--time-limit", type=int, help="seconds until the job ends, where the batch system does not say it")
    parser.add_argument("--reserve", type=int, default=120, help="seconds of the job that saving and stopping get; default 120")
    parser.add_argument("--ready", type=int, default=600, help="seconds until all daemons serve at the latest; default 600")
    parser.add_argument("--orphan", type=float, default=120, help=argparse.SUPPRESS)  # seconds after the leader's last sign of life
    parser.add_argument("--least", type=float, default=60, help=argparse.SUPPRESS)  # seconds that a command should have


def _systems(parser):
    parser.add_argument("--hadoop", help="folder of an unpacked release of Hadoop: starts HDFS")
    parser.add_argument("--mode", choices=(*MODES, BUFFERED), default="hhh",
                        help="of HDFS; lustre: no HDFS; hhh-l-bb: lustre with --buffer; stock: without Verbena; default hhh")
    parser.add_argument("--yarn", action="store_true", help="starts YARN, too")
    parser.add_argument("--rpc", action="store_true", help="calls to NameNode, DataNodes and YARN go by the core, too")
    parser.add_argument("--spark", help="folder of an unpacked release of Spark: starts its master and workers")
    parser.add_argument("--hbase", help="folder of an unpacked release of HBase: starts it over HDFS")
    parser.add_argument("--memcached", type=int, metavar="MIB", help="starts a memcached server of so many MiB on each node")
    parser.add_argument("--local", default=os.environ.get("TMPDIR", "/tmp"),
                        help="a folder on each node's own disk; default: TMPDIR")
    parser.add_argument("--ssd", help="a folder on each node's SSD")
    parser.add_argument("--memory", help="bytes of each node's tier of memory; default: derived")
    parser.add_argument("--shared", help="a folder on the parallel file system, for the modes hhh-l and lustre")
    parser.add_argument("--buffer", type=int, metavar="MIB",
                        help="of --mode lustre: a burst buffer with a server of so many MiB on each node")
    parser.add_argument("--buffer-fault", choices=("async", "async-local", "sync"),
                        help="the losses that acknowledged bytes survive")
    parser.add_argument("--conf", help="a folder of your own site files, whose properties are taken over")
    parser.add_argument("--set", action="append", default=[], metavar="SITE:NAME=VALUE",
                        help="a property of a site file; repeatable")
    parser.add_argument("--spark-conf", action="append", default=[], metavar="NAME=VALUE", help="a property of Spark; repeatable")
    parser.add_argument("--heap", type=int, default=1024, help="MiB of each daemon's heap; default 1024")
    parser.add_argument("--containers", type=int, help="MiB of a node for containers or Spark's executors; default: all but 4 GiB")
    for name, what in (("jar", "hadoop-rdma"), ("spark-jar", "spark-rdma-shuffle"), ("hbase-jar", "hbase-rdma")):
        parser.add_argument("--" + name, help=f"the jar of {what}; default: that of this source tree")
    parser.add_argument("--memcached-program", help="the memcached server; default: that of this source tree")
    parser.add_argument("--in", dest="into", action="append", default=[], metavar="PATH=HDFSPATH",
                        help="copied in first; repeatable")
    parser.add_argument("--out", action="append", default=[], metavar="HDFSPATH=PATH",
                        help="copied out at the end, also when a signal or the time limit ends the job; repeatable")


def parser():
    made = argparse.ArgumentParser(prog="verbena-batch", epilog=EXAMPLE, description="Starts Hadoop, Spark, HBase and memcached "
                                   "servers on the nodes of a Slurm or PBS job, and ends them with it.",
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = made.add_subparsers(dest="command", required=True)
    for name, text in (("run", "start, run a command, save, stop"), ("start", "start and return; 'stop' ends all")):
        one = commands.add_parser(name, help=text)
        _nodes(one)
        _systems(one)
        if name == "run":
            one.add_argument("words", nargs=argparse.REMAINDER, metavar="-- COMMAND",
                             help="the command, with HADOOP_CONF_DIR and kin set")
    for name, text in (("status", "what runs"), ("save", "copy the data of --out"), ("stop", "save and end all")):
        commands.add_parser(name, help=text).add_argument("work", help="the folder that start has printed")
    hidden = commands.add_parser("agent")
    hidden.add_argument("work")
    hidden.add_argument("index")
    return made


# ------------------------------------------------------------------------------------------------------------ steps of a session

def _pairs(words, name):
    for word in words:
        source, equals, target = word.partition("=")
        if not (source and equals and target):
            raise Failed(f"--{name} {word}: write FROM=TO")
        yield source, target


def _copy(session, word, pairs):
    """Copies by the session's file system; says what failed and goes on."""
    good = True
    for source, target in pairs:
        argv = session.hadoop().copy(word, source, target)
        if subprocess.run(argv, stdin=subprocess.DEVNULL, env={**os.environ, **session.environment()}, check=False).returncode != 0:
            say(f"{source} could not be copied to {target}: see the lines above")
            good = False
    return good


def save(session):
    """Whether a burst buffer is flushed, and the data of --out is copied."""
    flushed = session.flush()
    if not flushed:
        say("the burst buffer has files that are not on the shared folder: see the lines above")
    return flushed & _copy(session, "-get", _pairs(session.options.out, "out"))


def _checked(options, job):
    """Fails before anything is started."""
    if not (options.hadoop or options.spark or options.memcached):
        raise Failed("nothing to start: give --hadoop, --spark or --memcached")
    if (options.into or options.out) and not options.hadoop:
        raise Failed("--in and --out copy to and from the file system of --hadoop")
    if options.hbase and not options.hadoop:
        raise Failed("--hbase needs --hadoop, whose file system has its tables")
    if options.mode == BUFFERED:
        if not options.buffer:
            raise Failed(f"--mode {BUFFERED} is --mode lustre with a burst buffer: give --buffer MIB, the memory of each node's "
                         "server")
        say(f"--mode {BUFFERED}: the file system lustre: with a burst buffer, in place of HDFS")
        options.mode = "lustre"
    if options.buffer and (options.mode != "lustre" or not options.hadoop):
        raise Failed("--buffer stands before the shared folder of --mode lustre: give both, and --hadoop")
    if options.hadoop and options.mode in SHARED and not options.shared:
        raise Failed(f"--mode {options.mode} needs --shared FOLDER, a folder on the parallel file system that all nodes see")
    if options.rpc and (options.mode == "stock" or not options.hadoop):
        raise Failed("--rpc lets calls of --hadoop go by the core, which --mode stock does without: give --hadoop and another mode")
    for word in options.spark_conf:
        if "=" not in word:
            raise Failed(f"--spark-conf {word}: write NAME=VALUE")
    sites.chosen(options.set)
    list(_pairs(options.into, "in")), list(_pairs(options.out, "out"))
    if job.ends is not None and job.ends - time.time() < options.reserve + options.least:
        raise Failed(f"this job ends in {max(0, int(job.ends - time.time()))} s, of which saving and stopping get "
                     f"{options.reserve}: ask the batch system for more time, or lower --reserve")
    if job.ends is None:
        say("the batch system does not say when this job ends: --time-limit does, so that there is time to save")
    work = os.path.abspath(options.work or f"verbena-{job.identity}")
    if os.path.exists(work):
        raise Failed(f"{work} is there: --work names a new folder")
    return work


def _made(options):
    """A session of which nothing has started. Fails for what this host sees to be wrong."""
    job = jobs.found(options)
    work = _checked(options, job)
    kept = argparse.Namespace(**{name: value for name, value in vars(options).items() if name not in ("words", "command")})
    kept.token = secrets.token_hex(3)  # of folder names: another cluster may have a job of this number
    for name in ("local", "ssd", "shared", "conf", "hadoop", "spark", "hbase"):
        if getattr(kept, name):
            setattr(kept, name, os.path.abspath(getattr(kept, name)))
    for name in FILES:  # daemons have working folders of their own; what is no file here is looked for on the PATH
        file = getattr(kept, name) or ""
        if os.path.isfile(file) and ("/" in file or not shutil.which(file)):
            setattr(kept, name, os.path.abspath(file))
    check(Places(kept, job, work, []))
    for source, _ in _pairs(options.into, "in"):
        if "://" not in source and not os.path.exists(source.removeprefix("file:")):
            raise Failed(f"--in {source}: there is no such file or folder on this host")
    return Session(work, job, kept)


def _begin(session, watched):
    say(f"{len(session.job.nodes)} nodes by {session.job.launcher}; settings and logs: {session.work}")
    session.start(watched)
    if not _copy(session, "-put", _pairs(session.options.into, "in")):
        raise Failed("the data of --in is not there: nothing was run")


# ------------------------------------------------------------------------------------------------------------ commands

def _watched(session, child):
    """The status of a command, while daemons and time last."""
    while True:
        try:
            return child.wait(1)
        except subprocess.TimeoutExpired:
            session.check()
        left = session.remaining()
        if left is not None and left <= 0:
            say(f"the job ends in {session.options.reserve} s: the command is ended, so that there is time to save")
            return TIMED_OUT


def _end(child):
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(10)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def _run_in(session, words):
    with subprocess.Popen(words, env={**os.environ, **session.environment()}) as child:
        try:
            return _watched(session, child)
        finally:
            _end(child)


def _saved_and_stopped(session):
    """Whether all is saved; the daemons are ended in any case."""
    signals.ignore()
    try:
        try:
            session.end_writers()
        except OSError as error:
            say(f"daemons that write could not be told to end ({error}), and go on while the burst buffer is flushed: make room in "
                f"{session.work}")
        return save(session)
    finally:
        session.stop()


def run(options):
    words = options.words[1:] if options.words[:1] == ["--"] else options.words
    if not words:
        raise Failed("run: give a command behind --")
    session, begun, saved, status = _made(options), False, True, 1
    try:
        _begin(session, True)
        begun = True
        status = _run_in(session, words)
    except (Failed, Interrupted, OSError) as reason:
        if not begun:
            raise
        say(f"the command is ended: {reason}")
    finally:
        if begun:
            saved = _saved_and_stopped(session)
        else:
            session.stop()
    return status or (0 if saved else 1)


def start(options):
    session = _made(options)
    try:
        _begin(session, False)
        print("".join(f"export {name}={value}\n" for name, value in session.environment().items()), end="")
        say(f"end it with: verbena-batch stop {session.work}")
    except BaseException:
        session.stop()
        raise
    return 0


def status(options):
    session = Session.restored(os.path.abspath(options.work))
    for name, state in sorted(session.states().items()):
        print(f"  {name:20s} " + (f"process {state['pid']}" if state["status"] is None else f"ENDED with status {state['status']}"))
    for one in session.systems:
        print(f"  {one.sentence()}")
    lack = session.lacks()
    if lack:
        raise Failed(lack)
    return 0


def stop(options):
    session = Session.restored(os.path.abspath(options.work))
    return 0 if _saved_and_stopped(session) else 1


def main():
    options = parser().parse_args()
    if options.command == "agent":
        agent.run(options.work, options.index)
        return 0
    signals.interrupt()
    chosen = {"run": run, "start": start, "status": status, "stop": stop,
              "save": lambda given: 0 if save(Session.restored(os.path.abspath(given.work))) else 1}[options.command]
    try:
        return chosen(options)
    except Failed as failure:
        print(f"verbena-batch: {failure}", file=sys.stderr)
    except Interrupted as reason:
        print(f"verbena-batch: ended by {reason}; nothing that it has started is left", file=sys.stderr)
    return 1


