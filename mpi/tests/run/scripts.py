# SPDX-License-Identifier: Apache-2.0
"""Options of Open MPI's and MPICH's launchers that job scripts have."""
import os
import pathlib
import re
import subprocess
import tempfile

from runner import LIMIT, expect, launch

# As job scripts for Open MPI and for MPICH have them, without a meaning here.
OF_SCRIPTS = """--bind-to core --map-by socket --rank-by core --report-bindings --display-map --display-allocation --mca pml ucx
    --gmca btl ^openib --tune file --am file --cpus-per-proc 2 --cpus-per-rank 2 --cpu-set 0,1 --cpu-list 0 --use-hwthread-cpus
    --bynode --byslot --bycore --bind-to-core --bind-to-socket --npersocket 2 --ppr 2:socket --rankfile file -rf file --nolocal
    --nooversubscribe --output-filename file --timestamp-output --xml --stdin 0 --prefix folder --noprefix --path folder
    --preload-files file --preload-binary --personality ompi --report-pid - --report-uri - --enable-recovery --disable-recovery
    --max-restarts 2 --leave-session-attached --debug-daemons --show-progress -q -v --novm --continuous
    -genvnone -genvlist A,B -envnone -envlist A,B -iface eth0 -rmk slurm -topolib hwloc -membind local -demux poll -verbose
    -print-all-exitcodes -profile -prepend-pattern %r -outfile-pattern file -errfile-pattern file -nameserver host:1
    -disable-auto-cleanup -disable-hostname-propagation -order-nodes 1 -localhost host -usize 4 -pmi-port -skip-launch-node
    -gpus-per-proc 1 -enable-x -disable-x"""
SILENT = {"--stdin", "--noprefix", "--disable-recovery", "--leave-session-attached", "--novm", "-q", "-genvlist", "-envlist",
          "-localhost", "-demux", "-disable-hostname-propagation", "-pmi-port", "-disable-x"}  # nothing is lost without them


def options_of_scripts(build):
    """Each is taken with its values; one that would change something elsewhere has its line."""
    status, out, err = launch(build, *OF_SCRIPTS.split(), "-N", 1, "-n", 1, "echo", "ran")
    words = [word for word in OF_SCRIPTS.split() if word[0] == "-" and word != "-"]
    lines = err.splitlines()
    silent = {word for word in words if not any(re.match(f"mpiexec: {re.escape(word)}[ :]", line) for line in lines)}
    told = all(": no effect here: " in line for line in lines)
    return expect(status == 0 and out == "ran\n" and silent == SILENT and told, status, out, silent ^ SILENT, err)


PROGRAMS = """# first
-n 2 -env MINE 'a b' sh -c 'echo $PMI_RANK $MINE'  # two

-n 1 sh -c "echo $PMI_RANK : last"
"""


def programs_of_a_file(build):
    """Each line is a part of the command line, with quotes and comments; options of the job may come before."""
    with tempfile.TemporaryDirectory() as folder:
        path, problems = pathlib.Path(folder) / "programs", []
        path.write_text(PROGRAMS)
        for option in ("-configfile", "--app"):
            status, out, err = launch(build, "-l", option, path)
            problems += expect(status == 0 and sorted(out.splitlines()) == ["[0] 0 a b", "[1] 1 a b", "[2] 2 : last"], status, out,
                               err)
        for words, text in (([folder], "cannot be read"), ([path, "true"], "no word may follow"),
                            (["/dev/null"], "names no program")):
            status, _, err = launch(build, "--app", *words)
            problems += expect(status == 2 and text in err, status, err)
    return problems


def file_with_an_open_quote(build):
    """It is named by its line: else the rest of the line would be one word, and the job another one."""
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "programs"
        for line, quote in (("-n 1 sh -c 'echo a", "'"), ('-n 1 echo "a b', '"'), ("-n 1 echo a's \"b", "'")):
            path.write_text(f"# 'a comment may\n-n 1 true\n{line}\n-n 1 true\n")
            status, out, err = launch(build, "-configfile", path)
            problems += expect(status == 2 and not out and f": line 3 opens a quote ({quote}) that it does not close" in err, line,
                               status, out, err)
    return problems


def time_limit(build):
    """The job ends by SIGTERM when its time is over, and the line says why."""
    problems = []
    for words, environment in ((["--timeout", 1], None), ([], {"MPIEXEC_TIMEOUT": "1"})):
        status, _, err = launch(build, *words, "-n", 2, "sleep", 1000, environment=environment)
        problems += expect(status == 142 and "has run for 1 s, which is all that --timeout gives it" in err, status, err)
    return problems


def merged_streams(build):
    _, out, err = launch(build, "--merge-stderr-to-stdout", "-n", 2, "sh", "-c", "echo one; echo two >&2")
    return expect(sorted(out.split()) == ["one", "one", "two", "two"] and err == "", out, err)


def called_mpirun(build):
    """A script that calls mpirun gets ours by PATH alone."""
    path = f"{build}/bin:{os.environ['PATH']}"
    found = subprocess.run(["sh", "-c", "mpirun -np 2 --bind-to none sh -c 'echo $PMI_SIZE'"], capture_output=True, text=True,
                           timeout=LIMIT, env={**os.environ, "PATH": path}, check=False)
    return expect(found.returncode == 0 and found.stdout == "2\n2\n" and found.stderr == "", found)


TESTS = (options_of_scripts, programs_of_a_file, file_with_an_open_quote, time_limit, merged_streams, called_mpirun)
