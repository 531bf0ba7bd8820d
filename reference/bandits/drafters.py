"""Drafters to choose from: each is a program over ``Chance`` that draws one block, so its law can be enumerated.

``Independent`` is the model of MetaSD's analysis (positions alike and independent); ``AfterRejection`` is the smallest
model in which rows after a rejection mislead; ``Models`` drafts from real (rational) language models.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Protocol, cast

from scipy.special import betaincinv

from specproof.reference.bandits.block import Block, Number
from specproof.reference.bandits.uniforms import uniform
from specproof.reference.chance import Chance
from specproof.reference.law import law
from specproof.reference.model import Model
from specproof.reference.step import sample


class Drafters(Protocol):
    """Arms with a law of their blocks."""

    @property
    def lengths(self) -> tuple[int, ...]:
        """Drafted positions of every arm."""
        ...

    def draw(self, chance: Chance, arm: int) -> Block:
        """Draft and verify one block with the arm."""
        ...

    def __hash__(self) -> int:
        """Drafters are part of a cache's key: equal ones draw alike."""
        ...


def block_law(drafters: Drafters, arm: int) -> dict[Block, Fraction]:
    """The exact law of one block. Raises ``ValueError`` where it is continuous (Beta agreement)."""
    return law(lambda chance: drafters.draw(chance, arm))


def tokens_a_round(drafters: Drafters) -> list[Number]:
    """Mean emitted tokens of a round with each arm, m: by closed form where the drafters know one."""
    own = getattr(drafters, "tokens_a_round", None)
    if own is not None:
        return list(own())
    return [
        sum((mass * block.emitted for block, mass in block_law(drafters, arm).items()), start=Fraction(0))
        for arm in range(len(drafters.lengths))
    ]


def verified(chance: Chance, agreement: Sequence[Number], survival: Sequence[Number]) -> Block:
    """The block in which tokens pass with these probabilities until the first that does not."""
    accepted = 0
    while accepted < len(survival) and chance.flip(cast(Fraction, survival[accepted])):
        accepted += 1
    return Block(tuple(agreement), tuple(survival), accepted)


@dataclass(frozen=True)
class Independent:
    """Positions alike and independent: agreement has mean ``acceptance`` and variance ``dispersion * a * (1 - a)``.

    Dispersion 1 is greedy decoding (agreement 0 or 1), 0 a constant. In between: ``mixture`` is the constant with
    probability ``1 - dispersion`` and 0 or 1 otherwise, which can be enumerated; ``beta`` is the Beta law.
    ``lengths``: one number for all arms or one for each; 0 is an arm that does not speculate.
    Raises ``ValueError`` for numbers outside [0, 1], negative lengths, or as many lengths as there are not arms.
    """

    acceptance: tuple[Number, ...]
    lengths: tuple[int, ...]
    dispersion: Number
    between: Literal["mixture", "beta"]

    def __init__(
        self, acceptance: Iterable[Number], length: int | Iterable[int], dispersion: Number = 1,
        between: Literal["mixture", "beta"] = "mixture",
    ) -> None:  # fmt: skip
        shares = tuple(acceptance)
        lengths = (length,) * len(shares) if isinstance(length, int) else tuple(length)
        if not shares or len(lengths) != len(shares) or any(positions < 0 for positions in lengths):
            raise ValueError(f"{len(shares)} drafters need as many lengths from 0 up, got {list(lengths)}")
        for share in (*shares, dispersion):
            if not 0 <= share <= 1:
                raise ValueError(f"acceptance and dispersion lie in [0, 1], got {share}")
        object.__setattr__(self, "acceptance", shares)
        object.__setattr__(self, "lengths", lengths)
        object.__setattr__(self, "dispersion", dispersion)
        object.__setattr__(self, "between", between)

    def tokens_a_round(self) -> list[Number]:
        """``1 + a + ... + a^N`` of every arm."""
        pairs = zip(self.acceptance, self.lengths, strict=True)
        return [sum(share**k for k in range(length + 1)) for share, length in pairs]

    def draw(self, chance: Chance, arm: int) -> Block:
        """Draw the rows of all positions, then a coin a position until the first rejection."""
        agreement = [self._agreement(chance, self.acceptance[arm]) for _ in range(self.lengths[arm])]
        return verified(chance, agreement, agreement)

    def _agreement(self, chance: Chance, mean: Number) -> Number:
        spread = self.dispersion
        if spread == 0:
            return mean
        if self.between == "beta" and spread < 1 and 0 < mean < 1:
            size = 1 / float(spread) - 1
            return float(betaincinv(float(mean) * size, (1 - float(mean)) * size, uniform(chance, "Beta agreement")))
        weights = (spread * mean, spread * (1 - mean), 1 - spread)
        return (1, 0, mean)[chance.choose(cast(tuple[Fraction, ...], weights))]


@dataclass(frozen=True)
class AfterRejection:
    """Until a token is rejected an arm agrees by ``before``, its tokens pass surely or fail surely; after it, by ``after``.

    With before (1/2, 4/5), after (1, 0) and N = 5 block divergence prefers the arm that accepts less.
    """

    before: tuple[Number, ...]
    after: tuple[Number, ...]
    length: int

    @property
    def lengths(self) -> tuple[int, ...]:
        """Drafted positions of every arm."""
        return (self.length,) * len(self.before)

    def tokens_a_round(self) -> list[Number]:
        """As for independent positions: what comes after a rejection emits nothing."""
        return Independent(self.before, self.length).tokens_a_round()

    def draw(self, chance: Chance, arm: int) -> Block:
        """Ask of every position whether its token matches; what follows the first that does not has other rows."""
        matches = [chance.flip(cast(Fraction, self.before[arm])) for _ in range(self.length)]
        accepted = matches.index(False) if False in matches else self.length
        agreement = tuple(
            self.before[arm] if position <= accepted else self.after[arm] for position in range(self.length)
        )
        return Block(agreement, tuple(int(match) for match in matches), accepted)


@dataclass(frozen=True)
class Models:
    """Real drafters: every block starts at the empty prefix of ``target`` and of one of ``drafts``.

    Raises ``ValueError`` when vocabularies differ: total variation between them is not defined.
    """

    target: Model
    drafts: tuple[Model, ...]
    length: int

    def __post_init__(self) -> None:
        if any(draft.vocabulary != self.target.vocabulary for draft in self.drafts):
            sizes = [draft.vocabulary for draft in self.drafts]
            raise ValueError(
                f"the target has {self.target.vocabulary} tokens, the drafters {sizes}; they must be equal"
            )

    @property
    def lengths(self) -> tuple[int, ...]:
        """Drafted positions of every arm."""
        return (self.length,) * len(self.drafts)

    def draw(self, chance: Chance, arm: int) -> Block:
        """Draft N tokens, look at all rows along them, and verify token by token."""
        path = sample(chance, self.drafts[arm], self.length)
        return verified(chance, *along(self.target, self.drafts[arm], path))


def along(target: Model, draft: Model, path: tuple[int, ...]) -> tuple[list[Fraction], list[Fraction]]:
    """Agreement ``1 - TV`` and survival ``min(1, target/draft)`` at every position of a drafted path."""
    agreement, survival = [], []
    for position, token in enumerate(path):
        wanted, drafted = target.probabilities(path[:position]), draft.probabilities(path[:position])
        agreement.append(sum(map(min, wanted, drafted), start=Fraction(0)))
        survival.append(min(Fraction(1), wanted[token] / drafted[token]))
    return agreement, survival
