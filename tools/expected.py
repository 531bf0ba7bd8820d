"""Expected failures: what the caller knows to fail, ``{check id: reason}``. They live with the caller, never on the subject.

They change no verdict: a refuted subject stays refuted. They decide the ``outcome``: whether exactly those checks fail, so
that a known fault does not hide a new one, and a repaired one does not stay listed.
"""

import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from specproof.properties.check import CheckResult
from specproof.properties.verdict import Verdict, merged
from specproof.reference.names import nearest


class Expectations(BaseModel):
    """What was expected to fail, which of that did and which held, what failed besides, and what that makes of the run."""

    model_config = ConfigDict(extra="forbid")

    expected: dict[str, str]
    failed: list[str]
    passed: list[str]
    unexpected: list[str]
    outcome: Verdict


def check_expected(expected: Mapping[str, str], planned: Iterable[str]) -> None:
    """Raise ``ValueError`` for a check that does not exist, or a reason that says nothing."""
    names = set(planned)
    for name, reason in expected.items():
        if name not in names:
            raise ValueError(nearest("check in the expected failures", name, names))
        if not isinstance(reason, str) or not reason.strip():
            raise ValueError(f"expected failure {name!r} needs a reason, got {reason!r}")


def expectations(expected: Mapping[str, str], results: Iterable[CheckResult]) -> Expectations:
    """Compare. An expected failure that holds counts as a failure; one that is undecided stays undecided."""
    failed, passed, unexpected, verdicts = [], [], [], []
    for result in results:
        if result.id not in expected:
            verdicts.append(result.verdict)
            unexpected += [result.id] if result.verdict is Verdict.FAILED else []
        elif result.verdict is Verdict.FAILED:
            verdicts.append(Verdict.HELD)
            failed.append(result.id)
        elif result.verdict is Verdict.HELD:
            verdicts.append(Verdict.FAILED)
            passed.append(result.id)
        else:
            verdicts.append(Verdict.UNDECIDED)
    return Expectations(
        expected=dict(expected), failed=failed, passed=passed, unexpected=unexpected, outcome=merged(verdicts)
    )


def read_expected(path: str) -> dict[str, str]:
    """Read expected failures from a JSON or TOML file: one table, check id to reason. Raises ``ValueError``."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from error
    try:
        given = tomllib.loads(text) if path.endswith(".toml") else json.loads(text)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    if not isinstance(given, dict) or not all(isinstance(reason, str) for reason in given.values()):
        raise ValueError(f'{path}: a table {{"check id": "reason"}} is wanted')
    return given
