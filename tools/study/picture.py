"""The studies as pictures: tokens a round against the number of drafts; tokens a round of every contestant on every stream."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from specproof.study import metasd, spectr_gbv

WIDE = 3
SINGLE, BANDIT = "#9aa7b4", "#1f6f8b"


def drafts_picture(rows: Sequence[spectr_gbv.Row], path: Path) -> None:
    """One panel for each length and temperature; one-draft rules are level lines."""
    panels = sorted({(row.length, row.temperature) for row in rows})
    figure, all_axes = _figure(len(panels))
    for axes, (length, temperature) in zip(all_axes, panels, strict=True):
        own = [row for row in rows if (row.length, row.temperature) == (length, temperature)]
        for name, _, several in spectr_gbv.CONTESTANTS:
            line = [row for row in own if row.name == name]
            if several:
                axes.errorbar(
                    [row.drafts for row in line], [row.long.value for row in line], [row.long.half for row in line],
                    marker="o", markersize=3, capsize=2, label=name,
                )  # fmt: skip
            else:
                axes.axhline(line[0].long.value, linestyle="--", linewidth=1, color="grey")
                axes.annotate(
                    name, (max(row.drafts for row in own), line[0].long.value), fontsize=7, ha="right", va="bottom"
                )
        axes.set_title(f"L = {length}, temperature {temperature:g}", fontsize=9)
        axes.set_xlabel("drafts, K")
    for axes in all_axes[::WIDE]:
        axes.set_ylabel("tokens a round")
    all_axes[0].legend(fontsize=7)
    figure.savefig(path, dpi=150)


def streams_picture(rows: Sequence[metasd.Row], path: Path) -> None:
    """One panel for each stream."""
    streams = list(dict.fromkeys(row.stream for row in rows))
    figure, all_axes = _figure(len(streams))
    for place, (axes, stream) in enumerate(zip(all_axes, streams, strict=True)):
        own = [row for row in rows if row.stream == stream][::-1]
        axes.barh(
            [row.name for row in own], [row.efficiency.value for row in own], xerr=[row.efficiency.half for row in own],
            color=[SINGLE if row.best_arm is None else BANDIT for row in own],
        )  # fmt: skip
        axes.set_title(stream, fontsize=9)
        axes.tick_params(axis="y", labelsize=7, labelleft=place % WIDE == 0)
        axes.set_xlabel("tokens a round")
    figure.savefig(path, dpi=150)


def _figure(panels: int) -> tuple[Any, list[Any]]:
    """A figure with so many panels, three beside each other."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    wide = min(panels, WIDE)
    high = -(-panels // wide)
    figure = Figure(figsize=(3.4 * wide + 1.4, 3.6 * high), layout="constrained")
    FigureCanvasAgg(figure)
    every = list(figure.subplots(high, wide, squeeze=False).flat)
    for axes in every[panels:]:
        axes.set_axis_off()
    return figure, every[:panels]
