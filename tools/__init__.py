"""specproof: certify that a speculative-decoding verifier keeps the target's law, or say how far it is off.

>>> import specproof
>>> certificate = specproof.certify(specproof.from_function(my_function, rule="standard"))
>>> certificate.verdict
"""

from specproof.certificate import Certificate
from specproof.certification import certify
from specproof.fast.batch import Drafting, Drafts, Outcome
from specproof.fast.from_function import from_function
from specproof.properties.verdict import Verdict
from specproof.subjects import __version__

__all__ = ["Certificate", "Drafting", "Drafts", "Outcome", "Verdict", "__version__", "certify", "from_function"]
