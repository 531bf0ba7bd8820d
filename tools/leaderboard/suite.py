"""The fixed instances of the leaderboard: small fractions, random rows from fixed seeds, and rows with a purpose.

A *ladder* is a pair of models on which K = 1, 2, ... drafts are tried in turn. *Texts* are instances whose law is followed
over several iterations, *chains* are those for a long decode; their rows have no zeros.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from specproof.leaderboard.chains import Chain, Markov
from specproof.properties.cases import Case, RowMaker, by_hand, generated

SuiteName = Literal["small", "full"]


@dataclass(frozen=True)
class Ladder:
    """One pair of models, tried with one draft, two drafts, and so on up to ``most``."""

    case: Case
    most: int

    @property
    def shape(self) -> tuple[int, int]:
        """Vocabulary and length."""
        return self.case.vocabulary, self.case.length

    def rungs(self) -> Iterator[Case]:
        """Yield the case with each number of drafts, fewest first."""
        for drafts in range(1, self.most + 1):
            yield replace(self.case, drafts=drafts)


@dataclass(frozen=True)
class Suite:
    """What the rules are measured on."""

    name: SuiteName
    ladders: tuple[Ladder, ...]
    texts: tuple[Case, ...]
    chains: tuple[Chain, ...]


def suite(name: SuiteName) -> Suite:
    """Return the suite of that name."""
    return _small() if name == "small" else _full()


def coin(target: str, draft: str) -> Case:
    """Two tokens, one of them drafted: the smallest instances there are."""
    return by_hand(f"coin {target} | {draft}", {"": target}, {"": draft}, 1, "smallest instances")


def chain(name: str, vocabulary: int, *, length: int, drafts: int, iterations: int, seed: int) -> Chain:
    """Two random Markov models."""
    rows = [RowMaker(2 * seed + i, vocabulary) for i in range(2)]
    target, draft = (Markov([tuple(row()) for _ in range(vocabulary)]) for row in rows)
    return Chain(name, target, draft, drafts, length, iterations)


def constant_chain(name: str, target: str, draft: str, *, length: int, drafts: int, iterations: int) -> Chain:
    """Two models with the same row after every token."""
    target_row, draft_row = (tuple(Fraction(share) for share in text.split()) for text in (target, draft))
    models = Markov([target_row] * len(target_row)), Markov([draft_row] * len(draft_row))
    return Chain(name, *models, drafts, length, iterations)


def structured() -> list[Ladder]:
    """Rows with a purpose, in both suites."""
    return [
        Ladder(coin("1/2 1/2", "3/4 1/4"), 4),
        Ladder(coin("1/4 3/4", "1/2 1/2"), 3),
        Ladder(coin("1/2 1/2", "1 0"), 3),
        Ladder(coin("1/4 3/4", "3/4 1/4"), 3),
        Ladder(coin("0 1", "2/3 1/3"), 3),
        Ladder(by_hand("reversed", {"": "1/2 3/10 1/5"}, {"": "1/5 3/10 1/2"}, 1, "target and draft disagree"), 3),
        Ladder(by_hand("flat draft", {"": "4/5 1/10 1/10"}, {"": "1/3 1/3 1/3"}, 1, "a draft that knows nothing"), 3),
        Ladder(by_hand("reversed coin twice", {"": "1/3 2/3"}, {"": "2/3 1/3"}, 2, "carried modification"), 3),
        Ladder(
            by_hand(
                "rows by context",
                {"": "1/2 1/2", "0": "1/10 9/10", "1": "4/5 1/5", "0,0": "2/3 1/3", "0,1": "1/4 3/4"},
                {"": "2/3 1/3", "0": "1/2 1/2", "1": "1/5 4/5"},
                2,
                "rows that differ at every prefix",
            ),
            3,
        ),
        Ladder(generated("equal models", 2, 2, "everything can be accepted", seed=41, same=True), 2),
        Ladder(
            by_hand(
                "certain target", {"": "0 1 0", "1": "1 0 0", "1,0": "0 0 1"}, {"": "1/2 1/4 1/4"}, 2, "temperature 0"
            ),
            2,
        ),
    ]


def random_ladders(vocabulary: int, length: int, most: int, seeds: range, *, zeros: float = 0.0) -> list[Ladder]:
    """Random rows at every prefix."""
    kind = "zeros" if zeros else "random"
    return [
        Ladder(
            generated(f"{kind} V{vocabulary} L{length} #{seed}", vocabulary, length, kind, seed=seed, zeros=zeros), most
        )
        for seed in seeds
    ]


def grid(denominator: int, most: int) -> list[Ladder]:
    """Every pair of coins with that denominator up to exchanging the tokens: the smallest counterexamples are here."""
    shares = [Fraction(i, denominator) for i in range(denominator + 1)]
    return [
        Ladder(coin(f"{t} {1 - t}", f"{d} {1 - d}"), most)
        for t in shares
        for d in shares
        if d >= Fraction(1, 2) and t != d
    ]


def _small() -> Suite:
    ladders = [
        *structured(),
        *random_ladders(3, 1, 3, range(101, 103)),
        *random_ladders(2, 2, 3, range(201, 202)),
        *random_ladders(3, 2, 2, range(301, 302)),
        *random_ladders(2, 3, 2, range(401, 402), zeros=0.2),
    ]
    texts = [
        generated("4 tokens V2 L1", 2, 1, "several iterations", seed=22, tokens=4, drafts=2),
        generated("4 tokens V2 L2", 2, 2, "several iterations", seed=21, tokens=4, drafts=2),
    ]
    chains = [
        constant_chain("coins", "1/3 2/3", "2/3 1/3", length=2, drafts=2, iterations=8),
        chain("chain V2 L2 K2", 2, length=2, drafts=2, iterations=8, seed=501),
    ]
    return Suite("small", tuple(ladders), tuple(texts), tuple(chains))


def _full() -> Suite:
    ladders = [
        *structured(),
        *(ladder for denominator in (2, 3, 4, 5) for ladder in grid(denominator, 4)),
        *random_ladders(3, 1, 4, range(101, 109)),
        *random_ladders(3, 1, 3, range(111, 117), zeros=0.3),
        *random_ladders(4, 1, 3, range(121, 127)),
        *random_ladders(2, 2, 4, range(201, 207)),
        *random_ladders(2, 2, 3, range(211, 217), zeros=0.2),
        *random_ladders(3, 2, 2, range(301, 313)),
        *random_ladders(2, 3, 2, range(401, 413)),
    ]
    texts = [
        *(
            generated(f"5 tokens V2 L1 K{k}", 2, 1, "several iterations", seed=22, tokens=5, drafts=k)
            for k in (1, 2, 3)
        ),
        *(generated(f"5 tokens V2 L2 K{k}", 2, 2, "several iterations", seed=21, tokens=5, drafts=k) for k in (1, 2)),
        generated("4 tokens V3 L2 K2", 3, 2, "several iterations", seed=23, tokens=4, drafts=2),
        generated("5 tokens V2 L3 K2", 2, 3, "several iterations", seed=24, tokens=5, drafts=2),
    ]
    chains = [
        constant_chain("coins", "1/3 2/3", "2/3 1/3", length=2, drafts=2, iterations=8),
        constant_chain("coins L3", "1/3 2/3", "2/3 1/3", length=3, drafts=2, iterations=4),
        *(chain(f"chain V2 L2 K2 #{s}", 2, length=2, drafts=2, iterations=8, seed=s) for s in range(501, 509)),
        *(chain(f"chain V2 L2 K3 #{s}", 2, length=2, drafts=3, iterations=4, seed=s) for s in range(511, 515)),
        *(chain(f"chain V3 L2 K2 #{s}", 3, length=2, drafts=2, iterations=4, seed=s) for s in range(521, 525)),
        *(chain(f"chain V2 L3 K2 #{s}", 2, length=3, drafts=2, iterations=4, seed=s) for s in range(531, 535)),
    ]
    distinct = {ladder.case.name: ladder for ladder in ladders}  # some coins have several denominators
    return Suite("full", tuple(distinct.values()), tuple(texts), tuple(chains))
