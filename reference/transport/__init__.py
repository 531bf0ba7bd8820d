"""Optimal transport between drafts and target, each optimum proved in integers or rationals."""
