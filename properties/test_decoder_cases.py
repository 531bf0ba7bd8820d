"""Decoder cases: where tokens are filtered or the best is taken, no tie leaves open which."""

import itertools
from dataclasses import replace

import pytest
import torch

from specproof.properties.decoder_cases import DecoderCase, decoder_cases

CHOOSING = [case for case in decoder_cases(2) if case.sampling.needs & {"filters", "greedy"}]
CLEAR = 1e-3


def processed(case: DecoderCase) -> list[list[float]]:
    """Rows of both models after every text, processed but not filtered."""
    open_row = replace(case.sampling, top_k=None, top_p=None, temperature=case.sampling.temperature or 1.0)
    tokens = range(case.target.vocabulary)
    texts = [text for count in range(case.tokens) for text in itertools.product(tokens, repeat=count)]
    return [
        case_row.tolist()
        for model in (case.target, case.draft)
        for text in texts
        for case_row in [open_row.row(torch.tensor((*case.prefix, *text)), model.logits((*case.prefix, *text)))]
    ]


@pytest.mark.parametrize("case", CHOOSING, ids=lambda case: case.name)
def test_no_tie_leaves_open_what_is_kept(case: DecoderCase) -> None:
    """Probabilities are distinct, and no nucleus ends at its mass: an engine that sorts otherwise keeps the same tokens."""
    for row in processed(case):
        ranked = sorted(row, reverse=True)
        assert min(a - b for a, b in itertools.pairwise(ranked)) > CLEAR, row
        kept = ranked[: case.sampling.top_k]
        masses = [mass / sum(kept) for mass in itertools.accumulate(kept)]
        if case.sampling.top_p is not None:
            assert min(abs(mass - case.sampling.top_p) for mass in masses) > CLEAR, row
