"""Greedy multi-path block verification (arXiv 2602.16961): the best draft by ratio, node by node, then block verification.

Equal ratios share a group, as in the reference; ``compose("best_ratio", "block", bins=10)`` groups near ones too.
"""

from specproof.fast.verifiers.composed import compose

_composed = compose("best_ratio", "block", bins=None)
verify = _composed.verify
drafting = _composed.drafting
capabilities = _composed.capabilities
rule = _composed.rule
rule_options = _composed.rule_options
