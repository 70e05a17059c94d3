r"""ScaML-GP: the target's prior is a weighted sum of past posteriors, plus a process for what is new.

Scalable meta-learning with Gaussian processes (Tighineanu et al., AISTATS 2024). The mathematics is in
``numerics.modular_prior``.
"""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dpotrs

from headstart.acquisition import LogExpectedImprovement
from headstart.arrays import Array, IntArray, Rng
from headstart.data import Budget, Explanation, MetaDataset, Prediction, TaskData
from headstart.errors import SettingsError
from headstart.numerics.gaussian_process import GammaPrior, Hyperparameters, Priors, factorise
from headstart.numerics.kernels import kernel_matrix
from headstart.numerics.modular_prior import ModularPriors, PastAtRows, most_probable
from headstart.numerics.response import Scale, standardise
from headstart.protocols import Acquisition, Progress
from headstart.space.values import shown
from headstart.surrogates.gaussian_process import GaussianProcess, GaussianProcessPosterior
from headstart.surrogates.past_models import Subsample
from headstart.surrogates.source_processes import CHUNK_ROWS
from headstart.surrogates.sources import ProcessRecipe, Sources, check_source, in_own_order, learn_sources

REFERENCE_SOURCES = ProcessRecipe(
    kernel="se",
    learner="lbfgs",
    mean="zero",
    priors=Priors(lengths=GammaPrior(3.0, 6.0), variance=GammaPrior(2.0, 0.15)),
    noise=(1e-6, 1e-2),
)
"""The reference's, but for the smallest noise, which is 1e-8 there: equal rows of a past task may disagree."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ScaMLGP:
    r"""Gaussian process with mean \sum w_i \mu_i and covariance \sum w_i^2 \Sigma_i + k_new.

    Past tasks are each modelled once; weights, k_new and noise are the most probable ones given the observations. It
    is linear in the number of past tasks, but what they say of *pairs* of rows cannot be computed before the rows are
    observed, so it looks at past tasks anew for each suggestion. Without ``pretrain`` it is the plain Gaussian process.
    """

    name: ClassVar[str] = "scaml-gp"

    priors: ModularPriors = field(default_factory=ModularPriors)
    """Of weights, k_new and noise."""
    prune: float = 1e-3
    """Past tasks whose weight is below this share of the average are left out of predictions; 0 keeps all."""
    subsample: Subsample = "uniform"
    """Which rows of a large past task are kept: of more than 256, or of fewer beyond 60 tasks (100 at 1,000)."""
    process: ProcessRecipe = REFERENCE_SOURCES
    """How the kernels of past tasks are learned."""
    past: Sources | None = None
    """Set by ``pretrain``."""
    acquisition: Acquisition = field(default_factory=LogExpectedImprovement)
    """What it is used with unless told otherwise."""

    def __post_init__(self) -> None:
        check_source("ScaMLGP", "gp", self.subsample, None)
        if not 0.0 <= self.prune < 1.0:
            raise SettingsError(f"ScaMLGP: prune must be at least 0 and below 1, got {shown(self.prune)}.")

    @property
    def is_pretrained(self) -> bool:
        """Whether it has learned from past tasks."""
        return self.past is not None

    @property
    def minimum_observations(self) -> int:
        """0 with a past: the first proposal is the past's favourite."""
        return 0 if self.past is not None else GaussianProcess().minimum_observations

    def pretrain(
        self,
        past: MetaDataset,
        *,
        rng: Rng,
        validation: MetaDataset | None = None,
        budget: Budget | None = None,
        progress: Progress | None = None,
    ) -> "ScaMLGP":
        """Return the recipe with one process per past task; ``validation`` and ``budget`` are not needed.

        Tasks with fewer than two observations or without any variation say nothing and are left out.
        """
        tasks = past.informative
        if not tasks:
            return replace(self, past=None)
        sources = learn_sources(
            tasks,
            source="gp",
            response="standardise",
            recipe=self.process,
            subsample=self.subsample,
            keep_factors=True,
            rng=rng,
            progress=progress,
        )
        return replace(self, past=sources)

    def fit(self, data: TaskData, *, rng: Rng) -> "ScaMLGPPosterior | GaussianProcessPosterior":
        """Return the posterior given ``data``."""
        past = self.past
        if past is None:
            return GaussianProcess().fit(data, rng=rng)
        data = in_own_order(data)
        past.check_rows(data.x, f"ScaMLGP: TaskData '{data.name}'")
        scale = standardise(data.y)
        z = scale.apply(data.y)
        at_rows = PastAtRows(*past.known_processes.joint(data.x))
        weights, hyperparameters = most_probable(data.x, z, at_rows, self.priors)
        kept = np.flatnonzero(weights >= self.prune * weights.mean())
        pruned = np.zeros(len(past))
        pruned[kept] = weights[kept]
        return conditioned(past, pruned, hyperparameters, data.x, z, at_rows, scale)


def conditioned(
    past: Sources,
    weights: Array,
    hyperparameters: Hyperparameters,
    x: Array,
    z: Array,
    at_rows: PastAtRows,
    scale: Scale,
) -> "ScaMLGPPosterior":
    """Return the posterior of the process with these weights given rows ``x`` [n, d] and scaled responses ``z`` [n]."""
    n = len(z)
    kept = np.flatnonzero(weights)
    covariance = kernel_matrix("se", x, x, hyperparameters.lengths, hyperparameters.variance)
    covariance += np.tensordot(weights[kept] ** 2, at_rows.covariances[kept], axes=1)
    covariance.flat[:: n + 1] += hyperparameters.noise
    factor = factorise(covariance, float(covariance.diagonal().mean())) if n else np.empty((0, 0))
    alpha = dpotrs(factor, z - at_rows.means @ weights, lower=1)[0] if n else np.empty(0)
    return ScaMLGPPosterior(past, weights, kept, hyperparameters, x, z, factor, alpha, scale)


@dataclass(frozen=True, eq=False)
class ScaMLGPPosterior:
    """The process given the observations, in units of the target's standardised responses."""

    sources: Sources
    weights: Array
    """[S] w, 0 where a past task was left out."""
    kept: IntArray
    """Places of the others."""
    hyperparameters: Hyperparameters
    """Of k_new and the noise."""
    x: Array
    """[n, d]"""
    z: Array
    """[n]"""
    cholesky: Array
    """[n, n] of the covariance of the observations."""
    alpha: Array
    """[n]"""
    scale: Scale
    """From responses to the units of this posterior."""

    @property
    def incumbent(self) -> float:
        """Best observed value, minus infinity without any."""
        return float(self.z.max()) if len(self.z) else -np.inf

    def predict(self, x: Array, *, features: Array | None = None) -> Prediction:
        """Return mean and deviation at rows ``x`` [k, d]."""
        self.sources.check_rows(x, "ScaMLGP posterior")
        mean, std = np.empty(len(x)), np.empty(len(x))
        for first in range(0, len(x), CHUNK_ROWS):
            part = slice(first, first + CHUNK_ROWS)
            mean[part], std[part] = self._predict(x[part])
        return Prediction(mean, std, noise=float(np.sqrt(self.hyperparameters.noise)))

    def to_response(self, values: Array) -> Array:
        """Turn values in the units of ``predict`` into responses."""
        return self.scale.inverse(values)

    def explain(self, x: Array) -> Explanation:
        """Return the weight of each past task's posterior in the prior."""
        order = np.argsort(-self.weights, kind="stable")
        ranked = tuple((self.sources.names[int(i)], float(self.weights[i])) for i in order)
        numbers = {
            "past_tasks_counting": float(len(self.kept)),
            "std_of_what_is_new": float(np.sqrt(self.hyperparameters.variance)),
        }
        most = ", ".join(f"{name} {weight:.2f}" for name, weight in ranked[:3] if weight > 0.0)
        if len(self.z) == 0:
            summary = f"Nothing is observed yet: the mean of {len(ranked)} past tasks' models is the prior."
        else:
            summary = (
                f"The {len(self.z)} observations are most probable if the prior is a sum of {len(self.kept)} of "
                f"{len(ranked)} past tasks' models. Largest factors: {most}."
            )
        return Explanation(summary, ranked, numbers)

    def _predict(self, x: Array) -> tuple[Array, Array]:
        own = self.hyperparameters
        cross = kernel_matrix("se", x, self.x, own.lengths, own.variance)
        mean, variance = np.zeros(len(x)), np.full(len(x), own.variance)
        for s in self.kept:
            weight = float(self.weights[s])
            one_mean, one_variance, one_cross = self.sources.known_processes.against(x, self.x, int(s))
            mean += weight * one_mean
            variance += weight**2 * one_variance
            cross += weight**2 * one_cross
        mean += cross @ self.alpha
        if cross.size:
            whitened = dtrsm(1.0, self.cholesky, cross.T, lower=1, overwrite_b=1).T
            variance -= np.einsum("kn,kn->k", whitened, whitened)
        return mean, np.sqrt(np.maximum(variance, 0.0))
