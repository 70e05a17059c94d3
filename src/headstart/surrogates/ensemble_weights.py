"""How RGPE weighs its models: which losses, which guard against many poor sources, who gets the ties.

Notation: n observations, S sources, B draws; the target's own model comes last.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from headstart.arrays import Array, BoolArray, Rng
from headstart.numerics.gaussian_process import ConditionedGP, condition, factorise
from headstart.numerics.ranking_weights import (
    Ties,
    bootstrap_losses,
    drawn_losses,
    joint_left_out_losses,
    keeping_probability,
    left_out_losses,
    ranking_weights,
    within_percentile,
)
from headstart.surrogates.gaussian_process import check_count
from headstart.surrogates.source_processes import Processes
from headstart.surrogates.sources import check_choice

Losses: TypeAlias = Literal["bootstrap", "samples", "simplified"]
Guard: TypeAlias = Literal["percentile", "probabilistic", "none"]


@dataclass(frozen=True, kw_only=True)
class EnsembleWeights:
    """Settings of the weights.

    Losses, and what few observations weigh, are by default those of the authors' later code: they need means only, so
    that 1,000 sources cost milliseconds. Guard and ties are those of the first version, which asks for no budget: with
    twenty random sources (60 toy tasks, 20 trials) the mean regret was .003 +- .003 above the plain process's, where
    shared ties had .008 +- .004; with useful sources all were alike.
    """

    losses: Losses = "bootstrap"
    """ "bootstrap": mean predictions on resampled observations. "samples": joint posterior draws; the target's of all
    rows at once, without each observation in turn. "simplified" (first version of the paper): joint draws of the
    sources; of the target one draw per observation without it, compared with the other observations."""
    draws: int = 256
    """B"""
    guard: Guard = "percentile"
    """ "percentile": drops sources whose median loss exceeds the 95th percentile of the target's losses.
    "probabilistic": drops a source with the probability 1 - q (1 - n / horizon), q the share of draws in which it is
    strictly better than the target. "none": keeps all."""
    horizon: int = 50
    """How many trials the task will have, for "probabilistic"."""
    ties: Ties = "target"
    """Who wins a draw that several models win: all "shared" equally, or the "target" where it is one of them."""
    equal_below: int = 3
    """Below so many observations all models weigh the same; 0 in the first version of the paper."""

    def __post_init__(self) -> None:
        check_choice("EnsembleWeights", "losses", self.losses, get_args(Losses))
        check_choice("EnsembleWeights", "guard", self.guard, get_args(Guard))
        check_choice("EnsembleWeights", "ties", self.ties, get_args(Ties))
        check_count("EnsembleWeights", "draws", self.draws, 1)
        check_count("EnsembleWeights", "horizon", self.horizon, 1)
        check_count("EnsembleWeights", "equal_below", self.equal_below, 0)

    def from_means(self, means: Array, target: ConditionedGP, *, rng: Rng) -> Array:
        """Return weights [S + 1] by bootstrap losses.

        Args:
            means: [n, S] what the sources predict at the observed rows.
            target: The target's own process.
            rng: Resamples, and draws whom the guard drops.
        """
        n, sources = means.shape
        if self.are_equal(n):
            return np.ones(sources + 1) / (sources + 1)
        picks = rng.integers(n, size=(self.draws, n))
        return self._weigh(bootstrap_losses(means, target.leave_one_out()[0], target.y, picks), n, rng)

    def from_draws(self, sources: Processes, target: ConditionedGP, *, rng: Rng) -> Array:
        """Return weights [S + 1] by losses of posterior draws.

        Args:
            sources: The sources' processes, in the units in which ``target`` was fitted.
            target: The target's own process.
            rng: Draws functions, and whom the guard drops.
        """
        n = len(target.y)
        if self.are_equal(n):
            return np.ones(sources.tasks + 1) / (sources.tasks + 1)
        means, covariances = sources.joint(target.x)
        losses = np.empty((sources.tasks + 1, self.draws))
        for s in range(sources.tasks):
            scale = float(sources.variance[s] * sources.unit[s] ** 2)
            draws = means[:, s] + rng.standard_normal((self.draws, n)) @ factorise(covariances[s], scale).T
            losses[s] = drawn_losses(draws, target.y)
        if self.losses == "simplified":
            mean, variance = target.leave_one_out()
            draws = mean + np.sqrt(variance) * rng.standard_normal((self.draws, n))
            losses[-1] = left_out_losses(draws, target.y)
        else:
            losses[-1] = joint_left_out_losses(_left_out_draws(target, self.draws, rng), target.y)
        return self._weigh(losses, n, rng)

    def are_equal(self, n: int) -> bool:
        """Return whether all models weigh the same after ``n`` observations; without any, nothing else is known."""
        return n < max(self.equal_below, 1)

    def in_words(self, n: int) -> str:
        """Return what the weights go by."""
        if self.are_equal(n):
            return "nothing yet, so all alike"
        return f"how often they rank the {n} configurations observed best"

    def _weigh(self, losses: Array, n: int, rng: Rng) -> Array:
        return ranking_weights(losses, ties=self.ties, kept=self._kept(losses, n, rng))

    def _kept(self, losses: Array, n: int, rng: Rng) -> BoolArray | None:
        if self.guard == "percentile":
            return within_percentile(losses)
        if self.guard == "probabilistic":
            return rng.random(len(losses) - 1) < keeping_probability(losses, n, self.horizon)
        return None


def _left_out_draws(target: ConditionedGP, draws: int, rng: Rng) -> Array:
    """Return joint draws [n, B, n] at all observed rows, entry i of the process without observation i."""
    n = len(target.y)
    found = np.empty((n, draws, n))
    for i in range(n):
        others = np.arange(n) != i
        process = condition(target.x[others], target.y[others], target.hyperparameters, kind=target.kind)
        found[i] = process.sample(target.x, draws, rng)
    return found
