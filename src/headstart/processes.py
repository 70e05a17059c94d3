"""Jobs on several processes that report each step, stop cleanly and die with their parent.

The workers ignore Ctrl-C: the parent notices it and asks them to stop, which they do after the step they are at. So
nothing is cut off in the middle, and nobody prints a traceback.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Event
from typing import Any, Protocol, TypeAlias, TypeVar

from headstart.errors import HeadstartError
from headstart.optimizer.loop import one_thread

T = TypeVar("T", covariant=True)
R = TypeVar("R")

Report: TypeAlias = Callable[[str, float | None], None]
"""Called by a job after each step, with its kind of step and a number, such as the best value so far."""


class Job(Protocol[T]):
    """Something to do in another process; it is pickled."""

    def run(self, report: Report) -> T:
        """Do it, calling ``report`` after every step."""
        ...


class StoppedError(Exception):
    """Raised by ``report`` in a worker that was asked to stop."""


class WorkerDiedError(HeadstartError, RuntimeError):
    """A worker ended without an answer, for example because the machine ran out of memory."""


class Workers:
    """Some processes; none at all for one worker, which is this process."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._executor: ProcessPoolExecutor | None = None
        if count > 1:
            context = multiprocessing.get_context("spawn")  # fork is unsafe next to the thread of a progress bar
            self._steps: Queue[tuple[str, float | None]] = context.Queue()
            self._stop: Event = context.Event()
            self._executor = ProcessPoolExecutor(
                count, mp_context=context, initializer=_begin, initargs=(self._steps, self._stop)
            )

    def run(self, jobs: Sequence[Job[R]], report: Report) -> list[R]:
        """Return what each job returns, in order; ``report`` is called in this process.

        Raises:
            WorkerDiedError: A worker ended without an answer.
        """
        if self._executor is None:
            with one_thread():
                return [job.run(report) for job in jobs]
        try:
            with _ignoring_interrupts():  # workers start here and inherit it: no traceback while they import
                futures = [self._executor.submit(_carry_out, job) for job in jobs]
            self._follow(futures, report)
            return [future.result() for future in futures]
        except BrokenProcessPool as error:
            raise WorkerDiedError(
                "A worker process ended without an answer; the machine may be out of memory. What was finished is "
                "kept. Try again with --jobs 1."
            ) from error

    def close(self) -> None:
        """Stop the workers after the step each is at, and wait for them."""
        if self._executor is not None:
            self._stop.set()
            self._executor.shutdown(wait=True, cancel_futures=True)

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _follow(self, futures: Sequence[Future[Any]], report: Report) -> None:
        waiting = set(futures)
        while waiting:
            done, waiting = wait(waiting, timeout=0.1)
            while not self._steps.empty():
                report(*self._steps.get())
            for future in done:
                future.result()  # an error ends the work at once


def available_processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def _ignoring_interrupts() -> Generator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


_steps: "Queue[tuple[str, float | None]] | None" = None
_stop: "Event | None" = None


def _begin(steps: "Queue[tuple[str, float | None]]", stop: Event) -> None:
    """Prepare a worker."""
    global _steps, _stop
    _steps, _stop = steps, stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_die_with_parent, daemon=True).start()


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)  # nobody is left to tell


def _carry_out(job: Job[R]) -> R:
    with one_thread():
        return job.run(_report)


def _report(kind: str, best: float | None) -> None:
    if _steps is None or _stop is None:
        return
    if _stop.is_set():
        raise StoppedError
    _steps.put((kind, best))
