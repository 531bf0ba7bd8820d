"""The certificate: what was asked, what was run, and what follows. Written as JSON, read back by ``Certificate``."""

import json
import platform
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import torch
from pydantic import BaseModel, ConfigDict

from specproof.properties.check import CLAIMS, IMPLIED, CheckResult, Counterexample
from specproof.properties.evidence.classical import holm
from specproof.properties.plan import Plan
from specproof.properties.subject import Subject
from specproof.properties.verdict import Verdict, merged

SCHEMA = "specproof-certificate/1"
PACKAGES = ("numpy", "scipy", "statsmodels", "torch", "transformers")


class SubjectRecord(BaseModel):
    """Who was certified."""

    name: str
    version: str
    kind: str
    capabilities: list[str]
    options: dict[str, Any]
    declared_rule: str | None


class SuiteRecord(BaseModel):
    """By what."""

    version: str
    commit: str | None


class Counts(BaseModel):
    """How many checks were named, ran, did not apply, and stayed undecided."""

    planned: int
    run: int
    skipped: int
    undecided: int


class Alpha(BaseModel):
    """The false-alarm rate of the whole run and what each deciding check may spend of it."""

    family: float
    ledger: dict[str, float]


class Certificate(BaseModel):
    """One subject's certificate."""

    model_config = ConfigDict(populate_by_name=True)

    schema_: str = SCHEMA
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
    created: str
    elapsed_seconds: float

    @property
    def counterexample(self) -> Counterexample | None:
        """The smallest counterexample: fewest tokens, then shortest block; exact and probed laws before counts."""
        shown = [
            (check.evidence.kind == "sampled", check.counterexample.size, list(CLAIMS).index(check.claim), index)
            for index, check in enumerate(self.checks)
            if check.counterexample is not None
        ]
        return self.checks[min(shown)[-1]].counterexample if shown else None

    def to_json(self) -> str:
        """The certificate as JSON text."""
        data = self.model_dump(mode="json")
        return json.dumps({"schema": data.pop("schema_"), **data}, indent=1)


def assemble(subject: Subject, plan: Plan, planned: int, results: list[CheckResult], elapsed: float) -> Certificate:
    """Put the certificate together. Fewer results than planned checks is never a pass."""
    claims = {claim: _of_claim(results, claim) for claim in CLAIMS if any(r.claim == claim for r in results)}
    verdict = merged([result.verdict for result in results])
    if len(results) < planned and verdict is Verdict.HELD:
        verdict = Verdict.UNDECIDED
    violated = [claim for claim, value in claims.items() if value is Verdict.FAILED]
    weakest = violated[0] if violated else None
    ledger = {r.id: r.evidence.alpha for r in results if r.evidence.alpha is not None}
    return Certificate(
        subject=SubjectRecord(
            name=subject.name,
            version=subject.version,
            kind=subject.kind,
            capabilities=sorted(subject.capabilities),
            options=subject.options,
            declared_rule=subject.declared.name if subject.declared else None,
        ),
        suite=SuiteRecord(version=metadata.version("specproof"), commit=_commit()),
        verdict=verdict,
        weakest_violated=weakest,
        also_violated=list(dict.fromkeys([*IMPLIED.get(weakest, ()), *violated[1:]])) if weakest else [],
        claims=claims,
        counts=Counts(
            planned=planned,
            run=len([r for r in results if r.verdict is not Verdict.NOT_APPLICABLE]),
            skipped=len([r for r in results if r.verdict is Verdict.NOT_APPLICABLE]),
            undecided=len([r for r in results if r.verdict is Verdict.UNDECIDED]),
        ),
        alpha=Alpha(family=plan.alpha, ledger=ledger),
        classical=_classical(results),
        notes=list(dict.fromkeys(note for result in results for note in result.notes)),
        checks=results,
        environment=_environment(),
        seeds={"suite": plan.seed},
        evidence=plan.evidence,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        elapsed_seconds=round(elapsed, 3),
    )


def _of_claim(results: Iterable[CheckResult], claim: str) -> Verdict:
    verdicts = [result.verdict for result in results if result.claim == claim]
    applicable = [verdict for verdict in verdicts if verdict is not Verdict.NOT_APPLICABLE]
    return merged(applicable) if applicable else Verdict.NOT_APPLICABLE


def _classical(results: Iterable[CheckResult]) -> dict[str, str]:
    """Holm over all chi-square and KS p-values of the run: reported, never deciding."""
    family = {
        f"{result.case}: {test}": p
        for result in results
        for test, p in (result.evidence.classical or {}).items()
        if test in ("chi_square", "kolmogorov_smirnov")
    }
    return {name: f"p = {family[name]:.3g}, {outcome}" for name, outcome in holm(family, 0.01).items()}


def _environment() -> dict[str, str]:
    found = {"python": platform.python_version(), "platform": platform.platform(), "machine": platform.machine()}
    found["threads"] = str(torch.get_num_threads())
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
