"""Real code under the certifier: third-party verifiers behind adapters, and models."""
