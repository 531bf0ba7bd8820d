"""What a selector returns: one path a request with the law it was selected by (MATH 4.2, lemma).

``draft_probs`` of the selected path hold ``D(zc)/D(z)``, with D(z) the probability that the selected path starts with z:
any one-draft verifier takes them in place of the draft's rows and keeps the target's law. A selector works on groups of
tokens, so such a row is the draft's own, each token times the ``gain`` of its group.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from specproof.fast.batch import Drafts
from specproof.fast.selectors.groups import Masses, group_of, rows_at
from specproof.fast.selectors.trie import Trie


@dataclass(frozen=True)
class Selection:
    """One draft for each request, ready for a one-draft verifier, and which one it was."""

    drafts: Drafts  # K = 1
    path: Tensor  # [B]


def path_ratios(drafts: Drafts) -> Tensor:
    """``target(z)/draft(z)`` [B, K, L] of the prefixes of every draft before each of its tokens."""
    tokens = drafts.tokens[..., None]
    target = drafts.target_probs[:, :, :-1].gather(-1, tokens).squeeze(-1).double()
    draft = drafts.draft_rows().gather(-1, tokens).squeeze(-1).double()
    ratio = torch.where(draft > 0, target / draft, 0).cumprod(-1)
    return torch.cat([torch.ones_like(ratio[..., :1]), ratio[..., :-1]], dim=-1)


def edge_groups(drafts: Drafts, trie: Trie, masses: Masses, bins: int | None) -> Tensor:
    """Group of the token on each edge of the trie."""
    place = (trie.request[trie.parent], trie.draft[trie.parent], trie.level[trie.parent], trie.token)
    target, draft = drafts.target_probs[place], drafts.draft_rows()[place]
    group = trie.token if bins is None else group_of(target, draft, bins)
    return masses.column[group]


def selected(drafts: Drafts, path: Tensor, gain: Tensor, masses: Masses, bins: int | None) -> Selection:
    """Lay the selected ``path`` [B] out as one draft.

    ``gain`` [B, L, G] weighs the draft's rows by group, up to a factor a row.
    """
    levels = torch.arange(drafts.length, device=path.device).repeat(drafts.batch)
    rows = torch.arange(drafts.batch, device=path.device).repeat_interleave(drafts.length)
    gain = gain.flatten(0, 1)[:, masses.column].to(law_type(drafts.draft_rows()))  # [B L, groups]
    law = gain.new_empty((len(rows), drafts.vocabulary))
    done = 0
    for target, draft in rows_at(drafts, torch.stack([rows, path[rows], levels], dim=1)):
        end = done + len(draft)
        group = group_of(target, draft, bins)
        if len(draft) == 1:
            law[done] = gain[done].index_select(0, group[0]).mul_(draft[0])
        else:
            law[done:end] = gain[done:end].gather(1, group) * draft
        done = end
    law /= law.sum(-1, keepdim=True, dtype=torch.float64)
    return laid_out(drafts, path, law.reshape(drafts.batch, drafts.length, -1))


def law_type(draft: Tensor) -> torch.dtype:
    """What rows of a law are kept in: half precision would lose it."""
    return torch.promote_types(draft.dtype, torch.float32)


def laid_out(drafts: Drafts, path: Tensor, law: Tensor) -> Selection:
    """Put the selected ``path`` [B] and the rows of its law [B, L, V] in the place of the drafts."""
    rows = torch.arange(drafts.batch, device=path.device)
    law = law.to(law_type(drafts.draft_rows()))
    one = Drafts(
        drafts.tokens[rows, path][:, None], law[:, None], drafts.target_probs[rows, path][:, None], drafts.lengths
    )
    return Selection(one, path)
