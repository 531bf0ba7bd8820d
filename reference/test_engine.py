"""The core of the exact engine: chance, law, models, the decoding loop."""

from fractions import Fraction

import pytest
from scipy.stats import binomtest

from specproof.reference import TableModel, decode, decode_law, exact, rule
from specproof.reference.chance import Chance, Dice
from specproof.reference.law import law, mapped, total_variation
from specproof.reference.model import after, joint, prefixes, sequences

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)


def test_law_enumerates_every_answer_once() -> None:
    """A coin and then a choice that depends on it: six outcomes, each with its product."""

    def program(chance: Chance) -> tuple[bool, int]:
        heads = chance.flip(THIRD)
        return heads, chance.choose([Fraction(1), Fraction(2), Fraction(0)] if heads else [HALF, HALF])

    assert law(program) == {(True, 0): THIRD / 3, (True, 1): THIRD * 2 / 3, (False, 0): THIRD, (False, 1): THIRD}


def test_law_does_not_branch_where_nothing_can_happen() -> None:
    """Certain and impossible coins are no questions."""
    runs = []
    assert law(lambda chance: runs.append(1) or (chance.flip(Fraction(1)), chance.flip(Fraction(0)))) == {
        (True, False): 1
    }  # type: ignore[func-returns-value]
    assert len(runs) == 1


@pytest.mark.parametrize("chance", [Dice(0), None], ids=["dice", "law"])
def test_chance_refuses_what_is_no_probability(chance: Chance | None) -> None:
    """Both kinds of chance say what is wrong with a coin or with weights."""

    def ask(question: str, value: object) -> object:
        return getattr(chance, question)(value) if chance else law(lambda replay: getattr(replay, question)(value))

    with pytest.raises(ValueError, match=r"in \[0, 1\], got 3/2"):
        ask("flip", Fraction(3, 2))
    with pytest.raises(ValueError, match="must not be negative"):
        ask("choose", [HALF, -HALF])
    with pytest.raises(ValueError, match="at least one of 2 weights"):
        ask("choose", [Fraction(0), Fraction(0)])


def test_dice_follow_the_probabilities() -> None:
    """20,000 coins of 1/3 and choices of 1:2:0, exact binomial at 1e-6 each (finds a bias of .017 with power .999)."""
    dice = Dice(5)
    heads = sum(dice.flip(THIRD) for _ in range(20_000))
    ones = sum(dice.choose([Fraction(1), Fraction(2), Fraction(0)]) == 0 for _ in range(20_000))
    assert min(binomtest(heads, 20_000, 1 / 3).pvalue, binomtest(ones, 20_000, 1 / 3).pvalue) > 1e-6


MODEL = TableModel.from_table({"": ["1/2", "1/2"], "0": ["1/4", "3/4"], "1": ["1", "0"], "0,1": ["0.5", "0.5"]})


def test_table_model_reads_tables() -> None:
    """Rows by prefix; a missing row is an error that says how deep the table goes."""
    assert MODEL.probabilities((0,)) == (Fraction(1, 4), Fraction(3, 4))
    assert (MODEL.vocabulary, MODEL.depth) == (2, 2)
    with pytest.raises(LookupError, match=r"no row for prefix \(1, 1\); its longest prefix has 2"):
        MODEL.probabilities((1, 1))


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        ({"": ["1/2", "1/3"]}, ValueError, "sum to 5/6, not to 1"),
        ({"": ["3/2", "-1/2"]}, ValueError, "negative probability"),
        ({"": [0.5, 0.5]}, TypeError, "0.5 is a float; give a fraction such as '1/2'"),
        ({"": [float("nan"), 1]}, ValueError, "nan is not a probability"),
        ({"": ["half", "half"]}, ValueError, "'half' is not a fraction"),
        ({"": ["1/0", "1"]}, ValueError, "'1/0' is not a fraction"),
        ({"": ["1", "0"], "0": ["1"]}, ValueError, r"row of prefix \(0,\) has 1 entries, the first row has 2"),
        ({"": ["1", "0"], "2": ["1", "0"]}, ValueError, "token outside 0..1"),
        ({"0": ["1", "0"]}, ValueError, "a row for the empty prefix"),
    ],
)
def test_table_model_refuses_bad_rows(rows: dict[str, list[object]], error: type[Exception], message: str) -> None:
    """Nothing is normalised or rounded in silence."""
    with pytest.raises(error, match=message):
        TableModel.from_table(rows)  # type: ignore[arg-type]


def test_joint_and_sequences_multiply_conditionals() -> None:
    """Impossible sequences are left out and need no rows."""
    assert joint(MODEL, (), (0, 1)) == Fraction(3, 8)
    assert joint(MODEL, (), (1, 1, 0)) == 0
    assert sequences(MODEL, 2) == {(0, 0): Fraction(1, 8), (0, 1): Fraction(3, 8), (1, 0): HALF}


def test_after_moves_the_start_without_nesting() -> None:
    """``after`` of ``after`` is one shift, and equal shifts are equal."""
    assert after(after(MODEL, (0,)), (1,)) == after(MODEL, (0, 1))
    assert after(MODEL, (0,)).probabilities((1,)) == (HALF, HALF)
    assert after(MODEL, ()) is MODEL


def test_prefixes_come_shortest_first() -> None:
    """All prefixes up to a depth."""
    assert list(prefixes(2, 2)) == [(), (0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1)]


DEEP = TableModel({prefix: ["1/3", "2/3"] for prefix in prefixes(2, 6)})
DRAFT = TableModel({prefix: ["3/4", "1/4"] for prefix in prefixes(2, 6)})


def test_decode_law_is_the_law_of_decode() -> None:
    """Merging states changes nothing: the enumerated loop and the merged one agree."""
    block = rule("block")
    size = {"drafts": 1, "length": 1, "tokens": 2}
    assert decode_law(block.verify, DEEP, DRAFT, **size) == law(
        lambda chance: decode(chance, block.verify, DEEP, DRAFT, **size)
    )


def test_exact_reports_the_step_and_the_text() -> None:
    """E[tau], its law and the total variation of the block-verification paper's motivating kind of example."""
    found = exact("standard", DEEP, DRAFT, drafts=1, length=2)
    assert found.accepted_law == {0: Fraction(5, 12), 1: Fraction(35, 144), 2: Fraction(49, 144)}
    assert found.expected_accepted == Fraction(133, 144)
    assert found.total_variation == 0
    assert exact("greedy_block", DEEP, DRAFT, drafts=1, length=2, tokens=5).total_variation == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: exact("blok", DEEP, DRAFT, drafts=1, length=1), "Did you mean 'block'"),
        (lambda: exact("block", DEEP, DRAFT, drafts=1, length=1, carry=True), "Unknown option of block 'carry'"),
        (lambda: exact("greedy_block", DEEP, DRAFT, drafts=1, length=1, carry="no"), "true or false, got 'no'"),
        (lambda: exact("block", DEEP, DRAFT, drafts=0, length=1), "at least 1, got 0 and 1"),
        (
            lambda: exact("block", DEEP, TableModel({(): ["1", "0", "0"]}), drafts=1, length=1),
            "target has 2 tokens, draft has 3",
        ),
    ],
)
def test_exact_refuses_what_it_cannot_run(call: object, message: str) -> None:
    """Errors come before anything runs."""
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]


def test_total_variation_and_mapped() -> None:
    """Laws on different supports, and their marginals."""
    assert total_variation({0: HALF, 1: HALF}, {1: HALF, 2: HALF}) == HALF
    assert mapped({(0, 1): THIRD, (0, 0): THIRD, (1, 0): THIRD}, lambda text: text[0]) == {0: 2 * THIRD, 1: THIRD}
