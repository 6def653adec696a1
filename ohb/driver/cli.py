# SPDX-License-Identifier: Apache-2.0
"""Command line of ohb: list, run, compare, demo."""
import argparse
import os
import sys
import tempfile

from driver import demo, plan, procs, report, rivals, schema
from driver.run import Runner

EXIT_FAILED, EXIT_USAGE, EXIT_KILLED = 1, 2, 130


def _root():
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return os.path.abspath(os.environ.get("VERBENA_ROOT", here))


def _list(_options):
    for row in plan.ROWS:
        params = " ".join(f"{key}={value}" for key, value in row.params.items())
        print(f"{row.name:22} {row.title}\n{'':22} stock side: {row.stock}; verdict about: {row.metric}; "
              f"parameters: {params or 'none'}")
        lacking = plan.missing(row, _root())
        if lacking:
            print(f"{'':22} cannot run now: {lacking}")
    return 0


def _run(options):
    rows = plan.select_all(options.row, options.rows.split(",")) if options.rows else plan.select(options.row)
    if options.sf:
        rows = [plan.with_scale(row, options.sf) for row in rows]
    if options.against:
        rows = [plan.against(row, options.against) for row in rows]
    state = os.path.join(_root(), ".verbena")
    path = options.json or os.path.join(state, "results", f"{options.row}.json")
    work = options.work or os.path.join(state, "bench")
    os.makedirs(work, exist_ok=True)
    document = Runner(_root(), work, path, options.quick, options.pairs, _starts(options, rows)).run(rows)
    print("\n\n".join(filter(None, (rivals.table(document), report.table(document)))))
    print(f"result: {path}")
    if options.html:
        with open(options.html, "w") as file:
            file.write(report.page(document, f"ohb {options.row}", after=rivals.fragment(document)))
        print(f"page: {options.html}")
    if document["status"] == "killed":
        return EXIT_KILLED
    measured = [run for run in document["runs"] if run["status"] == "complete"]
    return 0 if document["status"] == "complete" and measured else EXIT_FAILED


def _starts(options, rows):
    """The starts of the sides that were asked for: there must be sides that stay up, and a pair for each start."""
    if options.starts == 1:
        return 1
    other = next((row.name for row in rows if row.kind not in plan.STAY_UP), None)
    if other:
        raise procs.Failed(f"--starts: row {other} keeps no processes between its blocks; choose rows of Spark, which do")
    pairs = plan.pair_count(options.pairs, options.quick)
    if options.starts > pairs:
        raise procs.Failed(f"--starts {options.starts}: each start needs a pair, and there are {pairs}; give --pairs")
    return options.starts


def _compare(options):
    lines, regressions = report.compare(schema.read(options.first), schema.read(options.second))
    print("\n".join(lines))
    print(f"{regressions} regressions")
    return EXIT_FAILED if regressions else 0


def _demo(options):
    work = options.work or tempfile.mkdtemp(prefix="verbena-demo-")
    return demo.run_demo(_root(), os.path.abspath(work), options.sf, options.minutes, options.stock_only)


def _positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def _parser():
    parser = argparse.ArgumentParser(prog="ohb", description="Measures Verbena against the software it replaces.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="rows, parameters, peers, missing software").set_defaults(call=_list)
    run = commands.add_parser("run", help="measure a row or a group")
    run.add_argument("row")
    run.add_argument("--quick", action="store_true", help="one small cell per row, few pairs")
    run.add_argument("--pairs", type=_positive, help="pairs of blocks (default 9, with --quick 3)")
    run.add_argument("--starts", type=_positive, default=1, metavar="N",
                     help="restart both sides of a Spark row N times, and divide its pairs among the starts (default 1)")
    run.add_argument("--rows", metavar="NAMES", help="only these rows of the group, separated by commas")
    run.add_argument("--sf", type=float, help="scale factor of TPC-H (default 1, with --quick 0.1)")
    run.add_argument("--against", metavar="CHECKOUT",
                     help="measure core, mpi, shmem or spark rows against another built checkout: before and after")
    run.add_argument("--json", metavar="FILE", help="result file (default .verbena/results/ROW.json)")
    run.add_argument("--html", metavar="FILE", help="also write a page with plots")
    run.add_argument("--work", metavar="DIR", help="folder for data and logs")
    run.set_defaults(call=_run)
    compare = commands.add_parser("compare", help="exit status 1 when the second result is worse or lacks a row")
    compare.add_argument("first")
    compare.add_argument("second")
    compare.set_defaults(call=_compare)
    show = commands.add_parser("demo", help="Spark with and without Verbena on real input")
    show.add_argument("--work", metavar="DIR", help="folder for data, logs and the page")
    show.add_argument("--sf", type=float, default=0.5, help="TPC-H scale factor (default 0.5)")
    show.add_argument("--minutes", type=float, default=8,
                      help="minutes for the jobs (default 8); twice as many if a verdict needs more pairs")
    show.add_argument("--stock-only", action="store_true", help="run stock against stock (checks the demo itself)")
    show.set_defaults(call=_demo)
    return parser


def main(arguments=None):
    options = _parser().parse_args(arguments)
    procs.install_signals()
    try:
        return options.call(options)
    except (procs.Failed, plan.UnknownRow, schema.Invalid) as error:
        print(f"ohb: {error}", file=sys.stderr)
        return EXIT_USAGE if isinstance(error, plan.UnknownRow) else EXIT_FAILED
    except procs.Killed as killed:
        print(f"ohb: ended by {killed}", file=sys.stderr)
        return EXIT_KILLED
    finally:
        procs.stop_all()
