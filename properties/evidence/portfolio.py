"""The laws of named faults on a case: alternatives that the e-process watches for, and names when they fit."""

from specproof.properties.cases import Case
from specproof.properties.mutants.one_draft import MUTANTS
from specproof.reference.exact import completed, step_law
from specproof.reference.model import Prefix
from specproof.reference.step import decode_law


def fault_laws(case: Case) -> dict[str, dict[Prefix, object]]:
    """Law of the text for every mutant that is a rule and that the case can show; none for several drafts."""
    laws: dict[str, dict[Prefix, object]] = {}
    for name, mutant in MUTANTS.items() if case.drafts == 1 else ():
        given = mutant.rule(name)
        if given is None:
            continue
        size = {"drafts": 1, "length": case.length}
        if case.iterated:
            law = decode_law(given.verify, case.target, case.draft, tokens=case.horizon, drafter=given.drafter, **size)
        else:
            law = completed(step_law(given, case.target, case.draft, **size), case.horizon)
        if law != case.target_law:
            laws[mutant.fault] = dict(law)
    return laws
