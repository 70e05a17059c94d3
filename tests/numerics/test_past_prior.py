"""The prior that past tasks make, against a textbook Gaussian process written out entry by entry."""

import math

import numpy as np
import pytest
from scipy import integrate
from scipy.stats import multivariate_normal, norm

from headstart.errors import NumericalError
from headstart.numerics import past_prior as pp
from textbook_past import COLUMNS, PAST_TASKS, ROWS, a_past, scales_of, written_out

CLOSE = {"rtol": 1e-8, "atol": 1e-8}
PLACES = [0, 7, 51, 98, pp.PRIOR_MODE, 160, 224]


def test_grid_has_all_combinations() -> None:
    assert pp.GRID_SIZE == 225
    x, g = a_past()
    models = pp.condition_models(pp.past_prior(g), pp.observe(pp.past_prior(g), x, g), range(225), np.zeros((1, ROWS)))
    assert [model.scales for model in models] == [pytest.approx(scales_of(place)) for place in range(225)]
    assert scales_of(pp.PRIOR_MODE) == (1, 1, 1, 1)


def test_log_prior() -> None:
    for place in range(225):
        k_a, k_b, _, scale = scales_of(place)
        expected = -0.5 * (math.log(k_a) ** 2 + math.log(k_b) ** 2 + 4 * math.log(scale) ** 2) / math.log(9) ** 2
        assert pp.grid_log_prior()[place] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("place", PLACES)
def test_covariance_and_mean(place: int) -> None:
    x, g = a_past()
    reference = a_past(seed=9, rows=40)[1]
    prior = pp.past_prior(reference)
    observed = pp.observe(prior, x, g)
    mean, covariance, noise = written_out(x, g, reference, scales_of(place))
    np.testing.assert_allclose(observed.mean, mean, **CLOSE)
    found = pp.covariances(prior, observed, np.array([place]))[0]
    np.testing.assert_allclose(found, covariance + noise * np.eye(ROWS), **CLOSE)


@pytest.mark.parametrize("n", [1, 2, 14])
def test_evidence(n: int) -> None:
    x, g = a_past()
    x, g = x[:n], g[:n]
    reference = a_past(seed=9, rows=40)[1]
    prior = pp.past_prior(reference)
    residuals = np.random.default_rng(1).normal(size=(4, n))
    found = pp.log_evidence(prior, pp.observe(prior, x, g), np.array(PLACES), residuals)
    for row, place in enumerate(PLACES):
        _, covariance, noise = written_out(x, g, reference, scales_of(place))
        density = multivariate_normal(np.zeros(n), covariance + noise * np.eye(n))
        np.testing.assert_allclose(found[row], [density.logpdf(r) for r in residuals], **CLOSE)


def test_evidence_does_not_depend_on_how_models_are_batched(monkeypatch: pytest.MonkeyPatch) -> None:
    x, g = a_past()
    prior = pp.past_prior(g)
    observed = pp.observe(prior, x, g)
    residuals = np.random.default_rng(1).normal(size=(2, ROWS))
    whole = pp.log_evidence(prior, observed, np.arange(225), residuals)
    monkeypatch.setattr(pp, "_BATCH", 3000)
    np.testing.assert_allclose(pp.log_evidence(prior, observed, np.arange(225), residuals), whole, rtol=1e-12)


@pytest.mark.parametrize("place", PLACES)
def test_posterior(place: int) -> None:
    x, g = a_past()
    reference = a_past(seed=9, rows=40)[1]
    seen, new = slice(0, 8), slice(8, ROWS)
    prior = pp.past_prior(reference)
    observed = pp.observe(prior, x[seen], g[seen])
    z = np.random.default_rng(2).normal(size=(3, 8))
    (model,) = pp.condition_models(prior, observed, [place], z - observed.mean)
    ((means, std),) = pp.predict_models([model], [np.array([2, 0])], x[new], g[new])
    mean, covariance, noise = written_out(x, g, reference, scales_of(place))
    kernel = covariance[seen, seen] + noise * np.eye(8)
    for row, hypothesis in enumerate((2, 0)):
        weights = np.linalg.solve(kernel, z[hypothesis] - mean[seen])
        np.testing.assert_allclose(means[row], mean[new] + covariance[new, seen] @ weights, **CLOSE)
    left = covariance[new, new] - covariance[new, seen] @ np.linalg.solve(kernel, covariance[seen, new])
    np.testing.assert_allclose(std**2, np.diag(left), **CLOSE)
    assert model.noise_variance == pytest.approx(noise, rel=1e-12)


def test_models_predicted_together_are_predicted_alone() -> None:
    x, g = a_past()
    prior = pp.past_prior(g)
    observed = pp.observe(prior, x, g)
    models = pp.condition_models(prior, observed, PLACES, np.random.default_rng(3).normal(size=(1, ROWS)))
    zero = np.array([0])
    new_x, new_g = a_past(seed=5, rows=7)
    together = pp.predict_models(models, [zero] * len(models), new_x, new_g)
    for model, (means, std) in zip(models, together, strict=True):
        ((alone, std_alone),) = pp.predict_models([model], [zero], new_x, new_g)
        np.testing.assert_allclose(means, alone, rtol=1e-12)
        np.testing.assert_allclose(std, std_alone, rtol=1e-12)


@pytest.mark.parametrize("place", PLACES)
def test_leave_one_out_really_leaves_points_out(place: int) -> None:
    x, g = a_past()
    reference = a_past(seed=9, rows=40)[1]
    prior = pp.past_prior(reference)
    observed = pp.observe(prior, x, g)
    z = np.random.default_rng(2).normal(size=(2, ROWS))
    (model,) = pp.condition_models(prior, observed, [place], z - observed.mean)
    mean, covariance, noise = written_out(x, g, reference, scales_of(place))
    for hypothesis in (0, 1):
        found_mean, found_variance = model.leave_one_out(z[hypothesis], hypothesis)
        for i in range(ROWS):
            others = np.arange(ROWS) != i
            kernel = covariance[np.ix_(others, others)] + noise * np.eye(ROWS - 1)
            weights = np.linalg.solve(kernel, covariance[others, i])
            expected = mean[i] + weights @ (z[hypothesis, others] - mean[others])
            assert found_mean[i] == pytest.approx(expected, abs=1e-8)
            variance = covariance[i, i] + noise - weights @ covariance[others, i]
            assert found_variance[i] == pytest.approx(variance, rel=1e-8)


def test_task_weights_make_the_posterior_mean_of_the_past() -> None:
    """Without residual and level the posterior mean is a weighted sum of what past tasks predict."""
    x, g = a_past()
    prior = pp.past_prior(g)
    observed = pp.observe(prior, x, g)
    z = np.random.default_rng(2).normal(size=(1, ROWS))
    (model,) = pp.condition_models(prior, observed, [pp.PRIOR_MODE], z - observed.mean)
    new_x, new_g = a_past(seed=5, rows=7)
    weights = model.task_weights(0)
    ((means, _),) = pp.predict_models([model], [np.array([0])], new_x, new_g)
    _, factors = prior.split(new_g)
    of_past = factors @ observed.factors.T
    squared = ((new_x[:, None] - x[None]) ** 2).sum(axis=2) / 0.7**2
    matern = (1 + np.sqrt(5 * squared) + 5 / 3 * squared) * np.exp(-np.sqrt(5 * squared))
    similarity = 0.1 + 0.9 * of_past / prior.diagonal
    rest = (0.3 * prior.spread * similarity * matern + 0.1 * prior.spread) @ model.alpha[0]
    np.testing.assert_allclose(-np.log(1.2 - new_g) @ weights, means[0] - rest, **CLOSE)
    assert weights.sum() == pytest.approx(1.0)


# ---- ranges ----


def test_twenty_hypotheses_about_the_range() -> None:
    y = np.array([3.0, 7.0, 5.0])
    ranges = pp.range_hypotheses(y)
    expected = {(7 + u * 4, 3 - below * 4) for u in (0, 0.03, 0.1, 0.25, 0.6) for below in (0, 0.25, 1, 3)}
    assert {(round(t, 9), round(b, 9)) for t, b in zip(ranges.top, ranges.bottom, strict=True)} == {
        (round(t, 9), round(b, 9)) for t, b in expected
    }
    np.testing.assert_allclose(ranges.log_prior, -math.log(20))
    scaled = ranges.scaled(y)
    assert scaled.min() >= 0
    assert scaled.max() <= 1


def test_constant_history_has_unit_range() -> None:
    ranges = pp.range_hypotheses(np.array([2.0, 2.0]))
    assert len(ranges.top) == 19  # both margins 0 leave no range
    assert (ranges.width > 0).all()
    assert ranges.top.max() == pytest.approx(2.6)
    assert ranges.bottom.min() == pytest.approx(-1.0)


@pytest.mark.parametrize("y", [[1e300, -1e300], [1e16, 1e16 + 4], [-5e-324, 0.0], [1e30, 0.0, 1.0], [0.0]])
def test_ranges_survive_extreme_responses(y: list[float]) -> None:
    ranges = pp.range_hypotheses(np.array(y))
    assert (ranges.width > 0).all()
    assert np.isfinite(pp.warp(ranges.scaled(np.array(y)))).all()
    assert np.isfinite(ranges.log_slope(np.array(y))).all()


def test_log_slope_is_the_derivative_of_the_whole_map() -> None:
    y, step = np.array([0.2, 0.5, 0.9]), 1e-6
    ranges = pp.range_hypotheses(np.array([0.0, 1.0]))
    above, below = (pp.warp(ranges.scaled(y + s)) for s in (step, -step))
    np.testing.assert_allclose(np.exp(ranges.log_slope(y)), (above - below) / (2 * step), rtol=1e-6)


def test_weights_are_prior_times_density_of_the_responses() -> None:
    """The density of y by change of variables: p(z(y)) |dz / dy|, which integrates to 1 over y."""
    x, g = a_past()
    reference = a_past(seed=9, rows=40)[1]
    prior = pp.past_prior(reference)
    observed = pp.observe(prior, x, g)
    y = 10.0 + 3.0 * np.random.default_rng(4).random(ROWS)
    ranges = pp.range_hypotheses(y)
    weights = pp.weigh(prior, observed, y, ranges)
    np.testing.assert_array_equal(weights.models, np.arange(225))
    for place in PLACES:
        mean, covariance, noise = written_out(x, g, reference, scales_of(place))
        normal = multivariate_normal(mean, covariance + noise * np.eye(ROWS))
        for h in (0, 6, 19):
            width = ranges.top[h] - ranges.bottom[h]
            f = (y - ranges.bottom[h]) / width
            slope = 1 / ((1.2 - f) * width)
            expected = normal.logpdf(-np.log(1.2 - f)) + np.log(slope).sum() - math.log(20)
            expected += pp.grid_log_prior()[place]
            assert weights.log_weights[place, h] == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("known", [True, False])
def test_beyond_the_limit_the_best_models_of_the_first_observations_go_on(
    known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, g = a_past(rows=30)
    prior = pp.past_prior(g)
    y = np.random.default_rng(4).random(30)
    ranges = pp.known_range((0.0, 1.0)) if known else pp.range_hypotheses(y)
    every = pp.weigh(prior, pp.observe(prior, x, g), y, ranges)
    early = pp.weigh(prior, pp.observe(prior, x[:25], g[:25]), y[:25], ranges)
    monkeypatch.setattr(pp, "FULL_GRID_LIMIT", 25)
    fewer = pp.weigh(prior, pp.observe(prior, x, g), y, ranges)
    best = np.argsort(-early.log_weights.max(axis=1), kind="stable")[:20]
    assert set(fewer.models) == set(best)
    np.testing.assert_allclose(fewer.log_weights, every.log_weights[fewer.models], rtol=1e-10)


# ---- warp ----


def test_unwarped_moments_against_integrals() -> None:
    for mean, std in ((0.3, 0.2), (-0.1, 0.6), (1.5, 0.05)):
        density = norm(mean, std).pdf

        def value(z: float) -> float:
            return 1.2 - math.exp(-z)  # the inverse of the warp

        ends = (mean - 10 * std, mean + 10 * std)
        first = integrate.quad(lambda z, p=density: value(z) * p(z), *ends)[0]
        second = integrate.quad(lambda z, p=density, m=first: (value(z) - m) ** 2 * p(z), *ends)[0]
        centre, spread = pp.unwarped_moments(np.array([mean]), np.array([std]))
        assert centre[0] == pytest.approx(first, rel=1e-8)
        assert spread[0] == pytest.approx(math.sqrt(second), rel=1e-6)


def test_warp_and_its_slope() -> None:
    f = np.array([0.0, 0.5, 0.99, 1.0, 1.3])
    np.testing.assert_allclose(pp.warp(f), [-math.log(1.2), -math.log(0.7), -math.log(0.21), *2 * [-math.log(0.2)]])
    np.testing.assert_allclose(pp.warp_slope(f), [1 / 1.2, 1 / 0.7, 1 / 0.21, 5, 5])


# ---- pasts with nothing to tell ----


@pytest.mark.parametrize("copies", [1, 4])
def test_past_tasks_that_do_not_differ_leave_a_plain_residual(copies: int) -> None:
    """C is 0, so v is a tenth of the variance of the mean, and the residual is the same everywhere."""
    x, g = a_past(past_tasks=1)
    g = np.repeat(g, copies, axis=1)
    z = -np.log(1.2 - g[:, 0])
    prior = pp.past_prior(g)
    assert prior.spread == pytest.approx(max(0.1 * z.var(), 1e-3))
    observed = pp.observe(prior, x, g)
    np.testing.assert_allclose(observed.past, 0.0, atol=1e-30)
    squared = ((x[:, None] - x[None]) ** 2).sum(axis=2) / 0.49
    matern = (1 + np.sqrt(5 * squared) + 5 / 3 * squared) * np.exp(-np.sqrt(5 * squared))
    np.testing.assert_allclose(observed.residual[1], 0.3 * prior.spread * matern, atol=1e-12)


def test_constant_predictions_keep_a_smallest_spread() -> None:
    assert pp.past_prior(np.full((10, 3), 0.5)).spread == 1e-3


def test_no_observations() -> None:
    x, g = a_past()
    prior = pp.past_prior(g)
    observed = pp.observe(prior, np.empty((0, COLUMNS)), np.empty((0, PAST_TASKS)))
    (model,) = pp.condition_models(prior, observed, [pp.PRIOR_MODE], np.empty((1, 0)))
    ((means, std),) = pp.predict_models([model], [np.array([0])], x, g)
    mean, covariance, _ = written_out(x, g, g, (1, 1, 1, 1))
    np.testing.assert_allclose(means[0], mean, **CLOSE)
    np.testing.assert_allclose(std**2, np.diag(covariance), **CLOSE)


def test_repeated_rows_can_be_factorised() -> None:
    x, g = a_past(rows=2)
    prior = pp.past_prior(a_past(rows=40)[1])
    observed = pp.observe(prior, np.repeat(x, 60, axis=0), np.repeat(g, 60, axis=0))
    y = np.random.default_rng(0).random(120)
    assert np.isfinite(pp.weigh(prior, observed, y, pp.known_range((0.0, 1.0))).log_weights).all()


def test_a_covariance_that_is_not_one_says_so() -> None:
    x, g = a_past()
    prior = pp.PastPrior(spread=-1.0, diagonal=1.0)
    with pytest.raises(NumericalError, match="covariance of 14 observations"):
        pp.condition_models(prior, pp.observe(prior, x, g), [0], np.zeros((1, ROWS)))
