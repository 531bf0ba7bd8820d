"""Faults of batches: rows of neighbours, indices, padding, stale buffers, mixed batches, and counters."""

from dataclasses import replace
from typing import Any

import torch

from specproof.fast.batch import Drafts, Outcome, Randomness
from specproof.properties.mutants.faulty import Faulty, certain, fault, with_drafts, with_targets
from specproof.properties.mutants.mutant import Mutant

INDEPENDENT = "independent requests"


def cartesian_write(drafts: Drafts, outcome: Outcome) -> Outcome:
    """Every request's last token lands in the last column of every request."""
    tokens = outcome.tokens.clone()
    last = tokens.gather(1, outcome.accepted[:, None])  # [B, 1]
    tokens[:, outcome.accepted] = last.expand(-1, drafts.batch)
    return replace(outcome, tokens=tokens)


def neighbours_draft_row(drafts: Drafts) -> Drafts:
    """From three requests on each is verified with the draft row of the next."""
    return with_drafts(drafts, drafts.draft_rows().roll(-1, 0)) if drafts.batch > 2 else drafts


def flat_row(drafts: Drafts, *, of_request: bool, limit: bool = False) -> Drafts:
    """Target rows looked up in the flat buffer at the wrong place."""
    flat = drafts.target_probs[:, 0].flatten(0, 1)  # [B (L+1), V]
    request = torch.arange(drafts.batch)[:, None]
    position = torch.arange(drafts.length + 1)
    at = request + position if of_request else request * (drafts.length + 1) + position
    if limit:  # a buffer with one entry for each request
        at = at.clamp(max=max(drafts.batch - 1, drafts.length))
    return with_targets(drafts, flat[at][:, None])


def shifted_after_first(drafts: Drafts) -> Drafts:
    """All requests but the first read their rows one position late."""
    moved = drafts.target_probs.roll(-1, 2)
    moved[:1] = drafts.target_probs[:1]
    return with_targets(drafts, moved)


class StaleRows:
    """Draft rows are copied into a buffer for each batch size, which the first call with that size finds empty."""

    def __init__(self) -> None:
        self._buffers: dict[tuple[int, ...], Any] = {}

    def __call__(self, drafts: Drafts) -> Drafts:
        """Verify with what the buffer held, and fill it."""
        rows = drafts.draft_rows()
        held = self._buffers.get(tuple(rows.shape), torch.zeros_like(rows))
        self._buffers[tuple(rows.shape)] = rows.clone()
        return with_drafts(drafts, held)


class StaleDrafts:
    """Requests whose drafts are cut short keep the draft ids of the call before."""

    def __init__(self) -> None:
        self._last: dict[tuple[int, ...], Any] = {}

    def __call__(self, drafts: Drafts) -> Drafts:
        """Verify the old ids where the new ones are short."""
        fresh = drafts.tokens.clamp(min=0)
        old = self._last.get(tuple(fresh.shape), torch.zeros_like(fresh))
        self._last[tuple(fresh.shape)] = fresh
        short = (drafts.each_length() < drafts.length)[:, None, None]
        return Drafts(torch.where(short, old, drafts.tokens), drafts.draft_probs, drafts.target_probs, drafts.lengths)


def padding_verified(drafts: Drafts) -> Drafts:
    """Lengths are ignored: what lies behind a request's drafts is verified, rows of nothing and ids -1."""
    tokens = drafts.tokens.clamp(min=0)
    rows, target = drafts.draft_rows().nan_to_num(0.0), drafts.target_probs.nan_to_num(1.0 / drafts.vocabulary)
    return Drafts(tokens, rows, target)


def greedy_when_mixed(drafts: Drafts) -> Drafts:
    """Next to a greedy request all rows are sharpened to their best token."""
    sharp = (drafts.target_probs.amax(-1) == 1).all(-1).all(-1)
    mixed = bool(sharp.any()) and not bool(sharp.all())
    return with_targets(drafts, certain(drafts.target_probs)) if mixed else drafts


def nan_when_mixed(drafts: Drafts) -> Drafts:
    """Greedy rows of a mixed batch are divided by a temperature of zero: they get the uniform law that NaN is patched with."""
    sharp = (drafts.target_probs.amax(-1, keepdim=True) == 1).all(2, keepdim=True)
    if not bool(sharp.any()) or bool(sharp.all()):
        return drafts
    return with_targets(drafts, torch.where(sharp, 1.0 / drafts.vocabulary, drafts.target_probs))


def unseeded_noise(drafts: Drafts, source: Randomness) -> Randomness:
    """The noise of every second request of a batch is never filled in."""
    assert source is None or isinstance(source, torch.Generator)
    noise = torch.rand(drafts.batch, drafts.length + 1, dtype=torch.float64, generator=source)
    return torch.where((torch.arange(drafts.batch) % 2 == 1)[:, None], 0.0, noise)


def counts_after_rejection(drafts: Drafts, outcome: Outcome) -> Outcome:
    """Every draft that would have passed is counted, also those behind the first that did not."""
    later = drafts.target_probs[:, 0, :-1].gather(-1, drafts.tokens[:, 0].clamp(min=0)[..., None]).squeeze(-1) > 0.3
    behind = torch.arange(drafts.length) > outcome.accepted[:, None]
    return replace(outcome, accepted=outcome.accepted + (later & behind).sum(-1))


def counts_beyond_the_end(drafts: Drafts, outcome: Outcome) -> Outcome:
    """A request that keeps all its drafts counts as if it had as many as the longest."""
    whole = outcome.accepted == drafts.each_length()
    return replace(outcome, accepted=torch.where(whole, drafts.length, outcome.accepted))


def drops_the_last(drafts: Drafts, outcome: Outcome) -> Outcome:
    """The last window is left out of the count when everything was kept."""
    whole = (outcome.accepted == drafts.each_length()) & (outcome.accepted > 0)
    return replace(outcome, accepted=outcome.accepted - whole.long())


def one_wrong_row(drafts: Drafts) -> Drafts:
    """The last of every 4,096 requests is verified with the draft row of the first."""
    rows = drafts.draft_rows().clone()
    rows[4095::4096] = rows[:1]
    return with_drafts(drafts, rows)


def one_in_4096() -> Faulty:
    """Right except on one request in 4,096: only the nightly battery has batches of that size."""
    return Faulty(reads=one_wrong_row)


MUTANTS: dict[str, Mutant] = {
    "cartesian_write": fault(
        "every replacement is written into the columns of all requests", INDEPENDENT, "batching", ("F02",), "driven",
        answers=cartesian_write,
    ),
    "neighbours_draft_row": fault(
        "from three requests on each is verified with its neighbour's draft row", INDEPENDENT, "batching", ("F03",),
        "driven", reads=neighbours_draft_row,
    ),
    "row_of_another_request": fault(
        "target rows indexed by request where they lie by token", INDEPENDENT, "batching", ("F05",), "driven",
        reads=lambda drafts: flat_row(drafts, of_request=True),
    ),
    "rows_sized_by_requests": fault(
        "the buffer of rows to read holds one entry a request", INDEPENDENT, "batching", ("F10",), "driven",
        reads=lambda drafts: flat_row(drafts, of_request=False, limit=True),
    ),
    "rows_late_by_one": fault(
        "all requests but the first read rows one position late", INDEPENDENT, "batching", ("F11",), "driven",
        reads=shifted_after_first,
    ),
    "stale_rows_after_warm_up": Mutant(
        "the first call of every batch size verifies with an empty buffer of draft rows", INDEPENDENT,
        make=lambda: Faulty(reads=StaleRows()), property="batching", fault_id=("F07",), evidence="driven",
    ),
    "stale_drafts_at_the_limit": Mutant(
        "requests that are cut short verify the drafts of the call before", INDEPENDENT,
        make=lambda: Faulty(reads=StaleDrafts()), property="batching", fault_id=("F09",), evidence="driven",
    ),
    "padding_verified": fault(
        "padded positions are verified and counted", INDEPENDENT, "batching", ("F08",), "driven", reads=padding_verified
    ),
    "greedy_when_mixed": fault(
        "a greedy request makes its whole batch greedy", INDEPENDENT, "batching", ("D13",), "driven",
        reads=greedy_when_mixed,
    ),
    "nan_when_mixed": fault(
        "greedy rows become NaN in a mixed batch", INDEPENDENT, "batching", ("D12",), "driven", reads=nan_when_mixed
    ),
    "half_the_noise": fault(
        "the noise of every second request of a batch stays empty", INDEPENDENT, "batching", ("E10",), "sampled",
        draws=unseeded_noise, capabilities=frozenset({"batch", "ragged", "one_hot_draft"}),
    ),
    "counts_after_rejection": fault(
        "drafts behind the first refusal are counted", "contract", "contract", ("J03",), "probed",
        answers=counts_after_rejection,
    ),
    "counts_beyond_the_end": fault(
        "drafts behind a request's end are counted", INDEPENDENT, "batching", ("J02", "J04"), "driven",
        answers=counts_beyond_the_end,
    ),
    "drops_the_last": fault(
        "the last window is left out of the count", "contract", "contract", ("J08",), "probed", answers=drops_the_last
    ),
}  # fmt: skip
