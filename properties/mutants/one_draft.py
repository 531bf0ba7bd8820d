"""Faults of verifying one draft: wrong parts of the standard rule, of its use of chance and of its drafting.

These are also the laws that counting looks out for (``evidence.portfolio``).
"""

from dataclasses import replace
from fractions import Fraction

from specproof.properties.cases import Case, by_hand
from specproof.properties.mutants.chain import Chain, match_or_coin, ratio, softmax_residual, without
from specproof.properties.mutants.mutant import Mutant
from specproof.properties.program import DefaultId, OneCoin, ReusedCoin
from specproof.reference.chance import Chance
from specproof.reference.model import Model, Prefix
from specproof.reference.verifiers import rule


def one_token(target: str, draft: str) -> Case:
    """The catalogue's usual instance: one draft of one token, one row for each model."""
    return by_hand(f"{target} against {draft}", {"": target}, {"": draft}, 1, "instance of the catalogue")


def most_likely_draft(chance: Chance, draft: Model, drafts: int, length: int) -> tuple[Prefix, ...]:  # noqa: ARG001
    """Fault: draft the most likely token everywhere, with no randomness."""
    path: Prefix = ()
    for _ in range(length):
        row = draft.probabilities(path)
        path = (*path, max(range(len(row)), key=row.__getitem__))
    return (path,) * drafts


def sharpened_drafts(chance: Chance, draft: Model, drafts: int, length: int) -> tuple[Prefix, ...]:
    """Fault: draft at half the declared temperature, from the squared probabilities."""
    paths = []
    for _ in range(drafts):
        path: Prefix = ()
        for _ in range(length):
            path = (*path, chance.choose([share * share for share in draft.probabilities(path)]))
        paths.append(path)
    return tuple(paths)


REVERSED = one_token("1/2 3/10 1/5", "1/5 3/10 1/2")

MUTANTS: dict[str, Mutant] = {
    "resample_from_target": Mutant(
        "correction drawn from the target", "first token", Chain(correct=lambda target, *_: target),
        fault_id=("B04", "B05"), instance=REVERSED, distance="0.1500",
    ),
    "always_accept": Mutant(
        "every draft accepted", "support", Chain(accept=lambda *_: Fraction(1)), property="support",
        fault_id=("C01",), instance=REVERSED, distance="0.3000",
    ),
    "accept_iff_larger": Mutant(
        "accepted exactly when target >= draft", "first token", Chain(accept=lambda t, d, x: Fraction(int(t[x] >= d[x]))),
        fault_id=("C13",), instance=REVERSED, distance="0.2000",
    ),
    "subtract_drafted_only": Mutant(
        "residual subtracts only at the drafted token", "first token", Chain(correct=lambda t, d, x: without(t, x, d[x])),
        fault_id=("B01",), instance=REVERSED, distance="0.1125",
    ),
    "zero_drafted_only": Mutant(
        "residual removes only the drafted token", "first token", Chain(correct=lambda t, _, x: without(t, x, t[x])),
        instance=REVERSED, distance="0.1125",
    ),
    "softmax_residual": Mutant(
        "residual sent through a softmax", "support", Chain(correct=softmax_residual), property="support",
        fault_id=("B03",), instance=REVERSED, distance="0.1791",
    ),
    "absolute_residual": Mutant(
        "residual of absolute differences", "support",
        Chain(correct=lambda t, d, _: [abs(a - b) for a, b in zip(t, d, strict=True)]), property="support",
    ),
    "match_or_coin": Mutant(
        "coin flipped after a failed match", "first token", Chain(accept=match_or_coin), instance=REVERSED, distance="0.0600"
    ),
    "next_row_correction": Mutant(
        "correction read from the next row", "support", Chain(shift=1), property="support", fault_id=("F01",),
        instance=replace(
            by_hand("F01", {"": "1/2 1/2", "0": "9/10 1/10"}, {"": "9/10 1/10"}, 2, "the row behind the rejected draft"),
            tokens=1,
        ),
        distance="0.3600",
    ),
    "stale_bonus": Mutant(
        "bonus read from the last verified row", "support", Chain(bonus_row=-1), property="support",
        fault_id=("M06",),
        instance=by_hand("M06", {"": "1/2 1/2", "0": "1/10 9/10", "1": "1/10 9/10"}, {"": "1/2 1/2"}, 1, "bonus"),
        distance="0.4000",
    ),
    "squared_ratio": Mutant(
        "ratio squared", "first token", Chain(accept=lambda t, d, x: ratio(t, d, x) ** 2),
        fault_id=("M05",), instance=one_token("9/10 1/10", "1/2 1/2"), distance="0.0800",
    ),
    "lenient": Mutant(
        "acceptance five percent too lenient",
        "first token",
        Chain(accept=lambda t, d, x: min(Fraction(1), Fraction(21, 20) * ratio(t, d, x))),
    ),
    "reuse_accept_coin": Mutant("accept coin reused for the residual", "first token", Chain(), chance=ReusedCoin),
    "one_coin": Mutant("one coin for all positions", "block", Chain(), chance=OneCoin),
    "id_outside_vocabulary": Mutant(
        "a scan that falls short answers with an id that does not exist", "contract", Chain(), chance=DefaultId,
        property="contract",
    ),
    "option_ignored": Mutant(
        "declared block verification, runs the standard rule", "declared acceptance", Chain(), declares="block",
        property="acceptance", fault_id=("BV05",),
        instance=by_hand("BV05", {"": "1/3 2/3"}, {"": "2/3 1/3"}, 2, "the option shows in the acceptance only"),
        distance="0.0000",
    ),
    "most_likely_draft": Mutant(
        "draft is the argmax, verified as a sample", "first token", Chain(), drafter=most_likely_draft, exact=True,
        instance=one_token("1/2 3/10 1/5", "7/10 1/5 1/10"), distance="0.2143",
    ),
    "sharpened_draft": Mutant(
        "draft drawn at half the declared temperature", "first token", Chain(), drafter=sharpened_drafts, exact=True
    ),
    "greedy_block_without_carry": Mutant(
        "greedy block verification forgets its modified target",
        "block",
        rule("greedy_block", carry=False).verify,
        exact=True,
    ),
}  # fmt: skip
