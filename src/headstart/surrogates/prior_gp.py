"""PriorGP: a Gaussian process whose mean and covariance are the past. The default wherever there is a past.

What past tasks agree on is its mean, how they differ its covariance, and a Matérn residual with a level of its own takes
what no past task knew. Hyperparameters are averaged over a grid by evidence; a gate hands a suggestion to the plain
Gaussian process when that predicts the good observations better. The mathematics is in ``numerics.past_prior``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.special import logsumexp

from headstart.acquisition import LogExpectedImprovement
from headstart.arrays import Array, Rng
from headstart.data import Budget, Explanation, MetaDataset, Prediction, TaskData, best_row
from headstart.errors import DataError, SettingsError
from headstart.numerics.expected_improvement import log_expected_improvement
from headstart.numerics.forest import Forest, grow, join, predict_groups
from headstart.numerics.past_prior import (
    GridModel,
    Observed,
    PastPrior,
    Ranges,
    condition_model,
    known_range,
    log_weights,
    past_prior,
    range_hypotheses,
    residual_kernels,
    unwarped_moments,
    warp,
    warp_slope,
)
from headstart.numerics.response import minmax, outlier_floor
from headstart.protocols import Acquisition, Progress
from headstart.surrogates.gaussian_process import GaussianProcess, GaussianProcessPosterior

REFERENCE_ROWS = 512
MODELS_KEPT, SMALLEST_WEIGHT = 8, 0.02
GATE_FROM, GATE_MODELS, GATE_HEAD_START = 8, 4, 2.0
CHUNK_ROWS = 4096


@dataclass(frozen=True, eq=False)
class ForestPast:
    """What ``PriorGP.pretrain`` learned: one forest per past task, side by side."""

    forest: Forest
    names: tuple[str, ...]
    """Past tasks, in the order of their forests."""
    columns: int
    prior: PastPrior

    def features(self, x: Array) -> Array:
        """Return [k, S]: every past task's prediction of its response scaled to [0, 1]."""
        if x.shape[1] != self.columns:
            raise DataError(
                f"PriorGP: x has {x.shape[1]} columns, the past tasks have {self.columns}. Encode with the same Space."
            )
        return predict_groups(self.forest, x, len(self.names))


@dataclass(frozen=True, kw_only=True, eq=False)
class PriorGP:
    """Gaussian process with the past as its prior; needs ``pretrain``, else it is the plain Gaussian process.

    Its first proposal is the row that past tasks like best on average, so it needs no initial design.
    """

    name: ClassVar[str] = "prior-gp"

    trees: int | None = None
    """Trees per past task; by default 60 up to 100 past tasks, then fewer, down to 10 at 600 and more."""
    gate: GaussianProcess | None = GaussianProcess()  # noqa: RUF009 - frozen settings
    """Takes over when it predicts the better half of the observations better; None switches the gate off."""
    past: ForestPast | None = None
    """Set by ``pretrain``."""
    acquisition: Acquisition = LogExpectedImprovement(noisy=True)  # noqa: RUF009 - frozen settings
    """For callers that use ``predict``; the posterior scores itself by the mixture's log-EI."""

    def __post_init__(self) -> None:
        if self.trees is not None and not 1 <= self.trees <= 10_000:
            raise SettingsError(f"PriorGP: trees must be between 1 and 10000, got {self.trees}.")

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
        """Return the recipe with one forest per past task; ``validation`` and ``budget`` are not needed.

        Tasks with fewer than two observations or without any variation say nothing and are left out.
        """
        tasks = [task for task in past.tasks if len(task) >= 2 and np.ptp(task.y) > 0]
        if not tasks:
            return replace(self, past=None)
        trees = self.trees if self.trees is not None else int(np.clip(round(6000 / len(tasks)), 10, 60))
        forests: list[Forest] = []
        for done, task in enumerate(tasks):
            y = np.clip(minmax(task.y, task.bounds).apply(task.y), 0.0, 1.0)
            forests.append(
                grow(
                    task.x,
                    y,
                    trees=trees,
                    rng=rng,
                    extremely_random=True,
                    bootstrap=False,
                    max_features=0.8,
                    min_leaf=1,
                )
            )
            if progress is not None:
                progress(done + 1, len(tasks), f"learned from past task '{task.name}'")
        forest = join(forests)
        reference = _reference_rows(past, tasks, rng)
        prior = past_prior(predict_groups(forest, reference, len(tasks)))
        names = tuple(task.name for task in tasks)
        return replace(self, past=ForestPast(forest, names, tasks[0].x.shape[1], prior))

    def features(self, x: Array) -> Array:
        """Return [k, S]: every past task's prediction; no columns without a past."""
        return self.past.features(x) if self.past is not None else np.empty((len(x), 0))

    def fit(self, data: TaskData, *, rng: Rng) -> "PriorGPPosterior | GaussianProcessPosterior":
        """Return the posterior given ``data``; the gate draws from ``rng``."""
        if self.past is None:
            return self._plain.fit(data, rng=rng)
        features = data.features if data.features is not None else self.past.features(data.x)
        if features.shape[1] != len(self.past.names):
            raise DataError(
                f"PriorGP: features have {features.shape[1]} columns, but there are {len(self.past.names)} past tasks. "
                "Compute them with this surrogate's features()."
            )
        mean, factors = self.past.prior.split(features)
        observed = Observed(data.x, mean, factors)
        if len(data) == 0:
            place = 0  # nothing is conditioned on, so the place decides no more than the size of the deviation
            prior_only = condition_model(self.past.prior, observed, place, np.empty(0))
            component = Component(prior_only, 0.0, known_range(data.bounds or (0.0, 1.0)), 0, -np.inf)
            return PriorGPPosterior(self.past, (component,), data.y, None, 1.0)
        y = data.y
        if data.bounds is None:
            y = np.maximum(y, outlier_floor(y))
            ranges = range_hypotheses(y)
        else:
            ranges = known_range(data.bounds)
        f = ranges.scaled(y)
        z = warp(f)
        offset = ranges.log_prior + np.log(warp_slope(f)).sum(axis=1) - len(y) * np.log(ranges.width)
        models, weights = log_weights(self.past.prior, observed, z - mean, offset)
        components = _kept(self.past.prior, observed, ranges, z, models, weights)
        plain, odds = self._gate(observed, components, ranges, z, models, weights, rng)
        return PriorGPPosterior(self.past, components, y, plain, odds)

    def _gate(
        self,
        observed: Observed,
        components: "tuple[Component, ...]",
        ranges: Ranges,
        z: Array,
        models: Array,
        weights: Array,
        rng: Rng,
    ) -> "tuple[PlainModel | None, float]":
        """Return the plain process where the gate hands over, and the probability that it does not."""
        n = len(observed.x)
        if self.gate is None or n < GATE_FROM:
            return None, 1.0
        hypothesis = int(np.argmax(logsumexp(weights, axis=0)))
        zh = z[hypothesis]
        better_half = np.argsort(-zh, kind="stable")[: max(4, n // 2)]
        best = np.argsort(-weights[:, hypothesis], kind="stable")[:GATE_MODELS]
        log_share = weights[best, hypothesis] - logsumexp(weights[best, hypothesis])
        densities: list[Array] = []
        for place in models[best]:
            model = condition_model(
                observed=observed, prior=components[0].model.prior, place=place, residuals=zh - observed.mean
            )
            densities.append(_log_normal_density(zh, *model.leave_one_out(zh)))
        past_density = logsumexp(np.stack(densities) + log_share[:, None], axis=0)
        posterior = self.gate.fit(TaskData(observed.x, zh), rng=rng)
        unit = float(posterior.to_response(np.array([1.0]))[0] - posterior.to_response(np.array([0.0]))[0])
        left_out = posterior.leave_one_out()
        centre = posterior.to_response(left_out.mean)
        plain_density = _log_normal_density(zh, centre, (unit * left_out.std) ** 2)
        delta = float((plain_density - past_density)[better_half].sum()) - GATE_HEAD_START
        odds = float(1.0 / (1.0 + np.exp(np.clip(delta, -500.0, 500.0))))
        if rng.random() < odds:
            return None, odds
        return PlainModel(posterior, ranges, hypothesis), odds


@dataclass(frozen=True, eq=False)
class Component:
    """One model of the grid under one hypothesis about the range, with its weight in the mixture."""

    model: GridModel
    log_weight: float
    ranges: Ranges
    hypothesis: int
    incumbent: float
    """Best observed z."""

    @property
    def log_unit(self) -> float:
        """Logarithm of how much response one unit of z is worth at the incumbent."""
        width = float(self.ranges.width[self.hypothesis])
        # W' = 1 / (1.2 - f) = exp(z)
        return float(np.log(width)) - self.incumbent

    def to_response(self, mean: Array, std: Array) -> tuple[Array, Array]:
        """Return mean and deviation of the response for normal z."""
        return _to_response(self.ranges, self.hypothesis, mean, std)


@dataclass(frozen=True, eq=False)
class PlainModel:
    """The plain Gaussian process of z where the gate handed over."""

    posterior: GaussianProcessPosterior
    ranges: Ranges
    hypothesis: int


@dataclass(frozen=True, eq=False)
class PriorGPPosterior:
    """The mixture given the observations. ``predict`` answers in responses; ``score`` is the mixture's log-EI."""

    past: ForestPast
    components: tuple[Component, ...]
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
        """Return mean and deviation of the response at rows ``x`` [k, d]."""
        if self.plain is not None:
            plain = self.plain.posterior.predict(x)
            inside = self.plain.posterior
            unit = inside.to_response(np.ones(1))[0] - inside.to_response(np.zeros(1))[0]
            mean, std = _to_response(
                self.plain.ranges, self.plain.hypothesis, inside.to_response(plain.mean), unit * plain.std
            )
            return Prediction(mean, std)
        first = np.zeros(len(x))
        second = np.zeros(len(x))
        noise = 0.0
        for component, (mean, std) in zip(self.components, self._component_moments(x, features), strict=True):
            weight = np.exp(component.log_weight)
            centre, spread = component.to_response(mean, std)
            first += weight * centre
            second += weight * (spread**2 + centre**2)
            noise += weight * component.model.noise_variance * np.exp(2 * min(component.log_unit, 700.0))
        finite_noise = float(np.sqrt(noise)) if len(self.y) else 0.0
        return Prediction(first, np.sqrt(np.maximum(second - first**2, 0.0)), noise=finite_noise)

    def score(self, x: Array, *, features: Array | None = None, rng: Rng) -> Array:
        """Return log-EI [k] of the mixture, or of the plain process; without observations the prior mean."""
        if self.plain is not None:
            posterior = self.plain.posterior
            return LogExpectedImprovement()(posterior.predict(x), posterior.incumbent)
        moments = self._component_moments(x, features)
        if len(self.y) == 0:
            return moments[0][0]
        parts: list[Array] = []
        for component, (mean, std) in zip(self.components, moments, strict=True):
            noisy = np.sqrt(std**2 + component.model.noise_variance)
            gain = log_expected_improvement(mean, noisy, component.incumbent)
            parts.append(gain + component.log_weight + component.log_unit)
        return logsumexp(np.stack(parts), axis=0)

    def to_response(self, values: Array) -> Array:
        """Return ``values``: this posterior's units are the responses themselves."""
        return values

    def explain(self, x: Array) -> Explanation:
        """Return how much each past task weighs in the posterior mean, and the gate's odds."""
        shares = [np.exp(component.log_weight) * component.model.task_weights() for component in self.components]
        weights = np.sum(shares, axis=0)
        order = np.argsort(-weights, kind="stable")
        ranked = tuple((self.past.names[i], float(weights[i])) for i in order)
        most = ", ".join(f"{name} {weight:+.2f}" for name, weight in ranked[:3])
        if self.plain is not None:
            summary = f"The past predicts this task badly (trusted with probability {self.odds:.0%}); the plain Gaussian process chose."
        elif len(self.y) == 0:
            summary = f"Nothing is observed yet: the configuration that {len(ranked)} past tasks like best on average."
        else:
            summary = f"The past is trusted with probability {self.odds:.0%}. Past tasks weighing most: {most}."
        return Explanation(summary, ranked, {"probability_of_past": self.odds})

    def _component_moments(self, x: Array, features: Array | None) -> list[tuple[Array, Array]]:
        if x.ndim != 2 or x.shape[1] != self.past.columns:
            raise DataError(
                f"PriorGP posterior: x has shape {x.shape}, was fitted on {self.past.columns} columns. "
                "Encode with the Space used for fitting."
            )
        means, stds = np.empty((len(self.components), len(x))), np.empty((len(self.components), len(x)))
        for start in range(0, len(x), CHUNK_ROWS):
            part = slice(start, start + CHUNK_ROWS)
            rows = self.past.features(x[part]) if features is None else features[part]
            mean, factors = self.past.prior.split(rows)
            residual = residual_kernels(x[part], self.components[0].model.observed.x)
            for i, component in enumerate(self.components):
                means[i, part], stds[i, part] = component.model.predict(mean, factors, residual)
        return list(zip(means, stds, strict=True))


def _kept(
    prior: PastPrior, observed: Observed, ranges: Ranges, z: Array, models: Array, weights: Array
) -> tuple[Component, ...]:
    """Return the most probable combinations of model and range, with weights that sum to 1."""
    flat = weights.ravel()
    best = np.argsort(-flat, kind="stable")[:MODELS_KEPT]
    best = best[flat[best] > flat[best[0]] + np.log(SMALLEST_WEIGHT)]
    shares = flat[best] - logsumexp(flat[best])
    components: list[Component] = []
    for place, share in zip(best, shares, strict=True):
        model, hypothesis = np.unravel_index(place, weights.shape)
        zh = z[hypothesis]
        conditioned = condition_model(prior, observed, int(models[model]), zh - observed.mean)
        components.append(Component(conditioned, float(share), ranges, int(hypothesis), float(zh.max())))
    return tuple(components)


def _to_response(ranges: Ranges, hypothesis: int, mean: Array, std: Array) -> tuple[Array, Array]:
    width = float(ranges.width[hypothesis])
    centre, spread = unwarped_moments(mean, std)
    return float(ranges.bottom[hypothesis]) + width * centre, width * spread


def _log_normal_density(value: Array, mean: Array, variance: Array) -> Array:
    return -0.5 * ((value - mean) ** 2 / variance + np.log(2 * np.pi * variance))


def _reference_rows(past: MetaDataset, tasks: Sequence[TaskData], rng: Rng) -> Array:
    """Return rows that stand for the Space: the given ones and the past's best, or else a sample of past rows."""
    if past.reference is not None and len(past.reference):
        return np.concatenate([past.reference, best_row(tasks)])
    rows = np.concatenate([task.x for task in tasks])
    if len(rows) <= REFERENCE_ROWS:
        return rows
    return rows[np.sort(rng.choice(len(rows), REFERENCE_ROWS, replace=False))]
