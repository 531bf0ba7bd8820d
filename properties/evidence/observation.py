"""What exact and probed evidence hand to the properties: the law of one step, and the law of the text."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from specproof.properties.cases import Case
from specproof.properties.evidence.calls import Emitted, Returned
from specproof.reference.model import Prefix

Mass = Fraction | float


@dataclass(frozen=True)
class Observation:
    """The laws of a subject on one case. ``tolerance`` is what rounding explains: zero for exact evidence.

    ``steps`` is the law of one step (over several iterations: only what broke the contract); ``text`` the law of the first
    ``case.horizon`` tokens, where mass lost to contract violations is missing. ``calls`` counts runs of the subject for
    one request, ``spot_checks`` those of them that checked predictions.
    """

    case: Case
    kind: str
    steps: Mapping[Returned, Mass]
    text: Mapping[Prefix, Mass]
    tolerance: Mass
    calls: int = 0
    spot_checks: int = 0

    def like(self, law: Mapping[Any, Mass]) -> dict[Any, Mass]:
        """A law in the observation's own numbers: fractions where it is exact, floats otherwise."""
        return dict(law) if self.kind == "exact" else {outcome: float(mass) for outcome, mass in law.items()}

    @property
    def accepted_law(self) -> dict[int, Mass]:
        """Law of the number of accepted tokens in one step."""
        result: dict[int, Mass] = {}
        for returned, mass in self.steps.items():
            if isinstance(returned, Emitted):
                result[returned.accepted] = result.get(returned.accepted, 0) + mass
        return dict(sorted(result.items()))

    @property
    def expected_accepted(self) -> Mass:
        """Mean number of accepted tokens in one step."""
        return sum(count * mass for count, mass in self.accepted_law.items())
