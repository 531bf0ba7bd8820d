"""``specproof bench``: how fast the verifiers are beside others on the same inputs, and how much they accept."""
