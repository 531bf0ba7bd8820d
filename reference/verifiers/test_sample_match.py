"""Sample matching."""

from hypothesis import given

from specproof.reference import exact
from specproof.reference.model import joint, prefixes
from specproof.reference.testing import Instance, acceptance, generated, instances


@generated(40)
@given(instances())
def test_a_prefix_is_accepted_when_target_and_a_draft_agree(instance: Instance) -> None:
    """``A(z) = target(z) (1 - (1 - draft(z))^K)``: the target's draw and the drafts are independent."""
    target, draft, drafts = instance.target, instance.draft, instance.drafts
    steps = exact("sample_match", target, draft, drafts=drafts, length=instance.length).steps
    for prefix in prefixes(target.vocabulary, instance.length):
        contained = 1 - (1 - joint(draft, (), prefix)) ** drafts
        assert acceptance(steps, prefix) == joint(target, (), prefix) * contained
