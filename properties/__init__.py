"""What must hold of a verifier, how it is decided, and the verifiers that must fail it."""
