"""The ask/tell loop: the only object of headstart that keeps state.

The sign of a minimised value flips here, once, and names and ranges end here. What was told is kept in the order in
which it was told; with a Memory it is on the disk before ``tell`` returns, and what other processes told is read back
before every ``ask``.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np

from headstart.arrays import Array, Rng
from headstart.data import Direction, Explanation, MetaDataset, Observation, Trial
from headstart.encoding import Encoding
from headstart.errors import HeadstartError, NotFittedError, SettingsError, SpaceExhaustedError
from headstart.optimizer import arguments, loop, suggestion
from headstart.optimizer.ledger import Ledger
from headstart.optimizer.pool import Pool, pool_of
from headstart.optimizer.preparation import Choices, automatic, prepared, useful
from headstart.optimizer.progress import bar
from headstart.protocols import Acquisition, InitialDesign, Posterior, Surrogate
from headstart.space import Config, Space
from headstart.space.values import is_count, shown

if TYPE_CHECKING:
    from headstart.memory import Memory

_PRETRAINING, _ASKING, _DESIGN = 0, 1, 2
"""Streams of random numbers."""


class Optimizer:
    """Asks for configurations of one task and learns from what comes of them, and of past tasks.

    Threads may share it. It pickles with all that it knows; a Memory that it uses, as the path of its file.
    """

    def __init__(
        self,
        space: Space | None = None,
        *,
        pool: Sequence[Config] | Array | None = None,
        task: str | None = None,
        memory: "Memory | str | Path | None" = None,
        direction: Direction | None = None,
        metric: str | None = None,
        bounds: tuple[float, float] | None = None,
        method: str | Surrogate = "auto",
        initial_design: str | InitialDesign = "auto",
        initial_trials: int | None = None,
        acquisition: Acquisition | None = None,
        past: MetaDataset | None = None,
        metafeatures: Sequence[float] | Array | None = None,
        seed: int | None = None,
    ) -> None:
        """Begin a task, or resume the one of that name in ``memory``.

        Args:
            space: What may be asked. Only a task that is resumed, or a pool of rows, can do without.
            pool: The only configurations that may be asked, where not all of ``space`` may be; or rows of the unit
                cube [N, d], without any Space.
            task: Name of the task; needed with a memory.
            memory: Where trials are kept and past tasks are found: a Memory, or the path of one.
            direction: "minimize" (the default) or "maximize".
            metric: What the values measure; past tasks of another metric are not used.
            bounds: Lowest and highest possible value, where they are known.
            method: "auto", a name such as "gp", or a configured Surrogate. "auto" is "prior-gp" with past tasks and
                "gp" without. A resumed task goes on with the method that it began with; one that was configured must
                be given again, since a memory keeps its name only.
            initial_design: Who gives the first configurations: "auto", a name such as "sobol", or a configured design.
            initial_trials: How many observations the initial design waits for; as many as the method needs when None.
            acquisition: How predictions are rated; the method's own when None.
            past: Past tasks, where they are not in a memory.
            metafeatures: Descriptors [m] of the task, for methods that compare tasks by them ("tst-m"); the past tasks
                need the same ones.
            seed: Makes the sequence of asks reproducible; a resumed task keeps its own.

        Raises:
            SettingsError: The arguments do not fit together.
            MemoryStoreError: The memory cannot be opened, or holds the task with another Space, direction or metric.
        """
        self._lock = RLock()
        self._memory = arguments.opened(memory)
        record = arguments.stored(self._memory, task, space, pool is not None)
        arguments.check_text("metric", metric)
        arguments.check_past(past)
        self.task = task
        """Name of the task."""
        self.space = record.space if record is not None and space is None else space
        """What may be asked; None for a pool of rows."""
        self.direction: Direction = arguments.checked_direction(
            (record.direction if record else "minimize") if direction is None else direction
        )
        """"minimize" or "maximize"."""
        self._sign = 1.0 if self.direction == "maximize" else -1.0
        self._metric = metric if metric is not None or record is None else record.metric
        self._bounds = arguments.checked_bounds(record.bounds if record is not None and bounds is None else bounds)
        self.seed = arguments.checked_seed(record.seed if record is not None and record.seed is not None else seed)
        """Of the sequence of asks."""
        described = arguments.checked_metafeatures(metafeatures)
        self._choices = Choices(method, initial_design, initial_trials, acquisition, self._inner_bounds, described)
        arguments.check_choices(self._choices)
        self._encoding = None if self.space is None else Encoding(self.space)
        self._pool: Pool | None = None if pool is None else pool_of(pool, self._encoding)
        self._columns = self._pool.columns if self._pool is not None else cast("Encoding", self._encoding).columns
        self._given_past = past
        self._setup: suggestion.Setup | None = None
        self._ledger = Ledger(self._memory, task, self._pool)
        self._next: _Proposal | None = None
        useful(past, self._columns)  # refuses those of another Space
        if self._memory is not None and task is not None and self.space is not None:
            if method == "auto" and record is None:  # decided now: past tasks may come and go before it is resumed
                method = automatic(useful(self._past(), self._columns))
            record = self._memory.create_task(
                task,
                self.space,
                direction=self.direction,
                metric=self._metric,
                seed=self.seed,
                method=method if isinstance(method, str) else method.name,
                bounds=self._bounds,
            )
            if self._choices.method == "auto" and record.method is not None:
                self._choices = replace(self._choices, method=record.method)

    @property
    def method(self) -> str:
        """Name of the surrogate that is used: what "auto" became."""
        return self._ready().surrogate.name

    @property
    def trials(self) -> list[Observation]:
        """All trials by number, those that are out included."""
        with self._lock:
            self._ledger.read()
            return [_copy(self._ledger.by_number[number]) for number in sorted(self._ledger.by_number)]

    @property
    def best(self) -> Observation:
        """The observation of the best value; the earlier one among equals.

        Raises:
            NotFittedError: No trial has a value yet.
        """
        complete = [one for one in self.trials if one.value is not None]
        if not complete:
            raise NotFittedError("There is no best trial yet: none has a value. Tell at least one.")
        return max(complete, key=lambda one: self._sign * cast("float", one.value))

    @overload
    def ask(self) -> Trial: ...
    @overload
    def ask(self, n: int) -> list[Trial]: ...
    def ask(self, n: int | None = None) -> Trial | list[Trial]:
        """Return the configuration to try next, or a batch of ``n``.

        Trials that are out, of this batch or an earlier one, count with the values that the model expects, so that no
        two are alike. A batch is shorter where the Space, or the pool, has no more configurations.

        Raises:
            SpaceExhaustedError: Every configuration was handed out.
        """
        if n is None:
            return self._ask_one()
        if not is_count(n, 1):
            raise SettingsError(f"ask: n must be a whole number of at least 1, got {shown(n)}.")
        batch = [self._ask_one()]
        with suppress(SpaceExhaustedError):
            batch.extend(self._ask_one() for _ in range(n - 1))
        return batch

    def tell(
        self,
        trial: Trial | int,
        value: float | None = None,
        *,
        failed: bool = False,
        duration: float | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Say what came of a trial; with a memory it is on the disk when this returns.

        Args:
            trial: The Trial, or its number.
            value: In your own direction. NaN and None say that the trial failed; an infinite one is told as +-1e30.
            failed: Whether the configuration has no value.
            duration: Seconds; measured since ``ask`` when None.
            metadata: JSON values to keep with it.

        Raises:
            TrialError: ``ask`` never handed this trial out, or it was told before.
            DataError: The value is no number.
        """
        with self._lock:
            number = self._ledger.open_number_of(trial, "tell")
            state, found = arguments.outcome_of(value, failed, f"The value of trial {number}")
            self._ledger.finish(number, state, found, duration=duration, metadata=metadata)

    def abandon(self, trial: Trial | int) -> None:
        """Give a trial back that nobody will tell; its configuration is not handed out again.

        Raises:
            TrialError: ``ask`` never handed this trial out, or it is not out any more.
        """
        with self._lock:
            self._ledger.finish(self._ledger.open_number_of(trial, "abandon"), "abandoned")

    def add_observation(
        self,
        config: Config | int,
        value: float | None = None,
        *,
        failed: bool = False,
        duration: float | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Trial:
        """Take a result from elsewhere as a trial of this task, and return it.

        Args:
            config: A configuration of the Space (of the pool, where there is one), or the row of a pool.
            value: As in ``tell``.
            failed: As in ``tell``.
            duration: Seconds.
            metadata: JSON values to keep with it.
        """
        with self._lock:
            self._ledger.read()
            state, found = arguments.outcome_of(value, failed, "The value of an observation")
            config, row = self._placed(config)
            trial = Trial(self._ledger.next_number, config, row, "added", len(self._ledger.told))
            return _copy_trial(self._ledger.add(trial, state, found, duration=duration, metadata=metadata))

    def explain(self, trial: Trial | int) -> Explanation:
        """Return why ``trial`` was proposed: what the model knew and expected then, and which past tasks weighed most.

        Raises:
            TrialError: There is no such trial.
        """
        with self._lock:
            number = self._ledger.number_of(trial, "explain")
            trial = self._ledger.by_number[number].trial
            setup = self._ready()
            if trial.origin != setup.surrogate.name:
                return Explanation(_origin_in_words(trial.origin))
            told = self._ledger.told[: trial.told_before]
            earlier = [one for one in self._ledger.by_number.values() if one.number < number or one.number in told]
            history = self._history(earlier, told)
            with loop.one_thread():
                posterior = suggestion.fitted(setup, history, rng=self._rng(_ASKING, number))
                found = suggestion.explained(posterior, self._rows([trial])[0], self._sign)
            words = f"Proposed by {trial.origin} after {len(told)} told trials. {found.summary}"
            return replace(found, summary=words.strip())

    def expected_gain(self) -> float | None:
        """Return how much better than the best so far the next trial is expected to be, in the units of the values.

        It is the expected improvement of the configuration that ``ask`` would hand out now; nothing is handed out. None
        while there is no model: during the initial design, or for methods that have none.

        Raises:
            SpaceExhaustedError: Every configuration was handed out.
        """
        with self._lock, loop.one_thread():
            self._ledger.read()
            number = self._ledger.next_number
            proposal = self._proposed(number)
            if proposal.posterior is None:
                return None
            config, row = self._placed(proposal.chosen)
            x = self._rows([Trial(number, config, row)])
            features = suggestion.features_of(self._ready(), x, [row])
            return suggestion.expected_gain(proposal.posterior, x, features)

    def optimize(
        self,
        function: Callable[[Config], float | None],
        *,
        n_trials: int | None = None,
        timeout: float | None = None,
        n_jobs: int = 1,
        catch: type[Exception] | tuple[type[Exception], ...] = (),
        callbacks: Iterable[Callable[["Optimizer", Observation], object]] = (),
        stop_below: float | None = None,
        progress: bool = False,
    ) -> Observation:
        """Ask, evaluate ``function(config)`` and tell, again and again, and return the best observation.

        Ctrl-C keeps all that is told: the trials that are running are abandoned, and KeyboardInterrupt goes on.

        Args:
            function: Returns the value of a configuration; None or NaN say that it failed.
            n_trials: How many; until the timeout or the end of the Space when None.
            timeout: Seconds after which no further trial begins.
            n_jobs: How many are evaluated at once, in threads. Where Python itself is the bottleneck, start several
                processes on one memory instead.
            catch: Exceptions of ``function`` that count as a failed trial; others are told as failed and raised.
            callbacks: Called after each trial with this Optimizer and the Observation; StopIteration ends the loop.
            stop_below: End where the next trial is expected to gain less than this, in the units of the values; see
                ``expected_gain``.
            progress: Whether to show a bar on standard error.

        Raises:
            SettingsError: There is neither ``n_trials`` nor ``timeout`` for a Space without end.
            NotFittedError: Not a single trial has a value.
        """
        limits = loop.Limits(n_trials, timeout, n_jobs, stop_below)
        callbacks = tuple(callbacks) if isinstance(cast("object", callbacks), Iterable) else (cast("Any", callbacks),)
        arguments.check_loop(function, catch, callbacks)
        # a method without a model never says that enough is enough, so stop_below is no limit by itself
        if n_trials is None and timeout is None and self._pool is None and math.isinf(cast("Space", self.space).size):
            raise SettingsError("optimize: a Space without end needs n_trials, timeout, or both.")
        watchers = [self._watcher(callback) for callback in callbacks]
        before = self._ledger.in_hands
        try:
            with bar(progress, n_trials, self._best_in_words) as show:
                loop.run(self, function, limits, catch=catch, watchers=watchers, progress=show)
        except BaseException:
            for number in self._ledger.in_hands - before:
                with suppress(HeadstartError):
                    self.abandon(number)
            raise
        return self.best

    def _watcher(self, callback: Callable[["Optimizer", Observation], object]) -> Callable[[int], object]:
        return lambda number: callback(self, _copy(self._ledger.by_number[number]))

    def _best_in_words(self) -> str:
        with self._lock:
            complete = [one.value for one in self._ledger.by_number.values() if one.value is not None]
        return f"best {max(complete) if self._sign > 0 else min(complete):.6g}" if complete else "no value yet"

    # ---- asking

    def _ask_one(self) -> Trial:
        with self._lock, loop.one_thread():
            trial = None
            while trial is None:
                self._ledger.read()
                number, told = self._ledger.next_number, len(self._ledger.told)
                proposal = self._proposed(number)
                config, row = self._placed(proposal.chosen)
                trial = self._ledger.begin(Trial(number, config, row, proposal.origin, told))
            return _copy_trial(trial)

    def _proposed(self, number: int) -> "_Proposal":
        """Return what trial ``number`` is to be; computed once for what is known now."""
        known = tuple((one.number, one.state) for one in self._ledger.by_number.values())
        if self._next is None or self._next.known != known:
            self._next = _Proposal(known, *self._chosen(number))
        return self._next

    def _chosen(self, number: int) -> tuple[Config | int, str, Posterior | None]:
        setup = self._ready()
        history = self._history(self._ledger.by_number.values(), self._ledger.told)
        if self._starts_with_default(number) and self.space is not None and self.space.default is not None:
            return self.space.default, "default", None
        if len(history.y) < setup.initial_trials:
            origin = setup.design.name
            others = [one for one in self._ledger.by_number.values() if one.trial.origin != origin]
            known, given = self._history(others, self._ledger.told), len(self._ledger.by_number) - len(others)
            return suggestion.next_by_design(setup, history, known, given, rng=self._rng(_DESIGN, 0)), origin, None
        rng = self._rng(_ASKING, number)
        posterior = suggestion.fitted(setup, history, rng=rng)
        return suggestion.next_by_model(setup, posterior, history, rng=rng), setup.surrogate.name, posterior

    def _starts_with_default(self, number: int) -> bool:
        """Whether the first trial is the stated default: a good guess where there is neither past nor wish."""
        setup, chosen = self._ready(), self._choices.initial_design
        return number == 0 and self._pool is None and chosen == "auto" and setup.initial_trials > 0

    def _rng(self, stream: int, number: int) -> Rng:
        return np.random.default_rng([self.seed, stream, number])

    def _history(self, trials: Collection[Observation], told: Sequence[int]) -> suggestion.History:
        """Return ``trials`` as arrays; ``told`` gives the order of those that count as told, the others are out."""
        among = {one.number: one for one in trials}
        known = [among.pop(number) for number in told if number in among]
        complete = [one for one in known if one.state == "complete"]
        failed = [one for one in known if one.state == "failed"]
        out = [one for one in among.values() if one.state != "abandoned"]
        values = self._sign * np.array([cast("float", one.value) for one in complete], dtype=np.float64)
        space = self.space
        return suggestion.History(
            x=self._rows([one.trial for one in complete]),
            y=values if self._inner_bounds is None else np.clip(values, *self._inner_bounds),
            pending=self._rows([one.trial for one in out]),
            complete_rows=tuple(one.trial.row for one in complete),
            pending_rows=tuple(one.trial.row for one in out),
            failed=self._rows([one.trial for one in failed]),
            keys=frozenset() if space is None else frozenset(space.key(one.config) for one in trials),
            rows=tuple(one.trial.row for one in trials if one.trial.row is not None),
        )

    def _rows(self, trials: Sequence[Trial]) -> Array:
        if self._encoding is not None:
            return self._encoding.encode([trial.config for trial in trials])
        assert self._pool is not None  # without a Space there is a pool
        return self._pool.x[[cast("int", trial.row) for trial in trials]]

    def _placed(self, chosen: Config | int) -> tuple[Config, int | None]:
        """Return a configuration as it is handed out, and its row in the pool."""
        if self._pool is not None:
            return self._pool.placed(chosen)
        assert self.space is not None  # without a pool there is a Space
        return self.space.validate(cast("Config", chosen)), None

    def _ready(self) -> suggestion.Setup:
        """Return what decides a suggestion; learned from the past once, when it is first needed."""
        with self._lock:
            if self._setup is None:
                with loop.one_thread():
                    rng = self._rng(_PRETRAINING, 0)
                    pool = None if self._pool is None else self._pool.domain
                    self._setup = prepared(self._choices, self._past(), encoding=self._encoding, pool=pool, rng=rng)
            return self._setup

    def _past(self) -> MetaDataset | None:
        if self._given_past is not None or self._memory is None or self.space is None:
            return self._given_past
        own = () if self.task is None else (self.task,)
        return self._memory.meta_dataset(self.space, exclude=own, metric=self._metric)

    @property
    def _inner_bounds(self) -> tuple[float, float] | None:
        """Return the bounds, larger is better."""
        if self._bounds is None:
            return None
        low, high = self._bounds
        return (low, high) if self._sign > 0 else (-high, -low)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"} | {"_next": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = RLock()

    def __repr__(self) -> str:
        name = "" if self.task is None else f"task={self.task!r}, "
        return f"Optimizer({name}direction={self.direction!r}, trials={len(self._ledger.by_number)})"


@dataclass(frozen=True, eq=False)
class _Proposal:
    """What the next trial is to be."""

    known: tuple[tuple[int, str], ...]
    """Number and state of all trials that were known."""
    chosen: Config | int
    origin: str
    posterior: Posterior | None
    """Of the model that proposes it, where one does."""


def _copy_trial(trial: Trial) -> Trial:
    """Return ``trial`` with a configuration of its own: users take theirs apart."""
    return replace(trial, config=dict(trial.config))


def _copy(observation: Observation) -> Observation:
    return replace(observation, trial=_copy_trial(observation.trial), metadata=dict(observation.metadata))


def _origin_in_words(origin: str) -> str:
    if origin == "added":
        return "Added from elsewhere, not proposed."
    if origin == "default":
        return "The Space's own default: the first guess where there is no past."
    return f"Proposed by the initial design or method '{origin}', before or without the present surrogate."
