"""Faults of whole loops: drafts that do not have the declared law, target rows that plain decoding would not use, stops."""

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import product

import torch
from torch import Tensor

from specproof.fast.decoder import Model
from specproof.fast.sampling import Grammar, LogitBias, Penalties, Sampling, filtered
from specproof.properties.cases import Case, by_hand
from specproof.properties.decoder_cases import DecoderCase
from specproof.properties.mutants.loop import At, Coins, Loop, drawn, processed
from specproof.properties.mutants.mutant import Mutant
from specproof.reference.model import Prefix

BELOW_EIGHT = 8.7  # puts logits of about -0.7 next to 8, where bfloat16 has steps of 1/16
LOG_TWO = math.log(2)


def one_token(target: str, draft: str, sampling: Sampling | None = None) -> DecoderCase:
    """One token drafted and one written."""
    case = by_hand(f"{target} against {draft}", {"": target}, {"": draft}, 1, "instance of the catalogue")
    return DecoderCase(replace(case, tokens=1), sampling or Sampling())


def written(case: Case, tokens: int, sampling: Sampling | None = None, prefix: Prefix = (0,)) -> DecoderCase:
    """The first tokens of a text on rows by hand."""
    return DecoderCase(replace(case, tokens=tokens), sampling or Sampling(), prefix)


# How drafts are drawn, and what law they are given out to have.


def most_likely(row: Tensor, generator: torch.Generator) -> int:  # noqa: ARG001
    """No draw at all."""
    return int(row.argmax())


def from_rounded_logits(row: Tensor, generator: torch.Generator) -> int:
    """Draw from logits in bfloat16."""
    return drawn((row.log() + BELOW_EIGHT).bfloat16().float().softmax(-1), generator)


def at_half_temperature(sampling: Sampling, at: At, logits: Tensor) -> Tensor:  # noqa: ARG001
    """The draft's row at half the temperature asked for."""
    return (2 * logits / (sampling.temperature or 1)).softmax(-1)


def at_double_temperature(sampling: Sampling, at: At, logits: Tensor) -> Tensor:
    """The draft's row at twice the temperature asked for."""
    return replace(sampling, temperature=2 * sampling.temperature).row(at.whole, logits)


def plain_softmax(row: Tensor, logits: Tensor) -> Tensor:  # noqa: ARG001
    """Declare the softmax of raw logits."""
    return logits.softmax(-1)


def race_in_place(row: Tensor, generator: torch.Generator) -> int:
    """Divide the row itself by exponential noise; the largest entry wins."""
    return int(row.div_(torch.empty_like(row).exponential_(generator=generator)).argmax())


def all_but_the_last(row: Tensor, generator: torch.Generator) -> int:
    """Draw evenly from all tokens but the last."""
    return drawn(torch.ones(len(row) - 1), generator)


def all_but_the_first(row: Tensor, logits: Tensor) -> Tensor:  # noqa: ARG001
    """Declare an even law on all tokens but the first."""
    even = torch.full_like(row, 1 / (len(row) - 1))
    even[0] = 0.0
    return even


def nucleus(sampling: Sampling, at: At, logits: Tensor) -> Tensor:  # noqa: ARG001
    """The draft's row with top-p 0.8."""
    return Sampling(top_p=0.8).row(at.whole, logits)


def divided_by_cumulative_sums(row: Tensor, logits: Tensor) -> Tensor:
    """Declare what top-p keeps, divided by the sum of its cumulative probabilities."""
    kept = torch.where(row > 0, logits.softmax(-1), 0.0)
    return kept / kept[row > 0].sort(descending=True).values.cumsum(0).sum()


class BeamLoop(Loop):
    """The most likely path is drafted, and declared to have been drawn token by token."""

    def _drafts(
        self,
        draft: Model,
        text: Prefix,
        start: int,
        generator: torch.Generator,  # noqa: ARG002
        sampling: Sampling,
    ) -> tuple[Prefix, list[Tensor]]:
        best: tuple[float, Prefix, list[Tensor]] = (-1.0, (), [])
        for path in product(range(draft.vocabulary), repeat=self.length):
            ats = [At(text, path, i, start) for i in range(self.length)]
            rows = [self._drafted(draft, at, sampling)[0] for at in ats]
            mass = math.prod(float(row[token]) for row, token in zip(rows, path, strict=True))
            best = max(best, (mass, path, rows), key=lambda found: found[0])
        return best[1], best[2]


# Rows of the target.


def scored_with(change: Callable[[Sampling, At], Sampling]) -> Callable[[Sampling, At, Tensor], Tensor]:
    """Target rows made with other parameters than those of the request."""
    return lambda sampling, at, logits: change(sampling, at).row(at.whole, logits)


def lacks(kind: type) -> Callable[[Sampling, At], Sampling]:
    """The request's parameters without processors of a kind."""
    return lambda sampling, _: replace(
        sampling, processors=tuple(process for process in sampling.processors if not isinstance(process, kind))
    )


def without_mask_on_the_bonus(sampling: Sampling, at: At) -> Sampling:
    """No grammar behind the last draft."""
    return lacks(Grammar)(sampling, at) if at.position == len(at.drafts) else sampling


def greedy_at_first(sampling: Sampling, at: At) -> Sampling:
    """The first token of a text is its most likely one."""
    first = len(at.text) == at.prefix and at.position == 0
    return replace(sampling, temperature=0.0) if first else sampling


def counting_rejected(sampling: Sampling, at: At, logits: Tensor) -> Tensor:
    """Rejected drafts stay in the history that processors see."""
    return sampling.row(torch.tensor((*at.rejected, *at.whole.tolist())), logits)


def leaking(sampling: Sampling, at: At, logits: Tensor) -> Tensor:
    """The row of a position has seen the draft there, and gives it nine tenths."""
    row = processed(sampling, at, logits)
    if at.position == len(at.drafts):
        return row
    seen = torch.full_like(row, 0.1 / (len(row) - 1))
    seen[at.drafts[at.position]] = 0.9
    return seen


class JointFilters(Loop):
    """Plain decoding applies top-p to the whole row and top-k beside it, the verifier one after the other."""

    def row(self, sampling: Sampling, text: Tensor, logits: Tensor) -> Tensor:
        """The plain path."""
        row = replace(sampling, top_k=None, top_p=None).row(text, logits)
        ranked = row.sort(descending=True, stable=True).values
        kept = torch.arange(len(row)) < (sampling.top_k or len(row))
        if sampling.top_p is not None:
            kept &= ranked.cumsum(0) - ranked < sampling.top_p - 1e-6
        return filtered(row, kept)


# Which drafts are verified, when the text ends, and with what noise.


def while_likely(drafts: Prefix, rows: list[Tensor]) -> int:  # noqa: ARG001
    """Verify drafts up to the first that is not token 0."""
    return next((i for i, token in enumerate(drafts) if token != 0), len(drafts))


def stop_in(drafts: Prefix, sampling: Sampling) -> bool:
    """Whether a stop was drafted."""
    return sampling.stop in drafts


class SameNoise(Coins):
    """One uniform is drawn and serves every draw of the text."""

    def __init__(self, generator: torch.Generator | None) -> None:
        super().__init__(generator)
        self._kept = self.uniform()

    def choose(self, weights: object) -> int:
        """Draw by inverse distribution function with the kept uniform."""
        ends = torch.tensor([float(weight) for weight in weights], dtype=torch.float64).cumsum(0)  # type: ignore[attr-defined]
        return int((ends <= self._kept * ends[-1]).sum())


P, Q = "1/2 3/10 1/5", "1/5 3/10 1/2"


def _drafting(fault: str, loop: Callable[[], Loop], *ids: str, instance: DecoderCase, distance: str) -> Mutant:
    return Mutant(fault, "drafts", make=loop, property="drafting", fault_id=ids, instance=instance, distance=distance)


def _rows(
    fault: str, loop: Callable[[], Loop], *ids: str, instance: DecoderCase, distance: str, violates: str = "target rows"
) -> Mutant:
    return Mutant(
        fault,
        violates,
        make=loop,
        property="rows",
        evidence="driven",
        fault_id=ids,
        instance=instance,
        distance=distance,
    )


MUTANTS: dict[str, Mutant] = {
    "greedy_drafts": _drafting(
        "drafts are the most likely tokens, declared as samples", lambda: Loop(pick=most_likely), "A01", "A02", "A03",
        instance=one_token(P, "7/10 1/5 1/10"), distance="0.2143",
    ),
    "beam_drafts": _drafting(
        "drafts come from a beam search, declared as samples", BeamLoop, "A04",
        instance=written(by_hand(
            "beam", {"": "1/2 1/2"}, {"": "3/5 2/5", "0": "11/20 9/20", "1": "19/20 1/20"}, 2, "joint order"
        ), 1), distance="0.5000",
    ),
    "drafts_from_rounded_logits": _drafting(
        "drafts are drawn from bfloat16 logits, declared in single precision", lambda: Loop(pick=from_rounded_logits),
        "A06", instance=one_token("3/10 7/10", "203/400 197/400"), distance="0.0044",
    ),
    "raw_draft_rows": _drafting(
        "drafts are drawn at a temperature and declared as the softmax of raw logits",
        lambda: Loop(draft_row=at_half_temperature, declare=plain_softmax), "A07",
        instance=one_token("2/5 7/20 1/4", P), distance="0.1263",
    ),
    "noise_in_draft_rows": Mutant(
        "the noise of the draw stays in the declared row", "drafts", make=lambda: Loop(pick=race_in_place),
        property="drafting", fault_id=("A08",), evidence="sampled", instance=one_token(P, Q), distance="0.089",
    ),
    "drafts_outside_support": _drafting(
        "drafts and their declared law have different supports",
        lambda: Loop(pick=all_but_the_last, declare=all_but_the_first), "A10",
        instance=one_token("1/5 2/5 2/5", "1/3 1/3 1/3"), distance="0.4000",
    ),
    "draft_rows_without_sum": _drafting(
        "declared rows of a nucleus are divided by the wrong mass",
        lambda: Loop(draft_row=nucleus, declare=divided_by_cumulative_sums), "A11",
        instance=one_token("1/2 1/2 0", P), distance="0.1250",
    ),
    "drafted_stop_ends_text": Mutant(
        "a drafted stop ends the text unverified", "verified length", make=lambda: Loop(stops=stop_in), property="stopping",
        fault_id=("C03",), instance=one_token("1/10 1/2 2/5", "2/5 7/20 1/4", Sampling(stop=0)), distance="0.3000",
    ),
    "greedy_first_token": _rows(
        "the first token of a text is not drawn", lambda: Loop(target_row=scored_with(greedy_at_first)), "C09",
        instance=one_token(P, Q), distance="0.5000",
    ),
    "target_with_defaults": _rows(
        "drafts follow the request, the target is scored with default parameters",
        lambda: Loop(target_row=scored_with(lambda *_: Sampling())), "D01",
        instance=one_token("1/2 3/10 3/20 1/20", "1/4 1/4 1/4 1/4", Sampling(top_p=0.8)), distance="0.2000",
    ),
    "top_p_forgotten": _rows(
        "top-p is not applied to verified rows", lambda: Loop(target_row=scored_with(lambda s, _: replace(s, top_p=None))),
        "D02",
        instance=one_token("9/20 27/100 9/50 1/10", "1/4 1/4 1/4 1/4", Sampling(top_p=0.8)), distance="0.1000",
    ),
    "temperature_forgotten": _rows(
        "the temperature is not applied to verified rows",
        lambda: Loop(target_row=scored_with(lambda s, _: replace(s, temperature=1.0))), "D03", "D04",
        instance=one_token(P, Q, Sampling(temperature=0.5)), distance="0.1579",
    ),
    "bias_forgotten": _rows(
        "logit biases are dropped", lambda: Loop(target_row=scored_with(lacks(LogitBias))), "D06",
        instance=one_token(P, Q, Sampling(processors=(LogitBias({2: 2 * LOG_TWO}),))), distance="0.3000",
    ),
    "penalties_forgotten": _rows(
        "penalties are dropped", lambda: Loop(target_row=scored_with(lacks(Penalties))), "D07",
        instance=one_token(P, Q, Sampling(processors=(Penalties(presence=LOG_TWO),))), distance="0.1667",
    ),
    "rejected_drafts_penalised": _rows(
        "rejected drafts count for penalties", lambda: Loop(length=1, target_row=counting_rejected), "D08",
        instance=written(by_hand(
            "D08", {"": "0 1 0", "1": "1/2 1/2 0"}, {"": "1 0 0", "1": "1/2 1/2 0"}, 1, "a certain rejection"
        ), 2, Sampling(processors=(Penalties(frequency=LOG_TWO),)), (2,)), distance="0.1667",
    ),
    "filters_chained_in_verifier": _rows(
        "filters are chained in the verifier and joint in plain decoding", JointFilters, "D10",
        instance=one_token("2/5 1/4 3/20 1/10 1/10", "1/5 1/5 1/5 1/5 1/5", Sampling(top_k=3, top_p=0.8)),
        distance="0.1875",
    ),
    "bonus_without_grammar": _rows(
        "the grammar's mask is missing on the bonus row",
        lambda: Loop(length=1, target_row=scored_with(without_mask_on_the_bonus)), "D11",
        instance=written(by_hand(
            "D11", {"": "1 0 0", "0": "2/5 1/5 2/5"}, {"": "1 0 0"}, 1, "a certain bonus"
        ), 2, Sampling(processors=(Grammar({0: (0, 1)}),))), distance="0.4000",
    ),
    "rows_see_later_drafts": _rows(
        "verified rows depend on the draft that they judge", lambda: Loop(target_row=leaking), "D14",
        instance=one_token("4/5 1/5", "1/2 1/2"), distance="0.3000",
    ),
    "unlikely_draft_dropped": _drafting(
        "a draft is dropped for its own low probability", lambda: Loop(drops=lambda token, row: bool(row[token] < 0.25)),
        "H02", instance=one_token("1/2 1/2", "4/5 1/5"), distance="0.1000",
    ),
    "verified_length_from_draft": Mutant(
        "whether a draft is verified depends on it", "verified length", make=lambda: Loop(verified=while_likely),
        property="adaptive", fault_id=("H03",), instance=one_token("1/2 1/2", "4/5 1/5"), distance="0.1000",
    ),
    "same_noise_every_step": Mutant(
        "the noise of a step is used again in the next", "iterations", make=lambda: Loop(length=0, chance=SameNoise),
        fault_id=("M07",), instance=written(by_hand("M07", {"": P}, {"": P}, 1, "two steps"), 2), distance="0.6200",
    ),
}  # fmt: skip
