"""The picture of docs/performance.md: who needs how much processor time for one event, over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .loopback.answers import TEXT_DELTAS
from .loopback.contenders import FLOOR, OURS
from .loopback.race import Reading

_SHORT = {FLOOR: "the floor"}
_OURS, _FLOOR, _OTHERS = "#d9480f", "#868e96", "#4c6ef5"


def plot(readings: Sequence[Reading], target: Path) -> None:
    """One panel for each format, a bar for each client, shortest first; the same readings give the same file."""
    wires = list(dict.fromkeys(one.wire for one in readings))
    shown = {wire: _bars(readings, wire) for wire in wires}
    with mpl.rc_context({"svg.hashsalt": "toolwire", "svg.fonttype": "none", "font.family": "sans-serif"}):
        heights = [len(bars) + 1.2 for bars in shown.values()]
        figure = Figure(figsize=(9, 0.27 * sum(heights) + 1.2), layout="constrained")
        panels = figure.subplots(len(wires), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
        for axes, wire in zip(panels, wires, strict=True):
            _panel(axes, wire, shown[wire])
        panels[-1].set_xlim(0.5, 2.5 * max(one.micros for bars in shown.values() for one in bars))
        panels[-1].set_xlabel(f"µs of processor time per event, logarithmic ({TEXT_DELTAS:,} text deltas)")
        figure.suptitle("From the socket to events", fontsize=12, fontweight="bold")
        figure.savefig(target, format="svg", metadata={"Date": None, "Creator": None})


def _bars(readings: Sequence[Reading], wire: str) -> list[Reading]:
    chosen = [
        one
        for one in readings
        if one.wire == wire and one.kind == "text" and one.seconds is not None and "sans-IO" not in one.name
    ]
    return sorted(chosen, key=lambda one: one.micros)


def _panel(axes: Axes, wire: str, bars: Sequence[Reading]) -> None:
    colours = [{OURS: _OURS, FLOOR: _FLOOR}.get(one.name, _OTHERS) for one in bars]
    names = [_SHORT.get(one.name, one.name.replace("`", "")) for one in bars]
    drawn = axes.barh(range(len(bars)), [one.micros for one in bars], color=colours, height=0.72)
    axes.bar_label(drawn, [f"{one.micros:.1f}" for one in bars], padding=3, fontsize=8)
    axes.set_yticks(range(len(bars)), names, fontsize=8)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.minorticks_off()
    axes.set_title(wire, loc="left", fontsize=9, fontweight="bold", pad=3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x", linewidth=0.4, alpha=0.5)
    axes.set_axisbelow(True)
    axes.tick_params(axis="x", labelsize=8)
