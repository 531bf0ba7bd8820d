"""The alpha ledger: everything that decides on counts, of all families together, spends at most the run's 1e-6."""

import pytest

from specproof.fast.verifiers import standard
from specproof.properties.check import CheckResult
from specproof.properties.plan import ALPHA_SHARES, FAMILY_ALPHA, Plan
from specproof.properties.subject import subject_of_verifier
from specproof.properties.suite import checks

DECIDED_BY_FORM = {"contract", "support"}  # one broken answer, one impossible text: no false alarm is possible


def counted(evidence: str) -> list[CheckResult]:
    """The counting checks of a battery, cut short: what they may spend is fixed before anything is drawn."""
    plan = Plan(evidence, seconds=1e-9)  # type: ignore[arg-type]
    subject = subject_of_verifier(standard, name="fast:standard")
    return [check.run() for check in checks(subject, plan) if check.kind == "sampled"]


@pytest.mark.parametrize(
    "evidence",
    ["large-vocabulary", *(pytest.param(long, marks=pytest.mark.nightly) for long in ("sampled", "nightly"))],
)
def test_the_ledger_adds_up_to_at_most_the_run(evidence: str) -> None:
    """Every counting check states what it may spend; together at most 1e-6, whatever families run."""
    results = counted(evidence)
    spent = {result.id: result.evidence.alpha for result in results if result.claim not in DECIDED_BY_FORM}
    assert spent
    assert [name for name, alpha in spent.items() if not alpha] == []
    assert sum(alpha or 0 for alpha in spent.values()) <= FAMILY_ALPHA * (1 + 1e-9)
    assert sum(ALPHA_SHARES.values()) <= 1 + 1e-12
