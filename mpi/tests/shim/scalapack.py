# SPDX-License-Identifier: Apache-2.0
"""Debian's testers of ScaLAPACK, Fortran programs over each family's C library: each computes and checks its own residuals.

VERBENA_SCALAPACK names the folder with the packages (./verbena make scalapack). Testers that estimate condition numbers (xsllt,
xslu) are left out: PSLACON of ScaLAPACK 2.2.1 decides by variables that it has not set, so its ranks may part. With
MPICH's own library xsllt stops at the same test: its ranks wait for each other for ever, where ours end the job with an error.
"""
import os
import pathlib
import re

from runner import Skipped, expect, launch

TESTERS = ("xdqr", "xdbrd", "xdtrd", "xdhrd", "xzqr")
FOLDERS = {"ompi": "openmpi-tests", "mpich": "mpich-tests"}
DONE = re.compile(r"(\d+) tests completed and passed residual checks.\s+(\d+) tests completed and failed residual checks")


def test(family, build):
    place = os.environ.get("VERBENA_SCALAPACK")
    if not place:
        raise Skipped("no ScaLAPACK: ./verbena make scalapack fetches Debian's")
    data = pathlib.Path(place) / "usr/share/scalapack"
    libraries = next(pathlib.Path(place).glob("usr/lib/*/scalapack")).parent
    paths = ":".join(str(folder) for folder in (libraries, libraries / "blas", libraries / "lapack"))
    problems = []
    for tester in TESTERS:
        program = libraries / "scalapack" / FOLDERS[family] / tester
        status, out, err = launch(build, "-n", 4, program, environment={"LD_LIBRARY_PATH": paths}, cwd=data)
        done = DONE.search(out)
        passed = int(done.group(1)) if done else 0
        print(f"{family} {tester}: {passed} tests passed")
        problems += expect(status == 0 and passed > 0 and done.group(2) == "0", tester, status, out[-2000:], err[-2000:])
    return problems
