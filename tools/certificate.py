"""The certificate: what was asked, what was run, and what follows. Written as JSON, read back by ``Certificate``."""

import json
import math
import platform
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, Final, Literal

import torch
from pydantic import Field

from specproof.expected import Expectations, expectations
from specproof.journal import Journal
from specproof.kept import Kept, KeptCase, NotKept, Strict, case_of, evidence_names
from specproof.properties.check import CLAIMS, CheckResult, Counterexample
from specproof.properties.evidence.classical import holm
from specproof.properties.lattice import also_violated, weakest
from specproof.properties.plan import Check, Plan
from specproof.properties.subject import Subject
from specproof.properties.verdict import Verdict, merged

SCHEMA: Final = "specproof-certificate/2"
PACKAGES = ("numpy", "scipy", "statsmodels", "torch", "transformers")


class DraftingRecord(Strict):
    """How the subject wants its drafts drawn."""

    drafts: int
    replacement: bool
    tree: bool


class SubjectRecord(Strict):
    """Who was certified."""

    name: str
    version: str
    kind: str
    capabilities: list[str]
    options: dict[str, Any]
    declared_rule: str | None
    declared_options: dict[str, Any]
    largest_deviation: float | None
    drafting: DraftingRecord


class SuiteRecord(Strict):
    """By what."""

    version: str
    commit: str | None


class Counts(Strict):
    """How many checks were named, ran, did not apply, and stayed undecided."""

    planned: int
    run: int
    skipped: int
    undecided: int


class Alpha(Strict):
    """The false-alarm rate of the whole run and what each deciding check may spend of it."""

    family: float
    ledger: dict[str, float]


class Resumed(Strict):
    """How much was taken over from a run of the same certification that was stopped, and when that run began."""

    checks: int
    begun: str


class Certificate(Strict):
    """One subject's certificate. ``cases`` and ``kept`` are what it can be judged by again, without the subject."""

    schema_: Literal["specproof-certificate/2"] = Field(default=SCHEMA, alias="schema")
    subject: SubjectRecord
    suite: SuiteRecord
    verdict: Verdict
    weakest_violated: str | None
    also_violated: list[str]
    claims: dict[str, Verdict]
    counts: Counts
    alpha: Alpha
    classical: dict[str, str]
    notes: list[str]
    checks: list[CheckResult]
    environment: dict[str, str]
    seeds: dict[str, int]
    evidence: str
    seconds: float | None
    created: str
    elapsed_seconds: float
    resumed: Resumed | None
    expectations: Expectations | None
    cases: dict[str, KeptCase]
    kept: dict[str, Kept]

    @property
    def outcome(self) -> Verdict:
        """The verdict; with expected failures, whether exactly those fail."""
        return self.expectations.outcome if self.expectations else self.verdict

    @property
    def counterexample(self) -> Counterexample | None:
        """The one that was made smaller; otherwise that of fewest tokens, then shortest block, laws before counts."""
        shown = [
            (
                check.counterexample.replay is None,
                check.evidence.kind == "sampled",
                check.counterexample.size,
                list(CLAIMS).index(check.claim),
                index,
            )
            for index, check in enumerate(self.checks)
            if check.counterexample is not None
        ]
        return self.checks[min(shown)[-1]].counterexample if shown else None

    def to_json(self) -> str:
        """The certificate as JSON text; a number that is none (NaN) is null."""
        return json.dumps(_finite(self.model_dump(mode="json", by_alias=True)), indent=1, allow_nan=False)


@dataclass(frozen=True)
class Conclusion:
    """What follows from the results of the planned checks."""

    verdict: Verdict
    claims: dict[str, Verdict]
    weakest: str | None
    also: list[str]


def conclude(planned: int, results: list[CheckResult]) -> Conclusion:
    """Merge the results. Fewer results than planned checks is never a pass."""
    claims = {claim: _of_claim(results, claim) for claim in CLAIMS if any(r.claim == claim for r in results)}
    verdict = merged([result.verdict for result in results])
    if len(results) < planned and verdict is Verdict.HELD:
        verdict = Verdict.UNDECIDED
    first = weakest(claims)
    return Conclusion(verdict, claims, first, also_violated(first, claims) if first else [])


def counted(planned: int, results: list[CheckResult]) -> Counts:
    """Count the results."""
    return Counts(
        planned=planned,
        run=len([r for r in results if r.verdict is not Verdict.NOT_APPLICABLE]),
        skipped=len([r for r in results if r.verdict is Verdict.NOT_APPLICABLE]),
        undecided=len([r for r in results if r.verdict is Verdict.UNDECIDED]),
    )


def assemble(
    subject: Subject, plan: Plan, planned: list[Check], results: list[CheckResult], elapsed: float, *,
    journal: Journal, expected: Mapping[str, str],
) -> Certificate:  # fmt: skip
    """Put the certificate together."""
    found = conclude(len(planned), results)
    names = evidence_names(planned)
    kept = {name: journal.evidence[name] for name in names if name in journal.evidence}
    on = {
        case.name: case
        for name, case in zip(names, map(case_of, (check.gather for check in planned)), strict=True)
        if case is not None and not isinstance(kept.get(name), NotKept)  # a case of the same name may be another one
    }
    drafting = subject.drafting
    return Certificate(
        subject=SubjectRecord(
            name=subject.name,
            version=subject.version,
            kind=subject.kind,
            capabilities=sorted(subject.capabilities),
            options=subject.options,
            declared_rule=subject.declared.name if subject.declared else None,
            declared_options=dict(getattr(subject.verifier, "rule_options", {})),
            largest_deviation=subject.largest_deviation,
            drafting=DraftingRecord(drafts=drafting.drafts, replacement=drafting.replacement, tree=drafting.tree),
        ),
        suite=SuiteRecord(version=metadata.version("specproof"), commit=_commit()),
        verdict=found.verdict,
        weakest_violated=found.weakest,
        also_violated=found.also,
        claims=found.claims,
        counts=counted(len(planned), results),
        alpha=Alpha(
            family=plan.alpha, ledger={r.id: r.evidence.alpha for r in results if r.evidence.alpha is not None}
        ),
        classical=_classical(results),
        notes=list(dict.fromkeys(note for result in results for note in result.notes)),
        checks=results,
        environment=_environment(),
        seeds={"suite": plan.seed},
        evidence=plan.evidence,
        seconds=plan.seconds,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        elapsed_seconds=round(elapsed, 3),
        resumed=Resumed(checks=journal.resumed, begun=journal.begun) if journal.resumed else None,
        expectations=expectations(expected, results) if expected else None,
        cases={name: KeptCase.of(on[name]) for name in dict.fromkeys(it.case for it in kept.values()) if name in on},
        kept=kept,
    )


def _finite(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def _of_claim(results: Iterable[CheckResult], claim: str) -> Verdict:
    verdicts = [result.verdict for result in results if result.claim == claim]
    applicable = [verdict for verdict in verdicts if verdict is not Verdict.NOT_APPLICABLE]
    return merged(applicable) if applicable else Verdict.NOT_APPLICABLE


def _classical(results: Iterable[CheckResult]) -> dict[str, str]:
    """Holm over all chi-square and KS p-values of the run: reported, never deciding."""
    family = {
        f"{result.case}: {test}": math.nan if p is None else p
        for result in results
        for test, p in (result.evidence.classical or {}).items()
        if test in ("chi_square", "kolmogorov_smirnov")
    }
    return {name: f"p = {family[name]:.3g}, {outcome}" for name, outcome in holm(family, 0.01).items()}


def _environment() -> dict[str, str]:
    found = {"python": platform.python_version(), "platform": platform.platform(), "machine": platform.machine()}
    return {**found, "threads": str(torch.get_num_threads()), **versions()}


def versions() -> dict[str, str]:
    """The packages that numbers depend on, as they are installed."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found


def _commit() -> str | None:
    """The checkout's commit, marked when files differ from it; None for an installed copy."""
    here = Path(__file__).resolve().parent
    try:
        listed = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
            cwd=here, capture_output=True, text=True, check=True, timeout=10,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return listed.stdout.strip()


def json_schema() -> dict[str, Any]:
    """The JSON schema of a certificate, as it is published in ``schema/certificate-2.json``."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "specproof certificate",
        **Certificate.model_json_schema(by_alias=True, mode="serialization"),
    }


if __name__ == "__main__":
    print(json.dumps(json_schema(), indent=1))
