"""On a CUDA device: verifiers and selectors decide as on the CPU, and the kernels' bandwidth is printed (``pytest -s``)."""

from collections.abc import Callable
from types import ModuleType

import pytest
import torch

from specproof.fast.batch import Drafts
from specproof.fast.kernels import HAS_TRITON
from specproof.fast.rows import WIDTH, Nodes
from specproof.fast.selectors import groups, race
from specproof.fast.verifiers import block, standard

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not (torch.cuda.is_available() and HAS_TRITON), reason="needs a CUDA device and Triton"),
]


def batch(size: int, paths: int, length: int, vocabulary: int, device: str) -> Drafts:
    """Drafts from noisy copies of the target's logits."""
    generator = torch.Generator(device).manual_seed(7)
    target = torch.randn(size, paths, length + 1, vocabulary, generator=generator, device=device) * 2
    noise = torch.randn(size, paths, length, vocabulary, generator=generator, device=device)
    draft = (target[:, :, :-1] + noise / 2).softmax(-1)
    target = target[:, :1].expand_as(target).softmax(-1)
    tokens = torch.multinomial(draft.view(-1, vocabulary), 1, generator=generator).view(size, paths, length)
    return Drafts(tokens, draft, target)


def on_cpu(drafts: Drafts) -> Drafts:
    """The same batch on the CPU."""
    assert drafts.draft_probs is not None
    return Drafts(drafts.tokens.cpu(), drafts.draft_probs.cpu(), drafts.target_probs.cpu())


@pytest.mark.parametrize("vocabulary", [3, 127, 1013, 4097, 32000])
@pytest.mark.parametrize("verifier", [standard, block])
def test_verifiers_decide_as_on_the_cpu(verifier: ModuleType, vocabulary: int) -> None:
    """The same uniforms give the same tokens."""
    drafts = batch(16, 1, 4, vocabulary, "cuda")
    uniforms = torch.rand(
        16, 6 if verifier is block else 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1)
    )
    found, expected = verifier.verify(drafts, uniforms), verifier.verify(on_cpu(drafts), uniforms)
    assert found.tokens.cpu().tolist() == expected.tokens.tolist()


def test_race_selects_as_on_the_cpu() -> None:
    """The same uniforms select the same drafts, with the same law within float32 rounding."""
    drafts = batch(8, 4, 4, 1013, "cuda")
    uniform = torch.rand(8, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    found, expected = race.select(drafts, uniform.cuda()), race.select(on_cpu(drafts), uniform)
    assert found.path.tolist() == expected.path.tolist()
    assert found.drafts.draft_probs is not None
    assert expected.drafts.draft_probs is not None
    gap = (found.drafts.draft_probs.cpu() - expected.drafts.draft_probs).abs().sum(-1)
    assert float(gap.max()) < 1e-3  # a token at the edge of a bin may change its group


def seconds(work: Callable[[], object], repeats: int = 20) -> float:
    """Median time of a call on the device."""
    times = []
    for _ in range(repeats + 3):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        work()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) / 1e3)
    return sorted(times[3:])[repeats // 2]


@pytest.mark.parametrize("vocabulary", [32000, 128256])
def test_bandwidth(vocabulary: int) -> None:
    """Bytes of the rows that are read over the time, beside a copy of as many bytes on the same device."""
    from specproof.fast.kernels import histogram, residual

    drafts = batch(64, 1, 4, vocabulary, "cuda")
    assert drafts.draft_probs is not None
    place = torch.cartesian_prod(torch.arange(64), torch.arange(1), torch.arange(4)).cuda()
    nodes, cut = Nodes(*place.unbind(1)), torch.ones(len(place), dtype=torch.float64, device="cuda")
    uniform = torch.full_like(cut, 0.5)
    sums = residual.block_sums(drafts, nodes, cut, WIDTH)
    count = groups.group_count(vocabulary, 10)
    copied = torch.empty_like(drafts.draft_probs)
    read = len(place) * vocabulary * 2 * 4  # the copy reads as much as it writes
    works = {
        "copy": lambda: copied.copy_(drafts.draft_probs),
        "block sums": lambda: residual.block_sums(drafts, nodes, cut, WIDTH),
        "draw": lambda: residual.draw(drafts, nodes, cut, None, sums, uniform, WIDTH),
        "histogram": lambda: histogram.masses(drafts, place, 10, groups.OCTAVES, count),
    }
    print(f"\n{torch.cuda.get_device_name()}, {len(place)} nodes, V = {vocabulary}")
    for name, work in works.items():
        time = seconds(work)
        assert time > 0
        rate = "" if name == "draw" else f"{read / time / 1e9:8.0f} GB/s"
        print(f"{name:>12} {time * 1e6:8.1f} us {rate}")
