"""What is played on, as it is typed: a name, or the acceptance of every drafter with lengths, costs and dispersion."""

from dataclasses import replace

from specproof.reference.bandits.block import Number
from specproof.reference.bandits.drafters import AfterRejection, Drafters, Independent
from specproof.reference.bandits.instance import Instance
from specproof.reference.names import nearest
from specproof.regret_published import ACCEPTANCE
from specproof.usage import refuse

LENGTH, DISPERSION = 5, 0.5
FLIP, SWAP = "flip", "swap"
NAMES = (*ACCEPTANCE, FLIP, SWAP)
ABOUT = (
    f"{', '.join(ACCEPTANCE)} (five drafters); {FLIP}: block divergence prefers the worse drafter; {SWAP}: mid, best and "
    "worst change places halfway; or the acceptance of your own, such as 0.8,0.6"
)


def independent(acceptance: tuple[Number, ...], length: int = LENGTH, dispersion: Number = DISPERSION) -> Instance:
    """Independent positions with Beta agreement."""
    return Instance(Independent(acceptance, length, dispersion, "beta"))


def flip() -> Instance:
    """The two drafters whose order block divergence turns around."""
    return Instance(AfterRejection((0.5, 0.8), (1.0, 0.0), LENGTH))


def swapped(instance: Instance, at: int) -> Instance:
    """The same drafters; the best and the worst change places after so many tokens."""
    losses = instance.losses()
    best, worst = losses.index(min(losses)), losses.index(max(losses))
    order = [worst if arm == best else best if arm == worst else arm for arm in range(instance.arms)]
    return replace(instance, changes=((at, tuple(order)),))


def typed(
    text: str, tokens: int, *, length: str | None, dispersion: float | None, costs: str | None, switch_cost: float
) -> Instance:
    """Return the instance. Raises ``UsageError`` for an unknown name, or numbers that do not fit together."""
    try:
        instance = Instance(_drafters(text, length, dispersion), _numbers("--cost", costs), switch_cost)
    except ValueError as error:
        refuse(error)
    return swapped(instance, tokens // 2) if text == SWAP else instance


def _drafters(text: str, length: str | None, dispersion: float | None) -> Drafters:
    if text == FLIP:
        if length is not None or dispersion is not None:
            refuse(f"instance {FLIP} has its own length and agreement; leave --length and --dispersion out")
        return flip().drafters
    if text == SWAP:
        shares: tuple[float, ...] = ACCEPTANCE["mid"]
    elif text in ACCEPTANCE:
        shares = ACCEPTANCE[text]
    elif any(sign.isdigit() for sign in text):
        shares = _numbers("--instance", text)
    else:
        refuse(nearest("instance", text, NAMES) + " Or give the acceptance of every drafter, such as 0.8,0.6.")
    lengths = [LENGTH] if length is None else [int(number) for number in _numbers("--length", length, whole=True)]
    spread = DISPERSION if dispersion is None else dispersion
    return Independent(shares, lengths[0] if len(lengths) == 1 else lengths, spread, "beta")


def _numbers(option: str, text: str | None, *, whole: bool = False) -> tuple[float, ...]:
    if text is None:
        return ()
    try:
        found = tuple(float(part) for part in text.split(","))
    except ValueError:
        refuse(f"{option} takes numbers apart by commas, such as {'5,3,0' if whole else '0.8,0.6'}; got {text!r}")
    if whole and any(number != int(number) for number in found):
        refuse(f"{option} takes whole numbers apart by commas, such as 5,3,0; got {text!r}")
    return found
