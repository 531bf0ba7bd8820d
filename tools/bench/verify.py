"""``bench verify``: one draft against what others ship, rules for several drafts, and how time grows."""

from collections.abc import Callable, Mapping, Sequence

import torch

from specproof.bench import ours, rivals
from specproof.bench.clock import Contender, Listener, measure
from specproof.bench.inputs import Inputs, Size, inputs
from specproof.bench.report import Growth, Part, Section

ONE_DRAFT = ("standard", "block", "greedy_block")
SEVERAL = ("recursive", "staged_greedy", "traversal", "greedy_multipath_block", "spectr_gbv", "spectr_gbv_published")
FROM_PROBABILITIES = {
    "vLLM C++ kernels": rivals.vllm_from_probabilities,
    "flashspec": rivals.flashspec_from_probabilities,
}
FROM_LOGITS = {
    "transformers": rivals.transformers_from_logits,
    "vLLM C++ kernels": rivals.vllm_from_logits,
    "flashspec": rivals.flashspec_from_logits,
}
WITHOUT_BONUS = "vLLM's time is without the bonus token, which its caller draws; ours is with it."
QUICK = [Size(8, 1, 4, 32000), Size(1, 1, 5, 32000), Size(1, 4, 4, 32000)]
MANY = Size(1_000_000, 1, 1, 8)  # what a certificate by sampling asks for
FULL = [
    MANY,
    Size(64, 1, 4, 32000),
    Size(1, 1, 5, 32000),
    Size(1, 1, 5, 128256),
    Size(1, 4, 4, 32000),
    Size(1, 8, 8, 32000),
]
GROWTH = Size(4, 4, 4, 8000)
AXES = {"V": (8000, 16000, 32000, 64000), "L": (2, 4, 8, 16), "K": (2, 4, 8), "B": (1, 4, 16)}
Makers = Callable[[Inputs], list[Contender]]


def verify(
    sizes: Sequence[Size], axes: Mapping[str, Sequence[int]], seconds: float, device: torch.device, listen: Listener
) -> list[Part]:
    """Measure every size, about ``seconds`` each, then the growth along some axes."""
    parts: list[Part] = []
    for size in sizes:
        given = inputs(size, device=device)
        if size.drafts > 1:
            parts.append(_section("several drafts, from probabilities", given, several(given), {}, seconds, listen))
            continue
        mine = [ours.verifier(name, given) for name in ONE_DRAFT]
        parts.append(_section("one draft, from probabilities", given, mine, FROM_PROBABILITIES, seconds, listen))
        if size.batch == 1:
            mine = [
                make(name, given) for make in (ours.from_logits, ours.softmax_first) for name in ("standard", "block")
            ]
            parts.append(_section("one draft, from logits", given, mine, FROM_LOGITS, seconds, listen))
    return [
        *parts,
        *(growth(axis, values, GROWTH, grown, seconds / 2, device, listen) for axis, values in axes.items()),
    ]


def several(given: Inputs) -> list[Contender]:
    """Every rule for several drafts; K-SEQ is what the others are compared with."""
    return [
        *(ours.verifier(name, given) for name in ("k_seq", *SEVERAL)),
        ours.composed("scan", "block", given),
        ours.composed("race balanced", "block", given),
    ]


def grown(given: Inputs) -> list[Contender]:
    """Those whose growth is shown: with one draft of the request for the rules that take one."""
    one = Inputs(given.size.with_("K", 1), given.tokens[:, :1], given.draft_logits[:, :1], given.target_logits[:, :1])
    return [
        *(ours.verifier(name, one, title=f"{name}, K=1") for name in ("standard", "block")),
        *(ours.verifier(name, given) for name in ("k_seq", "recursive")),
        ours.composed("scan", "block", given),
        ours.composed("race balanced", "block", given),
    ]


def growth(
    axis: str, values: Sequence[int], base: Size, make: Makers, seconds: float, device: torch.device, listen: Listener
) -> Growth:
    """Median times at some sizes of one axis."""
    spent: dict[str, list[float]] = {}
    for value in values:
        given = inputs(base.with_(axis, value), device=device)
        for timing in measure(make(given), seconds=seconds, device=device, listen=listen):
            spent.setdefault(timing.name, []).append(timing.milliseconds.median)
    return Growth(axis, base, values, spent)


def _section(
    title: str,
    given: Inputs,
    mine: list[Contender],
    makers: Mapping[str, rivals.Maker],
    seconds: float,
    listen: Listener,
) -> Section:
    others, skipped = rivals.rivals(given, makers)
    timings = measure([*mine, *others], seconds=seconds, device=given.tokens.device, listen=listen)
    return Section(title, given.size, timings, WITHOUT_BONUS if "vLLM C++ kernels" in makers else "", skipped)
