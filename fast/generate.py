"""Speculative generation: a target, a drafter and a verifier in a loop, for a batch of texts at once.

A round drafts K paths of L tokens behind every text, scores all of them in one pass of the target (a tree of slots behind the
cached text), hands the rows to the verifier, and rolls both caches back to what was accepted. Rows are made by the same
``Sampling`` that plain decoding uses. What a verifier carries over follows its request; a request that is done leaves the batch.

Every request has a seed; draft and verifier take streams of their own from it, a new one each round, so that what a request gets
does not depend on its neighbours (but for the rounding of batched matrix products).
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from specproof.fast.batch import Drafts, Outcome, Randomness, Verifier
from specproof.fast.drafters import Drafter, DraftSession, NoDrafts, Proposal
from specproof.fast.language_model import CachedTexts, LanguageModel, Scores
from specproof.fast.randomness import splitmix
from specproof.fast.sampling import Sampling
from specproof.fast.verifiers import standard
from specproof.fast.verifiers.nodes import first_sharing

Listener = Callable[[int, list[int]], None]


@dataclass(frozen=True)
class Round:
    """What one round did for one request."""

    drafted: int
    accepted: int
    emitted: int


@dataclass(eq=False)
class Generated:
    """One request's text so far. Requests that are alike are still two."""

    prompt: list[int]
    seed: int
    tokens: list[int] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    stopped: bool = False

    @property
    def text(self) -> list[int]:
        """Prompt and new tokens."""
        return [*self.prompt, *self.tokens]

    @property
    def block_efficiency(self) -> float:
        """Mean number of tokens that a pass of the target yields, before anything is cut off."""
        return sum(done.accepted + 1 for done in self.rounds) / len(self.rounds)


@dataclass
class Seconds:
    """Where the time went; ``other`` is the bookkeeping of the loop."""

    draft: float = 0.0
    target: float = 0.0
    verify: float = 0.0
    other: float = 0.0


@dataclass(frozen=True)
class Watched:
    """A round as the verifier saw it, for whoever wants to examine it: requests, drafts and the outcome."""

    requests: list[Generated]
    texts: list[list[int]]
    drafts: Drafts
    outcome: Outcome


@dataclass(frozen=True)
class Settings:
    """How to generate: ``tokens`` new ones for each request, with ``drafts`` paths (K) of ``length`` (L) a round."""

    tokens: int
    drafts: int = 4
    length: int = 4
    sampling: Sampling = field(default_factory=Sampling)

    def __post_init__(self) -> None:
        for name in ("tokens", "drafts", "length"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")


def generate(
    target: LanguageModel, drafter: Drafter, verifier: Verifier, prompts: Sequence[Sequence[int]], settings: Settings, *,
    seeds: Sequence[int] | None = None, source: torch.Generator | None = None, on_tokens: Listener | None = None, on_round: Callable[[Watched], None] | None = None,
    seconds: Seconds | None = None,
) -> list[Generated]:  # fmt: skip
    """Continue every prompt. ``on_tokens(request, new tokens)`` and ``on_round`` are called as they come.

    A ``source`` takes the place of the seeds: every request draws from it, in turn.

    Raises ``ValueError`` before any model runs: for an empty prompt, an id outside the vocabulary, models with different
    vocabularies, a prompt and new tokens that together exceed the target's context, or seeds that do not match the prompts.
    """
    check(target, drafter, prompts, settings)
    if seeds is None:
        seeds = range(len(prompts))
    if len(seeds) != len(prompts):
        raise ValueError(f"one seed a prompt: {len(prompts)} prompts, got {len(seeds)} seeds")
    requests = [Generated(list(prompt), seed) for prompt, seed in zip(prompts, seeds, strict=True)]
    loop = Loop(target, drafter, verifier, requests, settings, seconds or Seconds(), source)
    while loop.requests:
        running = list(loop.requests)
        before = [len(request.tokens) for request in running]
        watched = loop.round()
        if on_round is not None:
            on_round(watched)
        if on_tokens is not None:
            for request, known in zip(running, before, strict=True):
                on_tokens(requests.index(request), request.tokens[known:])
    return requests


def check(target: LanguageModel, drafter: Drafter, prompts: Sequence[Sequence[int]], settings: Settings) -> None:
    """Raise ``ValueError`` for what cannot be generated; see ``generate``."""
    if drafter.vocabulary is not None and drafter.vocabulary != target.vocabulary:
        raise ValueError(
            f"the drafter {drafter.name} has {drafter.vocabulary} tokens and the target {target.vocabulary}: "
            "rows over different vocabularies cannot be compared; use models that share a tokenizer"
        )
    for index, prompt in enumerate(prompts):
        if not len(prompt):
            raise ValueError(f"prompt {index} is empty; start it with the tokenizer's first token")
        outside = [token for token in prompt if not 0 <= token < target.vocabulary]
        if outside:
            raise ValueError(f"prompt {index} has the id {outside[0]}, outside 0..{target.vocabulary - 1}")
        if len(prompt) + settings.tokens > target.context:
            raise ValueError(
                f"prompt {index} has {len(prompt)} tokens and {settings.tokens} more are wanted, "
                f"but the target attends to {target.context}; ask for at most {target.context - len(prompt)}"
            )


def plain(
    target: LanguageModel, prompts: Sequence[Sequence[int]], settings: Settings, *, seeds: Sequence[int] | None = None,
    seconds: Seconds | None = None,
) -> list[Generated]:  # fmt: skip
    """Continue every prompt without speculation: the same loop, and nothing drafted. Raises as ``generate`` does."""
    return generate(target, NoDrafts(), standard, prompts, settings, seeds=seeds, seconds=seconds)


def acceptance(requests: Sequence[Generated], length: int) -> list[float]:
    """Share of the drafts' tokens at each of ``length`` positions that were accepted, given that those before were.

    NaN for a position that no round came to.
    """
    rounds = [done for request in requests for done in request.rounds]
    shares = []
    for i in range(length):
        reached = [done.accepted > i for done in rounds if done.drafted > i and done.accepted >= i]
        shares.append(sum(reached) / len(reached) if reached else float("nan"))
    return shares


class Loop:
    """The state of a batch between rounds."""

    def __init__(
        self, target: LanguageModel, drafter: Drafter, verifier: Verifier, requests: list[Generated],
        settings: Settings, seconds: Seconds, source: torch.Generator | None,
    ) -> None:  # fmt: skip
        self.requests = list(requests)
        self._source = source
        self._target, self._verifier, self._settings, self._seconds = target, verifier, settings, seconds
        self._cache = CachedTexts(target, len(requests))
        self._session: DraftSession = drafter.session(len(requests), settings.sampling)
        self._carry: Any = None
        self._round = 0

    def round(self) -> Watched:
        """Draft, score, verify, and settle what was accepted."""
        texts = [request.text for request in self.requests]
        clock = _Clock(self._seconds)
        if not self._round:
            self._prime(texts)
            clock.spent("target")
        limits = [self._target.context - len(text) for text in texts]
        proposal = self._session.propose(
            texts, limits, self._settings.drafts, self._settings.length, self._randomness("draft")
        ).to(self._target.device)
        clock.spent("draft")
        scores = self._score(texts, proposal)
        clock.spent("target")
        drafts = Drafts(proposal.tokens, proposal.draft_probs, self._rows(texts, proposal, scores), _ragged(proposal))
        clock.spent("other")
        outcome = self._verifier.verify(drafts, self._randomness("verify"), self._carry)
        clock.spent("verify")
        watched = Watched(list(self.requests), texts, drafts, outcome)
        self._settle(drafts, proposal.lengths.tolist(), scores, outcome)
        clock.spent("other")
        self._round += 1
        return watched

    def _randomness(self, purpose: str) -> Randomness:
        if self._source is not None:
            return self._source
        return [stream(request.seed, len(request.rounds), purpose) for request in self.requests]

    def _prime(self, texts: list[list[int]]) -> None:
        """Take the prompts into the target's cache, but for their last tokens."""
        if max(map(len, texts)) > 1:
            hidden = self._cache.extend([text[:-1] for text in texts]).hidden
            self._session.observe([row[len(row) - len(text) + 1 :] for row, text in zip(hidden, texts, strict=True)])

    def _score(self, texts: list[list[int]], proposal: Proposal) -> Scores:
        """Score the last token of the text and every drafted one, [B, 1 + K L]."""
        paths, length = proposal.tokens.shape[1:]
        pending = torch.tensor([[text[-1]] for text in texts], device=self._target.device)
        tokens = torch.cat([pending, proposal.tokens.flatten(1)], dim=1)
        depth = torch.cat([torch.zeros(1, dtype=torch.int64), torch.arange(1, length + 1).repeat(paths)])
        own = torch.kron(torch.eye(paths), torch.ones(length, length).tril()).bool()  # each path sees itself
        sees = torch.zeros(1 + paths * length, 1 + paths * length, dtype=torch.bool)
        sees[:, 0] = True
        sees[1:, 1:] = own
        return self._cache.hang(tokens, depth.to(tokens.device), sees.to(tokens.device))

    def _rows(self, texts: list[list[int]], proposal: Proposal, scores: Scores) -> Tensor:
        """Rows [B, K, L + 1, V]; where drafts share a prefix, the very same row."""
        batch, paths, length = proposal.tokens.shape
        if length == 0:
            return self._settings.sampling.rows(texts, scores.logits[:, 0])[:, None, None]
        lead = first_sharing(proposal.tokens)  # [B, K, L]
        node = 1 + lead * length + torch.arange(length, device=lead.device)
        node = torch.cat([torch.zeros_like(node[..., :1]), node], dim=2)  # [B, K, L + 1]
        if not self._settings.sampling.processors:
            law = self._settings.sampling.rows(texts, scores.logits)  # [B, 1 + K L, V]
        else:
            law = self._processed(texts, proposal, scores)
        index = node.flatten(1)[..., None].expand(-1, -1, law.shape[-1])
        return law.gather(1, index).view(batch, paths, length + 1, -1)

    def _processed(self, texts: list[list[int]], proposal: Proposal, scores: Scores) -> Tensor:
        """Laws [B, 1 + K L, V] under processors, which see the text up to each token."""
        whole = [
            [*text, *path[:i]]
            for text, paths in zip(texts, proposal.tokens.tolist(), strict=True)
            for path, i in [((), 0), *((path, i + 1) for path in paths for i in range(len(path)))]
        ]
        return self._settings.sampling.rows(whole, scores.logits.flatten(0, 1)).view(scores.logits.shape)

    def _settle(self, drafts: Drafts, drafted: list[int], scores: Scores, outcome: Outcome) -> None:
        """Append what was emitted to the texts, roll the caches back, and let go of what is done."""
        accepted, path = outcome.accepted, outcome.path
        if path is None:
            path = torch.zeros_like(accepted)
        length = drafts.length
        emitted = [row[: count + 1] for row, count in zip(outcome.tokens.tolist(), accepted.tolist(), strict=True)]
        for request, new, count in zip(self.requests, emitted, drafted, strict=True):
            self._append(request, new, count)
        alive = torch.tensor([index for index, request in enumerate(self.requests) if not self._done(request)])
        alive = alive.long().to(accepted.device)
        behind = 1 + path[:, None] * length + torch.arange(length, device=path.device)
        taken = torch.cat([torch.zeros_like(accepted)[:, None], behind], dim=1)  # the pending token, then the path
        hidden = [scores.hidden[index, taken[index, : int(accepted[index]) + 1]] for index in alive.tolist()]
        self._cache.settle(taken, accepted + 1, alive)
        self._session.settle(drafts, outcome, alive)
        self._session.observe(hidden)
        self._carry = outcome.carry.select(alive) if outcome.carry is not None else None
        self.requests = [self.requests[index] for index in alive.tolist()]

    def _append(self, request: Generated, new: list[int], drafted: int) -> None:
        room = self._settings.tokens - len(request.tokens)
        kept = new[:room]
        stop = self._settings.sampling.stop
        if stop is not None and stop in kept:
            kept = kept[: kept.index(stop) + 1]
            request.stopped = True
        request.tokens += kept
        request.rounds.append(Round(drafted, len(new) - 1, len(kept)))

    def _done(self, request: Generated) -> bool:
        return request.stopped or len(request.tokens) >= self._settings.tokens


def _ragged(proposal: Proposal) -> Tensor | None:
    """The lengths where they differ from the drafts' own."""
    whole = proposal.lengths == proposal.tokens.shape[2]
    return None if bool(whole.all()) else proposal.lengths


class _Clock:
    """Adds the time since it was last asked to one of the entries."""

    def __init__(self, seconds: Seconds) -> None:
        self._seconds, self._since = seconds, time.perf_counter()

    def spent(self, entry: str) -> None:
        now = time.perf_counter()
        setattr(self._seconds, entry, getattr(self._seconds, entry) + now - self._since)
        self._since = now


PURPOSES = {"draft": 1, "verify": 2}


def stream(seed: int, step: int, purpose: str) -> int:
    """A seed of its own for one purpose at one round."""
    mixed = 0
    for part in (seed, step, PURPOSES[purpose]):
        mixed = splitmix(mixed + part)
    return mixed >> 1
