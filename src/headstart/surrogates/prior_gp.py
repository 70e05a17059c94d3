"""PriorGP: a Gaussian process whose mean and covariance are the past. The default wherever there is a past.

What past tasks agree on is its mean, how they differ its covariance, and a Matérn residual with a level of its own
takes what no past task knew. Hyperparameters are averaged over a grid by evidence; a gate hands a suggestion to the
plain Gaussian process when that predicts the good observations better. The mathematics is in ``numerics.past_prior``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, get_args

import numpy as np

from headstart.acquisition import LogExpectedImprovement
from headstart.arrays import Array, IntArray, Rng
from headstart.data import Budget, Explanation, MetaDataset, Prediction, TaskData, best_row
from headstart.encoding import Columns
from headstart.errors import DataError, SettingsError
from headstart.numerics.expected_improvement import log_expected_improvement
from headstart.numerics.past_prior import (
    PRIOR_MODE,
    GridModel,
    GridWeights,
    Observed,
    PastPrior,
    Ranges,
    condition_models,
    known_range,
    observe,
    past_prior,
    predict_models,
    range_hypotheses,
    unwarped_moments,
    warp,
    weigh,
)
from headstart.numerics.response import outlier_floor
from headstart.protocols import Acquisition, Progress
from headstart.space.values import shown
from headstart.surrogates.gaussian_process import GaussianProcess, GaussianProcessPosterior
from headstart.surrogates.past_models import PastModels, Source, best_source, learn_past

REFERENCE_ROWS = 512
MODELS_KEPT, SMALLEST_WEIGHT = 8, 0.02
GATE_FROM, GATE_MODELS, GATE_HEAD_START = 8, 4, 2.0
DISLIKED_ROWS, DISLIKED_UNTIL = 2, 20
"""A past that misleads has also chosen where to look, and the plain process would know one corner of the Space only.
Where the gate hands over up to so many observations, of which fewer than two lie in the half of the Space that the past
dislikes, random rows come first, as they would without a past."""
CHUNK_ROWS = 2048

_LARGEST_EXPONENT = 700.0


@dataclass(frozen=True, eq=False)
class Past:
    """What ``PriorGP.pretrain`` learned."""

    models: PastModels
    names: tuple[str, ...]
    """Past tasks, in the order of their models."""
    columns: int
    prior: PastPrior
    median: float
    """Of the prior mean m over the rows that stand for the Space."""

    def features(self, x: Array) -> Array:
        """Return [k, S]: every past task's prediction of its response scaled to [0, 1]."""
        self.check_rows(x, "PriorGP")
        return self.models.predict(x)

    def check_rows(self, x: Array, owner: str) -> None:
        """Refuse rows of another Space."""
        if x.ndim != 2 or x.shape[1] != self.columns:
            raise DataError(
                f"{owner}: x must be rows of {self.columns} columns like those of the past tasks, got shape {x.shape}. "
                "Encode with the same Space."
            )

    def check_features(self, features: Array, rows: int) -> None:
        """Refuse features that were computed for other rows or by another surrogate."""
        expected = (rows, len(self.names))
        if features.shape != expected:
            raise DataError(
                f"PriorGP: features must have the shape {expected}, one column per past task, got {features.shape}. "
                "Compute them with this surrogate's features()."
            )


@dataclass(frozen=True, kw_only=True, eq=False)
class PriorGP:
    """Gaussian process with the past as its prior; needs ``pretrain``, else it is the plain Gaussian process.

    Its first proposal is the row that past tasks like best on average, so it needs no initial design.
    """

    name: ClassVar[str] = "prior-gp"

    source: Source | Literal["auto"] = "auto"
    """What models a past task; by default a Gaussian process for short past tasks without rows in common, else a
    forest."""
    trees: int | None = None
    """Trees per past task; by default 60 up to 100 past tasks, then fewer, down to 10 at 600 and more."""
    gate: GaussianProcess | None = field(default_factory=GaussianProcess)
    """Takes over when it predicts the better half of the observations better; None switches the gate off."""
    past: Past | None = None
    """Set by ``pretrain``."""
    acquisition: Acquisition = field(default_factory=lambda: LogExpectedImprovement(noisy=True))
    """For callers that use ``predict``; the posterior scores itself by the mixture's log-EI."""

    def __post_init__(self) -> None:
        if self.source != "auto" and self.source not in get_args(Source):
            raise SettingsError(f"PriorGP: source must be 'auto', 'forest', 'gp' or 'both', got {shown(self.source)}.")
        if self.trees is not None and not 1 <= self.trees <= 10_000:
            raise SettingsError(f"PriorGP: trees must be between 1 and 10000, got {self.trees}.")
        if self.gate is not None and self.gate.response == "copula":
            raise SettingsError(
                "PriorGP: the gate compares densities, and the response 'copula' of its GaussianProcess has none. "
                "Use 'standardise'."
            )

    @property
    def is_pretrained(self) -> bool:
        """Whether it has learned from past tasks."""
        return self.past is not None

    @property
    def minimum_observations(self) -> int:
        """0 with a past: the first proposal is the past's favourite."""
        return 0 if self.past is not None else self._plain.minimum_observations

    @property
    def _plain(self) -> GaussianProcess:
        return self.gate if self.gate is not None else GaussianProcess()

    def pretrain(
        self,
        past: MetaDataset,
        *,
        rng: Rng,
        validation: MetaDataset | None = None,
        budget: Budget | None = None,
        progress: Progress | None = None,
    ) -> "PriorGP":
        """Return the recipe with one model per past task; ``validation`` and ``budget`` are not needed.

        Tasks with fewer than two observations or without any variation say nothing and are left out.
        """
        tasks = past.informative
        if not tasks:
            return replace(self, past=None)
        rows = _space_rows(past, tasks, rng)
        source = best_source(tasks, rows) if self.source == "auto" else self.source
        models = learn_past(tasks, source, trees=self.trees, rng=rng, progress=progress)
        features = models.predict(np.concatenate([rows, best_row(tasks)]))
        prior = past_prior(features)
        median = float(np.median(prior.split(features)[0]))
        return replace(self, past=Past(models, tuple(task.name for task in tasks), rows.shape[1], prior, median))

    def features(self, x: Array) -> Array:
        """Return [k, S]: every past task's prediction; no columns without a past."""
        return self.past.features(x) if self.past is not None else np.empty((len(x), 0))

    def fit(self, data: TaskData, *, rng: Rng) -> "PriorGPPosterior | GaussianProcessPosterior":
        """Return the posterior given ``data``; the gate draws from ``rng``."""
        past = self.past
        if past is None:
            return self._plain.fit(data, rng=rng)
        past.check_rows(data.x, f"PriorGP: TaskData '{data.name}'")
        features = data.features if data.features is not None else past.features(data.x)
        past.check_features(features, len(data))
        observed = observe(past.prior, data.x, features)
        y = data.y
        if len(data) == 0:
            ranges = known_range(data.bounds or (0.0, 1.0))
            (model,) = condition_models(past.prior, observed, [PRIOR_MODE], np.empty((1, 0)))
            component = Component(model, np.zeros(1, dtype=np.int64), np.zeros(1))
            return PriorGPPosterior(past, (component,), ranges, np.full(1, -np.inf), y, None, 1.0)
        if data.bounds is None:
            y = np.maximum(y, outlier_floor(y))
            ranges = range_hypotheses(y)
        else:
            ranges = known_range(data.bounds)
        weights = weigh(past.prior, observed, y, ranges)
        z = warp(ranges.scaled(y))
        components = _kept(past.prior, observed, z, weights)
        plain, odds = None, 1.0
        if self.gate is not None and len(y) >= GATE_FROM:
            is_blind = len(y) < DISLIKED_UNTIL and int((observed.mean < past.median).sum()) < DISLIKED_ROWS
            odds, alternative = _compare(self.gate, past.prior, observed, data.columns, z, weights, rng)
            plain = replace(alternative, is_blind=is_blind) if rng.random() >= odds else None
        return PriorGPPosterior(past, components, ranges, z.max(axis=1), y, plain, odds)


@dataclass(frozen=True, eq=False)
class Component:
    """One model of the grid, with its weight in the mixture under c hypotheses about the range."""

    model: GridModel
    hypotheses: IntArray
    """[c]"""
    log_weights: Array
    """[c]"""


@dataclass(frozen=True, eq=False)
class PlainModel:
    """The plain Gaussian process of z under one hypothesis about the range."""

    posterior: GaussianProcessPosterior
    acquisition: Acquisition
    hypothesis: int
    is_blind: bool = False
    """Whether all that it knows is what the past liked."""

    @property
    def unit(self) -> float:
        """What one unit of the process is worth in z."""
        zero, one = self.posterior.to_response(np.array([0.0, 1.0]))
        return float(one - zero)

    def predict(self, x: Array) -> Prediction:
        """Return the prediction of z."""
        inside = self.posterior.predict(x)
        return Prediction(
            self.posterior.to_response(inside.mean), self.unit * inside.std, noise=self.unit * inside.noise
        )

    def log_density_left_out(self, z: Array) -> Array:
        """Return [n]: log density of each observation given all others."""
        left_out = self.posterior.leave_one_out()
        return _log_normal_density(z, self.posterior.to_response(left_out.mean), (self.unit * left_out.std) ** 2)


@dataclass(frozen=True, eq=False)
class PriorGPPosterior:
    """The mixture given the observations. ``predict`` answers in responses; ``score`` is the mixture's log-EI."""

    past: Past
    components: tuple[Component, ...]
    ranges: Ranges
    """Hypotheses about the range of the responses."""
    best: Array
    """[h] best observed z under each hypothesis."""
    y: Array
    """[n] observed responses."""
    plain: PlainModel | None
    """Scores instead of the mixture where the gate said so."""
    odds: float
    """Probability with which the gate left the decision to the past."""

    @property
    def incumbent(self) -> float:
        """Best observed response, minus infinity without any."""
        return float(self.y.max()) if len(self.y) else -np.inf

    def predict(self, x: Array, *, features: Array | None = None) -> Prediction:
        """Return mean and deviation of the response at rows ``x`` [k, d]; the noise is that at the incumbent."""
        if self.plain is not None:
            self.past.check_rows(x, "PriorGP posterior")
            inside = self.plain.predict(x)
            chosen = np.array([self.plain.hypothesis])
            mean, std = self._responses(inside.mean[None, :], inside.std, chosen)
            return Prediction(mean[0], std[0], noise=float(inside.noise * np.exp(self._log_units(chosen))[0]))
        first, second = np.zeros(len(x)), np.zeros(len(x))
        noise = 0.0
        for component, (means, std) in zip(self.components, self._moments(x, features), strict=True):
            weights = np.exp(component.log_weights)
            centres, spreads = self._responses(means, std, component.hypotheses)
            first += weights @ centres
            second += weights @ (spreads**2 + centres**2)
            if len(self.y):
                units = np.exp(self._log_units(component.hypotheses))
                noise += component.model.noise_variance * float(weights @ units**2)
        return Prediction(first, np.sqrt(np.maximum(second - first**2, 0.0)), noise=noise**0.5)

    def score(self, x: Array, *, features: Array | None = None, rng: Rng) -> Array:
        """Return log-EI [k] of the mixture, or of the plain process; without observations the prior mean.

        Where the plain process has seen nothing but what the past liked, the scores are random.
        """
        if self.plain is not None:
            self.past.check_rows(x, "PriorGP posterior")
            if self.plain.is_blind:
                return rng.random(len(x))
            posterior = self.plain.posterior
            return self.plain.acquisition(posterior.predict(x), posterior.incumbent)
        moments = self._moments(x, features)
        if len(self.y) == 0:
            return moments[0][0][0]
        parts: list[Array] = []
        for component, (means, std) in zip(self.components, moments, strict=True):
            noisy = np.sqrt(std**2 + component.model.noise_variance)
            gains = log_expected_improvement(means - self.best[component.hypotheses][:, None], noisy, 0.0)
            parts.append(gains + (component.log_weights + self._log_units(component.hypotheses))[:, None])
        return np.logaddexp.reduce(np.concatenate(parts), axis=0)

    def to_response(self, values: Array) -> Array:
        """Return ``values``: this posterior's units are the responses themselves."""
        return values

    def explain(self, x: Array) -> Explanation:
        """Return how much each past task weighs in the posterior mean, and the gate's odds."""
        weights = np.zeros(len(self.past.names))
        for component in self.components:
            for hypothesis, log_weight in zip(component.hypotheses, component.log_weights, strict=True):
                weights += np.exp(log_weight) * component.model.task_weights(int(hypothesis))
        order = np.argsort(-weights, kind="stable")
        ranked = tuple((self.past.names[int(i)], float(weights[i])) for i in order)
        if self.plain is not None:
            chooser = (
                "chance chose, to see more of the Space" if self.plain.is_blind else "the plain Gaussian process chose"
            )
            summary = f"The past predicts this task badly (trusted with probability {self.odds:.0%}); {chooser}."
        elif len(self.y) == 0:
            summary = f"Nothing is observed yet: the configuration that {len(ranked)} past tasks like best on average."
        else:
            most = ", ".join(f"{name} {weight:+.2f}" for name, weight in ranked[:3])
            summary = f"The past is trusted with probability {self.odds:.0%}. Past tasks weighing most: {most}."
        return Explanation(summary, ranked, {"probability_of_past": self.odds})

    def _log_units(self, hypotheses: IntArray) -> Array:
        """Return [c]: logarithm of how much response one unit of z is worth at the incumbent, (top - bottom) / W'."""
        units = np.log(self.ranges.width[hypotheses]) - self.best[hypotheses]  # W' = 1 / (1.2 - f) = exp(z)
        return np.minimum(units, _LARGEST_EXPONENT)

    def _responses(self, means: Array, std: Array, hypotheses: IntArray) -> tuple[Array, Array]:
        """Return mean and deviation [c, k] of the response for normal z with ``means`` [c, k] and ``std`` [k]."""
        centres, spreads = unwarped_moments(means, std)
        width = self.ranges.width[hypotheses][:, None]
        return self.ranges.bottom[hypotheses][:, None] + width * centres, width * spreads

    def _moments(self, x: Array, features: Array | None) -> list[tuple[Array, Array]]:
        """Return means [c, k] and deviation [k] of z for every component."""
        self.past.check_rows(x, "PriorGP posterior")
        if features is not None:
            self.past.check_features(features, len(x))
        models = [component.model for component in self.components]
        hypotheses = [component.hypotheses for component in self.components]
        moments = [(np.empty((len(chosen), len(x))), np.empty(len(x))) for chosen in hypotheses]
        for start in range(0, len(x), CHUNK_ROWS):
            part = slice(start, start + CHUNK_ROWS)
            rows = self.past.features(x[part]) if features is None else features[part]
            for (means, std), (some_means, some_std) in zip(
                moments, predict_models(models, hypotheses, x[part], rows), strict=True
            ):
                means[:, part], std[part] = some_means, some_std
        return moments


def _kept(prior: PastPrior, observed: Observed, z: Array, weights: GridWeights) -> tuple[Component, ...]:
    """Return the most probable pairs of model and range, with weights that sum to 1."""
    flat = weights.log_weights.ravel()
    best = np.argsort(-flat, kind="stable")[:MODELS_KEPT]
    best = best[flat[best] > flat[best[0]] + np.log(SMALLEST_WEIGHT)]
    shares = flat[best] - np.logaddexp.reduce(flat[best])
    rows, hypotheses = np.unravel_index(best, weights.log_weights.shape)
    distinct = np.unique(rows)
    models = condition_models(prior, observed, [int(place) for place in weights.models[distinct]], z - observed.mean)
    return tuple(
        Component(model, hypotheses[rows == row], shares[rows == row])
        for row, model in zip(distinct, models, strict=True)
    )


def _compare(
    gate: GaussianProcess,
    prior: PastPrior,
    observed: Observed,
    columns: Columns | None,
    z: Array,
    weights: GridWeights,
    rng: Rng,
) -> tuple[float, PlainModel]:
    """Return the probability that the past decides, and the plain process, which decides otherwise.

    Both predict each observation of the better half from all others, under the most probable hypothesis about the
    range.
    """
    hypothesis = int(np.argmax(np.logaddexp.reduce(weights.log_weights, axis=0)))
    zh, log_weights = z[hypothesis], weights.log_weights[:, hypothesis]
    better_half = np.argsort(-zh, kind="stable")[: max(4, len(zh) // 2)]
    best = np.argsort(-log_weights, kind="stable")[:GATE_MODELS]
    shares = log_weights[best] - np.logaddexp.reduce(log_weights[best])
    places = [int(place) for place in weights.models[best]]
    models = condition_models(prior, observed, places, (zh - observed.mean)[None, :])
    densities = [_log_normal_density(zh, *model.leave_one_out(zh, 0)) for model in models]
    of_past = np.logaddexp.reduce(np.stack(densities) + shares[:, None], axis=0)
    plain = PlainModel(gate.fit(TaskData(observed.x, zh, columns), rng=rng), gate.acquisition, hypothesis)
    delta = float((plain.log_density_left_out(zh) - of_past)[better_half].sum()) - GATE_HEAD_START
    return float(1.0 / (1.0 + np.exp(np.clip(delta, -500.0, 500.0)))), plain


def _log_normal_density(value: Array, mean: Array, variance: Array) -> Array:
    return -0.5 * ((value - mean) ** 2 / variance + np.log(2 * np.pi * variance))


def _space_rows(past: MetaDataset, tasks: Sequence[TaskData], rng: Rng) -> Array:
    """Return rows that stand for the Space: the given ones, or else a sample of past rows."""
    if past.reference is not None and len(past.reference):
        return past.reference
    rows = np.concatenate([task.x for task in tasks])
    if len(rows) <= REFERENCE_ROWS:
        return rows
    return rows[np.sort(rng.choice(len(rows), REFERENCE_ROWS, replace=False))]
