"""What today's tests of verifiers see: their criteria, from the sizes and limits that they state, beside counting here.

A verifier of one draft decides position after position, so its law is made of two arrays for each pair of rows: the
probability to keep each token, and the probability to replace the draft by each token. A test is a function of how often
each outcome was seen, so runs of it are drawn from that law directly, thousands at a time.

Sources: the rejection sampler test of vLLM (tests/v1/sample/test_rejection_sampler.py), the KL test of TensorRT-LLM
(tests/unittest/_torch/speculative/test_torch_rejection_sampling.py), five sigma at 20,000 draws as in SGLang's test of
speculative sampling, and the cosine rule of flashinfer (tests/utils/test_sampling.py). Where a test does not say which rows
it uses, it gets those of vLLM's.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from specproof.properties.cases import sampled_cases
from specproof.properties.evidence.e_process import EProcess
from specproof.properties.evidence.sampled import BINOMIAL_SHARE, E_SHARE
from specproof.properties.mutants.chain import Chain, ratio, standard_residual
from specproof.properties.mutants.one_draft import MUTANTS
from specproof.properties.plan import Plan
from specproof.properties.suite import plan_of

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
VLLM_SIZES, VLLM_FACTOR, VLLM_REFERENCES = (10, 100, 1_000, 10_000, 100_000), 20.0, 100
SGLANG_DRAWS, SGLANG_SIGMA = 20_000, 5.0
TENSORRT_DRAWS, TENSORRT_LIMIT, TENSORRT_VOCABULARY, TENSORRT_LIVE = 50_000, 0.01, 500, 100
COSINE_DRAWS, COSINE_LIMIT = 5_000_000, 0.99
POWER = 0.999
BATTERY_CASE = "counts V4 L2"


@dataclass(frozen=True)
class Position:
    """What happens at one position: ``kept[x]`` a draft x is kept, ``replaced[y]`` a draft is replaced by y; sums to one."""

    kept: Floats
    replaced: Floats

    @property
    def emitted(self) -> Floats:
        """Law of the token at this position."""
        return self.kept + self.replaced


Draw = Callable[[Floats], Floats]
Decide = Callable[[Floats, Floats, Floats], Position]  # target row, draft row, draft row of the position before
Bonus = Callable[[Floats, Floats], Floats]


@dataclass(frozen=True)
class Verifier:
    """A verifier of one draft as its two parts."""

    decide: Decide
    bonus: Bonus = lambda target, draft: target  # noqa: ARG005


def decided(
    target: Floats, draft: Floats, before: Floats, *, chain: Chain | None = None, drawn: Draw = lambda row: row,
    stale: bool = False, reused: bool = False,
) -> Position:  # fmt: skip
    """One position of a chain of exchangeable parts, with drafts drawn from ``drawn(draft)``.

    ``stale`` subtracts the draft row of the position before; ``reused`` draws the correction with the coin that rejected.
    """
    parts = chain or Chain(ratio, standard_residual)
    law, rows = drawn(draft), (target.tolist(), draft.tolist())  # plain numbers are much faster one by one
    kept, replaced = np.zeros_like(target), np.zeros_like(target)
    for token in law.nonzero()[0].tolist():
        accepts = float(parts.accept(*rows, token))
        weights = np.array(parts.correct(rows[0], before.tolist() if stale else rows[1], token), dtype=float)
        weights = weights / weights.sum() if weights.any() else target
        if reused and accepts < 1:
            ends = np.concatenate([[0.0], np.cumsum(weights)])
            inside = np.clip(np.minimum(ends[1:], 1.0) - np.maximum(ends[:-1], accepts), 0, None)
            weights = inside / inside.sum()
        kept[token] += law[token] * accepts
        replaced += law[token] * (1 - accepts) * weights
    return Position(kept, replaced)


@cache
def _right(target: tuple[float, ...], draft: tuple[float, ...]) -> Position:
    """The standard rule on two rows, kept for the many shares that are tried with it."""
    return decided(np.array(target), np.array(draft), np.array(draft))


def most_likely(row: Floats) -> Floats:
    """The law of drafting the most likely token."""
    return np.asarray(np.eye(len(row))[row.argmax()])


def tempered(row: Floats, temperature: float) -> Floats:
    """The law of drafting at another temperature."""
    powers = row ** (1 / temperature)
    return np.asarray(powers / powers.sum())


def contaminated(share: float) -> Verifier:
    """Right, but for a share of positions at which the draft is kept unseen: its token has the mixed law."""

    def decide(target: Floats, draft: Floats, before: Floats) -> Position:  # noqa: ARG001
        right = _right(tuple(target), tuple(draft))
        return Position((1 - share) * right.kept + share * draft, (1 - share) * right.replaced)

    return Verifier(decide)


def _chain(name: str) -> Verifier:
    program = MUTANTS[name].program
    assert isinstance(program, Chain)
    return Verifier(partial(decided, chain=program))


RIGHT = Verifier(decided)
FAULTS: dict[str, Verifier] = {
    "always accept": _chain("always_accept"),
    "accept iff target >= draft": _chain("accept_iff_larger"),
    "resample from the target": _chain("resample_from_target"),
    "subtract drafted only": _chain("subtract_drafted_only"),
    "zero drafted only": _chain("zero_drafted_only"),
    "softmax residual": _chain("softmax_residual"),
    "match or coin": _chain("match_or_coin"),
    "argmax draft": Verifier(partial(decided, drawn=most_likely)),
    "accept coin reused": Verifier(partial(decided, reused=True)),
    "draft squared": Verifier(partial(decided, drawn=partial(tempered, temperature=0.5))),
    "residual with a stale row": Verifier(partial(decided, stale=True)),
    "lenient by 5 %": _chain("lenient"),
    "draft temperature 1.1": Verifier(partial(decided, drawn=partial(tempered, temperature=1.1))),
    "bonus from the draft": Verifier(decided, lambda target, draft: draft),  # noqa: ARG005
}


@dataclass(frozen=True)
class Rows:
    """The rows that a test hands over, the same after every text."""

    target: Floats
    draft: Floats


def soft_rows(rng: np.random.Generator, vocabulary: int = 10) -> Rows:
    """Rows as vLLM's test draws them: the softmax of uniform logits."""
    target, draft = np.exp(rng.random((2, vocabulary)))
    return Rows(target / target.sum(), draft / draft.sum())


def sparse_rows(rng: np.random.Generator) -> Rows:
    """Rows as TensorRT-LLM's test draws them: uniform weights, the 100 largest of 500 kept, each row its own.

    Tokens that neither row can emit are left out.
    """
    rows = rng.random((2, TENSORRT_VOCABULARY))
    for row in rows:
        row[np.argsort(row)[: TENSORRT_VOCABULARY - TENSORRT_LIVE]] = 0
    rows = rows[:, rows.any(0)]
    return Rows(*(rows / rows.sum(-1, keepdims=True)))


@dataclass(frozen=True)
class Criterion:
    """A test: what it costs in calls of the verifier, and whether each of many runs alarms on a verifier."""

    name: str
    calls: int
    rows: Callable[[np.random.Generator], Rows]
    alarms: Callable[[Verifier, Rows, int, np.random.Generator], NDArray[np.bool_]]
    positions: int = 1  # tokens that it looks at


def ratio_alarms(verifier: Verifier, rows: Rows, runs: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """vLLM: the distance to the target must shrink 20 times more than that to random rows, from 10 to 100,000 calls.

    Two drafted tokens a call; tokens of both positions are pooled and the bonus is dropped.
    """
    here = verifier.decide(rows.target, rows.draft, rows.draft)
    size = len(rows.target)
    # One call: replaced at once, or kept and followed by a token; only the tokens count.
    outcomes = np.concatenate([here.replaced, np.outer(here.kept, here.emitted).flatten()])
    references = np.exp(rng.random((VLLM_REFERENCES, size)))
    references /= references.sum(-1, keepdims=True)
    target, reference = [], []
    for calls in (VLLM_SIZES[0], VLLM_SIZES[-1]):
        seen = rng.multinomial(calls, outcomes / outcomes.sum(), size=runs)
        pairs = seen[:, size:].reshape(runs, size, size)
        tokens = seen[:, :size] + pairs.sum(2) + pairs.sum(1)
        density = tokens / tokens.sum(-1, keepdims=True)
        target.append(np.linalg.norm(density - rows.target, axis=-1))
        reference.append(np.sqrt(((density[:, None] - references) ** 2).sum((1, 2))) / VLLM_REFERENCES)
    return np.asarray(target[0] / target[1] <= VLLM_FACTOR * reference[0] / reference[1])


def sigma_alarms(verifier: Verifier, rows: Rows, runs: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """SGLang: the share of every first token lies within five standard deviations of its probability."""
    law = verifier.decide(rows.target, rows.draft, rows.draft).emitted
    shares = rng.multinomial(SGLANG_DRAWS, law / law.sum(), size=runs) / SGLANG_DRAWS
    deviation = np.sqrt(rows.target * (1 - rows.target) / SGLANG_DRAWS)
    return np.asarray((np.abs(shares - rows.target) > SGLANG_SIGMA * deviation).any(-1))


def divergence_alarms(verifier: Verifier, rows: Rows, runs: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """TensorRT-LLM: KL(target, counts) of first tokens is within 0.01 of that of plain draws. NaN and infinity alarm."""
    law = verifier.decide(rows.target, rows.draft, rows.draft).emitted
    found = []
    for law_of in (law / law.sum(), rows.target):
        shares = rng.multinomial(TENSORRT_DRAWS, law_of, size=runs) / TENSORRT_DRAWS
        live = rows.target > 0
        with np.errstate(divide="ignore"):
            found.append((rows.target[live] * np.log(rows.target[live] / shares[:, live])).sum(-1))
    with np.errstate(invalid="ignore"):
        return np.asarray(~(np.abs(found[0] - found[1]) < TENSORRT_LIMIT))


def cosine_alarms(verifier: Verifier, rows: Rows, runs: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """flashinfer: the cosine between frequencies and probabilities of first tokens exceeds 0.99."""
    law = verifier.decide(rows.target, rows.draft, rows.draft).emitted
    counts = rng.multinomial(COSINE_DRAWS, law / law.sum(), size=runs)
    cosine = counts @ rows.target / np.linalg.norm(counts, axis=-1) / np.linalg.norm(rows.target)
    return np.asarray(cosine <= COSINE_LIMIT)


TODAY = (
    Criterion("vLLM ratio", sum(VLLM_SIZES), soft_rows, ratio_alarms, positions=2),
    Criterion("SGLang 5 sigma", SGLANG_DRAWS, soft_rows, sigma_alarms),
    Criterion("TensorRT-LLM KL", TENSORRT_DRAWS, sparse_rows, divergence_alarms),
    Criterion("flashinfer cosine", COSINE_DRAWS, soft_rows, cosine_alarms),
)


@cache
def case_alpha() -> float:
    """False-alarm rate of the text of one case of the quick battery."""
    cases = sampled_cases()
    return plan_of(Plan("quick"), cases[0], 0, len(cases)).text_alpha


def counted(
    law: Floats, reference: Floats, drafted: Floats, calls: int, runs: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Counting here, at the false-alarm rates of one case of the quick battery.

    An impossible outcome alarms, the e-process does, and so does the exact binomial on the outcomes that are likelier under
    ``drafted`` than under the reference. (McDiarmid's bound, the third check of the battery, is left out.)
    """
    possible = reference > 0
    wanted = reference[possible] / reference[possible].sum()
    process, preferred = EProcess(wanted), drafted[possible] > wanted
    inside = float(min(wanted[preferred].sum(), 1.0))
    tail = case_alpha() * BINOMIAL_SHARE / 2
    low, high = binom.ppf(tail, calls, inside), binom.isf(tail, calls, inside)
    alarms = []
    for start in range(0, runs, 100):
        seen = rng.multinomial(calls, law / law.sum(), size=min(100, runs - start))
        log_e, directed = process.log_e(seen[:, possible]), seen[:, possible][:, preferred].sum(-1)
        refuted = (seen[:, ~possible].sum(-1) > 0) | (log_e >= math.log(1 / (case_alpha() * E_SHARE)))
        alarms.append(refuted | (directed < low) | (directed > high))
    return np.concatenate(alarms)


def same_rows_alarms(
    calls: int, positions: int, verifier: Verifier, rows: Rows, runs: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Counting here on the rows of another test, with as many calls and looking at the same one or two tokens."""
    here = verifier.decide(rows.target, rows.draft, rows.draft)
    laws = [here.emitted, rows.target, rows.draft]
    if positions == 2:  # what follows a replaced draft is completed with the target
        text = np.outer(here.replaced, rows.target) + np.outer(here.kept, here.emitted)
        laws = [text, np.outer(rows.target, rows.target), np.outer(rows.draft, rows.draft)]
    law, reference, drafted = (entry.flatten() for entry in laws)
    return counted(law, reference, drafted, calls, runs, rng)


def block_law(verifier: Verifier) -> tuple[Floats, Floats, Floats]:
    """Laws of the text on a case of the quick battery (four tokens, two positions): a verifier's, the target's, the draft's.

    The draft's is of the two drafted tokens, each text with its share of the target's for the third.
    """
    case = next(case for case in sampled_cases() if case.name == BATTERY_CASE)
    size = case.vocabulary
    text, wanted, drafted = (np.zeros((size,) * 3) for _ in range(3))

    def row(model: str, *prefix: int) -> Floats:
        return np.array([float(share) for share in getattr(case, model).probabilities(prefix)])

    def at(*prefix: int) -> Position:
        before = row("draft", *prefix[:-1]) if prefix else row("draft")
        return verifier.decide(row("target", *prefix), row("draft", *prefix), before)

    start = at()
    for first in range(size):
        plain = row("target", first)
        rejected = np.stack([plain[second] * row("target", first, second) for second in range(size)])
        wanted[first] = row("target")[first] * rejected
        drafted[first] = row("draft")[first] * (row("draft", first) / plain)[:, None] * rejected
        second_position = at(first)
        for second in range(size):
            bonus = verifier.bonus(row("target", first, second), row("draft", first, second))
            kept = second_position.kept[second] * bonus
            text[first, second] = start.replaced[first] * rejected[second] + start.kept[first] * (
                kept + second_position.replaced[second] * row("target", first, second)
            )
    return text.flatten(), wanted.flatten(), drafted.flatten()


def total_variation(first: Floats, second: Floats) -> float:
    """Largest difference in probability of any event."""
    return float(np.abs(first - second).sum() / 2)


def share_of_alarms(
    alarms: Callable[[Verifier, Rows, int, np.random.Generator], NDArray[np.bool_]],
    rows: Callable[[np.random.Generator], Rows], verifier: Verifier, *, runs: int, seed: int = 0, draws_of_rows: int = 10,
) -> float:  # fmt: skip
    """Share of runs that alarm; rows are drawn anew for every part of the runs, as the tests do."""
    rng = np.random.default_rng(seed)
    each = [alarms(verifier, rows(rng), -(-runs // draws_of_rows), rng) for _ in range(draws_of_rows)]
    return float(np.concatenate(each).mean())


def smallest_contamination(
    alarms: Callable[[Verifier, Rows, int, np.random.Generator], NDArray[np.bool_]],
    rows: Callable[[np.random.Generator], Rows], *, runs: int = 2000, seed: int = 0,
) -> tuple[float, float] | None:  # fmt: skip
    """The share of unseen drafts that is found with power .999, and the mean total variation that it makes.

    By bisection, to 3 %. None where even drafts that are all kept unseen are not found so surely.
    """

    def found(share: float) -> bool:
        return share_of_alarms(alarms, rows, contaminated(share), runs=runs, seed=seed) >= POWER

    if not found(1.0):
        return None
    low, high = 1e-5, 1.0
    while high > 1.03 * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if found(middle) else (middle, high)
    rng = np.random.default_rng(seed)
    distances = [total_variation(drawn.target, drawn.draft) for drawn in (rows(rng) for _ in range(200))]
    return high, high * float(np.mean(distances))


@dataclass(frozen=True)
class Row:
    """One test's line in the table: calls, false alarms, and what it finds; ``ours`` at as many calls on the same rows."""

    name: str
    calls: int
    false_alarms: float
    smallest: tuple[float, float] | None
    ours: tuple[float, float] | None


@dataclass(frozen=True)
class Convictions:
    """How surely each test convicts one fault; ``probed`` is the total variation of its block law, read off exactly."""

    fault: str
    today: dict[str, float]
    counted: dict[int, float]
    probed: float


def comparison(*, runs: int, seed: int = 0) -> Iterator[Row]:
    """Today's tests one after the other, and counting here at the same cost on the same rows."""
    for test in TODAY:
        ours = partial(same_rows_alarms, test.calls, test.positions)
        yield Row(
            test.name, test.calls,
            share_of_alarms(test.alarms, test.rows, RIGHT, runs=5 * runs, seed=seed + 1),
            smallest_contamination(test.alarms, test.rows, runs=runs, seed=seed),
            smallest_contamination(ours, test.rows, runs=runs, seed=seed),
        )  # fmt: skip


def convictions(calls: Sequence[int], *, runs: int, seed: int = 0) -> Iterator[Convictions]:
    """Every fault before every test; counting here with so many calls on one case of the quick battery."""
    for fault, verifier in FAULTS.items():
        law, wanted, drafted = block_law(verifier)
        rng = np.random.default_rng(seed)
        yield Convictions(
            fault,
            {test.name: share_of_alarms(test.alarms, test.rows, verifier, runs=runs, seed=seed) for test in TODAY},
            {count: float(counted(law, wanted, drafted, count, runs, rng).mean()) for count in calls},
            total_variation(law, wanted),
        )  # fmt: skip
