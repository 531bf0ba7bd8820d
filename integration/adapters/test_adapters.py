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
from specproof.properties.decoder_cases import DecoderCase, decoder_cases
from specproof.properties.decoder_runs import Runs, probe, row_of
from specproof.properties.drafting import judge_drafts
from specproof.properties.evidence.probing import observe_probed
from specproof.properties.evidence.sampled import SamplePlan, observe_sampled
from specproof.properties.lossless import judge_counts
from specproof.properties.subject import Subject, subject_of_decoder, subject_of_verifier
from specproof.properties.verdict import Undecided, Verdict
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
LENGTH = 2
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


INTERPRETED = [name for name in ADAPTERS if name.startswith(("vllm:triton", "sglang:chain"))]


@pytest.mark.nightly
@pytest.mark.parametrize("name", INTERPRETED)
def test_interpreted_kernel_keeps_the_law(name: str) -> None:
    """Triton kernels: probed on rows by context; with their own hash counted, at alpha 1e-6.

    2,048 texts of 8 cells resolve a total variation of .11.
    """
    subject = described(name, here(name))
    (case,) = [case for case in one_step_cases() if case.name == "rows by context"]
    if "hidden_randomness" in subject.capabilities:
        assert not observe_sampled(subject, case, SamplePlan(2048, 1e-6, 1e-7, seed=1)).text.refutations
    else:
        assert total_variation(observe_probed(subject, case).text, case.target_law) <= 1e-6


DECODERS = (
    "litgpt",
    "litgpt:greedy",
    "litgpt:filters",
    "litgpt:generate",
    "transformers:generate",
    "transformers:candidates",
)
REFUTED = ("vllm-ascend:block",)
HELD = [name for name, entry in ADAPTERS.items() if entry.group == "light" and name not in DECODERS + REFUTED]


@pytest.mark.parametrize("name", HELD)
def test_installed_engine_keeps_the_law(name: str) -> None:
    """Every light engine's probed law is the target's on a case of every number of drafts (skipped where it is absent)."""
    subject = described(name, here(name))
    if subject.unavailable:
        pytest.skip(subject.unavailable)
    cases = {case.name: case for case in one_step_cases(subject.drafting.drafts)}
    case = cases.get("rows by context") or cases["context V2 L2"]
    assert total_variation(observe_probed(subject, case).text, case.target_law) <= 1e-6


def decoded(name: str, case_name: str) -> tuple[float, DecoderCase, Subject, Runs]:
    """Distance of a decoder's probed text from plain decoding on a case."""
    found = here(name)
    subject = subject_of_decoder(load(name, found), name=name, version=found.version)
    case = next(case for case in decoder_cases(LENGTH) if case.name == case_name)
    runs = probe(subject, case)
    return float(total_variation(runs.text, case.target_law(row_of(subject)))), case, subject, runs


def test_assisted_generation_keeps_the_law() -> None:
    """The whole ``generate`` of transformers, cache included, writes as plain sampling does; stops count."""
    pytest.importorskip("transformers")
    for case in ("plain V3", "stop"):
        assert decoded("transformers:generate", case)[0] <= 1e-6


def test_candidate_generator_breaks_its_contract_with_the_kernel() -> None:
    """It drafts the most likely token and hands over whole rows: the text is off, and so is the declared law of the drafts.

    On case "reversed" token 2 is always drafted and kept with probability (1/5) / (1/2); correction is by the residual of
    the rows, in which token 0 has everything: P(2) = .4 in place of .2, P(0) = .6 in place of .5.
    """
    pytest.importorskip("transformers")
    distance, _, subject, runs = decoded("transformers:candidates", "reversed")
    assert distance == pytest.approx(0.3, abs=1e-6)
    found = judge_drafts(subject, runs, 1e-6)
    assert found.verdict is Verdict.FAILED
    assert "declared is" in found.reason


def test_litgpt_at_temperature_zero_is_not_greedy() -> None:
    """It keeps drafts by the ratio of soft rows; above temperature zero its text is that of plain sampling."""
    assert decoded("litgpt:greedy", "greedy")[0] > 0.01
    assert decoded("litgpt", "reversed")[0] <= 1e-6


def test_litgpt_cannot_correct_under_top_p() -> None:
    """After a rejection it crops probabilities as if they were logits: what is cut becomes minus infinity, which it draws from."""
    with pytest.raises(Undecided, match="probability tensor contains either `inf`"):
        decoded("litgpt:filters", "nucleus")


def test_block_verification_of_vllm_ascend_is_refuted_by_counts() -> None:
    """Its products of uniforms accept too much: a few hundred texts of two drafted tokens refute it at alpha 1e-6.

    Total variation on the case is .3 and more; with 4,096 texts of 9 cells .06 is found with power .999.
    """
    for version in PACKAGES["vllm-ascend"].versions:
        subject = described(f"vllm-ascend:block@{version}", here(f"vllm-ascend:block@{version}"))
        case = next(case for case in one_step_cases() if case.name == "context V3 L2")
        sample = observe_sampled(subject, case, SamplePlan(4096, 1e-6, 1e-7, seed=1))
        assert sample.text.refutations
        assert judge_counts(sample).counterexample is not None
