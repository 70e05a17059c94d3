"""How far long work is: bars where somebody watches, a line now and then elsewhere; on standard error."""

import sys
import time
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING

from headstart.cli.terminal import note

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

SECONDS_BETWEEN_LINES = 10.0


class Bars(AbstractContextManager["Bars"]):
    """One bar for every kind of step, with the time left."""

    def __init__(self) -> None:
        self._bar: Bar | None = None
        self._tasks: dict[str, TaskID] = {}
        self._done: dict[str, int] = {}
        self._totals: dict[str, int] = {}
        self._began = self._last = time.monotonic()
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                console=Console(stderr=True, markup=False, highlight=False),
            )
            self._bar.start()

    def begin(self, kind: str, total: int) -> None:
        """Expect ``total`` more steps of a kind."""
        self._totals[kind] = self._totals.get(kind, 0) + total
        self._done.setdefault(kind, 0)
        if self._bar is not None and kind not in self._tasks and total:
            self._tasks[kind] = self._bar.add_task(kind, total=total)
        elif self._bar is not None and kind in self._tasks:
            self._bar.update(self._tasks[kind], total=self._totals[kind])

    def step(self, kind: str) -> None:
        """Count a step."""
        self._done[kind] = self._done.get(kind, 0) + 1
        if self._bar is not None and kind in self._tasks:
            self._bar.update(self._tasks[kind], completed=self._done[kind])
        elif self._bar is None and time.monotonic() - self._last > SECONDS_BETWEEN_LINES:
            self._last = time.monotonic()
            done, total = self._done[kind], self._totals.get(kind, 0)
            left = (self._last - self._began) / done * max(total - done, 0)
            note(f"  {kind} {done} of {total}, about {_minutes(left)} left")

    def line(self, text: str) -> None:
        """Print a line above the bars."""
        if self._bar is None:
            note(text)
        else:
            self._bar.console.print(text)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
