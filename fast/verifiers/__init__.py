"""Fast verifiers by name; each is a module that honours ``specproof.fast.batch``."""

from types import ModuleType

from specproof.fast.verifiers import (
    autoregressive,
    block,
    ensemble,
    greedy_block,
    greedy_multipath_block,
    k_seq,
    recursive,
    recursive_without_replacement,
    sample_match,
    spectr_gbv,
    spectr_gbv_published,
    staged_greedy,
    standard,
    traversal,
    typical,
)

VERIFIERS: dict[str, ModuleType] = {
    "standard": standard,
    "block": block,
    "greedy_block": greedy_block,
    "ensemble": ensemble,
    "autoregressive": autoregressive,
    "sample_match": sample_match,
    "typical": typical,
    "recursive": recursive,
    "recursive_without_replacement": recursive_without_replacement,
    "k_seq": k_seq,
    "staged_greedy": staged_greedy,
    "traversal": traversal,
    "spectr_gbv": spectr_gbv,
    "greedy_multipath_block": greedy_multipath_block,
    "spectr_gbv_published": spectr_gbv_published,
}
