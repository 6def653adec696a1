# SPDX-License-Identifier: Apache-2.0
"""Plots as SVG text, to be put inside an HTML page."""
import io
import re

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot, ticker  # noqa: E402  (the backend must be chosen first)

GOOD, BAD, NEUTRAL = "#2a9d76", "#d0564f", "#808894"  # seen on white and on black
COLORS = {"better": GOOD, "worse": BAD}
LOGARITHMIC = 12  # ends of intervals that lie further apart share an axis only so
TEXT = "#010203"  # becomes the colour of the page's text
matplotlib.rcParams.update({"svg.hashsalt": "ohb", "font.size": 10, "axes.spines.top": False, "axes.spines.right": False,
                            "svg.fonttype": "none", "savefig.transparent": True,
                            **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"),
                                            TEXT)})


def _svg(figure):
    text = io.StringIO()
    figure.savefig(text, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
    svg = re.sub(r"^.*?(?=<svg)", "", text.getvalue(), flags=re.S)
    return svg.replace(TEXT, "currentColor")


def ratios(entries, title="Verbena / stock: median, 95 % interval"):
    """One line per entry (label, ratio, lo, hi, outcome): point and interval, in the verdict's colour. Fits a telephone."""
    figure, axes = pyplot.subplots(figsize=(4.8, 0.9 + 0.34 * len(entries)))
    for place, (_, ratio, lo, hi, outcome) in enumerate(entries):
        color = COLORS.get(outcome, NEUTRAL)
        axes.plot([lo, hi], [place, place], color=color, linewidth=2)
        axes.plot([ratio], [place], "o", color=color, markersize=5)
    axes.axvline(1, color=TEXT, linewidth=0.8)
    axes.set_yticks(range(len(entries)), [entry[0] for entry in entries])
    axes.invert_yaxis()
    axes.set_xlabel(title)
    if max(entry[3] for entry in entries) > LOGARITHMIC * min(entry[2] for entry in entries):
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_formatter(ticker.NullFormatter())
    axes.grid(axis="x", alpha=0.3)
    return _svg(figure)
