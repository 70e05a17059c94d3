"""Sobol': configurations that cover the Space evenly. The design to use without a past."""

from dataclasses import dataclass
from typing import ClassVar

from headstart.arrays import Array, Rng
from headstart.data import Candidates, TaskData
from headstart.initial_designs.snapping import nearest_distinct, unseen_rows
from headstart.numerics.low_discrepancy import sobol


@dataclass(frozen=True)
class Sobol:
    """The first points of a scrambled Sobol' sequence; on a pool, the nearest row to each that is still free.

    In a Space the points are those of its sample, which is such a sequence with one column per *parameter*: choices and
    whole numbers then come evenly, too.

    Every call is a sequence of its own, so ask for a whole design at once: points of different calls know nothing of
    one another.
    """

    name: ClassVar[str] = "sobol"

    def propose(self, observed: TaskData, n: int, candidates: Candidates, *, rng: Rng) -> Array:
        """Return ``n`` rows [n, d], fewer when the pool has no more."""
        if not candidates.is_pool and n <= len(candidates.x):
            return candidates.x[:n]
        points = sobol(n, candidates.x.shape[1], rng=rng)
        return nearest_distinct(points, unseen_rows(candidates, observed)) if candidates.is_pool else points
