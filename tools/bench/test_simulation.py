"""The simulation against what is known exactly: drafts and laws of the Markov models, ceilings, means and their errors."""

import pytest
import torch

from specproof.bench.ceilings import ceilings
from specproof.bench.clock import Contender, Spread, measure
from specproof.bench.efficiency import rule
from specproof.bench.inputs import Size, inputs
from specproof.bench.markov import Chains
from specproof.bench.tally import Mean
from specproof.bench.traffic import chain_bytes, trie_bytes, walk_bytes
from specproof.fast.batch import Drafts, Outcome

CPU = torch.device("cpu")


def test_drafts_that_share_a_prefix_share_its_rows() -> None:
    """Inputs of the timings are what a pair of models could have given."""
    drafts = inputs(Size(2, 6, 3, 5), device=CPU).drafts.check()
    for b in range(2):
        rows: dict[tuple[int, ...], torch.Tensor] = {}
        for k in range(6):
            for i in range(4):
                row = rows.setdefault(tuple(drafts.tokens[b, k, :i].tolist()), drafts.target_probs[b, k, i])
                assert torch.equal(row, drafts.target_probs[b, k, i])


def test_ceilings_of_one_token_are_the_closed_forms() -> None:
    """One level: ``f`` summed over tokens, and the best share over sets of tokens."""
    chains = Chains.random(1, 6, device=CPU, seed=3)
    target, draft = chains.target[0, 0].double(), chains.draft[0, 0].double()
    exact_claim = (target * (1 - (1 - (draft / target).clamp(max=1)) ** 3)).sum()
    order = (target / draft).argsort()
    inside, owed = (torch.cat([torch.zeros(1), some[order].cumsum(0)]) for some in (draft, target))
    exact_level = (owed + 1 - inside**3).min()
    claim, level = ceilings(chains, 1, 3, torch.Generator().manual_seed(0))
    assert abs(claim.value - 1 - float(exact_claim)) < 5 * claim.error
    assert level - 1 == pytest.approx(float(exact_level), abs=0.01)


def test_standard_accepts_what_models_share() -> None:
    """One token, one draft: one minus the distance of the two rows."""
    chains = Chains.random(2, 5, device=CPU, seed=1)
    generator = torch.Generator().manual_seed(0)
    drafts = chains.drafts(torch.zeros(20000, dtype=torch.int64), 1, 1, generator)
    found = Mean.of(rule("standard").verify(drafts, generator).accepted, 2)
    shared = torch.minimum(chains.target[:, 0], chains.draft[:, 0]).sum(-1).mean()
    assert abs(found.value - float(shared)) < 5 * found.error


def test_mean_leaves_out_how_models_differ() -> None:
    """Two models without noise have no standard error, however far apart."""
    assert Mean.of(torch.tensor([1.0, 3.0, 1.0, 3.0]), 2) == Mean(2.0, 0.0)


def test_bytes_are_whole_rows() -> None:
    """A rejection reads both rows, a bonus one; walks read both at every node; selectors every distinct prefix."""
    tokens = torch.tensor([[[0, 1], [0, 2]], [[0, 1], [1, 1]]])
    drafts = Drafts(tokens, torch.full((2, 2, 2, 10), 0.1), torch.full((2, 2, 3, 10), 0.1))
    outcome = Outcome(torch.full((2, 3), -1), torch.tensor([1, 2]))
    assert chain_bytes(drafts, outcome) == 40 * (2 + 1)
    assert walk_bytes(drafts, outcome) == 40 * (4 + 5)
    assert trie_bytes(drafts) == 40 * 2 * (2 + 3)


def test_everyone_gets_the_same_random_numbers() -> None:
    """The same seed for each contender in a round, another in the next, from either generator."""
    drawn: dict[str, list[float]] = {"own": [], "global": []}
    measure(
        [
            Contender("own", lambda generator: drawn["own"].append(float(torch.rand((), generator=generator)))),
            Contender("global", lambda _: drawn["global"].append(float(torch.rand(())))),
        ],
        seconds=0,
        device=CPU,
    )
    assert drawn["own"] == drawn["global"]
    assert len(set(drawn["own"])) == len(drawn["own"])


def test_spread() -> None:
    """Median and quartiles."""
    spread = Spread.of([4.0, 1.0, 3.0, 2.0, 5.0])
    assert (spread.low, spread.median, spread.high) == (2, 3, 4)
    assert spread.relative == pytest.approx(1 / 3)
