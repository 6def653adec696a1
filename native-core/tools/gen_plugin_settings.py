#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes Java and documentation out of the table of the plugins' settings, native-core/config/plugins.yaml, and compares them.

usage: gen_plugin_settings.py REPOSITORY --java FILE     writes the enum PluginSetting
       gen_plugin_settings.py REPOSITORY --pages         writes the tables of docs/*.md anew
       gen_plugin_settings.py REPOSITORY --check         status 1 and a line for each page that differs and each setting that
                                                         no plugin reads
"""
import pathlib
import re
import sys

import gen_settings
from gen_settings import TableError, quote

TABLE = "native-core/config/plugins.yaml"
PLUGIN_FIELDS = {"plugin", "prefix", "page", "core"}
FIELDS = {"plugin", "key", "type", "default", "shown", "min", "max", "unit", "values", "takes", "help"}
OF_TYPE = {"bool": set(), "int": {"min", "max", "unit"}, "size": {"min", "max"}, "word": {"values"}, "text": {"takes"}}
NEEDED = {"bool": {"default"}, "int": {"default", "min", "max"}, "size": set(), "word": {"default", "values"}, "text": {"takes"}}
OF_ALL = {"plugin", "key", "type", "default", "shown", "help"}
UNITS = "kmgtp"
JAVA_LONG_MAX = 2**63 - 1
BEGIN = "<!-- Settings of {plugin}: written by native-core/tools/gen_plugin_settings.py from native-core/config/plugins.yaml. -->"
END = "<!-- End of settings. -->"
SOURCES = ("spark-rdma-shuffle", "hadoop-rdma", "hbase-rdma")


def number_of(kind, text):
    """A bound or default in base units."""
    match = re.fullmatch(r"(\d+)([kmgtp]?)", text)
    if not match or (kind == "int" and match[2]):
        raise TableError(f"{text!r} is not of type {kind}")
    return int(match[1]) << (10 * (UNITS.index(match[2]) + 1) if match[2] else 0)


def check_setting(row):
    """Checks one row on its own and adds low, high and name, the Java constant's."""
    kind = row.get("type")
    if kind not in OF_TYPE:
        raise TableError(f"type {kind!r} is none of {', '.join(OF_TYPE)}")
    missing = ({"plugin", "key", "help"} | NEEDED[kind]) - set(row)
    strange = set(row) - OF_ALL - OF_TYPE[kind]
    if missing or strange or not {"default", "shown"} & set(row):
        raise TableError(f"missing fields {sorted(missing)}, strange fields {sorted(strange)}, and default or shown is needed")
    if any(isinstance(value, list) != (name == "values") for name, value in row.items()):
        raise TableError("the field values, and only that, is a list")
    if not re.fullmatch(r"[a-z][A-Za-z0-9]*(\.[a-z][A-Za-z0-9]*)*", row["key"]):
        raise TableError(f"key {row['key']!r} is not words joined by dots")
    if any(ord(c) < 32 or ord(c) > 126 for c in row["help"] + row.get("shown", "")):
        raise TableError("help and shown are plain ASCII")
    check_default(row)


def check_default(row):
    kind, default = row["type"], row.get("default")
    row["low"] = number_of(kind, row["min"]) if "min" in row else 0
    row["high"] = number_of(kind, row["max"]) if "max" in row else JAVA_LONG_MAX
    if row["low"] > row["high"] or row["high"] > JAVA_LONG_MAX:
        raise TableError("min is above max, or max does not fit 64 bits")
    if default is None:
        return
    if kind == "bool" and default not in ("true", "false"):
        raise TableError(f"default {default!r} is neither true nor false")
    if kind == "word" and (default not in row["values"] or len(set(row["values"])) != len(row["values"])):
        raise TableError(f"default {default!r} is not among the values, or a value appears twice")
    if kind in ("int", "size") and not row["low"] <= number_of(kind, default) <= row["high"]:
        raise TableError(f"default {default} is outside of the bounds")


def check_plugin(row):
    if set(row) != PLUGIN_FIELDS or not re.fullmatch(r"[a-z]+", row["plugin"]) or not row["prefix"].endswith("."):
        raise TableError(f"a plugin's row has the fields {sorted(PLUGIN_FIELDS)}, a name of letters, a prefix that ends in a dot")


def add_name(row, plugins):
    """The Java constant: HDFS_KEY_FILE; where the plugin shares its prefix, its name begins the key already."""
    plugin = row["plugin"]
    shares = sum(other["prefix"] == plugins[plugin]["prefix"] for other in plugins.values()) > 1
    if shares and not row["key"].startswith(plugin + "."):
        raise TableError(f"key {row['key']!r} has to begin with {plugin + '.'!r}: other plugins have the same prefix")
    words = row["key"] if shares else plugin + "." + row["key"]
    row["name"] = re.sub(r"([A-Z])", r"_\1", words).replace(".", "_").upper()


def read_rows(path):
    """Yields (line number, row)."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            if not line.startswith("- "):
                raise TableError(f"{path}:{number}: a row starts with '- {{'")
            yield number, gen_settings.parse_mapping(line[2:])


def load(path):
    """(plugins by name, settings), both in the order of the table."""
    plugins, settings, names = {}, [], set()
    number = 0
    try:
        rows = list(read_rows(path))
        for number, row in rows:
            if "prefix" in row:
                check_plugin(row)
                plugins[row["plugin"]] = row
        for number, row in rows:
            if "prefix" in row:
                continue
            check_setting(row)
            if row["plugin"] not in plugins:
                raise TableError(f"plugin {row['plugin']!r} has no row of its own")
            add_name(row, plugins)
            if row["name"] in names:
                raise TableError(f"{row['key']} is there twice")
            names.add(row["name"])
            settings.append(row)
    except TableError as error:
        raise TableError(f"{path}:{number}: {error}") from None
    return plugins, settings


def javadoc(text):
    """Markdown as Javadoc."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("@", "&#64;").replace("*/", "*&#47;")
    return re.sub(r"`([^`]*)`", r"{@code \1}", text)


JAVA = '''// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.plugin;

import java.util.List;
import java.util.Locale;

/** The settings of all plugins. Generated from {table} by native-core/tools/gen_plugin_settings.py; do not edit. */
public enum PluginSetting {{
{constants};

    /** A plugin. */
    public enum Plugin {{
{plugins};

        private final String prefix;

        Plugin(String prefix) {{
            this.prefix = prefix;
        }}

        /** What the keys of its settings begin with. */
        public String prefix() {{
            return prefix;
        }}

        /** What the names of its settings begin with where it shares the prefix with others. */
        String part() {{
            return name().toLowerCase(Locale.ROOT) + ".";
        }}
    }}

    private final Plugin plugin;
    private final String key;
    private final String defaultValue;
    private final long min;
    private final long max;
    private final List<String> words;

    PluginSetting(Plugin plugin, String key, String defaultValue, long min, long max, String... words) {{
        this.plugin = plugin;
        this.key = key;
        this.defaultValue = defaultValue;
        this.min = min;
        this.max = max;
        this.words = List.of(words);
    }}

    /** Whose it is. */
    public Plugin plugin() {{
        return plugin;
    }}

    /** The whole key, as users write it. */
    public String key() {{
        return plugin.prefix + key;
    }}

    /** The key without the plugin's prefix. */
    String shortKey() {{
        return key;
    }}

    /** The default as text; null when the plugin derives it. */
    public String defaultValue() {{
        return defaultValue;
    }}

    /** The least number or size in bytes. */
    public long min() {{
        return min;
    }}

    /** The largest number or size in bytes. */
    public long max() {{
        return max;
    }}

    /** The whole key, for texts. */
    @Override
    public String toString() {{
        return key();
    }}

    /** The words that are possible; none unless it is one of several words. */
    public List<String> words() {{
        return words;
    }}
}}
'''


def java(plugins, settings):
    constants = []
    for row in settings:
        default = quote(row["default"]) if "default" in row else "null"
        words = "".join(", " + quote(value) for value in row.get("values", []))
        plugin, key = row["plugin"].upper(), quote(row["key"])
        constants.append(f"    /** {javadoc(row['help'])}. */\n    {row['name']}(Plugin.{plugin}, {key}, {default}, "
                         f"{row['low']}L, {row['high']}L{words})")
    kinds = [f"        /** {{@code {row['prefix']}*}}. */\n        {name.upper()}({quote(row['prefix'])})"
             for name, row in plugins.items()]
    return JAVA.format(table=TABLE, constants=",\n".join(constants), plugins=",\n".join(kinds))


def possible(row):
    """What a value may be, in the page's words."""
    kind = row["type"]
    if kind in ("bool", "word"):
        return ", ".join(f"`{value}`" for value in row.get("values", ["true", "false"]))
    if kind == "text":
        return row["takes"]
    if kind == "int":
        return f"`{row['min']}` to `{row['max']}`" + (" " + row["unit"] if "unit" in row else "")
    bounds = [word + f" `{row[name]}`" for name, word in (("min", "at least"), ("max", "at most")) if name in row]
    return ", ".join(["size"] + bounds)


def page_table(plugin, settings):
    lines = ["| setting | default | values | meaning |", "|---|---|---|---|"]
    for row in settings:
        if row["plugin"] == plugin["plugin"]:
            shown = row["shown"] if "shown" in row else f"`{row['default']}`"
            lines.append(f"| `{plugin['prefix']}{row['key']}` | {shown} | {possible(row)} | {row['help']} |")
    lines.append(f"| `{plugin['prefix']}core.*` | | | {plugin['core']} |")
    return "\n".join(lines)


def written(text, plugin, settings):
    """The page's text with its table as the settings give it; None where the page has no place for one."""
    begin = BEGIN.format(plugin=plugin["plugin"])
    before, mark, rest = text.partition(begin)
    _, end, after = rest.partition(END)
    return before + mark + "\n\n" + page_table(plugin, settings) + "\n\n" + end + after if mark and end else None


def pages(root, plugins, settings):
    """Yields (path, text now, text as it should be or None)."""
    for plugin in plugins.values():
        path = root / "docs" / plugin["page"]
        text = path.read_text(encoding="utf-8")
        yield path, text, written(text, plugin, settings)


def problems(root, plugins, settings):
    for path, text, wanted in pages(root, plugins, settings):
        if text != wanted:
            yield (f"{path.relative_to(root)}: the table of settings differs from {TABLE}; write it anew: python3 "
                   "native-core/tools/gen_plugin_settings.py . --pages")
    read = set()
    for path in (path for folder in SOURCES for path in (root / folder).glob("*/src/main/**/*.java")):
        used = re.sub(r"^import .*", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)  # an import alone reads nothing
        read |= set(re.findall(r"\b[A-Z][A-Z0-9_]+\b", used))
    for row in settings:
        if row["name"] not in read:
            yield f"{TABLE}: no plugin reads {row['key']} ({row['name']}); use it or remove the row"


def main(arguments):
    if len(arguments) < 2 or arguments[1:] not in (["--pages"], ["--check"], ["--java", arguments[-1]]):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    root = pathlib.Path(arguments[0])
    try:
        plugins, settings = load(root / TABLE)
        if arguments[1] == "--java":
            gen_settings.write(arguments[2], java(plugins, settings))
            return 0
        if arguments[1] == "--check":
            found = list(problems(root, plugins, settings))
            print("\n".join(found))
            return 1 if found else 0
        for path, text, wanted in pages(root, plugins, settings):
            if wanted is None:
                raise TableError(f"{path}: no place for the table of settings (two comments)")
            gen_settings.write(path, wanted)
    except (TableError, OSError) as error:
        print(f"gen_plugin_settings: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
