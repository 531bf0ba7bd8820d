"""Generated instances and small measurements for the tests of the exact engine (needs hypothesis).

Probabilities are small integers over their sum, zeros included, so that supports differ, ratios tie and a failing
instance can be read. Every run generates the same instances.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from specproof.reference.model import Prefix, TableModel, joint, prefixes
from specproof.reference.step import Step

SIZES = ((2, 1, 1), (2, 1, 2), (3, 1, 2), (2, 2, 2), (2, 1, 3), (2, 2, 1), (3, 2, 1), (2, 2, 3), (2, 3, 2), (3, 2, 2))


@dataclass(frozen=True)
class Instance:
    """A target and a draft model, and how many drafts of which length are drawn."""

    target_rows: tuple[tuple[Prefix, tuple[Fraction, ...]], ...]
    draft_rows: tuple[tuple[Prefix, tuple[Fraction, ...]], ...]
    drafts: int
    length: int

    @cached_property
    def target(self) -> TableModel:
        """The target as a model, made once: tables are compared by identity."""
        return TableModel(dict(self.target_rows))

    @cached_property
    def draft(self) -> TableModel:
        """The draft as a model, made once: tables are compared by identity."""
        return TableModel(dict(self.draft_rows))


def rows(vocabulary: int) -> st.SearchStrategy[tuple[Fraction, ...]]:
    """Probability rows, possibly with zeros."""
    weights = st.lists(st.integers(0, 5), min_size=vocabulary, max_size=vocabulary).filter(any)
    return weights.map(lambda given: tuple(Fraction(weight, sum(given)) for weight in given))


@st.composite
def instances(
    draw: st.DrawFn, *, sizes: tuple[tuple[int, int, int], ...] = SIZES, tokens: int | None = None
) -> Instance:
    """Instances of the given sizes (vocabulary, length, drafts), with rows for ``tokens`` tokens of decoding."""
    vocabulary, length, drafts = draw(st.sampled_from(sizes))
    depth = length if tokens is None else tokens - 1 + length

    def table(depth: int) -> tuple[tuple[Prefix, tuple[Fraction, ...]], ...]:
        return tuple((prefix, draw(rows(vocabulary))) for prefix in prefixes(vocabulary, depth))

    return Instance(table(depth), table(depth - 1), drafts, length)


def generated(examples: int) -> settings:
    """Settings under which a test sees that many instances, the same in every run."""
    return settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


def acceptance(steps: Mapping[Step, Fraction], prefix: Prefix) -> Fraction:
    """A(z): probability that the accepted prefix starts with ``prefix``."""
    return sum(
        (mass for step, mass in steps.items() if step.accepted[: len(prefix)] == prefix),
        start=Fraction(0),
    )


def bounded(steps: Mapping[Step, Fraction], given: Instance) -> bool:
    """Whether ``A(z) <= min(target(z), 1 - (1 - draft(z))^K)`` everywhere, as every lossless rule must have it."""
    target, draft = given.target, given.draft
    return all(
        acceptance(steps, prefix) <= min(joint(target, (), prefix), 1 - (1 - joint(draft, (), prefix)) ** given.drafts)
        for prefix in prefixes(target.vocabulary, given.length)
    )
