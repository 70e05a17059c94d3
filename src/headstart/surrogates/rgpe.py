r"""RGPE: an ensemble of Gaussian processes, one per past task and one of the target, weighted by ranking losses.

Scalable meta-learning with ranking-weighted Gaussian process ensembles (Feurer, Letham, Bakshy 2018; with Hutter 2022).

Notation: \mu_i, \sigma_i of source i, the target's last, each of responses standardised per task; w_i sum to 1.

    \mu(x) = \sum_i w_i \mu_i(x),   \sigma^2(x) = \sum_i w_i^2 \sigma_i^2(x)  or that of the target                (1)
"""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, TypeAlias, get_args

import numpy as np

from headstart.acquisition import LogExpectedImprovement
from headstart.arrays import Array, Rng
from headstart.data import Budget, Explanation, MetaDataset, Prediction, TaskData
from headstart.errors import SettingsError
from headstart.numerics.gaussian_process import ConditionedGP
from headstart.numerics.response import Scale, fit_scale
from headstart.protocols import Acquisition, Progress
from headstart.surrogates.ensemble_weights import EnsembleWeights
from headstart.surrogates.gaussian_process import WEAK_PRIORS, GaussianProcess, GaussianProcessPosterior
from headstart.surrogates.past_models import Subsample
from headstart.surrogates.source_processes import CHUNK_ROWS
from headstart.surrogates.sources import (
    ProcessRecipe,
    SourceKind,
    Sources,
    check_choice,
    check_source,
    in_own_order,
    learn_sources,
)
from headstart.surrogates.two_stage import explained_weights

Variance: TypeAlias = Literal["average", "target"]
EnsembleResponse: TypeAlias = Literal["standardise", "copula"]

MATERN = ProcessRecipe(kernel="matern52", learner="lbfgs", mean="constant", priors=WEAK_PRIORS, restarts=2)
"""The plain Gaussian process's settings, for sources and target alike."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RGPE:
    """Ensemble in which a model weighs as much as the share of draws in which it ranks the observations best.

    Without observations all models weigh the same, so it needs no initial design. Without ``pretrain`` it is the plain
    Gaussian process.
    """

    name: ClassVar[str] = "rgpe"

    ranking: EnsembleWeights = field(default_factory=EnsembleWeights)
    """How the weights are found."""
    variance: Variance = "target"
    r""" "target": the target's own; what the authors later recommend with EI, since (1) makes a large ensemble sure of
    itself. "average": (1)."""
    response: EnsembleResponse = "standardise"
    """How responses are scaled, of each past task and of the target."""
    source: SourceKind = "gp"
    """What models a past task; forests have means only: for bootstrap losses and the target's variance."""
    subsample: Subsample = "uniform"
    """Which rows of a past task of more than 256 are kept."""
    trees: int | None = None
    """Trees per past task; by default 60 up to 100 past tasks, then fewer, down to 10 at 600 and more."""
    process: ProcessRecipe = MATERN
    """How kernels are learned, of past tasks and of the target."""
    past: Sources | None = None
    """Set by ``pretrain``."""
    acquisition: Acquisition = field(default_factory=LogExpectedImprovement)
    """What it is used with unless told otherwise."""

    def __post_init__(self) -> None:
        check_choice("RGPE", "variance", self.variance, get_args(Variance))
        check_choice("RGPE", "response", self.response, get_args(EnsembleResponse))
        check_source("RGPE", self.source, self.subsample, self.trees)
        if self.source == "forest" and (self.ranking.losses != "bootstrap" or self.variance != "target"):
            raise SettingsError(
                "RGPE: a forest has means only. Use it with bootstrap losses and variance='target', or source='gp'."
            )

    @property
    def is_pretrained(self) -> bool:
        """Whether it has learned from past tasks."""
        return self.past is not None

    @property
    def minimum_observations(self) -> int:
        """0 with a past: the first proposal is the past's favourite."""
        return 0 if self.past is not None else GaussianProcess().minimum_observations

    @property
    def has_deviations(self) -> bool:
        """Whether features hold the deviations of past tasks' models, too."""
        return self.variance == "average"

    def pretrain(
        self,
        past: MetaDataset,
        *,
        rng: Rng,
        validation: MetaDataset | None = None,
        budget: Budget | None = None,
        progress: Progress | None = None,
    ) -> "RGPE":
        """Return the recipe with one model per past task; ``validation`` and ``budget`` are not needed.

        Tasks with fewer than two observations or without any variation say nothing and are left out.
        """
        tasks = past.informative
        if not tasks:
            return replace(self, past=None)
        sources = learn_sources(
            tasks,
            source=self.source,
            response=self.response,
            recipe=self.process,
            subsample=self.subsample,
            trees=self.trees,
            keep_factors=self.ranking.losses != "bootstrap",
            rng=rng,
            progress=progress,
        )
        return replace(self, past=sources)

    def features(self, x: Array) -> Array:
        """Return [k, S], or [k, 2 S] with deviations: what past tasks predict; no columns without a past."""
        if self.past is None:
            return np.empty((len(x), 0))
        return self.past.features(x, deviations=self.has_deviations)

    def fit(self, data: TaskData, *, rng: Rng) -> "RGPEPosterior | GaussianProcessPosterior":
        """Return the posterior given ``data``; the weights are drawn from ``rng``."""
        past = self.past
        if past is None:
            return GaussianProcess().fit(data, rng=rng)
        data = in_own_order(data)
        past.check_rows(data.x, f"RGPE: TaskData '{data.name}'")
        scale = fit_scale(self.response, data.y)
        target = self.process.fit(data.x, scale.apply(data.y), rng=rng)
        if self.ranking.losses == "bootstrap":
            owner = f"RGPE: TaskData '{data.name}'"
            features = past.features_or(data.features, data.x, owner, deviations=self.has_deviations)
            weights = self.ranking.from_means(features[:, : len(past)], target, rng=rng)
        else:
            weights = self.ranking.from_draws(past.known_processes, target, rng=rng)
        why = self.ranking.in_words(len(data))
        return RGPEPosterior(past, weights[:-1], float(weights[-1]), target, scale, self.has_deviations, why)


@dataclass(frozen=True, eq=False)
class RGPEPosterior:
    """Equation (1) given the observations, in units of the target's standardised responses."""

    sources: Sources
    weights: Array
    """[S] of the sources."""
    target_weight: float
    target: ConditionedGP
    scale: Scale
    """From responses to the units of this posterior."""
    is_averaged: bool
    """Whether the variance is that of (1)."""
    why: str
    """What the weights go by, in words."""

    @property
    def incumbent(self) -> float:
        """Best observed value, minus infinity without any."""
        return float(self.target.y.max()) if len(self.target.y) else -np.inf

    def predict(self, x: Array, *, features: Array | None = None) -> Prediction:
        """Return mean and deviation at rows ``x`` [k, d]."""
        self.sources.check_rows(x, "RGPE posterior")
        mean, std = np.empty(len(x)), np.empty(len(x))
        for first in range(0, len(x), CHUNK_ROWS):
            part = slice(first, first + CHUNK_ROWS)
            own, own_std = self.target.predict(x[part])
            means, variances = self._of_past(x[part], None if features is None else features[part])
            mean[part] = self.target_weight * own + means
            std[part] = np.sqrt((self.target_weight * own_std) ** 2 + variances) if self.is_averaged else own_std
        return Prediction(mean, std, noise=float(np.sqrt(self.target.hyperparameters.noise)))

    def to_response(self, values: Array) -> Array:
        """Turn values in the units of ``predict`` into responses."""
        return self.scale.inverse(values)

    def explain(self, x: Array) -> Explanation:
        """Return the weight of each past task, and of the target's own process."""
        return explained_weights(self.sources.names, self.weights, self.target_weight, self.why)

    def _of_past(self, x: Array, features: Array | None) -> tuple[Array, Array]:
        r"""Return \sum w_i \mu_i [k] and \sum w_i^2 \sigma_i^2 [k] of the sources; 0 for variances nobody asks for."""
        if features is None and not self.weights.any():
            return np.zeros(len(x)), np.zeros(len(x))
        features = self.sources.features_or(features, x, "RGPE posterior", deviations=self.is_averaged)
        means = features[:, : len(self.sources)] @ self.weights
        return means, (features[:, len(self.sources) :] ** 2) @ self.weights**2 if self.is_averaged else np.zeros(
            len(x)
        )
