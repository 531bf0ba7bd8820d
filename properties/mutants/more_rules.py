"""Faults of rules: verification that is not sampled at all, block verification, and rules that are lossy on purpose."""

from dataclasses import replace
from fractions import Fraction

import torch
from torch import Tensor

from specproof.fast.batch import Drafts, Outcome, Randomness
from specproof.fast.randomness import uniforms
from specproof.fast.verifiers import standard
from specproof.properties.cases import by_hand
from specproof.properties.mutants.chain import Chain, Row, certain, most_likely
from specproof.properties.mutants.mutant import Mutant
from specproof.properties.mutants.one_draft import REVERSED, one_token
from specproof.properties.program import ProgramVerifier
from specproof.reference.chance import Chance
from specproof.reference.model import Model, Prefix
from specproof.reference.rows import residual, scaled
from specproof.reference.step import Step, Verify
from specproof.reference.verifiers import rule


def stop_at_first_failure(chance: Chance, target: Model, draft: Model, drafts: tuple[Prefix, ...]) -> Step:
    """Block verification whose coins are flipped from the shortest prefix up, until one fails."""
    (path,) = drafts
    passing = Fraction(1)
    for i, token in enumerate(path):
        rows = target.probabilities(path[:i]), draft.probabilities(path[:i])
        left = residual(scaled(passing, rows[0]), rows[1])
        passing = min(Fraction(1), passing * rows[0][token] / rows[1][token])
        if i + 1 < len(path):
            ahead = target.probabilities(path[: i + 1]), draft.probabilities(path[: i + 1])
            mass = sum(residual(scaled(passing, ahead[0]), ahead[1]), start=Fraction(0))
            threshold = mass / (mass + 1 - passing) if mass + 1 > passing else Fraction(1)
        else:
            threshold = passing
        if not chance.flip(threshold):
            return Step(path[:i], chance.choose(left if any(left) else rows[0]), target)
    return Step(path, chance.choose(target.probabilities(path)), target)


class ProductRule:
    """Block verification by products alone: the last position where the product of ratios is no less than that of the coins.

    ``one_hot_only`` keeps to the standard rule wherever the draft has probabilities.
    """

    capabilities = frozenset({"batch"})

    def __init__(self, *, one_hot_only: bool = False) -> None:
        self._one_hot_only = one_hot_only

    def verify(self, drafts: Drafts, generator: Randomness, carry: object = None) -> Outcome:  # noqa: ARG002
        """Verify one draft for each request."""
        assert generator is None or isinstance(generator, torch.Generator)
        tokens, draft, target = drafts.tokens[:, 0], drafts.draft_rows()[:, 0], drafts.target_probs[:, 0]
        ratios = _of(target[:, :-1], tokens) / _of(draft, tokens)
        coins = torch.rand(tokens.shape, generator=generator)  # [B, L]
        positions = torch.arange(1, tokens.shape[1] + 1)
        products = ratios.cumprod(1) >= coins.cumprod(1)
        accepted = (products * positions).amax(1)
        if self._one_hot_only:
            singly = (ratios >= coins).long().cumprod(1).sum(1)
            accepted = torch.where((draft.amax(-1) == 1).all(1), accepted, singly)
        rows = torch.arange(len(tokens))
        padded = torch.cat([draft, torch.zeros_like(draft[:, :1])], dim=1)
        left = (target[rows, accepted] - padded[rows, accepted]).clamp(min=0)
        final = torch.multinomial(
            torch.where(left.sum(1, keepdim=True) > 0, left, target[rows, accepted]), 1, generator=generator
        )
        return Outcome.of(drafts, torch.zeros_like(accepted), accepted, final[:, 0])


def _of(rows: Tensor, tokens: Tensor) -> Tensor:
    return rows.gather(-1, tokens[..., None]).squeeze(-1)


class CoarseCoins:
    """The standard rule on numbers that keep their first seven bits."""

    rule = "standard"
    capabilities = standard.capabilities
    drafting = standard.drafting

    def verify(self, drafts: Drafts, generator: Randomness, carry: object = None) -> Outcome:  # noqa: ARG002
        """Verify one draft for each request."""
        numbers = uniforms(generator, drafts.batch, drafts.length + 1, drafts.device)
        return standard.verify(drafts, (numbers * 128).floor() / 128)


def in_nucleus(target: Row, draft: Row, token: int) -> Fraction:  # noqa: ARG001
    """Accept a draft that is among the most likely tokens that make up 0.8."""
    before = sum(share for c, share in enumerate(target) if (share, -c) > (target[token], -token))
    return Fraction(int(before < Fraction(4, 5) and target[token] > 0))


def near_the_top(target: Row, draft: Row, token: int) -> Fraction:  # noqa: ARG001
    """Accept a draft that has at least half of the largest target probability."""
    return Fraction(int(2 * target[token] >= max(target)))


def greedy_correction(target: Row, draft: Row, token: int) -> Row:  # noqa: ARG001
    """The most likely token instead of a draw."""
    return certain(target, most_likely(target))


class Declared(ProgramVerifier):
    """A lossy rule that says so."""

    capabilities = frozenset({"drafts", "lossy_by_design"})

    def __init__(self, program: Verify, largest_deviation: float | None = None, declares: str | None = None) -> None:
        super().__init__(program, declares=declares)
        self.largest_deviation = largest_deviation


NUCLEUS = Chain(accept=in_nucleus, correct=greedy_correction)

MUTANTS: dict[str, Mutant] = {
    "argmax_verification": Mutant(
        "drafts and corrections by the target's argmax, only the bonus is drawn", "first token",
        Chain(lambda t, _, x: Fraction(int(most_likely(t) == x)), greedy_correction),
        fault_id=("C05", "C06", "C07", "C08"), instance=REVERSED, distance="0.5000",
    ),
    "first_draft_unseen": Mutant(
        "the first draft is kept without a check", "support", Chain(unseen=1), property="support", fault_id=("C02",),
        instance=one_token("1/2 3/10 1/5", "0 1 0"), distance="0.7000",
    ),
    "product_rule": Mutant(
        "block verification by products of ratios and of coins, with the ordinary residual", "block", make=ProductRule,
        fault_id=("BV01",), evidence="sampled",
        instance=by_hand("BV01", {"": "1/2 3/10 1/5"}, {"": "1/5 3/10 1/2"}, 2, "block rule"), distance="0.236",
    ),
    "product_rule_without_draft_rows": Mutant(
        "the product rule for drafts that have no probabilities", "block", make=lambda: ProductRule(one_hot_only=True),
        fault_id=("BV02",), evidence="sampled",
    ),
    "coarse_coins": Mutant(
        "numbers keep their first seven bits before they decide", "driven", make=CoarseCoins, property="driven",
        evidence="driven",
    ),
    "block_stops_at_first_failure": Mutant(
        "block verification ends at the first position that fails", "first token", stop_at_first_failure,
        fault_id=("BV04",), exact=True,
        instance=replace(by_hand("BV04", {"": "1/2 3/10 1/5"}, {"": "1/5 3/10 1/2"}, 2, "block rule"), tokens=1),
        distance="0.2000",
    ),
    "typical_undeclared": Mutant(
        "typical acceptance that does not say that it is lossy", "first token", rule("typical").verify, fault_id=("L01",),
        instance=replace(one_token("1/2 3/10 1/5", "1 0 0"), tokens=1), distance="0.5000",
    ),
    "nucleus_acceptance_undeclared": Mutant(
        "drafts in the target's nucleus are kept, undeclared", "first token", NUCLEUS, fault_id=("L03",),
        instance=one_token("5/8 3/8 0", "0 1 0"), distance="0.6250",
    ),
    "cascade_undeclared": Mutant(
        "drafts near the most likely token are kept, undeclared", "first token",
        Chain(accept=near_the_top, correct=greedy_correction), fault_id=("L04",),
        instance=one_token("1/2 3/10 1/5", "0 1 0"), distance="0.7000",
    ),
    "loss_beyond_declared": Mutant(
        "declares a loss of at most 0.05 and loses more", "declared law", make=lambda: Declared(NUCLEUS, 0.05),
        instance=one_token("5/8 3/8 0", "0 1 0"), distance="0.6250",
    ),
    "another_lossy_rule": Mutant(
        "declares typical acceptance and runs another rule", "declared law",
        make=lambda: Declared(NUCLEUS, declares="typical"),
    ),
}  # fmt: skip
