"""Evidence, strongest first: exact, probed, driven and sampled. Each module says under LIMITS what its kind cannot see.

**exact** (``exact``) enumerates a rule; **probed** (``intercept``, ``probed``, ``race``) answers every draw of any code and
reads its law to rounding; **driven** (``driven``, ``maps``) compares decisions on the same numbers; **sampled** (``sampled``,
``wide``, ``history``) counts, at a stated false-alarm rate. What each finds at which cost is computed in ``power``.
"""
