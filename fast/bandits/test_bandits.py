"""Batched bandits choose as the reference does on the same uniforms; their blocks and books are right; they are fast."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor

from specproof.fast.bandits import batched
from specproof.fast.bandits.blocks import CELLS, Blocks, quantiles
from specproof.fast.bandits.play import Log, from_seed, play
from specproof.fast.bandits.rewards import PER_COST, REWARDS, told
from specproof.reference.bandits import policy, policy_names
from specproof.reference.bandits.block import Block
from specproof.reference.bandits.drafters import AfterRejection, Independent
from specproof.reference.bandits.instance import Instance
from specproof.reference.bandits.kl_ucb import EDGE, bound
from specproof.reference.bandits.policy import Policy
from specproof.reference.bandits.rates import bernoulli_divergence
from specproof.reference.bandits.rewards import reward
from specproof.reference.bandits.uniforms import Given

A = Instance(Independent((0.8, 0.7, 0.6, 0.5, 0.35), 5, 0.5, "beta"))
GREEDY = Instance(Independent((0.5, 0.8, 0.6), 2))
MIXED = Instance(Independent((0.5, 0.8, 0.6), 3, 0.25), switch_cost=0.5)
FLIP = Instance(AfterRejection((0.5, 0.8), (1.0, 0.0), 5))
SWAP = Instance(A.drafters, changes=((150, (4, 1, 2, 3, 0)),))
UNEVEN = Instance(Independent((0.5, 0.8, 0.6, 0.9), (0, 2, 5, 3)), costs=(1.0, 1.2, 1.5, 1.25))
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in policy_names()),
    ("meta_sd_ucb", {"ties": "uniform"}),
    ("meta_sd_ucb", {"beta": 0}),
    ("epsilon_greedy", {"epsilon": 5, "decay": 1, "ties": "uniform"}),
    ("thompson", {"belief": "gauss", "sd": 0.25}),
    ("successive_halving", {"budget": 30, "interleaved": False}),
    ("sliding_window_ucb", {"window": 12}),
    ("discounted_ucb", {"discount": 0.9, "beta": 0.4}),
    ("full_information", {"ties": "uniform"}),
    ("router", {"error": 0.5}),
]


class Kept:
    """Uniforms in the middle of the cells of the tables, of every round."""

    def __init__(self, seed: int) -> None:
        self._source = from_seed(seed)
        self.rounds: list[Tensor] = []

    def __call__(self, count: int, runs: int) -> Tensor:
        """Draw and remember."""
        drawn = ((self._source(count, runs) * CELLS).floor() + 0.5) / CELLS
        self.rounds.append(drawn)
        return drawn


def replayed(made: Policy, instance: Instance, name: str, tokens: int, rounds: Iterator[list[float]]) -> list[int]:
    """Arms of the reference on the uniforms of one run."""
    value = instance.told_per_cost() if name == PER_COST else instance.told(reward(name))
    questions = batched(made).draws
    each = 5 if isinstance(instance.drafters, AfterRejection) else 2 * max(instance.drafters.lengths)
    state, total, arms = made.start(), 0, []
    while total < tokens:
        numbers = next(rounds)
        arm = made.choose(state, Given(numbers[:questions]))
        rest, blocks = numbers[questions:], {}
        for seen in range(made.arms) if made.feedback == "all" else (arm,):
            given, rest = rest[:each], rest[each:]
            blocks[seen] = drawn(instance, instance.drafter(seen, total), given)
        earned = {seen: value(instance.drafter(seen, total), block) for seen, block in blocks.items()}
        state = made.update(state, arm, tuple(earned.values()) if made.feedback == "all" else earned[arm])
        total += blocks[arm].emitted
        arms.append(arm)
    return arms


def drawn(instance: Instance, drafter: int, numbers: list[float]) -> Block:
    """The reference's block of one drafter: a short one leaves the numbers of later positions aside."""
    longest, length = max(instance.drafters.lengths), instance.drafters.lengths[drafter]
    rows, coins = numbers[:longest], numbers[longest:]
    return instance.drafters.draw(Given([*rows[:length], *coins]), drafter)


def assert_same_arms(made: Policy, instance: Instance, name: str, tokens: int, runs: int) -> Log:
    """Both on the same uniforms."""
    kept = Kept(seed=7)
    log = play(batched(made), instance, name, [tokens // 2, tokens], runs, kept, keep_arms=True)
    assert log.arms is not None
    for run in range(runs):
        wanted = replayed(made, instance, name, tokens, (drawn[:, run].tolist() for drawn in kept.rounds))
        assert log.arms[: len(wanted), run].tolist() == wanted
        assert log.rounds[-1, run] == len(wanted)
        assert log.counts[-1, run].tolist() == [wanted.count(arm) for arm in range(made.arms)]
        assert log.switches[-1, run] == sum(a != b for a, b in pairwise(wanted))
    return log


@pytest.mark.parametrize("instance", [A, GREEDY], ids=["beta", "greedy"])
@pytest.mark.parametrize("name", ["block_divergence", "block_efficiency"])
@pytest.mark.parametrize(("given", "options"), VARIANTS, ids=str)
def test_every_policy_chooses_as_the_reference(
    given: str, options: dict[str, Any], name: str, instance: Instance
) -> None:
    """Same uniforms, same arms, round by round; greedy blocks of two positions tie often."""
    assert_same_arms(policy(given, instance.arms, best=0, **options), instance, name, 160, 2)


@pytest.mark.parametrize("name", [*REWARDS, PER_COST])
@pytest.mark.parametrize("instance", [A, GREEDY, MIXED, FLIP, SWAP], ids=["beta", "greedy", "mixed", "flip", "swap"])
def test_every_reward_and_instance_is_the_reference_s(instance: Instance, name: str) -> None:
    """Also where rows after a rejection mislead, where drafters change roles and where switches cost."""
    assert_same_arms(policy("meta_sd_ucb", instance.arms), instance, name, 400, 4)


@pytest.mark.parametrize("given", ["meta_sd_ucb", "full_information", "random"])
def test_lengths_and_costs_differ(given: str) -> None:
    """One arm does not speculate at all; arms are ranked by tokens per cost."""
    log = assert_same_arms(policy(given, 4), UNEVEN, PER_COST, 400, 4)
    losses = torch.tensor(UNEVEN.losses(), dtype=torch.float64)
    assert torch.allclose(log.lost[-1], (log.counts[-1] * losses).sum(-1))


def test_shares_of_different_lengths_are_refused() -> None:
    """They would misrank the arms."""
    with pytest.raises(ValueError, match="different lengths do not rank"):
        told(UNEVEN, "block_efficiency")


def test_unknown_reward_and_checkpoints_are_refused() -> None:
    """With what is allowed."""
    with pytest.raises(ValueError, match="block_divergence"):
        told(A, "block_divergance")
    with pytest.raises(ValueError, match="must be positive and increase"):
        play(batched(policy("random", 5)), A, "BD", [100, 50], 1, from_seed(0))
    with pytest.raises(TypeError, match="no batched form"):
        batched(object())  # type: ignore[arg-type]


def test_switches_and_changes_are_paid() -> None:
    """Lost is the loss of the drafters behind the arms, and the price of every switch."""
    log = play(batched(policy("round_robin", 3)), MIXED, "BE", [50, 300], 8, from_seed(3), keep_arms=True)
    losses = torch.tensor([float(loss) for loss in MIXED.losses()], dtype=torch.float64)
    assert torch.allclose(log.lost, (log.counts * losses).sum(-1) + 0.5 * (log.rounds - 1))
    swapped = play(batched(policy("static", 5)), SWAP, "BE", [150, 600], 8, from_seed(3))
    worst = float(SWAP.losses()[4])
    assert torch.allclose(swapped.lost[1], worst * (swapped.rounds[1] - swapped.rounds[0]).double())
    assert torch.equal(swapped.best[1], swapped.rounds[0])


@pytest.mark.parametrize(("share", "dispersion"), [(0.8, 0.5), (0.35, 0.5), (0.98, 0.75), (0.05, 0.25)])
def test_tables_have_the_moments_of_the_law(share: float, dispersion: float) -> None:
    """Mean within 1e-6, variance within 1e-4 of itself: far below what any test here resolves."""
    table = quantiles((share,), dispersion)
    assert abs(float(table.mean()) - share) < 1e-6
    assert float(table.var(correction=0)) == pytest.approx(dispersion * share * (1 - share), rel=1e-4)


@pytest.mark.parametrize("name", [*REWARDS])
def test_rewards_are_the_reference_s_times_the_length(name: str) -> None:
    """On every pattern of three positions with fractions."""
    shares = (Fraction(1, 4), Fraction(3, 4), Fraction(1))
    for accepted in range(4):
        block = Block(shares, shares[::-1], accepted)
        batch = Blocks(
            torch.tensor([[float(share)] for share in shares]),
            torch.tensor([[float(share)] for share in shares[::-1]]),
            torch.tensor([accepted]),
        )
        assert float(REWARDS[name](batch)) == float(3 * reward(name)(block))


def test_same_seed_same_runs_and_progress_is_heard() -> None:
    """Runs repeat; listeners hear increasing tokens."""
    heard: list[int] = []
    first, second = (
        play(batched(policy("exp3_spec", 5)), A, "BE", [2000], 4, from_seed(11), listen=heard.append) for _ in range(2)
    )
    assert torch.equal(first.counts, second.counts)
    half = heard[: len(heard) // 2]
    assert half == sorted(half)
    assert half


@pytest.mark.parametrize("mean", [0.0, 0.05, 0.38, 0.8, 0.95, 1.0])
@pytest.mark.parametrize("radius", [1e-4, 0.01, 0.2, 1.0, 8.0])
def test_kl_bound_solves_its_equation(mean: float, radius: float) -> None:
    """The divergence at the bound is the radius, or the bound is at the edge of [0, 1]."""
    q = bound(mean, radius)
    inside = min(max(mean, EDGE), 1 - EDGE)
    assert inside <= q < 1
    if q < 1 - 2 * EDGE:
        assert bernoulli_divergence(inside, q) == pytest.approx(radius, rel=1e-6)
