"""Where data goes: ``-`` is stdout, anything else a file that is never seen half written."""

from pathlib import Path

from rich.console import Console

from specproof.usage import UsageError

STDOUT = "-"
WIDTH = 130


def check_destination(option: str, destination: str | None, endings: tuple[str, ...] = ()) -> None:
    """Raise ``UsageError`` for a place that nothing can be written to, before anything is computed.

    ``endings`` are the file names that are allowed; stdout is not among them.
    """
    if destination is None or (destination == STDOUT and not endings):
        return
    path = Path(destination)
    if endings and path.suffix.lower() not in endings:
        raise UsageError(f"{option} {destination}: the file must end in {' or '.join(endings)}")
    if path.is_dir():
        raise UsageError(f"{option} {destination}: this is a folder, give a file")
    taken = next((parent for parent in path.parents if parent.exists()), None)
    if taken is not None and not taken.is_dir():
        raise UsageError(f"{option} {destination}: {taken} is a file, not a folder")


def report_console(destination: str | None) -> Console:
    """The console for what a person reads: stderr when the data takes stdout."""
    console = Console(stderr=destination == STDOUT, highlight=False)
    if not console.is_terminal:  # a pipe or a log has no width of its own; tables need some
        console.width = max(console.width, WIDTH)
    return console


def write_data(destination: str, text: str) -> None:
    """Print the text or write it to a file."""
    if destination == STDOUT:
        print(text)
        return
    path = Path(destination)
    write_file(path, text)
    Console(stderr=True, highlight=False).print(f"written: {path}")


def write_file(path: Path, text: str) -> None:
    """Write a file that is never seen half written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text(text + "\n")
    partial.replace(path)
