"""One run: a method, a problem and a seed. The loop of HPO-B's reference driver, through the doors of a user's call.

Notation: N rows of a pool, T trials. The run begins with given configurations. Then the method chooses up to T times
what to evaluate next; the run ends once the best configuration of the pool is found, and the curve goes on at 0.
Whether it is found is looked at after a choice only, so there is always at least one.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from headstart.arrays import Array, IntArray
from headstart.benchmark.problems import Objective, Problem
from headstart.benchmark.settings import RunSettings, named_rng, named_seed
from headstart.encoding import Encoding
from headstart.optimizer import suggestion
from headstart.optimizer.suggestion import History, PoolDomain, Setup
from headstart.protocols import InvertsResponse, Posterior
from headstart.space import Config

NOTHING = -1
"""Row of a trial that chose none of the pool's."""


@dataclass(frozen=True, eq=False)
class RunRecord:
    """What one run recorded, [T + 1] each; entry 0 is what the given configurations had reached."""

    row: IntArray
    """Which row of the pool was chosen."""
    regret: Array
    pool_rank: Array
    value: Array
    mean: Array
    std: Array
    cpu_ms: Array

    @property
    def columns(self) -> Mapping[str, Array | IntArray]:
        """All arrays by name."""
        return vars(self)


class _Recorder:
    """Fills the arrays of a record, trial by trial."""

    def __init__(self, trials: int, bounds: tuple[float, float], y: Array) -> None:
        self._low, self._high = bounds
        self._width = self._high - self._low if self._high > self._low else 1.0
        self._sorted = np.sort(y)  # of the pool; empty without one
        self._best = -np.inf
        size = trials + 1
        self.record = RunRecord(np.full(size, NOTHING), *(np.full(size, np.nan) for _ in range(6)))
        self.record.regret[:] = 1.0  # nothing was found yet

    def found(self, trial: int, y: float) -> None:
        """Note the response of a given configuration (trial 0), or of a trial."""
        self._best = max(self._best, y)
        self.record.regret[trial:] = min(max((self._high - self._best) / self._width, 0.0), 1.0)
        if len(self._sorted):
            self.record.pool_rank[trial:] = 1 + len(self._sorted) - np.searchsorted(self._sorted, self._best, "right")
        if trial:
            self.record.value[trial] = (y - self._low) / self._width

    def predicted(self, trial: int, posterior: Posterior, x: Array, features: Array | None) -> None:
        """Note what the posterior expects of row ``x`` [1, d]."""
        prediction = posterior.predict(x, features=features)
        mean, std = prediction.mean[0], prediction.noisy_std[0]
        if isinstance(posterior, InvertsResponse):
            low, mean, high = posterior.to_response(np.array([mean - std, mean, mean + std]))
            std = (high - low) / 2
        self.record.mean[trial] = (mean - self._low) / self._width
        self.record.std[trial] = std / self._width


def given_rows(problem: Problem, given: int, seed: str) -> list[int]:
    """Return the rows that are evaluated before the first trial: the suite's, then random ones of that name."""
    rows = list(problem.given.get(seed, ())[:given])
    if len(rows) < given:
        drawn = named_rng("given", problem.space, problem.name, seed).permutation(len(problem.y))
        rows += [int(row) for row in drawn if row not in rows][: given - len(rows)]
    return rows


def pool_run(setup: Setup, problem: Problem, settings: RunSettings, seed: str) -> RunRecord:
    """Return the record of a run on the pool of ``problem``."""
    domain = setup.domain
    assert isinstance(domain, PoolDomain)
    recorder = _Recorder(settings.trials, problem.bounds, problem.y)
    start = given_rows(problem, settings.given, seed)
    for row in start:
        recorder.found(0, float(problem.y[row]))
    seen, own = list(start), named_seed("trial", problem.space, problem.name, seed)
    designed = 0
    for trial in range(1, min(settings.trials, len(problem.y) - len(seen)) + 1):
        history = _pool_history(problem, seen)
        rng = np.random.default_rng([own, trial])
        began = time.process_time()
        posterior = None
        if len(seen) < setup.initial_trials:
            chosen = suggestion.next_by_design(
                setup, history, _pool_history(problem, start), designed, rng=np.random.default_rng([own, 0])
            )
            designed += 1
        else:
            posterior = suggestion.fitted(setup, history, rng=rng)
            chosen = suggestion.next_by_model(setup, posterior, history, rng=rng)
        recorder.record.cpu_ms[trial] = 1000.0 * (time.process_time() - began)
        row = int(chosen)  # pyright: ignore[reportArgumentType] - a row, since the domain is a pool
        if posterior is not None:
            features = None if domain.features is None else domain.features[row : row + 1]
            recorder.predicted(trial, posterior, problem.x[row : row + 1], features)
        recorder.record.row[trial] = row
        recorder.found(trial, float(problem.y[row]))
        seen.append(row)
        if recorder.record.regret[trial] == 0.0:
            break
    return recorder.record


def _pool_history(problem: Problem, seen: list[int]) -> History:
    nothing = np.empty((0, problem.x.shape[1]))
    rows = tuple(seen)
    return History(problem.x[seen], problem.y[seen], nothing, rows, (), nothing, frozenset(), rows)


def space_run(setup: Setup, problem: Problem, objective: Objective, settings: RunSettings, seed: str) -> RunRecord:
    """Return the record of a run in the whole Space of ``objective``.

    The given configurations count with the responses of the pool. The regret is (high - best) / (high - low) with what
    the objective states of itself, clipped to [0, 1]: a made surface may be better somewhere than anybody knows.
    """
    space, encoding = objective.space, Encoding(objective.space)
    recorder = _Recorder(settings.trials, (objective.low, objective.high), np.empty(0))
    rows = given_rows(problem, settings.given, seed)
    configs, values = encoding.decode(problem.x[rows]), [float(y) for y in problem.y[rows]]
    for value in values:
        recorder.found(0, value)
    own, start = named_seed("trial", problem.space, problem.name, seed), len(configs)
    for trial in range(1, settings.trials + 1):
        history = _space_history(objective, encoding, configs, values)
        rng = np.random.default_rng([own, trial])
        began = time.process_time()
        posterior = None
        if len(configs) < setup.initial_trials:
            others = _space_history(objective, encoding, configs[:start], values[:start])
            given = len(configs) - start
            chosen = suggestion.next_by_design(setup, history, others, given, rng=np.random.default_rng([own, 0]))
        else:
            posterior = suggestion.fitted(setup, history, rng=rng)
            chosen = suggestion.next_by_model(setup, posterior, history, rng=rng)
        recorder.record.cpu_ms[trial] = 1000.0 * (time.process_time() - began)
        config = space.validate(chosen)  # pyright: ignore[reportArgumentType] - a Config, since there is a Space
        if posterior is not None:
            recorder.predicted(trial, posterior, encoding.encode([config]), None)
        configs.append(config)
        values.append(objective.evaluate(config))
        recorder.found(trial, values[-1])
    return recorder.record


def _space_history(objective: Objective, encoding: Encoding, configs: list[Config], values: list[float]) -> History:
    x = encoding.encode(configs)
    nothing = np.empty((0, x.shape[1]))
    keys = frozenset(objective.space.key(config) for config in configs)
    return History(x, np.array(values), nothing, (None,) * len(configs), (), nothing, keys, ())
