"""Studies: the papers' comparisons, run on real generation with the family of small models (or anybody's models)."""
