"""Several drafters, one active in each round of each request: a bandit chooses, and learns from what the round shows (MetaSD).

Any drafters of one vocabulary, black box or white box, any policy and reward of ``reference.bandits``. The text does not depend
on the choice: whoever drafts, drafts come with their law. A drafter that was idle has to read what was written without it
before it can draft again; those tokens are what a switch costs, and are counted.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor

from specproof.fast.batch import Drafts, Outcome, Randomness
from specproof.fast.drafters import Drafter, DraftSession, Proposal, Texts
from specproof.fast.sampling import Sampling
from specproof.reference.bandits.block import Block
from specproof.reference.bandits.rewards import Reward, block_divergence


class Chooser(Protocol):
    """A bandit: ``reference.bandits.Bandit``, or anybody's."""

    def choose(self) -> int:
        """Return the arm of the next round."""
        ...

    def update(self, arm: int, reward: float) -> None:
        """Learn the reward of a round."""
        ...


@dataclass
class History:
    """What one request did: the arm of every round, its reward, and how many tokens the arm had to catch up on."""

    arms: list[int] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    caught_up: list[int] = field(default_factory=list)

    @property
    def switches(self) -> int:
        """How often the arm differs from that of the round before."""
        return sum(a != b for a, b in zip(self.arms, self.arms[1:], strict=False))


@dataclass(frozen=True)
class SwitchingDrafter:
    """``bandit()`` is asked for a chooser for every request; returning the same one carries what was learned over.

    Raises ``ValueError`` for no drafters, or drafters whose vocabularies differ.
    """

    drafters: Sequence[Drafter]
    bandit: Callable[[], Chooser]
    reward: Reward = block_divergence
    name: str = "switching"
    histories: list[History] = field(default_factory=list)

    def __post_init__(self) -> None:
        sizes = {drafter.name: drafter.vocabulary for drafter in self.drafters if drafter.vocabulary is not None}
        if not self.drafters:
            raise ValueError("a bandit needs at least one drafter, got none")
        if len(set(sizes.values())) > 1:
            raise ValueError(f"drafters of one target share its vocabulary, got {sizes}")

    @property
    def vocabulary(self) -> int | None:
        """Number of tokens, V; None when no drafter says."""
        return next((drafter.vocabulary for drafter in self.drafters if drafter.vocabulary is not None), None)

    def session(self, batch: int, sampling: Sampling) -> "SwitchingSession":
        """Return a session; the histories of its requests are appended to ``histories``."""
        requests = [
            _Request(self.bandit(), [drafter.session(1, sampling) for drafter in self.drafters]) for _ in range(batch)
        ]
        self.histories.extend(request.history for request in requests)
        return SwitchingSession(self, requests)


@dataclass
class _Request:
    """A request's chooser and its own session with every drafter."""

    bandit: Chooser
    sessions: list[DraftSession]
    history: History = field(default_factory=History)
    read: dict[int, int] = field(default_factory=dict)  # tokens that each arm has read

    @property
    def active(self) -> DraftSession:
        return self.sessions[self.history.arms[-1]]


class SwitchingSession:
    """Requests with drafters of their own."""

    def __init__(self, drafter: SwitchingDrafter, requests: list[_Request]) -> None:
        self._drafter, self._requests = drafter, requests

    def propose(self, texts: Texts, limits: Sequence[int], drafts: int, length: int, source: Randomness) -> Proposal:
        """Let every request's chooser choose, and that drafter draft. Raises ``ValueError`` for an arm that there is not."""
        parts = []
        for index, (request, text, limit) in enumerate(zip(self._requests, texts, limits, strict=True)):
            arm = request.bandit.choose()
            if not 0 <= arm < len(request.sessions):
                raise ValueError(f"the bandit chose arm {arm!r} of {len(request.sessions)}")
            request.history.arms.append(arm)
            # Whoever drafted last lacks one token or two; who has been idle lacks all that was written since.
            request.history.caught_up.append(len(text) - request.read.get(arm, 0))
            request.read[arm] = len(text)
            own = [source[index]] if isinstance(source, Sequence) else source
            parts.append(request.active.propose([text], [limit], drafts, length, own))
        return joined(parts)

    def settle(self, drafts: Drafts, outcome: Outcome, rows: Tensor) -> None:
        """Reward the choosers, and tell the drafters that drafted."""
        for index, request in enumerate(self._requests):
            block = block_of(drafts, outcome, index)
            if block.length:
                reward = float(self._drafter.reward(block))
                request.history.rewards.append(reward)
                request.bandit.update(request.history.arms[-1], reward)
            only = slice(index, index + 1)
            own = Drafts(
                drafts.tokens[only], None, drafts.target_probs[only],
                None if drafts.lengths is None else drafts.lengths[only],
            )  # fmt: skip
            path = None if outcome.path is None else outcome.path[only]
            request.active.settle(
                own, Outcome(outcome.tokens[only], outcome.accepted[only], path), torch.zeros(1).long()
            )
        self._requests = [self._requests[index] for index in rows.tolist()]

    def observe(self, hidden: Sequence[Tensor]) -> None:
        """Show every drafter of a request its target's features."""
        for request, features in zip(self._requests, hidden, strict=True):
            for session in request.sessions:
                session.observe([features])


def block_of(drafts: Drafts, outcome: Outcome, index: int) -> Block:
    """What a round shows of one request, along its first draft."""
    length = int(drafts.each_length()[index])
    tokens = drafts.tokens[index, 0, :length, None]
    target, draft = drafts.target_probs[index, 0, :length].double(), drafts.draft_rows()[index, 0, :length].double()
    agreement = torch.minimum(target, draft).sum(-1)
    ratio = target.gather(1, tokens) / draft.gather(1, tokens)
    survival = ratio.squeeze(1).clamp(max=1)
    return Block(tuple(agreement.tolist()), tuple(survival.tolist()), int(outcome.accepted[index]))


def joined(parts: Sequence[Proposal]) -> Proposal:
    """Proposals of single requests as one batch, padded to the longest; one without laws gets its certain rows written out."""
    length = max(part.tokens.shape[2] for part in parts)
    where = next((part.draft_probs.device for part in parts if part.draft_probs is not None), parts[0].tokens.device)
    parts = [part.to(where) for part in parts]  # copied tokens come from the text, not from a device

    def padded(tensor: Tensor, axis: int) -> Tensor:
        missing = length - tensor.shape[axis]
        pad = [0, 0] * (tensor.dim() - 1 - axis) + [0, missing]
        return torch.nn.functional.pad(tensor, pad)

    tokens = torch.cat([padded(part.tokens, 2) for part in parts])
    lengths = torch.cat([part.lengths for part in parts])
    known = [part.draft_probs for part in parts if part.draft_probs is not None]
    if not known:
        return Proposal(tokens, None, lengths)
    vocabulary = known[0].shape[-1]
    laws = [
        torch.nn.functional.one_hot(part.tokens, vocabulary).to(known[0])
        if part.draft_probs is None
        else part.draft_probs
        for part in parts
    ]
    return Proposal(tokens, torch.cat([padded(law, 2) for law in laws]), lengths)
