"""Faults of verifying several drafts of one request; all are enumerated with two drafts."""

from collections.abc import Callable

from specproof.properties.cases import Case, by_hand
from specproof.properties.mutants.chain import Chain, Row, ratio
from specproof.properties.mutants.mutant import Mutant
from specproof.properties.mutants.one_draft import most_likely_draft
from specproof.reference.chance import Chance
from specproof.reference.model import Model, Prefix, after
from specproof.reference.rows import residual
from specproof.reference.step import Step
from specproof.reference.verifiers.recursive_without_replacement import distinct_drafts

Choose = Callable[[Chance, Model, Model, tuple[Prefix, ...]], Step]


def two_drafts(target: str, draft: str) -> Case:
    """The catalogue's usual instance with two drafts."""
    found = by_hand(f"{target} against {draft}", {"": target}, {"": draft}, 1, "instance of the catalogue")
    return Case(found.name, found.target, found.draft, found.length, found.purpose, drafts=2)


def ranked_drafts(chance: Chance, draft: Model, drafts: int, length: int) -> tuple[Prefix, ...]:
    """Fault: the most likely first tokens in order, then the most likely continuation of each."""
    row = draft.probabilities(())
    ranked = sorted(range(len(row)), key=lambda token: -row[token])[:drafts]
    return tuple((token, *most_likely_draft(chance, after(draft, (token,)), 1, length - 1)[0]) for token in ranked)


def recursive(*, update: bool = True, sort: bool = False) -> Choose:
    """Recursive rejection over exchangeable parts: with ``update`` each draft meets what the one before left over.

    ``sort`` looks at the siblings in the order of their draft probability, largest first.
    """

    def verify(chance: Chance, target: Model, draft: Model, drafts: tuple[Prefix, ...]) -> Step:
        prefix: Prefix = ()
        while len(prefix) < len(drafts[0]):
            owed: Row = list(target.probabilities(prefix))
            row = draft.probabilities(prefix)
            siblings = [path for path in drafts if path[: len(prefix)] == prefix]
            if sort:
                siblings.sort(key=lambda path: -row[path[len(prefix)]])
            for path in siblings:
                token = path[len(prefix)]
                if chance.flip(ratio(owed, row, token)):
                    prefix = (*prefix, token)
                    break
                if update:
                    left = residual(owed, row)
                    owed = [share / sum(left) for share in left] if any(left) else owed
            else:
                last: Row = owed if update else residual(owed, row)
                return Step(prefix, chance.choose(last if any(last) else owed), target)
        return Step(prefix, chance.choose(target.probabilities(prefix)), target)

    return verify


def best_of_two(chance: Chance, target: Model, draft: Model, drafts: tuple[Prefix, ...]) -> Step:
    """Verify every draft on its own and keep the result that accepted most."""
    steps = [Chain()(chance, target, draft, (path,)) for path in drafts]
    return max(steps, key=lambda step: len(step.accepted))


MUTANTS: dict[str, Mutant] = {
    "ranked_siblings_as_samples": Mutant(
        "the most likely siblings are taken and verified as if they had been drawn", "first token", recursive(),
        drafter=ranked_drafts, drafts=2, exact=True, fault_id=("G01", "G02"),
        instance=two_drafts("1/2 3/10 1/5", "3/5 3/10 1/10"), distance="0.3333",
    ),
    "second_draft_against_target": Mutant(
        "the second draft meets the target and not what the first left over", "first token", recursive(update=False),
        drafts=2, fault_id=("M01",), instance=two_drafts("1/2 3/10 1/5", "1/5 3/10 1/2"), distance="0.1500",
    ),
    "siblings_sorted": Mutant(
        "independent siblings are sorted by their draft probability before they are verified", "first token",
        recursive(sort=True), drafts=2, fault_id=("M02",),
        instance=two_drafts("1/2 3/10 1/5", "1/5 3/10 1/2"), distance="0.1000",
    ),
    "distinct_siblings_unnormalised": Mutant(
        "siblings drawn without replacement are verified with the row they were not drawn from", "first token",
        recursive(), drafter=distinct_drafts, drafts=2, exact=True, fault_id=("M03",),
        instance=two_drafts("1/5 2/5 2/5", "3/5 3/10 1/10"), distance="0.1500",
    ),
    "best_of_two": Mutant(
        "two drafts are verified on their own and the longer result is kept", "first token", best_of_two, drafts=2,
        fault_id=("M04",), instance=two_drafts("1/2 3/10 1/5", "1/5 3/10 1/2"), distance="0.1500",
    ),
}  # fmt: skip
