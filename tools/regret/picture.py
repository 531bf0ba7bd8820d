"""Regret against tokens as a picture (PNG or SVG): median, the middle nine tenths of the runs, and the noiseless curve."""

from collections.abc import Sequence
from pathlib import Path

from specproof.regret.simulate import Runs

ENDINGS = (".png", ".svg")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F", "#000000")


def draw(found: Sequence[Runs], path: Path) -> None:
    """Write the picture; tokens on a logarithmic scale, on which logarithmic regret is a straight line."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5.4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    dashed = False
    for index, runs in enumerate(found):
        colour = COLOURS[index % len(COLOURS)]
        low, middle, high = runs.quantiles()
        label = f"{runs.contender.name}, {runs.contender.told}"
        axes.plot(runs.checkpoints, middle, color=colour, marker="o", markersize=3.5, label=label, zorder=3)
        axes.fill_between(runs.checkpoints, low, high, color=colour, alpha=0.15, linewidth=0, zorder=1)
        if (curve := runs.curve()) is not None:
            name = None if dashed else "noiseless curve"
            axes.plot(runs.checkpoints, curve, "--", color="black", linewidth=1.2, label=name, zorder=4)
            dashed = True
    axes.set_xscale("log")
    axes.set_xticks(found[0].checkpoints, [f"{tokens:,}" for tokens in found[0].checkpoints])
    axes.minorticks_off()
    axes.set_xlabel("tokens")
    axes.set_ylabel("lost, in rounds of the best drafter")
    axes.set_ylim(bottom=0)
    axes.set_title(f"Pseudo-regret: median of {found[0].lost.shape[1]} runs, 5 % to 95 %", fontsize=11)
    axes.grid(visible=True, color="#E5E5E5", zorder=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=160)
