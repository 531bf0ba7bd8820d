"""The ways in through pytest: checks as parameters of a test of one's own, and the plugin."""

import re
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import get_args

import pytest

# Inner runs drop the modules that they import; what registers torch operations must be there before, and stay.
import specproof.parametrize
import specproof.subjects  # noqa: F401
from specproof.properties.plan import EvidenceChoice
from specproof.pytest_plugin import CHOICES

pytest_plugins = ["pytester"]
ROOT = Path(__file__).resolve().parent.parent
CONFORMANCE = ("--pyargs", "specproof.conformance", "-p", "no:cacheprovider")
RULES = """
import specproof
from specproof.properties.subject import subject_of_rule
from specproof.reference.verifiers import rule

right = subject_of_rule(rule("standard"), name="right", version="1")
wrong = subject_of_rule(rule("greedy_block", carry=False), name="wrong", version="1")
"""
BLOCK = "lossless.block[exact:rows_by_context]"


def test_plugin_imports_nothing_heavy() -> None:
    """Every pytest run of an environment loads it: torch stays out until a subject is named."""
    code = "import specproof.pytest_plugin, sys; sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=120).returncode == 0
    assert get_args(EvidenceChoice) == CHOICES


def test_a_named_subject_is_certified_by_pytest_alone(pytester: pytest.Pytester) -> None:
    """``--pyargs specproof.conformance``: one test a check, counts in the summary, the subject in the header."""
    result = pytester.runpytest_inprocess(*CONFORMANCE, "--specproof-subject", "reference:standard")
    assert result.ret == 0
    result.stdout.fnmatch_lines([
        "specproof: subject reference:standard, evidence quick, seed 0",
        "reference:standard: planned 126, run 106, not applicable 20; held 106, failed 0, undecided 0",
    ])  # fmt: skip


def test_a_refuted_subject_fails_with_its_counterexample(pytester: pytest.Pytester) -> None:
    """The failure is the check's reason and the instance, not a traceback; ``-k`` selects, and the summary says so."""
    subject = ("--specproof-subject", "mutant:greedy_block_without_carry", "--specproof-evidence", "exact")
    result = pytester.runpytest_inprocess(*CONFORMANCE, *subject, "-k", "lossless.iterations and V2_L2")
    assert result.ret == 1
    result.stdout.fnmatch_lines([
        "FAILED: mutant:greedy_block_without_carry, lossless.iterations?exact:iterations_V2_L2?",
        "  total variation * from the target",
        "  counterexample 'iterations V2 L2' (V=2, L=2, K=1), total variation *",
        "    target after (): *",
        "*failed 1, undecided 0; * not selected: this is no certificate",
    ])  # fmt: skip
    assert "Traceback" not in result.stdout.str()


def test_without_a_subject_the_test_is_skipped_with_the_reason(pytester: pytest.Pytester) -> None:
    """Collecting it by accident neither passes nor fails."""
    result = pytester.runpytest_inprocess(*CONFORMANCE, "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*say what to certify with --specproof-subject module:object"])


def test_an_unknown_subject_or_check_stops_the_collection(pytester: pytest.Pytester) -> None:
    """What is allowed is said, and nothing runs."""
    pytester.makefile(".json", known='{"lossless.blok": "typo"}')
    for arguments, message in (
        (["--specproof-subject", "reference:blok"], "*Did you mean 'block'?*"),
        (
            ["--specproof-subject", "reference:standard", "--specproof-expect", "known.json"],
            "*Unknown check in the expected failures 'lossless.blok'*",
        ),
    ):
        result = pytester.runpytest_inprocess(*CONFORMANCE, *arguments)
        assert result.ret == pytest.ExitCode.INTERRUPTED
        result.stdout.fnmatch_lines([message])
        assert "Traceback" not in result.stdout.str()


def test_checks_are_parameters_of_ones_own_test(pytester: pytest.Pytester) -> None:
    """Two subjects, a known failure of one of them: everything else passes, ids name subject, claim and case."""
    pytester.makepyfile(
        RULES
        + f"""
known = {{{BLOCK!r}: "the modification is dropped"}}

@specproof.parametrize_with_checks([right, wrong], expected_failures=lambda it: known if it is wrong else {{}})
def test_rules(check):
    check()
"""
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-rx", "-k", "rows_by_context")
    assert result.ret == 0
    outcomes = result.parseoutcomes()
    assert (outcomes["xfailed"], outcomes["passed"], outcomes["skipped"]) == (1, 9, 2)
    result.stdout.fnmatch_lines(
        ["*test_rules?wrong-lossless.block?exact:rows_by_context?? - the modification is dropped"]
    )
    result.stdout.fnmatch_lines(["right: planned 126, run 5, not applicable 1; held 5,*120 not selected*"])


def test_an_unexpected_pass_fails_and_an_unknown_check_is_an_error(pytester: pytest.Pytester) -> None:
    """A listed failure that was repaired must be taken off the list; one that never existed stops the collection."""
    pytester.makepyfile(
        RULES
        + f"""
@specproof.parametrize_with_checks([right], expected_failures={{{BLOCK!r}: "was wrong once"}})
def test_rules(check):
    check()
"""
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-k", "rows_by_context")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*XPASS(strict)*was wrong once*"])
    pytester.makepyfile(
        RULES
        + """
@specproof.parametrize_with_checks([right], expected_failures={"lossless.block[exact:rows]": "no such"})
def test_rules(check):
    check()
"""
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(
        ["*Unknown check in the expected failures 'lossless.block[[]exact:rows[]]'. Did you mean*"]
    )


@pytest.mark.nightly
def test_summary_counts_over_several_processes(pytester: pytest.Pytester) -> None:
    """What the workers of pytest-xdist ran is counted once, by the process that prints."""
    pytester.makeini("[pytest]\nconsole_output_style = classic")
    result = pytester.runpytest_subprocess(*CONFORMANCE, "--specproof-subject", "reference:standard", "-n", "2")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["reference:standard: planned 126, run 106, not applicable 20; held 106,*"])


@pytest.mark.nightly
@pytest.mark.skipif(not (ROOT / "pyproject.toml").exists(), reason="an installed copy has no project to build")
def test_the_wheel_brings_plugin_conformance_schema_and_page(tmp_path: Path) -> None:
    """Built, installed into an environment of its own (which borrows the packages that specproof needs), and used there."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", tmp_path, ROOT], check=True, timeout=600)
    (wheel,) = tmp_path.glob("specproof-*.whl")
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True, timeout=600)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([*pip, "--python", python, "install", "--no-deps", wheel], check=True, timeout=600)
    (site,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib"))
    (tmp_path / "theirs.py").write_text(
        "import torch\n\ndef verify(tokens, draft, target, generator):\n"
        "    first = torch.multinomial(target[:, 0], 1, generator=generator)\n"
        "    return torch.cat([first, torch.full_like(tokens, -1)], -1), torch.zeros(len(first), dtype=torch.int64)\n"
    )

    def here(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [python, "-m", *arguments], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=600,
            env={"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1", "XDG_STATE_HOME": str(tmp_path)},
        )  # fmt: skip

    tested = here("pytest", *CONFORMANCE, "--specproof-subject", "theirs:verify", "--specproof-evidence", "sampled")
    assert tested.returncode == 0, tested.stdout
    assert re.search(
        r"theirs:verify: planned (\d+), run \1, not applicable 0; held \1, failed 0, undecided 0", tested.stdout
    )
    certified = here(
        "specproof.cli", "certify", "theirs:verify", "--evidence", "sampled", "--html", "c.html", "--json", "c.json"
    )
    assert certified.returncode == 0, certified.stderr
    assert "<h1>theirs:verify" in (tmp_path / "c.html").read_text()
    assert here("specproof.cli", "judge", "c.json").returncode == 0
    listed = here("zipfile", "--list", str(wheel)).stdout
    assert "specproof/schema/certificate-2.json" in listed
