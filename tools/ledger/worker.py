"""Certify one third-party subject and write its ledger entry: run as a process, so that a crash is one row's.

``python -m specproof.ledger.worker NAME EVIDENCE SEED FOLDER``. Progress goes to standard output, a line each.
"""

import signal
import sys
import time
from pathlib import Path
from typing import Any

import torch

from specproof.certification import certify
from specproof.integration import adapters
from specproof.journal import opened
from specproof.ledger.entry import ANCHORS, entry_of
from specproof.ledger.keep import certificate_path, entry_path, key_of
from specproof.ledger.lifeline import end_with_parent
from specproof.output import write_file
from specproof.properties.cases import one_step_cases
from specproof.properties.evidence.calls import MalformedOutcome, call, requests_batch
from specproof.properties.evidence.probing import weighted_requests
from specproof.properties.plan import EvidenceChoice, Plan
from specproof.properties.subject import Subject
from specproof.properties.verdict import Undecided
from specproof.subjects import resolve

PATIENCE = 120.0  # seconds of this process for one piece of evidence; one that takes longer stays undecided
ROWS, SLOW_ROWS, ROUNDS, MOST_SECONDS = 4096, 128, 5, 20.0


def run(name: str, evidence: EvidenceChoice, seed: int, folder: Path) -> None:
    """Certify, measure, write the certificate and the entry."""
    torch.set_num_threads(1)
    subject = resolve(name)
    plan = Plan(evidence, seed)
    with opened(subject, plan) as journal:
        signal.signal(signal.SIGVTALRM, _too_long)
        certificate = certify(subject, evidence=evidence, seed=seed, on_event=_told, journal=journal)
    speed = None if subject.unavailable else microseconds(subject)
    write_file(certificate_path(folder, name), certificate.to_json())
    entry = entry_of(certificate, adapters.adapter(name).about, speed, key_of(name, subject.version, evidence, seed))
    write_file(entry_path(folder, name), entry.model_dump_json(indent=1))


def _told(done: int, planned: int, check: str) -> None:
    """Before each check: say so, and start its time."""
    signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE if done < planned else 0)
    print(f"{done} {planned} {check}", flush=True)


def _too_long(*_: Any) -> None:
    raise Undecided(f"no evidence within {PATIENCE:g} s of computing")


def microseconds(subject: Subject) -> float | None:
    """The least time of one row over some batches on the anchor case; None for what draws its own drafts."""
    if subject.kind != "verifier":
        return None
    case = next(case for case in one_step_cases(subject.drafting.drafts) if case.name in ANCHORS)
    requests, weights = zip(*weighted_requests(case, (), replacement=subject.drafting.replacement), strict=True)
    rows = 1 if "batch" not in subject.capabilities else SLOW_ROWS if "slow" in subject.capabilities else ROWS
    drawn = torch.tensor(weights).multinomial(rows, replacement=True, generator=torch.Generator().manual_seed(0))
    drafts = requests_batch(case, [requests[i] for i in drawn.tolist()])
    generator, taken = torch.Generator().manual_seed(0), []
    for _ in range(ROUNDS * (ROWS // rows if rows == 1 else 1)):
        began = time.perf_counter()
        try:
            call(subject, drafts, generator)
        except (Undecided, MalformedOutcome):
            return None
        taken.append(time.perf_counter() - began)
        if sum(taken) > MOST_SECONDS:
            break
    return min(taken) / rows * 1e6


if __name__ == "__main__":
    end_with_parent()
    run(sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))  # type: ignore[arg-type]
