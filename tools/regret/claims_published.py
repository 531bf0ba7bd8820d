"""Claims about the paper's own measurements: read from its tables (14), or reproducible only as a ratio (13); and none (21)."""

from specproof.regret.claims import Claim, Fact, Laboratory, holds, rounded, sampled
from specproof.regret.claims_simulated import short_run, ucb

# Speed-ups by task: the best single drafter, one drafter for all tasks (OFA), MetaSD-UCB (BANDITS 1.3, after reviews).
SPEED_UPS = {
    "black box, code": (2.437, 2.435, 2.300),
    "black box, translation": (2.076, 1.032, 1.587),
    "black box, summary": (2.133, 1.526, 1.971),
    "black box, questions": (1.960, 1.267, 1.711),
    "black box, mathematics": (2.454, 1.571, 2.280),
    "white box, code": (3.934, 3.776, 3.724),
    "white box, translation": (2.496, 2.143, 2.318),
    "white box, summary": (3.382, 2.640, 3.057),
    "white box, questions": (2.916, 2.446, 2.641),
    "white box, mathematics": (3.903, 3.049, 3.520),
}


def speed_up(lab: Laboratory) -> list[Fact]:
    """Claim 13."""
    ratios = [ucb_ / best for best, _, ucb_ in SPEED_UPS.values()]
    values = {beta: short_run(lab, ucb("BD", beta)).efficiency() for beta in (0.1, 5**-0.5)}
    covered = min(ratios) < values[5**-0.5].mean() < max(ratios)
    return [
        rounded("published: UCB over the best single drafter, lowest of ten", "0.76", min(ratios)),
        rounded("published: highest of ten", "0.95", max(ratios)),
        sampled("simulated rounds of the best over UCB's, beta .1, 512 tokens", ".969", values[0.1], published=4000),
        sampled("simulated, beta .447", ".866", values[5**-0.5], published=4000),
        holds("the simulated ratio lies in the published range", True, bool(covered), f"{values[5**-0.5].mean():.3f}"),
    ]


def every_task(_: Laboratory) -> list[Fact]:
    """Claim 14."""
    singles = sum(ucb_ > best for best, _, ucb_ in SPEED_UPS.values())
    for_all = [task for task, (_, ofa, ucb_) in SPEED_UPS.items() if ofa > ucb_]
    return [
        holds("UCB beats the best single drafter in every cell", False, singles == len(SPEED_UPS),
              f"in {singles} of {len(SPEED_UPS)}", singles == len(SPEED_UPS)),
        holds("UCB beats one drafter for all tasks in every cell", False, not for_all,
              f"not in {'; '.join(for_all)}", not for_all),
    ]  # fmt: skip


def future_work(_: Laboratory) -> list[Fact]:
    """Claim 21."""
    return []


CLAIMS = [
    Claim(13, "Speed-ups up to 2.3x (black box) and 3.7x (white box).", speed_up,
          "Not testable without the models; the ratio to the best single drafter is, and simulation gives the published one."),
    Claim(14, "UCB beats single drafters and one drafter for all on every task.", every_task,
          "The paper's own table: the best single drafter wins all ten cells, one drafter for all wins code in both settings."),
    Claim(21, "Batches, contexts, reinforcement learning.", future_work, "Named as future work: nothing is claimed."),
]  # fmt: skip
