"""Certificates that several test files look at, made once for each process."""

from functools import cache
from typing import Any

from specproof.certificate import Certificate
from specproof.certification import certify
from specproof.subjects import resolve


@cache
def certificate_of(name: str, evidence: Any = "quick", **options: Any) -> Certificate:
    """The certificate of a named subject."""
    return certify(resolve(name, options), evidence=evidence)


def held() -> Certificate:
    """A verifier that keeps the law, by counting: 131,072 draws a case at family alpha 1e-6."""
    return certificate_of("fast:standard", "sampled")


def refuted() -> Certificate:
    """One that does not, by counting: found after some hundred draws."""
    return certificate_of("mutant:subtract_drafted_only", "sampled")


def exact() -> Certificate:
    """An exact rule that is refuted in its block law."""
    return certificate_of("reference:greedy_block", carry=False)
