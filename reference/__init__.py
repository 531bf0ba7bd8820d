"""The exact engine: every algorithm in rational arithmetic, written once over ``Chance`` and enumerated."""

from specproof.reference.exact import Exact, exact
from specproof.reference.model import Model, TableModel
from specproof.reference.step import Step, decode, decode_law
from specproof.reference.verifiers import Rule, rule, rule_names

__all__ = ["Exact", "Model", "Rule", "Step", "TableModel", "decode", "decode_law", "exact", "rule", "rule_names"]
