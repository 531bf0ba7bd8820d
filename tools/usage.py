"""A mistake in what was typed. The command line says it and ends with exit code 64."""

from typing import NoReturn


class UsageError(Exception):
    """The message says what was given, what is allowed and the nearest choice."""


def refuse(message: object) -> NoReturn:
    """Raise ``UsageError``."""
    raise UsageError(str(message))
