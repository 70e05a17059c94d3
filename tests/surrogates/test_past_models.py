"""Models of past tasks against what they are made of."""

import numpy as np
import pytest
from scipy.stats import rankdata

from headstart.data import TaskData
from headstart.surrogates.gaussian_process import GaussianProcess
from headstart.surrogates.past_models import PROCESS_ROWS, best_source, learn_past, scaled_response


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def a_task(n: int, seed: int = 0, noise: float = 0.0) -> TaskData:
    x = rng(seed).random((n, 3))
    return TaskData(x, 7 - 3 * ((x - 0.4) ** 2).sum(axis=1) + noise * rng(seed + 1).normal(size=n), name=str(seed))


TASKS = [a_task(40, 0), a_task(25, 5), a_task(300, 9)]
NEW = rng(3).random((50, 3))


def test_responses_are_scaled_by_bounds_or_extremes() -> None:
    y = np.array([2.0, 4.0, 3.0])
    np.testing.assert_allclose(scaled_response(TaskData(NEW[:3], y)), [0, 1, 0.5])
    np.testing.assert_allclose(scaled_response(TaskData(NEW[:3], y, bounds=(0, 8))), [0.25, 0.5, 0.375])


@pytest.mark.parametrize("source", ["forest", "both"])
def test_trees_return_what_was_observed(source: str) -> None:
    """Noise included: leaves hold single observations."""
    tasks = [a_task(60, 0, noise=1.0), a_task(30, 5, noise=1.0)]
    models = learn_past(tasks, source, trees=4, rng=rng(), progress=None)
    for s, task in enumerate(tasks):
        np.testing.assert_allclose(models.predict(task.x)[:, s], scaled_response(task), atol=1e-9)


def test_process_is_the_posterior_mean_of_the_plain_one() -> None:
    models = learn_past(TASKS[:2], "gp", trees=None, rng=rng(), progress=None)
    for s, task in enumerate(TASKS[:2]):
        posterior = GaussianProcess(restarts=0).fit(TaskData(task.x, scaled_response(task)), rng=rng())
        expected = np.clip(posterior.to_response(posterior.predict(NEW).mean), 0, 1)
        np.testing.assert_allclose(models.predict(NEW)[:, s], expected, atol=1e-9)


def test_long_tasks_give_their_best_and_a_sample_of_the_rest() -> None:
    models = learn_past(TASKS, "gp", trees=None, rng=rng(), progress=None)
    assert models.processes is not None
    assert list(np.diff(models.processes.starts)) == [40, 25, PROCESS_ROWS]
    used = models.processes.x[65:]
    ranks = rankdata(-TASKS[2].y)
    positions = [int(np.flatnonzero((TASKS[2].x == row).all(axis=1))[0]) for row in used]
    assert len(set(positions)) == PROCESS_ROWS
    assert set(range(1, 14)) <= {int(rank) for rank in ranks[positions]}
    assert ranks[positions].max() > 280


@pytest.mark.parametrize("source", ["gp", "both"])
def test_smooth_tasks_are_predicted_better_than_by_trees_alone(source: str) -> None:
    low, high = TASKS[2].y.min(), TASKS[2].y.max()
    truth = (7 - 3 * ((NEW - 0.4) ** 2).sum(axis=1) - low) / (high - low)

    def error(kind: str) -> float:
        models = learn_past(TASKS[2:], kind, trees=None, rng=rng(), progress=None)  # type: ignore[arg-type]
        return float(np.sqrt(((models.predict(NEW)[:, 0] - truth) ** 2).mean()))

    assert error(source) < 0.5 * error("forest")


@pytest.mark.parametrize("source", ["forest", "gp", "both"])
def test_predictions_stay_in_the_unit_interval(source: str) -> None:
    models = learn_past([a_task(20, 0, noise=3.0)], source, trees=4, rng=rng(), progress=None)
    predicted = models.predict(rng(8).random((500, 3)))
    assert predicted.min() >= 0
    assert predicted.max() <= 1


def test_default_number_of_trees() -> None:
    few = learn_past(TASKS[:1], "forest", trees=None, rng=rng(), progress=None)
    many = learn_past([a_task(3, seed) for seed in range(150)], "forest", trees=None, rng=rng(), progress=None)
    assert few.forest is not None
    assert many.forest is not None
    assert len(few.forest.roots) == 60
    assert len(many.forest.roots) == 150 * 40


def test_progress_is_reported() -> None:
    told: list[tuple[int, int, str]] = []

    def progress(done: int, total: int, message: str) -> None:
        told.append((done, total, message))

    learn_past(TASKS[:2], "both", trees=2, rng=rng(), progress=progress)
    assert [entry[:2] for entry in told] == [(1, 2), (2, 2)]
    assert "'0'" in told[0][2]


def test_source_follows_where_past_tasks_were_evaluated() -> None:
    pool = rng(4).random((80, 3))
    sharing = [TaskData(pool[rng(s).permutation(80)[:60]], np.arange(60.0)) for s in range(4)]
    assert best_source(sharing, pool) == "forest"
    assert best_source(sharing, pool + 1e-12) == "forest"
    sparse = [TaskData(pool[rng(s).permutation(80)[:20]], np.arange(20.0)) for s in range(4)]
    assert best_source(sparse, pool) == "gp"
    assert best_source(sharing, NEW) == "gp"
    assert best_source([a_task(300, seed) for seed in range(3)], NEW) == "forest"
