"""Hugging Face transformers: the speculative sampling behind ``generate(assistant_model=...)``.

``transformers.generation.utils._speculative_sampling`` verifies one request from logits. It is private and its signature
has changed between releases, so it is inspected; a signature that is not known is reported, never guessed at.
"""

import inspect
from collections.abc import Callable
from fractions import Fraction
from importlib import metadata
from typing import Any

import torch

from specproof.fast.batch import Drafting, Drafts, Outcome, Randomness
from specproof.integration.shelf import Located
from specproof.integration.unavailable import Unavailable
from specproof.reference.names import nearest

FUNCTION = "_speculative_sampling"
# Arguments by release: what every release takes, then what came and went, with the value that changes nothing.
NEEDED = {"candidate_input_ids", "candidate_logits", "candidate_length", "new_logits"}
NEUTRAL = {"is_done_candidate": False, "last_assistant_token_is_eos": False, "max_matches": None}
OPTIONS = {"assistant_ensemble_weight": None}


def version() -> str:
    """Installed version. Raises ``Unavailable`` when the package is missing."""
    try:
        return metadata.version("transformers")
    except metadata.PackageNotFoundError:
        raise Unavailable("transformers is not installed; pip install 'specproof[transformers]'") from None


class SpeculativeSampling:
    """The installed function as a verifier, held to the target's law whatever its options.

    ``assistant_ensemble_weight`` below 1 loses it; acceptance is then that of the ensemble rule.
    """

    drafting = Drafting(drafts=1)

    def __init__(self, function: Callable[..., Any], **options: float) -> None:
        self._function = function
        parameters = inspect.signature(function).parameters
        unknown = set(parameters) - NEEDED - set(NEUTRAL) - set(OPTIONS)
        missing = NEEDED - set(parameters)
        if unknown or missing:
            problem = f"unknown arguments {sorted(unknown)}" if unknown else f"no arguments {sorted(missing)}"
            raise Unavailable(f"transformers {version()}: {FUNCTION} has {problem}; this adapter does not know it")
        for option in options:
            if option not in OPTIONS or option not in parameters:
                raise ValueError(nearest("option of transformers", option, OPTIONS.keys() & parameters.keys()))
        neutral = {name: value for name, value in NEUTRAL.items() if name in parameters}
        self._extra = {**neutral, **options}
        self._limits_matches = "max_matches" in parameters
        weight = options.get("assistant_ensemble_weight")
        self.rule = "standard" if weight is None else "ensemble"
        self.rule_options = {} if weight is None else {"weight": Fraction(str(weight))}
        self.capabilities = frozenset({"batch", "global_rng", "takes_logits"})

    def verify(self, drafts: Drafts, generator: Randomness, carry: Any = None) -> Outcome:  # noqa: ARG002
        """Verify the batch one request after the other; randomness is the global generator's."""
        drafts.check()
        if self._limits_matches:
            self._extra["max_matches"] = drafts.length
        target, draft = drafts.target_probs.log(), drafts.draft_rows().log()  # [B, 1, L+1, V], [B, 1, L, V]
        tokens, accepted = [], []
        for ids, candidate, new in zip(drafts.tokens, draft, target, strict=True):
            valid, matches = self._function(
                candidate_input_ids=ids,  # [1, L]
                candidate_logits=candidate,  # [1, L, V]
                candidate_length=drafts.length,
                new_logits=new,  # [1, L+1, V]
                **self._extra,
            )
            accepted.append(int(matches))
            emitted = valid[0].tolist()
            tokens.append(emitted + [-1] * (drafts.length + 1 - len(emitted)))
        return Outcome(torch.tensor(tokens), torch.tensor(accepted))


def load(**options: Any) -> SpeculativeSampling:
    """Return the installed transformers' verifier.

    Raises ``Unavailable`` when the package, the function or a known signature is missing, ``ValueError`` for an option
    that it does not have or a weight outside (0, 1].
    """
    version()
    weight = options.get("assistant_ensemble_weight")
    if weight is not None and (isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight <= 1):
        raise ValueError(f"assistant_ensemble_weight must be a number in (0, 1], got {weight!r}")
    try:
        from transformers.generation import utils

        function = getattr(utils, FUNCTION)
    except (ImportError, AttributeError) as error:
        raise Unavailable(f"transformers {version()}: cannot import generation.utils.{FUNCTION} ({error})") from None
    return SpeculativeSampling(function, **options)


def kernel(located: Located, assistant_ensemble_weight: float | None = None) -> SpeculativeSampling:  # noqa: ARG001
    """Return the function as a verifier; a weight below one loses the target's law."""
    return load() if assistant_ensemble_weight is None else load(assistant_ensemble_weight=assistant_ensemble_weight)
