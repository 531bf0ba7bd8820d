"""Batched selectors: the law they hand on is the reference's, whatever the batch, the lengths and the rows."""

from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

from specproof.fast.batch import Drafts
from specproof.fast.selectors import SELECTORS, selector
from specproof.fast.selectors.scores import Profile, rate, win_shares
from specproof.fast.selectors.tables import fill
from specproof.fast.verifiers.composed import compose, composed
from specproof.reference.chance import Chance
from specproof.reference.law import law
from specproof.reference.model import Model, Prefix, TableModel, joint, prefixes
from specproof.reference.selectors import Select
from specproof.reference.selectors import selector as reference_selector

OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("first", {}),
    ("scan", {}),
    ("best_ratio", {}),
    ("race", {"cells": 3, "table": "balanced"}),
    ("race", {"cells": 3, "table": "proportional"}),
    ("kill_race", {"cells": 3}),
]


def random_rows(*shape: int, seed: int = 0, sharpness: float = 2.0) -> torch.Tensor:
    """Probability rows in float64."""
    noise = torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return torch.softmax(sharpness * noise, dim=-1)


def random_drafts(batch: int, paths: int, length: int, vocabulary: int, seed: int = 0) -> Drafts:
    """Drafts that share no rows: enough where only shapes and finiteness matter."""
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(vocabulary, (batch, paths, length), generator=generator)
    target, draft = (
        random_rows(batch, 1, length + 1, vocabulary, seed=seed + i).expand(-1, paths, -1, -1) for i in (1, 2)
    )
    return Drafts(tokens, draft[:, :, :-1].contiguous(), target.contiguous())


def models(vocabulary: int, length: int, seed: int) -> tuple[TableModel, TableModel]:
    """A target and a draft with small integer weights, zeros included."""
    generator = torch.Generator().manual_seed(seed)
    pair = []
    for _ in range(2):
        weights = torch.randint(
            0, 5, (vocabulary**length + length * vocabulary**length, vocabulary), generator=generator
        )
        weights[weights.sum(-1) == 0, 0] = 1
        nodes = list(prefixes(vocabulary, length))
        rows = {node: [f"{w}/{sum(row)}" for w in row] for node, row in zip(nodes, weights.tolist(), strict=False)}
        pair.append(TableModel(rows))
    return pair[0], pair[1]


def batch_of(target: Model, draft: Model, sets: list[tuple[Prefix, ...]]) -> Drafts:
    """The sets of drafts as one batch."""

    def rows(model: Model, upto: int) -> torch.Tensor:
        return torch.tensor(
            [
                [[[float(x) for x in model.probabilities(path[:i])] for i in range(upto)] for path in paths]
                for paths in sets
            ],
            dtype=torch.float64,
        )

    length = len(sets[0][0])
    return Drafts(torch.tensor(sets), rows(draft, length), rows(target, length + 1))


def swapped(
    exact: Select, target: Model, draft: Model, drafts: tuple[Prefix, ...], chance: Chance
) -> tuple[Prefix, Model]:
    """The reference's selector with chance as its last argument."""
    return exact(chance, target, draft, drafts)


@pytest.mark.parametrize(("name", "options"), OPTIONS, ids=lambda value: value if isinstance(value, str) else "")
@pytest.mark.parametrize("size", [(2, 3, 2), (3, 2, 2), (3, 1, 3), (2, 2, 3)])
def test_rows_are_those_of_the_reference(name: str, options: dict[str, Any], size: tuple[int, int, int]) -> None:
    """``D(zc)/D(z)`` along the selected path, for every set of drafts; and the path is one the reference can select."""
    vocabulary, length, count = size
    bins = {} if name == "first" else {"bins": None}
    fast, exact = selector(name, **options, **bins), reference_selector(name, **options)
    for seed in range(3):
        target, draft = models(vocabulary, length, seed)
        paths = [path for path in product(range(vocabulary), repeat=length) if joint(draft, (), path) > 0]
        sets = list(product(paths, repeat=count))
        uniform = torch.rand(
            len(sets), fast.coins(length), generator=torch.Generator().manual_seed(1), dtype=torch.float64
        )
        selection = fast(batch_of(target, draft, sets), uniform)
        for b, drafts in enumerate(sets):
            possible = law(partial(swapped, exact, target, draft, drafts))
            path = drafts[int(selection.path[b])]
            assert path in {selected for selected, _ in possible}
            model = next(iter(possible))[1]
            wanted = [[float(x) for x in model.probabilities(path[:i])] for i in range(length)]
            assert torch.allclose(
                selection.drafts.draft_probs[b, 0], torch.tensor(wanted, dtype=torch.float64), atol=1e-11
            )


@pytest.mark.parametrize("name", list(SELECTORS))
def test_a_request_does_not_depend_on_its_neighbours(name: str) -> None:
    """Batch of four against one by one, with ragged lengths and rubbish behind them."""
    drafts = random_drafts(4, 3, 4, 50)
    lengths = torch.tensor([4, 2, 0, 3])
    assert drafts.draft_probs is not None
    for b, length in enumerate(lengths.tolist()):
        drafts.draft_probs[b, :, length:] = torch.nan
        drafts.target_probs[b, :, length + 1 :] = torch.nan
    chosen = selector(name)
    uniform = torch.rand(4, chosen.coins(4), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    together = chosen(Drafts(drafts.tokens, drafts.draft_probs, drafts.target_probs, lengths), uniform)
    for b, length in enumerate(lengths.tolist()):
        one = slice(b, b + 1)
        alone = chosen(
            Drafts(drafts.tokens[one], drafts.draft_probs[one], drafts.target_probs[one], lengths[one]), uniform[one]
        )
        assert alone.path.tolist() == together.path[one].tolist()
        rows = [found.drafts.draft_probs for found in (alone, together)]
        assert all(row is not None for row in rows)
        assert torch.allclose(rows[0][0, :, :length], rows[1][b, :, :length], atol=1e-12)


@pytest.mark.parametrize("verify", ["standard", "block", "greedy_block"])
@pytest.mark.parametrize("name", list(SELECTORS))
def test_seeded_requests_do_not_depend_on_longer_neighbours(name: str, verify: str) -> None:
    """With a selector in front, too, a request in a longer batch gets what it gets alone."""
    made, lengths = compose(name, verify, drafts=3), torch.tensor([2, 4, 1])
    for seed in range(20):
        drafts = random_drafts(3, 3, 4, 7, seed=10 * seed)
        seeds = [100 * seed + b for b in range(3)]
        together = made.verify(Drafts(drafts.tokens, drafts.draft_probs, drafts.target_probs, lengths), seeds)
        for b, length in enumerate(lengths.tolist()):
            assert drafts.draft_probs is not None
            tokens, draft, target = drafts.tokens[[b]], drafts.draft_probs[[b]], drafts.target_probs[[b]]
            alone = made.verify(
                Drafts(tokens[:, :, :length], draft[:, :, :length], target[:, :, : length + 1]), [seeds[b]]
            )
            assert alone.tokens[0].tolist() == together.tokens[b, : length + 1].tolist()
            assert alone.accepted[0] == together.accepted[b]


@pytest.mark.parametrize("name", list(SELECTORS))
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_laws_are_kept_in_single_precision_at_least(name: str, dtype: torch.dtype) -> None:
    """Rows of the law sum to one and never put mass on a token that the draft cannot draw."""
    given = random_drafts(2, 4, 5, 300)
    assert given.draft_probs is not None
    draft = given.draft_probs.clone()
    draft[..., ::7] = 0
    draft.scatter_(-1, given.tokens[..., None], 0.1)
    drafts = Drafts(given.tokens, (draft / draft.sum(-1, keepdim=True)).to(dtype), given.target_probs.to(dtype))
    chosen = selector(name)
    selection = chosen(drafts, torch.full((2, chosen.coins(5)), 0.3, dtype=torch.float64))
    rows = selection.drafts.draft_probs
    assert rows is not None
    if name != "first":
        assert rows.dtype == torch.float32
        assert torch.allclose(rows.sum(-1), torch.ones(()), atol=1e-5)
    assert drafts.draft_probs is not None
    assert bool((rows[:, 0][drafts.draft_probs[torch.arange(2), selection.path] == 0] == 0).all())


def test_long_blocks_of_extreme_ratios_stay_finite() -> None:
    """32 tokens, joint probabilities far below the smallest float."""
    drafts = random_drafts(2, 4, 32, 64)
    drafts = Drafts(
        drafts.tokens, random_rows(2, 4, 32, 64, seed=5, sharpness=12), random_rows(2, 4, 33, 64, seed=6, sharpness=12)
    )
    for name in SELECTORS:
        chosen = selector(name)
        rows = chosen(drafts, torch.full((2, chosen.coins(32)), 0.5, dtype=torch.float64)).drafts.draft_probs
        assert rows is not None
        assert bool(rows.isfinite().all())


@pytest.mark.parametrize("name", ["race", "kill_race", "scan", "best_ratio"])
def test_rows_that_cannot_be_grouped_are_named(name: str) -> None:
    """NaN in a row that two drafts share and a draft row without mass are errors that say whose row it is, and where."""
    chosen = selector(name)
    for whose, value, why in (("target", torch.nan, "sums to nan"), ("draft", torch.nan, "sums to nan"),
                              ("draft", 0.0, "has no mass")):  # fmt: skip
        drafts = random_drafts(2, 2, 2, 9)
        assert drafts.draft_probs is not None
        drafts.tokens.copy_(drafts.draft_probs.argmax(-1))
        getattr(drafts, f"{whose}_probs")[1, 0, 1] = value
        with pytest.raises(ValueError, match=f"request 1: {whose} row 1 of draft 0 {why}"):
            chosen(drafts, torch.zeros(2, chosen.coins(2), dtype=torch.float64))


def test_fill_is_water_filling() -> None:
    """The level is common to all whose limit is not met; what the limits do not allow is not placed."""
    weights = np.array([[1.0, 2.0, 0.0, 1.0], [1.0, 1.0, 1.0, 1.0]])
    limits = np.array([[0.1, 0.9, 0.5, 0.9], [0.1, 0.1, 0.1, 0.1]])
    row = fill(np.array([0.7, 0.7]), weights, limits)
    np.testing.assert_allclose(row, [[0.1, 0.4, 0.0, 0.2], [0.1, 0.1, 0.1, 0.1]], rtol=1e-12)


def test_rate_does_not_cancel_in_narrow_cells() -> None:
    """A cell of width 1e-17 wins K (1 - low)^(K - 1); the whole unit interval wins once."""
    np.testing.assert_allclose(rate(np.array([0.5, 0.0]), np.array([1e-17, 1.0]), 8), [8 * 0.5**7, 1.0], rtol=1e-12)


def test_win_shares_of_one_cell_against_two() -> None:
    """Scores uniform on [0, 1] against scores in the lower half: 1/4 against 3/4, and equal profiles share evenly."""
    low = torch.tensor([[0.0, 1.0], [0.0, 0.5]], dtype=torch.float64)
    width = torch.tensor([[1.0, 0.0], [0.5, 0.5]], dtype=torch.float64)
    share = torch.tensor([[1.0, 0.0], [1.0, 0.0]], dtype=torch.float64)
    assert torch.allclose(win_shares(Profile(low, width, share), 1), torch.tensor([[0.25, 0.75]], dtype=torch.float64))
    even = Profile(low[:1].repeat(3, 1), width[:1].repeat(3, 1), share[:1].repeat(3, 1))
    assert torch.allclose(win_shares(even, 1), torch.full((1, 3), 1 / 3, dtype=torch.float64))


def test_unknown_names_and_numbers_are_refused() -> None:
    """Errors say what is allowed."""
    with pytest.raises(ValueError, match="kill_race"):
        selector("killrace")
    with pytest.raises(ValueError, match="cells"):
        selector("race", cell=3)
    with pytest.raises(ValueError, match="balanced"):
        selector("race", table="balance")
    with pytest.raises(ValueError, match="one-draft verifier"):
        compose("race", "recursive")
    with pytest.raises(ValueError, match="at least 1, got 0"):
        compose("race", "block", drafts=0)
    with pytest.raises(ValueError, match="table=balanced; that option is fixed"):
        composed("spectr_gbv", table="proportional")
    with pytest.raises(ValueError, match="needs a selector, one of first, scan"):
        composed("block")
    drafts = random_drafts(1, 2, 2, 5)
    for wrong in ({"cells": 0}, {"bins": 0}):
        with pytest.raises(ValueError, match="at least 1"):
            selector("race", **wrong)(drafts, torch.zeros(1, 1, dtype=torch.float64))
    with pytest.raises(ValueError, match="one-hot"):
        compose("race", "block").verify(Drafts(drafts.tokens, None, drafts.target_probs), None)


@pytest.mark.parametrize("name", list(SELECTORS))
def test_compose_takes_seeds_uniforms_and_generators(name: str) -> None:
    """One seed a request gives the same answer in any batch; uniforms are the selector's first, then the verifier's."""
    drafts = random_drafts(3, 2, 3, 20)
    verifier = compose(name, "block")
    assert drafts.draft_probs is not None
    last = Drafts(drafts.tokens[2:], drafts.draft_probs[2:], drafts.target_probs[2:])
    assert verifier.verify(drafts, [5, 6, 7]).tokens[2].tolist() == verifier.verify(last, [7]).tokens[0].tolist()
    coins = verifier.selector.coins(3) + 5
    uniform = torch.rand(3, coins, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    again = verifier.verify(drafts, torch.Generator().manual_seed(3)).tokens
    assert again.shape == verifier.verify(drafts, uniform).tokens.shape == (3, 4)


def test_only_what_the_reference_has_too_is_declared() -> None:
    """The default grid and bins have no twin; without them the reference's pair promises the acceptance."""
    assert composed("spectr_gbv").rule is None
    assert composed("block", selector="race", cells=4).rule is None
    exact = composed("spectr_gbv", cells=4, bins=None, drafts=3)
    assert (exact.rule, exact.drafting.drafts) == ("greedy_block", 3)
    assert exact.rule_options == {"selector": "race", "table": "balanced", "cells": 4}
    assert composed("greedy_multipath_block").rule_options == {"selector": "best_ratio"}
