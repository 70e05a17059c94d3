"""A random forest with deviations: for many observations, many categories and conditions, and jumps."""

from dataclasses import dataclass, field
from typing import ClassVar, Literal, get_args

import numpy as np

from headstart.acquisition import LogExpectedImprovement
from headstart.arrays import Array, Rng
from headstart.data import Prediction, TaskData
from headstart.errors import DataError, SettingsError
from headstart.numerics.forest import Forest, grow, predict_moments
from headstart.numerics.response import ResponseKind, Scale, fit_scale
from headstart.protocols import Acquisition
from headstart.space.values import shown
from headstart.surrogates.gaussian_process import check_count, check_positive, check_response

VarianceKind = Literal["total", "between-trees"]

FEW_OBSERVATIONS = 20
"""Up to here every leaf may hold a single observation, unless ``min_leaf`` says otherwise."""
LARGER_LEAF = 3


@dataclass(frozen=True, kw_only=True)
class RandomForest:
    """Regression forest; the deviation comes from the leaves and from the disagreement of the trees.

    It needs no smoothness and no distances, and its work grows with n log n. Its scores are piecewise constant, so ties
    are the rule. It learns nothing from past tasks.
    """

    name: ClassVar[str] = "rf"

    trees: int = 100
    """Trees in the forest."""
    bootstrap: bool = True
    """Grow each tree on rows drawn with replacement instead of on all rows."""
    max_features: float = 5 / 6
    """Share of the columns that each split looks at, rounded down, at least one column."""
    min_leaf: int | None = None
    """Fewest observations in a leaf; 1 for up to 20 observations and 3 for more when None."""
    variance: VarianceKind = "total"
    """"total": mean of the leaf variances plus variance of the tree means. "between-trees": the latter alone."""
    variance_floor: float = 1e-6
    """Smallest variance of a prediction, in scaled units."""
    response: ResponseKind = "standardise"
    """How responses are scaled."""
    minimum_observations: int = 5
    """Below this many observations the initial design is asked."""
    acquisition: Acquisition = field(default_factory=LogExpectedImprovement)
    """What it is used with unless told otherwise."""

    def __post_init__(self) -> None:
        check_count("RandomForest", "trees", self.trees, 1)
        check_positive("RandomForest", "max_features", self.max_features)
        if self.max_features > 1.0:
            raise SettingsError(
                f"RandomForest: max_features is a share of the columns, at most 1, got {shown(self.max_features)}."
            )
        if self.min_leaf is not None:
            check_count("RandomForest", "min_leaf", self.min_leaf, 1)
        if self.variance not in get_args(VarianceKind):
            raise SettingsError(
                f"RandomForest: variance must be 'total' or 'between-trees', got {shown(self.variance)}."
            )
        check_positive("RandomForest", "variance_floor", self.variance_floor)
        check_response("RandomForest", self.response)
        check_count("RandomForest", "minimum_observations", self.minimum_observations, 0)

    def fit(self, data: TaskData, *, rng: Rng) -> "RandomForestPosterior":
        """Return the posterior given ``data``; without any observation its mean is 0 and its deviation 1."""
        d, n = data.x.shape[1], len(data)
        if n == 0:
            return RandomForestPosterior(_UNKNOWN, "total", self.variance_floor, fit_scale("none", data.y), -np.inf, d)
        # sorted before anything is summed, so that not even rounding depends on the order of the rows
        order = np.lexsort((*data.x.T, data.y))
        x, y = data.x[order], data.y[order]
        scale = fit_scale(self.response, y, data.bounds)
        z = scale.apply(y)
        forest = grow(
            x,
            z,
            trees=self.trees,
            rng=rng,
            extremely_random=False,
            bootstrap=self.bootstrap,
            max_features=float(self.max_features),
            min_leaf=self._leaf_size(n),
        )
        return RandomForestPosterior(forest, self.variance, self.variance_floor, scale, float(z.max()), d)

    def _leaf_size(self, n: int) -> int:
        if self.min_leaf is not None:
            return self.min_leaf
        return 1 if n <= FEW_OBSERVATIONS else LARGER_LEAF


_UNKNOWN = Forest(
    children=np.zeros((1, 2), dtype=np.int64),
    feature=np.zeros(1, dtype=np.int64),
    threshold=np.full(1, np.inf),
    value=np.zeros(1),
    variance=np.ones(1),
    roots=np.zeros(1, dtype=np.int64),
)
"""One leaf of mean 0 and variance 1: what is known without observations."""


@dataclass(frozen=True, eq=False)
class RandomForestPosterior:
    """A grown forest with the scaling of its responses; its units are the scaled ones."""

    forest: Forest
    variance: VarianceKind
    variance_floor: float
    scale: Scale
    """From responses to the units of this posterior."""
    incumbent: float
    """Best observed value, minus infinity without any."""
    columns: int
    """How many columns the rows have."""

    def predict(self, x: Array, *, features: Array | None = None) -> Prediction:
        """Return mean and deviation at rows ``x`` [k, d]."""
        if x.ndim != 2 or x.shape[1] != self.columns:
            raise DataError(
                f"RandomForest posterior: x must be rows of {self.columns} columns, got shape {x.shape}. "
                "Encode with the Space used for fitting."
            )
        mean, within, between = predict_moments(self.forest, x)
        variance = within + between if self.variance == "total" else between
        return Prediction(mean, np.sqrt(np.maximum(variance, self.variance_floor)))

    def to_response(self, values: Array) -> Array:
        """Turn values in the units of ``predict`` into responses."""
        return self.scale.inverse(values)
