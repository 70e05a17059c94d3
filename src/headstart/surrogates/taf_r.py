r"""TAF-R: the past enters the acquisition, not the model.

Transfer acquisition functions (Wistuba, Schilling, Schmidt-Thieme, Machine Learning 2018).

Notation: f_D(x) what the model of past task D says; H the observed rows; w_D, w_0 the weights of past tasks and of the
target's own process; EI_new that process's expected improvement.

    a(x) = (w_0 EI_new(x) + \sum_D w_D I_D(x)) / (w_0 + \sum_D w_D),  I_D(x) = max(f_D(x) - max_H f_D, 0)        (1)

Past tasks and target are scaled alike. Where no past task promises more than was had, (1) is EI. Scores are log a.
"""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, TypeAlias, get_args

import numpy as np

from headstart.acquisition import LogExpectedImprovement
from headstart.arrays import Array, Rng
from headstart.data import Budget, Explanation, MetaDataset, Prediction, TaskData
from headstart.errors import SettingsError
from headstart.numerics.expected_improvement import log_expected_improvement
from headstart.protocols import Acquisition, Progress
from headstart.surrogates.bandwidth import DEFAULT, GRID, chosen_bandwidth
from headstart.surrogates.ensemble_weights import EnsembleWeights
from headstart.surrogates.gaussian_process import GaussianProcess, GaussianProcessPosterior, check_positive
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
from headstart.surrogates.two_stage import (
    TARGET_WEIGHT,
    TargetProcess,
    explained_weights,
    fit_target,
    ranking_similarity,
)

Weights: TypeAlias = Literal["tst-r", "poe", "rgpe"]
Incumbent: TypeAlias = Literal["observed", "predicted"]
CommonResponse: TypeAlias = Literal["minmax", "standardise"]

SMALLEST_VARIANCE = 1e-6
"""Of a product of experts: at its own observations a process is not infinitely sure."""
SMALLEST_WEIGHT = 1e-300
"""Of the target: where no past task promises anything, its EI still orders the rows."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TAFR:
    """Expected improvement of the target's own process plus the improvements that past tasks' models see.

    Its first proposal is the row that past tasks like best on average, so it needs no initial design. Without
    ``pretrain`` it is the plain Gaussian process.
    """

    name: ClassVar[str] = "taf-r"

    weights: Weights = "tst-r"
    """ "tst-r": by rank agreement. "poe": the precision of each model at the row (TAF-P). "rgpe": RGPE's weights."""
    bandwidth: float | None = None
    """Of "tst-r": past tasks that misrank so large a share of the pairs count for nothing; None: ``pretrain`` chooses
    it."""
    incumbent: Incumbent = "observed"
    """What EI improves on: the best observation, or the best predicted mean at the observed rows, for noisy values."""
    response: CommonResponse = "minmax"
    """How responses are scaled, of past tasks and target alike."""
    xi: float = 0.0
    """Improvements of the target's process smaller than this count for nothing."""
    source: SourceKind = "gp"
    """What models a past task; forests for large or categorical ones."""
    subsample: Subsample = "uniform"
    """Which rows of a past task of more than 256 are kept."""
    trees: int | None = None
    """Trees per past task; by default 60 up to 100 past tasks, then fewer, down to 10 at 600 and more."""
    process: ProcessRecipe = field(default_factory=ProcessRecipe)
    """How kernels are learned, of past tasks and of the target."""
    ranking: EnsembleWeights = field(default_factory=EnsembleWeights)
    """How the weights of "rgpe" are found; from bootstrap losses."""
    past: Sources | None = None
    """Set by ``pretrain``."""
    acquisition: Acquisition = field(default_factory=LogExpectedImprovement)
    """For callers that use ``predict``, which knows the target's process only; the posterior scores itself."""

    def __post_init__(self) -> None:
        check_choice("TAFR", "weights", self.weights, get_args(Weights))
        check_choice("TAFR", "incumbent", self.incumbent, get_args(Incumbent))
        check_choice("TAFR", "response", self.response, get_args(CommonResponse))
        check_source("TAFR", self.source, self.subsample, self.trees)
        if self.bandwidth is not None:
            check_positive("TAFR", "bandwidth", self.bandwidth)
        if self.weights == "poe" and self.source == "forest":
            raise SettingsError("TAFR: the weights 'poe' are precisions, and a forest has none. Use source='gp'.")
        if self.ranking.losses != "bootstrap":
            raise SettingsError("TAFR: ranking must find its losses by 'bootstrap', the only way without covariances.")

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
        return self.weights == "poe"

    def pretrain(
        self,
        past: MetaDataset,
        *,
        rng: Rng,
        validation: MetaDataset | None = None,
        budget: Budget | None = None,
        progress: Progress | None = None,
    ) -> "TAFR":
        """Return the recipe with one model per past task, and with a bandwidth if it had none.

        A bandwidth is chosen from {0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1} by runs on ``validation`` tasks, or on held
        out past tasks; nothing else needs them, and nothing a ``budget``. Tasks with fewer than two observations or
        without any variation say nothing and are left out.
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
            rng=rng,
            progress=progress,
        )
        bandwidth = self.bandwidth
        if bandwidth is None and self.weights == "tst-r":
            bandwidth = chosen_bandwidth(
                lambda some, value: replace(self, past=some, bandwidth=value),
                sources,
                tasks,
                validation,
                GRID,
                rng=rng,
                progress=progress,
            )
        return replace(self, past=sources, bandwidth=bandwidth)

    def features(self, x: Array) -> Array:
        """Return [k, S], or [k, 2 S] with deviations: what past tasks predict; no columns without a past."""
        if self.past is None:
            return np.empty((len(x), 0))
        return self.past.features(x, deviations=self.has_deviations)

    def fit(self, data: TaskData, *, rng: Rng) -> "TAFRPosterior | GaussianProcessPosterior":
        """Return the posterior given ``data``."""
        past = self.past
        if past is None:
            return GaussianProcess().fit(data, rng=rng)
        data = in_own_order(data)
        owner = f"TAFR: TaskData '{data.name}'"
        features = past.features_or(data.features, data.x, owner, deviations=self.has_deviations)
        means = features[:, : len(past)]
        target = fit_target(data, self.process, self.response, rng=rng)
        weights, of_target, why = self._weights(means, data, target, rng)
        best = target.incumbent
        if self.incumbent == "predicted" and len(data):
            best = float(target.predict(data.x)[0].max())
        reached = means.max(axis=0) if len(data) else np.zeros(len(past))
        return TAFRPosterior(past, weights, of_target, target, best, reached, self.xi, self.has_deviations, why)

    def _weights(self, means: Array, data: TaskData, target: TargetProcess, rng: Rng) -> tuple[Array, float, str]:
        """Return w [S], w_0 and what they go by, given ``means`` [n, S] at the observed rows."""
        n = len(data)
        if self.weights == "poe":
            return np.ones(len(means.T)), 1.0, "how sure their models are here"
        if self.weights == "rgpe":
            found = self.ranking.from_means(means, target.process, rng=rng)
            return found[:-1], max(float(found[-1]), SMALLEST_WEIGHT), self.ranking.in_words(n)
        bandwidth = DEFAULT if self.bandwidth is None else self.bandwidth
        found = ranking_similarity(means, data.y, bandwidth=bandwidth, distance="discordance")
        why = f"how they rank the {n} configurations observed" if n > 1 else "nothing yet, so all alike"
        return found, TARGET_WEIGHT, why


@dataclass(frozen=True, eq=False)
class TAFRPosterior:
    """The target's own process, and a score that asks the past. Its units are those of the scaled target."""

    sources: Sources
    weights: Array
    """[S] w_D, or what precisions are multiplied with."""
    target_weight: float
    """w_0"""
    target: TargetProcess
    best: float
    """What EI improves on."""
    reached: Array
    """[S] max_H f_D"""
    xi: float
    is_product: bool
    """Whether weights are multiplied with precisions."""
    similarity: str
    """What the weights go by, in words."""

    @property
    def incumbent(self) -> float:
        """Best observed value, minus infinity without any."""
        return self.target.incumbent

    def predict(self, x: Array, *, features: Array | None = None) -> Prediction:
        """Return mean and deviation of the target's own process at rows ``x`` [k, d]."""
        self.sources.check_rows(x, "TAFR posterior")
        mean, std = self.target.predict(x)
        return Prediction(mean, std, noise=self.target.noise)

    def score(self, x: Array, *, features: Array | None = None, rng: Rng) -> Array:
        """Return log a [k] by (1); without observations the mean that past tasks predict."""
        found = np.empty(len(x))
        for first in range(0, len(x), CHUNK_ROWS):
            part = slice(first, first + CHUNK_ROWS)
            some = None if features is None else features[part]
            some = self.sources.features_or(some, x[part], "TAFR posterior", deviations=self.is_product)
            found[part] = self._score(x[part], some)
        return found

    def to_response(self, values: Array) -> Array:
        """Turn values in the units of ``predict`` into responses."""
        return self.target.units.to_response(values)

    def explain(self, x: Array) -> Explanation:
        """Return the share of each past task in the score of row ``x`` [d], and of the target's own process."""
        features = self.sources.features(x[None, :], deviations=self.is_product)
        weights, of_target = self._weights_at(features, self.target.predict(x[None, :])[1])
        shares = np.broadcast_to(weights, (1, len(self.sources)))[0]
        own = float(np.broadcast_to(of_target, 1)[0])
        explanation = explained_weights(self.sources.names, shares, own, self.similarity)
        if len(self.target.process.y):
            gains = np.maximum(features[0, : len(self.sources)] - self.reached, 0.0)
            promised = float(shares @ gains) / (float(shares.sum()) + own)
            explanation = replace(explanation, numbers={**explanation.numbers, "improvement_past_promises": promised})
        return explanation

    def _weights_at(self, features: Array, std: Array) -> tuple[Array, Array | float]:
        """Return w [k, S] or [S], and w_0 [k] or one number."""
        if not self.is_product:
            return self.weights, self.target_weight
        precisions = 1.0 / np.maximum(features[:, len(self.sources) :] ** 2, SMALLEST_VARIANCE)
        return self.weights * precisions, self.target_weight / np.maximum(std**2, SMALLEST_VARIANCE)

    def _score(self, x: Array, features: Array) -> Array:
        means = features[:, : len(self.sources)]
        mean, std = self.target.predict(x)
        weights, of_target = self._weights_at(features, std)
        if len(self.target.process.y) == 0:
            return _weighted_sum(means, weights) / weights.sum(axis=-1)
        improvements = _weighted_sum(np.maximum(means - self.reached, 0.0), weights)
        log_own = np.log(of_target) + log_expected_improvement(mean, std, self.best, self.xi)
        log_past = np.full(len(x), -np.inf)
        np.log(improvements, out=log_past, where=improvements > 0.0)
        return np.logaddexp(log_own, log_past) - np.log(of_target + weights.sum(axis=-1))


def _weighted_sum(values: Array, weights: Array) -> Array:
    """Return [k] for ``values`` [k, S] and weights [S] or [k, S]."""
    return values @ weights if weights.ndim == 1 else np.einsum("ks,ks->k", values, weights)
