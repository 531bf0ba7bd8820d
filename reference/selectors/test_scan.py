"""Selection by ratio groups: ``scan`` and ``best_ratio``."""

from fractions import Fraction

from hypothesis import given

from specproof.reference import TableModel, exact
from specproof.reference.model import children, joint, prefixes
from specproof.reference.selectors.best_ratio import serve as serve_best
from specproof.reference.selectors.groups import Walk, ratio_groups, stages
from specproof.reference.selectors.scan import serve
from specproof.reference.testing import Instance, generated, instances
from specproof.reference.transport.token import coupling


def test_groups_are_ordered_by_ratio_and_share_ties() -> None:
    """The best ratio comes first, equal ratios together, impossible draft tokens nowhere."""
    target, draft = ["1/8", "1/4", "1/8", "1/2"], ["1/4", "1/4", "1/2", "0"]
    rows = [tuple(map(Fraction, row)) for row in (target, draft)]
    assert ratio_groups(*rows) == [(1,), (0,), (2,)]
    assert ratio_groups(rows[1], rows[1]) == [(0, 1, 2)]


def test_scan_attains_the_optimum_of_one_token_on_the_smallest_counterexample() -> None:
    """Its E[tau] of 15/16 is alpha*, above the published claim of 7/8."""
    target = TableModel({prefix: ["1/2", "1/2"] for prefix in prefixes(2, 1)})
    draft = TableModel({(): ["3/4", "1/4"]})
    found = exact("greedy_block", target, draft, drafts=2, length=1, selector="scan")
    assert found.expected_accepted == Fraction(15, 16)
    assert found.expected_accepted == coupling(target.probabilities(()), draft.probabilities(()), 2).value


@generated(60)
@given(instances())
def test_best_ratio_is_an_order_statistic(instance: Instance) -> None:
    """At the root group B is followed with probability ``(1 - before)^K - (1 - before - draft(B))^K``."""
    target, draft, drafts = instance.target, instance.draft, instance.drafts
    walk = Walk(target, draft, drafts, serve_best)
    before = Fraction(0)
    for group in ratio_groups(children(target, ()), draft.probabilities(())):
        mass = sum(draft.probabilities(())[token] for token in group)
        followed = sum(joint(walk, (), (token,)) for token in group)
        assert followed == (1 - before) ** drafts - (1 - before - mass) ** drafts
        before += mass


@generated(60)
@given(instances(sizes=((2, 1, 2), (3, 1, 2), (3, 1, 3))))
def test_scan_serves_a_group_up_to_its_need(instance: Instance) -> None:
    """Selected is the target's mass of the group, or all the hits if fewer, or those with nothing later if more."""
    target, draft = instance.target, instance.draft
    for stage in stages(Walk(target, draft, instance.drafts, serve), ()):
        need = sum(target.probabilities(())[token] for token in stage.group)
        forced = sum(mass for (_, later), mass in stage.hits.items() if later == 0)
        assert sum(stage.selected.values()) == max(forced, min(need, sum(stage.hits.values())))
