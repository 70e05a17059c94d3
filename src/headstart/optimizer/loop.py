"""Evaluating trials one after the other or several at once, and how that ends: limits, errors, Ctrl-C."""

import logging
import math
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from typing import Any, Protocol

from headstart.data import Trial
from headstart.errors import DataError, HeadstartError, SettingsError, SpaceExhaustedError
from headstart.space import Config
from headstart.space.values import as_number, is_count, shown

logger = logging.getLogger(__name__)


class AsksAndTells(Protocol):
    """What the loop needs of an Optimizer."""

    def ask(self) -> Trial:
        """Return the next trial."""
        ...

    def expected_gain(self) -> float | None:
        """Return what the next trial is expected to gain, if anybody can say."""
        ...

    def tell(
        self,
        trial: Trial,
        value: float | None = None,
        *,
        failed: bool = False,
        duration: float | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        """Say what came of it."""
        ...


@dataclass(frozen=True)
class Limits:
    """When the loop ends, and how many trials run at once."""

    n_trials: int | None = None
    timeout: float | None = None
    n_jobs: int = 1
    stop_below: float | None = None
    """The gain that one more trial must promise."""

    def __post_init__(self) -> None:
        if self.n_trials is not None and not is_count(self.n_trials, 0):
            raise SettingsError(f"optimize: n_trials must be a whole number of at least 0, got {shown(self.n_trials)}.")
        if not is_count(self.n_jobs, 1):
            raise SettingsError(f"optimize: n_jobs must be a whole number of at least 1, got {shown(self.n_jobs)}.")
        seconds = as_number(self.timeout)
        if self.timeout is not None and (seconds is None or seconds < 0):
            raise SettingsError(
                f"optimize: timeout must be a number of seconds, at least 0, got {shown(self.timeout)}."
            )
        least = as_number(self.stop_below)
        if self.stop_below is not None and (least is None or least < 0):
            raise SettingsError(
                f"optimize: stop_below must be a gain in the units of the values, at least 0, got "
                f"{shown(self.stop_below)}."
            )


@dataclass(frozen=True)
class _Outcome:
    trial: Trial
    value: Any
    duration: float
    error: BaseException | None


@contextmanager
def one_thread() -> Generator[None]:
    """Hold BLAS to one thread inside: for our small matrices more cost more than they give."""
    from threadpoolctl import threadpool_limits  # pyright: ignore[reportMissingTypeStubs] - it ships none

    with threadpool_limits(limits=1, user_api="blas"):
        yield


def run(
    optimizer: AsksAndTells,
    function: Callable[[Config], Any],
    limits: Limits,
    *,
    catch: type[Exception] | tuple[type[Exception], ...],
    watchers: Sequence[Callable[[int], object]],
    progress: Callable[[int, int | None], None] | None,
) -> None:
    """Ask, evaluate and tell until a limit, the end of the Space, an error, or a watcher that raises StopIteration.

    Args:
        optimizer: Asks and tells; only from this thread.
        function: Evaluates a configuration; in this thread where ``n_jobs`` is 1.
        limits: When to end.
        catch: Exceptions that count as a failed trial.
        watchers: Called with the number of each trial that was told.
        progress: Called with how many are done, of how many.
    """
    began, asked, done = time.monotonic(), 0, 0
    running: dict[int, Trial] = {}
    results: SimpleQueue[_Outcome] = SimpleQueue()
    outcome: _Outcome | None = None
    failure: BaseException | None = None
    stopping = False
    try:
        while True:
            while not stopping and len(running) < limits.n_jobs and _may_begin(limits, asked, began):
                try:
                    if _is_enough(optimizer, limits):
                        stopping = True
                        break
                    trial = optimizer.ask()
                except SpaceExhaustedError as error:
                    logger.warning("%s", error)
                    stopping = True
                    break
                asked += 1
                running[trial.number] = trial
                if limits.n_jobs == 1:
                    results.put(_evaluated(function, trial))
                else:
                    # daemons: Ctrl-C must not wait for evaluations that nobody can interrupt
                    Thread(target=_evaluate_into, args=(results, function, trial), daemon=True).start()
            if not running:
                break
            outcome = results.get()
            if isinstance(outcome.error, KeyboardInterrupt):
                raise outcome.error
            error = _told(optimizer, outcome, catch)
            failure = failure if error is None else error
            del running[outcome.trial.number]
            done += 1
            stopping = stopping or failure is not None
            if progress is not None:
                progress(done, limits.n_trials)
            for watcher in watchers:
                try:
                    watcher(outcome.trial.number)
                except StopIteration:
                    stopping = True
    except BaseException:
        _tell_arrived(optimizer, running, [outcome, *_drained(results)], catch)
        raise
    if failure is not None:
        raise failure


def _may_begin(limits: Limits, asked: int, began: float) -> bool:
    left = math.inf if limits.n_trials is None else limits.n_trials - asked
    return left > 0 and (limits.timeout is None or time.monotonic() - began < limits.timeout)


def _is_enough(optimizer: AsksAndTells, limits: Limits) -> bool:
    """Return whether one more trial promises too little."""
    if limits.stop_below is None:
        return False
    gain = optimizer.expected_gain()
    if gain is None or gain >= limits.stop_below:
        return False
    logger.info("one more trial is expected to gain %.3g, less than %.3g", gain, limits.stop_below)
    return True


def _drained(results: SimpleQueue[_Outcome]) -> list[_Outcome]:
    return [results.get() for _ in range(results.qsize())]


def _tell_arrived(
    optimizer: AsksAndTells,
    running: dict[int, Trial],
    arrived: Sequence[_Outcome | None],
    catch: type[Exception] | tuple[type[Exception], ...],
) -> None:
    """Tell what has a result when something interrupts the loop; the caller abandons what has none."""
    for outcome in arrived:
        if outcome is None or isinstance(outcome.error, KeyboardInterrupt) or outcome.trial.number not in running:
            continue
        with suppress(HeadstartError):  # the interruption may have come after it was told
            _told(optimizer, outcome, catch)
        del running[outcome.trial.number]


def _evaluated(function: Callable[[Config], Any], trial: Trial) -> _Outcome:
    began = time.monotonic()
    value, error = None, None
    try:
        value = function(dict(trial.config))  # the function may do with it what it likes
    except BaseException as raised:
        error = raised
    return _Outcome(trial, value, time.monotonic() - began, error)


def _evaluate_into(results: SimpleQueue[_Outcome], function: Callable[[Config], Any], trial: Trial) -> None:
    results.put(_evaluated(function, trial))


def _told(
    optimizer: AsksAndTells, outcome: _Outcome, catch: type[Exception] | tuple[type[Exception], ...]
) -> BaseException | None:
    """Tell the outcome and return what must be raised, if anything."""
    error = outcome.error
    if error is None:
        try:
            optimizer.tell(outcome.trial, outcome.value, duration=outcome.duration)
        except DataError as not_a_number:
            error = not_a_number
        else:
            return None
    words = {"error": f"{type(error).__name__}: {error}"[:1000]}
    optimizer.tell(outcome.trial, failed=True, duration=outcome.duration, metadata=words)
    if isinstance(error, catch):
        logger.warning("Trial %d failed: %s", outcome.trial.number, words["error"])
        return None
    return error
