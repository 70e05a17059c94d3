r"""Average best: the configurations that past tasks like best on average, best first.

Notation: f_D(x) in [0, 1] the error of configuration x on past task D (``past_errors``). Configurations come in order
of \sum_D f_D(x). The baseline that a portfolio must beat: it asks for the same kind of configuration again and again.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from headstart.arrays import Array, Rng
from headstart.data import Budget, Candidates, MetaDataset, TaskData
from headstart.initial_designs.greedy_portfolio import check_design
from headstart.initial_designs.past_errors import PastErrors, Rows, learn_errors
from headstart.initial_designs.sobol import Sobol
from headstart.protocols import Progress


@dataclass(frozen=True, kw_only=True, eq=False)
class AverageBest:
    """The configurations of the smallest mean error over the past tasks; ties in random order.

    It needs ``pretrain``; without any past it proposes what ``Sobol`` does.
    """

    name: ClassVar[str] = "average-best"

    rows: Rows = "any"
    """"past" chooses only configurations that past tasks were evaluated at."""
    trees: int | None = None
    """Trees per past task; by default 60 up to 100 past tasks, then fewer, down to 10 at 600 and more."""
    past: PastErrors | None = None
    """Set by ``pretrain``."""

    def __post_init__(self) -> None:
        check_design("AverageBest", self.rows, self.trees)

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
    ) -> "AverageBest":
        """Return the recipe with one model per past task; ``validation`` and ``budget`` are not needed."""
        return replace(self, past=learn_errors(past, trees=self.trees, rng=rng, progress=progress))

    def propose(self, observed: TaskData, n: int, candidates: Candidates, *, rng: Rng) -> Array:
        """Return ``n`` rows [n, d]: of the pool, or else of the past; fewer when there are no more."""
        if self.past is None:
            return Sobol().propose(observed, n, candidates, rng=rng)
        rows, errors = self.past.of_candidates(observed, candidates, self.rows, "AverageBest")
        means: Array = errors.mean(axis=1).round(9)  # what differs by rounding is tied
        shuffled = rng.permutation(len(rows))
        return rows[shuffled[np.argsort(means[shuffled], kind="stable")][:n]]
