"""Where models and kernels run, checked before anything is loaded."""

from typing import Annotated

import torch
import typer

from specproof.reference.names import nearest
from specproof.usage import refuse

DEVICES = ("cpu", "cuda")
Device = Annotated[str, typer.Option(help="cpu or cuda.")]


def check_device(given: str) -> None:
    """Raise ``UsageError`` for a device that is not known or not there."""
    if given not in DEVICES:
        refuse(nearest("device", given, DEVICES))
    if given == "cuda" and not torch.cuda.is_available():
        refuse("--device cuda: this machine has no CUDA device; use cpu")
