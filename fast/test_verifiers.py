"""What every fast verifier promises beyond its law: independent requests, dtypes, long blocks, refused input."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from specproof.fast.batch import Drafting, Drafts, Outcome
from specproof.fast.verifiers import VERIFIERS as REGISTERED
from specproof.fast.verifiers.configured import configured

# Selectors before a verifier have tests of their own.
COMPOSED = ("spectr_gbv", "greedy_multipath_block")
VERIFIERS = {name: found for name, found in REGISTERED.items() if name not in COMPOSED}
ONE_DRAFT = [name for name, module in VERIFIERS.items() if module.drafting.drafts == 1]
RAGGED = [name for name, module in VERIFIERS.items() if "ragged" in module.capabilities]
CARRYING = ["greedy_block", "staged_greedy"]


def rows(shape: tuple[int, ...], seed: int, sharpness: float = 2.0) -> Tensor:
    """Random probability rows."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64).mul(sharpness).softmax(-1)


def batch(drafting: Drafting, requests: int, length: int, vocabulary: int, seed: int) -> Drafts:
    """Random requests whose drafts are drawn from their rows; rows depend on the position and not on the draft."""
    target = rows((requests, 1, length + 1, vocabulary), seed).expand(-1, drafting.drafts, -1, -1)
    draft = rows((requests, 1, length, vocabulary), seed + 1).expand(-1, drafting.drafts, -1, -1)
    generator = torch.Generator().manual_seed(seed + 2)
    first = torch.multinomial(draft[:, 0, 0], drafting.drafts, drafting.replacement, generator=generator)
    later = torch.multinomial(draft[:, :, 1:].reshape(-1, vocabulary), 1, generator=generator)
    tokens = torch.cat([first[..., None], later.view(requests, drafting.drafts, length - 1)], dim=-1)
    return Drafts(tokens, draft, target).check()


def some(drafts: Drafts, index: list[int]) -> Drafts:
    """Some requests of a batch."""
    lengths = None if drafts.lengths is None else drafts.lengths[index]
    return Drafts(drafts.tokens[index], drafts.draft_rows()[index], drafts.target_probs[index], lengths)


def told(outcome: Outcome, width: int) -> list[Any]:
    """The emitted tokens, -1 behind them, and how many drafted ones were kept, one entry a request."""
    return [(row[:width], count) for row, count in zip(outcome.tokens.tolist(), outcome.accepted.tolist(), strict=True)]


@pytest.mark.parametrize("name", VERIFIERS)
def test_a_request_does_not_depend_on_its_neighbours(name: str) -> None:
    """With one seed a request, every permutation and every part of a batch gives each request the same answer."""
    module = VERIFIERS[name]
    drafts, seeds = batch(module.drafting, 40, 4, 6, seed=1), list(range(100, 140))
    together = told(module.verify(drafts, seeds), 5)
    order = torch.randperm(40, generator=torch.Generator().manual_seed(5)).tolist()
    permuted = told(module.verify(some(drafts, order), [seeds[b] for b in order]), 5)
    assert permuted == [together[b] for b in order]
    for b in range(0, 40, 7):
        assert told(module.verify(some(drafts, [b]), [seeds[b]]), 5) == [together[b]]


@pytest.mark.parametrize("name", RAGGED)
def test_a_request_does_not_depend_on_longer_neighbours(name: str) -> None:
    """Padded to the length of others, whatever stands behind its own tokens, a request gets the answer it gets alone."""
    module = VERIFIERS[name]
    drafts, seeds = batch(module.drafting, 30, 5, 6, seed=2), list(range(30))
    lengths = torch.arange(30) % 6
    behind = torch.arange(5) >= lengths[:, None, None]
    padded = Drafts(
        drafts.tokens.masked_fill(behind, -1),
        drafts.draft_rows().masked_fill(behind[..., None], torch.nan),
        drafts.target_probs.masked_fill((torch.arange(6) > lengths[:, None, None])[..., None], torch.nan),
        lengths,
    )
    together = told(module.verify(padded, seeds), 6)
    for b in range(30):
        length = int(lengths[b])
        alone = Drafts(
            drafts.tokens[[b], :, :length],
            drafts.draft_rows()[[b], :, :length],
            drafts.target_probs[[b], :, : length + 1],
        )
        assert told(module.verify(alone, [seeds[b]]), length + 1) == [(together[b][0][: length + 1], together[b][1])]
        assert together[b][1] <= length


@pytest.mark.parametrize("name", [name for name in VERIFIERS if name != "ensemble"])  # it accepts the draft's share
def test_impossible_tokens_are_not_accepted_at_coin_zero(name: str) -> None:
    """With every uniform exactly 0, a drafted token that the target rules out is neither kept nor drawn."""
    module = VERIFIERS[name]
    paths = module.drafting.drafts
    tokens = torch.arange(paths)[None, :, None].repeat(1, 1, 2)
    target = torch.tensor([0.0] * paths + [0.5, 0.5]).expand(1, paths, 3, paths + 2)
    draft = torch.full((1, paths, 2, paths + 2), 1 / (paths + 2))
    count = 1 if name in ("autoregressive", "typical") else 3 if name == "sample_match" else None
    for needed in [count] if count else range(3, 12):
        try:
            outcome = module.verify(Drafts(tokens, draft, target), torch.zeros(1, needed, dtype=torch.float64))
        except ValueError as error:
            assert "uniforms must be" in str(error)  # noqa: PT017 - how many a rule takes is its own business
            continue
        assert outcome.accepted.tolist() == [0]
        assert outcome.tokens[0, 0] >= paths
        return
    pytest.fail("no number of uniforms fits")


@pytest.mark.parametrize("name", ONE_DRAFT)
def test_one_hot_drafts_need_no_probabilities(name: str) -> None:
    """``draft_probs=None`` is the same as rows that give the drafted token probability one."""
    module = VERIFIERS[name]
    bare = replace(batch(module.drafting, 200, 3, 5, seed=3), draft_probs=None)
    dense = replace(bare, draft_probs=bare.draft_rows())
    assert told(module.verify(bare, list(range(200))), 4) == told(module.verify(dense, list(range(200))), 4)


@pytest.mark.parametrize("name", ["recursive", "k_seq", "staged_greedy", "traversal", "spectr_gbv_published"])
def test_several_drafts_cannot_all_be_certain(name: str) -> None:
    """Rules that divide by the draft's probabilities refuse several drafts without them."""
    drafts = replace(batch(Drafting(2), 3, 2, 4, seed=4), draft_probs=None)
    with pytest.raises(ValueError, match=f"{name} needs draft_probs for several drafts, got None"):
        VERIFIERS[name].verify(drafts, None)


@pytest.mark.parametrize("ragged", [False, True])
@pytest.mark.parametrize("name", ["block", "greedy_block", "staged_greedy", "traversal"])
def test_products_over_long_blocks_do_not_underflow(name: str, *, ragged: bool) -> None:
    """Sixteen ratios of 1e-30 and sixteen of 1e30 multiply to one: the whole draft is accepted."""
    module, paths = VERIFIERS[name], VERIFIERS[name].drafting.drafts
    certain, rare = torch.tensor([1.0, 0.0]), torch.tensor([1e-30, 1.0])
    target = torch.stack([rare] * 16 + [certain] * 17).expand(1, paths, 33, 2)
    draft = torch.stack([certain] * 16 + [rare] * 16).expand(1, paths, 32, 2)
    drafts = Drafts(torch.zeros(1, paths, 32, dtype=torch.int64), draft, target, torch.tensor([32]) if ragged else None)
    count = 1 + 33 * paths
    outcome = module.verify(drafts, torch.full((1, count), 0.49, dtype=torch.float64))
    assert outcome.accepted.tolist() == [32]
    assert outcome.tokens.tolist() == [[0] * 33]


@pytest.mark.parametrize(("dtype", "margin"), [(torch.float32, 1e-5), (torch.bfloat16, 0.1)])
@pytest.mark.parametrize("name", VERIFIERS)
def test_single_precision_decides_alike_but_near_a_threshold(name: str, dtype: torch.dtype, margin: float) -> None:
    """Where narrower rows change an answer, moving one uniform by the margin changes the answer in float64 too.

    A ratio of products over L tokens is off by 2 L roundings of an entry; the sum of a row by one.
    """
    module = VERIFIERS[name]
    requests = 3000
    wide = batch(module.drafting, requests, 3, 8, seed=6)
    narrow = Drafts(wide.tokens, wide.draft_rows().to(dtype), wide.target_probs.to(dtype))
    count = next(n for n in range(1, 40) if takes(module, some(wide, [0]), n))
    uniforms = torch.rand(requests, count, dtype=torch.float64, generator=torch.Generator().manual_seed(7))
    exact, rounded = (told(module.verify(drafts, uniforms), 4) for drafts in (wide, narrow))
    differing = [b for b in range(requests) if exact[b] != rounded[b]]
    assert len(differing) < requests * margin * count
    if name == "typical":
        return  # no uniform decides there
    unexplained = set(differing)
    for column in range(count):
        for shift in (-margin, margin):
            moved = uniforms.clone()
            moved[:, column] = (moved[:, column] + shift).clamp(0, 1 - 2.0**-53)
            near = told(module.verify(wide, moved), 4)
            unexplained -= {b for b in unexplained if near[b] != exact[b]}
    assert not unexplained


def takes(module: Any, drafts: Drafts, count: int) -> bool:
    """Whether a verifier takes that many uniforms a request."""
    try:
        module.verify(drafts, torch.zeros(1, count, dtype=torch.float64))
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("vocabulary", [127, 1013, 40000])
@pytest.mark.parametrize("name", VERIFIERS)
def test_wide_rows_decide_like_narrow_ones(name: str, vocabulary: int) -> None:
    """Rows are summed in blocks and read one at a time when they are wide: the answers are those of their first tokens."""
    module = VERIFIERS[name]
    small = batch(module.drafting, 12, 3, 6, seed=8)
    padding = (0, vocabulary - 6)
    wide = Drafts(
        small.tokens,
        torch.nn.functional.pad(small.draft_rows(), padding),
        torch.nn.functional.pad(small.target_probs, padding),
    )
    assert told(module.verify(wide, list(range(12))), 4) == told(module.verify(small, list(range(12))), 4)


@pytest.mark.parametrize("name", VERIFIERS)
@pytest.mark.parametrize("bad", [float("nan"), 0.0])
def test_rows_without_mass_are_named(name: str, bad: float) -> None:
    """A target row that is all zero, or NaN, is refused with the request's number when the outcome needs it."""
    module = VERIFIERS[name]
    drafts = batch(module.drafting, 3, 2, 4, seed=9)
    broken = drafts.target_probs.clone()
    broken[1] = bad
    with pytest.raises(ValueError, match=r"request 1: target row \d"):
        module.verify(replace(drafts, target_probs=broken), [0, 1, 2])


@pytest.mark.parametrize("name", VERIFIERS)
@pytest.mark.parametrize("token", [-1, 4])
def test_ids_outside_the_vocabulary_are_named(name: str, token: int) -> None:
    """A drafted id of -1 or V is an error that says where."""
    module = VERIFIERS[name]
    drafts = batch(module.drafting, 3, 2, 4, seed=9)
    drafts.tokens[2, 0, 1] = token
    with pytest.raises(ValueError, match=rf"request 2: token 1 of draft 0 is {token}, outside 0\.\.3"):
        module.verify(drafts, [0, 1, 2])


@pytest.mark.parametrize("name", CARRYING)
def test_what_is_carried_over_can_be_regrouped(name: str) -> None:
    """Requests may be split up, reordered and put together again between blocks: each takes its layers along."""
    module = VERIFIERS[name]
    blocks = [batch(module.drafting, 24, 4, 5, seed=20 + 3 * turn) for turn in range(4)]
    order = torch.randperm(24, generator=torch.Generator().manual_seed(1))
    carry, halves = None, [None, None]
    parts = [order[:9], order[9:]]
    for turn, drafts in enumerate(blocks):
        seeds = [1000 * turn + b for b in range(24)]
        outcome = module.verify(drafts, seeds, carry)
        whole, carry = told(outcome, 5), outcome.carry
        for i, part in enumerate(parts):
            rowwise = module.verify(some(drafts, part.tolist()), [seeds[b] for b in part.tolist()], halves[i])
            assert told(rowwise, 5) == [whole[b] for b in part.tolist()]
            halves[i] = rowwise.carry
        assert carry is not None
        joined = type(carry).joined(halves, [len(part) for part in parts])
        parts = [order[:15], order[15:]]  # regroup
        halves = [joined.select(torch.arange(15)), joined.select(torch.arange(15, 24))]


def test_configured_fixes_options_and_refuses_unknown_ones() -> None:
    """Several drafts for rules that take them, keywords of ``verify``, and errors that say what is allowed."""
    assert configured("fast:k_seq", VERIFIERS["k_seq"], {"drafts": 3}).drafting == Drafting(3)
    mixed = configured("fast:ensemble", VERIFIERS["ensemble"], {"weight": 0.25})
    assert str(mixed.rule_options["weight"]) == "1/4"
    assert mixed.options == {"weight": 0.25}
    with pytest.raises(ValueError, match="Unknown option of fast:standard 'drafts'"):
        configured("fast:standard", VERIFIERS["standard"], {"drafts": 2})
    with pytest.raises(ValueError, match="at least 1, got 0"):
        configured("fast:k_seq", VERIFIERS["k_seq"], {"drafts": 0})
