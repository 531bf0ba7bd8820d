"""One draft a request, verified from logits: row after row, so that no softmax of a whole block is ever written.

A row of logits becomes probabilities in a buffer of V numbers that stays in the cache, gives its drafted token's entry, and
is forgotten. ``standard`` stops at the first rejection, whose two rows are then the residual's already; ``block`` needs
every drafted entry first and comes back for the rows that its coins ask for. Uniforms are used as ``verify`` uses them, so
that the same numbers give the tokens that ``verify`` gives on ``softmax(logits / temperature)``.

Rows of fewer than ``WIDE`` tokens, and rows on a GPU, are cheaper many at a time: there the softmax is written.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, inf, log

import torch
from torch import Tensor

from specproof.fast.batch import Drafts, Outcome, Randomness
from specproof.fast.randomness import uniforms
from specproof.fast.rows import WIDTH, block_sums
from specproof.fast.verifiers import block as block_rule
from specproof.fast.verifiers import standard as standard_rule
from specproof.fast.verifiers.chain import LARGEST_LOG, WITHIN_ROUNDING

WIDE = 2048
SMALLEST = 1e-320  # a smaller draft probability counts as this, so that logs stay finite


@dataclass(frozen=True)
class Logits:
    """Requests with one draft each, in logits; ``draft=None`` means one-hot drafts, ``lengths`` as in ``Drafts``."""

    tokens: Tensor  # [B, L] int64
    draft: Tensor | None  # [B, L, V]
    target: Tensor  # [B, L+1, V]
    temperature: float = 1.0
    lengths: Tensor | None = None  # [B] int64

    def drafts(self) -> Drafts:
        """The same requests in probabilities."""
        draft = None if self.draft is None else self.softmax(self.draft)[:, None]
        return Drafts(self.tokens[:, None], draft, self.softmax(self.target)[:, None], self.lengths)

    def softmax(self, logits: Tensor) -> Tensor:
        """Probabilities, in float32 at least."""
        kind = torch.promote_types(logits.dtype, torch.float32)
        return (logits if self.temperature == 1 else logits.to(kind) / self.temperature).softmax(-1, dtype=kind)

    def check(self) -> None:
        """Raise ``ValueError`` or ``TypeError`` for a batch that breaks the contract."""
        if not 0 < self.temperature < inf:
            raise ValueError(f"the temperature must be positive and finite, got {self.temperature}")
        draft = None if self.draft is None else self.draft[:, None]
        Drafts(self.tokens[:, None], draft, self.target[:, None], self.lengths).check()


@dataclass(frozen=True)
class Request:
    """One request of the batch, its rows made into probabilities when they are asked for."""

    logits: Logits
    index: int
    tokens: list[int]
    coins: list[float]

    def target(self, position: int) -> Tensor:
        """The target's row after ``position`` tokens, [V]."""
        return self.logits.softmax(self.logits.target[self.index, position])

    def draft(self, position: int) -> Tensor | None:
        """The draft's row after ``position`` tokens, [V]; None where it is one-hot."""
        return None if self.logits.draft is None else self.logits.softmax(self.logits.draft[self.index, position])

    def left(self, target: Tensor, draft: Tensor | None, position: int, share: float) -> Tensor:
        """Make ``(target - share draft)+`` out of the rows at ``position``."""
        if draft is None:
            left = target.clone()
            left[self.tokens[position]] -= share
        else:
            left = torch.sub(target, draft, alpha=share)
        return left.clamp_(min=0)

    def draw(self, weights: Tensor, position: int, uniform: float, otherwise: Tensor | None = None) -> int:
        """Draw from ``weights`` [V] by inverse distribution function, or from ``otherwise`` where rounding has left nothing.

        Raises ``ValueError`` for NaN, which is what a row of logits becomes that is no law.
        """
        sums = block_sums(weights[None])[0]
        mass = float(sums.sum())
        if mass == 0 and otherwise is not None:
            return self.draw(otherwise, position, uniform)
        if not mass > 0:
            raise ValueError(f"request {self.index}: target row {position} is NaN")
        block, rest = entry_at(sums, uniform * mass)
        start = block * WIDTH
        return start + entry_at(weights[start : start + WIDTH].double(), rest)[0]


def entry_at(weights: Tensor, position: float) -> tuple[int, float]:
    """One row of ``randomness.search``, without tensors of one number: ``weights`` [n] gives an entry and how far inside."""
    cumulative = weights.cumsum(0)
    index = int(torch.searchsorted(cumulative, position, right=True))
    if index == len(weights):
        index = int(weights.nonzero()[-1])
    return index, max(0.0, position - float(cumulative[index] - weights[index]))


def standard(
    tokens: Tensor, draft: Tensor | None, target: Tensor, generator: Randomness,
    *, temperature: float = 1.0, lengths: Tensor | None = None,
) -> Outcome:  # fmt: skip
    """Standard verification: ``tokens`` [B, L], logits ``draft`` [B, L, V] (None: one-hot) and ``target`` [B, L+1, V].

    Raises ``ValueError`` for a batch that breaks the contract, a temperature that is not positive, or rows without mass.
    """
    logits = Logits(tokens, draft, target, temperature, lengths)
    return _each(logits, generator, standard_rule.verify, tokens.shape[1] + 1, _standard)


def block(
    tokens: Tensor, draft: Tensor | None, target: Tensor, generator: Randomness,
    *, temperature: float = 1.0, lengths: Tensor | None = None,
) -> Outcome:  # fmt: skip
    """Block verification, with arguments and errors as ``standard``."""
    logits = Logits(tokens, draft, target, temperature, lengths)
    return _each(logits, generator, block_rule.verify, tokens.shape[1] + 2, _block)


def _each(
    logits: Logits,
    generator: Randomness,
    verify: Callable[[Drafts, Randomness], Outcome],
    coins: int,
    one: Callable[[Request], tuple[int, int]],
) -> Outcome:
    """Verify request after request where rows are wide, all at once where they are not."""
    logits.check()
    if logits.target.shape[-1] < WIDE or logits.target.device.type != "cpu":
        return verify(logits.drafts(), generator)
    drawn = uniforms(generator, len(logits.tokens), coins, logits.target.device).tolist()
    length = logits.tokens.shape[1]
    lengths = [length] * len(drawn) if logits.lengths is None else logits.lengths.tolist()
    paths = [path[:end] for path, end in zip(logits.tokens.tolist(), lengths, strict=True)]
    found, accepted = [], []
    for index, path in enumerate(paths):
        kept, token = one(Request(logits, index, path, drawn[index]))
        found.append([*path[:kept], token, *[-1] * (length - kept)])
        accepted.append(kept)
    return Outcome(torch.tensor(found), torch.tensor(accepted))


def _standard(request: Request) -> tuple[int, int]:
    """How many tokens are kept, and the one behind them."""
    last = request.coins[len(request.tokens)]
    for i, token in enumerate(request.tokens):
        target, draft = request.target(i), request.draft(i)
        if not request.coins[i] * (1.0 if draft is None else float(draft[token])) < float(target[token]):
            return i, request.draw(request.left(target, draft, i, 1.0), i, last, target)
    end = len(request.tokens)
    return end, request.draw(request.target(end), end, last)


def _block(request: Request) -> tuple[int, int]:
    """How many tokens are kept, and the one behind them; the longest prefix that passes is found from its end."""
    end, coins = len(request.tokens), request.coins
    odds = log_odds(request)
    last = coins[end + 1]
    if coins[end] < exp(odds[end]):
        return end, request.draw(request.target(end), end, last)
    for i in range(end - 1, -1, -1):
        certain = odds[i] >= 0
        if certain or coins[i] * WITHIN_ROUNDING < exp(odds[i]):
            share = exp(min(LARGEST_LOG, -odds[i]))
            target = request.target(i)
            left = request.left(target, request.draft(i), i, share)
            mass = 0.0 if certain else float(block_sums(left[None]).sum())
            if certain or coins[i] * (mass + share - 1) < mass:
                return i, request.draw(left, i, last, target)
    raise AssertionError("the empty prefix passes for certain")


def log_odds(request: Request) -> list[float]:
    """Log of ``p_i = min(1, p_{i-1} target/draft)`` at every prefix: -inf where the target rules it out, NaN for a NaN."""
    odds = [0.0]
    for i, token in enumerate(request.tokens):
        target, draft = float(request.target(i)[token]), request.draft(i)
        drafted = max(1.0 if draft is None else float(draft[token]), SMALLEST)  # in this order, which keeps a NaN
        reached = odds[i] + log(target) - log(drafted) if target > 0 else -inf
        odds.append(0.0 if reached > 0 else reached)
    return odds
