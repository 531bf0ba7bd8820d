"""A built family, opened: target, drafters, tokenizer and held-out text."""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from specproof.fast.drafters import Drafter, ModelDrafter, PromptLookup
from specproof.integration.models import TransformersModel, load
from specproof.integration.zoo.build import CARD, HEAD, HELD_OUT
from specproof.integration.zoo.head import HeadDrafter, HeadModel, head_network
from specproof.integration.zoo.recipe import RECIPES
from specproof.reference.names import nearest


@dataclass(frozen=True)
class Family:
    """Opens parts of a family when they are asked for. Raises ``FileNotFoundError`` for a folder that holds none."""

    folder: Path
    device: str = "cpu"

    def __post_init__(self) -> None:
        if not (self.folder / CARD).exists():
            raise FileNotFoundError(f"{self.folder} holds no family; build one with: specproof zoo build")

    @cached_property
    def card(self) -> dict[str, Any]:
        """What was built, and how well the target does on held-out text."""
        card: dict[str, Any] = json.loads((self.folder / CARD).read_text())
        return card

    @cached_property
    def target(self) -> TransformersModel:
        """The target."""
        return load(self.folder / "target", self.device)

    @cached_property
    def tokenizer(self) -> Any:
        """The tokenizer of all its models."""
        from tokenizers import Tokenizer

        return Tokenizer.from_file(str(self.folder / "tokenizer.json"))

    @cached_property
    def held_out(self) -> dict[str, list[list[int]]]:
        """Encoded documents of each domain that nobody was trained on."""
        found: dict[str, list[list[int]]] = json.loads((self.folder / HELD_OUT).read_text())
        return found

    @property
    def domains(self) -> list[str]:
        """Names of the domains."""
        return list(self.held_out)

    @property
    def drafters(self) -> list[str]:
        """Names of the drafters: the trained ones, the head, and prompt lookup."""
        return [*RECIPES[self.card["recipe"]].students, "head", "lookup"]

    def drafter(self, name: str) -> Drafter:
        """Return a drafter. Raises ``ValueError`` for an unknown name."""
        if name not in self.drafters:
            raise ValueError(nearest("drafter", name, self.drafters))
        if name == "lookup":
            return PromptLookup()
        if name == "head":
            from safetensors.torch import load_file

            network = head_network(self.target.network)
            network.load_state_dict(load_file(str(self.folder / HEAD)))
            return HeadDrafter(HeadModel(network.to(self.device), self.target))
        return ModelDrafter(load(self.folder / name, self.device), name)

    def prompts(self, domain: str, count: int, length: int = 64) -> list[list[int]]:
        """``count`` held-out prompts of ``length`` tokens, spread over the documents. Raises ``ValueError`` for an unknown domain."""
        if domain not in self.held_out:
            raise ValueError(nearest("domain", domain, self.domains))
        windows = [
            document[start : start + length]
            for document in self.held_out[domain]
            for start in range(0, max(1, len(document) - length), length)
        ]
        whole = [window for window in windows if len(window) == length]
        if len(whole) < count:
            raise ValueError(f"{domain} has {len(whole)} held-out prompts of {length} tokens, got count={count}")
        return [whole[index * len(whole) // count] for index in range(count)]
