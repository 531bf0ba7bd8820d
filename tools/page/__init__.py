"""The certificate as one HTML page that stands alone: no script, no request, readable in half a minute.

Everything is escaped by the template engine; the page's own policy forbids scripts and requests besides.
"""

import shlex
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from specproof.certificate import Certificate
from specproof.page.charts import WIDTH, acceptance_chart, e_process_chart, law_charts
from specproof.properties.check import CLAIMS, CheckResult
from specproof.properties.verdict import Verdict

SENTENCE = {
    Verdict.HELD: "Certified: no claim is violated.",
    Verdict.FAILED: "Refuted.",
    Verdict.UNDECIDED: "Not decided: this is no certificate.",
}
SHOWN_ROWS = 12


@dataclass(frozen=True)
class Sharpness:
    """How sharply one claim was measured."""

    claim: str
    meaning: str
    verdict: Verdict
    checks: int
    read: float | None  # largest total variation of a law that was read or enumerated
    bound: float | None  # largest total variation that the counts leave open
    confidence: float | None  # 1 - this is the chance that the bound is wrong
    detectable: float | None


def page(certificate: Certificate) -> str:
    """Write the page."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    return environment.get_template("certificate.html.jinja").render(
        certificate=certificate,
        sentence=SENTENCE[certificate.verdict],
        meanings=CLAIMS,
        claims=[sharpness(certificate, claim) for claim in certificate.claims],
        sharpest=sharpest(certificate),
        troubled=troubled(certificate),
        laws=law_charts(certificate),
        acceptance=acceptance_chart(certificate),
        process=e_process_chart(certificate),
        counterexample=certificate.counterexample,
        command=command(certificate),
        rows=SHOWN_ROWS,
        width=WIDTH,
    )


def sharpness(certificate: Certificate, claim: str) -> Sharpness:
    """The worst numbers of a claim's decided checks."""
    own = [check for check in certificate.checks if check.claim == claim]
    decided = [check.evidence for check in own if check.verdict in (Verdict.HELD, Verdict.FAILED)]
    counted = [evidence for evidence in decided if evidence.kind == "sampled" and evidence.upper_bound is not None]
    read = [it.total_variation for it in decided if it.kind != "sampled" and it.total_variation is not None]
    return Sharpness(
        claim, CLAIMS.get(claim, ""), certificate.claims[claim], len(own),
        max(read, default=None),
        max((it.upper_bound for it in counted if it.upper_bound is not None), default=None),
        max((1 - it.confidence for it in counted if it.confidence is not None), default=None),
        max((it.detectable for it in counted if it.detectable is not None), default=None),
    )  # fmt: skip


def sharpest(certificate: Certificate) -> str:
    """How far from the target the law can still be, in total variation."""
    measured = [sharpness(certificate, claim) for claim in certificate.claims]
    read = max((it.read for it in measured if it.read is not None), default=None)
    bound = max((it.bound for it in measured if it.bound is not None), default=None)
    sentences = []
    if read is not None:
        sentences.append(
            f"Laws read without sampling differ by at most {read:.1e}." if read else "Exact laws: no difference."
        )
    if bound is not None:
        sentences.append(f"Counted texts: at most {bound:.3f}, with confidence 1 - {certificate.alpha.family:.0e}.")
    return " ".join(sentences)


def troubled(certificate: Certificate) -> list[tuple[Verdict, str, list[str]]]:
    """Failed and undecided checks that say the same thing, together: verdict, reason, ids; failed ones first."""
    together: dict[tuple[Verdict, str], list[str]] = {}
    for wanted in (Verdict.FAILED, Verdict.UNDECIDED):
        for check in certificate.checks:
            if check.verdict is wanted:
                together.setdefault((wanted, check.reason), []).append(check.id)
    return [(verdict, reason, ids) for (verdict, reason), ids in together.items()]


def command(certificate: Certificate) -> str:
    """The command that shows the counterexample again, or the certification itself where there is none."""
    shown = certificate.counterexample
    if shown is not None and shown.replay is not None:
        return shown.replay
    options = " ".join(
        f"--option {shlex.quote(f'{key}={value}')}" for key, value in certificate.subject.options.items()
    )
    kind = _shown_by(certificate).evidence.kind if shown is not None else certificate.evidence
    parts = ["specproof certify", shlex.quote(certificate.subject.name), options, f"--evidence {kind}"]
    return " ".join([*filter(None, parts), f"--seed {certificate.seeds['suite']}"])


def _shown_by(certificate: Certificate) -> CheckResult:
    return next(check for check in certificate.checks if check.counterexample is certificate.counterexample)
