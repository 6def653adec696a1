# SPDX-License-Identifier: Apache-2.0
"""Reads what JUnit's console launcher reports."""
import xml.etree.ElementTree as tree


def _state(case):
    for kind, state in (("failure", "FAIL"), ("error", "FAIL"), ("skipped", "skip")):
        found = case.find(kind)
        if found is not None:
            return state, found.text or found.get("message") or ""
    return "ok", ""


def read(folder):
    """[(CLASS#METHOD with its arguments' number, "ok" | "skip" | "FAIL", text, seconds)] of all reports in a folder."""
    results = []
    for path in sorted(folder.glob("TEST-*.xml")):
        for case in tree.parse(path).getroot().iter("testcase"):
            name = case.get("name").replace("()", "")
            state, text = _state(case)
            results.append((f"{case.get('classname')}#{name}", state, text, float(case.get("time", 0))))
    return results
