"""What rounding does to a subject: laws at far ratios, tails below single precision, long products, and other dtypes of rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import torch

from specproof.fast.batch import Drafts
from specproof.properties.cases import Case
from specproof.properties.evidence.attributed import ATOMS, ByRow, InOrder, Way, answers, scripted
from specproof.properties.evidence.calls import Emitted, Request, Returned, Violation, requests_batch
from specproof.properties.evidence.pool import pool
from specproof.properties.evidence.probed import LAST
from specproof.properties.evidence.prober import Prober
from specproof.properties.evidence.script import Exponential, Uniform
from specproof.properties.evidence.seeding import seeded
from specproof.properties.evidence.sources import answered
from specproof.properties.subject import Subject
from specproof.properties.verdict import Undecided
from specproof.reference.exact import check_instance
from specproof.reference.law import law, mapped
from specproof.reference.model import Model, Prefix, TableModel

Row = tuple[Fraction, ...]
ALMOST_NEVER = 1e-15  # an answer of smaller probability is not put down to chance
CALLS = 32
SPOT_CHECKS = 500
EACH_CELL = 64  # a draw may matter only inside an event of probability 2^-16
DTYPE_ROWS, DTYPE_VOCABULARY = 512, 64
SLOW_ROWS = 96  # for subjects that verify one request after the other
MARGIN = {
    torch.float32: 2.0**-18,
    torch.bfloat16: 2.0**-6,
}  # of a uniform, that a rounded row of so many tokens explains
STEPS = np.concatenate([2.0 ** np.arange(-14, -6), np.arange(1, 65) / 64])  # shares of the margin that are tried


class Positions:
    """A model whose row depends on the position alone."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows
        self.vocabulary = len(rows[0])

    def probabilities(self, prefix: Prefix) -> Row:
        """Return the row after ``len(prefix)`` tokens."""
        return self._rows[len(prefix)]


def _dyadic(*parts: int) -> Row:
    """A row of powers of two (their exponents), and what is missing to one at the end: no float rounds it."""
    first = [Fraction(1, 2**part) for part in parts]
    return (*first, 1 - sum(first, start=Fraction(0)))


def _case(name: str, target: Row, draft: Row, purpose: str) -> Case:
    prefixes: list[Prefix] = [(), *((token,) for token in range(len(target)))]
    return Case(
        name, TableModel(dict.fromkeys(prefixes, target)), TableModel(dict.fromkeys(prefixes, draft)), 1, purpose
    )


FAR = (
    _case("draft far below target", _dyadic(1, 2), _dyadic(11, 10), "the residual is nearly the target"),
    _case("target far below draft", _dyadic(17, 2), _dyadic(1, 2), "an acceptance of 2^-16"),
    _case("target that halves cannot hold", (Fraction(8315, 2**14), Fraction(8069, 2**14)), _dyadic(1), "14 bits"),
)
TAIL = 32
TAIL_MASS = Fraction(TAIL, 2**26)
TAILED = _case(
    "tail",
    (1 - TAIL_MASS, *(Fraction(1, 2**26),) * TAIL),
    (Fraction(1), *(Fraction(0),) * TAIL),
    "tokens that noise in single precision never lets win",
)


@dataclass(frozen=True)
class FarRatios:
    """The largest difference of the law of one request from the declared rule's, in what rounding allows."""

    worst: float  # difference over allowance: above one is too much
    outcome: str
    expected: float
    observed: float
    calls: int


def allowed(exact: float) -> float:
    """Difference of a probability that single precision explains: twenty bits of it, and two steps of a uniform."""
    return exact * 2.0**-20 + 2.0**-23


def observe_far(subject: Subject, case: Case) -> FarRatios:
    """Probe every draft of the case, one request each. Raises ``Undecided`` where the law cannot be read."""
    rule, drafts = subject.declared, subject.drafting.drafts
    assert rule is not None
    case = replace(case, drafts=drafts)
    paths = [_drafts_from(case, token, subject) for token in range(case.vocabulary)]
    requests = [Request((), drawn) for drawn in paths]
    try:
        check_instance(rule, case.target, case.draft, drafts=drafts, length=1)
        exact = [_exact_law(rule.verify, case.target, case.draft, request.paths) for request in requests]
    except ValueError as error:
        raise Undecided(f"the declared rule cannot be run: {error}") from error
    seen: list[dict[Returned, float]] = [{} for _ in requests]
    with Prober(subject, case, SPOT_CHECKS, each_cell=EACH_CELL).ready(requests[0]) as prober:
        for index, mass, observed in prober.laws(requests):
            seen[index][observed.returned] = seen[index].get(observed.returned, 0.0) + mass
        calls = prober.calls
    found = []
    for request, wanted, given in zip(requests, exact, seen, strict=True):
        for outcome in wanted.keys() | given.keys():
            expected, reached = float(wanted.get(outcome, 0)), given.get(outcome, 0.0)
            share = abs(reached - expected) / allowed(expected)
            found.append(FarRatios(share, f"drafts {request.paths}: {_named(outcome)}", expected, reached, calls))
    return max(found, key=lambda one: one.worst)


def _drafts_from(case: Case, token: int, subject: Subject) -> tuple[Prefix, ...]:
    """Drafts of one token, the given one first; distinct where the subject wants them so."""
    step = 0 if subject.drafting.replacement else 1
    return tuple(((token + step * k) % case.vocabulary,) for k in range(case.drafts))


def _exact_law(verify: Any, target: Model, draft: Model, paths: tuple[Prefix, ...]) -> dict[Returned, Fraction]:
    steps = law(lambda chance: verify(chance, target, draft, paths))
    return mapped(steps, lambda step: Emitted(len(step.accepted), step.tokens))


def _named(outcome: Returned) -> str:
    return str(outcome.tokens) if isinstance(outcome, Emitted) else outcome.reason


def observe_tail(subject: Subject) -> tuple[float, int]:
    """Probability that a tail token is emitted after a draft that is all but certain, and calls made for it.

    A race between all tokens is not probed but forced: a tail token can win if it does with the best number that it can
    draw, and those of all others in their middle. A race that decides only after a rejection is probed like everything
    else. Raises ``Undecided`` where the law cannot be read, here or on rows that hide nothing: hidden randomness shows where
    every token is likely, and would pass for tokens that never come here.
    """
    case = replace(TAILED, drafts=subject.drafting.drafts)
    request = Request((), ((0,),) * case.drafts)
    plain = replace(FAR[0], drafts=case.drafts)
    ordinary = Request((), _drafts_from(plain, 0, subject))
    with Prober(subject, plain, SPOT_CHECKS).ready(ordinary) as prober:
        list(prober.laws([ordinary]))
    forced = _forced(subject, requests_batch(case, [request]), case.vocabulary)
    if forced is not None:
        return forced
    reached = 0.0
    with Prober(subject, case, SPOT_CHECKS).ready(request) as prober:
        for _, mass, observed in prober.laws([request]):
            emitted = observed.returned
            if isinstance(emitted, Violation):
                raise Undecided(f"the contract is broken: {emitted.reason}")
            reached += mass if any(token > 0 for token in emitted.tokens) else 0.0
        return reached, prober.calls


def _forced(subject: Subject, drafts: Drafts, vocabulary: int) -> tuple[float, int] | None:
    """The mass of the tail tokens that can win a race between all tokens; None where no such race decides."""
    with seeded(0):
        answers(subject, drafts, torch.Generator().manual_seed(0))  # it can make what it keeps
        with answered(subject.verifier) as kept:
            way = ByRow(subject, kept)
            middle = np.full(ATOMS, 0.5)
            (first,) = way.answer(drafts, [middle])
            runners = [
                (place, atom.offset)
                for place, atom in enumerate(first.atoms)
                if isinstance(atom, Uniform | Exponential) and atom.size == vocabulary
            ]
            if not runners:
                return None
            places = [[place for place, offset in runners if offset == token] for token in range(vocabulary)]

            def winners(likely: tuple[float, float]) -> list[bool]:
                """Whether each tail token comes out with the best number, the likely token's being as given."""
                able = []
                for own in places[1:]:
                    found = []
                    for best, others in zip((0.0, LAST), likely, strict=True):
                        tape = middle.copy()
                        tape[places[0]], tape[own] = others, best
                        found.append(way.answer(drafts, [tape])[0].returned)
                    able.append(any(isinstance(seen, Emitted) and max(seen.tokens) > 0 for seen in found))
                return able

            if not any(winners((LAST, 0.0))):  # even against the worst number: the race does not decide here
                return None
            return sum(winners((0.5, 0.5))) * float(TAIL_MASS) / TAIL, 1 + 4 * (vocabulary - 1)


LONG = 32
LONG_BLOCKS = {
    # Products of ratios fall to 2^-160, below the least number of single precision, and come back to one.
    "products that underflow and come back": (
        [_dyadic(11)] * (LONG // 2) + [_dyadic(1)] * (LONG // 2 + 1),
        [_dyadic(1)] * (LONG // 2) + [_dyadic(11)] * (LONG // 2),
    ),
    # Both joint probabilities are 2^-256; their ratio is one.
    "equal rows with rare drafts": ([_dyadic(8)] * (LONG + 1), [_dyadic(8)] * LONG),
}


@dataclass(frozen=True)
class LongBlock:
    """How many of 32 tokens were kept in each call, and how likely the declared rule makes the least likely of them."""

    kept: list[int]
    least_likely: int
    probability: float


def observe_long(subject: Subject, instance: str, seed: int) -> LongBlock:
    """Verify one draft of 32 tokens again and again. Raises ``Undecided`` where the subject raises."""
    rule = subject.declared
    assert rule is not None
    target, draft = (Positions(rows) for rows in LONG_BLOCKS[instance])
    exact = mapped(
        _exact_law(rule.verify, target, draft, ((0,) * LONG,)),
        lambda emitted: emitted.accepted,  # type: ignore[union-attr]
    )
    target_rows, draft_rows = (
        torch.tensor([[float(share) for share in row] for row in rows])[None, None] for rows in LONG_BLOCKS[instance]
    )
    drafts = Drafts(torch.zeros(1, 1, LONG, dtype=torch.int64), draft_rows, target_rows)
    kept = []
    with seeded(seed):
        for call in range(CALLS):
            (answer,) = answers(subject, drafts, torch.Generator().manual_seed(seed + call))
            if isinstance(answer, Violation):
                raise Undecided(f"the contract is broken: {answer.reason}")
            kept.append(answer.accepted)
    least = min(kept, key=lambda count: exact.get(count, 0))
    return LongBlock(kept, least, float(exact.get(least, 0)))


@dataclass(frozen=True)
class OtherDtype:
    """Decisions on rounded rows against those on the same numbers in double precision."""

    compared: int
    different: int
    unexplained: int
    example: str
    raised: str


def observe_dtype(subject: Subject, dtype: torch.dtype, seed: int) -> OtherDtype:
    """Verify the same requests with rows of ``dtype`` and with those rows in float64, with the same random numbers.

    A difference is explained when moving one of the request's numbers by the margin makes up for it.
    Raises ``Undecided`` where draws cannot be attributed to requests.
    """
    drafts = pool(
        subject.drafting, DTYPE_ROWS, length=2, vocabulary=DTYPE_VOCABULARY, seed=seed, plain=True, dtype=dtype
    )
    with _one_way(subject, drafts) as way:
        if isinstance(way, InOrder):
            drafts = _first(drafts, SLOW_ROWS)
        given = [way.numbers(key) for key in range(drafts.batch)]
        double = Drafts(drafts.tokens, drafts.draft_rows().double(), drafts.target_probs.double())
        exact = way.answer(double, given)
        try:
            rounded = way.answer(drafts, given)
        except Undecided as error:
            return OtherDtype(drafts.batch, 0, 0, "", str(error))
        differing = [b for b in range(drafts.batch) if exact[b].returned != rounded[b].returned]
        unexplained = [
            b
            for b in differing
            if not _explained(
                way, _first(double, 1, b), given[b], len(exact[b].atoms), rounded[b].returned, MARGIN[dtype]
            )
        ]
    example = ""
    if unexplained:
        b = unexplained[0]
        example = f"request {b}: {_named(rounded[b].returned)}, in double precision {_named(exact[b].returned)}"
    return OtherDtype(drafts.batch, len(differing), len(unexplained), example, "")


def _one_way(subject: Subject, drafts: Drafts) -> Any:
    wide = Drafts(drafts.tokens, drafts.draft_rows().double(), drafts.target_probs.double())
    return scripted(subject, wide)


def _first(drafts: Drafts, count: int, start: int = 0) -> Drafts:
    here = slice(start, start + count)
    return Drafts(drafts.tokens[here], drafts.draft_rows()[here], drafts.target_probs[here])


def _explained(way: Way, one: Drafts, numbers: Any, count: int, wanted: Returned, margin: float) -> bool:
    """Whether moving one of the numbers by at most the margin leads to the other answer; the least moves are tried first."""
    assert isinstance(way, ByRow)
    return any(way.answer(one, [moved])[0].returned == wanted for moved in _nudged(numbers, count, margin))


def _nudged(numbers: Any, count: int, margin: float) -> Iterator[Any]:
    # Many steps: the other answer's cell may be narrow, and a move of the whole margin beyond it.
    for step in margin * STEPS:
        for atom in range(count):
            for signed in (step, -step):
                moved = numbers.copy()
                moved[atom] = min(max(moved[atom] + signed, 0.0), 1 - 2.0**-53)
                yield moved
