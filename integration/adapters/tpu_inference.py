"""tpu-inference: its JAX rejection sampler, in an environment of its own."""

from specproof.integration.adapters.known import guest
from specproof.integration.process.verifier import ProcessVerifier
from specproof.integration.shelf import Located


def sampler(located: Located) -> ProcessVerifier:
    """The sampled path for requests of any length."""
    return guest(located, "tpu_inference.py:Guest")
