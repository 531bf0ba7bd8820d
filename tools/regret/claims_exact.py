"""Claims about the algorithm on tiny instances, in fractions: the objective (9), UCB itself (10), losslessness (19)."""

from fractions import Fraction
from functools import partial

from specproof.properties.mutants import mutant_rule
from specproof.reference.bandits import Bandit, policy, policy_names, reward
from specproof.reference.bandits.drafters import Independent
from specproof.reference.bandits.exact import expected, walked
from specproof.reference.bandits.instance import Instance
from specproof.reference.bandits.regret import identity
from specproof.reference.bandits.text import text_law
from specproof.reference.bandits.uniforms import Given
from specproof.reference.law import total_variation
from specproof.reference.model import TableModel, prefixes, sequences
from specproof.regret.claims import Claim, Fact, Laboratory, equal, holds

BETA = 2**-0.5
DEPTH = 5


def greedy(*acceptance: str) -> Instance:
    """Drafters of two tokens at greedy decoding."""
    return Instance(Independent([Fraction(share) for share in acceptance], 2))


def objective(_: Laboratory) -> list[Fact]:
    """Claim 9."""
    instance = greedy("1/2", "4/5")
    told = instance.told(reward("BE"))
    ucb = policy("meta_sd_ucb", 2, beta=BETA, ties="uniform")
    facts = [equal("UCB, 12 tokens: regret", "771862851/1250000000", identity(ucb, instance, 12, told).regret)]
    for name, made in (("UCB", ucb), ("random", policy("random", 2)), ("round robin", policy("round_robin", 2))):
        sides = identity(made, instance, 12, told)
        right = sides.pseudo_regret + sides.overshoot
        facts.append(equal(f"{name}: regret = what pulls lose + overshoot", str(right), sides.regret, sides.holds))
    return facts


def explores_and_exploits(_: Laboratory) -> list[Fact]:
    """Claim 10."""
    five = policy("meta_sd_ucb", 5)
    state, arms = five.start(), []
    for _round in range(5):
        arms.append(five.choose(state, Given(())))
        state = five.update(state, arms[-1], Fraction(1, 2))
    facts = [holds("every drafter once, in order", True, arms == list(range(5)), str(arms), arms == list(range(5)))]
    golden: list[tuple[str, tuple[str, ...], int | tuple[int, ...], str, str]] = [
        ("I1 BE, 12 tokens", ("1/2", "4/5"), 12, "BE", "234917661/40000000"),
        ("I2 BE, best first", ("4/5", "1/2"), 12, "BE", "233952987/40000000"),
        ("I3 BE, three drafters", ("1/5", "1/2", "4/5"), 12, "BE", "4054485051/625000000"),
        ("I4 BD, 9 tokens", ("1/2", "4/5"), 9, "BD", "113642094713/25000000000"),
        ("I5 BE, two queries of 6", ("1/2", "4/5"), (6, 6), "BE", "31563/5000"),
    ]
    for title, acceptance, tokens, name, wanted in golden:
        where = greedy(*acceptance)
        bandit = partial(Bandit, policy("meta_sd_ucb", where.arms, beta=BETA), Given(()))
        facts.append(equal(f"{title}: E[tau]", wanted, walked(bandit, where, tokens, where.told(reward(name))).rounds))
    instance = greedy("1/2", "4/5")
    told = instance.told(reward("BE"))
    best, ucb, random = (
        expected(made, instance, 12, told).rounds
        for made in (policy("oracle", 2, best=1), policy("meta_sd_ucb", 2, beta=BETA), policy("random", 2))
    )
    between = best < ucb < random
    shown = f"{float(best):.3f} < {float(ucb):.3f} < {float(random):.3f}"
    return [*facts, holds("between oracle and random", True, between, shown, between)]


def rows(*shares: str) -> TableModel:
    """Rows over {0, 1} by how many ones the prefix has, around again after the last."""
    zeros = [Fraction(share) for share in shares]
    return TableModel({p: (zero := zeros[sum(p) % len(zeros)], 1 - zero) for p in prefixes(2, DEPTH)})


def lossless(_: Laboratory) -> list[Fact]:
    """Claim 19."""
    target, drafts = rows("1/2", "4/5", "0"), (rows("1/5", "2/5"), rows("9/10", "1", "1/3"))
    law = sequences(target, 4)
    facts = []
    for name in policy_names():
        if name in ("thompson", "full_information"):  # continuous draws; looks at blocks that were not verified
            continue
        found = text_law(policy(name, 2, best=1), target, drafts, length=2, tokens=4, reward=reward("BD"))
        distance = total_variation(found, law)
        facts.append(equal(f"{name}: TV of four tokens from the target", "0", distance, distance == 0))
    fault = mutant_rule("resample_from_target")
    assert fault is not None
    faulty = text_law(
        policy("meta_sd_ucb", 2), target, drafts, length=2, tokens=4, reward=reward("BD"), verify=fault.verify
    )
    distance = total_variation(faulty, law)
    facts.append(holds("corrections from the target are seen", True, distance > 0, f"TV {float(distance):.4f}"))
    return facts


CLAIMS = [
    Claim(9, "The objective, fewest rounds for B tokens, is most accepted tokens a round.", objective,
          "Reg = sum (m* - m_i)/m* E[n_i] + (E[O] - E[O*])/m*, exactly; the overshoot's part is at most N/m*."),
    Claim(10, "UCB plays every drafter once, then balances exploration and exploitation.", explores_and_exploits,
          "Expected rounds of the policy object itself, walked through every history, equal the golden fractions."),
    Claim(19, "(implied) Whatever drafter is chosen, the text has the target's law.", lossless,
          "Exact for every policy that chooses before it drafts."),
]  # fmt: skip
