"""Where the next configuration comes from: all of a pool, or the candidates that a Space gives.

Notation: units [k, P] as in ``space.units``; x [k, d] encoded rows. In a Space the candidates are a fixed spread-out
reference set (which holds the past's best configurations), fresh random ones, and mutations of the best so far and of
the past's best; the best few of them are then improved by a local search. All are made through the Space, so each is
valid. What was handed out before is never handed out again.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from headstart.acquisition import ThompsonSampling
from headstart.arrays import Array, BoolArray, IntArray, Rng
from headstart.encoding import Encoding
from headstart.errors import SpaceExhaustedError
from headstart.protocols import Acquisition, Posterior, SamplesJointly, ScoresItself
from headstart.space import Config, Space, units

CHUNK_ROWS = 4096
"""Rows scored at once."""
JOINT_ROWS = 512
"""How many candidates a joint draw of the function looks at: its cost grows with the cube."""
SMALL_SPACE = 4096
"""A Space of at most so many configurations is searched whole."""
NEAR_FAILURE = 0.5
"""How far, at most, a failed trial keeps others away (Euclidean distance of encoded rows)."""
SUCCESS_WEIGHT = 2.0
"""A row is avoided unless it is so many times farther from any failed trial than from one that worked.

With 1, where the values improve towards the edge of the region that fails, three suggestions in four fail for good;
with 4 the edge itself is hardly ever reached.
"""
NEAR_PENDING = 0.01
"""Rows nearer than this to a trial that is out wait for its value: models of noisy values would ask there again."""

Scores: TypeAlias = Callable[[Array, Array | None], Array]
"""Rows [k, d] and, where known, their features [k, p] to scores [k], larger is better."""


@dataclass(frozen=True)
class Effort:
    """How long a Space is searched for one suggestion."""

    fresh: int = 1000
    """Random candidates."""
    incumbents: int = 3
    """How many of the best so far are mutated."""
    past_best: int = 5
    """How many of the past's best are mutated."""
    mutations: int = 20
    """Mutations of each."""
    starts: int = 6
    """How many of the best candidates the local search begins from."""
    rounds: int = 30
    """Rounds of the local search."""
    tries: int = 8
    """Neighbours that each start tries per round."""


THOROUGH = Effort()
"""For surrogates whose predictions cost next to nothing."""

THRIFTY = Effort(fresh=200, starts=3, rounds=8)
"""For those that evaluate every past task at each candidate."""


def scores_of(posterior: Posterior, acquisition: Acquisition, *, rng: Rng) -> Scores:
    """Return how ``posterior`` rates rows: by its own scores where it brings them, else by ``acquisition``."""
    if isinstance(posterior, ScoresItself):
        own = posterior
        return lambda x, features: own.score(x, features=features, rng=rng)
    if isinstance(acquisition, ThompsonSampling):
        if isinstance(posterior, SamplesJointly):
            joint = posterior
            return lambda x, features: joint.sample(x, 1, rng)[0]
        return lambda x, features: acquisition.draw(posterior.predict(x, features=features), rng=rng)
    return lambda x, features: acquisition(posterior.predict(x, features=features), posterior.incumbent)


def best_first(scores: Array, rng: Rng) -> IntArray:
    """Return places by falling score, ties in random order; what is not a number comes last."""
    return np.lexsort((rng.random(len(scores)), -np.where(np.isnan(scores), -np.inf, scores)))


def in_chunks(scores: Scores, x: Array, features: Array | None) -> Array:
    """Return the scores of many rows, ``CHUNK_ROWS`` at a time."""
    found = np.empty(len(x))
    for first in range(0, len(x), CHUNK_ROWS):
        part = slice(first, first + CHUNK_ROWS)
        found[part] = scores(x[part], None if features is None else features[part])
    return found


def near_failures(x: Array, failed: Array, complete: Array) -> BoolArray:
    """Return which rows ``x`` are near a failed trial, and not much nearer to one that worked.

    What fails (out of memory, divergence) usually fails in a whole region; what worked bounds it.
    """
    if len(failed) == 0:
        return np.zeros(len(x), dtype=np.bool_)
    to_failed = _nearest(x, failed)
    limit = np.full(len(x), NEAR_FAILURE)
    return to_failed < (np.minimum(limit, SUCCESS_WEIGHT * _nearest(x, complete)) if len(complete) else limit)


def near_pending(x: Array, pending: Array) -> BoolArray:
    """Return which rows ``x`` are all but the same as a trial that is out."""
    return _nearest(x, pending) < NEAR_PENDING if len(pending) else np.zeros(len(x), dtype=np.bool_)


def _nearest(x: Array, others: Array) -> Array:
    squared = (x**2).sum(axis=1)[:, None] + (others**2).sum(axis=1) - 2.0 * x @ others.T
    return np.sqrt(np.maximum(squared.min(axis=1), 0.0))


def best_of_pool(
    scores: Scores, x: Array, features: Array | None, free: BoolArray, avoided: BoolArray, *, joint: bool, rng: Rng
) -> int:
    """Return the row of a pool with the largest score, random among ties.

    Args:
        scores: Rates rows.
        x: [N, d] all rows of the pool.
        features: [N, p] their features, where the surrogate has any.
        free: [N] which may be handed out.
        avoided: [N] which are handed out only when no other is free.
        joint: Whether the scores are one joint draw, which only ``JOINT_ROWS`` rows can share.
        rng: Breaks ties.

    Raises:
        SpaceExhaustedError: No row is free.
    """
    rows = np.flatnonzero(free & ~avoided)
    if len(rows) == 0:
        rows = np.flatnonzero(free)
    if len(rows) == 0:
        raise pool_exhausted(len(x))
    if joint and len(rows) > JOINT_ROWS:
        rows = rng.choice(rows, JOINT_ROWS, replace=False)
    found = in_chunks(scores, x[rows], None if features is None else features[rows])
    return int(rows[best_first(found, rng)[0]])


def pool_exhausted(rows: int) -> SpaceExhaustedError:
    """Return the error that says so."""
    return SpaceExhaustedError(
        f"All {rows} configurations of the pool have been handed out. Stop here, or give a larger pool."
    )


@dataclass(frozen=True, eq=False)
class Reference:
    """Configurations that stand for a whole Space, made once."""

    units: Array
    """[k, P]"""
    x: Array
    """[k, d]"""
    features: Array | None
    """[k, p] where the surrogate has any."""
    past_best: Array
    """[b, P] the best configurations of past tasks."""


@dataclass(frozen=True, eq=False)
class Seen:
    """What the search must know of the trials of this task."""

    keys: Collection[tuple[object, ...]]
    """Of all configurations that were handed out, told or not."""
    best: Array
    """[m, P] units of the complete trials, best first."""
    failed: Array
    """[f, d] rows of the failed trials."""
    complete: Array
    """[m, d] rows of the complete trials."""
    pending: Array
    """[p, d] rows of the trials that are out."""

    def avoided(self, x: Array) -> BoolArray:
        """Return which rows ``x`` are handed out only when there are no others."""
        return near_failures(x, self.failed, self.complete) | near_pending(x, self.pending)


def best_in_space(
    scores: Scores,
    encoding: Encoding,
    reference: Reference,
    seen: Seen,
    *,
    effort: Effort,
    joint: bool,
    rng: Rng,
) -> Config:
    """Return the configuration with the largest score that was not handed out before.

    Args:
        scores: Rates rows.
        encoding: Of the Space.
        reference: Configurations that stand for it.
        seen: What was handed out and told.
        effort: How long to search.
        joint: Whether the scores are one joint draw, which only ``JOINT_ROWS`` candidates can share.
        rng: Draws candidates and breaks ties.

    Raises:
        SpaceExhaustedError: The Space is finite, and every configuration was handed out.
    """
    space = encoding.space
    if space.size <= SMALL_SPACE:
        return _best_of_all(scores, encoding, seen, joint=joint, rng=rng)
    fresh = units.from_quantiles(space, rng.random((effort.fresh, len(space))))
    around = [seen.best[: effort.incumbents], _some(reference.past_best, effort.past_best, rng)]
    parents = np.repeat(np.concatenate(around), effort.mutations, axis=0)
    candidates = np.concatenate([fresh, units.mutations(space, parents, rng=rng)]) if len(parents) else fresh
    everything = np.concatenate([reference.units, candidates])
    if joint:
        everything = _some(everything, JOINT_ROWS, rng)
        rows = encoding.rows(everything)
        rated = scores(rows, None)
    else:
        fresh_rows = encoding.rows(candidates)
        rows = np.concatenate([reference.x, fresh_rows])
        rated = np.concatenate([scores(reference.x, reference.features), in_chunks(scores, fresh_rows, None)])
    rated = np.where(seen.avoided(rows), -np.inf, rated)
    order = best_first(rated, rng)
    if not joint:
        starts = order[: effort.starts]
        improved = _climb(scores, encoding, everything[starts], rated[starts], seen, effort, rng)
        everything = np.concatenate([improved, everything[order]])
        order = np.arange(len(everything))
    chosen = _first_new(space, everything, order, seen.keys)
    return chosen if chosen is not None else any_new(space, seen.keys, rng)


def _climb(
    scores: Scores, encoding: Encoding, starts: Array, rated: Array, seen: Seen, effort: Effort, rng: Rng
) -> Array:
    """Return what a local search makes of ``starts`` [m, P], best first: steps shrink where they do not help."""
    space = encoding.space
    here, value, m = starts.copy(), rated.copy(), len(starts)
    step = np.full(m, 0.1)
    for turn in range(effort.rounds):
        parents = np.repeat(here, effort.tries, axis=0)
        steps = np.repeat(step, effort.tries)
        # one value at a time follows the axes, all together the valleys between them
        share = 0.0 if turn % 2 == 0 else 1.0
        tried = units.mutations(space, parents, rng=rng, step=steps, share=share)
        rows = encoding.rows(tried)
        found = in_chunks(scores, rows, None)
        found = np.where(seen.avoided(rows), -np.inf, found).reshape(m, effort.tries)
        best = np.argmax(np.where(np.isnan(found), -np.inf, found), axis=1)
        gain = found[np.arange(m), best] > value
        here[gain] = tried.reshape(m, effort.tries, -1)[np.arange(m), best][gain]
        value[gain] = found[np.arange(m), best][gain]
        step = np.clip(np.where(gain, step * 1.3, step * 0.7), 1e-4, 0.3)
    return here[best_first(value, rng)]


def _best_of_all(scores: Scores, encoding: Encoding, seen: Seen, *, joint: bool, rng: Rng) -> Config:
    space = encoding.space
    everything = [config for config in space.grid(SMALL_SPACE) if space.key(config) not in seen.keys]
    if not everything:
        raise SpaceExhaustedError(
            f"All {int(space.size)} configurations of the Space have been handed out. Stop here, or widen a range."
        )
    x = encoding.encode(everything)
    free = np.ones(len(x), dtype=np.bool_)
    return everything[best_of_pool(scores, x, None, free, seen.avoided(x), joint=joint, rng=rng)]


def _first_new(space: Space, candidates: Array, order: IntArray, keys: Collection[tuple[object, ...]]) -> Config | None:
    # a few at a time: the first is nearly always new
    for first in range(0, len(order), 16):
        for config in units.to_configs(space, candidates[order[first : first + 16]]):
            if space.key(config) not in keys:
                return config
    return None


def any_new(space: Space, keys: Collection[tuple[object, ...]], rng: Rng) -> Config:
    """Return a random configuration that was not handed out, where all candidates were."""
    for _ in range(20):
        for config in space.sample(200, rng=rng):
            if space.key(config) not in keys:
                return config
    for config in space.grid(1000):
        if space.key(config) not in keys:
            return config
    raise SpaceExhaustedError(f"All {len(keys)} configurations of the Space have been handed out. Stop here.")


def _some(rows: Array, n: int, rng: Rng) -> Array:
    return rows if len(rows) <= n else rows[rng.choice(len(rows), n, replace=False)]
