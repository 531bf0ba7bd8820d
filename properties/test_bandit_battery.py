"""The regret battery: its five tests on curves of known shape, and its error rates on independent certificates."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from specproof.fast.bandits import batched
from specproof.fast.bandits.play import from_seed, play
from specproof.properties import bandit_battery as battery
from specproof.properties.bandit_battery import Runs
from specproof.properties.bandit_runs import LENGTH, standard_instances
from specproof.properties.verdict import Verdict
from specproof.reference.bandits import policy
from specproof.reference.bandits.fluid import fluid
from specproof.reference.bandits.means import reward_means
from specproof.reference.bandits.rates import bound

GRID = tuple(250 * 2**k for k in range(7))
SEEDS = 32


def curve(law: Callable[[float], float], noise: float = 4.0, seed: int = 0) -> Runs:
    """S = 32 runs whose regret is the law plus a random level of each run."""
    level = np.random.default_rng(seed).normal(0, noise, SEEDS)
    regret = np.array([[law(tokens)] for tokens in GRID]) + level
    return Runs("made up", GRID, regret + np.random.default_rng(seed + 1).normal(0, 0.5, regret.shape), np.ones(SEEDS))


@pytest.mark.parametrize(
    ("law", "doubling", "model"),
    [
        (lambda tokens: 20 * math.log(tokens), True, True),
        (lambda tokens: 2 * math.log(tokens) ** 2, True, True),
        (lambda tokens: 2 * math.sqrt(tokens), False, False),
        (lambda tokens: 0.01 * tokens, False, False),
        (lambda tokens: 20 * math.log(tokens) + 0.02 * tokens, False, None),
    ],
    ids=["ln", "ln^2", "sqrt", "linear", "ln with a linear part"],
)
def test_growth_is_told_apart(law: Callable[[float], float], doubling: bool, model: bool | None) -> None:
    """S = 32, sd 4 a run: a root or a linear part of two rounds in a hundred tokens fails; log and its square pass."""
    runs = curve(law)
    assert (battery.doubling(runs).verdict is Verdict.HELD) is doubling
    if model is not None:
        assert (battery.model(runs).verdict is Verdict.HELD) is model


@pytest.mark.parametrize(("factor", "verdict"), [(1.0, "HELD"), (1.03, "HELD"), (1.2, "FAILED"), (0.8, "FAILED")])
def test_curve_is_compared_on_both_sides(factor: float, verdict: str) -> None:
    """Slack 6 % and three standard errors: a fifth more or less is seen at S = 32, sd 4."""
    runs = curve(lambda tokens: factor * 10 * math.log(tokens))
    assert battery.fluid(runs, [10 * math.log(tokens) for tokens in GRID]).verdict == verdict


def test_one_run_that_is_stuck_is_enough() -> None:
    """Lock-in is looked for run by run."""
    runs = curve(lambda tokens: 20 * math.log(tokens))
    assert battery.lock_in(runs).verdict is Verdict.HELD
    share = np.ones(SEEDS)
    share[7] = 0.4
    stuck = battery.lock_in(Runs("stuck", GRID, runs.regret, share))
    assert stuck.verdict is Verdict.FAILED
    assert stuck.reason.startswith("1 of 32 runs")


def test_bound_fails_only_when_it_is_exceeded_beyond_noise() -> None:
    """Three standard errors below the mean."""
    runs = curve(lambda tokens: 20 * math.log(tokens))
    assert battery.bound(runs, list(runs.mean)).verdict is Verdict.HELD
    assert battery.bound(runs, list(runs.mean * 0.8)).verdict is Verdict.FAILED


# Alarms that are allowed in so many independent certificates.
ALARMS = {("block_divergence", 10): 0, ("block_efficiency", 10): 0, ("block_divergence", 100): 0,
          ("block_efficiency", 100): 1, ("block_divergence", 600): 0, ("block_efficiency", 600): 6}  # fmt: skip


@pytest.mark.parametrize(
    ("reward", "certificates"),
    [pytest.param(*key, marks=[pytest.mark.nightly] if key[1] > 10 else []) for key in ALARMS],
)
def test_correct_ucb_is_acquitted(reward: str, certificates: int) -> None:
    """Independent certificates, S = 32 runs of 16,000 tokens for each order of the arms.

    Measured: no alarm in 700 certificates on block divergence (the rate is below 0.43 % with confidence .95), 3 in 700 on
    block efficiency (between 0.09 % and 1.25 %): 2 by the curve, where regret is skewed and 7 % above it at 1,000 tokens, 1 by
    the growth law. At that rate 2 or more alarms in 100 have probability .07, and one hundred of the 700 (seeds 100 and 101) has
    2: that block efficiency alarms at most once in a hundred is true of most hundreds, as of the one here, and not of all.
    """
    found = [
        _certificates(name, reward, certificates, 9000 + index) for index, name in enumerate(standard_instances(None))
    ]
    alarms = sum(Verdict.FAILED in first + last for first, last in zip(*found, strict=True))
    assert alarms <= ALARMS[reward, certificates]


def _certificates(name: str, reward: str, count: int, seed: int) -> list[list[Verdict]]:
    """Verdicts of fluid, doubling, model, lock-in (and bound where the theorem speaks) of each certificate."""
    instance = standard_instances(None)[name]
    beta = LENGTH**-0.5
    made = batched(policy("meta_sd_ucb", instance.arms, beta=beta))
    log = play(made, instance, reward, GRID, count * SEEDS, from_seed(seed))
    late = ((log.best[-1] - log.best[-2]) / (log.rounds[-1] - log.rounds[-2])).numpy()
    means, emitted = reward_means(instance, reward), instance.tokens_a_round()
    noiseless = [fluid(means, emitted, tokens, beta).regret for tokens in GRID]
    verdicts = []
    for start in range(0, count * SEEDS, SEEDS):
        chosen = slice(start, start + SEEDS)
        runs = Runs(name, GRID, log.lost[:, chosen].numpy(), late[chosen])
        findings = [
            battery.fluid(runs, noiseless), battery.doubling(runs), battery.model(runs), battery.lock_in(runs)
        ]  # fmt: skip
        if reward == "block_divergence":
            limits = [bound(means, emitted, tokens, beta, LENGTH, independent_positions=LENGTH) for tokens in GRID]
            findings.append(battery.bound(runs, limits))
        verdicts.append([finding.verdict for finding in findings])
    return verdicts
