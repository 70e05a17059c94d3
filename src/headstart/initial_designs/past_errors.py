r"""What designs know of past tasks: the error of every configuration on each of them.

Notation: S past tasks; f_D(x) in [0, 1] the error of configuration x on past task D, scaled by that task's own extremes
(0 is its best). Past tasks were rarely evaluated at the same rows, so f_D is 1 - g_D with g_D a model of task D that
returns what was observed where D was evaluated, and interpolates elsewhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from headstart.arrays import Array, BoolArray, Rng
from headstart.data import Candidates, MetaDataset, TaskData
from headstart.errors import DataError
from headstart.initial_designs.snapping import SAME_ROW, unseen_rows
from headstart.numerics.kernels import squared_distances
from headstart.protocols import Progress
from headstart.surrogates.past_models import PastModels, learn_past

Rows: TypeAlias = Literal["any", "past"]
"""Which configurations a design may choose: any of a pool, or those that some past task was evaluated at."""

LARGEST_CHOICE = 4096
"""Past configurations to choose from; of more, every task contributes its best ones."""


@dataclass(frozen=True, eq=False)
class PastErrors:
    """What a design learned."""

    models: PastModels
    rows: Array
    """[k, d] distinct configurations of the past."""
    errors: Array
    """[k, S] their f_D."""

    def of_candidates(self, observed: TaskData, candidates: Candidates, rows: Rows, owner: str) -> tuple[Array, Array]:
        """Return the rows [c, d] that may be proposed, and their errors [c, S].

        Raises:
            DataError: The candidates are of another Space; ``owner`` is who says so.
        """
        if candidates.x.shape[1] != self.rows.shape[1]:
            raise DataError(
                f"{owner}: candidates have {candidates.x.shape[1]} columns, the past tasks {self.rows.shape[1]}. "
                "Encode with the same Space."
            )
        if not candidates.is_pool:
            is_new = _away_from(self.rows, observed.x)
            return self.rows[is_new], self.errors[is_new]
        free: Array = unseen_rows(candidates, observed)
        if rows == "past":
            # nothing of the past is left: the rest of the pool is better than nothing
            known: Array = free[~_away_from(free, self.rows)]
            free = known if len(known) else free
        errors: Array = 1.0 - self.models.predict(free)
        return free, errors

    def reached(self, observed: TaskData) -> Array:
        """Return [S]: the smallest error of the observed configurations on every past task; 1 without any."""
        if len(observed) == 0:
            return np.ones(len(self.errors.T))
        return np.asarray(1.0 - self.models.predict(observed.x).max(axis=0), dtype=np.float64)


def learn_errors(past: MetaDataset, *, trees: int | None, rng: Rng, progress: Progress | None) -> PastErrors | None:
    """Return what the past says; None where no task has two different responses."""
    tasks = past.informative
    if not tasks:
        return None
    models = learn_past(tasks, "both", trees=trees, rng=rng, progress=progress)
    rows = _past_rows(tasks)
    return PastErrors(models, rows, 1.0 - models.predict(rows))


def _away_from(rows: Array, others: Array) -> BoolArray:
    """Return which rows are none of the others."""
    if len(others) == 0:
        return np.ones(len(rows), dtype=np.bool_)
    nearest: Array = squared_distances(rows, others).min(axis=1)
    return nearest > rows.shape[1] * SAME_ROW


def _past_rows(tasks: Sequence[TaskData]) -> Array:
    """Return the distinct rows [k, d] of all tasks, or where they are too many those of every task's best ones."""
    rows = np.unique(np.concatenate([task.x for task in tasks]), axis=0)
    if len(rows) <= LARGEST_CHOICE:
        return rows
    share = max(1, LARGEST_CHOICE // len(tasks))
    best = [task.x[np.argsort(-task.y, kind="stable")[:share]] for task in tasks]
    return np.unique(np.concatenate(best), axis=0)
