"""Staged greedy verification."""

from hypothesis import given

from specproof.reference import exact
from specproof.reference.model import joint, prefixes
from specproof.reference.testing import Instance, acceptance, generated, instances


@generated(40)
@given(instances())
def test_acceptance_has_its_closed_form(instance: Instance) -> None:
    """``A(z) = (1/K) sum over j of min(target(z), j draft(z))`` at every prefix."""
    target, draft, drafts = instance.target, instance.draft, instance.drafts
    steps = exact("staged_greedy", target, draft, drafts=drafts, length=instance.length).steps
    for prefix in prefixes(target.vocabulary, instance.length):
        masses = joint(target, (), prefix), joint(draft, (), prefix)
        assert acceptance(steps, prefix) == sum(min(masses[0], j * masses[1]) for j in range(1, drafts + 1)) / drafts


@generated(40)
@given(instances())
def test_never_below_one_draft(instance: Instance) -> None:
    """It accepts at least as much as greedy block verification of one draft."""
    target, draft, length = instance.target, instance.draft, instance.length
    several = exact("staged_greedy", target, draft, drafts=instance.drafts, length=length)
    assert several.expected_accepted >= exact("greedy_block", target, draft, drafts=1, length=length).expected_accepted
