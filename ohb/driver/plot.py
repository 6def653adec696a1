# SPDX-License-Identifier: Apache-2.0
"""Plots as SVG text, to be put inside an HTML page."""
import io
import re

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot  # noqa: E402  (the backend must be chosen first)

GOOD, BAD, NEUTRAL = "#2a7f62", "#b5403a", "#6b7280"
matplotlib.rcParams.update({"svg.hashsalt": "ohb", "font.size": 9, "axes.spines.top": False,
                            "axes.spines.right": False, "svg.fonttype": "none"})


def _svg(figure):
    text = io.StringIO()
    figure.savefig(text, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
    return re.sub(r"^.*?(?=<svg)", "", text.getvalue(), flags=re.S)


def ratios(entries):
    """One line per entry (label, ratio, lo, hi, better): point and 95 % interval, 1 = as fast as stock."""
    figure, axes = pyplot.subplots(figsize=(7.5, 0.8 + 0.28 * len(entries)))
    for place, (_, ratio, lo, hi, better) in enumerate(entries):
        wins = ratio < 1 if better == "lower" else ratio > 1
        clear = (hi < 1 or lo > 1)
        color = NEUTRAL if not clear else GOOD if wins else BAD
        axes.plot([lo, hi], [place, place], color=color, linewidth=2)
        axes.plot([ratio], [place], "o", color=color, markersize=5)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_yticks(range(len(entries)), [entry[0] for entry in entries])
    axes.invert_yaxis()
    axes.set_xlabel("ratio Verbena / stock, median and 95 % interval")
    axes.grid(axis="x", alpha=0.3)
    return _svg(figure)


def bars(entries, unit):
    """Grouped bars per entry (label, stock, ours)."""
    figure, axes = pyplot.subplots(figsize=(7.5, 3))
    places = range(len(entries))
    axes.bar([place - 0.2 for place in places], [entry[1] for entry in entries], 0.4, label="stock", color=NEUTRAL)
    axes.bar([place + 0.2 for place in places], [entry[2] for entry in entries], 0.4, label="Verbena", color=GOOD)
    axes.set_xticks(list(places), [entry[0] for entry in entries], rotation=30, ha="right")
    axes.set_ylabel(unit)
    axes.legend(frameon=False)
    axes.grid(axis="y", alpha=0.3)
    return _svg(figure)
