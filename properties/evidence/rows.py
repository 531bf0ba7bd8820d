"""Every row of one batch counted by itself: a request that is served wrongly among thousands is convicted on its own.

The same batch of requests, all different, is verified again and again with new drafts. Position i of request b must have
the law of the request's own target row i, whatever its neighbours; where a block was shorter the target completes it. Each
row and position has an e-process of its own; the false-alarm rate is divided evenly among them.

LIMITS. A request is counted a few hundred times: what is found in it is gross (``detectable``), such as a neighbour's row.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from specproof.fast.batch import Drafts
from specproof.fast.randomness import draw
from specproof.properties.evidence.calls import MalformedOutcome, call, violations
from specproof.properties.evidence.e_process import EProcess
from specproof.properties.evidence.pool import drawn, pool
from specproof.properties.evidence.power import detectable_total_variation
from specproof.properties.evidence.seeding import seeded
from specproof.properties.subject import Subject

LENGTH, VOCABULARY = 2, 5


@dataclass(frozen=True)
class RowPlan:
    """How many requests to put into a batch, how often to verify it, and the false-alarm rate of all counts together."""

    requests: int
    calls: int
    alpha: float
    seed: int


@dataclass(frozen=True)
class CountedRows:
    """The counts of the worst row; ``violation`` is a contract violation, which ends the counting."""

    plan: RowPlan
    request: int
    position: int
    log_e: float
    limit: float
    counts: list[int]
    expected: list[float]
    detectable: float
    violation: str | None = None


def count_rows(subject: Subject, plan: RowPlan) -> CountedRows:
    """Verify the batch ``plan.calls`` times. Raises ``Undecided`` where the subject raises."""
    requests = pool(subject.drafting, plan.requests, length=LENGTH, vocabulary=VOCABULARY, seed=plan.seed, plain=True)
    own = torch.Generator().manual_seed(plan.seed + 1)
    theirs = torch.Generator().manual_seed(plan.seed + 2)
    counts = torch.zeros(plan.requests, LENGTH + 1, VOCABULARY, dtype=torch.int64)
    judged = LENGTH + 1
    assert requests.draft_probs is not None
    with seeded(plan.seed + 3):
        for _ in range(plan.calls):
            drafts = Drafts(
                drawn(subject.drafting, requests.draft_probs, own), requests.draft_probs, requests.target_probs
            )
            try:
                outcome = call(subject, drafts, theirs)
                _check(drafts, outcome)
            except MalformedOutcome as error:
                return _worst(plan, counts, requests.target_probs, judged, str(error))
            if outcome.carry is not None:  # the rest of the block is owed another law than the target's
                judged = 1
            text = _completed(requests.target_probs, outcome.tokens, own)
            counts.scatter_add_(-1, text[..., None], torch.ones_like(text)[..., None])
    return _worst(plan, counts, requests.target_probs, judged)


def _check(drafts: Drafts, outcome: object) -> None:
    for mask, reason in violations(drafts, outcome):  # type: ignore[arg-type]
        if bool(mask.any()):
            raise MalformedOutcome(f"request {int(mask.nonzero()[0])} of {drafts.batch}: {reason}")


def _completed(target: Tensor, tokens: Tensor, generator: torch.Generator) -> Tensor:
    """The emitted tokens [B, L+1], and behind them tokens of the target's rows."""
    uniform = torch.rand(tokens.shape, dtype=torch.float64, generator=generator)
    rest = draw(target[:, 0].flatten(0, 1), uniform.flatten()).view(tokens.shape)
    return torch.where(tokens >= 0, tokens, rest)


def _worst(plan: RowPlan, counts: Tensor, target: Tensor, judged: int, violation: str | None = None) -> CountedRows:
    found = []
    for b in range(plan.requests):
        for i in range(judged):
            law = target[b, 0, i].double().numpy()
            log_e = float(EProcess(law / law.sum()).log_e(counts[b, i].numpy()))
            found.append((log_e, b, i))
    log_e, b, i = max(found)
    each = plan.alpha / (plan.requests * (LENGTH + 1))
    return CountedRows(
        plan, b, i, log_e, math.log(1 / each), counts[b, i].tolist(),
        [round(float(share), 4) for share in target[b, 0, i]],
        detectable_total_variation(VOCABULARY, plan.calls, each), violation,
    )  # fmt: skip


def observed_share(rows: CountedRows) -> list[float]:
    """The counts of the worst row as shares."""
    return np.round(np.array(rows.counts) / max(sum(rows.counts), 1), 4).tolist()  # type: ignore[no-any-return]
