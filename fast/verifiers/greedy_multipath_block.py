"""Greedy multi-path block verification (arXiv 2602.16961): the best draft by ratio, node by node, then block verification.

Equal ratios share a group, as in the reference; ``compose("best_ratio", "block", bins=10)`` groups near ones too.
"""

from specproof.fast.verifiers.composed import composed

_pair = composed("greedy_multipath_block")
verify = _pair.verify
drafting = _pair.drafting
capabilities = _pair.capabilities
rule = "greedy_multipath_block"
