"""``bench select``: what it costs to choose one of several drafts by a known law, beside K-SEQ."""

from collections.abc import Sequence

import torch

from specproof.bench import ours
from specproof.bench.clock import Contender, Listener, measure
from specproof.bench.inputs import Inputs, Size, inputs
from specproof.bench.report import Part, Section
from specproof.bench.verify import growth

QUICK, FULL = Size(1, 4, 4, 32000), Size(1, 8, 8, 32000)
QUICK_VOCABULARIES, VOCABULARIES = (8000, 32000), (8000, 16000, 32000, 64000, 128000)
NOTE = (
    "spectr_gbv: greedy_block + race balanced. A race reads every distinct prefix of the drafts, K-SEQ only where it goes, "
    "scan and best_ratio only where drafts may share the path."
)


def select(
    size: Size, vocabularies: Sequence[int], seconds: float, device: torch.device, listen: Listener
) -> list[Part]:
    """Measure verification and selection alone at one size, then the growth with V."""
    given = inputs(size, device=device)
    whole, alone = verifications(given), [ours.verifier("k_seq", given), *selections(given)]
    return [
        Section("verification", size, measure(whole, seconds=seconds, device=device, listen=listen), NOTE),
        Section("selection alone", size, measure(alone, seconds=seconds, device=device, listen=listen)),
        growth(
            "V",
            vocabularies,
            size,
            lambda at: [ours.verifier("k_seq", at), *selections(at)],
            seconds / 2,
            device,
            listen,
        ),
    ]


def verifications(given: Inputs) -> list[Contender]:
    """K-SEQ, then block verification behind every selector, then greedy behind the race."""
    return [
        ours.verifier("k_seq", given),
        *(ours.composed(name, "block", given) for name in ours.SELECTORS),
        ours.verifier("spectr_gbv", given),
    ]


def selections(given: Inputs) -> list[Contender]:
    """Every selector."""
    return [ours.selection(name, given) for name in ours.SELECTORS]
