"""The fast engine: the reference's algorithms, same names and argument order, batched in torch."""
