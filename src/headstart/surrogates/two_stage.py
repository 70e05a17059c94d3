r"""The second stage of TST: predictions of all past tasks and of the target's own process, weighted by similarity.

Notation: S past tasks; f_D(x) what the model of past task D says, of responses scaled to [0, 1]; \mu_new, \sigma_new
the target's own process; \kappa_D = \delta(distance_D / \rho), \delta(t) = 3/4 (1 - t^2) for t <= 1, else 0;
\kappa_0 = \delta(0) = 3/4, and w_0 the weight of \mu_new, which should be \kappa_0.

    \mu(x) = (w_0 \mu_new(x) + \sum_D \kappa_D f_D(x)) / (\kappa_0 + \sum_D \kappa_D),  \sigma(x) = \sigma_new(x)  (1)
"""

import math
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import numpy as np

from headstart.arrays import Array, Rng
from headstart.data import Explanation, Prediction, TaskData
from headstart.numerics.gaussian_process import ConditionedGP
from headstart.numerics.ranking_agreement import discordance, epanechnikov, ranking_distance
from headstart.numerics.response import Scale, fit_scale, minmax
from headstart.surrogates.gaussian_process import check_positive
from headstart.surrogates.source_processes import CHUNK_ROWS
from headstart.surrogates.sources import ProcessRecipe, Sources, check_choice

Preset: TypeAlias = Literal["reference", "formula"]
TargetResponse: TypeAlias = Literal["raw", "minmax", "standardise"]
Distance: TypeAlias = Literal["discordance", "euclidean"]

TARGET_WEIGHT = 0.75
r"""\kappa_0 = \delta(0)"""
REFERENCE_WEIGHT = 1.0
"""w_0 in the authors' program."""
UNKNOWN_STD = 1000.0
"""Deviation before anything is observed: so large that EI is monotone in the mean."""


def preset_weight(preset: Preset, target_weight: float | None) -> float:
    """Return w_0: ``target_weight``, or else that of the preset."""
    if target_weight is not None:
        return target_weight
    return REFERENCE_WEIGHT if preset == "reference" else TARGET_WEIGHT


def preset_response(preset: Preset, target_response: TargetResponse | None) -> TargetResponse:
    """Return how the target is scaled: ``target_response``, or else that of the preset."""
    if target_response is not None:
        return target_response
    return "raw" if preset == "reference" else "minmax"


def check_two_stage(
    owner: str, preset: str, target_weight: float | None, target_response: TargetResponse | None
) -> None:
    """Refuse unknown presets and scalings, and weights that are none."""
    check_choice(owner, "preset", preset, get_args(Preset))
    if target_weight is not None:
        check_positive(owner, "target_weight", target_weight)
    if target_response is not None:
        check_choice(owner, "target_response", target_response, get_args(TargetResponse))


@dataclass(frozen=True, eq=False)
class TargetUnits:
    """The scale of the target's responses, and which responses are possible where that is known."""

    scale: Scale
    low: float = -math.inf
    high: float = math.inf

    def to_response(self, values: Array) -> Array:
        """Return responses, none beyond the possible ones."""
        return np.clip(self.scale.inverse(values), self.low, self.high)


def target_units(kind: TargetResponse, y: Array, bounds: tuple[float, float] | None) -> TargetUnits:
    """Return how responses ``y`` [n] of the target are scaled.

    "raw" leaves scores in [0, 1], such as accuracies, as they are; error rates, which come as values in [-1, 0], gain
    1, so that minimising an error is the same as maximising an accuracy. Past tasks are scaled to [0, 1], so nothing
    else could be averaged with them: where bounds are known, they give the scale, and where a value lies outside of
    [0, 1], the observed extremes.
    """
    if kind == "standardise":
        return TargetUnits(fit_scale("standardise", y))
    if kind == "raw" and bounds is None:
        if len(y) == 0 or (y.min() >= 0.0 and y.max() <= 1.0):
            return TargetUnits(minmax(y, (0.0, 1.0)), 0.0, 1.0)
        if y.min() >= -1.0 and y.max() <= 0.0:
            return TargetUnits(minmax(y, (-1.0, 0.0)), -1.0, 0.0)
    return TargetUnits(minmax(y, bounds))


@dataclass(frozen=True, eq=False)
class TargetProcess:
    """The target's own Gaussian process with the scale of its responses."""

    process: ConditionedGP
    units: TargetUnits

    @property
    def incumbent(self) -> float:
        """Best observed response, scaled; minus infinity without any."""
        return float(self.process.y.max()) if len(self.process.y) else -np.inf

    @property
    def noise(self) -> float:
        """Deviation of the noise."""
        return float(np.sqrt(self.process.hyperparameters.noise))

    def predict(self, x: Array) -> tuple[Array, Array]:
        """Return mean and deviation [k]; without observations 0 and one that says nothing."""
        if len(self.process.y) == 0:
            return np.zeros(len(x)), np.full(len(x), UNKNOWN_STD)
        mean, std = np.empty(len(x)), np.empty(len(x))
        for first in range(0, len(x), CHUNK_ROWS):
            part = slice(first, first + CHUNK_ROWS)
            mean[part], std[part] = self.process.predict(x[part])
        return mean, std


def fit_target(
    data: TaskData, recipe: ProcessRecipe, kind: TargetResponse, *, epoch_decay: int = 0, rng: Rng
) -> TargetProcess:
    """Return the process of the target's observations; AdaGrad has ``epoch_decay`` steps fewer for each of them."""
    units = target_units(kind, data.y, data.bounds)
    if epoch_decay:
        recipe = replace(recipe, epochs=max(0, recipe.epochs - epoch_decay * max(len(data) - 1, 0)))
    return TargetProcess(recipe.fit(data.x, units.scale.apply(data.y), rng=rng), units)


def ranking_similarity(
    features: Array, y: Array, *, bandwidth: float, distance: Distance, fitted: Array | None = None
) -> Array:
    r"""Return \kappa [S] by how the past tasks' models rank the observations; 3/4 for all before there are two.

    Args:
        features: [n, S] f_D at the observed rows.
        y: [n] observed.
        bandwidth: \rho
        distance: "discordance": the share of misranked pairs. "euclidean": the norm that the paper prints, of the
            difference of 0/1 vectors, between models.
        fitted: [n] what the target's own process says there; for "euclidean".
    """
    if len(y) < 2:
        return TARGET_WEIGHT * np.ones(features.shape[1])
    if distance == "euclidean" and fitted is not None:
        return epanechnikov(ranking_distance(features, fitted) / bandwidth)
    return epanechnikov(discordance(features, y) / bandwidth)


@dataclass(frozen=True, eq=False)
class TwoStagePosterior:
    """Equation (1) given the observations; its units are those of the scaled target."""

    owner: str
    sources: Sources
    weights: Array
    r"""[S] \kappa_D"""
    target_weight: float
    """w_0"""
    target: TargetProcess
    similarity: str
    """What the weights go by, in words."""

    @property
    def incumbent(self) -> float:
        """Best observed value, minus infinity without any."""
        return self.target.incumbent

    def predict(self, x: Array, *, features: Array | None = None) -> Prediction:
        """Return mean and deviation at rows ``x`` [k, d]."""
        self.sources.check_rows(x, f"{self.owner} posterior")
        own, std = self.target.predict(x)
        mean = self.target_weight * own + self._of_past(x, features)
        return Prediction(mean / (TARGET_WEIGHT + self.weights.sum()), std, noise=self.target.noise)

    def to_response(self, values: Array) -> Array:
        """Turn values in the units of ``predict`` into responses."""
        return self.target.units.to_response(values)

    def explain(self, x: Array) -> Explanation:
        """Return the share of each past task in the mean, and of the target's own process."""
        return explained_weights(self.sources.names, self.weights, self.target_weight, self.similarity)

    def _of_past(self, x: Array, features: Array | None) -> Array:
        if features is not None:
            return self.sources.features_or(features, x, f"{self.owner} posterior") @ self.weights
        if not self.weights.any():
            return np.zeros(len(x))
        found = np.empty(len(x))
        for first in range(0, len(x), CHUNK_ROWS):
            part = slice(first, first + CHUNK_ROWS)
            found[part] = self.sources.means(x[part]) @ self.weights
        return found


def explained_weights(names: tuple[str, ...], weights: Array, target_weight: float, similarity: str) -> Explanation:
    """Return the shares of past tasks and target, largest first, and in words which count most and why."""
    total = float(weights.sum()) + target_weight
    shares = weights / total if total > 0.0 else weights
    order = np.argsort(-shares, kind="stable")
    ranked = tuple((names[int(i)], float(shares[i])) for i in order)
    counting = int((weights > 0.0).sum())
    own = target_weight / total if total > 0.0 else 0.0
    numbers = {"weight_of_target": own, "past_tasks_counting": float(counting)}
    if counting == 0:
        return Explanation(f"No past task counts, by {similarity}; this task's own model decides.", ranked, numbers)
    most = ", ".join(f"{name} {share:.0%}" for name, share in ranked[:3] if share > 0.0)
    summary = (
        f"{counting} of {len(names)} past tasks count, by {similarity}; this task's own model weighs {own:.0%}. "
        f"Past tasks weighing most: {most}."
    )
    return Explanation(summary, ranked, numbers)
