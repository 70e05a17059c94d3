"""From what was told to the next configuration: fit, believe what is pending, score, search. Pure functions.

Notation: n told observations, d encoded columns, N rows of a pool. Values are larger is better.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headstart import search
from headstart.acquisition import ThompsonSampling
from headstart.arrays import Array, BoolArray, Rng
from headstart.data import Candidates, Explanation, MetaDataset, TaskData, best_row
from headstart.encoding import Columns, Encoding
from headstart.numerics.expected_improvement import expected_improvement
from headstart.numerics.low_discrepancy import sobol
from headstart.protocols import (
    Acquisition,
    Explains,
    InitialDesign,
    InvertsResponse,
    Posterior,
    SupportsFeatures,
    Surrogate,
)
from headstart.space import Config, units

REFERENCE_ROWS = 512
"""How many spread-out configurations stand for a Space."""
DESIGN_SAMPLE = 1024
"""How many configurations stand for a Space where a design chooses among them."""
PAST_BEST = 50
"""The best configurations of how many past tasks join them."""


@dataclass(frozen=True, eq=False)
class PoolDomain:
    """A finite set of rows, the only ones that may be proposed."""

    x: Array
    """[N, d]"""
    columns: Columns
    is_first: BoolArray
    """[N] whether no earlier row is the same configuration; the others are never proposed."""
    features: Array | None = None
    """[N, p] the surrogate's features of all rows."""


@dataclass(frozen=True, eq=False)
class SpaceDomain:
    """All configurations of a Space."""

    encoding: Encoding
    reference: search.Reference

    @property
    def columns(self) -> Columns:
        """What each encoded column is."""
        return self.encoding.columns


@dataclass(frozen=True, eq=False)
class Setup:
    """What decides a suggestion, besides the history."""

    surrogate: Surrogate
    acquisition: Acquisition
    design: InitialDesign
    initial_trials: int
    """How many observations the design waits for before the surrogate takes over."""
    domain: PoolDomain | SpaceDomain
    bounds: tuple[float, float] | None
    """Lowest and highest possible value, larger is better."""
    metafeatures: Array | None = None
    """[m] descriptors of the task, where somebody knows them."""

    def task_data(self, x: Array, y: Array, features: Array | None = None) -> TaskData:
        """Return observations as surrogates and designs see them."""
        return TaskData(x, y, self.domain.columns, self.bounds, metafeatures=self.metafeatures, features=features)


@dataclass(frozen=True, eq=False)
class History:
    """The trials of one task as arrays."""

    x: Array
    """[n, d] complete trials in the order they were told."""
    y: Array
    """[n]"""
    pending: Array
    """[p, d] trials that are out."""
    complete_rows: tuple[int | None, ...]
    """Where the complete trials are in the pool, if they are."""
    pending_rows: tuple[int | None, ...]
    """Where those that are out are in the pool, if they are."""
    failed: Array
    """[f, d]"""
    keys: frozenset[tuple[object, ...]]
    """Of all configurations that were handed out, in a Space."""
    rows: tuple[int, ...]
    """All rows that were handed out, on a pool."""


def reference_of(encoding: Encoding, past: MetaDataset | None, *, rng: Rng) -> search.Reference:
    """Return configurations that stand for a Space: ``REFERENCE_ROWS`` spread-out ones, then the past's best."""
    space = encoding.space
    spread = units.from_quantiles(space, sobol(REFERENCE_ROWS, len(space), rng=rng))
    best = np.empty((0, len(space)))
    if past is not None and len(past):
        rows = best_row(past.tasks)
        best = np.unique(encoding.units(rows), axis=0) if len(rows) else best
        best = best if len(best) <= PAST_BEST else best[np.sort(rng.choice(len(best), PAST_BEST, replace=False))]
    everything = np.concatenate([spread, best])
    return search.Reference(everything, encoding.rows(everything), None, best)


def fitted(setup: Setup, history: History, *, rng: Rng) -> Posterior:
    """Return the posterior given the history; trials that are out count with their believed values.

    Believed is the posterior mean of a fit without them; for a posterior that only scores, the worst value told.
    """
    told = features_of(setup, history.x, history.complete_rows)
    data = setup.task_data(history.x, history.y, told)
    posterior = setup.surrogate.fit(data, rng=rng)
    if len(history.pending) == 0:
        return posterior
    out = features_of(setup, history.pending, history.pending_rows)
    if isinstance(posterior, InvertsResponse):
        believed = posterior.to_response(posterior.predict(history.pending, features=out).mean)
        if setup.bounds is not None:
            believed = np.clip(believed, *setup.bounds)
    elif len(history.y):
        believed = np.full(len(history.pending), history.y.min())
    else:
        return posterior
    x = np.concatenate([history.x, history.pending])
    y = np.concatenate([history.y, believed])
    features = None if told is None or out is None else np.concatenate([told, out])
    return setup.surrogate.fit(setup.task_data(x, y, features), rng=rng)


def features_of(setup: Setup, x: Array, rows: Sequence[int | None]) -> Array | None:
    """Return the surrogate's features of ``x``, found at ``rows``; those of a pool were computed when it was prepared.

    None for a surrogate without.
    """
    if not isinstance(setup.surrogate, SupportsFeatures):
        return None
    places = [row for row in rows if row is not None]
    if isinstance(setup.domain, PoolDomain) and setup.domain.features is not None and len(places) == len(x):
        return setup.domain.features[places]
    return setup.surrogate.features(x)


def next_by_design(setup: Setup, history: History, others: History, position: int, *, rng: Rng) -> Config | int:
    """Return the configuration, or the row of the pool, that the initial design gives next.

    A design is asked for its whole sequence each time, and what was handed out is passed over. It knows only the trials
    that it did not propose itself: else its sequence would begin anew with each of its own.

    Args:
        setup: With the design.
        history: All trials.
        others: Those that the design did not propose.
        position: How many this design has given so far.
        rng: The same for every position.

    Raises:
        SpaceExhaustedError: Everything was handed out.
    """
    observed = setup.task_data(others.x, others.y)
    if isinstance(setup.domain, PoolDomain):
        free = _free(setup.domain, history)
        rows = np.flatnonzero(_free(setup.domain, others))
        x = setup.domain.x[rows]
        for proposed in setup.design.propose(observed, position + 1, Candidates(x, is_pool=True), rng=rng):
            row = int(rows[np.argmin(((x - proposed) ** 2).sum(axis=1))])
            if free[row]:
                return row
        return int(rng.choice(np.flatnonzero(free)))
    encoding = setup.domain.encoding
    sample = units.from_quantiles(encoding.space, sobol(DESIGN_SAMPLE, len(encoding.space), rng=rng))
    candidates = Candidates(encoding.rows(sample), is_pool=False)
    for config in encoding.decode(setup.design.propose(observed, position + 1, candidates, rng=rng)):
        if encoding.space.key(config) not in history.keys:
            return config
    return search.any_new(encoding.space, history.keys, rng)


def next_by_model(setup: Setup, posterior: Posterior, history: History, *, rng: Rng) -> Config | int:
    """Return the configuration, or the row of the pool, that ``posterior`` rates highest."""
    joint = isinstance(setup.acquisition, ThompsonSampling)
    scores = search.scores_of(posterior, setup.acquisition, rng=rng)
    if isinstance(setup.domain, PoolDomain):
        x, free = setup.domain.x, _free(setup.domain, history)
        avoided = search.near_failures(x, history.failed, history.x) | search.near_pending(x, history.pending)
        return search.best_of_pool(scores, x, setup.domain.features, free, avoided, joint=joint, rng=rng)
    effort = search.THRIFTY if isinstance(setup.surrogate, SupportsFeatures) else search.THOROUGH
    encoding, reference, seen = setup.domain.encoding, setup.domain.reference, _seen(setup.domain, history)
    return search.best_in_space(scores, encoding, reference, seen, effort=effort, joint=joint, rng=rng)


def _free(pool: PoolDomain, history: History) -> BoolArray:
    free = pool.is_first.copy()
    free[list(history.rows)] = False
    if not free.any():
        raise search.pool_exhausted(int(pool.is_first.sum()))
    return free


def _seen(domain: SpaceDomain, history: History) -> search.Seen:
    best = np.argsort(-history.y, kind="stable")
    units_of_best = domain.encoding.units(history.x[best])
    return search.Seen(history.keys, units_of_best, history.failed, history.x, history.pending)


def expected_gain(posterior: Posterior, x: Array, features: Array | None = None) -> float | None:
    """Return how much better than the best so far row ``x`` [1, d] is expected to be, in units of the responses.

    It is the expected improvement under a normal distribution of the predicted mean and deviation, the noise left out:
    what counts is how good the configuration is, not how lucky its measurement. None where nothing was observed, or
    where the posterior does not say in which units it predicts.
    """
    if not isinstance(posterior, InvertsResponse) or np.isneginf(posterior.incumbent):
        return None
    prediction = posterior.predict(x, features=features)
    mean, std = float(prediction.mean[0]), float(prediction.std[0])
    low, centre, high, best = posterior.to_response(np.array([mean - std, mean, mean + std, posterior.incumbent]))
    gain = expected_improvement(np.array([centre]), np.array([(high - low) / 2]), float(best))
    return float(gain[0])


def explained(posterior: Posterior, x: Array, sign: float) -> Explanation:
    """Return what ``posterior`` expects at row ``x`` [d], in the user's units, and why.

    Args:
        posterior: As it was when the row was proposed.
        x: [d]
        sign: -1 where smaller is better for the user.
    """
    own = posterior.explain(x) if isinstance(posterior, Explains) else Explanation("")
    if not isinstance(posterior, InvertsResponse) or np.isneginf(posterior.incumbent):
        return own
    prediction = posterior.predict(x[None, :])
    mean, std = float(prediction.mean[0]), float(prediction.std[0])
    low, centre, high, best = posterior.to_response(np.array([mean - std, mean, mean + std, posterior.incumbent]))
    numbers = {
        "predicted_mean": sign * float(centre),
        "predicted_std": float(high - low) / 2,
        "best_before": sign * float(best),
        "expected_gain": expected_gain(posterior, x[None, :]) or 0.0,
    }
    expected = f"It expected {sign * centre:.4g} +- {float(high - low) / 2:.2g}; the best before was {sign * best:.4g}."
    return Explanation(f"{expected} {own.summary}".strip(), own.weights, {**numbers, **own.numbers})
