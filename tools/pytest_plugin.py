"""The pytest plugin: ``--specproof-subject module:object`` and what is planned, run and skipped in the summary.

``pytest --pyargs specproof.conformance --specproof-subject mine:verify`` certifies a verifier without a test file. The
plugin is loaded by every pytest run of an environment that has specproof, so it imports nothing before it is used.
"""

from collections import Counter
from collections.abc import Generator
from typing import Any

import pytest

PROPERTY = "specproof"
FIXTURE = "specproof_check"
CHOICES = (
    "quick",
    "nightly",
    "large-vocabulary",
    "exact",
    "probed",
    "driven",
    "sampled",
)  # plan.EvidenceChoice, which a test compares


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("specproof", "certify speculative-decoding verifiers")
    group.addoption(
        "--specproof-subject", metavar="SUBJECT", help="what specproof.conformance certifies: module:object, or a name"
    )
    group.addoption("--specproof-evidence", default="quick", choices=CHOICES, help="kind of evidence (default: quick)")
    group.addoption("--specproof-seed", default=0, type=int, help="seed of the run (default: 0)")
    group.addoption("--specproof-expect", metavar="FILE", help="expected failures, {check: reason} in JSON or TOML")


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say what is certified, and how."""
    subject = config.getoption("--specproof-subject")
    if subject is None:
        return None
    evidence, seed = config.getoption("--specproof-evidence"), config.getoption("--specproof-seed")
    return f"specproof: subject {subject}, evidence {evidence}, seed {seed}"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test that asks for ``specproof_check`` one test for each check of the subject."""
    if FIXTURE not in metafunc.fixturenames:
        return
    config = metafunc.config
    name = config.getoption("--specproof-subject")
    if name is None:
        no_subject = pytest.mark.skip(reason="say what to certify with --specproof-subject module:object")
        metafunc.parametrize(FIXTURE, [pytest.param(None, id="no subject", marks=no_subject)])
        return
    from specproof.expected import read_expected
    from specproof.parametrize import parameters
    from specproof.properties.plan import Plan
    from specproof.subjects import resolve

    expect = config.getoption("--specproof-expect")
    plan = Plan(config.getoption("--specproof-evidence"), config.getoption("--specproof-seed"))
    try:
        found = parameters(resolve(name), plan, read_expected(expect) if expect else {})
    except ValueError as error:
        raise pytest.Collector.CollectError(f"specproof: {error}") from None
    metafunc.parametrize(FIXTURE, found)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note on the report which check it is, so that the summary can count, also over several processes."""
    report = yield
    call = next((value for value in _parameters(item) if hasattr(value, "check") and hasattr(value, "planned")), None)
    if call is not None and report.when == "call":
        result = call.record.get(call.check.id)
        verdict = str(result.verdict) if result is not None else "UNDECIDED"
        report.user_properties.append((PROPERTY, [call.subject, call.planned, call.check.id, verdict]))
    return report


def _parameters(item: pytest.Item) -> list[Any]:
    callspec = getattr(item, "callspec", None)
    return list(callspec.params.values()) if callspec is not None else []


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Count what was planned, ran and was skipped, for each subject: a green line does not say how much ran."""
    seen: dict[tuple[str, int], dict[str, str]] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name == PROPERTY:
                    subject, planned, check, verdict = value
                    seen.setdefault((subject, planned), {})[check] = verdict
    if not seen:
        return
    terminalreporter.section("specproof")
    for (subject, planned), verdicts in seen.items():
        counts = Counter(verdicts.values())
        skipped = counts["NOT_APPLICABLE"]
        line = (
            f"{subject}: planned {planned}, run {len(verdicts) - skipped}, not applicable {skipped}; held {counts['HELD']}, "
            f"failed {counts['FAILED']}, undecided {counts['UNDECIDED']}"
        )
        missing = planned - len(verdicts)
        if missing:
            line += f"; {missing} not selected: this is no certificate"
        terminalreporter.write_line(line)
