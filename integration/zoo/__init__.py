"""A family of small language models, built on the spot: a target, drafters for it, and an EAGLE-style head.

Real architectures of ``transformers``, trained in minutes on text that packages ship: what the verifiers and bandits are
tried on where no larger models are at hand. ``recipe`` says what is built, ``build`` builds it, ``family`` opens it.
"""
