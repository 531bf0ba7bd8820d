"""A certification on many machines: the workers of a Dask cluster gather and count, and the certificate is the same.

What a piece of evidence shows depends on the certification and its own name alone, and texts are drawn in blocks whose
numbers seed them. So it does not matter where a piece is gathered, in which order, or how often: a worker that dies takes
nothing with it, and its pieces are gathered again elsewhere to the same numbers.
"""
