"""``specproof write module:object``: print a test file for somebody's own object, with an adapter where it needs one."""

from typing import Annotated

import typer
from rich.console import Console

from specproof.output import check_destination, write_data
from specproof.subjects import UnknownSubject, imported
from specproof.usage import refuse
from specproof.writing import write_test_file


def write(
    subject: Annotated[str, typer.Argument(metavar="MODULE:OBJECT", help="A function, a verifier or a decoder.")],
    output: Annotated[str, typer.Option(help="Write it here; - for stdout.")] = "-",
) -> None:
    """Print a test file for an object of your own; a function is called on a few requests to find its conventions."""
    check_destination("--output", output, (".py",) if output != "-" else ())
    module, separator, path = subject.partition(":")
    if not separator:
        refuse(f"write takes module:object, got {subject!r}")
    try:
        written = write_test_file(module, path, imported(module, path))
    except (UnknownSubject, TypeError, ValueError) as error:
        refuse(error)
    Console(stderr=True, highlight=False).print(written.found)
    write_data(output, written.text.rstrip("\n"))
