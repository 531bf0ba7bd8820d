"""Claims about the rewards: exact, by enumeration and closed forms (1 to 5), and what they need to be computed (17)."""

from fractions import Fraction
from math import comb

from specproof.reference.bandits import reward
from specproof.reference.bandits.drafters import AfterRejection, Drafters, Independent, Models, block_law
from specproof.reference.bandits.exact import expected
from specproof.reference.bandits.instance import Instance
from specproof.reference.bandits.moments import (
    acceptance_threshold,
    advantage,
    disadvantaged,
    efficiency_of_divergence,
    of_divergence,
    of_efficiency,
    small_gap_advantage,
)
from specproof.reference.bandits.ucb import MetaSDUCB
from specproof.reference.model import TableModel, prefixes
from specproof.regret.claims import Claim, Fact, Laboratory, equal, holds, rounded

FIFTH, HALF, FOUR_FIFTHS = Fraction(1, 5), Fraction(1, 2), Fraction(4, 5)
GRID = [Fraction(cell, 50) for cell in range(1, 50)]
SAME, OTHER = (dict.fromkeys(prefixes(2, 2), row) for row in ((1, 0), (0, 1)))


def mean(drafters: Drafters, arm: int, name: str) -> Fraction:
    """Exact mean of a reward."""
    told = reward(name)
    return Fraction(sum(mass * told(block) for block, mass in block_law(drafters, arm).items()))


def silent(drafters: Drafters, name: str) -> Fraction:
    """Probability that the reward of a block is zero."""
    told = reward(name)
    return sum((mass for block, mass in block_law(drafters, 0).items() if told(block) == 0), start=Fraction(0))


def reciprocal(_: Laboratory) -> list[Fact]:
    """Claim 1."""
    target, other = TableModel(SAME), TableModel(OTHER)
    drafters = Models(target, (target, other), 2)
    uneven = block_law(Independent([HALF], 3, 0), 0)
    return [
        equal("mean for equal rows; a reciprocal of TV would be infinite", "1", alike := mean(drafters, 0, "BD"), None),
        equal("mean for disjoint rows; a reciprocal would be 1", "0", apart := mean(drafters, 1, "BD"), alike != 1 or apart != 0),
        holds("it is the mean of N values", True, {reward("BD")(b) for b in uneven} == {HALF}, "(1/2 + 1/2 + 1/2) / 3 = 1/2"),
    ]  # fmt: skip


def lower_variance(_: Laboratory) -> list[Fact]:
    """Claim 2."""

    def smaller(share: Fraction, length: int, dispersion: Fraction) -> bool:
        return of_divergence(share, length, dispersion).variance <= of_efficiency(share, length).variance

    facts = []
    for length, threshold in ((5, "0.4347"), (8, "0.5061")):
        below, above = Fraction(threshold) - Fraction(1, 50), Fraction(threshold) + Fraction(1, 50)
        facts += [
            rounded(f"greedy, N={length}: it fails below this acceptance", threshold, acceptance_threshold(length) or 0.0),
            *(
                holds(f"greedy, N={length}, acceptance {float(share):.4f}", wanted, found := smaller(share, length, Fraction(1)), _versus(share, length), found)
                for share, wanted in ((below, False), (above, True))
            ),
        ]  # fmt: skip
    always = all(smaller(share, 5, FIFTH) for share in GRID)
    facts.append(holds("dispersion 1/N, N=5: at every acceptance", True, always, f"on {len(GRID)} values", always))
    return facts


def _versus(share: Fraction, length: int) -> str:
    divergence, efficiency = of_divergence(share, length).variance, of_efficiency(share, length).variance
    return f"Var BD {float(divergence):.4f}, Var BE {float(efficiency):.4f}"


def never_zero(_: Laboratory) -> list[Fact]:
    """Claim 3."""
    greedy, soft = Independent([FIFTH], 5), Independent([FIFTH], 5, 0)
    zero = silent(greedy, "BD")
    return [
        equal("greedy, acceptance 1/5, N=5: P(BD = 0) = (1-a)^N", "1024/3125", zero, zero == 0),
        equal("rows that always overlap: P(BD = 0)", "0", none := silent(soft, "BD"), none == 0),
        equal("for contrast P(BE = 0) = 1-a", "4/5", silent(greedy, "BE")),
    ]


def more_information(_: Laboratory) -> list[Fact]:
    """Claim 4."""
    smallest = min(small_gap_advantage(share, 5) for share in GRID)
    against = sum(1 for _ in disadvantaged(5))
    share = 100 * against / comb(len(GRID), 2)
    pair = float(advantage(HALF, Fraction(19, 20), 5))
    return [
        holds("drafters nearly alike: ratio of signal to noise BD/BE at least 1", True, smallest >= 1,
              f"at least {float(smallest):.3f} on {len(GRID)} values", smallest >= 1),
        rounded("percent of all pairs (greedy, N=5) where BE sees more", "6.3", share, against == 0),
        rounded("acceptances .95 and .50: ratio BD/BE", "0.78", pair, pair >= 1),
    ]  # fmt: skip


def mean_relation(_: Laboratory) -> list[Fact]:
    """Claim 5."""
    facts = []
    for share in (FIFTH, FOUR_FIFTHS):
        drafters = Independent([share], 5)
        efficiency, implied = mean(drafters, 0, "BE"), efficiency_of_divergence(mean(drafters, 0, "BD"), 5)
        facts.append(
            equal(f"independent positions, acceptance {share}: E[BE]", str(implied), efficiency, efficiency == implied)
        )
    flip = AfterRejection((HALF, FOUR_FIFTHS), (Fraction(1), Fraction(0)), 5)
    divergence, efficiency = mean(flip, 0, "BD"), mean(flip, 0, "BE")
    implied = efficiency_of_divergence(divergence, 5)
    facts += [
        equal("rows that depend on what was drafted (flip): E[BD]", "129/160", divergence),
        equal("there E[BE]", "31/160", efficiency, efficiency == implied),
        rounded("there the relation says", "0.549", float(implied)),
        equal("the other drafter, which accepts more: E[BD]", "8404/15625", mean(flip, 1, "BD")),
    ]
    return facts


def black_and_white_box(_: Laboratory) -> list[Fact]:
    """Claim 17."""
    depth = prefixes(2, 3)
    target = TableModel(dict.fromkeys(depth, (HALF, HALF)))
    near, far = (TableModel(dict.fromkeys(prefixes(2, 3), (share, 1 - share))) for share in (Fraction(2, 5), FIFTH))
    real, described = Models(target, (near, far), 2), Independent((Fraction(9, 10), Fraction(7, 10)), 2, 0)
    rounds = [
        expected(MetaSDUCB(2), instance, 6, instance.told(reward("BD"))).rounds
        for instance in (Instance(real), Instance(described))
    ]
    try:
        Models(target, (TableModel({(): (1,)}),), 2)
    except ValueError as refusal:
        refused, shown = True, str(refusal)
    else:
        refused, shown = False, "accepted"
    return [
        equal("one bandit on drafters seen through their rows: E[tau]", str(rounds[1]), rounds[0], rounds[0] == rounds[1]),
        holds("drafters of another vocabulary are refused (TV undefined)", True, refused, shown),
    ]  # fmt: skip


CLAIMS = [
    Claim(1, "Block divergence is the reciprocal of the total variation, averaged over the block.", reciprocal,
          "It is one minus the total variation; 'reciprocal' is a mistranslation."),
    Claim(2, "Block divergence has the lower variance.", lower_variance,
          "True exactly where the dispersion of TV is at most Var[accepted] / (N a (1-a)); at greedy decoding false for weak drafters."),
    Claim(3, "Block divergence is never zero.", never_zero,
          "At greedy decoding a block that disagrees everywhere says nothing; it is true where target and draft always overlap."),
    Claim(4, "Block divergence gives more information.", more_information,
          "Always for drafters nearly alike (Cramer-Rao); not for every pair."),
    Claim(5, "E[BE] = (1 - a^N) / (N (1 - a)) E[BD].", mean_relation,
          "True for independent positions. Where rows after a rejection differ, E[BD] counts what no text will meet."),
    Claim(17, "The bandit serves black-box and white-box drafters.", black_and_white_box,
          "Nothing but target and draft rows at the drafted positions is asked; a common vocabulary is needed."),
]  # fmt: skip
