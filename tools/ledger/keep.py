"""What the ledger keeps on disk: a certificate and an entry for each subject, and by what an entry is known again."""

import re
from importlib import metadata
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from specproof.integration.shelf import home
from specproof.journal import suite_digest
from specproof.ledger.entry import Entry


def default_folder() -> Path:
    """Where finished certificates lie unless a folder is named."""
    return home() / "ledger"


def safe(name: str) -> str:
    """A subject's name as a file name."""
    return re.sub(r"[^\w.@-]+", "-", name)


def certificate_path(folder: Path, name: str) -> Path:
    """Where the certificate of a subject goes."""
    return folder / f"{safe(name)}.certificate.json"


def entry_path(folder: Path, name: str) -> Path:
    """Where the entry of a subject goes."""
    return folder / f"{safe(name)}.entry.json"


def key_of(name: str, version: str, evidence: str, seed: int) -> dict[str, Any]:
    """What must be the same for an entry to stand in for a new certification."""
    suite = f"{metadata.version('specproof')} {suite_digest()}"
    return {"name": name, "version": version, "evidence": evidence, "seed": seed, "suite": suite}


def finished(folder: Path, name: str, key: dict[str, Any]) -> Entry | None:
    """The entry of an earlier run of the same certification."""
    try:
        entry = Entry.model_validate_json(entry_path(folder, name).read_text())
    except (OSError, ValidationError):
        return None
    return entry if entry.key == key else None
