"""Adapters that run in the environments of their engines, served by ``integration/process/serve.py``.

They import nothing of specproof, which is not installed there; requests and answers are lists (``docs/process.md``).
"""
