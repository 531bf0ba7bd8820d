"""What ``specproof write`` prints runs as it is printed, for functions of every convention, and finds what is wrong."""

import inspect
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from specproof.properties.verdict import Verdict
from specproof.subjects import imported
from specproof.test_cli import run
from specproof.writing import write_test_file
from specproof.writing.roles import read_signature, role

# One rule behind many conventions; only what surrounds it differs.
THEIRS = '''
import torch


def verify(draft_tokens, draft_probs, target_probs, generator, uniforms=None):
    """Standard speculative sampling of a batch: [B, L], [B, L, V], [B, L+1, V]."""
    batch, length = draft_tokens.shape
    if uniforms is None:
        uniforms = torch.rand(batch, length + 1, generator=generator)
    out, counts = torch.full((batch, length + 1), -1), []
    for b in range(batch):
        kept = 0
        while kept < length:
            token = draft_tokens[b, kept]
            if not uniforms[b, kept] * draft_probs[b, kept, token] < target_probs[b, kept, token]:
                break
            kept += 1
        row = target_probs[b, kept]
        if kept < length:
            row = (row - draft_probs[b, kept]).clamp(min=0)
        out[b, :kept] = draft_tokens[b, :kept]
        out[b, kept] = min(int((row.cumsum(-1) <= uniforms[b, length] * row.sum()).sum()), len(row) - 1)
        counts.append(kept)
    return out, torch.tensor(counts)


def one_request_of_logits(candidate_input_ids, candidate_logits, new_logits, is_done=False):
    tokens, counts = verify(candidate_input_ids, candidate_logits.softmax(-1), new_logits.softmax(-1), None)
    return tokens[:, : counts[0] + 1], int(counts[0])


def padded(draft_token_ids, target_logits, draft_logits, uniform_samples):
    return verify(draft_token_ids, draft_logits.softmax(-1), target_logits.softmax(-1), None, uniform_samples)[0]


def emitted(p, q, draft, rng):
    tokens, counts = verify(draft, q, p, rng)
    return tokens, counts + 1


def accepted_first(draftTokens, draftProbs, targetProbs, generator=None):
    tokens, counts = verify(draftTokens, draftProbs, targetProbs, generator)
    return counts, tokens


def without_batch(draft_ids, draft_probs, target_probs, rng):
    tokens, counts = verify(draft_ids[None], draft_probs[None], target_probs[None], rng)
    return tokens[0, : counts[0] + 1].tolist(), int(counts[0])


def first_of_several(drafts, draft_probs, target_probs, generator):
    batch, paths, length = drafts.shape
    return verify(drafts[:, 0], draft_probs[:, 0], target_probs[:, 0], generator)


def tree(tree_tokens, parents, draft_probs, target_probs, generator):
    nodes = [0]
    while (follows := (parents == nodes[-1]).nonzero()).numel():
        nodes.append(int(follows[0]))
    assert int(parents[0]) == -1
    rows = torch.stack([target_probs[:, node] for node in [0, *(node + 1 for node in nodes)]], dim=1)
    return verify(tree_tokens[:, nodes], draft_probs[:, nodes], rows, generator)


def biased(draft_tokens, target_logits):
    batch, length = draft_tokens.shape
    first = target_logits[:, :1].argmax(-1)
    right = (first[:, 0] == draft_tokens[:, 0]).long()
    second = target_logits[:, 1:2].argmax(-1)
    return torch.cat([first, second, torch.full((batch, length - 1), -1)], -1), right


def needs_more(draft_tokens, draft_probs, target_probs, cu_num_draft_tokens):
    return None


def nonsense(draft_tokens, target_probs):
    return draft_tokens


def generate(target_model, draft_model, prompt, max_new_tokens, temperature):
    text = prompt
    for _ in range(max_new_tokens):
        row = (target_model(text)[-1] / temperature).softmax(-1)
        text = torch.cat([text, torch.multinomial(row, 1)])
    return text[len(prompt):]


class Verifier:
    capabilities = frozenset({"batch"})

    def verify(self, drafts, generator, carry=None):
        from specproof import Outcome

        return Outcome(*verify(drafts.tokens[:, 0], drafts.draft_rows()[:, 0], drafts.target_probs[:, 0], generator))
'''


@pytest.fixture(autouse=True)
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their module, where the command runs."""
    (tmp_path / "theirs.py").write_text(THEIRS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "theirs", raising=False)
    monkeypatch.syspath_prepend(tmp_path)


def verdicts(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *ids: str) -> dict[str, Verdict]:
    """Write the file, import it as pytest would, and run some of its checks by calling the test with them."""
    (tmp_path / "test_theirs_specproof.py").write_text(text)
    monkeypatch.delitem(sys.modules, "test_theirs_specproof", raising=False)
    module = import_module("test_theirs_specproof")
    (test,) = (found for name, found in vars(module).items() if name.startswith("test_"))
    (mark,) = test.pytestmark
    found = {}
    for parameter in mark.args[1]:
        (call,) = parameter.values
        if call.check.id in ids:
            with suppress(pytest.fail.Exception):
                test(call)
            found[call.check.id] = call.record[call.check.id].verdict
    assert len(found) == len(ids)
    return found


BLOCK, SMALL = "lossless.block[probed:reversed]", "lossless.block[probed:coin]"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("verify", "from_function takes"),
        ("one_request_of_logits", "takes one draft and returns tokens, accepted"),
        ("padded", "takes one draft and returns tokens;"),
        ("emitted", "returns tokens, emitted"),
        ("accepted_first", "returns accepted, tokens"),
        ("without_batch", "one request without batch axis"),
        ("Verifier", "no adapter is needed"),
    ],
)
def test_one_draft_is_held_as_printed(name: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Logits, uniforms passed in, -1 padding, swapped answers, no batch axis: the convention is found and the law holds."""
    written = write_test_file("theirs", name, imported("theirs", name))
    assert said in written.found
    assert set(verdicts(written.text, tmp_path, monkeypatch, BLOCK).values()) == {Verdict.HELD}
    assert len([line for line in written.text.splitlines() if line]) <= 50


@pytest.mark.parametrize("name", ["first_of_several", "tree"])
def test_several_drafts_and_trees_are_held_as_printed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two drafts, and the same two as a tree that parts at its root."""
    written = write_test_file("theirs", name, imported("theirs", name))
    assert "drafts=2" in written.text
    checks = ("lossless.block[probed:biased_coin]", "contract.contract[probed:reversed]")
    assert set(verdicts(written.text, tmp_path, monkeypatch, *checks).values()) == {Verdict.HELD}


def test_a_wrong_function_is_refuted_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The adapter does not repair what it wraps."""
    written = write_test_file("theirs", "biased", imported("theirs", "biased"))
    assert verdicts(written.text, tmp_path, monkeypatch, BLOCK)[BLOCK] is Verdict.FAILED


def test_what_is_not_known_is_left_to_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A parameter whose name says nothing: the file runs, and is undecided with that reason."""
    written = write_test_file("theirs", "needs_more", imported("theirs", "needs_more"))
    assert "say in the adapter what is given to cu_num_draft_tokens" in written.found
    assert verdicts(written.text, tmp_path, monkeypatch, SMALL)[SMALL] is Verdict.UNDECIDED


def test_a_function_of_models_is_written_as_a_decoder() -> None:
    """Models, a prefix and a number of tokens: the whole loop."""
    written = write_test_file("theirs", "generate", imported("theirs", "generate"))
    assert "def decode(self, target, draft, prefix, tokens, generator, sampling)" in written.text
    for line in ("target_model=target,", "draft_model=draft,", "prompt=prefix,", "max_new_tokens=tokens,"):
        assert line in written.text
    compile(written.text, "test_generate.py", "exec")


def test_command_line_prints_the_file_and_nothing_else(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Source on stdout, what was found out on stderr; mistakes exit 64 with what was read."""
    assert run("write", "theirs:padded") == 0
    printed = capsys.readouterr()
    assert printed.out == write_test_file("theirs", "padded", imported("theirs", "padded")).text
    assert "tried on 64 requests" in printed.err
    for subject, message in (
        ("theirs:nonsense", "no convention was found"),
        ("theirs:emited", "Did you mean 'emitted'?"),
        ("theirs", "takes module:object"),
        ("theirs:torch.pi", "neither a function nor an object"),
    ):
        assert run("write", subject) == 64
        assert message in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("draft_token_ids", "tokens"), ("candidate_input_ids", "tokens"), ("draftTokens", "tokens"), ("drafts", "tokens"),
        ("candidate_logits", "draft logits"), ("new_logits", "target logits"), ("logits", "target logits"),
        ("q", "draft rows"), ("p", "target rows"), ("target_probs", "target rows"), ("draft_probs", "draft rows"),
        ("uniform_samples", "uniforms"), ("rng", "generator"), ("parents", "parents"), ("draft_lengths", "lengths"),
        ("cu_num_draft_tokens", None), ("eps", None),
    ],
)  # fmt: skip
def test_roles_are_told_from_names(name: str, wanted: str | None) -> None:
    """The names that engines use (THIRD-PARTY conventions), in snake and camel case."""
    assert role(name, models=False) == wanted


def test_defaults_stay_except_for_randomness() -> None:
    """A default is the function's own business; randomness must be given to be accounted for."""

    def function(draft: Any, q: Any, p: Any, eps: float = 0.1, temperature: float = 0.7, generator: Any = None) -> None:
        """Nothing."""

    found = read_signature(function)
    assert found.roles == {"draft": "tokens", "q": "draft rows", "p": "target rows", "generator": "generator"}
    assert found.unknown == []
    assert inspect.signature(function).parameters["eps"].default == 0.1
