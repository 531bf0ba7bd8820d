"""Every global generator seeded for a while: torch's, numpy's and Python's, and put back afterwards."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed the global generators; whoever draws from them repeats for the same seed."""
    ours, legacy = random.getstate(), np.random.get_state()  # noqa: NPY002 - subjects may draw from it
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed % 2**32)  # noqa: NPY002
        try:
            yield
        finally:
            random.setstate(ours)
            np.random.set_state(legacy)  # noqa: NPY002
