"""``specproof generate``: speculative generation with any verifier, side by side with plain decoding."""

import json as json_module
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from rich.console import Console

from specproof.devices import Device, check_device
from specproof.fast.drafters import Drafter, ModelDrafter
from specproof.fast.generate import Generated, Seconds, Settings, acceptance, check, generate, plain
from specproof.fast.language_model import LanguageModel
from specproof.fast.sampling import Sampling
from specproof.fast.verifiers.by_name import verifier_of
from specproof.integration.models import load
from specproof.output import STDOUT, check_destination, report_console, write_data
from specproof.usage import refuse
from specproof.zoo_command import open_family

SCHEMA = "specproof-generate/1"
DEFAULT = "block+race"


@dataclass(frozen=True)
class Models:
    """What a generation runs on."""

    target: LanguageModel
    drafter: Drafter
    tokenizer: Any
    start: list[int]  # tokens that every text starts with

    def encode(self, text: str) -> list[int]:
        """Ids of a prompt."""
        encoding = self.tokenizer.encode(text, add_special_tokens=False)
        return [*self.start, *(encoding if isinstance(encoding, list) else encoding.ids)]

    def decode(self, tokens: list[int]) -> str:
        """Text of ids."""
        return str(self.tokenizer.decode(tokens))


def models_of(family: str, target: str | None, draft: str | None, device: str) -> Models:
    """Open the target and the drafter: parts of a family by name, or folders with models that share a tokenizer.

    Raises ``UsageError``, ``ValueError`` or ``FileNotFoundError`` for what is not there or does not fit.
    """
    check_device(device)
    if target is None:
        opened = open_family(family, device=device)
        if draft is not None and Path(draft).exists():
            return Models(opened.target, ModelDrafter(load(draft, device), draft), opened.tokenizer, [0])
        return Models(opened.target, opened.drafter(draft or "general"), opened.tokenizer, [0])
    if draft is None:
        raise ValueError("--target needs --draft: a folder with a model of the same vocabulary")
    from transformers import AutoTokenizer

    big = load(target, device)
    tokenizer = AutoTokenizer.from_pretrained(target)
    start = [tokenizer.bos_token_id] if tokenizer.bos_token_id is not None else []
    return Models(big, ModelDrafter(load(draft, device), draft), tokenizer, start)


def command(
    prompt: Annotated[str, typer.Argument(help="Text to continue.")],
    target: Annotated[str | None, typer.Option(help="Folder of the target; the family's own unless told.")] = None,
    draft: Annotated[str | None, typer.Option(help="Folder of the drafter, or one of the family's by name.")] = None,
    family: Annotated[str, typer.Option(help="Which family; see `specproof zoo show`.")] = "full",
    verifier: Annotated[str, typer.Option(help="A verifier, or VERIFIER+SELECTOR.")] = DEFAULT,
    drafts: Annotated[int, typer.Option(help="Drafts a round, K.")] = 4,
    length: Annotated[int, typer.Option(help="Tokens a draft, L.")] = 4,
    tokens: Annotated[int, typer.Option(help="New tokens.")] = 64,
    temperature: Annotated[float, typer.Option(help="0 takes the most likely token.")] = 0.7,
    top_k: Annotated[int | None, typer.Option(help="Keep the k most likely tokens.")] = None,
    top_p: Annotated[float | None, typer.Option(help="Keep the nucleus of this mass.")] = None,
    min_p: Annotated[float | None, typer.Option(help="Keep tokens of at least this share of the best.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the request.")] = 0,
    device: Device = "cpu",
    json: Annotated[str | None, typer.Option(help="Write what was measured here; - for stdout.")] = None,
) -> None:
    """Continue a prompt speculatively, and say what that gained over plain decoding."""
    check_destination("--json", json)
    try:
        sampling = Sampling(temperature, top_k, top_p, min_p=min_p)
        settings = Settings(tokens, drafts, length, sampling)
        chosen = verifier_of(verifier, drafts)
        models = models_of(family, target, draft, device)
        ids = models.encode(prompt)
        check(models.target, models.drafter, [ids], settings)
        # One round to warm up; it also refuses drafts that the drafter or the verifier cannot take before anything is shown.
        generate(models.target, models.drafter, chosen, [ids], Settings(1, drafts, length, sampling), seeds=[seed])
    except (ValueError, FileNotFoundError) as error:
        refuse(error)
    torch.set_num_threads(1)
    streamed = json != STDOUT
    console = Console(highlight=False)
    if streamed:
        console.print(prompt, end="", markup=False, style="dim")
    shown: list[int] = []

    def hear(_: int, new: list[int]) -> None:
        before = models.decode(shown)
        shown.extend(new)
        if streamed:
            console.print(models.decode(shown)[len(before) :], end="", markup=False)

    seconds, started = Seconds(), time.perf_counter()
    (made,) = generate(
        models.target, models.drafter, chosen, [ids], settings, seeds=[seed], on_tokens=hear, seconds=seconds
    )
    spent = time.perf_counter() - started
    started = time.perf_counter()
    (slow,) = plain(models.target, [ids], settings, seeds=[seed])
    record = report(
        made, settings, seconds, len(made.tokens) / spent, len(slow.tokens) / (time.perf_counter() - started)
    )
    record = {"verifier": verifier, "drafter": models.drafter.name, **record, "text": models.decode(made.tokens)}
    if streamed:
        console.print("\n")
    report_console(json).print(summary(record), highlight=False)
    if json is not None:
        write_data(json, json_module.dumps({"schema": SCHEMA, **record}, indent=1))


def report(made: Generated, settings: Settings, seconds: Seconds, speed: float, plain_speed: float) -> dict[str, Any]:
    """What a generation did, in numbers."""
    return {
        "drafts": settings.drafts,
        "length": settings.length,
        "temperature": settings.sampling.temperature,
        "tokens": len(made.tokens),
        "rounds": len(made.rounds),
        "block_efficiency": made.block_efficiency,
        "acceptance": [None if share != share else share for share in acceptance([made], settings.length)],  # noqa: PLR0124
        "tokens_per_second": speed,
        "plain_tokens_per_second": plain_speed,
        "seconds": vars(seconds),
    }


def summary(record: dict[str, Any]) -> str:
    """The numbers in three lines."""
    shares = "  ".join("-" if share is None else f"{share:.2f}" for share in record["acceptance"])
    spent = "  ".join(f"{name} {value:.3f} s" for name, value in record["seconds"].items())
    return (
        f"{record['tokens']} tokens in {record['rounds']} rounds: block efficiency {record['block_efficiency']:.3f} "
        f"({record['verifier']}, {record['drafter']}, K={record['drafts']}, L={record['length']})\n"
        f"acceptance by position: {shares}\n"
        f"{record['tokens_per_second']:.0f} tokens a second, plain decoding {record['plain_tokens_per_second']:.0f} "
        f"({record['tokens_per_second'] / record['plain_tokens_per_second']:.2f} times);  {spent}"
    )
