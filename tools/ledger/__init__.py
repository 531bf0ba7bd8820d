"""The ledger: every third-party subject that is installed, certified one after the other, in one table."""
