r"""Greedy portfolio: configurations that together are good for every past task.

Notation: f_D(x) in [0, 1] the error of configuration x on past task D, scaled by that task's own extremes (0 is its
best); cur_D the smallest error on D of all configurations chosen so far, at first 1. The next one minimises

    \sum_D min(cur_D, f_D(x)).                                                                                 (1)

Past tasks were rarely evaluated at the same rows, so f_D is 1 - g_D with g_D a forest of extremely random trees whose
leaves hold single observations: it returns what was observed where D was evaluated, and interpolates elsewhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from headstart.arrays import Array, Rng
from headstart.data import Budget, Candidates, MetaDataset, TaskData
from headstart.errors import DataError, SettingsError
from headstart.initial_designs.snapping import SAME_ROW, unseen_rows
from headstart.initial_designs.sobol import Sobol
from headstart.numerics.kernels import squared_distances
from headstart.protocols import Progress
from headstart.surrogates.past_models import PastModels, learn_past

LARGEST_CHOICE = 4096
"""Past configurations to choose from; of more, every task contributes its best ones."""
TIE = 1e-9
"""Sums of errors nearer than this are equal."""


@dataclass(frozen=True, eq=False)
class PastErrors:
    """What ``GreedyPortfolio.pretrain`` learned."""

    models: PastModels
    rows: Array
    """[k, d] distinct configurations of the past."""
    errors: Array
    """[k, S] their f_D."""


@dataclass(frozen=True, kw_only=True, eq=False)
class GreedyPortfolio:
    """Repeatedly the configuration that, added to those already there, lowers the past tasks' best errors most.

    Observed configurations count as chosen. It needs ``pretrain``; without any past it proposes what ``Sobol`` does.
    """

    name: ClassVar[str] = "portfolio"

    trees: int | None = None
    """Trees per past task; by default 60 up to 100 past tasks, then fewer, down to 10 at 600 and more."""
    past: PastErrors | None = None
    """Set by ``pretrain``."""

    def __post_init__(self) -> None:
        if self.trees is not None and not 1 <= self.trees <= 10_000:
            raise SettingsError(f"GreedyPortfolio: trees must be between 1 and 10000, got {self.trees}.")

    @property
    def is_pretrained(self) -> bool:
        """Whether it knows any past tasks."""
        return self.past is not None

    def pretrain(
        self,
        past: MetaDataset,
        *,
        rng: Rng,
        validation: MetaDataset | None = None,
        budget: Budget | None = None,
        progress: Progress | None = None,
    ) -> "GreedyPortfolio":
        """Return the recipe with one forest per past task; ``validation`` and ``budget`` are not needed.

        Tasks with fewer than two observations or without any variation say nothing and are left out.
        """
        tasks = past.informative
        if not tasks:
            return replace(self, past=None)
        models = learn_past(tasks, "both", trees=self.trees, rng=rng, progress=progress)
        rows = _past_rows(tasks)
        return replace(self, past=PastErrors(models, rows, 1.0 - models.predict(rows)))

    def propose(self, observed: TaskData, n: int, candidates: Candidates, *, rng: Rng) -> Array:
        """Return ``n`` rows [n, d]: of the pool, or else of the past; fewer when there are no more."""
        past = self.past
        if past is None:
            return Sobol().propose(observed, n, candidates, rng=rng)
        if candidates.x.shape[1] != past.rows.shape[1]:
            raise DataError(
                f"GreedyPortfolio: candidates have {candidates.x.shape[1]} columns, the past tasks "
                f"{past.rows.shape[1]}. Encode with the same Space."
            )
        if candidates.is_pool:
            rows = unseen_rows(candidates, observed)
            errors = 1.0 - past.models.predict(rows)
        else:
            is_new = np.ones(len(past.rows), dtype=np.bool_)
            if len(observed):
                nearest = squared_distances(past.rows, observed.x).min(axis=1)
                is_new = nearest > past.rows.shape[1] * SAME_ROW
            rows, errors = past.rows[is_new], past.errors[is_new]
        reached = (1.0 - past.models.predict(observed.x)).min(axis=0) if len(observed) else np.ones(errors.shape[1])
        return rows[greedy_choice(errors, reached, n, rng=rng)]


def greedy_choice(errors: Array, reached: Array, n: int, *, rng: Rng) -> list[int]:
    """Return up to ``n`` distinct places in ``errors`` [k, S], chosen one after the other by (1).

    Ties go to the smallest mean error, then to chance; once nothing lowers any error, the mean error alone decides.

    Args:
        errors: [k, S] f_D.
        reached: [S] cur_D to begin with.
        n: How many to choose.
        rng: Breaks the ties.
    """
    chosen: list[int] = []
    is_free = np.ones(len(errors), dtype=np.bool_)
    means = errors.mean(axis=1)
    while len(chosen) < n and is_free.any():
        totals = np.where(is_free, np.minimum(reached, errors).sum(axis=1), np.inf)
        best = np.flatnonzero(totals <= totals.min() + TIE)
        best = best[means[best] <= means[best].min() + TIE]
        choice = int(rng.choice(best))
        chosen.append(choice)
        is_free[choice] = False
        reached = np.minimum(reached, errors[choice])
    return chosen


def _past_rows(tasks: Sequence[TaskData]) -> Array:
    """Return the distinct rows [k, d] of all tasks, or where they are too many those of every task's best ones."""
    rows = np.unique(np.concatenate([task.x for task in tasks]), axis=0)
    if len(rows) <= LARGEST_CHOICE:
        return rows
    share = max(1, LARGEST_CHOICE // len(tasks))
    best = [task.x[np.argsort(-task.y, kind="stable")[:share]] for task in tasks]
    return np.unique(np.concatenate(best), axis=0)
