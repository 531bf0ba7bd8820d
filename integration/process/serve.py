"""The other side of a process subject: answers requests on standard input with lines on standard output.

``python -m specproof.integration.process.serve module:object``, or this file by its path and ``file.py:object`` where specproof
is not installed: it needs nothing but the standard library. The object is one of

* a guest: ``hello`` (a dict, see ``docs/process.md``) and ``answer(request) -> dict``, lists in and out;
* a verifier or a plain function of tensors, as specproof takes them; then torch and specproof are imported.
"""

import importlib
import importlib.util
import inspect
import json
import os
import sys
from pathlib import Path
from typing import Any, TextIO

PROTOCOL = 1


class TorchGuest:
    """A verifier of tensors behind lists. What it draws comes from a generator with the seed of the request.

    With an attribute ``process_uniforms`` (as ``uniforms`` in hello) it is handed those in place of the generator.
    """

    def __init__(self, found: Any) -> None:
        from specproof.fast.from_function import from_function

        self.verifier = from_function(found) if inspect.isfunction(found) else found
        drafting = getattr(self.verifier, "drafting", None)
        self.hello: dict[str, Any] = {
            "name": getattr(found, "__name__", type(found).__name__),
            "version": str(getattr(found, "__version__", "unversioned")),
            "drafts": getattr(drafting, "drafts", 1),
            "replacement": getattr(drafting, "replacement", True),
            "capabilities": sorted(getattr(self.verifier, "capabilities", {"batch"})),
            "uniforms": getattr(self.verifier, "process_uniforms", None),
            "rule": getattr(self.verifier, "rule", None),
        }

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Verify one batch."""
        import torch

        from specproof.fast.batch import Drafts

        given = {
            key: torch.tensor(request[key]) for key in ("draft_probs", "target_probs", "lengths") if request.get(key)
        }
        drafts = Drafts(
            torch.tensor(request["tokens"]), given.get("draft_probs"), given["target_probs"], given.get("lengths")
        )
        if request.get("uniforms") is not None:
            source: Any = torch.tensor(request["uniforms"], dtype=torch.float64)
        else:
            torch.manual_seed(request["seed"])
            source = torch.Generator().manual_seed(request["seed"])
        outcome = self.verifier.verify(drafts, source)
        said = {"tokens": outcome.tokens.tolist(), "accepted": outcome.accepted.tolist()}
        return said if outcome.path is None else {**said, "path": outcome.path.tolist()}


def found_at(where: str) -> Any:
    """The object at ``module:object`` or ``file.py:object``. Raises ``ImportError`` or ``AttributeError``."""
    source, separator, path = where.rpartition(":")
    if not separator:
        raise ImportError(f"say which object to serve, as module:object or file.py:object; got {where!r}")
    if source.endswith(".py"):
        spec = importlib.util.spec_from_file_location(Path(source).stem, source)
        if spec is None or spec.loader is None:
            raise ImportError(f"cannot import {source}")
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    else:
        sys.path.insert(0, str(Path.cwd()))
        module = importlib.import_module(source)
    found: Any = module
    for part in path.split("."):
        found = getattr(found, part)
    return found


def serve(guest: Any, lines: TextIO, out: TextIO) -> None:
    """Say hello, then answer one line with one line until the input ends. What a call raises is its answer."""
    print(json.dumps({"specproof": PROTOCOL, **guest.hello}), file=out, flush=True)
    for line in lines:
        request = json.loads(line)
        try:
            said = guest.answer(request)
        except Exception as error:  # noqa: BLE001 - whatever it is, the other side must hear of it
            said = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps({"id": request["id"], **said}), file=out, flush=True)


def main() -> None:
    """Serve the object named on the command line; what it prints goes to standard error."""
    if len(sys.argv) != 2:
        sys.exit("usage: serve.py module:object")
    out = os.fdopen(os.dup(1), "w")  # the lines go here; a library that prints must not disturb them
    os.dup2(2, 1)
    found = found_at(sys.argv[1])
    if inspect.isclass(found):
        found = found()
    serve(found if hasattr(found, "answer") else TorchGuest(found), sys.stdin, out)


if __name__ == "__main__":
    main()
