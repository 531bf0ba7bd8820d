"""What the page draws, as coordinates: laws, acceptance, the e-process. The template writes them as SVG.

Charts are 360 units wide, a phone's width, so that their letters stay readable where the window is narrow.
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction

from specproof.certificate import Certificate
from specproof.kept import KeptCounts, KeptLaw
from specproof.properties.check import Counterexample, name_of
from specproof.properties.evidence.sampled import E_SHARE

WIDTH = 360
LEFT, RIGHT = 92, 60  # where bars start, and what is left for numbers behind them
ROW, ROWS = 18, 16
TALLEST = 160


@dataclass(frozen=True)
class Bar:
    """One row: what it should be and what it is, as lengths and as text."""

    label: str
    y: int
    wanted: float
    seen: float
    text: str


@dataclass(frozen=True)
class LawChart:
    """A law against the target's."""

    title: str
    note: str
    bars: list[Bar]
    height: int


@dataclass(frozen=True)
class Mark:
    """One case: the subject's mean of accepted tokens, what the declared rule accepts, and the ceiling; None: unknown."""

    label: str
    y: int
    seen: float
    declared: float | None
    ceiling: float | None
    text: str


@dataclass(frozen=True)
class AcceptanceChart:
    """Accepted tokens a block, by case."""

    marks: list[Mark]
    height: int
    most: float


@dataclass(frozen=True)
class Path:
    """The path of log E on one case: ``points`` for a polyline, and where it ends."""

    label: str
    number: int
    points: str
    last: str


@dataclass(frozen=True)
class Process:
    """The e-process of every sampled case on axes of draws (logarithmic) and log E."""

    paths: list[Path]
    threshold: float  # y
    zero: float  # y
    threshold_text: str
    draws: list[tuple[float, str]] = field(default_factory=list)
    height: int = TALLEST + 24


def law_charts(certificate: Certificate) -> list[LawChart]:
    """The counterexample's law where there is one; then the widest law that was read, and the first that was counted."""
    charts = []
    shown = certificate.counterexample
    if shown is not None:
        charts.append(_counterexample_law(shown))
    laws = [kept for kept in certificate.kept.values() if isinstance(kept, KeptLaw) and kept.case in certificate.cases]
    laws = [law for law in laws if law.text and (shown is None or law.case != shown.case)]
    if laws and shown is None:
        widest = max(laws, key=lambda law: min(len(law.text), ROWS))
        seen = {text: _float(mass) for text, mass in widest.text.items()}
        charts.append(_law_chart(certificate, widest.case, f"{widest.kind}, no sampling error", seen))
    for kept in certificate.kept.values():
        if isinstance(kept, KeptCounts) and kept.draws and kept.case in certificate.cases:
            charts.append(_counted_law(certificate, kept))
            break
    return charts


def _counterexample_law(found: Counterexample) -> LawChart:
    wanted = {text: _float(mass) for text, mass in found.expected.items()}
    seen = {text: _float(mass) for text, mass in found.observed.items()}
    return _bars(f"Counterexample “{found.case}”", "the smallest instance that shows it", wanted, seen)


def _counted_law(certificate: Certificate, kept: KeptCounts) -> LawChart:
    case = certificate.cases[kept.case].restored()
    shape = (case.vocabulary,) * case.horizon
    seen = {_text(code, shape): count / kept.draws for code, count in enumerate(kept.text)}
    return _law_chart(certificate, kept.case, f"{kept.draws:,} texts counted", seen)


def _text(code: int, shape: tuple[int, ...]) -> str:
    tokens = []
    for size in reversed(shape):
        code, token = divmod(code, size)
        tokens.append(token)
    return name_of(tuple(reversed(tokens)))


def _law_chart(certificate: Certificate, name: str, note: str, seen: dict[str, float]) -> LawChart:
    law = certificate.cases[name].restored().target_law
    return _bars(f"Case “{name}”", note, {name_of(text): float(mass) for text, mass in law.items()}, seen)


def _bars(title: str, note: str, wanted: dict[str, float], seen: dict[str, float]) -> LawChart:
    """The texts with the largest difference, most probable first."""
    texts = sorted(wanted.keys() | seen.keys())
    gap = {text: abs(wanted.get(text, 0.0) - seen.get(text, 0.0)) for text in texts}
    ranked = sorted(texts, key=lambda text: (-gap[text], text))[:ROWS]
    ranked.sort(key=lambda text: (-wanted.get(text, 0.0), text))
    most = max(max(wanted.get(text, 0.0), seen.get(text, 0.0)) for text in ranked) or 1.0
    scale = (WIDTH - LEFT - RIGHT) / most
    bars = [
        Bar(text, ROW * row, scale * wanted.get(text, 0.0), scale * seen.get(text, 0.0), _both(wanted, seen, text))
        for row, text in enumerate(ranked)
    ]
    if len(texts) > len(ranked):
        note += f"; the {len(ranked)} of {len(texts)} texts that differ most"
    return LawChart(title, note, bars, ROW * len(bars) + 2)


def _both(wanted: dict[str, float], seen: dict[str, float], text: str) -> str:
    return f"{seen.get(text, 0.0):.4f}" if text in wanted else "impossible"


def acceptance_chart(certificate: Certificate) -> AcceptanceChart | None:
    """Means of accepted tokens against the declared rule and the ceiling; None where none was measured."""
    cases: dict[str, dict[str, float]] = {}
    for check in certificate.checks:
        seen, expected = check.evidence.observed, check.evidence.expected
        if check.property == "acceptance" and check.evidence.kind in ("exact", "probed") and seen is not None:
            row = cases.setdefault(check.case, {"seen": seen})
            if expected is not None:
                row["ceiling" if check.claim == "acceptance ceiling" else "declared"] = expected
    if not cases:
        return None
    most = max(max(row.values()) for row in cases.values()) or 1.0
    scale = (WIDTH - LEFT - 40 - RIGHT) / most
    marks = []
    for index, (name, row) in enumerate(cases.items()):
        declared, ceiling = (scale * row[key] if key in row else None for key in ("declared", "ceiling"))
        marks.append(Mark(name, ROW * index, scale * row["seen"], declared, ceiling, f"{row['seen']:.3f}"))
    return AcceptanceChart(marks, ROW * len(marks) + 2, most)


def e_process_chart(certificate: Certificate) -> Process | None:
    """Log E of the texts after every look; None where nothing was counted."""
    counted = [kept for kept in certificate.kept.values() if isinstance(kept, KeptCounts) and kept.path]
    if not counted:
        return None
    limit = max(math.log(1 / (kept.text_alpha * E_SHARE)) for kept in counted)
    values = [log_e for kept in counted for _, log_e in kept.path]
    top, bottom = max(limit * 1.15, *values), min(-limit * 0.15, *values)
    looks = [draws for kept in counted for draws, _ in kept.path]
    first, last = math.log10(min(looks)), math.log10(max(looks))

    def x(draws: float) -> float:
        return 34 + (WIDTH - 44) * (math.log10(draws) - first) / ((last - first) or 1.0)

    def y(log_e: float) -> float:
        return 6 + (TALLEST - 12) * (top - log_e) / (top - bottom)

    paths = [
        Path(
            kept.case, index % 4, " ".join(f"{x(draws):.1f},{y(log_e):.1f}" for draws, log_e in kept.path),
            f"log E = {kept.path[-1][1]:.1f} after {kept.draws:,} draws",
        )
        for index, kept in enumerate(counted)
    ]  # fmt: skip
    powers = range(math.ceil(first), math.floor(last) + 1)
    return Process(paths, y(limit), y(0), f"{limit:.1f}", [(x(10**power), f"{10**power:,}") for power in powers])


def _float(mass: str | float) -> float:
    return float(Fraction(mass)) if isinstance(mass, str) else mass
