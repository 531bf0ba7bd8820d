"""A long decode, exactly: how many tokens an iteration emits on average when it starts where the last one ended.

Models that look at one token only have few states, so the law of where an iteration starts can be followed from one to
the next, equal states merged. What a greedy rule still owes of its block is part of the state: its rows ahead are read
off and compared, so that states merge however they came about.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from specproof.reference.exact import step_law
from specproof.reference.model import Model, Prefix, Row, after
from specproof.reference.verifiers import Rule


class Markov:
    """A model whose next token depends on the last one only. States are shared, so they compare by identity."""

    def __init__(self, rows: Sequence[Row], last: int = 0, states: "list[Markov] | None" = None) -> None:
        self.rows = tuple(rows)
        self.vocabulary = len(self.rows)
        self.last = last
        self._states = states if states is not None else []
        if states is None:
            self._states += [self if token == last else Markov(rows, token, self._states) for token in range(len(rows))]

    def probabilities(self, prefix: Prefix) -> Row:
        """Return the row of the last token of ``prefix``."""
        return self.rows[prefix[-1] if prefix else self.last]

    def after(self, prefix: Prefix) -> "Markov":
        """Return the state that the text leads to."""
        return self._states[prefix[-1]] if prefix else self


@dataclass(frozen=True, eq=False)
class Owing:
    """A chain whose first rows are modified by what earlier blocks owe."""

    rows: dict[Prefix, Row]
    chain: Markov

    @property
    def vocabulary(self) -> int:
        """Number of tokens, V."""
        return self.chain.vocabulary

    def probabilities(self, prefix: Prefix) -> Row:
        """Return the modified row, or the chain's."""
        return self.rows.get(prefix) or self.chain.probabilities(prefix)


@dataclass(frozen=True)
class Chain:
    """A pair of Markov models, how many drafts of which length an iteration draws, and how many iterations follow."""

    name: str
    target: Markov
    draft: Markov
    drafts: int
    length: int
    iterations: int


State = tuple[Model, Markov]


class Decoding:
    """The iterations of one rule on a chain as a Markov chain of its own."""

    def __init__(self, rule: Rule, chain: Chain) -> None:
        self._rule = rule
        self._chain = chain
        self._owing: dict[tuple[Markov, tuple[tuple[Prefix, Row], ...]], Owing] = {}
        self._known: dict[State, tuple[Fraction, dict[State, Fraction]]] = {}

    def rate(self) -> Fraction:
        """Mean number of tokens per iteration."""
        law: dict[State, Fraction] = {(self._chain.target, self._chain.draft): Fraction(1)}
        emitted = Fraction(0)
        for _ in range(self._chain.iterations):
            reached: dict[State, Fraction] = {}
            for state, mass in law.items():
                tokens, following = self._iteration(state)
                emitted += mass * tokens
                for ending, share in following.items():
                    reached[ending] = reached.get(ending, Fraction(0)) + mass * share
            law = reached
        return emitted / self._chain.iterations

    def _iteration(self, state: State) -> tuple[Fraction, dict[State, Fraction]]:
        """Mean number of tokens from this state, and the law of the next one."""
        if state not in self._known:
            target, draft = state
            tokens, following = Fraction(0), dict[State, Fraction]()
            steps = step_law(self._rule, target, draft, drafts=self._chain.drafts, length=self._chain.length)
            for step, mass in steps.items():
                tokens += mass * len(step.tokens)
                ending = (
                    self._merged(after(step.target, step.tokens), self._chain.target.after(step.tokens)),
                    draft.after(step.tokens),
                )
                following[ending] = following.get(ending, Fraction(0)) + mass
            self._known[state] = tokens, following
        return self._known[state]

    def _merged(self, model: Model, chain: Markov) -> Model:
        """Return one and the same model for all that answer alike: a block owes at most ``length - 1`` tokens."""
        rows: dict[Prefix, Row] = {}
        reached: list[Prefix] = [()]
        for _ in range(self._chain.length - 1):
            rows |= {prefix: tuple(model.probabilities(prefix)) for prefix in reached}
            reached = [(*prefix, c) for prefix in reached for c, share in enumerate(rows[prefix]) if share > 0]
        if all(row == chain.probabilities(prefix) for prefix, row in rows.items()):
            return chain
        key = (chain, tuple(rows.items()))
        return self._owing.setdefault(key, Owing(rows, chain))
