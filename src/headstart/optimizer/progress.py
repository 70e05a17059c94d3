"""The progress bar of ``Optimizer.optimize``."""

from collections.abc import Callable, Generator
from contextlib import contextmanager


@contextmanager
def bar(
    wanted: bool, total: int | None, words: Callable[[], str]
) -> Generator[Callable[[int, int | None], None] | None]:
    """Give a function that shows how far a loop is, on standard error; None where no bar is wanted.

    Args:
        wanted: Whether to show one.
        total: Trials in all, where known.
        words: Says what to show beside it.
    """
    if not wanted:
        yield None
        return
    from rich.console import Console  # only where a bar is shown
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (MofNCompleteColumn(), BarColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(words(), total=total)

        def show(done: int, _: int | None) -> None:
            progress.update(task, completed=done, description=words())

        yield show
