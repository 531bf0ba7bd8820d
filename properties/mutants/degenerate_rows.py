"""Faults that show on rows without a law, and on what is done to rows in place."""

from dataclasses import replace
from fractions import Fraction

import torch

from specproof.fast.batch import Drafts, Outcome
from specproof.properties.mutants.chain import Chain
from specproof.properties.mutants.faulty import Faulty, fault, with_drafts, with_targets
from specproof.properties.mutants.mutant import Mutant

DEGENERATE = "degenerate rows"


def zeroed_in_place(drafts: Drafts) -> Drafts:
    """The recovery step takes the drafted tokens off the target's rows and never puts them back."""
    drafts.target_probs[:, :, :-1].scatter_(-1, drafts.tokens.clamp(min=0)[..., None], 0.0)
    return drafts


def patched(drafts: Drafts) -> Drafts:
    """Rows that are NaN are verified as if they were uniform."""
    even = 1.0 / drafts.vocabulary
    rows = drafts.draft_rows().nan_to_num(even, posinf=even)
    return with_drafts(with_targets(drafts, drafts.target_probs.nan_to_num(even, posinf=even)), rows)


def drafted_id_comes_out(drafts: Drafts, outcome: Outcome) -> Outcome:
    """Where the draft row is NaN the maximum is taken over zeros: the rejected id 0 comes out as the correction."""
    spoiled = drafts.draft_rows().isnan().any(-1).any(-1).any(-1)  # [B]
    tokens = torch.where(spoiled[:, None], -1, outcome.tokens)
    tokens[spoiled, 0] = 0
    return replace(outcome, tokens=tokens, accepted=torch.where(spoiled, 0, outcome.accepted))


def padding_lane_wins(drafts: Drafts, outcome: Outcome) -> Outcome:
    """Where the target row is NaN the first lane behind the vocabulary is chosen."""
    spoiled = drafts.target_probs.isnan().any(-1).any(-1).any(-1)
    tokens = torch.where(spoiled[:, None], -1, outcome.tokens)
    tokens[spoiled, 0] = drafts.vocabulary
    return replace(outcome, tokens=tokens, accepted=torch.where(spoiled, 0, outcome.accepted))


class ShortScan:
    """A scan that ends before one: a uniform behind its end finds no token and returns a large default."""

    END = 1 - 2.0**-24

    def __call__(self, drafts: Drafts, source: object) -> torch.Tensor:
        """Draw the uniforms, and keep them for the answer."""
        generator = source if isinstance(source, torch.Generator) else None
        self.last = torch.rand(drafts.batch, drafts.length + 1, dtype=torch.float64, generator=generator)
        return self.last

    def answer(self, _drafts: Drafts, outcome: Outcome) -> Outcome:
        """Put the default where the scan fell short."""
        short = self.last[:, -1] > self.END
        tokens = outcome.tokens.clone()
        tokens[short, outcome.accepted[short]] = 1_000_000
        return replace(outcome, tokens=tokens)


def _short_scan() -> object:
    scan = ShortScan()
    return Faulty(draws=scan, answers=scan.answer, capabilities=frozenset({"batch", "one_hot_draft"}))


MUTANTS: dict[str, Mutant] = {
    "zeroed_in_place": fault(
        "the recovery step changes the target's rows", "contract", "contract", ("B06",), "probed", reads=zeroed_in_place
    ),
    "drafted_id_comes_out": fault(
        "a NaN draft row lets the rejected id 0 out", DEGENERATE, "degenerate", ("B07",), "driven",
        reads=patched, answers=drafted_id_comes_out,
    ),
    "padding_lane_wins": fault(
        "a NaN target row gives an id behind the vocabulary", DEGENERATE, "degenerate", ("B08",), "driven",
        reads=patched, answers=padding_lane_wins,
    ),
    "short_scan": Mutant(
        "a scan that falls short by one bit returns a default id", DEGENERATE, make=_short_scan, property="degenerate",
        fault_id=("B09",), evidence="driven",
    ),
    "forced_rejection": Mutant(
        "drafts refused by decree are corrected from the residual", "first token", Chain(accept=lambda *_: Fraction(0)),
         fault_id=("B11",),
    ),
}  # fmt: skip
