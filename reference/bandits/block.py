"""What one round shows: the rows at every drafted position, the drafted tokens, and how many were accepted."""

from dataclasses import dataclass
from fractions import Fraction

Number = int | Fraction | float


@dataclass(frozen=True)
class Block:
    """One drafted and verified block of N positions.

    ``agreement`` holds ``1 - TV(target, draft)`` of the rows at each position along the draft, ``survival`` the
    probability ``min(1, target/draft)`` that the token drafted there passes once those before it have, ``accepted`` how
    many leading tokens passed, 0..N. A block of no positions is a round without speculation: it emits the target's token.
    """

    agreement: tuple[Number, ...]
    survival: tuple[Number, ...]
    accepted: int

    def __post_init__(self) -> None:
        if len(self.agreement) != len(self.survival) or not 0 <= self.accepted <= len(self.agreement):
            raise ValueError(
                f"a block of {len(self.agreement)} positions needs as many survivals and 0..{len(self.agreement)} "
                f"accepted tokens, got {len(self.survival)} and {self.accepted}"
            )

    @property
    def length(self) -> int:
        """Drafted positions, N."""
        return len(self.agreement)

    @property
    def emitted(self) -> int:
        """Tokens that the round adds to the text: the accepted ones and the correction or bonus."""
        return self.accepted + 1
