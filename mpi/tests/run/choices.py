# SPDX-License-Identifier: Apache-2.0
"""The table of algorithms (grp/table.h) in a job: each algorithm gives the right results where it is forced, and mpiexec -explain
prints the table. Each test takes the build folder and gives a list of what is wrong."""
from runner import expect, launch

# All rows to their first algorithms, to their second ones; the second ones on two levels.
FORCED = ("first", "second", "second," + ",".join(
    f"{name}.levels=two" for name in ("barrier", "bcast", "reduce", "allreduce", "reduce_scatter", "scan")))


def forced(build):
    """Programs that compare collectives with the right results, on one node and on two."""
    wrong = []
    for table in FORCED:
        for program in ("blocks", "forms", "reduce_scatters", "reduces_mapped", "scans"):
            for hosts in ((), ("-fake-hosts", 2)):
                status, out, err = launch(build, "-n", 4, *hosts, build / "tests" / program,
                                          environment={"VBN_MPI_COLLECTIVES": table})
                wrong += expect(status == 0, f"{program} {hosts} with {table}", out, err)
    return wrong


def explains(build):
    """The rows of the job's ranks, with those that are forced: by the environment, or by an option on either side of -explain."""
    name, value = "VBN_MPI_COLLECTIVES", "gather.steps=root"
    wrong = []
    for words, environment in ((("-explain",), {name: value}), (("-explain", "-env", name, value), {}),
                               (("-genv", name, value, "-explain"), {}), (("-explain", "-x", f"{name}={value}"), {})):
        status, _, err = launch(build, *words, "-n", 3, build / "tests/world", environment=environment)
        wrong += expect(status == 0 and "algorithms of 3 ranks, 3 of them on this node; nodes: 1;" in err and
                        "bcast: slots up to 65536 bytes, else tree" in err and "gather.steps: root\n" in err and
                        "reduce_scatter.steps: halving up to 8192 bytes of a block, on average, else pairs\n" in err, words, err)
    return wrong


def by_nodes(build):
    """Several nodes take other algorithms."""
    status, _, err = launch(build, "-explain", "-n", 4, "-fake-hosts", 2, build / "tests/world")
    return expect(status == 0 and "4 ranks, 2 of them on this node; nodes: 2;" in err and "gather: messages\n" in err and
                  "bcast.levels: two\n" in err and "reduce_scatter.levels: two\n" in err, err)


def explains_settings(build):
    """Lines of node memory are there where the ranks have some; what is measured may be set."""
    wrong = []
    for environment, there, missing in (
            ({}, "measured: the faster way, by earlier calls", "within a node: messages"),
            ({"VBN_MPI_LARGE_PAIRS": "pieces"}, "measured: pieces (mpi.large_pairs)", "within a node: messages"),
            ({"VBN_MPI_NODE_MEMORY": "false"}, "within a node: messages", "slots"),
            ({"VBN_TL_ENABLE": "self,tcp", "VBN_TL_TCP_INTERFACE": "lo"}, "within a node: messages", "slots")):
        status, _, err = launch(build, "-explain", "-n", 2, build / "tests/world", environment=environment)
        wrong += expect(status == 0 and there in err and missing not in err.partition("nodes: 1;")[2].partition("\n")[2] and
                        "allreduce.steps: doubling" in err, environment, err)
    return wrong


def refuses(build):
    """A wrong text ends the job, and the message has the right ones."""
    status, _, err = launch(build, "-n", 2, build / "tests/world", environment={"VBN_MPI_COLLECTIVES": "bcast=ring"})
    return expect(status != 0 and "mpi.collectives=bcast=ring: bcast has no algorithm ring: give slots or tree" in err, err)


TESTS = (forced, explains, by_nodes, explains_settings, refuses)
