"""Process subjects: judged as the same code in this process, and undecided with the reason for everything that can go wrong."""

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

import specproof
from specproof.fast.batch import Drafts
from specproof.fast.verifiers import VERIFIERS
from specproof.integration import process
from specproof.integration.process.channel import Limits
from specproof.integration.process.verifier import ProcessVerifier
from specproof.properties import contract, lossless
from specproof.properties.cases import one_step_cases
from specproof.properties.evidence.probing import observe_probed
from specproof.properties.evidence.sampled import Sample, SamplePlan, observe_sampled
from specproof.properties.plan import Plan
from specproof.properties.subject import subject_of_verifier
from specproof.properties.suite import checks
from specproof.properties.verdict import Undecided, Verdict
from specproof.reference.law import total_variation
from specproof.subjects import UnknownSubject, resolve

SERVE = str(Path(process.__file__).with_name("serve.py"))
STANDARD = '''
class Guest:
    """Standard verification on uniforms: L coins, then one for the token after them."""

    hello = {"name": "tiny", "version": "7", "rule": "standard", "capabilities": ["ragged"], "uniforms": {"token": 1, "request": 1}}

    def answer(self, request):
        out = {"tokens": [], "accepted": []}
        lengths = request.get("lengths") or [len(paths[0]) for paths in request["tokens"]]
        for (x,), (q,), (p,), u, most in zip(
            request["tokens"], request["draft_probs"], request["target_probs"], request["uniforms"], lengths
        ):
            n = 0
            while n < most and u[n] * q[n][x[n]] < p[n][x[n]]:
                n += 1
            left = p[n] if n == most else [max(a - b, 0) for a, b in zip(p[n], q[n])]
            place, token = u[-1] * sum(left), 0
            while token + 1 < len(left) and place >= left[token]:
                place -= left[token]
                token += 1
            while not left[token]:
                token -= 1
            out["tokens"].append([*x[:n], token] + [-1] * (len(x) - n))
            out["accepted"].append(n)
        return out
'''
OWN_DICE = STANDARD.replace(', "uniforms": {"token": 1, "request": 1}', "").replace(
    "out = {", 'import random\n        dice = random.Random(request["seed"])\n        '
    'request["uniforms"] = [[dice.random() for _ in range(len(x[0]) + 1)] for x in request["tokens"]]\n        out = {',
)  # fmt: skip
RACING = (
    STANDARD.replace(', "uniforms": {"token": 1, "request": 1}', ', "uniforms": {"token": 1}, "exponentials": 1')
    .replace(
        """            place, token = u[-1] * sum(left), 0
            while token + 1 < len(left) and place >= left[token]:
                place -= left[token]
                token += 1
            while not left[token]:
                token -= 1
""",
        """            (e,) = exponentials.pop(0)
            token = max(range(len(left)), key=lambda v: left[v] / e[v])
""",
    )
    .replace("out = {", 'exponentials = list(request["exponentials"])\n        out = {')
)
DRAFTS = Drafts(torch.tensor([[[0, 1]]] * 3), torch.full((3, 1, 2, 2), 0.5), torch.full((3, 1, 3, 2), 0.5))


def command(folder: Path, text: str) -> list[str]:
    """A tiny guest on disk, served without specproof."""
    path = folder / "guest.py"
    path.write_text(text)
    return [sys.executable, SERVE, f"{path}:Guest"]


def script(folder: Path, text: str) -> list[str]:
    """A program that speaks for itself."""
    path = folder / "engine.py"
    path.write_text(f"import json, os, sys, time\n{text}")
    return [sys.executable, str(path)]


def counted(words: list[str]) -> Sample:
    """A few thousand texts of the process on one case, at alpha 1e-6."""
    case = next(case for case in one_step_cases() if case.name == "reversed")
    subject = subject_of_verifier(ProcessVerifier(words), name="tiny")
    return observe_sampled(subject, case, SamplePlan(4096, 1e-6, 1e-7, seed=1))


HELLO = 'print(json.dumps({"specproof": 1, "uniforms": {"token": 1, "request": 1}}), flush=True)\n'


def test_process_with_uniforms_is_probed(tmp_path: Path) -> None:
    """Its law comes out to float rounding, through the pipe as in this process."""
    subject = subject_of_verifier(ProcessVerifier(command(tmp_path, STANDARD)), name="tiny")
    for case in one_step_cases():
        if case.name in ("reversed", "impossible tokens"):
            assert total_variation(observe_probed(subject, case).text, case.target_law) <= 1e-6


def test_process_that_races_is_probed(tmp_path: Path) -> None:
    """Exponentials come beside the uniforms: a choice by a race is read to float rounding, and a wrong one is off."""
    (case,) = [case for case in one_step_cases() if case.name == "rows by context"]
    for text, least, most in (
        (RACING, 0.0, 1e-6),
        (RACING.replace("left[v] / e[v]", "left[v] / e[v] ** 2"), 0.01, 1.0),
    ):
        verifier = ProcessVerifier(command(tmp_path, text))
        assert verifier.capabilities == {"batch", "ragged"}
        distance = total_variation(
            observe_probed(subject_of_verifier(verifier, name="racing"), case).text, case.target_law
        )
        assert least <= distance <= most
    with pytest.raises(TypeError, match="exponentials are drawn from a generator"):
        verifier.verify(DRAFTS, torch.zeros(3, 2))


def test_process_with_dice_of_its_own_is_counted(tmp_path: Path) -> None:
    """Probed checks do not apply to it, the counted ones decide; a wrong one is refuted with a counterexample.

    Counted at family alpha 1e-6 with at most 2^17 texts a case: the wrong one, which corrects with the target in place of
    the residual, is off by more than .1, which a few hundred texts show.
    """
    right = resolve(f"process:{' '.join(command(tmp_path, OWN_DICE))}")
    planned = list(checks(right, Plan()))
    probed = [check.run() for check in planned if check.kind == "probed"]
    assert probed
    assert all(result.verdict is Verdict.NOT_APPLICABLE for result in probed)
    assert [check for check in planned if check.kind == "sampled"]
    wrong = OWN_DICE.replace("left = p[n] if n == most else [max(a - b, 0) for a, b in zip(p[n], q[n])]", "left = p[n]")
    found = lossless.judge_counts(counted(command(tmp_path, wrong)))
    assert found.verdict is Verdict.FAILED
    assert found.counterexample is not None


def test_specproof_verifiers_can_be_served() -> None:
    """A verifier of tensors behind the module answers as it does here with the seed of the request."""
    where = "specproof.fast.verifiers:recursive"
    served = ProcessVerifier([sys.executable, "-m", "specproof.integration.process.serve", where])
    assert served.rule == "recursive"
    assert served.capabilities == {"batch", "ragged", "drafts", "hidden_randomness"}
    batch = 500
    shape = (batch, 2, 2)
    drafts = Drafts(
        torch.randint(3, shape), torch.full((*shape, 3), 1 / 3), torch.tensor([0.7, 0.2, 0.1]).expand(batch, 2, 3, 3)
    )
    seed = int(torch.rand((), dtype=torch.float64, generator=torch.Generator().manual_seed(5)) * 2**31)
    theirs = served.verify(drafts, torch.Generator().manual_seed(5))
    ours = VERIFIERS["recursive"].verify(drafts, torch.Generator().manual_seed(seed))
    assert torch.equal(theirs.tokens, ours.tokens)
    assert torch.equal(theirs.accepted, ours.accepted)
    assert theirs.path is not None
    assert torch.equal(theirs.path, ours.path)  # type: ignore[arg-type]


FAILURES = {
    "exit": ("sys.stdin.readline(); sys.exit('out of cheese')", r"exited with 1; standard error: out of cheese"),
    "crash": ("sys.stdin.readline(); os.abort()", r"ended by SIGABRT"),
    "hang": ("sys.stdin.readline(); time.sleep(60)", r"no answer within 0\.5 s"),
    "deaf": ("time.sleep(60)", r"no answer within 0\.5 s"),
    "no json": ("sys.stdin.readline(); print('Segmentation fault', flush=True); time.sleep(9)", r"no JSON: 'Segmentation fault'"),
    "no object": ("sys.stdin.readline(); print('[1]', flush=True); time.sleep(9)", r"no JSON object"),
    "no end": ("sys.stdin.readline()\nwhile True: sys.stdout.write('x' * 65536)", r"bytes without ending the line"),
    "wrong id": ("sys.stdin.readline(); print('{\"id\": 9}', flush=True); time.sleep(9)", r"id 9, request 1 was asked"),
    "no tokens": ("sys.stdin.readline(); print('{\"id\": 1}', flush=True); time.sleep(9)", r"no 'tokens'"),
    "ragged": (
        "sys.stdin.readline(); print('{\"id\": 1, \"tokens\": [[1],[1,2]], \"accepted\": [0]}', flush=True); time.sleep(9)",
        r"'tokens' in the answer is no array",
    ),
    "unasked": ("print('ready!', flush=True); time.sleep(9)", r"nobody asked for: 'ready!'|no JSON: 'ready!'"),
    "memory": ("hog = bytearray(400 << 20); hog[::4096] = b'x' * len(hog[::4096]); time.sleep(9)", r"MiB of memory, more than 200"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAILURES)
def test_what_goes_wrong_is_undecided_with_the_reason(fault: str, tmp_path: Path) -> None:
    """Crash, hang, bad line, flood, memory: the reason says which, quickly, and no process is left behind."""
    program, reason = FAILURES[fault]
    limits = Limits(seconds=3.0 if fault in ("no end", "memory") else 0.5, memory=200 if fault == "memory" else None)
    verifier = ProcessVerifier(script(tmp_path, HELLO + program), limits)
    if fault in ("unasked", "exit"):
        time.sleep(0.3)
    started = time.monotonic()
    with pytest.raises(Undecided, match=reason):
        verifier.verify(DRAFTS, torch.Generator().manual_seed(0))
    assert time.monotonic() - started < 10
    assert verifier._channel is None


def test_a_process_that_fails_again_and_again_is_left_alone(tmp_path: Path) -> None:
    """It is started three times in all; an error that it reports itself costs nothing."""
    log = tmp_path / "starts"
    program = f"open({str(log)!r}, 'a').write('x')\n{HELLO}sys.stdin.readline(); sys.exit(3)"
    verifier = ProcessVerifier(script(tmp_path, program))
    for _ in range(5):
        with pytest.raises(Undecided, match="exited with 3"):
            verifier.verify(DRAFTS, None)
    assert log.read_text() == "xxx"
    polite = ProcessVerifier(
        command(tmp_path, STANDARD.replace("out = {", "raise ValueError('L = 2 is not built')\n        out = {"))
    )
    with pytest.raises(RuntimeError, match=r"in the process: ValueError: L = 2 is not built"):
        polite.verify(DRAFTS, None)
    assert polite._channel is not None


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("print('hi')", "no JSON: 'hi'"),
        ("print('{}')", r"hello must say \{\"specproof\": 1\}, got None"),
        ("print(json.dumps({'specproof': 2}))", "got 2"),
        ("print(json.dumps({'specproof': 1, 'capabilities': ['tre']}))", "'tree'"),
        ("print(json.dumps({'specproof': 1, 'rule': 'standart'}))", "'standard'"),
        ("print(json.dumps({'specproof': 1, 'uniforms': 3}))", "'token' in hello must be a whole number"),
        ("print(json.dumps({'specproof': 1, 'exponentials': 1}))", "come beside 'uniforms'"),
        ("sys.exit(5)", "exited with 5"),
    ],
)
def test_hello_is_checked(line: str, reason: str, tmp_path: Path) -> None:
    """A process that says nothing sensible makes a subject that is unavailable, hence UNDECIDED."""
    subject = resolve(f"process:{' '.join(script(tmp_path, line))}")
    assert subject.unavailable
    assert re.search(reason, subject.unavailable)
    assert specproof.certify(subject).verdict is Verdict.UNDECIDED


def test_options_are_limits() -> None:
    """Unknown ones and those out of range are refused before anything is started."""
    for options, reason in (
        ({"timeot": 1}, "'timeout'"),
        ({"timeout": 0}, "positive"),
        ({"memory": "much"}, "positive"),
    ):
        with pytest.raises(UnknownSubject, match=reason):
            resolve("process:false", options)
    with pytest.raises(UnknownSubject, match="written process:COMMAND"):
        resolve("process: ")
    assert "cannot be started" in str(resolve("process:/no/such/engine").unavailable)


def test_wrong_shapes_break_the_contract(tmp_path: Path) -> None:
    """An answer with too few columns is a broken contract, as it would be in this process."""
    text = STANDARD.replace("+ [-1] * (len(x) - n)", "").replace("[*x[:n], token]", "[token]")
    assert contract.judge_counts(counted(command(tmp_path, text))).verdict is Verdict.FAILED


def test_a_program_in_c_is_probed(tmp_path: Path) -> None:
    """An engine in C, compiled here, speaks the protocol with the C library alone and keeps the law."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler on this machine")
    source = Path(process.__file__).with_name("example.c")
    if not source.exists():
        pytest.skip("an installed copy does not bring the example")
    engine = tmp_path / "engine"
    subprocess.run([compiler, "-O1", "-o", engine, source], check=True)
    subject = resolve(f"process:{engine}")
    assert subject.unavailable is None
    for case in one_step_cases():
        if case.name in ("reversed", "rows by context"):
            assert total_variation(observe_probed(subject, case).text, case.target_law) <= 1e-6
