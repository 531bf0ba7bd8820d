"""The cases are together blind to no fault of the catalogue."""

import numpy as np
import pytest

from specproof.properties.cases import Case, iterated_cases, one_step_cases, sampled_cases
from specproof.properties.check import CLAIMS
from specproof.properties.evidence.exact import observe_exactly
from specproof.properties.evidence.probing import observe_probed
from specproof.properties.mutants import MUTANTS, mutant
from specproof.reference.law import mapped, total_variation
from specproof.reference.model import prefixes

VISIBLE = 0.05
# The columns of the table of blind spots: which fixture sees which fault.
BLIND_SPOTS = {
    "always accept": "always_accept",
    "iff target >= draft": "accept_iff_larger",
    "resample target": "resample_from_target",
    "subtract drafted only": "subtract_drafted_only",
    "zero drafted only": "zero_drafted_only",
    "softmax residual": "softmax_residual",
    "match or coin": "match_or_coin",
    "argmax draft": "most_likely_draft",
    "reuse accept coin": "reuse_accept_coin",
    "draft squared": "sharpened_draft",
}


def distances(name: str, case: Case) -> tuple[float, float]:
    """Total variation of the first token and of the whole text of a mutant on a case."""
    subject = mutant(name)
    observe = observe_exactly if subject.kind == "rule" else observe_probed
    text = observe(subject, case).text
    head = mapped(text, lambda tokens: tokens[:1])
    wanted = mapped(case.target_law, lambda tokens: tokens[:1])
    return float(total_variation(head, wanted)), float(total_variation(text, case.target_law))


@pytest.mark.parametrize("name", BLIND_SPOTS.values(), ids=BLIND_SPOTS)
def test_one_step_cases_see_every_column_of_the_blind_spot_table(name: str) -> None:
    """Some case of at most three tokens and one position shows the fault in the first token by more than 0.05."""
    small = [case for case in one_step_cases() if case.vocabulary <= 3 and case.length == 1]
    assert max(distances(name, case)[0] for case in small) > VISIBLE


@pytest.mark.parametrize("name", ["one_coin", "stale_bonus", "next_row_correction", "greedy_block_without_carry"])
def test_one_step_cases_see_faults_that_need_two_positions(name: str) -> None:
    """Faults of rows and positions show in a joint law over rows that depend on context."""
    small = [case for case in one_step_cases() if case.vocabulary <= 3 and case.length == 2]
    assert max(distances(name, case)[1] for case in small) > 0.01


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_name_a_claim(name: str) -> None:
    """What a mutant is said to violate is a claim of the certificate."""
    assert MUTANTS[name].violates in CLAIMS


@pytest.mark.parametrize("drafts", [1, 2, 3])
def test_cases_have_names_of_their_own(drafts: int) -> None:
    """Check ids are made of case names."""
    cases = one_step_cases(drafts) + iterated_cases(drafts) + sampled_cases(drafts)
    assert len({case.name for case in cases}) == len(cases)
    assert all(case.drafts == drafts for case in cases)


def test_cases_span_the_promised_sizes() -> None:
    """V from 2 to 8, L from 1 to 3; draft equal to target, disjoint, one-hot, zeros on either side."""
    cases = one_step_cases()
    assert {case.vocabulary for case in cases} >= {2, 3, 4, 5, 8}
    assert {case.length for case in cases} == {1, 2, 3}
    accepted = {case.name: case for case in cases}
    assert accepted["equal models"].target is accepted["equal models"].draft


def test_rows_differ_from_their_parents_and_siblings() -> None:
    """In every case with random rows a shift by one position, or to another branch, meets another row."""
    for case in one_step_cases() + iterated_cases() + sampled_cases():
        if case.name.startswith(("context", "iterations", "counts")) and case.length > 1:
            for model, depth in ((case.target, case.length), (case.draft, case.length - 1)):
                for prefix in prefixes(case.vocabulary, depth):
                    children = (
                        [model.probabilities((*prefix, token)) for token in range(case.vocabulary)]
                        if len(prefix) < depth
                        else []
                    )
                    assert len({model.probabilities(prefix), *children}) == 1 + len(children), (case.name, prefix)


def test_node_indexes_the_tables() -> None:
    """``node`` finds the row of a prefix."""
    case = next(case for case in one_step_cases() if case.name == "context V3 L2")
    target, draft = case.tables
    for prefix in [(), (2,), (1, 0)]:
        assert np.allclose(target[case.node(prefix)], [float(x) for x in case.target.probabilities(prefix)])
    assert np.allclose(draft[case.node((1,))], [float(x) for x in case.draft.probabilities((1,))])
