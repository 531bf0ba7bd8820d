"""Bytes that an outcome cannot do without: whole rows only, each read once; what a rule reads beyond them is its own choice."""

from torch import Tensor

from specproof.fast.batch import Drafts, Outcome


def chain_bytes(drafts: Drafts, outcome: Outcome) -> float:
    """One draft: the target's row behind what was accepted, and the draft's row there unless the whole path was."""
    return _row(drafts) * float(_final_rows(drafts, outcome.accepted).sum())


def walk_bytes(drafts: Drafts, outcome: Outcome) -> float:
    """Token by token with several drafts: both rows at every node that was entered, or the bonus row at the end."""
    return _row(drafts) * float((2 * outcome.accepted + _final_rows(drafts, outcome.accepted)).sum())


def trie_bytes(drafts: Drafts) -> float:
    """A selector that weighs all drafts: both rows at every distinct prefix that some draft goes on from."""
    tokens = drafts.tokens
    same = (tokens[:, :, None] == tokens[:, None]).long().cumprod(-1)  # [B, K, K, L] on the first i + 1 tokens
    first = same.argmax(2) == _numbers(drafts)[None, :, None]
    return _row(drafts) * 2 * float(drafts.batch + first[..., :-1].sum())


def root_bytes(drafts: Drafts) -> float:
    """A selector that works down one path: both rows at the root, further ones only where drafts may share the path."""
    return _row(drafts) * 2 * float(drafts.batch)


def _numbers(drafts: Drafts) -> Tensor:
    return drafts.tokens.new_ones(drafts.paths).cumsum(0) - 1


def _final_rows(drafts: Drafts, accepted: Tensor) -> Tensor:
    return 1 + (accepted < drafts.each_length()).long()


def _row(drafts: Drafts) -> int:
    return drafts.vocabulary * drafts.target_probs.element_size()
