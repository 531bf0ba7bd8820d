"""How close the balanced race comes to the best that any rule can do."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from specproof.reference.model import joint, prefixes
from specproof.reference.selectors.race import Race, profile
from specproof.reference.selectors.scores import winning
from specproof.reference.selectors.tables import balanced
from specproof.reference.testing import Instance, generated, instances
from specproof.reference.transport.block import block_coupling

SEVERAL_DRAFTS = ((2, 1, 2), (3, 1, 2), (3, 1, 3), (4, 1, 2), (2, 2, 2), (2, 2, 3), (3, 2, 2), (2, 3, 2))
EIGHT_CELLS = 8


def test_balanced_is_near_the_block_transport_optimum() -> None:
    """With greedy block verification ``balanced`` has .99 of the optimum on average, over 300 generated instances.

    A(z) = min(target(z), D(z)), so that E[tau] needs the law D of the selected path only; the optimum is certified.
    Instances on which nothing can be accepted have no share and are counted as fully served.
    """
    shares: list[Fraction] = []

    @generated(300)
    @given(instances(sizes=SEVERAL_DRAFTS), st.just(EIGHT_CELLS))
    def check(instance: Instance, cells: int) -> None:
        target, draft, drafts, length = instance.target, instance.draft, instance.drafts, instance.length
        race = Race(target, draft, drafts, length, balanced, cells)
        reached = sum(
            (
                min(joint(target, (), prefix), winning(profile(race, prefix), drafts))
                for prefix in prefixes(target.vocabulary, length)
                if prefix
            ),
            start=Fraction(0),
        )
        best = block_coupling(target, draft, drafts=drafts, length=length).value
        assert reached <= best
        shares.append(reached / best if best else Fraction(1))

    check()
    assert len(shares) >= 300
    assert sum(shares) / len(shares) >= Fraction(99, 100)
