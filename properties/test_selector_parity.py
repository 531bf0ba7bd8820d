"""Fast selectors before fast one-draft verifiers against the reference's pairs: the probed law is the exact law."""

from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import pytest
import torch
from torch import Tensor

from specproof.fast.batch import Drafts
from specproof.fast.verifiers.composed import Composed, compose
from specproof.properties.cases import Case, RowMaker, table
from specproof.properties.evidence import prober
from specproof.properties.evidence.exact import observe_exactly
from specproof.properties.evidence.observation import Observation
from specproof.properties.evidence.probing import observe_probed
from specproof.properties.subject import subject_of_rule, subject_of_verifier
from specproof.reference.law import total_variation
from specproof.reference.model import Model, TableModel, prefixes
from specproof.reference.verifiers import rule

SELECTORS: list[dict[str, Any]] = [
    {"select": "first"},
    {"select": "scan", "bins": None},
    {"select": "best_ratio", "bins": None},
    {"select": "race", "bins": None, "table": "balanced"},
    {"select": "race", "bins": None, "table": "proportional"},
    {"select": "kill_race", "bins": None},
]
VERIFIERS = ("standard", "block", "greedy_block")
SMALL = [(2, 1, 2), (2, 2, 2), (3, 1, 2), (2, 1, 3)]  # V, L, K
LARGE = [*SMALL, (4, 1, 2), (3, 1, 3), (3, 2, 2), (2, 2, 3), (2, 3, 2), (5, 1, 2)]


class DoubleCase(Case):
    """A case whose rows are handed over in float64: the rounding of float32 rows is no part of the comparison."""

    @cached_property
    def tables(self) -> tuple[Tensor, Tensor]:
        """As in ``Case``."""
        blank = [0.0] * self.vocabulary
        return tuple(
            torch.tensor(
                [[float(share) for share in model.probabilities(p)] if len(p) <= model.depth else blank for p in nodes],
                dtype=torch.float64,
            )
            for nodes in [list(prefixes(self.vocabulary, self.target.depth))]
            for model in (self.target, self.draft)
        )  # type: ignore[return-value]


def instance(seed: int, sizes: list[tuple[int, int, int]], tokens: int | None = None) -> DoubleCase:
    """The seed-th generated instance: every second one has zeros, so supports differ and ratios tie."""
    vocabulary, length, drafts = sizes[seed % len(sizes)]
    depth = length if tokens is None else tokens - 1 + length
    zeros = 0.25 * (seed // len(sizes) % 2)
    models = [table(vocabulary, depth, RowMaker(2 * seed + i, vocabulary, 5, zeros)) for i in range(2)]
    return DoubleCase(f"instance {seed}", *models, length, "generated", drafts, tokens)


def probed(verifier: Composed, case: Case) -> Observation:
    """The law of the verifier on the case."""
    return observe_probed(subject_of_verifier(verifier, name="fast"), case)


def distance(verifier: Composed, case: Case) -> float:
    """Total variation between the verifier's step and that of the reference rule it declares."""
    assert verifier.rule is not None
    reference = subject_of_rule(
        rule(verifier.rule, **verifier.rule_options), name="reference", version="", drafts=case.drafts
    )
    exact = {returned: float(mass) for returned, mass in observe_exactly(reference, case).steps.items()}
    return float(total_variation(probed(verifier, case).steps, exact))


def parity(options: dict[str, Any], seed: int, sizes: list[tuple[int, int, int]]) -> float:
    """Distance on one instance, with one of the verifiers and one of the numbers of cells in turn."""
    case = instance(seed, sizes)
    cells = {"cells": 1 + seed % 4} if "race" in options["select"] else {}
    return distance(compose(verify=VERIFIERS[seed % 3], drafts=case.drafts, **options, **cells), case)


def name(options: dict[str, Any]) -> str:
    """A readable test id."""
    return " ".join(str(options[key]) for key in ("select", "table") if key in options)


@pytest.fixture(autouse=True)
def few_spot_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here the wanted law is known: cells that were missed show by themselves, without as many spot checks."""
    monkeypatch.setattr(prober, "BATCHED", replace(prober.BATCHED, spot_checks=1000, refinements=40))


@pytest.mark.parametrize("options", SELECTORS, ids=name)
def test_composed_verifiers_have_the_law_of_the_reference(options: dict[str, Any]) -> None:
    """10 instances a selector, none left out; 200 at night."""
    assert max(parity(options, seed, SMALL) for seed in range(10)) < 1e-8


@pytest.mark.nightly
@pytest.mark.parametrize("options", SELECTORS, ids=name)
def test_composed_verifiers_have_the_law_of_the_reference_nightly(options: dict[str, Any]) -> None:
    """200 instances a selector, none left out."""
    worst = max(parity(options, seed, LARGE) for seed in range(200))
    print(f"largest distance of 200: {worst:.1e}")
    assert worst < 1e-8


def test_parity_tells_numbers_of_cells_and_tables_apart() -> None:
    """The comparison is not blind: one more cell or the other table is another law."""
    case = instance(2, SMALL)
    fast = compose("race", "block", cells=2, bins=None)
    assert distance(fast, case) < 1e-8
    for other in ({"cells": 3}, {"cells": 2, "table": "proportional"}):
        wrong = compose("race", "block", bins=None, **other)
        exact = rule("block", selector="race", cells=2)
        steps = observe_exactly(subject_of_rule(exact, name="reference", version="", drafts=2), case).steps
        assert total_variation(probed(wrong, case).steps, {k: float(v) for k, v in steps.items()}) > 1e-4


@pytest.mark.parametrize("select", ["race", "kill_race", "scan", "best_ratio"])
@pytest.mark.parametrize("bins", [1, 10])
def test_coarse_bins_keep_the_law(select: str, bins: int) -> None:
    """Tokens of different ratios in one group cost acceptance, never the law: two tokens a bin and wider."""
    case = instance(3, [(5, 1, 2)])
    text = probed(compose(select, "block", bins=bins), case).text
    wanted = {tokens: float(mass) for tokens, mass in case.target_law.items()}
    assert total_variation(text, wanted) < 1e-8


@pytest.mark.parametrize("verify", ["block", "greedy_block"])
@pytest.mark.parametrize("select", ["scan", "best_ratio"])
def test_letting_unlikely_company_go_keeps_the_law(select: str, verify: str) -> None:
    """A first token that two drafts share once in 200 times: behind it the law is the draft's own, and the text the target's."""
    depth = 2 if verify == "block" else 3
    target = table(2, depth, RowMaker(11, 2, 5, 0.0))
    rare = {(): (Fraction(1, 200), Fraction(199, 200))}
    draft = TableModel({**table(2, depth, RowMaker(12, 2, 5, 0.0))._rows, **rare})
    case = DoubleCase("rare", target, draft, 2, "generated", 2, None if verify == "block" else 2)
    chosen = compose(select, verify, drafts=2)
    assert total_variation(probed(chosen, case).text, {k: float(v) for k, v in case.target_law.items()}) < 1e-8
    drafts = drafts_of(case, [(0, 1), (0, 0)])
    rows = chosen.selector(drafts, torch.full((1, 2), 0.5, dtype=torch.float64)).drafts.draft_probs
    assert rows is not None
    assert rows[0, 0, 1].tolist() == [float(share) for share in draft.probabilities((0,))]


def drafts_of(case: Case, paths: list[tuple[int, ...]]) -> Drafts:
    """One request with these paths."""

    def rows(model: Model, upto: int) -> Tensor:
        found = [[[float(share) for share in model.probabilities(path[:i])] for i in range(upto)] for path in paths]
        return torch.tensor([found], dtype=torch.float64)

    return Drafts(torch.tensor([paths]), rows(case.draft, case.length), rows(case.target, case.length + 1))


CARRIED: list[dict[str, Any]] = [
    {"select": "race", "bins": None, "cells": 2},
    {"select": "scan", "bins": 4},
    {"select": "kill_race", "bins": 4, "cells": 2},
    {"select": "best_ratio", "bins": None},
]


def lost(options: dict[str, Any], case: Case) -> float:
    """How far the text of greedy verification behind the selector is from the target's."""
    text = probed(compose(verify="greedy_block", drafts=case.drafts, **options), case).text
    return float(total_variation(text, {tokens: float(mass) for tokens, mass in case.target_law.items()}))


@pytest.mark.parametrize("options", CARRIED[:2], ids=name)
def test_greedy_carries_over_what_the_selection_owes(options: dict[str, Any]) -> None:
    """The block has a token to come when the next one starts: the law of all three tokens is the target's."""
    assert lost(options, replace(instance(4, [(2, 2, 2)], 4), tokens=3)) < 1e-8


@pytest.mark.nightly
@pytest.mark.parametrize("options", [*CARRIED, {"select": "race"}, {"select": "first"}], ids=name)
@pytest.mark.parametrize("seed", range(4))
def test_greedy_carries_over_what_the_selection_owes_nightly(options: dict[str, Any], seed: int) -> None:
    """Layers stack where a block of three goes on for two more iterations."""
    sizes = [(3, 2, 2), (2, 3, 2)]
    assert lost(options, instance(seed, sizes, 3 + seed % 2)) < 1e-8
