"""Verification from logits: the same uniforms give the tokens that ``verify`` gives on softmaxed rows."""

from collections.abc import Callable
from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from specproof.fast import from_logits
from specproof.fast.batch import Drafts, Outcome, Randomness
from specproof.fast.from_logits import entry_at
from specproof.fast.randomness import search
from specproof.fast.verifiers import block, standard


class Rule(NamedTuple):
    """One verifier, from logits and from probabilities, and how many uniforms it takes for three tokens."""

    logits: Callable[..., Outcome]
    verify: Callable[[Drafts, Randomness], Outcome]
    coins: int


RULES = [Rule(from_logits.standard, standard.verify, 4), Rule(from_logits.block, block.verify, 5)]
SIZES = [5, from_logits.WIDE, 4097]


def batch(vocabulary: int, size: int = 40, length: int = 3, noise: float = 0.7) -> tuple[Tensor, Tensor, Tensor]:
    """Drafted tokens, the draft's logits and the target's; the target rules out one token in eight."""
    generator = torch.Generator().manual_seed(vocabulary)
    target = torch.randn(size, length + 1, vocabulary, generator=generator) * 2
    draft = target[:, :-1] + noise * torch.randn(size, length, vocabulary, generator=generator)
    tokens = torch.multinomial(draft.softmax(-1).flatten(0, 1), 1, generator=generator).view(size, length)
    target[:, :, 3::8] = -torch.inf
    return tokens, draft, target


def uniforms(size: int, count: int) -> Tensor:
    """Uniforms of which some are the smallest and the largest that there are."""
    drawn = torch.rand(size, count, dtype=torch.float64, generator=torch.Generator().manual_seed(size))
    drawn[0], drawn[1], drawn[2, -1] = 0.0, 1 - 2.0**-53, 1 - 2.0**-53
    return drawn


@pytest.mark.parametrize("vocabulary", SIZES)
@pytest.mark.parametrize("rule", RULES, ids=["standard", "block"])
class TestParity:
    """Against ``verify`` on the softmax of the same logits."""

    def test_same_tokens(self, rule: Rule, vocabulary: int) -> None:
        """At every length of the accepted prefix."""
        tokens, draft, target = batch(vocabulary)
        drawn = uniforms(40, rule.coins)
        found = rule.logits(tokens, draft, target, drawn)
        expected = rule.verify(Drafts(tokens[:, None], draft.softmax(-1)[:, None], target.softmax(-1)[:, None]), drawn)
        assert found.tokens.tolist() == expected.tokens.tolist()
        assert found.accepted.tolist() == expected.accepted.tolist()
        assert set(found.accepted.tolist()) == {0, 1, 2, 3}

    def test_lengths_temperature_and_precision(self, rule: Rule, vocabulary: int) -> None:
        """Ragged requests, a temperature, bfloat16 logits: softmax in float32."""
        tokens, draft, target = batch(vocabulary)
        draft, target = draft.bfloat16(), target.bfloat16()
        lengths, drawn = torch.arange(40) % 4, uniforms(40, rule.coins)
        found = rule.logits(tokens, draft, target, drawn, temperature=0.7, lengths=lengths)
        rows = [(logits.float() / 0.7).softmax(-1)[:, None] for logits in (draft, target)]
        expected = rule.verify(Drafts(tokens[:, None], *rows, lengths), drawn)
        assert found.tokens.tolist() == expected.tokens.tolist()

    def test_one_hot_drafts(self, rule: Rule, vocabulary: int) -> None:
        """Drafts without logits had probability one."""
        tokens, _, target = batch(vocabulary)
        target[:, :-1].scatter_(-1, tokens[..., None], target[:, :-1].logsumexp(-1, keepdim=True) + 0.5)
        drawn = uniforms(40, rule.coins)
        found = rule.logits(tokens, None, target, drawn)
        expected = rule.verify(Drafts(tokens[:, None], None, target.softmax(-1)[:, None]), drawn)
        assert found.tokens.tolist() == expected.tokens.tolist()
        assert len(set(found.accepted.tolist())) > 2

    def test_seeds(self, rule: Rule, vocabulary: int) -> None:
        """One seed a request."""
        tokens, draft, target = batch(vocabulary, 3)
        found = rule.logits(tokens, draft, target, [5, 6, 5])
        expected = rule.verify(
            Drafts(tokens[:, None], draft.softmax(-1)[:, None], target.softmax(-1)[:, None]), [5, 6, 5]
        )
        assert found.tokens.tolist() == expected.tokens.tolist()

    @pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
    @pytest.mark.parametrize("which", ["draft", "target"])
    def test_rows_that_are_no_law(self, rule: Rule, vocabulary: int, which: str, bad: float) -> None:
        """NaN, infinite and all -inf rows are refused by name where they are read, whichever row it is."""
        tokens, draft, target = batch(vocabulary, 2)
        {"draft": draft, "target": target}[which][1] = bad
        with pytest.raises(ValueError, match="request 1: target row 0 is NaN"):
            rule.logits(tokens, draft, target, torch.full((2, rule.coins), 0.5, dtype=torch.float64))

    def test_nothing_left_by_rounding(self, rule: Rule, vocabulary: int) -> None:
        """Target and draft equal, but a coin of one: the target's own row is drawn from."""
        tokens, draft, target = batch(vocabulary, 2)
        target[:, :-1] = draft
        drawn = torch.ones(2, rule.coins, dtype=torch.float64)
        drawn[:, -1] = 0.5
        found = rule.logits(tokens, draft, target, drawn)
        expected = rule.verify(Drafts(tokens[:, None], draft.softmax(-1)[:, None], target.softmax(-1)[:, None]), drawn)
        assert found.tokens.tolist() == expected.tokens.tolist()


@pytest.mark.parametrize("temperature", [0.0, -1.0, torch.inf, torch.nan])
def test_a_temperature_is_positive(temperature: float) -> None:
    """Zero has no softmax; it is said so."""
    with pytest.raises(ValueError, match="temperature must be positive and finite"):
        from_logits.standard(*batch(5), None, temperature=temperature)


def test_what_breaks_the_contract_is_named() -> None:
    """Shapes and ids are checked as in ``Drafts``."""
    tokens, draft, target = batch(4097)
    with pytest.raises(ValueError, match="target_probs must be"):
        from_logits.standard(tokens, draft, target[:, 1:], None)
    tokens[3, 1] = 4097
    with pytest.raises(ValueError, match="request 3: token 1 of draft 0 is 4097"):
        from_logits.block(tokens, draft, target, None)


def test_searches_at_every_threshold_agree_and_never_go_back() -> None:
    """At a threshold the next entry with weight is found, zero or more inside it, one row or many."""
    weights = torch.rand(300, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    weights[::3] = 0.0
    ends = torch.cat([torch.zeros(1, dtype=torch.float64), weights.cumsum(0), weights.sum()[None] * 2])
    index, rest = search(weights.expand(len(ends), -1), ends)
    assert bool((weights[index] > 0).all())
    assert float(rest.min()) >= 0
    assert [entry_at(weights, end) for end in ends.tolist()] == list(zip(index.tolist(), rest.tolist(), strict=True))
