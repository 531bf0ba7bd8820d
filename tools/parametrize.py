"""``@specproof.parametrize_with_checks([subject, ...])``: every check as a test of its own, in somebody's own test file."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from specproof.expected import check_expected
from specproof.kept import evidence_names
from specproof.properties.check import CheckResult, Counterexample
from specproof.properties.plan import Check, EvidenceChoice, Gathering, Plan
from specproof.properties.suite import checks
from specproof.properties.verdict import Verdict
from specproof.subjects import describe

Expected = Mapping[str, str] | Callable[[Any], Mapping[str, str]]


@dataclass(frozen=True)
class CheckCall:
    """One check of one subject, as the argument of a test. Calling it runs it: a failure shows the counterexample.

    ``planned`` is how many checks the subject has in all, so that a summary can tell what did not run.
    """

    subject: str
    check: Check
    source: Gathering
    planned: int
    record: dict[str, CheckResult]

    def __call__(self) -> None:
        """Run the check. Fails the test when the claim is violated or undecided, skips it when it does not apply."""
        __tracebackhide__ = True
        result = self.record[self.check.id] = self.check.run(self.source)
        if result.verdict is Verdict.NOT_APPLICABLE:
            pytest.skip(result.reason)
        if result.verdict is not Verdict.HELD:
            pytest.fail(_message(self.subject, result), pytrace=False)


def parametrize_with_checks(
    subjects: Sequence[Any], *, evidence: EvidenceChoice = "quick", seed: int = 0,
    expected_failures: Expected | None = None,
) -> pytest.MarkDecorator:  # fmt: skip
    """Parametrize a test over every check of some subjects: verifiers, or functions as ``specproof.from_function`` takes.

    The test takes one argument, ``check``, and calls it. Ids are ``SUBJECT-CHECK``, the check as in the certificate, and
    can be selected with ``-k``. ``expected_failures`` is ``{check id: reason}``, or a function of the subject that returns
    it: such a test is an ``xfail`` that fails when the check passes. Evidence is gathered once and shared by checks.
    Raises ``ValueError`` for an unknown check id, ``TypeError`` for an object that cannot be a subject.
    """
    return pytest.mark.parametrize(
        "check",
        [given for subject in subjects for given in parameters(subject, Plan(evidence, seed), expected_failures or {})],
    )


def parameters(subject: Any, plan: Plan, expected: Expected) -> list[Any]:
    """The parameters of one subject, one a check."""
    known = dict(expected(subject) if callable(expected) else expected)
    described = describe(subject)
    planned = list(checks(described, plan))
    check_expected(known, [check.id for check in planned])
    shared: dict[str, Gathering] = {}
    record: dict[str, CheckResult] = {}
    result = []
    for check, name in zip(planned, evidence_names(planned), strict=True):
        source = shared.setdefault(name, Gathering(check.gather))
        marks = [pytest.mark.xfail(reason=known[check.id], strict=True)] if check.id in known else []
        call = CheckCall(described.name, check, source, len(planned), record)
        result.append(pytest.param(call, id=f"{described.name}-{check.id}", marks=marks))
    return result


def _message(subject: str, result: CheckResult) -> str:
    lines = [f"{result.verdict}: {subject}, {result.id}", f"  {result.reason}"]
    if result.counterexample is not None:
        lines += _shown(result.counterexample)
    return "\n".join(lines)


def _shown(found: Counterexample, most: int = 6) -> list[str]:
    size = f"V={found.vocabulary}, L={found.length}, K={found.drafts}"
    lines = [f"  counterexample {found.case!r} ({size}), total variation {found.total_variation}"]
    for name, rows in (("target", found.target), ("draft", found.draft)):
        lines += [f"    {name} after ({prefix}): {'  '.join(row)}" for prefix, row in list(rows.items())[:most]]
    for text in list(found.expected)[:most]:
        lines.append(f"    text {text}: should be {found.expected[text]}, is {found.observed.get(text, '0')}")
    return lines
