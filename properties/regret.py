"""Property ``regret`` of bandits: expected rounds as the declared policy has them, exactly; growth no faster than logarithmic.

* ``exact regret`` (E): on tiny instances every history is walked with clones of the object itself; the expected number of
  rounds must be the same fraction as the reference's. No error rate. Tie rules, clocks, counts and the reset between
  queries show here; what needs more than a dozen tokens to show does not.
* ``noiseless curve`` (F), ``logarithmic regret`` (D, M, L) and ``regret bound`` (B) judge S runs (``bandit_battery``), for
  both orders of the standard instance. F and B apply to MetaSD-UCB: F while its bonus is wide enough for the curve to
  hold, B while it is wide enough for the theorem.

LIMITS. A passed battery speaks about stationary drafters of one length. D, M and L see linear parts down to about one lost
round in two hundred; a slower one is left to E and F, which need to know the policy.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from specproof.properties import bandit_battery as battery
from specproof.properties.bandit import BanditMaker
from specproof.properties.bandit_battery import Runs
from specproof.properties.bandit_contract import BrokenBandit
from specproof.properties.bandit_runs import ACCEPTANCE, DISPERSION, LENGTH, Schedule, runs_of, standard_instances
from specproof.properties.check import Evidence, Finding
from specproof.properties.plan import Check, Gathering, Plan, named
from specproof.properties.subject import Subject
from specproof.properties.verdict import Verdict
from specproof.reference.bandits import policy, policy_options
from specproof.reference.bandits.drafters import Independent
from specproof.reference.bandits.exact import expected, walked
from specproof.reference.bandits.fluid import fluid
from specproof.reference.bandits.instance import Instance
from specproof.reference.bandits.means import reward_means
from specproof.reference.bandits.moments import of_divergence, of_efficiency
from specproof.reference.bandits.rates import bound
from specproof.reference.bandits.rewards import reward

DIVERGENCE = "block_divergence"
SIZES = {"quick": (32, 16_000), "nightly": (64, 64_000), "sampled": (32, 16_000)}  # runs and tokens
WIDE = 1.1  # bonus over the noise of the reward from which on the noiseless curve holds
CURVE_POLICY = "meta_sd_ucb"


@dataclass(frozen=True)
class Tiny:
    """An instance small enough to walk: acceptances at greedy decoding, N = 2, and the tokens of each query.

    Block divergence has more outcomes a round than the other rewards: it gets fewer tokens.
    """

    name: str
    acceptance: tuple[str, ...]
    tokens: tuple[int, ...]
    divergence_tokens: tuple[int, ...]
    beta_squared: Fraction = Fraction(1, 2)

    @property
    def instance(self) -> Instance:
        """With fractions."""
        return Instance(Independent([Fraction(share) for share in self.acceptance], 2))


TINY = (
    Tiny("two arms", ("1/2", "4/5"), (12,), (9,)),
    Tiny("two arms, best first", ("4/5", "1/2"), (12,), (8,)),
    Tiny("three arms", ("1/5", "1/2", "4/5"), (12,), (8,)),
    Tiny("two queries", ("1/2", "4/5"), (6, 6), (4, 4)),
    Tiny("another bonus", ("1/2", "4/5"), (13,), (8,), Fraction(1, 3)),
)


def regret(subject: Subject, plan: Plan) -> Iterator[Check]:
    """Name the checks of a bandit's regret."""
    assert subject.bandit is not None
    maker = subject.bandit
    if plan.asks_for("exact"):
        for tiny in TINY:
            if maker.arms in (None, len(tiny.acceptance)):
                gather = Gathering(_walk, maker, tiny)
                yield named("regret", "exact regret", tiny.name, "exact", gather, _judge_exact)
    if plan.evidence in SIZES:
        for index, (name, instance) in enumerate(standard_instances(maker.arms).items()):
            runs, tokens = SIZES[plan.evidence]
            schedule = Schedule(runs, tokens, plan.seed + 1000 * (index + 1), plan.deadline)
            gather = Gathering(runs_of, maker, name, instance, schedule)
            for claim, title, judge in _judges(maker, instance):
                yield named("regret", claim, f"{name}, {title}", "sampled", gather, judge)


def _judges(maker: BanditMaker, instance: Instance) -> list[tuple[str, str, Callable[[Runs], Finding]]]:
    return [
        ("logarithmic regret", "doubling", battery.doubling),
        ("logarithmic regret", "growth law", battery.model),
        ("logarithmic regret", "lock-in", battery.lock_in),
        ("noiseless curve", "curve", lambda runs: _curve(maker, instance, runs)),
        ("regret bound", "bound", lambda runs: _bound(maker, instance, runs)),
    ]


@dataclass(frozen=True)
class Walked:
    """Expected rounds of the subject and of the reference; ``reason`` why they are not compared."""

    rounds: Fraction = Fraction(0)
    reference: Fraction = Fraction(0)
    reason: str = ""


def _walk(maker: BanditMaker, tiny: Tiny) -> Walked:
    if maker.policy is None:
        return Walked(reason="it does not declare which policy it is")
    if maker.randomised:
        return Walked(reason="its random choices cannot be enumerated from outside")
    beta = math.sqrt(tiny.beta_squared)
    settings = {"beta": maker.beta_at(beta)} if "beta" in policy_options(maker.policy) else {}
    options = {**settings, **maker.policy_options}
    given, instance = policy(maker.policy, len(tiny.acceptance), **options), tiny.instance
    declared, own = reward(maker.declared_reward), maker.reward
    tokens = tiny.divergence_tokens if declared is reward(DIVERGENCE) else tiny.tokens
    made = maker.fresh(arms=len(tiny.acceptance), length=2, beta=beta)
    if len(tokens) > 1 and not callable(getattr(made, "reset", None)):
        return Walked(reason="it has no reset(): every query gets a new bandit")
    try:
        found = walked(
            lambda: maker.fresh(arms=len(tiny.acceptance), length=2, beta=beta), instance, tokens,
            lambda _, block: float(own(block)),
        )  # fmt: skip
    except Exception as error:
        raise BrokenBandit(f"walking its histories: {type(error).__name__}: {error}") from error
    return Walked(found.rounds, expected(given, instance, tokens, instance.told(declared)).rounds)


def _judge_exact(found: Walked) -> Finding:
    if found.reason:
        return Finding(Verdict.NOT_APPLICABLE, found.reason, Evidence("exact"))
    evidence = Evidence(
        "exact", expected=float(found.reference), observed=float(found.rounds), tolerance=0.0, confidence=1.0
    )
    if found.rounds == found.reference:
        return Finding(Verdict.HELD, f"{found.rounds} expected rounds", evidence)
    return Finding(
        Verdict.FAILED,
        f"{float(found.rounds):.6f} expected rounds, the declared policy has {float(found.reference):.6f} "
        f"({float(found.rounds - found.reference):+.4f})",
        evidence, notes=[f"{found.rounds} instead of {found.reference}"],
    )  # fmt: skip


def _curve(maker: BanditMaker, instance: Instance, runs: Runs) -> Finding:
    beta = maker.beta_at(LENGTH**-0.5)
    reason = _no_curve(maker, beta)
    if reason:
        return Finding(Verdict.NOT_APPLICABLE, reason, Evidence("sampled"))
    means = reward_means(instance, maker.declared_reward)
    emitted = instance.tokens_a_round()
    return battery.fluid(runs, [fluid(means, emitted, tokens, beta).regret for tokens in runs.checkpoints])


def _no_curve(maker: BanditMaker, beta: float) -> str:
    if maker.policy != CURVE_POLICY:
        return f"the curve is known for {CURVE_POLICY} only"
    best = max(ACCEPTANCE)
    if reward(maker.declared_reward) is reward(DIVERGENCE):
        noise = math.sqrt(float(of_divergence(best, LENGTH, DISPERSION).variance))
    else:
        noise = math.sqrt(float(of_efficiency(best, LENGTH).variance))
    if beta < WIDE * noise:
        return f"a bonus of {beta:.3f} is too narrow for the curve: the reward's noise is {noise:.3f}"
    return ""


def _bound(maker: BanditMaker, instance: Instance, runs: Runs) -> Finding:
    beta = maker.beta_at(LENGTH**-0.5)
    positions = LENGTH if reward(maker.declared_reward) is reward(DIVERGENCE) else 1
    if maker.policy != CURVE_POLICY:
        return Finding(Verdict.NOT_APPLICABLE, f"the bound is known for {CURVE_POLICY} only", Evidence("sampled"))
    means, emitted = reward_means(instance, maker.declared_reward), instance.tokens_a_round()
    try:
        limits = [
            bound(means, emitted, tokens, beta, LENGTH, independent_positions=positions) for tokens in runs.checkpoints
        ]
    except ValueError as reason:
        return Finding(Verdict.NOT_APPLICABLE, str(reason), Evidence("sampled"))
    return battery.bound(runs, limits)
