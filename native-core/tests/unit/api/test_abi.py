# SPDX-License-Identifier: Apache-2.0
"""vbn.h compiles alone in C and C++ with every compiler here, and the ABI is the one written down in abi.txt.

An ABI change on purpose: run this file with --write and TOOLS set to the build folder, and commit abi.txt.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
INCLUDE = HERE.parents[2] / "include"
LIST = HERE / "abi.txt"
LIMIT = 60  # seconds for anything here
WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-pedantic", "-Werror", f"-I{INCLUDE}"]
STRUCTS = ["vbn_op_t", "vbn_am_message_t", "vbn_counter_t", "vbn_tag_info_t", "vbn_signal_t", "vbn_strided_t", "vbn_setting_info_t",
           "vbn_pack_t"]
COMPILERS = {"c": ["gcc", "clang", "clang-14", "clang-19"], "c++": ["g++", "clang++", "clang++-14", "clang++-19"]}


def compilers(language):
    return [name for name in COMPILERS[language] if shutil.which(name)]


def compile_text(compiler, standard, language, text, *options):
    return subprocess.run([compiler, f"-std={standard}", *WARNINGS, "-x", language, "-", *options], input=text,
                          capture_output=True, text=True, timeout=LIMIT, check=False)


def sizes():
    """Sizes and member offsets of the public structs, as the first C compiler here lays them out."""
    header = (INCLUDE / "vbn" / "vbn.h").read_text(encoding="utf-8")
    lines = []
    for struct in STRUCTS:
        body = re.search(r"struct %s \{(.*?)^\}" % struct.removesuffix("_t"), header, re.DOTALL | re.MULTILINE)[1]
        for member in re.findall(r"(\w+)(?:\[\d+\])?;", re.sub(r"/\*.*?\*/", "", body, flags=re.DOTALL)):
            lines.append(f'printf("{struct}.{member} %zu\\n", offsetof({struct}, {member}));')
        lines.append(f'printf("{struct} %zu\\n", sizeof({struct}));')
    text = '#include <stdio.h>\n#include "vbn/vbn.h"\nint main(void)\n{\n' + "\n".join(lines) + "\nreturn 0;\n}\n"
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "sizes"
        result = compile_text(compilers("c")[0], "c11", "c", text, "-o", str(program))
        if result.returncode != 0:
            raise AssertionError(result.stderr)
        return subprocess.run([program], capture_output=True, text=True, timeout=LIMIT, check=True).stdout.splitlines()


def symbols(library):
    listing = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, timeout=LIMIT,
                             check=True).stdout
    return sorted(line.split()[-1] for line in listing.splitlines() if line.split()[-2] in "TDBRVW")


def current():
    library = pathlib.Path(os.environ["TOOLS"]) / "libvbn.so"
    return [f"size {line}" for line in sizes()] + [f"symbol {name}" for name in symbols(library)]


class Abi(unittest.TestCase):
    def test_the_header_compiles_alone_as_c11_and_as_cpp17(self):
        tried = 0
        for language, standard in (("c", "c11"), ("c++", "c++17")):
            for compiler in compilers(language):
                with self.subTest(f"{compiler} {standard}"):
                    result = compile_text(compiler, standard, language, '#include "vbn/vbn.h"\n', "-fsyntax-only")
                    self.assertEqual(result.returncode, 0, result.stderr)
                    tried += 1
        self.assertGreaterEqual(tried, 2, "a C and a C++ compiler at least")

    def test_every_declared_function_is_exported_and_nothing_else(self):
        header = (INCLUDE / "vbn" / "vbn.h").read_text(encoding="utf-8")
        declared = set(re.findall(r"^VBN_API [^;(]*?(\w+)\(", header, re.MULTILINE))
        exported = set(symbols(pathlib.Path(os.environ["TOOLS"]) / "libvbn.so"))
        self.assertGreater(len(declared), 20)
        self.assertEqual({name for name in exported if not name.startswith("__")}, declared)

    @unittest.skipUnless(sys.maxsize > 2**32, "abi.txt is of 64-bit machines")
    def test_sizes_and_symbols_are_those_that_were_agreed_on(self):
        agreed = [line for line in LIST.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
        now = [line for line in current() if not line.startswith("symbol __")]
        self.assertEqual(now, agreed, "the ABI differs; on purpose? see the top of this file")


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        LIST.write_text("# SPDX-License-Identifier: Apache-2.0\n# What users of libvbn.so are compiled against: see "
                        "test_abi.py.\n" + "\n".join(current()) + "\n", encoding="utf-8")
    else:
        unittest.main()
