"""lmdeploy: the portable rejection sampling of its PyTorch engine, out of two files of its wheel."""

from typing import Any

from torch import Tensor

from specproof.fast.from_function import FunctionVerifier, from_function
from specproof.integration.adapters.known import counted, drawn, known
from specproof.integration.isolation import import_files
from specproof.integration.shelf import Located
from specproof.integration.unavailable import Unavailable

BACKENDS = "lmdeploy.pytorch.backends"
FILES = (f"{BACKENDS}.rejection_sampling", f"{BACKENDS}.default.rejection_sampling")
CLASS = "DefaultRejectionSamplingImpl"


def default(located: Located) -> FunctionVerifier:
    """Its forward pass for sampled requests: logits in, emitted tokens padded with -1 out; the caller draws the bonus."""
    files = {name: located.file(f"{name.replace('.', '/')}.py") for name in FILES}
    module = import_files(FILES[1], files)
    if not hasattr(module, CLASS):
        raise Unavailable(f"lmdeploy {located.version}: {FILES[1]} has no {CLASS}")
    forward = known(
        getattr(module, CLASS)(),
        "forward",
        "target_logits draft_token_ids bonus_token_ids is_greedy draft_probs",
        located,
    )

    def verify(tokens: Tensor, draft: Tensor, target: Tensor, generator: Any) -> tuple[Tensor, Tensor]:
        bonus = drawn(target[:, -1], generator)
        output, _, _ = forward(target[:, :-1].log(), tokens, bonus, is_greedy=None, draft_probs=draft)
        return counted(output)

    return from_function(verify, rule="standard", capabilities={"global_rng"})
