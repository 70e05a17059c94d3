"""Jobs on several processes that report each step, stop cleanly and die with their parent.

The workers ignore Ctrl-C: the parent notices it and asks them to stop, which they do after the step they are at. So
nothing is cut off in the middle, and nobody prints a traceback. Who presses Ctrl-C again while they are waited for does
not want to wait: they leave at once.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from ctypes import c_byte
from multiprocessing.queues import SimpleQueue
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


GO_ON, STOP, LEAVE = range(3)
"""What the parent wishes: a byte that all share, without a lock that a killed worker might take with it."""
SECONDS_TO_NOTICE = 0.5
"""How often a worker looks whether its parent is gone or wants it gone."""


class StoppedError(Exception):
    """Raised by ``report`` in a worker that was asked to stop."""


class WorkerDiedError(HeadstartError, RuntimeError):
    """A worker ended without an answer, for example because the machine ran out of memory."""


class Workers:
    """Some processes; none at all for one worker, which is this process."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._executor: ProcessPoolExecutor | None = None
        self._futures: list[Future[Any]] = []
        if count > 1:
            context = multiprocessing.get_context("spawn")  # fork is unsafe next to the thread of a progress bar
            # a step is there before the answer of its job; Queue would hand it to a thread that may be late
            self._steps: SimpleQueue[tuple[str, float | None]] = context.SimpleQueue()
            self._wish: c_byte = context.RawValue(c_byte, GO_ON)
            self._executor = ProcessPoolExecutor(
                count, mp_context=context, initializer=_begin, initargs=(self._steps, self._wish)
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
                self._futures = [self._executor.submit(_carry_out, job) for job in jobs]
            self._follow(self._futures, report)
            return [future.result() for future in self._futures]
        except BrokenProcessPool as error:
            raise WorkerDiedError(
                "A worker process ended without an answer; the machine may be out of memory. What was finished is "
                "kept. Try again with --jobs 1."
            ) from error

    def close(self) -> None:
        """Stop the workers after the step each is at, and wait for them; at once after Ctrl-C."""
        if self._executor is None:
            return
        self._wish.value = STOP
        try:
            for future in self._futures:
                future.cancel()
            wait(self._futures)
        except KeyboardInterrupt:
            self._wish.value = LEAVE
            raise
        finally:
            # a join that Ctrl-C cuts off makes Python take the executor's thread for finished, and hang at its end
            with _ignoring_interrupts():
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


_steps: "SimpleQueue[tuple[str, float | None]] | None" = None
_wish: c_byte | None = None


def _begin(steps: "SimpleQueue[tuple[str, float | None]]", wish: c_byte) -> None:
    """Prepare a worker."""
    global _steps, _wish
    _steps, _wish = steps, wish
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_die_with_parent, args=(wish,), daemon=True).start()


def _die_with_parent(wish: c_byte) -> None:
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    while parent.is_alive() and wish.value != LEAVE:
        parent.join(SECONDS_TO_NOTICE)
    os._exit(1)  # nobody is left to tell, or nobody wants to hear it


def _carry_out(job: Job[R]) -> R:
    if _wish is not None and _wish.value != GO_ON:  # it was on its way already
        raise StoppedError
    with one_thread():
        return job.run(_report)


def _report(kind: str, best: float | None) -> None:
    if _steps is None or _wish is None:
        return
    if _wish.value != GO_ON:
        raise StoppedError
    _steps.put((kind, best))
