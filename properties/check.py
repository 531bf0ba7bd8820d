"""The result of one named check, and the counterexample that a failed one must show."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from specproof.properties.cases import Case
from specproof.properties.verdict import Verdict
from specproof.reference.model import Prefix, TableModel

# Weakest first: no claim falls with one behind it (``lattice`` says what falls with what).
CLAIMS = {
    "contract": "returns what the contract asks for",
    "support": "emits no token that the target rules out",
    "drafts": "its drafts have the law that it declares for them",
    "target rows": "verifies against the rows that plain decoding would use",
    "verified length": "how far it verifies does not depend on the draft that it is about to verify",
    "first token": "the first token has the target's law",
    "block": "the tokens of one block have the target's joint law",
    "stop time": "the text ends when plain decoding would end it",
    "iterations": "the text of several iterations has the target's joint law",
    "independent requests": "what one request gets does not depend on the others, and no two share randomness",
    "degenerate rows": "rows without a law (NaN, zero, -1) get a documented answer, never a silent id",
    "precision": "decides as exact arithmetic does, outside the rounding margin of a threshold",
    "exact regret": "a bandit: needs as many rounds as the declared policy, to the fraction",
    "logarithmic regret": "a bandit: what it loses grows no faster than the logarithm of the tokens",
    "noiseless curve": "a bandit: loses as much as the declared index, in either direction",
    "regret bound": "a bandit: loses no more than the theorem allows",
    "monotone": "more drafts do not lower its acceptance",
    "declared law": "loses the target's law in the way that it declares, and no more",
    "declared acceptance": "accepts as many tokens as the declared rule",
    "driven": "decides as the declared rule on the same uniforms",
    "acceptance ceiling": "accepts no more tokens than a lossless rule can",
}


@dataclass(frozen=True)
class Evidence:
    """What a verdict rests on. Unused fields are None."""

    kind: str
    total_variation: float | None = None
    total_variation_exact: str | None = None
    upper_bound: float | None = None
    confidence: float | None = None
    detectable: float | None = None
    tolerance: float | None = None
    expected: float | None = None
    observed: float | None = None
    draws: int | None = None
    planned_draws: int | None = None
    calls: int | None = None
    spot_checks: int | None = None
    log_e: float | None = None
    log_e_path: list[tuple[int, float]] | None = None  # (draws, log E) after every look
    alpha: float | None = None
    classical: dict[str, float | None] | None = None
    counts: list[int] | None = None


@dataclass(frozen=True)
class Counterexample:
    """An instance on which the claim is false: the models as tables, the law it should have and the law it has."""

    case: str
    vocabulary: int
    length: int
    drafts: int
    tokens: int
    target: dict[str, list[str]]
    draft: dict[str, list[str]]
    expected: dict[str, str]
    observed: dict[str, str]
    worst: str
    total_variation: str
    size: tuple[int, ...] = field(default=(), repr=False)
    fault: str | None = None  # the named faults that have this law here
    replay: str | None = None  # the command that shows it again
    of: str = "text"  # what the laws are laws of


@dataclass(frozen=True)
class CheckResult:
    """One named check and its verdict."""

    id: str
    property: str
    claim: str
    case: str
    verdict: Verdict
    reason: str
    evidence: Evidence
    counterexample: Counterexample | None = None
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Finding:
    """What a property makes of an observation, before it is given the name of a check."""

    verdict: Verdict
    reason: str
    evidence: Evidence
    counterexample: Counterexample | None = None
    notes: list[str] = field(default_factory=list)


Judge = Callable[[Any], Finding]


def readable(value: Fraction | float) -> str:
    """A fraction while it is simple, otherwise six significant digits."""
    if isinstance(value, float) or value.denominator > 10**6:
        return f"{float(value):.6g}"
    return str(value)


def name_of(tokens: Prefix) -> str:
    """How a text is written: comma-separated ids."""
    return ",".join(map(str, tokens))


def reached_rows(model: TableModel, depth: int) -> dict[str, list[str]]:
    """The rows of a table that matter: those of prefixes below ``depth`` that can occur."""
    rows: dict[str, list[str]] = {}
    reached: list[Prefix] = [()]
    for _ in range(depth):
        extended = []
        for prefix in reached:
            row = model.probabilities(prefix)
            rows[name_of(prefix)] = [str(share) for share in row]
            extended += [(*prefix, token) for token, share in enumerate(row) if share]
        reached = extended
    return rows


def counterexample(
    case: Case, expected: Mapping[Prefix, Fraction], observed: Mapping[Prefix, Any], distance: Any, *, of: str = "text"
) -> Counterexample:
    """Lay out a violated law, of the text or of another tuple of numbers, largest difference first."""
    texts = sorted(expected.keys() | observed.keys())
    gap = {text: abs(float(observed.get(text, 0)) - float(expected.get(text, 0))) for text in texts}
    ranked = sorted(texts, key=lambda text: -gap[text])
    return Counterexample(
        case.name, case.vocabulary, case.length, case.drafts, case.horizon,
        reached_rows(case.target, case.horizon),
        reached_rows(case.draft, case.length if not case.iterated else case.horizon - 1 + case.length),
        {name_of(text): readable(expected.get(text, Fraction(0))) for text in ranked},
        {name_of(text): readable(observed.get(text, Fraction(0))) for text in ranked},
        name_of(ranked[0]), readable(distance), case.size, of=of,
    )  # fmt: skip
