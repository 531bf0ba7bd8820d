"""Kernels agree with torch: on the GPU, and in Triton's interpreter (``test_interpreter.py`` starts that process)."""

import os

import pytest
import torch
from torch import Tensor

from specproof.fast import kernels
from specproof.fast.batch import Drafts
from specproof.fast.rows import WIDTH, Nodes, shaved
from specproof.fast.selectors import groups, race
from specproof.fast.verifiers import block, standard

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
if not (INTERPRETED or torch.cuda.is_available()):
    pytest.skip("needs a CUDA device or Triton's interpreter", allow_module_level=True)
pytest.importorskip("triton")

from specproof.fast.kernels import histogram, residual  # noqa: E402 - Triton has to be there

pytestmark = [pytest.mark.filterwarnings("ignore::RuntimeWarning:triton.*")] if INTERPRETED else [pytest.mark.gpu]
DEVICE = "cpu" if INTERPRETED else "cuda"
SIZES = (3, 127, 1013, 4097)
UNIFORMS = (0.0, 2.0**-53, 0.3, 0.5, 0.77, 1 - 2.0**-53)
BELOW_ONE = 1 - 2.0**-53


def random_rows(*shape: int, seed: int, zeros: float = 0.3) -> Tensor:
    """Rows of float32 probabilities of which a share is exactly zero."""
    generator = torch.Generator().manual_seed(seed)
    rows = (torch.randn(shape, generator=generator) * 2).exp()
    rows[torch.rand(shape, generator=generator) < zeros] = 0.0
    rows[..., 1] += 0.01  # never empty
    return rows / rows.sum(-1, keepdim=True)


def batch(vocabulary: int, *, one_hot: bool = False) -> Drafts:
    """Two requests of two drafts of two tokens; among the rows: equal ones, a one-hot one, one that lies strided."""
    target, draft = random_rows(2, 2, 3, vocabulary, seed=1), random_rows(2, 2, 2, vocabulary, seed=2)
    draft[0, 0, 0] = target[0, 0, 0]
    target[1, 0, 1] = torch.nn.functional.one_hot(torch.tensor(vocabulary - 1), vocabulary)
    draft[1, 1, 0] = torch.nn.functional.one_hot(torch.tensor(0), vocabulary)
    tokens = torch.randint(vocabulary, (2, 2, 2), generator=torch.Generator().manual_seed(3))
    strided = target.transpose(-1, -2).contiguous().transpose(-1, -2)
    return Drafts(tokens, None if one_hot else draft, strided)


def on(drafts: Drafts, device: str) -> Drafts:
    """The same batch on another device."""
    draft = None if drafts.draft_probs is None else drafts.draft_probs.to(device)
    return Drafts(drafts.tokens.to(device), draft, drafts.target_probs.to(device))


def nodes_with_cuts(drafts: Drafts) -> tuple[Nodes, Tensor]:
    """Every node of the batch, with cuts of .4, 1, 3.5 and beyond all bounds in turn; 0 behind the last token."""
    cuts = torch.tensor([0.4, 1.0, 3.5, 1e300, 1.0], dtype=torch.float64)
    place = torch.cartesian_prod(*(torch.arange(size) for size in (drafts.batch, drafts.paths, drafts.length + 1)))
    cut = torch.where(place[:, 2] < drafts.length, cuts[torch.arange(len(place)) % len(cuts)], 0.0)
    return Nodes(*place.unbind(1)), cut


def to_device(nodes: Nodes) -> Nodes:
    """The nodes where the kernels run."""
    return Nodes(*(index.to(DEVICE) for index in (nodes.request, nodes.path, nodes.position)))


@pytest.mark.parametrize("one_hot", [False, True])
@pytest.mark.parametrize("vocabulary", SIZES)
def test_block_sums_agree(vocabulary: int, one_hot: bool) -> None:
    """Sums of (target - cut draft)+ over blocks, within float32 rounding of a subtraction and float64 rounding of sums."""
    drafts = batch(vocabulary, one_hot=one_hot)
    nodes, cut = nodes_with_cuts(drafts)
    expected = shaved(drafts, nodes, cut).sums
    found = residual.block_sums(on(drafts, DEVICE), to_device(nodes), cut.to(DEVICE), min(vocabulary, WIDTH)).cpu()
    assert found.shape == expected.shape
    torch.testing.assert_close(found, expected, rtol=2.0**-23, atol=0)


@pytest.mark.parametrize("one_hot", [False, True])
@pytest.mark.parametrize("vocabulary", SIZES)
def test_draws_agree(vocabulary: int, one_hot: bool) -> None:
    """The same token for the same uniform, unless it lies within V 2^-52 of a threshold: none of these does, but 0 and 1."""
    drafts = batch(vocabulary, one_hot=one_hot)
    nodes, cut = nodes_with_cuts(drafts)
    weights = shaved(drafts, nodes, cut)
    rich = weights.mass > 0
    for step, uniform in enumerate(UNIFORMS):
        at = rich.nonzero().flatten()[step % 2 :: 2]
        some, part = nodes[at], torch.full((len(at),), uniform, dtype=torch.float64)
        extra = torch.full_like(part, 0.25) if step % 2 else None
        law = shaved(drafts, some, cut[at])
        law = law if extra is None else law.plus_target(extra)
        found = residual.draw(
            on(drafts, DEVICE), to_device(some), cut[at].to(DEVICE), None if extra is None else extra.to(DEVICE),
            law.sums.to(DEVICE), part.to(DEVICE), min(vocabulary, WIDTH),
        ).cpu()  # fmt: skip
        left = weight_of(drafts, some, cut[at], extra, found)
        assert bool((left > 0).all())
        expected = law.draw(part)
        if 0 < uniform < BELOW_ONE:
            assert found.tolist() == expected.tolist()
        else:
            assert (found == expected).double().mean() > 0.9


def weight_of(drafts: Drafts, nodes: Nodes, cut: Tensor, extra: Tensor | None, tokens: Tensor) -> Tensor:
    """The weights of drawn tokens, one a node; an id outside the vocabulary is an IndexError."""
    wide, each = nodes.wide(), tokens[:, None]
    assert bool((tokens >= 0).all())
    target, draft = wide.target(drafts, each).squeeze(1), wide.draft(drafts, each).squeeze(1)
    left = (target - torch.where(cut > 0, cut * draft, 0.0)).clamp(min=0)
    return left if extra is None else left + extra * target


@pytest.mark.parametrize("vocabulary", SIZES)
def test_rows_without_finite_mass_give_minus_one(vocabulary: int) -> None:
    """A zero row, a NaN and an infinity anywhere in the row: -1, never an id."""
    target = torch.zeros(3, 1, 1, vocabulary)
    target[1] = 1 / vocabulary
    target[1, ..., vocabulary // 2] = torch.nan
    target[2, ..., -1] = torch.inf
    drafts = Drafts(torch.zeros(3, 1, 0, dtype=torch.int64), torch.zeros(3, 1, 0, vocabulary), target)
    zeros = torch.zeros(3, dtype=torch.int64)
    nodes, cut = to_device(Nodes(torch.arange(3), zeros, zeros)), torch.zeros(3, dtype=torch.float64, device=DEVICE)
    width = min(vocabulary, WIDTH)
    for uniform in UNIFORMS:
        sums = residual.block_sums(on(drafts, DEVICE), nodes, cut, width)
        tokens = residual.draw(on(drafts, DEVICE), nodes, cut, None, sums, torch.full_like(cut, uniform), width)
        assert tokens.tolist() == [-1, -1, -1]


@pytest.mark.parametrize("bins", [1, 4, 10])
@pytest.mark.parametrize("vocabulary", SIZES)
def test_histograms_agree(vocabulary: int, bins: int) -> None:
    """Masses below every group's edge agree within float32 rounding and the mass of tokens within rounding of an edge."""
    drafts = batch(vocabulary)
    place = torch.tensor([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    count = groups.group_count(vocabulary, bins)
    found = histogram.masses(on(drafts, DEVICE), place.to(DEVICE), bins, groups.OCTAVES, count)
    target, draft = drafts.target_probs[place.unbind(1)], drafts.draft_probs[place.unbind(1)]
    expected = groups.masses_of(target, draft, groups.group_of(target, draft, bins), count)
    level = 2 * (target / draft).frexp().mantissa * bins  # an octave is cut evenly
    at_edge = ((level - level.round()).abs() < 1e-4).double()
    for mass, wanted, rows in zip(found, expected, (target, draft), strict=True):
        assert mass.shape == wanted.shape
        margin = 2.0**-22 + (rows.double() * at_edge).sum(-1, keepdim=True)
        assert bool(((mass.cpu().cumsum(-1) - wanted.cumsum(-1)).abs() <= margin).all())
        torch.testing.assert_close(mass.cpu().sum(-1), rows.double().sum(-1), rtol=2.0**-22, atol=0)


@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.bfloat16])
def test_groups_are_those_that_masses_were_counted_in(kind: torch.dtype) -> None:
    """Counting tokens by their group gives the histogram, group by group."""
    plain = batch(1013)
    drafts = on(Drafts(plain.tokens, plain.draft_probs.to(kind), plain.target_probs.to(kind)), DEVICE)
    place = torch.tensor([[0, 0, 0], [0, 1, 1], [1, 1, 0]], device=DEVICE)
    count = groups.group_count(1013, 10)
    rows = [probs[place.unbind(1)] for probs in (drafts.target_probs, drafts.draft_probs)]
    group = histogram.groups(*rows, 10, groups.OCTAVES)
    found = histogram.masses(drafts, place, 10, groups.OCTAVES, count)
    for mass, wanted in zip(found, groups.masses_of(*rows, group, count), strict=True):
        torch.testing.assert_close(mass, wanted, rtol=2.0**-20, atol=0)


def test_groups_of_degenerate_ratios() -> None:
    """Neither has the token, only the target has it, only the draft has it, NaN: as torch groups them."""
    target = torch.tensor([0.0, 0.5, 0.0, torch.nan], device=DEVICE)
    draft = torch.tensor([0.0, 0.0, 0.5, 0.5], device=DEVICE)
    expected = groups.group_of(target.cpu(), draft.cpu(), 10)
    assert histogram.groups(target, draft, 10, groups.OCTAVES).tolist() == expected.tolist()


@pytest.mark.skipif(not INTERPRETED, reason="on a GPU nothing has to be persuaded: test_gpu.py")
def test_verifiers_and_selectors_decide_alike_through_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same uniforms give the same tokens, drafts and laws when the kernels do the work."""
    drafts = batch(1013)
    first = Drafts(drafts.tokens[:, :1], drafts.draft_probs[:, :1], drafts.target_probs[:, :1])
    coins = torch.rand(2, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(4))

    def decide() -> list[Tensor]:
        found = [standard.verify(first, coins[:, :3]), block.verify(first, coins)]
        selection = race.select(drafts, coins[:, :1])
        return [*(outcome.tokens for outcome in found), selection.path, selection.drafts.draft_probs]

    expected = decide()
    monkeypatch.setattr(kernels, "usable", lambda _: True)
    *tokens, law = decide()
    assert [part.tolist() for part in tokens] == [part.tolist() for part in expected[:-1]]
    assert float((law - expected[-1]).abs().sum(-1).max()) < 1e-3  # a token at the edge of a bin may change its group
    first.target_probs[1, :, :, 5] = torch.nan
    with pytest.raises(ValueError, match=r"request 1: target row . is NaN"):
        standard.verify(first, torch.ones(2, 3, dtype=torch.float64))
