"""A verifier that lives in another process: what it said of itself in hello, and requests in JSON lines.

A process that takes its noise with the request is probed like any other code: uniforms, or exponentials beside them for one
that chooses by a race. One that draws its own numbers is counted only: no script reaches them (``hidden_randomness``).
"""

import atexit
import json
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from specproof.fast.batch import CAPABILITIES, Drafting, Drafts, Outcome, Randomness
from specproof.fast.randomness import uniforms
from specproof.integration.process.channel import Channel, Limits, _short
from specproof.integration.process.serve import PROTOCOL
from specproof.properties.verdict import Undecided
from specproof.reference.names import nearest
from specproof.reference.verifiers import rule_names

ATTEMPTS = 3  # how often a process that failed is started again: a crash on one case should not hide the others
MOST_ROWS = 8192
OWN = {"batch", "takes_uniforms", "hidden_randomness"}  # follow from hello, are not declared there
ANSWERS = ("tokens", "accepted", "path")


class ProcessVerifier:
    """The process behind ``command``. Raises ``Undecided`` when it does not start or says nothing sensible."""

    rowwise = True  # whatever is drawn here is drawn a row a request

    def __init__(
        self, command: Sequence[str], limits: Limits | None = None, environment: dict[str, str] | None = None
    ) -> None:
        self._start = partial(Channel, command, limits or Limits(), environment)
        self._channel: Channel | None = None
        self._failures: list[Undecided] = []
        self._requests = 0
        atexit.register(self.close)
        hello = self._connect()
        self.name = str(hello.get("name", command[0]))
        self.__version__ = str(hello.get("version", "unversioned"))
        self.drafting = Drafting(_whole(hello, "drafts", 1), replacement=bool(hello.get("replacement", True)))
        self._most = _whole(hello, "batch", MOST_ROWS)
        counts = hello.get("uniforms")
        self._uniforms = None if counts is None else (_whole(counts, "token", 0, 0), _whole(counts, "request", 0, 0))
        self._races = _whole(hello, "exponentials", 0, 0)
        if self._races and self._uniforms is None:
            raise Undecided("'exponentials' in hello come beside 'uniforms', which it does not ask for")
        declared = {str(name) for name in hello.get("capabilities", ())} - OWN
        for name in declared:
            if name not in CAPABILITIES:
                raise Undecided(nearest("capability in hello", name, CAPABILITIES))
        noise = set() if self._races else {"hidden_randomness" if counts is None else "takes_uniforms"}
        self.capabilities = frozenset({"batch"} | declared | noise)
        self.rule = hello.get("rule")
        if self.rule is not None and self.rule not in rule_names():
            raise Undecided(nearest("rule in hello", str(self.rule), rule_names()))

    def verify(self, drafts: Drafts, generator: Randomness, carry: Any = None) -> Outcome:  # noqa: ARG002
        """Verify the batch in requests of at most as many rows as the process takes."""
        drafts.check()
        noise = self._noise(drafts, generator)
        parts = []
        for start in range(0, drafts.batch, self._most):
            rows = slice(start, start + self._most)
            parts.append(self._ask(self._request(drafts, rows, noise, generator)))
        joined = {key: torch.cat([part[key] for part in parts]) for key in parts[0]}
        return Outcome(joined["tokens"], joined["accepted"], joined.get("path"))

    def uniforms(self, drafts: Drafts) -> int:
        """How many uniforms each request of a batch gets; none when the process draws its own."""
        each, once = self._uniforms or (0, 0)
        return each * drafts.length + once

    def close(self) -> None:
        """End the process."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def _noise(self, drafts: Drafts, generator: Randomness) -> dict[str, Tensor]:
        """What comes with the request: uniforms [B, n], exponentials [B, races, V]. Empty when the process draws its own."""
        if self._uniforms is None:
            return {}
        if not self._races:
            return {"uniforms": uniforms(generator, drafts.batch, self.uniforms(drafts), drafts.device)}
        if not (generator is None or isinstance(generator, torch.Generator)):
            raise TypeError("exponentials are drawn from a generator, not made of uniforms or seeds")
        each, once = self._uniforms
        shape = (drafts.batch, self._races, drafts.vocabulary)
        races = torch.empty(shape, dtype=torch.float64).exponential_(generator=generator)
        # Last what there is more of in a longer batch: a padded request then has the numbers that it has alone.
        last = uniforms(generator, drafts.batch, once, drafts.device)
        first = uniforms(generator, drafts.batch, each * drafts.length, drafts.device)
        return {"uniforms": torch.cat([first, last], dim=-1), "exponentials": races}

    def _request(self, drafts: Drafts, rows: slice, noise: dict[str, Tensor], generator: Any) -> dict[str, Any]:
        request: dict[str, Any] = {
            "tokens": drafts.tokens[rows].tolist(),
            "draft_probs": drafts.draft_rows()[rows].tolist(),
            "target_probs": drafts.target_probs[rows].tolist(),
        }
        if drafts.lengths is not None:
            request["lengths"] = drafts.lengths[rows].tolist()
        if noise:
            return request | {name: numbers[rows].tolist() for name, numbers in noise.items()}
        # Six digits of a uniform are a seed; a draw of integers that wide could not be scripted.
        return {**request, "seed": int(torch.rand((), dtype=torch.float64, generator=generator) * 2**31)}

    def _ask(self, request: dict[str, Any]) -> dict[str, Tensor]:
        """One request. After a failure the process is started afresh, a few times."""
        if self._channel is None:
            if len(self._failures) >= ATTEMPTS:
                raise Undecided(f"not started again after {ATTEMPTS} failures, the last: {self._failures[-1]}")
            self._connect()
        assert self._channel is not None
        self._requests += 1
        try:
            return self._read(self._channel.ask(json.dumps({"id": self._requests, **request}).encode()))
        except Undecided as reason:
            self._failures.append(reason)
            self.close()
            raise

    def _read(self, line: bytes) -> dict[str, Tensor]:
        said = _object(line)
        if "error" in said:
            raise RuntimeError(f"in the process: {said['error']}")
        if said.get("id") != self._requests:
            raise Undecided(f"the answer has id {said.get('id')!r}, request {self._requests} was asked: {_short(line)}")
        answer: dict[str, Tensor] = {}
        for key in ANSWERS:
            if said.get(key) is None:
                if key != "path":
                    raise Undecided(f"the answer has no {key!r}: {_short(line)}")
                continue
            try:
                answer[key] = torch.tensor(said[key])
            except (TypeError, ValueError, RuntimeError) as error:
                raise Undecided(f"{key!r} in the answer is no array of numbers: {error}") from error
        return answer

    def _connect(self) -> dict[str, Any]:
        """Start the process and return its hello."""
        self._channel = self._start()
        try:
            hello = _object(self._channel.hello())
        except Undecided:
            self.close()
            raise
        if hello.get("specproof") != PROTOCOL:
            self.close()
            raise Undecided(f'hello must say {{"specproof": {PROTOCOL}}}, got {hello.get("specproof")!r}')
        return hello


def _object(line: bytes) -> dict[str, Any]:
    try:
        said = json.loads(line)
    except ValueError as error:
        raise Undecided(f"the process wrote a line that is no JSON: {_short(line)}") from error
    if not isinstance(said, dict):
        raise Undecided(f"the process wrote a line that is no JSON object: {_short(line)}")
    return said


def _whole(given: Any, key: str, default: int, least: int = 1) -> int:
    value = given.get(key, default) if isinstance(given, dict) else None
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise Undecided(f"{key!r} in hello must be a whole number, at least {least}, got {value!r}")
    return value
