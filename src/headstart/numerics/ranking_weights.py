r"""Weights of an ensemble by how often each model ranks the observations best (RGPE).

Notation: S source models and, last, the target's own; B draws; y [n] observed; P pairs of observations. A loss is a
number of misranked ordered pairs; the weight of a model is the share of draws in which its loss is smallest. The
target's model has seen the observations, so it is judged by predictions that left them out, compared with what was
observed at the others; a point is no pair with itself. All draws are arguments: nothing here is random.
"""

from typing import Literal, TypeAlias

import numpy as np

from headstart.arrays import Array, BoolArray, IntArray
from headstart.numerics.ranking_agreement import misranked_left_out, misranked_pairs, pairs

Ties: TypeAlias = Literal["shared", "target"]

GUARD_PERCENTILE = 95.0


def bootstrap_losses(source_means: Array, left_out: Array, y: Array, picks: IntArray) -> Array:
    """Return losses [S + 1, B] on observations drawn with replacement.

    Args:
        source_means: [n, S] what the sources predict.
        left_out: [n] what the target's model predicts of each observation without having seen it.
        y: [n]
        picks: [B, n] which observations are in each draw.
    """
    wrong = np.concatenate([misranked_pairs(source_means, y), misranked_left_out(left_out[:, None], y)], axis=1)
    counts = np.zeros((len(picks), len(y)), dtype=np.float32)
    np.add.at(counts, (np.arange(len(picks))[:, None], picks), 1.0)
    i, j = pairs(len(y))
    # whole numbers below 2^24, which single precision holds exactly
    return (wrong.T @ (counts[:, i] * counts[:, j]).T).astype(np.float64)


def drawn_losses(draws: Array, y: Array) -> Array:
    """Return losses [B] of joint draws [B, n] of one source's function at the observed rows."""
    return misranked_pairs(draws.T, y).sum(axis=0, dtype=np.float64)


def left_out_losses(draws: Array, y: Array) -> Array:
    """Return losses [B] of the target: ``draws`` [B, n] of each observation given the others, compared with these."""
    return misranked_left_out(draws.T, y).sum(axis=0, dtype=np.float64)


def joint_left_out_losses(draws: Array, y: Array) -> Array:
    """Return losses [B] of the target: ``draws`` [n, B, n] of all rows at once, entry i without observation i.

    The ordered pair (i, j) compares what the process without i drew at i with what it drew at j.
    """
    i, j = pairs(len(y))
    y_i, y_j = y[i][:, None], y[j][:, None]
    first = (y_i < y_j) ^ (draws[i, :, i] < draws[i, :, j])
    second = (y_j < y_i) ^ (draws[j, :, j] < draws[j, :, i])
    return (first.astype(np.float64) + second).sum(axis=0)


def ranking_weights(losses: Array, *, ties: Ties, kept: BoolArray | None = None) -> Array:
    """Return weights [S + 1], which sum to 1.

    Args:
        losses: [S + 1, B], the target's last.
        ties: "shared": equally among all models at the minimum. "target": to the target where it is among them, else
            equally.
        kept: [S] sources that a guard did not drop; all when None.
    """
    if kept is not None:
        losses = np.where(np.append(kept, True)[:, None], losses, np.inf)
    is_best = losses == losses.min(axis=0)
    if ties == "target":
        is_best[:-1] &= ~is_best[-1]
    return (is_best / is_best.sum(axis=0)).mean(axis=1)


def within_percentile(losses: Array, percentile: float = GUARD_PERCENTILE) -> BoolArray:
    """Return which sources [S] have a median loss of at most the ``percentile`` of the target's losses."""
    return np.median(losses[:-1], axis=1) <= np.percentile(losses[-1], percentile)


def keeping_probability(losses: Array, t: int, horizon: int) -> Array:
    """Return [S]: (1 - t / horizon) times the share of draws in which a source's loss is below the target's."""
    better = (losses[:-1] < losses[-1]).mean(axis=1)
    return better * max(0.0, 1.0 - t / horizon)
