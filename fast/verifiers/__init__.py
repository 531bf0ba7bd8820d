"""Fast verifiers by name; each is a module that honours ``specproof.fast.batch``."""

from types import ModuleType

from specproof.fast.verifiers import (
    block,
    ensemble,
    greedy_block,
    k_seq,
    recursive,
    recursive_without_replacement,
    standard,
)

VERIFIERS: dict[str, ModuleType] = {
    "standard": standard,
    "block": block,
    "greedy_block": greedy_block,
    "ensemble": ensemble,
    "k_seq": k_seq,
    "recursive": recursive,
    "recursive_without_replacement": recursive_without_replacement,
}
