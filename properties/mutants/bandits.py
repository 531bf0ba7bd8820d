"""Bandits that are wrong on purpose: MetaSD-UCB with one part replaced, and policies whose regret is not logarithmic.

Each declares to be ``meta_sd_ucb`` on block divergence or block efficiency, unless it is another policy that only claims
logarithmic regret. Two faults of the list are none: rewards shifted by a constant (``accepted + 1`` over N) leave every
choice as it is, and playing untried arms first is the initial round. They are controls.
"""

import math
import random
from collections.abc import Callable
from functools import partial
from typing import Any

from specproof.properties.mutants.mutant import Mutant
from specproof.properties.subject import Subject, subject_of_bandit
from specproof.reference.bandits.block import Block, Number
from specproof.reference.bandits.rewards import block_divergence, block_efficiency, truncated_block_divergence

BD, BE = "block_divergence", "block_efficiency"


class UCB:
    """MetaSD-UCB on floats, in parts that a mutant replaces one of: what a round adds, and the index."""

    policy = "meta_sd_ucb"
    reward: Any = BD

    def __init__(self, arms: int, length: int, beta: float) -> None:
        self.arms, self.length, self.beta = arms, length, beta
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.pulls: list[float] = [0] * self.arms
        self.sums = [0.0] * self.arms
        self.rounds = 0

    def choose(self) -> int:
        """Every arm once, then the highest index; of equal ones the lowest arm."""
        if self.rounds < self.arms:
            return self.rounds
        scores = [self.index(arm) for arm in range(self.arms)]
        return scores.index(max(scores))

    def index(self, arm: int) -> float:
        """Mean and bonus."""
        return self.mean(arm) + self.bonus(arm)

    def mean(self, arm: int) -> float:
        """Mean reward."""
        return self.sums[arm] / self.pulls[arm]

    def bonus(self, arm: int) -> float:
        """Width of the confidence interval."""
        return self.beta * math.sqrt(2 * math.log(self.clock(arm)) / self.pulls[arm])

    def clock(self, arm: int) -> float:  # noqa: ARG002 - a mutant's clock is the arm's own
        """What the logarithm is of."""
        return self.rounds

    def update(self, arm: int, reward: float) -> None:
        """One more round."""
        self.rounds += 1
        self.count(arm, reward)
        self.sums[arm] += reward

    def count(self, arm: int, reward: float) -> None:  # noqa: ARG002 - a mutant counts by the reward
        """One more round with the arm."""
        self.pulls[arm] += 1

    def emitted(self, reward: float) -> int:
        """Tokens of a round, from its block efficiency."""
        return round(reward * self.length) + 1


class NoBonus(UCB):
    """The mean alone."""

    def bonus(self, arm: int) -> float:  # noqa: ARG002
        """Nothing."""
        return 0.0


class CountsOfAllArms(UCB):
    """Every arm's count grows every round."""

    def count(self, arm: int, reward: float) -> None:  # noqa: ARG002
        """One more for all."""
        self.pulls = [pulls + 1 for pulls in self.pulls]


class CountOfTheNextArm(UCB):
    """The count goes to the neighbour."""

    def count(self, arm: int, reward: float) -> None:  # noqa: ARG002
        """Off by one."""
        self.pulls[(arm + 1) % self.arms] += 1

    def index(self, arm: int) -> float:
        """Arms that were never counted first."""
        return super().index(arm) if self.pulls[arm] else math.inf


class CountsTokens(UCB):
    """The count grows by the tokens of the round."""

    def count(self, arm: int, reward: float) -> None:
        """Tokens, not rounds."""
        self.pulls[arm] += self.emitted(reward)


class CountsTwice(UCB):
    """The count is incremented where the arm is chosen and again where the reward comes in."""

    def count(self, arm: int, reward: float) -> None:  # noqa: ARG002
        """Twice."""
        self.pulls[arm] += 2

    def mean(self, arm: int) -> float:
        """Of the rounds that there were: only the bonus is too narrow."""
        return 2 * super().mean(arm)


class WrongArm(UCB):
    """The reward is credited to the next arm, in a share of the rounds."""

    every = 1

    def update(self, arm: int, reward: float) -> None:
        """The neighbour's sum grows."""
        self.rounds += 1
        self.count(arm, reward)
        self.sums[(arm + (self.rounds % self.every == 0)) % self.arms] += reward


class WrongArmNowAndThen(WrongArm):
    """Every twentieth round."""

    every = 20


class PreviousReward(UCB):
    """Rewards come in one round late: an arm is credited with what the arm before it earned."""

    def reset(self) -> None:
        """Nothing has come in."""
        super().reset()
        self._late = 0.0

    def update(self, arm: int, reward: float) -> None:
        """Credit what came before."""
        super().update(arm, self._late)
        self._late = reward


class LastReward(UCB):
    """The last reward of an arm in place of its mean."""

    def update(self, arm: int, reward: float) -> None:
        """Forget what came before."""
        super().update(arm, reward)
        self.sums[arm] = reward * self.pulls[arm]


class SumInsteadOfMean(UCB):
    """The sum of an arm's rewards in place of the mean."""

    def mean(self, arm: int) -> float:
        """Not divided."""
        return self.sums[arm]


class ClockOfTokens(UCB):
    """The logarithm is of the emitted tokens."""

    def reset(self) -> None:
        """No tokens."""
        super().reset()
        self._tokens = 0

    def update(self, arm: int, reward: float) -> None:
        """Count them."""
        super().update(arm, reward)
        self._tokens += self.emitted(reward)

    def clock(self, arm: int) -> float:  # noqa: ARG002
        """Tokens."""
        return self._tokens


class OwnClock(UCB):
    """The logarithm is of the arm's own count."""

    def clock(self, arm: int) -> float:
        """It stops when the arm is not played."""
        return self.pulls[arm]


class ConstantClock(UCB):
    """The logarithm is of a constant: less regret here, and no guarantee."""

    def clock(self, arm: int) -> float:  # noqa: ARG002
        """It never moves."""
        return 2.0


class CappedClock(UCB):
    """The clock stops after a hundred rounds: right for as long as exact evidence can look."""

    def clock(self, arm: int) -> float:  # noqa: ARG002
        """At most a hundred."""
        return min(self.rounds, 100)


class RootClock(UCB):
    """A square root in place of the logarithm."""

    def bonus(self, arm: int) -> float:
        """Far too wide."""
        return self.beta * math.sqrt(math.sqrt(self.rounds) / self.pulls[arm])


class NarrowerByCount(UCB):
    """The bonus is divided by the count, not by its root."""

    def bonus(self, arm: int) -> float:
        """Too narrow for what was played often."""
        return self.beta * math.sqrt(2 * math.log(self.rounds)) / self.pulls[arm]


class HalvedBonus(UCB):
    """Half the bonus."""

    def bonus(self, arm: int) -> float:
        """Half."""
        return super().bonus(arm) / 2


class SubtractedBonus(UCB):
    """A lower confidence bound."""

    def index(self, arm: int) -> float:
        """Pessimism locks in."""
        return self.mean(arm) - self.bonus(arm)


class TiesToTheLast(UCB):
    """Of equal indices the highest arm; the declared policy takes the lowest."""

    def choose(self) -> int:
        """The last of the highest."""
        if self.rounds < self.arms:
            return self.rounds
        scores = [self.index(arm) for arm in range(self.arms)]
        return self.arms - 1 - scores[::-1].index(max(scores))


class UntriedFirst(UCB):
    """No initial round, but an infinite index for what was not tried: the same choices."""

    def choose(self) -> int:
        """The highest index."""
        scores = [self.index(arm) if self.pulls[arm] else math.inf for arm in range(self.arms)]
        return scores.index(max(scores))


class StaleCounts(UCB):
    """``reset()`` forgets sums and rounds but keeps the counts of the last query."""

    def reset(self) -> None:
        """Not quite."""
        kept = getattr(self, "pulls", None)
        super().reset()
        self.pulls = kept or self.pulls


class RewardForWhatWasAsked(UCB):
    """Accepted tokens over the drafts that were asked for plus a bonus for a full block, earned or not."""

    def update(self, arm: int, reward: float) -> None:
        """A block that ends in acceptance counts as one that was a token longer."""
        full = reward * self.length >= self.length
        super().update(arm, reward * (1 + 1 / self.length) if full else reward)


class Forgetful(UCB):
    """A mean over the last ten rewards of an arm; its count grows on."""

    def reset(self) -> None:
        """No rewards."""
        super().reset()
        self._recent: list[list[float]] = [[] for _ in range(self.arms)]

    def update(self, arm: int, reward: float) -> None:
        """Drop the eleventh."""
        super().update(arm, reward)
        self._recent[arm] = [*self._recent[arm][-9:], reward]

    def mean(self, arm: int) -> float:
        """Of ten."""
        return sum(self._recent[arm]) / len(self._recent[arm])


class Exploring:
    """Explores with a probability that does not fall as fast as 1/t: linear or square-root regret, claimed logarithmic."""

    reward: Any = BD

    def __init__(self, arms: int, seed: int, rate: Callable[[int], float]) -> None:
        self.arms = arms
        self._source, self._rate = random.Random(seed), rate
        self.pulls, self.sums = [0] * arms, [0.0] * arms

    def choose(self) -> int:
        """Every arm once, then a coin."""
        rounds = sum(self.pulls)
        if rounds < self.arms:
            return rounds
        if self._source.random() < self._rate(rounds):
            return self._source.randrange(self.arms)
        means = [total / pulls for total, pulls in zip(self.sums, self.pulls, strict=True)]
        return means.index(max(means))

    def update(self, arm: int, reward: float) -> None:
        """One more round."""
        self.pulls[arm] += 1
        self.sums[arm] += reward


def sign_error(block: Block) -> Number:
    """TV where it should be one minus TV."""
    return 1 - block_divergence(block)


def unscaled(reward: Callable[[Block], Number]) -> Callable[[Block], Number]:
    """A reward that is not divided by the length."""
    return lambda block: reward(block) * block.length


def emitted_over_length(block: Block) -> Number:
    """``(accepted + 1) / N``: above 1 for a full block, and the same choices."""
    return block_efficiency(block) + 1 / block.length


def emitted_over_most(block: Block) -> Number:
    """``(accepted + 1) / (N + 1)``: in [0, 1], with gaps that are too small."""
    return (block.accepted + 1) / (block.length + 1)


def bandit(maker: Any, title: str, **promises: Any) -> Subject:
    """A mutant as a subject: the maker with what it declares."""

    def make(arms: int, length: int, beta: float) -> Any:
        return maker(arms, length, beta)

    for name, value in {"policy": "meta_sd_ucb", "reward": maker.reward, **promises}.items():
        setattr(make, name, value)
    return subject_of_bandit(make, name=f"mutant:{title}", version="1")


def exploring(title: str, rate: Callable[[int], float]) -> Subject:
    """A bandit that claims logarithmic regret and no more."""

    def make(arms: int, seed: int) -> Any:
        return Exploring(arms, seed, rate)

    return subject_of_bandit(make, name=f"mutant:{title}", version="1")


def _faults() -> dict[str, Mutant]:
    """Name, fault, claim, class, what it declares."""
    exact, curve, growth = "exact regret", "noiseless curve", "logarithmic regret"
    own: dict[str, Any] = {"reward": BD}
    sampled: dict[str, Any] = {"evidence": "sampled"}
    rows: list[tuple[str, str, str, type[UCB], dict[str, Any], dict[str, Any]]] = [
        ("bandit_greedy_divergence", "no exploration bonus, BD", exact, NoBonus, own, {}),
        ("bandit_greedy_efficiency", "no exploration bonus, BE", exact, NoBonus, {"reward": BE}, {}),
        ("bandit_counts_all", "counts of all arms incremented", exact, CountsOfAllArms, own, {}),
        ("bandit_counts_next", "count of the next arm incremented", exact, CountOfTheNextArm, own, {}),
        ("bandit_counts_tokens", "count grows by the tokens of the round", exact, CountsTokens, {"reward": BE}, {}),
        ("bandit_counts_twice", "count incremented twice, so that the bonus is too narrow", exact, CountsTwice, own, {}),
        ("bandit_wrong_arm", "reward credited to the wrong arm", exact, WrongArm, own, {}),
        ("bandit_wrong_arm_rarely", "reward credited to the wrong arm every twentieth round", growth,
         WrongArmNowAndThen, own, sampled),
        ("bandit_previous_reward", "reward of the previous round", exact, PreviousReward, own, {}),
        ("bandit_last_reward", "last reward used as mean", exact, LastReward, own, {}),
        ("bandit_sum", "sum in place of the mean", exact, SumInsteadOfMean, own, {}),
        ("bandit_clock_tokens", "logarithm of tokens in place of rounds", exact, ClockOfTokens, {"reward": BE}, {}),
        ("bandit_clock_own", "logarithm of the arm's own count", exact, OwnClock, own, {}),
        ("bandit_clock_constant", "logarithm of a constant", exact, ConstantClock, own, {}),
        ("bandit_clock_capped", "clock stops after a hundred rounds", curve, CappedClock, own, sampled),
        ("bandit_clock_root", "square root in place of the logarithm", exact, RootClock, own, {}),
        ("bandit_bonus_by_count", "bonus divided by n in place of its root", exact, NarrowerByCount, own, {}),
        ("bandit_bonus_halved", "bonus halved", exact, HalvedBonus, own, {}),
        ("bandit_bonus_subtracted", "bonus subtracted", exact, SubtractedBonus, own, {}),
        ("bandit_ties_last", "ties go to the last arm", exact, TiesToTheLast, own, {}),
        ("bandit_stale_counts", "counts survive the reset between queries", "contract", StaleCounts, own,
         {"property": "contract"}),
        ("bandit_sign", "TV itself as reward", exact, UCB, {"reward": sign_error, "declared_reward": BD}, {}),
        ("bandit_unscaled_divergence", "reward not scaled to [0, 1], BD", exact, UCB,
         {"reward": unscaled(block_divergence), "declared_reward": BD}, {}),
        ("bandit_unscaled_efficiency", "reward not scaled to [0, 1], BE", exact, UCB,
         {"reward": unscaled(block_efficiency), "declared_reward": BE}, {}),
        ("bandit_emitted_over_most", "BE as (accepted + 1) / (N + 1)", exact, UCB,
         {"reward": emitted_over_most, "declared_reward": BE}, {}),
        ("bandit_truncated", "BD that stops at the first rejection", exact, UCB,
         {"reward": truncated_block_divergence, "declared_reward": BD}, {}),
        ("bandit_full_block_bonus", "a full block is rewarded as if more had been asked for", exact,
         RewardForWhatWasAsked, {"reward": BE}, {"fault_id": ("J05",)}),
        ("bandit_window_of_ten", "a window of ten rewards whose count grows on", growth, Forgetful, own,
         {"fault_id": ("J09",), **sampled}),
        ("bandit_emitted_over_length", "BE as (accepted + 1) / N: the same choices", exact, UCB,
         {"reward": emitted_over_length, "declared_reward": BE}, {"control": True, "evidence": "quick"}),
        ("bandit_untried_first", "untried arms have an infinite index: the same choices", exact, UntriedFirst, own,
         {"control": True, "evidence": "quick"}),
    ]  # fmt: skip
    table = {
        name: Mutant(
            fault,
            claim,
            make=partial(bandit, maker, name, **promises),
            **{"property": "regret", "evidence": "exact", **more},
        )
        for name, fault, claim, maker, promises, more in rows
    }
    for name, fault, rate in (
        ("bandit_explores_tenth", "explores one round in ten for ever: linear regret", lambda _: 0.1),
        ("bandit_explores_root", "explores as t^-1/2: regret grows as a root", lambda t: t**-0.5),
        ("bandit_random", "any arm every round", lambda _: 1.0),
    ):
        table[name] = Mutant(fault, growth, make=partial(exploring, name, rate), property="regret", **sampled)
    return table


MUTANTS = _faults()
