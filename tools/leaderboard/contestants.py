"""Who competes: every rule of the exact engine, and every selector in front of every one-draft rule."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from specproof.reference.model import Model
from specproof.reference.step import independent_drafts
from specproof.reference.verifiers import Rule, rule

SELECTORS: dict[str, dict[str, Any]] = {
    "first": {"selector": "first"},
    "best ratio": {"selector": "best_ratio"},
    "scan": {"selector": "scan"},
    "kill race": {"selector": "kill_race"},
    "race proportional": {"selector": "race", "table": "proportional"},
    "race balanced": {"selector": "race", "table": "balanced"},
}
ONE_DRAFT = ("standard", "block", "greedy_block")
NAMED = {("greedy_block", "race balanced"): "spectr_gbv", ("block", "best ratio"): "greedy_multipath_block"}


@dataclass(frozen=True)
class Contestant:
    """A rule with its options. ``lossy``: it does not keep the target's law, by design or by fault."""

    name: str
    rule_name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    lossy: bool = False

    @cached_property
    def rule(self) -> Rule:
        """The rule, made once."""
        return rule(self.rule_name, **self.options)

    @property
    def own_drafts(self) -> bool:
        """Whether the drafts are not independent, so that the ceilings for independent drafts do not bind."""
        return self.rule.drafter is not independent_drafts

    def takes(self, draft: Model, drafts: int) -> bool:
        """Whether the rule can run: drafts with distinct first tokens need as many tokens that the draft can emit."""
        return not self.own_drafts or sum(share > 0 for share in draft.probabilities(())) >= drafts


def composed() -> list[Contestant]:
    """Every selector in front of every one-draft rule; two of the pairs have names of their own."""
    result = []
    for base in ONE_DRAFT:
        for title, options in SELECTORS.items():
            own = NAMED.get((base, title))
            result.append(Contestant(own, own) if own else Contestant(f"{base} + {title}", base, options))
    return result


def contestants() -> list[Contestant]:
    """Everyone, in no order of merit."""
    several = (
        "k_seq", "recursive", "recursive_without_replacement", "transport", "traversal", "staged_greedy", "sample_match",
    )  # fmt: skip
    return [
        Contestant("autoregressive", "autoregressive"),
        *(Contestant(name, name) for name in several),
        *composed(),
        Contestant("spectr_gbv_published", "spectr_gbv_published", lossy=True),
        Contestant("spectr_gbv_published + carry", "spectr_gbv_published", {"carry": True}, lossy=True),
        Contestant("ensemble 1/2", "ensemble", {"selector": "first", "weight": "1/2"}, lossy=True),
        Contestant("typical", "typical", lossy=True),
    ]
