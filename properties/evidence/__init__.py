"""Evidence: exact, probed and sampled. Each kind says what it cannot see."""
