"""Hypothesis profiles. Fixtures that adopters need do not live here: this file is not in the wheel."""

import os
from pathlib import Path

# Before anything imports torch: two threads make calls on small tensors many times slower than one.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from filelock import FileLock
from hypothesis import HealthCheck, settings

settings.register_profile(
    "ci", derandomize=True, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("nightly", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(scope="session")
def tiny_zoo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with the tiny family in it, built once for all processes of a run."""
    from specproof.integration.zoo.build import build
    from specproof.integration.zoo.recipe import TINY

    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "home" / "zoo"
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        build(TINY, folder, lambda *_: None)
    return folder
