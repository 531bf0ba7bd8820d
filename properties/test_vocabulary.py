"""The large-vocabulary battery: right verifiers pass on wide rows, faults of width, of tiles and of tails are convicted."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
import torch
from torch import Tensor

from specproof.fast.batch import Drafts, Outcome
from specproof.fast.from_function import from_function
from specproof.fast.verifiers import greedy_block, recursive, standard
from specproof.properties import contract, lossless, support
from specproof.properties.check import CheckResult
from specproof.properties.evidence.sampled import SamplePlan, observe_sampled
from specproof.properties.evidence.wide import WideCase, awkward, on_awkward_ids, wide_cases, widened, with_rare_tail
from specproof.properties.plan import Gathering, Plan
from specproof.properties.subject import subject_of_verifier
from specproof.properties.suite import checks
from specproof.properties.verdict import Verdict
from specproof.properties.vocabulary import large_vocabulary, wide_checks
from specproof.reference.model import TableModel, prefixes

SHARE = 1e-6


def judged(verifier: Any, wide: WideCase, draws: int) -> dict[str, CheckResult]:
    """All checks of one wide case."""
    subject = subject_of_verifier(verifier, name="own")
    plan = SamplePlan(draws, SHARE / 2, SHARE / 10, seed=1)
    gather = Gathering(observe_sampled, widened(subject, wide), wide.case, plan)
    return {check.id: check.run() for check in wide_checks(subject, wide, gather, SHARE)}


def failed(results: dict[str, CheckResult]) -> set[str]:
    """What is convicted, by the end of its name."""
    return {result.case for result in results.values() if result.verdict is Verdict.FAILED}


@pytest.mark.parametrize("vocabulary", [1000, 32768, 50257])
def test_awkward_ids_are_the_edges(vocabulary: int) -> None:
    """First, last, and both sides of the edges of tiles, each once."""
    ids = awkward(vocabulary, 8)
    assert {0, vocabulary - 1} <= set(ids)
    assert len(set(ids)) == 8
    assert any(index % 128 == 0 for index in ids[1:])
    assert list(ids) == sorted(ids)


def test_rows_are_widened_evenly_and_sum_to_one() -> None:
    """A group's mass is spread over its ids, the ids of no group have none."""
    wide = with_rare_tail(1000, Fraction(1, 10))
    small = torch.tensor([0.8, 0.1, 0.1, 0.0])
    row = wide.rows(small)
    assert row.shape == (1000,)
    assert float(row.sum()) == pytest.approx(1, abs=1e-6)
    assert float(row[5]) == pytest.approx(0.8)
    assert float(row[999]) == 0
    assert float(row[1]) == pytest.approx(0.1 / 997)


@pytest.mark.parametrize(("verifier", "drafts"), [(standard, 1), (greedy_block, 1), (recursive, 2)])
def test_right_verifiers_pass(verifier: Any, drafts: int) -> None:
    """2,048 draws at V = 1,000, alpha 1e-6 (finds TV of .15): held along both orders, with carry and with two drafts."""
    results = judged(verifier, on_awkward_ids(1000, 4, 2, drafts=drafts), 2048)
    assert {result.verdict for result in results.values()} == {Verdict.HELD}


def test_right_tails_pass() -> None:
    """4,096 draws with a tail of 2 %: about 160 texts hold a rare token."""
    results = judged(standard, with_rare_tail(4096, Fraction(1, 50)), 4096)
    assert {result.verdict for result in results.values()} == {Verdict.HELD}
    assert any("rare token" in result.reason for result in results.values())


def test_a_row_that_ends_at_a_whole_tile_is_convicted() -> None:
    """A kernel that forgets the last, incomplete tile never emits the last id (mass over 5 %, 4,096 draws)."""

    def truncated(drafts: Drafts, generator: Any, carry: Any = None) -> Outcome:
        target = drafts.target_probs.clone()
        target[..., drafts.vocabulary - drafts.vocabulary % 128 :] = 0
        return standard.verify(Drafts(drafts.tokens, drafts.draft_probs, target), generator)

    class Truncated:
        verify = staticmethod(truncated)

    wide = on_awkward_ids(1000, 4, 1)
    assert wide.case.name in failed(judged(Truncated, wide, 4096))
    assert failed(judged(Truncated, on_awkward_ids(1024, 4, 1), 4096)) == set()


def test_an_id_from_nowhere_is_impossible() -> None:
    """A correction one id beside the right one lies outside every group."""

    def beside(drafts: Drafts, generator: Any, carry: Any = None) -> Outcome:
        outcome = standard.verify(drafts, generator)
        rows = torch.arange(drafts.batch)
        tokens = outcome.tokens.clone()
        tokens[rows, outcome.accepted] = (tokens[rows, outcome.accepted] + 2).clamp(max=drafts.vocabulary - 1)
        return Outcome(tokens, outcome.accepted, outcome.path)

    class Beside:
        verify = staticmethod(beside)

    results = judged(Beside, on_awkward_ids(1000, 4, 1), 512)
    assert results["support.support[sampled:awkward_ids_V1000_L1]"].verdict is Verdict.FAILED


def test_another_id_of_the_group_is_not_the_draft() -> None:
    """Accepting an id beside the drafted one, in the same group, breaks the contract."""

    def swapped(drafts: Drafts, generator: Any, carry: Any = None) -> Outcome:
        outcome = standard.verify(drafts, generator)
        tokens = torch.where(
            (outcome.tokens == drafts.tokens[:, 0, :1]) & (outcome.tokens > 5), outcome.tokens - 1, outcome.tokens
        )
        return Outcome(tokens, outcome.accepted, outcome.path)

    class Swapped:
        verify = staticmethod(swapped)

    rare = with_rare_tail(1000, Fraction(1, 2))
    row = [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2), Fraction(0)]
    draft = TableModel(dict.fromkeys(list(prefixes(4, 1)), row))
    wide = replace(rare, case=replace(rare.case, draft=draft))
    subject = widened(subject_of_verifier(Swapped, name="swapped"), wide)
    sample = observe_sampled(subject, wide.case, SamplePlan(512, SHARE, SHARE, 1))
    assert contract.judge_counts(sample).verdict is Verdict.FAILED


def test_noise_with_a_floor_starves_the_tail() -> None:
    """Exponential noise that ends at 2^-12: tokens far below the best win too rarely, each on its own invisible.

    1,024 draws, a tail of 2 % over 4,093 ids at V = 4,096: about 40 texts with a rare token are expected.
    """

    def race(tokens: Tensor, draft: Tensor, target: Tensor, generator: Any) -> tuple[Tensor, Tensor]:
        noise = torch.empty(len(tokens), target.shape[-1]).exponential_(generator=generator).clamp(min=2.0**-12)
        won = (target[:, 0] / noise).argmax(-1)
        accepted = (won == tokens[:, 0]).long()
        after = torch.empty(len(tokens), target.shape[-1]).exponential_(generator=generator).clamp(min=2.0**-12)
        bonus = (target[:, 1] / after).argmax(-1)
        return torch.stack([won, bonus], dim=1), accepted

    results = judged(from_function(race), with_rare_tail(4096, Fraction(1, 50)), 1024)
    tail = next(result for name, result in results.items() if "rare_tokens" in name)
    assert tail.verdict is Verdict.FAILED
    assert (tail.evidence.observed or 0) < (tail.evidence.expected or 0) / 2


def test_the_battery_names_every_check_once_and_keeps_to_its_alpha() -> None:
    """Nightly and by itself; what all of its checks may spend adds up to the family's part at most."""
    subject = subject_of_verifier(standard, name="fast:standard")
    plan = Plan("large-vocabulary", seconds=1e-9)
    named = list(large_vocabulary(subject, plan))
    assert len({check.id for check in named}) == len(named) > 20
    assert {check.id for check in named} <= {check.id for check in checks(subject, Plan("nightly"))}
    assert not list(large_vocabulary(subject, Plan("quick")))
    spent = [check.run().evidence.alpha or 0 for check in named]
    assert 0 < sum(spent) <= plan.alpha_of("large vocabulary") * (1 + 1e-9)


@pytest.mark.nightly
def test_fast_standard_passes_the_whole_battery() -> None:
    """All wide cases at 65,536 draws, alpha 2e-7 together; about two minutes."""
    subject = subject_of_verifier(standard, name="fast:standard")
    results = [check.run() for check in large_vocabulary(subject, Plan("large-vocabulary"))]
    assert {result.verdict for result in results} == {Verdict.HELD}
    assert len(wide_cases()) == 4


def test_support_and_loss_are_judged_on_merged_cells() -> None:
    """The counts are those of the small case: 64 cells at most, whatever the vocabulary."""
    wide = on_awkward_ids(50257, 8, 1)
    plan = SamplePlan(256, SHARE, SHARE, 1)
    sample = observe_sampled(widened(subject_of_verifier(standard, name="s"), wide), wide.case, plan)
    assert len(sample.cells) == 64
    assert lossless.judge_counts(sample).verdict is Verdict.HELD
    assert support.judge_counts(sample).verdict is Verdict.HELD
