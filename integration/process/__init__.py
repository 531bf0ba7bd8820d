"""Verifiers in a process of their own, spoken to in JSON lines: engines in C++, Rust or another Python (``docs/process.md``)."""
