"""What a selector returns: one path a request with the law it was selected by (MATH 4.2, lemma).

``draft_probs`` of the selected path hold ``D(zc)/D(z)``, with D(z) the probability that the selected path starts with z:
any one-draft verifier takes them in place of the draft's rows and keeps the target's law. A selector works on groups of
tokens, so such a row is the draft's own, each token times the ``gain`` of its group.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from specproof.fast.batch import Drafts
from specproof.fast.selectors.groups import Masses, group_of, law_type, rows_at
from specproof.fast.selectors.trie import Trie


@dataclass(frozen=True)
class Selection:
    """One draft for each request, ready for a one-draft verifier, and which one it was."""

    drafts: Drafts  # K = 1
    path: Tensor  # [B]


@dataclass(frozen=True)
class State:
    """Where the law of a selector stands at one prefix of each request, whether or not a draft went there."""

    cells: Tensor  # [B, P, S] what the selector makes of it, zeros behind
    ratio: Tensor  # [B] target(z) over the mass that ``cells`` are relative to

    def select(self, rows: Tensor) -> "State":
        """The states of some requests, in that order."""
        return State(self.cells[rows], self.ratio[rows])


@dataclass(frozen=True)
class Along:
    """The law of a selector along given paths, from where a state stands."""

    law: Tensor  # [B, K, L, V] D(zc)/D(z)
    odds: Tensor  # [B, K, L + 1] target(z)/D(z)
    ends: State  # of B K: behind each path


def token_ratios(drafts: Drafts) -> Tensor:
    """``target/draft`` [B, K, L] of every drafted token; zero where either is."""
    tokens = drafts.tokens.clamp(0, drafts.vocabulary - 1)[..., None]  # behind a request's length may stand anything
    target = drafts.target_probs[:, :, :-1].gather(-1, tokens).squeeze(-1).double()
    draft = drafts.draft_rows().gather(-1, tokens).squeeze(-1).double()
    return torch.where(draft > 0, target / draft, 0.0)


def path_ratios(drafts: Drafts) -> Tensor:
    """``target(z)/draft(z)`` [B, K, L + 1] of every prefix of every draft; zero where either is."""
    return torch.nn.functional.pad(token_ratios(drafts).cumprod(-1), (1, 0), value=1.0)


def edge_groups(drafts: Drafts, trie: Trie, masses: Masses, bins: int | None) -> Tensor:
    """Group of the token on each edge of the trie."""
    place = (trie.request[trie.parent], trie.draft[trie.parent], trie.level[trie.parent], trie.token)
    target, draft = drafts.target_probs[place], drafts.draft_rows()[place]
    group = trie.token if bins is None else group_of(target, draft, bins)
    return masses.column[trie.parent, group]


def blank_law(drafts: Drafts, *shape: int) -> Tensor:
    """Room for rows of a law, [.., V]."""
    rows = drafts.draft_rows()
    return rows.new_empty((*shape, drafts.vocabulary), dtype=law_type(rows))


def own_law(rows: Tensor) -> Tensor:
    """A copy of draft rows [.., V] as the law of a draft that is alone; half precision sums to one too roughly for that."""
    law = rows.to(law_type(rows), copy=True)
    return law if law.dtype == rows.dtype else law.div_(law.sum(-1, keepdim=True, dtype=torch.float64))


def write_rows(law: Tensor, gain: Tensor, chunks: Iterable[tuple[Tensor, Tensor]]) -> None:
    """Write draft rows, each token times the ``gain`` [n, groups] of its group, to ``law`` [n, V].

    ``chunks`` are groups and draft rows [m, V] of one node after the other.
    """
    done = 0
    for group, draft in chunks:
        end = done + len(draft)
        if len(draft) == 1:
            torch.index_select(gain[done], 0, group[0], out=law[done]).mul_(draft[0])
        else:
            law[done:end] = gain[done:end].gather(1, group) * draft
        done = end


def weighed(drafts: Drafts, place: Tensor, gain: Tensor, bins: int | None) -> Tensor:
    """Rows of the law [n, V] at places [n, 3]: the draft's times the ``gain`` [n, groups] of each group, normalised."""
    law = blank_law(drafts, len(place))
    chunks = ((group_of(target, draft, bins), draft) for target, draft in rows_at(drafts, place))
    write_rows(law, gain.to(law.dtype), chunks)
    law /= law.sum(-1, keepdim=True, dtype=torch.float64)
    return law


def selected(drafts: Drafts, path: Tensor, node: Tensor, gain: Tensor, bins: int | None) -> Selection:
    """Lay the selected ``path`` [B] out as one draft; ``gain`` [N, groups] weighs the nodes' rows, ``node`` is [B, K, L]."""
    levels = torch.arange(drafts.length, device=path.device).repeat(drafts.batch)
    rows = torch.arange(drafts.batch, device=path.device)
    request = rows.repeat_interleave(drafts.length)
    place = torch.stack([request, path[request], levels], dim=1)
    law = weighed(drafts, place, gain[node[rows, path].flatten()], bins)
    return laid_out(drafts, path, law.reshape(drafts.batch, drafts.length, -1))


def along_trie(
    state: State,
    drafts: Drafts,
    trie: Trie,
    gain: Tensor,
    winning: Tensor,
    cells: Tensor,
    bins: int | None,
) -> Along:
    """Lay out a law that is known on a trie: ``winning`` [N + B K] is D(z)/draft(z), ``cells`` [B K, P, S] its ends."""
    law = weighed(drafts, torch.stack([trie.request, trie.draft, trie.level], dim=1), gain, bins)
    ratio = path_ratios(drafts) * state.ratio[:, None, None]
    last = ratio.gather(2, drafts.each_length()[:, None, None].expand(-1, drafts.paths, 1))
    ends = winning[trie.nodes :].reshape(last.shape)
    odds = torch.cat([ratio[..., :-1] / winning[trie.node], last / ends], dim=-1)
    return Along(law[trie.node], odds, State(cells, last.flatten()))


def along_paths(rows: Tensor, path: Tensor) -> Tensor:
    """Rows [B, .., V] of ``path`` [B], out of [B, K, .., V]; those of a single request stay where they are."""
    if len(path) == 1:
        return rows[:, int(path)]
    return rows[torch.arange(len(path), device=path.device), path]


def laid_out(drafts: Drafts, path: Tensor, law: Tensor) -> Selection:
    """Put the selected ``path`` [B] and the rows of its law [B, L, V] in the place of the drafts."""
    tokens, target = along_paths(drafts.tokens, path), along_paths(drafts.target_probs, path)
    law = law.to(law_type(drafts.draft_rows()))
    return Selection(Drafts(tokens[:, None], law[:, None], target[:, None], drafts.lengths), path)
