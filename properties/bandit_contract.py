"""Property ``contract`` of bandits: every answer is an arm, nothing raises, and the same state gives the same answer.

Each conversation is ``ROUNDS`` rounds; rewards are drawn, all zero, or all one. A bandit that takes a ``seed`` may draw
from a generator of its own made of it, so that the same seed gives the same arms; any other must be deterministic.

LIMITS. What was asked is judged; a fault after more rounds, or with rewards that did not occur, is not seen here.
"""

import copy
import operator
import random
from collections.abc import Callable, Iterator
from typing import Any

from specproof.properties.bandit import BanditMaker
from specproof.properties.check import Evidence, Finding
from specproof.properties.plan import Check, Plan, named
from specproof.properties.subject import Subject
from specproof.properties.verdict import Undecided, Verdict

ROUNDS = 199  # a prime: nothing that goes round in cycles is where it started
SIZES = ((2, 2), (5, 5))  # arms and length
KIND = "played"
Rewards = Callable[[int], float]


class BrokenBandit(Undecided):
    """A bandit that does not keep its contract: the contract fails, and what else was to be seen stays undecided."""


class NotAsked(Exception):
    """A conversation that this bandit cannot have; the message says why."""


def chosen(bandit: Any, arms: int) -> int:
    """Ask for an arm. Raises ``BrokenBandit`` where it raises or its answer is none of 0..K-1."""
    try:
        answer = bandit.choose()
    except Exception as error:
        raise BrokenBandit(f"choose() raised {type(error).__name__}: {error}") from error
    try:
        arm = operator.index(answer)
    except TypeError:
        raise BrokenBandit(
            f"choose() returned {answer!r} of type {type(answer).__name__}; an arm is a whole number in 0..{arms - 1}"
        ) from None
    if not 0 <= arm < arms:
        raise BrokenBandit(f"choose() returned {arm}; there are {arms} arms, 0..{arms - 1}")
    return arm


def told(bandit: Any, arm: int, reward: Any) -> None:
    """Hand over a reward. Raises ``BrokenBandit`` where that raises."""
    try:
        bandit.update(arm, reward)
    except Exception as error:
        raise BrokenBandit(f"update({arm}, {reward!r}) raised {type(error).__name__}: {error}") from error


def made(maker: BanditMaker, arms: int, length: int, seed: int = 0) -> Any:
    """A fresh bandit with the theory's bonus. Raises ``BrokenBandit`` where making one raises."""
    try:
        return maker.fresh(arms=arms, length=length, beta=length**-0.5, seed=seed)
    except Exception as error:
        raise BrokenBandit(f"making a bandit for {arms} arms raised {type(error).__name__}: {error}") from error


def bandit_contract(subject: Subject, plan: Plan) -> Iterator[Check]:
    """Name the checks; one conversation of each kind for every size that the bandit can have."""
    assert subject.bandit is not None
    for name, conversation in CONVERSATIONS.items():
        for arms, length in sizes(subject.bandit):
            run = _run(conversation, subject.bandit, arms, length, plan.seed)
            yield named("contract", "contract", f"{name}, {arms} arms", KIND, run, lambda found: found)


def sizes(maker: BanditMaker) -> list[tuple[int, int]]:
    """Arms and lengths to try; a copied object has its own number of arms."""
    return list(SIZES) if maker.arms is None else [(maker.arms, length) for _, length in SIZES[1:]]


def _run(
    conversation: Callable[[BanditMaker, int, int, int], int], maker: BanditMaker, arms: int, length: int, seed: int
) -> Callable[[], Finding]:
    def gather() -> Finding:
        try:
            calls = conversation(maker, arms, length, seed)
        except BrokenBandit as broken:
            return Finding(Verdict.FAILED, str(broken), Evidence(KIND))
        except NotAsked as reason:
            return Finding(Verdict.NOT_APPLICABLE, str(reason), Evidence(KIND))
        return Finding(Verdict.HELD, f"{calls} answers are in order", Evidence(KIND, calls=calls))

    return gather


def drawn(arms: int, length: int, seed: int) -> Rewards:
    """Shares of the length, higher for later arms; the same for the same seed."""
    source = random.Random(seed)
    return lambda arm: sum(source.random() < (arm + 1) / (arms + 1) for _ in range(length)) / length


def answers(maker: BanditMaker, arms: int, length: int, seed: int) -> int:
    """Drawn rewards, all zero, all one."""
    for rewards in (drawn(arms, length, seed), lambda _: 0.0, lambda _: 1.0):
        bandit = made(maker, arms, length)
        for _ in range(ROUNDS):
            arm = chosen(bandit, arms)
            told(bandit, arm, rewards(arm))
    return 3 * ROUNDS


def same_state(maker: BanditMaker, arms: int, length: int, seed: int) -> int:
    """Two copies of a bandit answer alike, in every state that is met."""
    bandit, rewards = made(maker, arms, length), drawn(arms, length, seed)
    for completed in range(ROUNDS):
        first, second = (chosen(_copied(bandit), arms) for _ in range(2))
        if first != second:
            raise BrokenBandit(
                f"after {completed} rounds two copies of the bandit chose arms {first} and {second}: "
                "its answer depends on something that is not in its state"
            )
        arm = chosen(bandit, arms)
        told(bandit, arm, rewards(arm))
    return 3 * ROUNDS


def _copied(bandit: Any) -> Any:
    try:
        return copy.deepcopy(bandit)
    except Exception as error:
        raise NotAsked(f"the bandit cannot be copied ({type(error).__name__}: {error})") from error


def same_start(maker: BanditMaker, arms: int, length: int, seed: int) -> int:
    """Two bandits made alike choose the same arms on the same rewards, the second after the first has gone."""
    first, rewards = made(maker, arms, length), drawn(arms, length, seed)
    history = []
    for _ in range(ROUNDS):
        arm = chosen(first, arms)
        history.append((arm, rewards(arm)))
        told(first, *history[-1])
    second = made(maker, arms, length)
    for completed, (arm, reward) in enumerate(history):
        _check_same(arm, chosen(second, arms), completed, _UNSEEN[maker.randomised])
        told(second, arm, reward)
    return 2 * ROUNDS


_UNSEEN = {
    False: "a bandit whose maker takes no seed must be deterministic",
    True: "all its randomness must come from the seed that its maker takes",
}


def after_reset(maker: BanditMaker, arms: int, length: int, seed: int) -> int:
    """After ``reset()`` a bandit is as good as new: queries start alike. Not asked of a randomised one."""
    bandit, rewards = made(maker, arms, length), drawn(arms, length, seed)
    _check_asked(maker, bandit, "reset")
    for _ in range(ROUNDS):
        arm = chosen(bandit, arms)
        told(bandit, arm, rewards(arm))
    bandit.reset()
    _together(bandit, made(maker, arms, length), arms, rewards, "reset() does not forget everything")
    return 2 * ROUNDS


def _check_asked(maker: BanditMaker, bandit: Any, *methods: str) -> None:
    if maker.randomised:
        raise NotAsked("a randomised bandit goes on drawing, so its arms may differ")
    for method in methods:
        if not callable(getattr(bandit, method, None)):
            raise NotAsked(f"the bandit has no {method}()")


def restored(maker: BanditMaker, arms: int, length: int, seed: int) -> int:
    """A bandit that took over another's ``state()`` goes on as that one does. Not asked of a randomised one."""
    bandit, rewards = made(maker, arms, length), drawn(arms, length, seed)
    _check_asked(maker, bandit, "state", "restore")
    for _ in range(ROUNDS // 2):
        arm = chosen(bandit, arms)
        told(bandit, arm, rewards(arm))
    heir = made(maker, arms, length)
    heir.restore(bandit.state())
    _together(bandit, heir, arms, rewards, "restore(state()) does not take over everything")
    return 2 * ROUNDS


def _together(first: Any, second: Any, arms: int, rewards: Rewards, meaning: str) -> None:
    """Hand both the same rewards, round by round."""
    for completed in range(ROUNDS):
        arm = chosen(first, arms)
        _check_same(arm, chosen(second, arms), completed, meaning)
        reward = rewards(arm)
        told(first, arm, reward)
        told(second, arm, reward)


def _check_same(arm: int, other: int, completed: int, meaning: str) -> None:
    if arm != other:
        raise BrokenBandit(f"arms {arm} and {other} after {completed} rounds with the same rewards: {meaning}")


CONVERSATIONS: dict[str, Callable[[BanditMaker, int, int, int], int]] = {
    "answers": answers,
    "same state": same_state,
    "same start": same_start,
    "reset": after_reset,
    "restore": restored,
}
