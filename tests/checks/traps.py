# SPDX-License-Identifier: Apache-2.0
"""Tables of traps name tests that exist: rows TRAP | FILE.TEST of tests/hadoop/traps, FILE without its ending."""
import re

ROW = re.compile(r"(H\d+) \| (\w+)\.(\w+)$")


def rows_of(text):
    """Yields (line, problem or None, trap, file, test) for lines that are neither empty nor comments."""
    for number, line in enumerate(text.splitlines(), 1):
        if line and not line.startswith("#"):
            row = ROW.match(line)
            yield (number, None, *row.groups()) if row else (number, f"not of the form 'H1 | FILE.TEST': {line}", "", "", "")


def check(root, files):
    """Lines TABLE:LINE: PROBLEM."""
    sources = {}
    for path in files:
        if path.suffix in {".py", ".java"} and {"tests", "test"} & set(path.parts):
            sources.setdefault(path.stem, []).append(path)
    problems = []
    for table in files:
        if table.suffix != ".txt" or table.parts[:3] != ("tests", "hadoop", "traps"):
            continue
        for number, problem, _, file, test in rows_of((root / table).read_text()):
            texts = [(root / path).read_text(errors="replace") for path in sources.get(file, [])]
            if problem is None and not any(re.search(rf"\b(?:def|void) {test}\(", text) for text in texts):
                problem = f"no test {test} in {file}" if texts else f"no file of tests {file}"
            if problem:
                problems.append(f"{table}:{number}: {problem}")
    return problems
