"""The independent Gaussian process of the transfer literature, and what it learns from past tasks."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.stats import multivariate_normal

from headstart.arrays import Array
from headstart.data import Budget, MetaDataset, TaskData
from headstart.errors import DataError, SettingsError
from headstart.numerics.gaussian_process import Hyperparameters
from headstart.surrogates import GaussianProcessSE
from headstart.surrogates.gaussian_process_se import adagrad, reference_start, rows_per_task


def past(tasks: int = 4, n: int = 20, d: int = 2) -> MetaDataset:
    found: list[TaskData] = []
    for t in range(tasks):
        rng = np.random.default_rng([t, n, d])
        x = rng.random((n, d))
        y = 10.0 * t + (t + 1) * np.sin(4 * x[:, 0] + t) + 0.05 * rng.normal(size=n)
        found.append(TaskData(x, y, name=f"t{t}"))
    return MetaDataset(tuple(found))


def summed_likelihood(theta: Array, meta: MetaDataset) -> float:
    """Return minus the summed log likelihood of standardised tasks, written with SciPy's dense normal density."""
    natural = np.exp(theta)
    total = 0.0
    for task in meta.tasks:
        z = (task.y - task.y.mean()) / task.y.std()
        squared = cdist(task.x / natural[:-2], task.x / natural[:-2], "sqeuclidean")
        covariance = natural[-2] * np.exp(-squared / 2) + natural[-1] * np.eye(len(z))
        total -= float(multivariate_normal.logpdf(z, np.zeros(len(z)), covariance))
    return total


def theta_of(own: Hyperparameters | None) -> Array:
    assert own is not None
    return np.log([*own.lengths, own.variance, own.noise])


def test_pretrain_maximises_the_summed_likelihood() -> None:
    meta = past()
    pretrained = GaussianProcessSE(restarts=3).pretrain(meta, rng=np.random.default_rng(0))
    found = theta_of(pretrained.hyperparameters)
    bounds = [(np.log(0.01), np.log(100.0))] * 2 + [(np.log(1e-4), np.log(1e4)), (np.log(1e-4), np.log(10.0))]
    rng = np.random.default_rng(1)
    starts = [np.log([0.5, 0.5, 1.0, 0.1]) + rng.uniform(-1.5, 1.5, 4) for _ in range(6)]
    # the gradient is SciPy's own, by differences
    searches = [minimize(summed_likelihood, start, args=(meta,), method="L-BFGS-B", bounds=bounds) for start in starts]
    best = min(searches, key=lambda search: search.fun)
    assert summed_likelihood(found, meta) <= best.fun + 1e-3
    # the second column has no influence, so its length-scale is long; how long is nearly free
    np.testing.assert_allclose(found[[0, 2, 3]], best.x[[0, 2, 3]], atol=0.02)
    assert found[1] > np.log(5.0)


def test_fit_keeps_the_pretrained_hyperparameters_unless_told_to_refit() -> None:
    target = past(1, 15).tasks[0]
    pretrained = GaussianProcessSE().pretrain(past(), rng=np.random.default_rng(0))
    kept = pretrained.fit(target, rng=np.random.default_rng(0)).process.hyperparameters
    np.testing.assert_array_equal(theta_of(kept), theta_of(pretrained.hyperparameters))
    refitted = GaussianProcessSE(refit=True).pretrain(past(), rng=np.random.default_rng(0))
    own = refitted.fit(target, rng=np.random.default_rng(0)).process.hyperparameters
    single = MetaDataset((target,))
    assert summed_likelihood(theta_of(own), single) < summed_likelihood(theta_of(kept), single) - 0.1
    alone = GaussianProcessSE().fit(target, rng=np.random.default_rng(0)).process.hyperparameters
    assert summed_likelihood(theta_of(alone), single) <= summed_likelihood(theta_of(own), single) + 1e-3


def test_posterior_is_that_of_centred_responses() -> None:
    target = past(1, 12).tasks[0]
    own = Hyperparameters(np.array([0.3, 2.0]), 1.5, 0.01)
    posterior = GaussianProcessSE(hyperparameters=own, response="none").fit(target, rng=np.random.default_rng(0))
    at = np.random.default_rng(5).random((9, 2))

    def kernel(a: Array, b: Array) -> Array:
        return 1.5 * np.exp(-cdist(a / own.lengths, b / own.lengths, "sqeuclidean") / 2)

    inverse = np.linalg.inv(kernel(target.x, target.x) + 0.01 * np.eye(12))
    cross = kernel(at, target.x)
    mean = target.y.mean() + cross @ inverse @ (target.y - target.y.mean())
    found = posterior.predict(at)
    np.testing.assert_allclose(found.mean, mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.std**2, 1.5 - np.einsum("kn,nm,km->k", cross, inverse, cross), rtol=0, atol=1e-9)


def test_tasks_without_information_are_left_out() -> None:
    meta = past()
    useless = (
        TaskData(np.empty((0, 2)), np.empty(0)),
        TaskData(np.zeros((1, 2)), np.ones(1)),
        TaskData(np.random.default_rng(0).random((9, 2)), np.full(9, 4.0)),
    )
    one = GaussianProcessSE().pretrain(meta, rng=np.random.default_rng(0))
    other = GaussianProcessSE().pretrain(MetaDataset((*useless, *meta.tasks)), rng=np.random.default_rng(0))
    np.testing.assert_array_equal(theta_of(one.hyperparameters), theta_of(other.hyperparameters))
    with pytest.raises(DataError, match="none of the 3 past tasks has two different responses"):
        GaussianProcessSE().pretrain(MetaDataset(useless), rng=np.random.default_rng(0))


def test_budget_and_progress() -> None:
    reports: list[tuple[int, int, str]] = []
    recipe = GaussianProcessSE(restarts=2)
    full = recipe.pretrain(
        past(),
        rng=np.random.default_rng(0),
        progress=lambda done, total, message: reports.append((done, total, message)),
    )
    assert [done for done, _, _ in reports] == list(range(1, len(reports) + 1))
    assert {total for _, total, _ in reports} == {300}
    short = recipe.pretrain(past(), rng=np.random.default_rng(0), budget=Budget(max_steps=2))
    timed = recipe.pretrain(past(), rng=np.random.default_rng(0), budget=Budget(max_seconds=0.0))
    values = [summed_likelihood(theta_of(each.hyperparameters), past()) for each in (full, short, timed)]
    assert values[0] < values[1] <= values[2]


def test_adagrad_follows_the_reference_recipe() -> None:
    """Steps of 0.1, accumulators from 1e-3, raw parameters free: computed here with gradients by differences."""
    meta = past(2, 8)
    tasks = [(task.x, (task.y - task.y.mean()) / task.y.std()) for task in meta.tasks]

    def likelihood(raw: Array) -> float:
        return -summed_likelihood(np.log([abs(raw[0]), abs(raw[1]), raw[2] ** 2, raw[3] ** 2]), meta)

    raw, accumulator = np.array([1.0, 1.0, 1.0, 0.3]), np.full(4, 1e-3)
    for _ in range(6):
        steps = 1e-6 * np.eye(4)
        slope = np.array([(likelihood(raw + h) - likelihood(raw - h)) / 2e-6 for h in steps])
        accumulator += slope**2
        raw = raw + 0.1 * slope / np.sqrt(accumulator)
    found = adagrad(tasks, Hyperparameters(np.ones(2), 1.0, 0.09), epochs=6)
    np.testing.assert_allclose([*found.lengths, found.variance, found.noise], np.abs(raw) ** [1, 1, 2, 2], rtol=1e-4)


def test_adagrad_recipe_improves_on_its_start() -> None:
    meta = past()
    recipe = GaussianProcessSE(optimiser="adagrad").pretrain(meta, rng=np.random.default_rng(0))
    found = summed_likelihood(theta_of(recipe.hyperparameters), meta)
    assert found < summed_likelihood(np.log([1.0, 1.0, 1.0, 1e-4]), meta)
    assert theta_of(reference_start(2)) == pytest.approx(np.log([1.0, 1.0, 1.0, 1e-6]))


def test_many_tasks_mean_fewer_rows_of_each() -> None:
    assert [rows_per_task(t) for t in (1, 60, 480)] == [256, 256, 128]
    large = past(1, 400).tasks[0]
    recipe = GaussianProcessSE(restarts=0).pretrain(MetaDataset((large,)), rng=np.random.default_rng(0))
    assert recipe.hyperparameters is not None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"optimiser": "adam"}, "optimiser must be 'lbfgs' or 'adagrad', got 'adam'"),
        ({"epochs": 0}, "epochs must be a whole number of at least 1"),
        ({"restarts": -1}, "restarts must be"),
        ({"noise_floor": -1.0}, "noise_floor must be a positive number"),
        ({"hyperparameters": Hyperparameters(np.array([1.0, 0.0]), 1.0, 1.0)}, r"hyperparameters\.lengths must be"),
        ({"hyperparameters": Hyperparameters(np.ones(2), np.nan, 1.0)}, r"hyperparameters\.variance must be"),
        ({"hyperparameters": Hyperparameters(np.ones(2), 1.0, 0.0)}, r"hyperparameters\.noise must be"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match="GaussianProcessSE: " + message):
        GaussianProcessSE(**settings)


def test_another_space_than_the_past_is_refused() -> None:
    recipe = GaussianProcessSE(restarts=0).pretrain(past(), rng=np.random.default_rng(0))
    with pytest.raises(DataError, match="x has 3 columns, was pre-trained on 2"):
        recipe.fit(TaskData(np.zeros((1, 3)), np.zeros(1)), rng=np.random.default_rng(0))
