"""Adapters against small engines of our own that have the signatures and layouts of the real ones, and against those.

The stand-ins follow the published rule in the other's conventions, so a shifted row, a wrong row for the bonus, a forgotten
logarithm or a misread padding shows as a probed law that is off.
"""

from pathlib import Path
from typing import Any

import pytest

from specproof.integration.adapters import ADAPTERS, load, located
from specproof.integration.packages import PACKAGES
from specproof.integration.shelf import Located
from specproof.integration.unavailable import Unavailable
from specproof.properties.cases import one_step_cases
from specproof.properties.evidence.probing import observe_probed
from specproof.properties.subject import Subject, subject_of_verifier
from specproof.reference.law import total_variation

FLASHSPEC = """
import torch
def rejection_step(draft_token_ids, draft_logprobs, target_logprobs, *, generator=None):
    p, q, L = target_logprobs.exp(), draft_logprobs.exp(), draft_token_ids.shape[1]
    at = draft_token_ids[..., None]
    keep = torch.rand(draft_token_ids.shape, generator=generator) < (p[:, :L].gather(-1, at) / q.gather(-1, at))[..., 0]
    n = keep.int().cumprod(-1).sum(-1)
    rows = torch.arange(len(n))
    left = (p[rows, n] - torch.cat([q, torch.zeros_like(p[:, :1])], 1)[rows, n]).clamp(min=0)
    return torch.stack([n, torch.multinomial(left, 1, generator=generator)[:, 0]], -1)
"""
DFLASH = """
import torch
def _rejection_sample(draft_tokens, target_probs, draft_probs, draft_indices=None):
    if draft_indices is not None:
        draft_probs = torch.zeros_like(target_probs[:, :-1]).scatter(-1, draft_indices, draft_probs)
    for i, token in enumerate(draft_tokens[0]):
        if not torch.rand(()) * draft_probs[0, i, token] < target_probs[0, i, token]:
            left = (target_probs[0, i] - draft_probs[0, i]).clamp(min=0)
            return i, torch.multinomial(left, 1)[0]
    return len(draft_tokens[0]), torch.multinomial(target_probs[0, -1], 1)[0]
"""
ASCEND = """
import torch
from vllm.v1.sample.rejection_sampler import PLACEHOLDER_TOKEN_ID, RejectionSampler
from vllm_ascend.ops import kernels
class Sampler(RejectionSampler): pass
def rejection_random_sample_pytorch(output_token_ids, cu_num_draft_tokens, draft_token_ids, draft_probs, target_probs,
        bonus_token_ids, recovered_token_ids, uniform_probs, is_greedy, max_spec_len, vocab_size, IS_NGRAM=False):
    torch.tensor([0], pin_memory=True)
    start = 0
    for b, end in enumerate(cu_num_draft_tokens.tolist()):
        for i in range(start, end):
            x = draft_token_ids[i]
            if target_probs[i, x] / draft_probs[i, x] < uniform_probs[i]:
                output_token_ids[b, i - start] = recovered_token_ids[i]
                break
            output_token_ids[b, i - start] = x
        else:
            output_token_ids[b, end - start] = bonus_token_ids[b]
        start = end
def sample_recovered_tokens_pytorch(output_token_ids, cu_num_draft_tokens, draft_token_ids, draft_probs, target_probs, q,
        vocab_size, IS_NGRAM=False):
    owner = torch.searchsorted(cu_num_draft_tokens, torch.arange(len(draft_token_ids)), right=True)
    output_token_ids[:] = ((target_probs - draft_probs).clamp(min=0) / q[owner]).argmax(-1)
"""
ENGINES = {
    "flashspec": {"flashspec/__init__.py": "", "flashspec/sampling/__init__.py": "", "flashspec/sampling/rejection.py": FLASHSPEC},
    "dflash": {"dflash/__init__.py": "", "dflash/model.py": DFLASH},
    "dflash:sparse": {"dflash/__init__.py": "", "dflash/model.py": DFLASH},
    "vllm-ascend": {"vllm_ascend/sample/rejection_sampler.py": ASCEND},
}  # fmt: skip
CASES = [case for case in one_step_cases() if case.name in ("impossible tokens", "reversed")]


def described(name: str, found: Located, **options: Any) -> Subject:
    """The subject that an adapter makes."""
    return subject_of_verifier(load(name, found, **options), name=name, version=found.version)


@pytest.mark.parametrize("name", ENGINES)
def test_adapter_translates_the_conventions_of_its_engine(name: str, tmp_path: Path) -> None:
    """The probed law of a correct stand-in is the target's, to 1e-6."""
    for path, text in ENGINES[name].items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    subject = described(name, Located(PACKAGES[ADAPTERS[name].package], "0", tmp_path))
    for case in CASES:
        assert total_variation(observe_probed(subject, case).text, case.target_law) <= 1e-6, case.name


def here(name: str) -> Located:
    """The real package, or a skip that says why not."""
    try:
        return located(name)
    except Unavailable as reason:
        pytest.skip(f"{name}: {reason}")


HELD = [name for name, entry in ADAPTERS.items() if entry.group == "light" and ":block" not in name]


@pytest.mark.parametrize("name", HELD)
def test_installed_engine_keeps_the_law(name: str) -> None:
    """Every light engine's probed law is the target's on a case of every number of drafts (skipped where it is absent)."""
    subject = described(name, here(name))
    if subject.unavailable:
        pytest.skip(subject.unavailable)
    cases = {case.name: case for case in one_step_cases(subject.drafting.drafts)}
    case = cases.get("rows by context") or cases["context V2 L2"]
    assert total_variation(observe_probed(subject, case).text, case.target_law) <= 1e-6
