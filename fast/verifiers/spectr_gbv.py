"""The corrected SpecTr-GBV (MATH 4.2): the score race with the balanced table, then greedy block verification.

``A(z) = min(target(z), D(z))`` with D the law of the race's winner: the best single block known here. What greedy
verification owes the rest of the block is carried over. The default grid of 16 cells on ratio groups is the fast engine's
own; with ``compose("race", "greedy_block", cells=4, bins=None)`` the law is the reference's.
"""

from specproof.fast.verifiers.composed import composed

_pair = composed("spectr_gbv")
verify = _pair.verify
drafting = _pair.drafting
capabilities = _pair.capabilities
rule = _pair.rule
