"""What a family is made of: shapes, steps and domains. A change of anything here is another family in the cache."""

import hashlib
import json
from dataclasses import asdict, dataclass, field

VERSION = 1


@dataclass(frozen=True)
class Shape:
    """The size of a Llama: width, layers, heads, width of the feed-forward part."""

    width: int
    layers: int
    heads: int
    inner: int


@dataclass(frozen=True)
class Student:
    """A drafter: its size, the domain it learns (None: all of them), and how its learning rate differs."""

    shape: Shape
    domain: str | None = None
    rate: float = 1.0


@dataclass(frozen=True)
class Recipe:
    """A family. Windows are of ``window`` tokens; ``share`` is how often the target sees each domain."""

    name: str
    share: dict[str, float]
    target: Shape
    students: dict[str, Student]
    vocabulary: int = 1024
    window: int = 128
    context: int = 1024
    target_steps: int = 700
    target_rows: int = 16
    student_steps: int = 400
    student_rows: int = 8
    pool: int = 512  # texts a domain that the target writes for its drafters
    head_steps: int = 500
    seed: int = field(default=0)

    @property
    def domains(self) -> list[str]:
        """Names of the domains."""
        return list(self.share)

    @property
    def key(self) -> str:
        """What the family is cached under."""
        text = json.dumps([VERSION, asdict(self)], sort_keys=True)
        return f"{self.name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


SMALL = Shape(64, 2, 4, 176)
SPECIALISTS = ("code", "prose", "mathematics", "translation")
FULL = Recipe(
    "full",
    {"code": 0.3, "prose": 0.3, "mathematics": 0.2, "translation": 0.2},
    Shape(128, 4, 4, 344),
    {
        "general": Student(SMALL),
        "large": Student(Shape(128, 3, 4, 352), rate=0.6),
        **{domain: Student(SMALL, domain) for domain in SPECIALISTS},
    },
)
# For tests: two domains that need no download, and everything small.
TINY = Recipe(
    "tiny",
    {"code": 0.5, "mathematics": 0.5},
    Shape(64, 2, 4, 176),
    {
        "general": Student(Shape(32, 1, 2, 88)),
        "code": Student(Shape(32, 1, 2, 88), "code"),
        "mathematics": Student(Shape(32, 1, 2, 88), "mathematics"),
    },
    vocabulary=320,
    window=64,
    context=256,
    target_steps=150,
    target_rows=16,
    student_steps=120,
    student_rows=8,
    pool=32,
    head_steps=60,
)
RECIPES = {recipe.name: recipe for recipe in (FULL, TINY)}
