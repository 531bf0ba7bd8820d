"""``certify``: run every check of a plan on a subject and put the certificate together."""

import time
from collections.abc import Callable
from typing import Any

from specproof.certificate import Certificate, assemble
from specproof.properties.plan import EvidenceChoice, Plan
from specproof.properties.suite import checks
from specproof.subjects import describe

Listener = Callable[[int, int, str], None]


def certify(
    subject: Any, *, evidence: EvidenceChoice = "quick", seed: int = 0, seconds: float | None = None,
    on_event: Listener | None = None,
) -> Certificate:  # fmt: skip
    """Certify a verifier object, a plain function, or a subject, and return its certificate.

    ``evidence``: ``quick`` (probed or exact, and 131,072 sampled texts a case), ``nightly`` (8,388,608), or one kind alone.
    ``seconds`` limits the sampled evidence; what it cuts short is UNDECIDED. ``on_event(done, planned, check id)`` is
    called before each check. Raises ``TypeError`` or ``ValueError`` for an object that cannot be a subject.
    """
    described = describe(subject)
    plan = Plan(evidence, seed, seconds)
    started = time.monotonic()
    planned = list(checks(described, plan))
    results = []
    for done, check in enumerate(planned):
        if on_event is not None:
            on_event(done, len(planned), check.id)
        results.append(check.run())
    if on_event is not None:
        on_event(len(planned), len(planned), "")
    return assemble(described, plan, len(planned), results, time.monotonic() - started)
