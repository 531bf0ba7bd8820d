"""Certify a subject with pytest alone: ``pytest --pyargs specproof.conformance --specproof-subject module:object``."""

from typing import Any


def test_conformance(specproof_check: Any) -> None:
    """One check of the subject holds."""
    specproof_check()
