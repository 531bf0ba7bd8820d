"""Exact expected rounds of a bandit on a tiny instance, in fractions: every history, weighed by its probability.

``expected`` walks the states of a policy, merging histories that lead to the same one (dynamic programming; fast).
``walked`` clones any object with ``choose()`` and ``update(arm, reward)`` at every branch: the shipped code itself, slower.
Both give the same fractions.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

from specproof.reference.bandits.instance import Instance
from specproof.reference.bandits.play import Chooser, Told
from specproof.reference.bandits.policy import Policy
from specproof.reference.chance import Chance
from specproof.reference.law import law

ZERO, ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True)
class Expected:
    """Expectations over a whole run: ``rounds`` E[tau], ``pulls`` E[n_i], ``overshoot`` E[O], ``cost``.

    ``overshoot`` adds up that of all queries. ``cost`` is the round costs and the switches'.
    """

    rounds: Fraction
    pulls: tuple[Fraction, ...]
    overshoot: Fraction
    cost: Fraction

    def __add__(self, other: "Expected") -> "Expected":
        pulls = tuple(own + more for own, more in zip(self.pulls, other.pulls, strict=True))
        return Expected(self.rounds + other.rounds, pulls, self.overshoot + other.overshoot, self.cost + other.cost)

    def times(self, weight: Fraction) -> "Expected":
        """All expectations times a probability."""
        pulls = tuple(weight * own for own in self.pulls)
        return Expected(weight * self.rounds, pulls, weight * self.overshoot, weight * self.cost)


class Rounds:
    """What one round can do, for every arm and every number of tokens so far; enumerated once."""

    def __init__(self, instance: Instance, told: Told, feedback: str) -> None:
        self.instance = instance
        self._told = told
        self._feedback = feedback
        self._law = cache(self._law_of)

    def outcomes(self, arm: int, emitted: int) -> dict[tuple[Any, int], Fraction]:
        """The law of (reward, emitted tokens) of a round with the arm, after so many tokens."""
        plays = tuple(self.instance.drafter(seen, emitted) for seen in range(self.instance.arms))
        return self._law(arm, plays)

    def _law_of(self, arm: int, plays: tuple[int, ...]) -> dict[tuple[Any, int], Fraction]:
        def one_round(chance: Chance) -> tuple[Any, int]:
            seen = range(len(plays)) if self._feedback == "all" else (arm,)
            blocks = {each: self.instance.drafters.draw(chance, plays[each]) for each in seen}
            rewards = {each: self._told(plays[each], block) for each, block in blocks.items()}
            return (tuple(rewards.values()) if self._feedback == "all" else rewards[arm]), blocks[arm].emitted

        return law(one_round)

    def nothing(self) -> Expected:
        """No round at all."""
        return Expected(ZERO, (ZERO,) * self.instance.arms, ZERO, ZERO)

    def spent(self, arm: int, emitted: int, previous: int | None, beyond: int) -> Expected:
        """What the round itself adds, whatever comes after it."""
        cost = Fraction(self.instance.round_costs[self.instance.drafter(arm, emitted)])
        if previous is not None and previous != arm:
            cost += Fraction(self.instance.switch_cost)
        pulls = tuple(Fraction(index == arm) for index in range(self.instance.arms))
        return Expected(ONE, pulls, Fraction(beyond), cost)


def expected(
    policy: Policy, instance: Instance, tokens: int | Sequence[int], told: Told, *, carry: bool = False
) -> Expected:
    """Expectations of a policy. ``tokens``: of one query, or of several that follow each other, reset between unless ``carry``.

    Raises ``ValueError`` for a policy that draws from continuous laws. Cost grows with the reachable states: two arms,
    N = 2 and block efficiency have 191 for 12 tokens and 4,029 for 30.
    """
    queries = (tokens,) if isinstance(tokens, int) else tuple(tokens)
    rounds = Rounds(instance, told, policy.feedback)

    @cache
    def from_here(state: Any, previous: int | None, query: int, emitted: int) -> Expected:
        if query == len(queries):
            return rounds.nothing()
        total = rounds.nothing()
        for arm, share in law(lambda chance: policy.choose(state, chance)).items():
            for (reward, more), mass in rounds.outcomes(arm, emitted).items():
                after, reached = policy.update(state, arm, reward), emitted + more
                beyond = max(0, reached - queries[query])
                if reached < queries[query]:
                    rest = from_here(after, remembered(arm), query, reached)
                else:
                    rest = from_here(after if carry else policy.start(), remembered(arm), query + 1, 0)
                total += (rounds.spent(arm, emitted, previous, beyond) + rest).times(share * mass)
        return total

    def remembered(arm: int) -> int | None:
        return arm if instance.switch_cost else None

    return from_here(policy.start(), None, 0, 0)


def walked(make: Callable[[], Chooser], instance: Instance, tokens: int | Sequence[int], told: Told) -> Expected:
    """Expectations of any bandit object, by walking through every history with a clone of it.

    Between queries its ``reset()`` is called; a second query needs one. A randomised bandit must offer ``probabilities()``,
    the law of its next choice; another must choose the same arm again when asked again, or ``ValueError`` is raised.
    """
    queries = (tokens,) if isinstance(tokens, int) else tuple(tokens)
    bandit = make()
    rounds = Rounds(instance, told, getattr(bandit, "feedback", "chosen"))

    def from_here(bandit: Any, previous: int | None, query: int, emitted: int) -> Expected:
        total = rounds.nothing()
        for arm, share, asked in choices(bandit):
            for (reward, more), mass in rounds.outcomes(arm, emitted).items():
                reached = emitted + more
                seen = rounds.spent(arm, emitted, previous, max(0, reached - queries[query]))
                over = reached >= queries[query]
                if not over or query + 1 < len(queries):
                    clone = copy.deepcopy(asked)
                    clone.update(arm, reward)
                    if over:
                        clone.reset()
                    seen += from_here(clone, arm, query + over, 0 if over else reached)
                total += seen.times(share * mass)
        return total

    return from_here(bandit, None, 0, 0)


def choices(bandit: Any) -> list[tuple[int, Fraction, Any]]:
    """Every arm that may come next, its probability, and a clone that has been asked."""
    if hasattr(bandit, "probabilities"):
        shares = enumerate(bandit.probabilities())
        return [(arm, Fraction(share), bandit) for arm, share in shares if share > 0]
    asked, again = copy.deepcopy(bandit), copy.deepcopy(bandit)
    arm = asked.choose()
    if again.choose() != arm:
        raise ValueError("the bandit chose different arms in the same state: it draws random numbers out of sight")
    return [(arm, ONE, asked)]
