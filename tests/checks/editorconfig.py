# SPDX-License-Identifier: Apache-2.0
"""Reads .editorconfig: what holds for a path. Of its patterns it knows *, **, ? and {a,b}, which may be nested."""
import fnmatch
import re


def _alternatives(pattern):
    """Yields the patterns without braces that this one stands for; the innermost braces are opened first."""
    found = re.search(r"\{([^{}]*)\}", pattern)
    if not found:
        yield pattern
        return
    for choice in found[1].split(","):
        yield from _alternatives(pattern[:found.start()] + choice + pattern[found.end():])


class EditorConfig:
    def __init__(self, text):
        self._sections = []  # (patterns, {key: value}) in their order
        for line in map(str.strip, text.splitlines()):
            if line.startswith("[") and line.endswith("]"):
                self._sections.append((list(_alternatives(line[1:-1])), {}))
            elif "=" in line and not line.startswith(("#", ";")) and self._sections:
                key, value = line.split("=", 1)
                self._sections[-1][1][key.strip().lower()] = value.strip().lower()

    def of(self, path):
        """The settings of a path relative to the file's folder; later sections win, 'unset' takes a setting away."""
        settings = {}
        for patterns, values in self._sections:
            if any(fnmatch.fnmatchcase(str(path) if "/" in pattern else path.name, pattern) for pattern in patterns):
                settings.update(values)
        return {key: value for key, value in settings.items() if value != "unset"}
