"""RGPE's losses, guards and weights against loops that follow the definitions word by word."""

import numpy as np
import pytest

from headstart.arrays import Array, IntArray
from headstart.numerics.ranking_weights import (
    bootstrap_losses,
    drawn_losses,
    joint_left_out_losses,
    keeping_probability,
    left_out_losses,
    ranking_weights,
    within_percentile,
)


def literal_bootstrap(source_means: Array, left_out: Array, y: Array, picks: IntArray) -> Array:
    """For every draw, all ordered pairs of what was drawn; a point is no pair with itself."""
    sources = source_means.shape[1]
    losses = np.zeros((sources + 1, len(picks)))
    for b, drawn in enumerate(picks):
        for j in drawn:
            for k in drawn:
                if j == k:
                    continue
                for i in range(sources):
                    losses[i, b] += (source_means[j, i] < source_means[k, i]) != (y[j] < y[k])
                losses[sources, b] += (left_out[j] < y[k]) != (y[j] < y[k])
    return losses


def literal_weights(losses: Array, ties: str, kept: Array | None) -> Array:
    models, draws = losses.shape
    weights = np.zeros(models)
    for b in range(draws):
        values = [losses[i, b] if kept is None or i == models - 1 or kept[i] else np.inf for i in range(models)]
        best = [i for i in range(models) if values[i] == min(values)]
        if ties == "target" and models - 1 in best:
            best = [models - 1]
        for i in best:
            weights[i] += 1 / len(best) / draws
    return weights


def problem(seed: int) -> tuple[Array, Array, Array, IntArray]:
    """Sources of very different quality, with ties in responses and predictions."""
    rng = np.random.default_rng(seed)
    n, sources = int(rng.integers(2, 9)), int(rng.integers(1, 6))
    y = rng.integers(6, size=n).astype(float)
    means = np.round(y[:, None] + rng.normal(size=(n, sources)) * rng.uniform(0, 4, sources))
    left_out = np.round(y + rng.normal(size=n))
    return means, left_out, y, rng.integers(n, size=(12, n))


@pytest.mark.parametrize("ties", ["shared", "target"])
@pytest.mark.parametrize("guard", ["none", "percentile", "probabilistic"])
def test_weights_against_a_literal_implementation(ties: str, guard: str) -> None:
    dropped_some = False
    for seed in range(50):
        means, left_out, y, picks = problem(seed)
        expected_losses = literal_bootstrap(means, left_out, y, picks)
        losses = bootstrap_losses(means, left_out, y, picks)
        np.testing.assert_array_equal(losses, expected_losses)
        sources, kept = means.shape[1], None
        if guard == "percentile":
            limit = np.percentile(expected_losses[-1], 95)
            kept = np.array([np.median(expected_losses[i]) <= limit for i in range(sources)])
            np.testing.assert_array_equal(within_percentile(losses), kept)
        elif guard == "probabilistic":
            drawn = np.random.default_rng(seed).random(sources)
            t, horizon = len(y), 20
            better = [np.mean([a < b for a, b in zip(row, losses[-1], strict=True)]) for row in expected_losses[:-1]]
            kept = np.array([u < q * (1 - t / horizon) for u, q in zip(drawn, better, strict=True)])
            np.testing.assert_array_equal(drawn < keeping_probability(losses, t, horizon), kept)
        dropped_some |= kept is not None and not kept.all()
        weights = ranking_weights(losses, ties=ties, kept=kept)  # type: ignore[arg-type]
        np.testing.assert_allclose(weights, literal_weights(expected_losses, ties, kept), atol=1e-12)
        assert weights.sum() == pytest.approx(1.0)
    assert dropped_some == (guard != "none")


def test_losses_of_draws_against_loops() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n, draws = int(rng.integers(2, 7)), 5
        y, sampled = rng.integers(4, size=n).astype(float), rng.normal(size=(draws, n))
        joint = rng.normal(size=(n, draws, n))
        drawn, left_out, together = np.zeros(draws), np.zeros(draws), np.zeros(draws)
        for b in range(draws):
            for j in range(n):
                for k in range(n):
                    if j != k:
                        truth = y[j] < y[k]
                        drawn[b] += (sampled[b, j] < sampled[b, k]) != truth
                        left_out[b] += (sampled[b, j] < y[k]) != truth
                        together[b] += (joint[j, b, j] < joint[j, b, k]) != truth
        np.testing.assert_array_equal(drawn_losses(sampled, y), drawn)
        np.testing.assert_array_equal(left_out_losses(sampled, y), left_out)
        np.testing.assert_array_equal(joint_left_out_losses(joint, y), together)


def test_ties_by_hand() -> None:
    """Draws: all tie; source 0 and the target tie; source 1 alone wins; sources tie."""
    losses = np.array([[1.0, 1, 3, 1], [1, 2, 0, 1], [1, 1, 3, 2]])
    np.testing.assert_allclose(
        ranking_weights(losses, ties="shared"), [(1 / 3 + 1 / 2 + 1 / 2) / 4, (1 / 3 + 1.5) / 4, (1 / 3 + 1 / 2) / 4]
    )
    np.testing.assert_allclose(ranking_weights(losses, ties="target"), [0.5 / 4, 1.5 / 4, 2 / 4])


def test_the_target_is_never_dropped() -> None:
    losses = np.array([[0.0, 0, 0], [9, 9, 9]])
    assert ranking_weights(losses, ties="shared", kept=np.array([False])).tolist() == [0.0, 1.0]


def test_keeping_probability_falls_to_nothing_at_the_horizon() -> None:
    losses = np.array([[0.0, 5, 0, 5], [3, 3, 3, 3]])
    assert keeping_probability(losses, 5, 20)[0] == pytest.approx(0.5 * 0.75)
    assert keeping_probability(losses, 20, 20)[0] == 0.0
    assert keeping_probability(losses, 25, 20)[0] == 0.0
