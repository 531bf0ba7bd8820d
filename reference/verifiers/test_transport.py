"""The optimal token-level rule."""

from hypothesis import given

from specproof.reference import exact
from specproof.reference.testing import Instance, generated, instances
from specproof.reference.transport.token import coupling


@generated(40)
@given(instances(sizes=((2, 1, 2), (3, 1, 2), (3, 1, 3), (2, 2, 2))))
def test_first_token_is_accepted_with_the_optimum(instance: Instance) -> None:
    """The chance of accepting at least one token is alpha* of the first rows."""
    target, draft = instance.target, instance.draft
    found = exact("transport", target, draft, drafts=instance.drafts, length=instance.length)
    best = coupling(target.probabilities(()), draft.probabilities(()), instance.drafts).value
    assert 1 - found.accepted_law.get(0, 0) == best
