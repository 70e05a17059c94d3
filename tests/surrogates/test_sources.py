"""Source surrogates: scalings, rows, kernels, covariances and features, against what they are made of."""

import numpy as np
import pytest

from headstart.data import TaskData
from headstart.errors import DataError, SettingsError
from headstart.numerics.gaussian_process import Hyperparameters, Priors, condition
from headstart.surrogates.gaussian_process import WEAK_PRIORS, GaussianProcess
from headstart.surrogates.gaussian_process_se import adagrad
from headstart.surrogates.past_models import kept_rows
from headstart.surrogates.rgpe import MATERN
from headstart.surrogates.source_processes import Processes
from headstart.surrogates.sources import (
    LARGEST_TASK,
    ProcessRecipe,
    Sources,
    learn_sources,
)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def a_task(n: int, seed: int, bounds: tuple[float, float] | None = None) -> TaskData:
    x = rng(seed).random((n, 3))
    return TaskData(
        x, 7 - 3 * ((x - 0.4) ** 2).sum(axis=1) + 0.1 * rng(seed + 1).normal(size=n), None, bounds, f"t{seed}"
    )


TASKS = [a_task(30, 0), a_task(12, 10, (0.0, 10.0)), a_task(45, 20)]
NEW = rng(3).random((20, 3))


def learned(response: str = "minmax", **settings: object) -> Sources:
    settings = {"source": "gp", "recipe": ProcessRecipe(), "rng": rng(), **settings}
    return learn_sources(TASKS, response=response, **settings)  # type: ignore[arg-type]


def test_the_kernel_is_learned_as_in_the_authors_program() -> None:
    """AdaGrad from the reference start on responses between 0 and 1, which are not centred."""
    sources = learned()
    for s, (task, low, high) in enumerate([(TASKS[0], None, None), (TASKS[1], 0.0, 10.0), (TASKS[2], None, None)]):
        low, high = (task.y.min(), task.y.max()) if low is None or high is None else (low, high)
        z = (task.y - low) / (high - low)
        own = adagrad([(task.x, z)], Hyperparameters(np.full(3, 0.5), 1.0, 1e-6), epochs=100)
        expected = condition(task.x, z, own, kind="se").predict(NEW)
        np.testing.assert_allclose(sources.means(NEW)[:, s], expected[0], atol=1e-9)
        np.testing.assert_allclose(sources.features(NEW, deviations=True)[:, 3 + s], expected[1], atol=1e-7)


@pytest.mark.parametrize("keep_factors", [False, True])
def test_processes_are_plain_ones_side_by_side(keep_factors: bool) -> None:
    """RGPE's sources: the library's own process of standardised responses, one L-BFGS search each."""
    sources = learned("standardise", recipe=MATERN, keep_factors=keep_factors)
    processes = sources.known_processes
    assert (len(processes.factors) > 0) == keep_factors
    means, covariances = processes.joint(NEW)
    for s, task in enumerate(TASKS):
        posterior = GaussianProcess(restarts=0).fit(task, rng=rng())
        own = posterior.process
        whitened = np.linalg.solve(own.cholesky, posterior_kernel(posterior, own.x, NEW))
        expected = posterior_kernel(posterior, NEW, NEW) - whitened.T @ whitened
        np.testing.assert_allclose(means[:, s], posterior.predict(NEW).mean, atol=1e-9)
        np.testing.assert_allclose(covariances[s], expected, atol=1e-9)
        mean, variance, cross = processes.against(NEW, NEW[:4], s)
        np.testing.assert_allclose(mean, means[:, s], atol=1e-12)
        np.testing.assert_allclose(variance, np.diag(expected), atol=1e-9)
        np.testing.assert_allclose(cross, expected[:, :4], atol=1e-9)
    assert MATERN.priors == WEAK_PRIORS


def posterior_kernel(posterior: object, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    own = posterior.process.hyperparameters  # type: ignore[attr-defined]
    r = np.sqrt((((a[:, None] - b) / own.lengths) ** 2).sum(axis=2) * 5)
    return own.variance * (1 + r + r**2 / 3) * np.exp(-r)


def test_deviations_are_in_units_of_the_response() -> None:
    x = np.array([[0.2], [0.8]])
    arrays = {"x": x, "alpha": np.zeros(2), "starts": np.array([0, 2]), "lengths": np.ones((1, 1)) * 0.1}
    one = Processes(
        "se",
        **arrays,
        variance=np.ones(1),
        mean=np.zeros(1),
        noise=np.array([1e-9]),
        unit=np.array([3.0]),
        factors=np.empty(0),
    )
    far = np.array([[10.0]])
    assert one.moments(far)[1][0, 0] == pytest.approx(9.0)
    assert one.joint(far)[1][0, 0, 0] == pytest.approx(9.0)
    assert one.against(far, far, 0)[2][0, 0] == pytest.approx(9.0)


@pytest.mark.parametrize("response", ["minmax", "standardise", "copula"])
def test_forests_answer_in_the_same_units(response: str) -> None:
    """Trees with leaves of one observation return the scaled responses that they have seen."""
    forest = learned(response, source="forest", trees=3)
    process = learned(response, recipe=ProcessRecipe(learner="lbfgs", noise=(1e-8, 1e-8)))
    for s, task in enumerate(TASKS):
        np.testing.assert_allclose(forest.means(task.x)[:, s], process.means(task.x)[:, s], atol=1e-4)


def test_rows_of_large_tasks_are_a_sample_of_the_task_alone() -> None:
    large = a_task(400, 5)
    alone = learn_sources([large], source="gp", response="minmax", recipe=ProcessRecipe(), rng=rng())
    among = learn_sources([TASKS[0], large], source="gp", response="minmax", recipe=ProcessRecipe(), rng=rng(9))
    assert len(alone.known_processes.x) == LARGEST_TASK
    np.testing.assert_array_equal(among.known_processes.x[30:], alone.known_processes.x)
    np.testing.assert_array_equal(among.means(NEW)[:, 1], alone.means(NEW)[:, 0])


def test_best_rows_are_kept_on_request() -> None:
    z = rng(4).normal(size=1000)
    best = set(np.argsort(-z)[:10].tolist())
    assert best <= set(kept_rows(z, 100, "best", rng()).tolist())
    uniform = kept_rows(z, 100, "uniform", rng())
    assert len(set(uniform.tolist())) == 100
    assert not best <= set(uniform.tolist())
    assert kept_rows(z[:50], 100, "best", rng()).tolist() == list(range(50))


def test_features_of_other_shapes_are_refused() -> None:
    sources = learned()
    with pytest.raises(DataError, match=r"features must have the shape \(20, 3\), got \(20, 2\)"):
        sources.features_or(np.ones((20, 2)), NEW, "TSTR")
    with pytest.raises(DataError, match="rows of 3 columns"):
        sources.means(NEW[:, :2])
    with pytest.raises(SettingsError, match="a forest has no deviations"):
        learned(source="forest", trees=2).features(NEW, deviations=True)


def test_settings_of_processes_are_checked() -> None:
    for settings, message in (
        ({"learner": "sgd"}, "learner must be one of"),
        ({"kernel": "rbf"}, "kernel must be one of"),
        ({"mean": "constant"}, "'adagrad' knows"),
        ({"priors": Priors()}, "'adagrad' knows"),
        ({"start_length": 0.0}, "start_length must be a positive number"),
        ({"noise": (1.0, 0.1)}, "noise must be in order"),
    ):
        with pytest.raises(SettingsError, match=message):
            ProcessRecipe(**settings)  # type: ignore[arg-type]
