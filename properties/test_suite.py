"""The suite convicts every mutant by the claim it violates, and holds for what is right."""

import itertools
from dataclasses import replace

import pytest

from specproof.fast.from_function import from_function
from specproof.fast.verifiers import standard
from specproof.properties.cases import one_step_cases
from specproof.properties.check import CLAIMS, CheckResult
from specproof.properties.evidence.exact import observe_exactly
from specproof.properties.evidence.probing import observe_probed
from specproof.properties.mutants import mutant, mutant_rule
from specproof.properties.mutants.one_draft import MUTANTS
from specproof.properties.plan import ALPHA_SHARES, Plan
from specproof.properties.subject import Subject, subject_of_rule, subject_of_verifier
from specproof.properties.suite import checks, counts
from specproof.properties.verdict import Verdict, merged
from specproof.reference.law import total_variation
from specproof.reference.verifiers import rule

PROPERTIES = {"contract", "support", "lossless", "acceptance"}


# Row by row, torch programs are slow: these cases show every fault that is one of torch code only.
SHORT = ("coin", "reversed", "two-way residual", "rows by context")


def laws(subject: Subject, names: tuple[str, ...] | None = None) -> list[CheckResult]:
    """All exact or probed checks of a subject, or those on the named cases."""
    evidence = "exact" if subject.kind == "rule" else "probed"
    return [check.run() for check in checks(subject, Plan(evidence)) if names is None or check.case in names]


@pytest.mark.parametrize("name", ["resample_from_target", "always_accept", "subtract_drafted_only", "stale_bonus"])
def test_mutants_as_torch_code_have_the_law_of_their_rule(name: str) -> None:
    """Probed as code and enumerated as a program, a mutant has one law (to 1e-6)."""
    given = mutant_rule(name)
    assert given is not None
    for case in [case for case in one_step_cases() if case.name in ("reversed", "rows by context")]:
        seen = observe_probed(mutant(name), case)
        wanted = observe_exactly(subject_of_rule(given, name=name, version="1"), case)
        assert total_variation(seen.steps, wanted.steps) <= 1e-6


@pytest.fixture(scope="module")
def convictions() -> dict[str, list[CheckResult]]:
    """The failed checks of every mutant, enumerated where it is a rule (a test of its own compares torch with that)."""
    found = {}
    for name in MUTANTS:
        given = mutant_rule(name)
        results = laws(subject_of_rule(given, name=name, version="1")) if given else laws(mutant(name), SHORT)
        found[name] = [result for result in results if result.verdict is Verdict.FAILED]
    return found


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_convicted_by_the_claim_they_violate(name: str, convictions: dict[str, list[CheckResult]]) -> None:
    """The weakest violated claim is the one that the mutant names."""
    failed = {result.claim for result in convictions[name]}
    assert next(claim for claim in CLAIMS if claim in failed) == MUTANTS[name].violates


@pytest.mark.parametrize(
    "name", [name for name, given in MUTANTS.items() if given.violates not in ("contract", "declared acceptance")]
)
def test_counterexamples_are_small_and_simple(name: str, convictions: dict[str, list[CheckResult]]) -> None:
    """Some counterexample has at most three tokens and probabilities with denominators of at most 10."""
    small = [
        shown
        for shown in (result.counterexample for result in convictions[name])
        if shown is not None
        and shown.vocabulary <= 3
        and all(len(entry) <= 4 for row in shown.target.values() for entry in row)
    ]
    assert small
    assert float(small[0].total_variation if "/" not in small[0].total_variation else 1) > 0


@pytest.mark.parametrize("name", sorted(PROPERTIES))
def test_every_property_convicts_a_mutant(name: str, convictions: dict[str, list[CheckResult]]) -> None:
    """A property that convicts nothing proves nothing."""
    assert name in {result.property for result in itertools.chain(*convictions.values())}


@pytest.mark.parametrize("name", ["autoregressive", "standard", "block", "greedy_block"])
def test_reference_rules_hold_exactly(name: str) -> None:
    """Total variation exactly zero on every case, over several iterations too."""
    results = laws(subject_of_rule(rule(name), name=name, version="1"))
    assert {result.verdict for result in results} <= {Verdict.HELD, Verdict.NOT_APPLICABLE}
    assert {r.evidence.total_variation_exact for r in results if r.property == "lossless"} == {"0"}
    assert any(result.claim == "iterations" for result in results)


def test_fast_standard_holds_within_rounding() -> None:
    """Probed total variation at most 1e-6 on every case, acceptance as declared."""
    results = laws(subject_of_verifier(standard, name="fast:standard"))
    assert {result.verdict for result in results} == {Verdict.HELD}
    assert all(r.evidence.total_variation <= 1e-6 for r in results if r.property == "lossless")  # type: ignore[operator]


def test_checks_are_named_once_and_planned_before_they_run() -> None:
    """Every check has an id of its own, known before anything runs."""
    planned = [check.id for check in checks(mutant("lenient"), Plan("quick"))]
    assert len(set(planned)) == len(planned)
    assert planned == [check.id for check in checks(mutant("lenient"), Plan("quick"))]


def test_unavailable_subjects_are_undecided() -> None:
    """A subject that cannot run is one undecided check with the reason."""
    (check,) = checks(Subject("x", "verifier", "1", unavailable="not installed"), Plan())
    assert (check.run().verdict, check.run().reason) == (Verdict.UNDECIDED, "not installed")


@pytest.mark.parametrize("capability", ["tree", "owns_drafting", "bonus_by_caller"])
def test_subjects_with_unserved_needs_are_undecided(capability: str) -> None:
    """What a subject declares and no evidence serves is a reason, not a guess."""
    verifier = from_function(lambda *_: None, capabilities=[capability])  # type: ignore[arg-type, return-value]
    (check,) = checks(subject_of_verifier(verifier, name="x"), Plan())
    assert check.run().verdict is Verdict.UNDECIDED
    assert check.run().reason.startswith(f"{capability}: ")


def test_slow_subjects_are_checked_with_fewer_numbers() -> None:
    """An eighth of the spot checks, a 32nd of the texts; both are told, and the law is as sharp."""
    quick = subject_of_verifier(standard, name="fast:standard")
    slow = replace(quick, capabilities=quick.capabilities | {"slow"})
    often, seldom = (observe_probed(subject, one_step_cases()[0]) for subject in (quick, slow))
    assert (often.spot_checks, seldom.spot_checks) == (4000, 500)
    assert seldom.calls < often.calls / 4
    assert total_variation(seldom.text, often.text) <= 1e-6
    assert (quick.affordable(2**17), slow.affordable(2**17)) == (2**17, 2**12)


def test_alpha_of_a_run_adds_up_to_the_family() -> None:
    """The false-alarm rates of the deciding checks sum to what counts may spend of the whole run's."""
    plan = Plan("sampled", seconds=1e-9)
    spent = [check.run().evidence.alpha or 0 for check in counts(subject_of_verifier(standard, name="s"), plan)]
    assert sum(spent) == pytest.approx(plan.alpha_of("counts"))
    assert sum(ALPHA_SHARES.values()) <= 1


def test_merged_is_worst_first_and_empty_is_undecided() -> None:
    """FAILED before UNDECIDED before HELD; nothing that applies proves nothing."""
    assert merged([Verdict.HELD, Verdict.UNDECIDED, Verdict.FAILED]) is Verdict.FAILED
    assert merged([Verdict.HELD, Verdict.UNDECIDED]) is Verdict.UNDECIDED
    assert merged([Verdict.HELD, Verdict.NOT_APPLICABLE]) is Verdict.HELD
    assert merged([Verdict.NOT_APPLICABLE]) is merged([]) is Verdict.UNDECIDED
