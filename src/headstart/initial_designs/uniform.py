"""Uniform: random configurations, as most published comparisons start."""

from dataclasses import dataclass
from typing import ClassVar

from headstart.arrays import Array, Rng
from headstart.data import Candidates, TaskData
from headstart.initial_designs.snapping import unseen_rows


@dataclass(frozen=True)
class Uniform:
    """Rows drawn without replacement: of a pool, or of the sample that stands for a Space."""

    name: ClassVar[str] = "uniform"

    def propose(self, observed: TaskData, n: int, candidates: Candidates, *, rng: Rng) -> Array:
        """Return ``n`` rows [n, d], fewer when there are no more candidates.

        Uniform rows of the unit cube would not do for a Space: decoding gives the ends of an Int half their share.
        """
        rows = unseen_rows(candidates, observed)
        return rows[rng.permutation(len(rows))[:n]]
