#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks of the source tree itself: layers, budgets, settings and their page, shell scripts, headers, READMEs,
top level.

usage: run.py [ROOT]. Prints one line per check and ends with "N passed, M failed".
"""
import pathlib
import subprocess
import sys
import tempfile

TOP_LEVEL = {"pom.xml", "native-core", "mpi", "spark-rdma-shuffle", "hadoop-rdma", "hbase-rdma", "memcached-rdma",
             "ohb", "tests", "docs", "verbena", "README.md", "LICENSE", "SECURITY.md", "CONTRIBUTING.md",
             ".clang-format", ".editorconfig", ".gitignore", ".ci"}
SOURCE_ENDINGS = {".c", ".h", ".cc", ".java", ".py", ".sh", ".cmake"}


def tracked(root):
    """Files that git knows or would add, as paths relative to root."""
    listing = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard"], check=True,
                             capture_output=True, text=True).stdout
    return sorted(path for line in listing.splitlines() if (path := pathlib.Path(line)) and (root / path).is_file())


def check_top_level(root, files):
    strange = {path.parts[0] for path in files} - TOP_LEVEL
    return [f"'{name}' does not belong at the top level" for name in sorted(strange)]


def check_spdx(root, files):
    return [f"{path}: no SPDX-License-Identifier in its first three lines" for path in files
            if path.suffix in SOURCE_ENDINGS and (root / path).stat().st_size
            and not any("SPDX-License-Identifier" in line
                        for line in (root / path).read_text(errors="replace").splitlines()[:3])]


def check_readmes(root, files):
    folders = {path.parent for path in files if path.suffix in {".c", ".py", ".java"}
               and not {"org", "java"} & set(path.parts[:-1])}
    known = set(files)
    missing = [folder for folder in folders
               if not any(parent / "README.md" in known for parent in [folder, folder.parent])]
    long = [path for path in files if path.name == "README.md" and len(path.parts) > 1
            and len((root / path).read_text().splitlines()) > 100]
    return [f"{folder}: no README.md here or one folder up" for folder in sorted(missing)] + \
           [f"{path}: longer than 100 lines" for path in long]


def check_shell(root, files):
    scripts = [path for path in files if (root / path).read_bytes()[:64].split(b"\n")[0].endswith(b"bash")]
    result = subprocess.run(["shellcheck", *map(str, scripts)], cwd=root, capture_output=True, text=True)
    return result.stdout.splitlines()


def run_script(root, name):
    result = subprocess.run([sys.executable, root / "native-core/tools" / name, root], capture_output=True, text=True)
    print("    " + "\n    ".join(result.stdout.strip().splitlines()[-3:]))
    return [] if result.returncode == 0 else (result.stdout + result.stderr).splitlines()


def check_settings_page(root):
    """docs/settings.md is what the generator makes of the table now: code, texts and readers name that page."""
    tools = root / "native-core/tools"
    command = [sys.executable, tools / "gen_settings.py", "--table", root / "native-core/config/settings.yaml", "--docs"]
    page = root / "docs/settings.md"
    with tempfile.TemporaryDirectory() as folder:
        wanted = pathlib.Path(folder) / "settings.md"
        result = subprocess.run([*command, wanted], capture_output=True, text=True)
        if result.returncode != 0:
            return (result.stdout + result.stderr).splitlines()
        if page.is_file() and page.read_text() == wanted.read_text():
            return []
    return ["docs/settings.md is not what the table says; write it anew: python3 native-core/tools/gen_settings.py "
            "--table native-core/config/settings.yaml --docs docs/settings.md"]


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    files = tracked(root)
    checks = {
        "top level": lambda: check_top_level(root, files),
        "licence headers": lambda: check_spdx(root, files),
        "a README in each source folder": lambda: check_readmes(root, files),
        "shell scripts": lambda: check_shell(root, files),
        "layers": lambda: run_script(root, "check_layers.py"),
        "files that call each other": lambda: run_script(root, "check_circles.py"),
        "file and function budgets": lambda: run_script(root, "check_budgets.py"),
        "settings table": lambda: run_script(root, "check_settings.py"),
        "settings page": lambda: check_settings_page(root),
        "page of lost peers": lambda: run_script(root, "check_peer_lost.py"),
    }
    failed = 0
    for name, check in checks.items():
        problems = check()
        failed += bool(problems)
        print(f"{'FAIL' if problems else 'ok  '} {name}")
        for problem in problems[:40]:
            print(f"    Error: {problem}")
    print(f"{len(checks) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
