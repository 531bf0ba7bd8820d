"""Stopping-time regret: rounds that a bandit needs beyond the best arm's to emit a number of tokens.

tau is the first round at which the tokens emitted so far reach B; that round counts, and what exceeds B is the overshoot
O, 0..N. By optional stopping ``sum_i m_i E[n_i] = B + E[O]``, so

    E[tau] - E[tau of the best arm] = sum_i (m_best - m_i) / m_best * E[n_i] + (E[O] - E[O of the best arm]) / m_best

holds exactly, whatever the policy. The last term, at most N / m_best, is what BanditSpec's version, which stops at the end
of the text and counts everything, does not have.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from specproof.reference.bandits.block import Number
from specproof.reference.bandits.exact import Expected, Rounds, expected
from specproof.reference.bandits.fixed import Static
from specproof.reference.bandits.instance import Instance
from specproof.reference.bandits.play import Told
from specproof.reference.bandits.policy import Policy


@dataclass(frozen=True)
class Identity:
    """Both sides of the identity: ``regret`` by definition; what the pulls lose and what the overshoot adds."""

    regret: Fraction
    pseudo_regret: Fraction
    overshoot: Fraction

    @property
    def holds(self) -> bool:
        """Whether both sides are the same fraction."""
        return self.regret == self.pseudo_regret + self.overshoot


def identity(policy: Policy, instance: Instance, tokens: int, told: Told) -> Identity:
    """Compute both sides in fractions, in rounds. Raises ``ValueError`` for an instance whose rounds do not all cost 1."""
    if set(instance.round_costs) != {1} or instance.switch_cost or instance.changes:
        raise ValueError("the identity counts rounds: every round costs 1, switches nothing, and roles do not change")
    emitted = [Fraction(each) for each in instance.tokens_a_round()]
    best = emitted.index(max(emitted))
    own = expected(policy, instance, tokens, told)
    fixed = expected(Static(instance.arms, best), instance, tokens, told)
    pseudo = pseudo_regret(own.pulls, emitted)
    return Identity(own.rounds - fixed.rounds, Fraction(pseudo), (own.overshoot - fixed.overshoot) / emitted[best])


def pseudo_regret(pulls: Sequence[Number], tokens_a_round: Sequence[Number]) -> Number:
    """``sum_i (m_best - m_i) / m_best * n_i`` of pulls counted by the harness: in rounds, exact for fractions.

    Its expectation is the regret up to the overshoot term, and its noise a fraction of that of counted rounds.
    """
    best = max(tokens_a_round)
    lost = sum((best - each) * count for each, count in zip(tokens_a_round, pulls, strict=True))
    return lost / best if isinstance(lost, float) else Fraction(lost) / Fraction(best)


def best_fixed(instance: Instance, tokens: int, told: Told) -> tuple[int, Expected]:
    """The one arm that needs the least cost for B tokens, and its expectations: the comparator of the papers."""
    runs = [expected(Static(instance.arms, arm), instance, tokens, told) for arm in range(instance.arms)]
    arm = min(range(instance.arms), key=lambda index: runs[index].cost)
    return arm, runs[arm]


def optimum(instance: Instance, tokens: int, told: Told) -> Fraction:
    """The least expected cost of any policy that knows the laws of all arms, switches included, by dynamic programming.

    With one length and one cost it is that of the best arm; with lengths or costs that differ it can be lower.
    """
    rounds = Rounds(instance, told, "chosen")

    @cache
    def value(emitted: int, previous: int | None) -> Fraction:
        if emitted >= tokens:
            return Fraction(0)
        return min(
            rounds.spent(arm, emitted, previous, 0).cost
            + sum(mass * value(emitted + more, arm) for (_, more), mass in rounds.outcomes(arm, emitted).items())
            for arm in range(instance.arms)
        )

    return value(0, None)
