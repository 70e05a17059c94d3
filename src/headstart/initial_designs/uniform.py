"""Uniform: random configurations, as most published comparisons start."""

from dataclasses import dataclass
from typing import ClassVar

from headstart.arrays import Array, Rng
from headstart.data import Candidates, TaskData
from headstart.initial_designs.snapping import unseen_rows


@dataclass(frozen=True)
class Uniform:
    """Independent uniform rows; on a pool, rows drawn without replacement."""

    name: ClassVar[str] = "uniform"

    def propose(self, observed: TaskData, n: int, candidates: Candidates, *, rng: Rng) -> Array:
        """Return ``n`` rows [n, d], fewer when the pool has no more."""
        if not candidates.is_pool:
            return rng.random((n, candidates.x.shape[1]))
        rows = unseen_rows(candidates, observed)
        return rows[rng.permutation(len(rows))[:n]]
