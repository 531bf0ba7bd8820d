"""Evidence as data: what a certificate keeps of a run so that it can be judged again without the subject.

Laws keep the mass of every outcome (fractions as text, floats as they are); counts keep the tables. Evidence of another
form is named and not kept: the checks that rest on it stand as recorded.
"""

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from specproof.properties.cases import Case
from specproof.properties.check import name_of
from specproof.properties.evidence.calls import Emitted, Violation
from specproof.properties.evidence.observation import Observation
from specproof.properties.evidence.sampled import Sample, SamplePlan, decided
from specproof.properties.evidence.sampling import Carried, Counts
from specproof.properties.plan import Check
from specproof.properties.subject import Subject
from specproof.properties.verdict import Undecided
from specproof.reference.model import Prefix, TableModel, prefixes

Mass = str | float  # a fraction, or what floating point made of one


class Strict(BaseModel):
    """A part of a certificate: nothing unknown in it."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True, json_schema_serialization_defaults_required=True)


class KeptCase(Strict):
    """An instance: every row of both tables, keyed by prefix."""

    name: str
    purpose: str
    length: int
    drafts: int
    tokens: int | None
    target: dict[str, list[str]]
    draft: dict[str, list[str]]

    @classmethod
    def of(cls, case: Case) -> "KeptCase":
        """Write a case down."""
        return cls(
            name=case.name, purpose=case.purpose, length=case.length, drafts=case.drafts, tokens=case.tokens,
            target=_rows(case.target), draft=_rows(case.draft),
        )  # fmt: skip

    def restored(self) -> Case:
        """Return the case. Raises ``ValueError`` for tables that are none."""
        target, draft = TableModel.from_table(self.target), TableModel.from_table(self.draft)
        return Case(self.name, target, draft, self.length, self.purpose, self.drafts, self.tokens)


class KeptLaw(Strict):
    """A law that was enumerated or probed. ``steps``: accepted tokens, emitted tokens, mass; ``broken``: reason, mass."""

    form: Literal["law"] = "law"
    case: str
    kind: str
    tolerance: Mass
    calls: int
    spot_checks: int
    steps: list[tuple[int, str, Mass]]
    broken: list[tuple[str, Mass]]
    text: dict[str, Mass]

    def restored(self, _subject: Subject, case: Case) -> Observation:
        """Return the observation."""
        steps: dict[Any, Any] = {Emitted(count, _tokens(text)): _number(mass) for count, text, mass in self.steps}
        steps |= {Violation(reason): _number(mass) for reason, mass in self.broken}
        text = {_tokens(name): _number(mass) for name, mass in self.text.items()}
        return Observation(case, self.kind, steps, text, _number(self.tolerance), self.calls, self.spot_checks)


class KeptNights(Strict):
    """What earlier nights counted of the same case; it counts for what may be looked at any time."""

    text: list[int]
    accepted: list[int]
    nights: int


class KeptCounts(Strict):
    """Counted texts (by code, first token first) and accepted lengths; ``path``: log E after so many draws."""

    form: Literal["counts"] = "counts"
    case: str
    draws: int
    planned_draws: int
    text_alpha: float
    accepted_alpha: float
    seed: int
    text: list[int]
    accepted: list[int]
    violation: str | None
    path: list[tuple[int, float]]
    before: KeptNights | None = None

    def restored(self, subject: Subject, case: Case) -> Sample:
        """Decide the counts again. Raises ``ValueError`` for counts that are not this case's."""
        parts: list[KeptCounts | KeptNights] = [self] if self.before is None else [self, self.before]
        for part in parts:
            if (len(part.text), len(part.accepted)) != (case.vocabulary**case.horizon, case.length + 1):
                raise ValueError(f"{len(part.text)} counts of texts and {len(part.accepted)} of lengths")
            draws = self.draws if part is self else sum(part.text)
            if sum(part.text) != draws or sum(part.accepted) != draws or min(*part.text, *part.accepted) < 0:
                raise ValueError(f"the counts do not add up to {draws} draws")
        plan = SamplePlan(self.planned_draws, self.text_alpha, self.accepted_alpha, self.seed)
        counts = Counts(np.array(self.text), np.array(self.accepted), self.violation, self.draws)
        if self.before is not None:
            counts.before = Carried(np.array(self.before.text), np.array(self.before.accepted), self.before.nights)
        return decided(subject, case, plan, counts, self.path)


class KeptReason(Strict):
    """Why evidence could not be gathered."""

    form: Literal["undecided"] = "undecided"
    case: str
    reason: str

    def restored(self, _subject: Subject, _case: Case) -> Any:
        """Raise ``Undecided`` with the reason."""
        raise Undecided(self.reason)


class NotKept(Strict):
    """That there was evidence, of a form that cannot be written down."""

    form: Literal["not kept"] = "not kept"
    case: str
    what: str


Kept = Annotated[KeptLaw | KeptCounts | KeptReason | NotKept, Field(discriminator="form")]


def keep(found: Any, check: Check) -> KeptLaw | KeptCounts | NotKept:
    """Write the evidence of a check down."""
    if case_of(check.gather) is None:
        return NotKept(case=check.case, what=type(found).__name__)
    if type(found) is Observation:
        emitted = [
            (it.accepted, name_of(it.tokens), _mass(m)) for it, m in found.steps.items() if isinstance(it, Emitted)
        ]
        broken = [(it.reason, _mass(mass)) for it, mass in found.steps.items() if isinstance(it, Violation)]
        return KeptLaw(
            case=found.case.name, kind=found.kind, tolerance=_mass(found.tolerance), calls=found.calls,
            spot_checks=found.spot_checks, steps=emitted, broken=broken,
            text={name_of(text): _mass(mass) for text, mass in found.text.items()},
        )  # fmt: skip
    if type(found) is Sample:
        earlier = found.counts.before
        before = None
        if earlier is not None:
            before = KeptNights(text=earlier.text.tolist(), accepted=earlier.accepted.tolist(), nights=earlier.nights)
        return KeptCounts(
            case=found.case.name, draws=found.counts.draws, planned_draws=found.plan.draws,
            text_alpha=found.plan.text_alpha, accepted_alpha=found.plan.accepted_alpha, seed=found.plan.seed,
            text=found.counts.text.tolist(), accepted=found.counts.accepted.tolist(), violation=found.counts.violation,
            path=found.path, before=before,
        )  # fmt: skip
    return NotKept(case=check.case, what=type(found).__name__)


def evidence_names(planned: Iterable[Check]) -> list[str]:
    """A name for what each check looks at, the same for checks that share it: the kind and the case, numbered if need be."""
    names: dict[int, str] = {}
    taken: dict[str, int] = {}
    result = []
    for check in planned:
        if id(check.gather) not in names:
            title = f"{check.kind}:{check.case}"
            taken[title] = taken.get(title, 0) + 1
            names[id(check.gather)] = title if taken[title] == 1 else f"{title}#{taken[title]}"
        result.append(names[id(check.gather)])
    return result


def case_of(gather: Callable[[], Any]) -> Case | None:
    """The case that evidence is gathered on."""
    return getattr(gather, "case", None)


def _rows(model: TableModel) -> dict[str, list[str]]:
    rows = {}
    for prefix in prefixes(model.vocabulary, model.depth):
        try:
            rows[name_of(prefix)] = [str(share) for share in model.probabilities(prefix)]
        except LookupError:
            continue
    return rows


def _mass(value: Fraction | float) -> Mass:
    return value if isinstance(value, float) else str(value)


def _number(mass: Mass) -> Fraction | float:
    return mass if isinstance(mass, float) else Fraction(mass)


def _tokens(name: str) -> Prefix:
    return tuple(int(token) for token in name.split(",")) if name else ()
