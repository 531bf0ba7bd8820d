"""Acceptance against the number of drafts, with the ceilings, as a picture (PNG or SVG)."""

from fractions import Fraction
from pathlib import Path
from typing import Any

from specproof.leaderboard.measure import Board
from specproof.leaderboard.suite import Ladder

ENDINGS = (".png", ".svg")
PANELS = 3
# name of the contestant: label, colour, marker, its size. Where lines coincide the markers lie inside each other.
DRAWN = {
    "greedy_block + first": ("greedy block, first draft only", "#7F7F7F", "x", 6),
    "recursive": ("recursive rejection", "#A0522D", "+", 8),
    "k_seq": ("K-SEQ", "#CC79A7", "v", 6),
    "transport": ("token-level optimum (OTM)", "#E69F00", "D", 12),
    "greedy_block + scan": ("scan + greedy block", "#009E73", "^", 10),
    "block + race balanced": ("race + block", "#56B4E9", "s", 7),
    "spectr_gbv": ("race + greedy block (SpecTr-GBV, corrected)", "#0072B2", "o", 4),
    "spectr_gbv_published": ("SpecTr-GBV as published (lossy)", "#D00000", "X", 6),
}
# name of the ceiling: label, line style
LIMITS = {
    "optimum": ("optimum (block transport)", "-"),
    "level": ("level ceiling", ":"),
    "claimed": ("claimed by SpecTr-GBV", "--"),
}


def shapes(board: Board) -> dict[tuple[int, int], list[Ladder]]:
    """Ladders by vocabulary and length, each shape at its greatest number of drafts; the three most telling shapes."""
    found: dict[tuple[int, int], list[Ladder]] = {}
    for ladder in board.suite.ladders:
        found.setdefault(ladder.shape, []).append(ladder)
    kept = {
        shape: [ladder for ladder in ladders if ladder.most == max(other.most for other in ladders)]
        for shape, ladders in found.items()
    }
    tall = [shape for shape, ladders in kept.items() if ladders[0].most >= 3]
    return {shape: kept[shape] for shape in sorted(tall, key=lambda s: (s[1], s[0]))[-PANELS:]}


def mean(values: list[Fraction]) -> float:
    """Mean as a float."""
    return sum(map(float, values)) / len(values)


def draw(board: Board, path: Path) -> None:
    """Write the picture. One panel for each shape of instances, the mean over its instances."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    panels = shapes(board)
    figure = Figure(figsize=(4.6 * len(panels) + 0.4, 5.9), layout="constrained")
    FigureCanvasAgg(figure)
    all_axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for axes, (shape, ladders) in zip(all_axes, panels.items(), strict=True):
        _panel(axes, board, shape, ladders)
    all_axes[0].set_ylabel("accepted draft tokens per block, E[τ]")
    figure.suptitle("Accepted tokens against the number of drafts, exactly", fontsize=13)
    handles, labels = all_axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(4, 2 * len(panels)), frameon=False, fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=160)


def _panel(axes: Any, board: Board, shape: tuple[int, int], ladders: list[Ladder]) -> None:
    rungs = list(zip(*(ladder.rungs() for ladder in ladders), strict=True))
    drafts = range(1, len(rungs) + 1)
    for name, (label, style) in LIMITS.items():
        heights = [mean([board.ceilings[case][name] for case in cases]) for cases in rungs]
        axes.plot(drafts, heights, style, color="black", linewidth=1.6, label=label, zorder=2)
    for name, (label, colour, marker, size) in DRAWN.items():
        runs = board.runs[name]
        heights = [mean([runs[case].expected_accepted for case in cases]) for cases in rungs]
        axes.plot(
            drafts, heights, color=colour, marker=marker, markersize=size, markerfacecolor="none" if size > 6 else colour,
            markeredgewidth=1.5, linewidth=1.3, label=label, zorder=3,
        )  # fmt: skip
    vocabulary, length = shape
    averaged = "one instance" if len(ladders) == 1 else f"mean of {len(ladders)} instances"
    axes.set_title(f"vocabulary {vocabulary}, draft length {length} ({averaged})", fontsize=11)
    axes.set_xlabel("number of drafts, K")
    axes.set_xticks(list(drafts))
    axes.grid(visible=True, color="#E5E5E5", zorder=0)
    axes.spines[["top", "right"]].set_visible(False)
