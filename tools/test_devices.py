"""A device that is not there is refused before any model is opened, built or run."""

from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from specproof import generate_command, zoo_command
from specproof.cli import app
from specproof.usage import UsageError

COMMANDS = (
    ("certify", "fast:standard"),
    ("generate", "Hello"),
    ("zoo", "build", "--family", "tiny"),
    ("study", "spectr_gbv", "--family", "tiny"),
    ("study", "metasd", "--family", "tiny"),
    ("study", "lossless", "--family", "tiny"),
    ("bench", "verify", "--quick"),
)


@pytest.mark.parametrize(
    ("device", "message"),
    [("cuda", "--device cuda: this machine has no CUDA device"), ("cudda", "Did you mean 'cuda'?")],
)
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_device_that_is_not_there_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: tuple[str, ...], device: str, message: str
) -> None:
    """No family is opened or built, and no model loaded."""

    def opened(*_: object, **__: object) -> None:
        raise AssertionError("a model is opened")

    monkeypatch.setenv("SPECPROOF_HOME", str(tmp_path))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(generate_command, "load", opened)
    monkeypatch.setattr(zoo_command, "Family", opened)
    monkeypatch.setattr(zoo_command, "build_family", opened)
    result = CliRunner().invoke(app, [*command, "--device", device])
    assert isinstance(result.exception, UsageError)
    assert message in str(result.exception)
    assert list(tmp_path.iterdir()) == []
