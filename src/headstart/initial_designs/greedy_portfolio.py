r"""Greedy portfolio: configurations that together are good for every past task.

Notation: f_D(x) in [0, 1] the error of configuration x on past task D (``past_errors``); cur_D the smallest error on D
of all configurations chosen so far, at first 1. The next one minimises

    \sum_D min(cur_D, f_D(x)).                                                                                 (1)
"""

from dataclasses import dataclass, replace
from typing import ClassVar, get_args

import numpy as np

from headstart.arrays import Array, Rng
from headstart.data import Budget, Candidates, MetaDataset, TaskData
from headstart.errors import SettingsError
from headstart.initial_designs.past_errors import PastErrors, Rows, learn_errors
from headstart.initial_designs.sobol import Sobol
from headstart.protocols import Progress
from headstart.space.values import shown

TIE = 1e-9
"""Sums of errors nearer than this are equal."""


@dataclass(frozen=True, kw_only=True, eq=False)
class GreedyPortfolio:
    """Repeatedly the configuration that, added to those already there, lowers the past tasks' best errors most.

    Observed configurations count as chosen. It needs ``pretrain``; without any past it proposes what ``Sobol`` does.
    """

    name: ClassVar[str] = "portfolio"

    rows: Rows = "any"
    """"past" chooses only configurations that past tasks were evaluated at, as published portfolios do."""
    trees: int | None = None
    """Trees per past task; by default 60 up to 100 past tasks, then fewer, down to 10 at 600 and more."""
    past: PastErrors | None = None
    """Set by ``pretrain``."""

    def __post_init__(self) -> None:
        check_design("GreedyPortfolio", self.rows, self.trees)

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
        """Return the recipe with one model per past task; ``validation`` and ``budget`` are not needed.

        Tasks with fewer than two observations or without any variation say nothing and are left out.
        """
        return replace(self, past=learn_errors(past, trees=self.trees, rng=rng, progress=progress))

    def propose(self, observed: TaskData, n: int, candidates: Candidates, *, rng: Rng) -> Array:
        """Return ``n`` rows [n, d]: of the pool, or else of the past; fewer when there are no more."""
        if self.past is None:
            return Sobol().propose(observed, n, candidates, rng=rng)
        rows, errors = self.past.of_candidates(observed, candidates, self.rows, "GreedyPortfolio")
        return rows[greedy_choice(errors, self.past.reached(observed), n, rng=rng)]


def check_design(owner: str, rows: str, trees: int | None) -> None:
    """Refuse settings outside their range."""
    if rows not in get_args(Rows):
        raise SettingsError(f"{owner}: rows must be 'any' or 'past', got {shown(rows)}.")
    if trees is not None and not 1 <= trees <= 10_000:
        raise SettingsError(f"{owner}: trees must be between 1 and 10000, got {trees}.")


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
