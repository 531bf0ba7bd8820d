"""The progress bar of every long command: on stderr, what is being done behind it."""

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn


def bars(*titles: ProgressColumn, transient: bool = False, console: Console | None = None) -> Progress:
    """A bar with its count and time; ``titles`` stand before it, a task's description behind. A transient one leaves no trace."""
    columns = (*titles, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("[dim]{task.description}"))
    return Progress(*columns, console=console or Console(stderr=True), transient=transient)
