"""Null calibration: levels hold, and one that does not is seen."""

import numpy as np
import pytest

from specproof.properties import calibration
from specproof.properties.calibration import Calibration, calibrate
from specproof.properties.evidence.e_process import EProcess
from specproof.properties.evidence.sampled import Reference


def test_every_level_holds() -> None:
    """60 null runs of every case at 1e-2: no check alarms more often than chance of 1e-6 allows (at most 8)."""
    found = list(calibrate(60))
    assert len({(it.case, it.check) for it in found}) == len(found) >= 8
    assert all(it.within for it in found)
    assert all(it.allowed <= 8 for it in found)


def test_a_level_that_is_off_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """An e-process against a law that is 5 % off alarms in most of 20 runs, where 4 are allowed."""

    class Tilted(Reference):
        """Fault: compares with another law."""

    right = Reference.of

    def wrong(case: object) -> Reference:
        known = right(case)  # type: ignore[arg-type]
        tilt = np.where(np.arange(len(known.law)) % 2, 1.1, 0.9) * known.law
        return Tilted(known.cells, known.possible, known.law, EProcess(tilt / tilt.sum()))

    monkeypatch.setattr(calibration.Reference, "of", wrong)
    assert not all(it.within for it in calibrate(20))


def test_what_is_allowed_is_the_binomial_bound() -> None:
    """10,000 runs at 1e-2: some 150 alarms are compatible with the level."""
    allowed = Calibration("case", "check", 10_000, 0).allowed
    assert 145 <= allowed <= 155
    assert Calibration("case", "check", 10_000, allowed).within
    assert not Calibration("case", "check", 10_000, allowed + 1).within
