"""``bench layers``: what greedy rules pay for the target modifications that they carry from block to block."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from specproof.bench.clock import Contender, Listener, measure
from specproof.bench.inputs import Inputs, Size, inputs
from specproof.bench.report import Part, Section
from specproof.fast.batch import Drafts
from specproof.fast.verifiers import VERIFIERS

QUICK = (Size(8, 1, 8, 8000), Size(1, 4, 4, 8000))
FULL = (Size(16, 1, 8, 32000), Size(1, 4, 4, 32000))
ITERATIONS = 6
NOTE = "A line is one iteration of a generation; the first has nothing carried. Layers: of the request that has most."


def layers(
    sizes: Sequence[Size], iterations: int, seconds: float, device: torch.device, listen: Listener
) -> list[Part]:
    """Follow a generation of each greedy rule and time its iterations side by side."""
    parts: list[Part] = []
    for size in sizes:
        name = "greedy_block" if size.drafts == 1 else "spectr_gbv"
        steps = generation(VERIFIERS[name], [inputs(size, device=device, seed=i) for i in range(iterations)])
        timings = measure(steps, seconds=seconds, device=device, listen=listen)
        parts.append(Section(name, size, timings, NOTE))
    return parts


def generation(found: Any, blocks: Sequence[Inputs]) -> list[Contender]:
    """Each block with what the blocks before it left to carry."""
    generator = torch.Generator(blocks[0].tokens.device).manual_seed(0)
    steps, carry = [], None
    for number, block in enumerate(blocks, 1):
        title = f"iteration {number}, {depth(carry)} layers"
        steps.append(Contender(title, _step(found, block.drafts, carry)))
        carry = found.verify(block.drafts, generator, carry).carry
    return steps


def _step(found: Any, drafts: Drafts, carry: Any) -> Callable[[torch.Generator], Any]:
    return lambda generator: found.verify(drafts, generator, carry)


def depth(carry: Any) -> int:
    """Layers alive in some request."""
    if carry is None:
        return 0
    return len(carry.layers) if hasattr(carry, "layers") else int(carry.left.shape[1])
