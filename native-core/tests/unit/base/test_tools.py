# SPDX-License-Identifier: Apache-2.0
"""Tests of the generators and the checkers, each run as a program on files made here."""
import json
import pathlib
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
import unittest

CORE = pathlib.Path(__file__).resolve().parents[3]
TOOLS = CORE / "tools"
GOOD = '- {key: a.b, type: int, default: 1, min: 0, max: 9, help: "Help: with, marks.", since: 0.1}\n'


class ToolTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def put(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def run_tool(self, name, *arguments):
        return subprocess.run([sys.executable, "-B", str(TOOLS / name), *map(str, arguments)], capture_output=True,
                              text=True, timeout=60, check=False)


class Generator(ToolTest):
    def generate(self, table):
        self.put("settings.yaml", table)
        return self.run_tool("gen_settings.py", "--table", self.root / "settings.yaml", "--c-header",
                             self.root / "out.h", "--java", self.root / "Out.java", "--docs", self.root / "out.md")

    def test_makes_field_enum_and_documentation_of_a_row(self):
        result = self.generate(GOOD + "- {key: c.d, type: enum, values: [x-y, z], default: z, help: H., since: 0.1}\n")
        self.assertEqual(result.returncode, 0, result.stderr)
        header = (self.root / "out.h").read_text()
        self.assertIn("int64_t a_b;", header)
        self.assertIn("SETTING_C_D_X_Y = 0, SETTING_C_D_Z = 1", header)
        self.assertIn("#define SETTINGS_COUNT 2", header)
        self.assertIn('/** Help: with, marks. */\n    A_B("a.b"),', (self.root / "Out.java").read_text())
        self.assertIn("Help: with, marks.", (self.root / "out.md").read_text())

    def test_refuses_tables_that_break_a_rule(self):
        row = "- {{key: {key}, type: {type}, default: {default}, help: H., since: 0.1{more}}}\n"

        def table(key="a.b", type="int", default="1", more=""):
            return row.format(key=key, type=type, default=default, more=more)

        bad = {
            "no rows": "# nothing\n",
            "two rows of one name": table() + table(),
            "names that meet": table(key="a.b_c") + table(key="a.b.c"),
            "too many rows": "".join(table(key=f"a.k{i}") for i in range(61)),
            "unknown type": table(type="float"),
            "unknown field": table(more=", color: red"),
            "missing field": "- {key: a.b, type: int}\n",
            "default above max": table(more=", max: 0"),
            "default below min": table(more=", min: 2"),
            "min above max": table(more=", min: 1, max: 0"),
            "number with a wrong unit": table(type="time", default="5K"),
            "time without a unit": table(type="time", default="5"),
            "enum without values": table(type="enum"),
            "default not a value": table(type="enum", more=", values: [x]"),
            "value twice": table(type="enum", default="x", more=", values: [x, x]"),
            "values of an int": table(more=", values: [1]"),
            "bool that is neither": table(type="bool", default="yes"),
            "bounds of a bool": table(type="bool", default="true", more=", min: 0"),
            "string too long": table(type="string", default="x" * 256),
            "key in capitals": table(key="A.b"),
            "key without a dot": table(key="ab"),
            "list as default": table(default="[1]"),
            "field twice": table(more=", type: int"),
            "open brace": "- {key: a.b\n",
            "block style": "- key: a.b\n  type: int\n",
            "text behind": GOOD.rstrip() + " x\n",
            "too large": table(default="9223372036854775808"),
        }
        for name, text in bad.items():
            with self.subTest(name):
                result = self.generate(text)
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertTrue(result.stderr.startswith("gen_settings: "), result.stderr)
                self.assertFalse((self.root / "out.h").exists())

    def merge(self, core, component):
        self.put("native-core/config/settings.yaml", core)
        self.put("mpi/config/settings.yaml", component)
        result = self.run_tool("gen_settings.py", "--repository", self.root, "--c-header", self.root / "out.h")
        return result.returncode, result.stderr or (self.root / "out.h").read_text()

    def test_rows_of_a_component_follow_those_of_the_core(self):
        code, text = self.merge(GOOD, GOOD.replace("a.b", "mpi.c"))
        self.assertEqual(code, 0, text)
        self.assertRegex(text, r"int64_t a_b;\s+int64_t mpi_c;")

    def test_each_row_stands_in_the_table_of_its_component(self):
        for core, component, told in ((GOOD, GOOD.replace("a.b", "c.d"), "mpi/config/settings.yaml: its keys begin with 'mpi.'"),
                                      (GOOD + GOOD.replace("a.b", "mpi.c"), GOOD.replace("a.b", "mpi.d"),
                                       "native-core/config/settings.yaml: rows of 'mpi.' belong to")):
            code, text = self.merge(core, component)
            self.assertEqual(code, 1)
            self.assertIn(told, text)

    def test_takes_the_tables_of_this_repository(self):
        result = self.run_tool("gen_settings.py", "--repository", CORE.parent, "--c-header", self.root / "out.h")
        self.assertEqual(result.returncode, 0, result.stderr)


class PluginGenerator(ToolTest):
    PLUGINS = ('- {plugin: one, prefix: my., page: one.md, core: "the core"}\n'
               '- {plugin: two, prefix: my., page: two.md, core: "the core"}\n')
    SIZE = '- {plugin: one, key: one.size, type: size, default: 2m, min: 1m, help: "Of `x` & [y](y.md)"}\n'
    WORD = '- {plugin: two, key: two.aWord, type: word, values: [a, b-c], default: a, shown: some, help: W}\n'

    def setUp(self):
        super().setUp()
        for page, plugin in (("one.md", "one"), ("two.md", "two")):
            self.put(f"docs/{page}", f"before\n<!-- Settings of {plugin}: written by native-core/tools/gen_plugin_settings.py from "
                     "native-core/config/plugins.yaml. -->\nold\n<!-- End of settings. -->\nafter\n")
        self.put("hadoop-rdma/x/src/main/java/A.java", "x = ONE_SIZE + TWO_A_WORD;\n")

    def generate(self, table, *what):
        self.put("native-core/config/plugins.yaml", table)
        return self.run_tool("gen_plugin_settings.py", self.root, *what)

    def test_makes_the_constant_and_the_row_of_the_page(self):
        self.assertEqual(self.generate(self.PLUGINS + self.SIZE + self.WORD, "--java", self.root / "Out.java").returncode, 0)
        java = (self.root / "Out.java").read_text()
        self.assertIn('/** Of {@code x} &amp; y. */\n    ONE_SIZE(Plugin.ONE, "one.size", "2m", 1048576L, 9223372036854775807L)',
                      java)
        self.assertIn('TWO_A_WORD(Plugin.TWO, "two.aWord", "a", 0L, 9223372036854775807L, "a", "b-c")', java)
        self.assertIn('TWO("my.")', java)
        self.assertEqual(self.generate(self.PLUGINS + self.SIZE + self.WORD, "--pages").returncode, 0)
        page = (self.root / "docs/one.md").read_text()
        self.assertIn("\n| `my.one.size` | `2m` | size, at least `1m` | Of `x` & [y](y.md) |\n| `my.core.*` | | | the core |\n",
                      page)
        self.assertTrue(page.startswith("before\n<!-- ") and page.endswith(" -->\nafter\n") and "old" not in page, page)
        self.assertIn("| `my.two.aWord` | some | `a`, `b-c` | W |", (self.root / "docs/two.md").read_text())

    def test_tells_which_page_is_not_as_the_table_says_and_which_setting_nobody_reads(self):
        table = self.PLUGINS + self.SIZE + self.WORD
        self.assertEqual(self.generate(table, "--pages").returncode, 0)
        self.assertEqual(self.generate(table, "--check").stdout.strip(), "")
        done = self.generate(table.replace("2m", "3m") + self.WORD.replace("aWord", "other"), "--check")
        self.assertEqual(done.returncode, 1)
        for told in ("docs/one.md: the table of settings differs from", "docs/two.md: the table",
                     "no plugin reads two.other (TWO_OTHER)"):
            self.assertIn(told, done.stdout)

    def test_a_page_without_a_place_for_the_table_is_told(self):
        self.put("docs/two.md", "nothing\n")
        done = self.generate(self.PLUGINS + self.SIZE + self.WORD, "--pages")
        self.assertEqual((done.returncode, "two.md: no place" in done.stderr), (1, True), done.stderr)

    def test_refuses_tables_that_break_a_rule(self):
        bad = {
            "no plugin": self.SIZE,
            "key of another": self.PLUGINS + self.SIZE.replace("one.size", "two.size"),
            "twice": self.PLUGINS + self.SIZE + self.SIZE,
            "unknown type": self.PLUGINS + self.SIZE.replace("type: size", "type: time"),
            "default below min": self.PLUGINS + self.SIZE.replace("2m", "2k"),
            "default of a size": self.PLUGINS + self.SIZE.replace("2m", "2x"),
            "default no value": self.PLUGINS + self.WORD.replace("default: a", "default: d"),
            "values of a size": self.PLUGINS + self.SIZE.replace("min: 1m", "values: [a]"),
            "no default": self.PLUGINS + self.SIZE.replace("default: 2m, ", ""),
            "no help": self.PLUGINS + self.SIZE.replace(", help", ", halp"),
            "no page": self.PLUGINS.replace("page: one.md, ", "") + self.SIZE,
        }
        for name, text in bad.items():
            with self.subTest(name):
                done = self.generate(text, "--java", self.root / "Out.java")
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertTrue(done.stderr.startswith("gen_plugin_settings: "), done.stderr)
                self.assertFalse((self.root / "Out.java").exists())

    def test_takes_the_table_of_this_repository(self):
        done = self.run_tool("gen_plugin_settings.py", CORE.parent, "--java", self.root / "Out.java")
        self.assertEqual(done.returncode, 0, done.stderr)


class Page(ToolTest):
    def generate(self, header):
        self.put("page.h", header)
        return self.run_tool("gen_page.py", "--header", self.root / "page.h", "--java", self.root / "Out.java")

    def compiler_says(self, expressions):
        """Values of C expressions over jni_page.h, as the C compiler here sees them."""
        lines = "".join(f'    printf("%ld\\n", (long)({expression}));\n' for expression in expressions)
        source = self.put("ask.c", '#include <stddef.h>\n#include <stdio.h>\n#include "jni_page.h"\n'
                          f"int main(void)\n{{\n{lines}    return 0;\n}}\n")
        subprocess.run(["cc", "-I", str(CORE / "jni"), str(source), "-o", str(self.root / "ask")], check=True, timeout=60)
        result = subprocess.run([str(self.root / "ask")], check=True, capture_output=True, text=True, timeout=60)
        return [int(line) for line in result.stdout.split()]

    def test_gives_java_the_numbers_that_the_compiler_uses(self):
        self.assertEqual(self.generate((CORE / "jni" / "jni_page.h").read_text(encoding="utf-8")).returncode, 0)
        java = dict(re.findall(r"int (\w+) = (\d+);", (self.root / "Out.java").read_text()))
        asked = {}
        for name in java:
            struct, _, member = name.lower().partition("_")
            if name.startswith(("PAGE_", "EVENT_OP", "EVENT_MESSAGE", "EVENT_PEER_LOST", "EVENT_LOG")):
                asked[name] = name
            elif member == "bytes":
                asked[name] = f"sizeof(page_{struct}_t)"
            else:
                asked[name] = f"offsetof(page_{struct}_t, {member})"
        self.assertGreater(len(asked), 30)
        self.assertEqual({name: int(value) for name, value in java.items()},
                         dict(zip(asked, self.compiler_says(asked.values()))))

    def test_refuses_what_it_cannot_lay_out(self):
        good = "#define PAGE_SLOT 64u\ntypedef struct page_part { uint64_t address; uint32_t length; } page_part_t;\n"
        self.assertEqual(self.generate(good).returncode, 0)
        (self.root / "Out.java").unlink()
        for wrong in ("struct iovec part", "uint8_t *pointer", "uint64_t address", "uint64_t bytes"):
            with self.subTest(wrong):
                result = self.generate(good.replace("uint32_t length", wrong))
                self.assertEqual(result.returncode, 1)
                self.assertFalse((self.root / "Out.java").exists())
        self.assertEqual(self.generate("no page at all").returncode, 1)


class Checkers(ToolTest):
    def expect(self, tool, code, text):
        result = self.run_tool(tool, self.root)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        self.assertIn(text, result.stdout + result.stderr)

    def test_layers_accepts_downward_and_refuses_upward_includes(self):
        self.put("native-core/src/link/a.c", '#include "base/x.h"\n#include "tl/tl.h"\n#include "link/b.h"\n')
        self.expect("check_layers.py", 0, "layers: 1 files, 0 wrong includes")
        self.put("native-core/src/base/b.c", '# include "mem/mem.h"\n')
        self.expect("check_layers.py", 1, "2 files, 1 wrong includes")
        self.put("native-core/src/base/b.c", '#include "../mem/mem.h"\n')
        self.expect("check_layers.py", 1, "climbs out")

    def test_layers_gives_the_rooms_of_link_an_order_and_lets_all_read_records(self):
        self.put("native-core/src/link/lane/a.c", '#include "link/flow/record.h"\n#include "link/lane/lane.h"\n')
        self.put("native-core/src/link/flow/b.c", '#include "link/lane/lane.h"\n')
        self.put("native-core/src/link/link_engine.c", '#include "link/peer/peer.h"\n')
        self.expect("check_layers.py", 0, "3 files, 0 wrong includes")
        for file, header in (("lane/a.c", "flow/flow.h"), ("flow/b.c", "peer/peer.h"), ("link_clock.c", "lane/lane.h")):
            with self.subTest(file):
                self.put(f"native-core/src/link/{file}", f'#include "link/{header}"\n')
                self.expect("check_layers.py", 1, f'includes "link/{header}" of a room above it')
                self.put(f"native-core/src/link/{file}", "")

    def test_layers_lets_a_binding_include_base_and_nothing_else_of_the_core(self):
        self.put("native-core/jni/a.c", '#include "base/map.h"\n#include "jni_b.h"\n')
        self.expect("check_layers.py", 0, "0 wrong includes")
        self.put("native-core/jni/b.c", '#include "mem/mem.h"\n')
        self.expect("check_layers.py", 1, "a binding uses vbn/vbn.h")

    def test_layers_lets_a_component_include_base_and_its_own_lower_folders(self):
        self.put("native-core/src/base/map.h", "")
        self.put("memcached-rdma/store/item.c", '#include "base/map.h"\n#include "util/number.h"\n#include "store/item.h"\n')
        self.expect("check_layers.py", 0, "0 wrong includes")
        self.put("memcached-rdma/store/item.c", '#include "link/link.h"\n')
        self.expect("check_layers.py", 1, '"link/link.h" is in none of base, store, util, vbn')
        self.put("memcached-rdma/store/item.c", '#include "server/server.h"\n')
        self.expect("check_layers.py", 1, "is in none of")

    def test_layers_lets_mpi_include_headers_of_the_core_that_have_no_object_file(self):
        self.put("native-core/src/base/base64.h", "")
        self.put("native-core/src/base/a.c", "")
        self.put("mpi/pmi/pmi.c", '#include "base/base64.h"\n#include "vbn/vbn.h"\n')
        self.expect("check_layers.py", 0, "0 wrong includes")
        self.put("mpi/pmi/pmi.c", '#include "base/map.h"\n')
        self.expect("check_layers.py", 1, "mpi/ uses vbn/vbn.h")

    def test_layers_refuses_an_empty_tree(self):
        self.expect("check_layers.py", 1, "is this the repository?")

    def test_circles_finds_files_that_call_each_other_also_by_headers_and_tables(self):
        def both(up):
            self.put("native-core/src/proto/low.c", '#include "x.h"\nint low(int x)\n{\n    return ' + up + ";\n}\n")
            self.put("native-core/src/proto/ways/high.c", "const row_t ROWS[] = {high};\n"
                     "int high(int x)\n{\n    return low(x);\n}\n")

        self.put("native-core/src/proto/x.h", "static inline int inlined(int x)\n{\n    return high(x);\n}\n"
                 "#define WRITTEN(x) \\\n    (x)->row = ROWS\n")
        for harmless in ("x", "x->high", "/* high */ x", '"high"[x]', "table[x].high(x)"):
            with self.subTest(harmless):
                both(harmless)
                self.expect("check_circles.py", 0, "none in 1 of 1 folders")
        for circle in ("high(x)", "inlined(x)", "WRITTEN(x)", "ROWS[x].f(x)"):
            with self.subTest(circle):
                both(circle)
                self.expect("check_circles.py", 1, "proto: 2 files call each other, at most 1 may: low.c ways/high.c")

    def test_circles_looks_at_components_and_not_at_their_programs(self):
        def circle(folder, first, second):
            self.put(f"{folder}/{first}.c", f"int {first}(int x)\n{{\n    return {second}(x);\n}}\n")
            self.put(f"{folder}/{second}.c", "__attribute__((format(printf, 1, 2))) int\n"
                     f"{second}(int x)\n{{\n    return {first}(x);\n}}\n")

        self.put("mpi/op/format.c", "int format(int x)\n{\n    return x;\n}\n")
        for folder in ("mpi/tests/run", "mpi/examples", "memcached-rdma/util/example", "memcached-rdma/tests/unit/store"):
            circle(folder, "left", "right")
        self.expect("check_circles.py", 0, "largest circles: none in 1 of 1 folders")
        looked_at = ("mpi/op", "mpi/mpi/coll", "mpi/bench/common", "memcached-rdma/util", "native-core/tools/vbn_perf",
                     "native-core/jni")
        for folder in looked_at:
            circle(folder, "left", "right")
        result = self.run_tool("check_circles.py", self.root)
        self.assertEqual(result.returncode, 1, result.stdout)
        for folder in looked_at:
            self.assertIn(f"{folder}: 2 files call each other, at most 1 may: left.c right.c", result.stderr)

    def test_circles_asks_for_the_lower_number(self):
        folder, most = next(iter(runpy.run_path(str(TOOLS / "check_circles.py"))["LARGEST"].items()))
        self.put(f"{folder}/alone.c", "int alone(int x)\n{\n    return x;\n}\n")
        self.expect("check_circles.py", 1, f"{folder}: 1 files call each other, and LARGEST allows {most}; write 1 there")

    def test_circles_refuses_an_empty_tree(self):
        self.expect("check_circles.py", 1, "is this the repository?")

    def test_settings_finds_rows_that_nobody_reads(self):
        self.put("native-core/config/settings.yaml", GOOD)
        self.put("native-core/src/base/a.c", "settings->a_b;\n")
        self.expect("check_settings.py", 1, "a.b: no code reads")
        self.put("native-core/src/tl/a.c", "int x = s->settings->a_b;\n")
        self.expect("check_settings.py", 0, "settings: 1 rows, 0 read nowhere")

    def test_budgets_measures_c_functions_and_files(self):
        def function(lines):
            return "static int f(int x)\n{\n" + "    x++;\n" * lines + "}\n"

        self.put("native-core/a.c", function(40) + function(3))
        self.expect("check_budgets.py", 0, "1 C files, 2 functions")
        self.put("native-core/a.c", function(41))
        self.expect("check_budgets.py", 1, "f has 41 lines")
        self.put("native-core/a.c", "/* x */\n" * 1001)
        self.expect("check_budgets.py", 1, "1001 lines, at most 1000")
        self.put("native-core/a.c", "")
        self.put("native-core/src/proto/ways/a.c", function(40))
        self.expect("check_budgets.py", 0, "1 functions")
        self.put("native-core/src/proto/ways/a.c", function(41))
        self.expect("check_budgets.py", 1, "f has 41 lines, at most 40")

    def test_budgets_measures_java_methods_and_nothing_else(self):
        self.put("native-core/a.c", "int x;\n")
        body = "        call(1); // { not a brace\n"
        java = ("class A {\n    @Anno({\"x\"})\n    void small() {\n        if (x) {\n" + body * 20 + "        }\n    }\n"
                + "    int big(int a,\n            int b) throws X {\n" + "{lines}" + "    }\n"
                + "    Runnable r = new Runnable() {\n        public void run() {\n" + body * 2 + "        }\n    };\n"
                + body.replace("call(1);", "int[] t = {1};") * 70 + "}\n")
        self.put("A.java", java.replace("{lines}", body * 60))
        self.expect("check_budgets.py", 0, "1 Java files, 3 methods")
        self.put("A.java", java.replace("{lines}", body * 61))
        self.expect("check_budgets.py", 1, "big has 61 lines")
        self.put("A.java", "")
        self.put("target/B.java", java.replace("{lines}", body * 61))
        self.expect("check_budgets.py", 0, "1 Java files, 0 methods")


class CheckClang(ToolTest):
    def build(self, *names):
        """A build folder that compiles these files of the core, with an option that only gcc knows."""
        entries = [{"directory": str(self.root), "file": str(CORE / name),
                    "command": f"cc -I{CORE}/include -I {CORE}/src -fstack-clash-protection -std=c11 -o x.o -c {CORE / name}"}
                   for name in names]
        self.put("compile_commands.json", json.dumps(entries))
        return "--build", self.root

    def test_lists_each_c_file_once_and_refuses_names_of_none(self):
        build = self.build("src/base/ring.c", "src/base/ring.c", "src/base/list.c", "tests/models/main.cc")
        listed = self.run_tool("check_clang.py", "--list", *build, *build)
        self.assertEqual(listed.stdout.split(), ["native-core/src/base/list.c", "native-core/src/base/ring.c"])
        chosen = self.run_tool("check_clang.py", "--list", *build, "ring")
        self.assertEqual(chosen.stdout.split(), ["native-core/src/base/ring.c"])
        refused = self.run_tool("check_clang.py", *build, "ring", "nosuch")
        self.assertEqual((refused.returncode, refused.stderr), (2, "no test matches 'nosuch'\n"))

    def test_names_what_clang_refuses(self):
        if not any(shutil.which(name) for name in ("clang", *(f"clang-{version}" for version in range(21, 13, -1)))):
            self.skipTest("no clang here: install Debian's package clang")
        result = self.run_tool("check_clang.py", *self.build("src/base/nosuch.c", "examples/client.c"))
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn("FAIL native-core/src/base/nosuch.c", result.stdout)
        self.assertIn("1 passed, 1 failed", result.stdout)


if __name__ == "__main__":
    unittest.main()
