"""DKLM, table 1: densities against a direct computation, slopes, coverage, and repetitions that are not mixed."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from benchmark.small import source, suite
from headstart.benchmark.job import Job, setup_of
from headstart.benchmark.methods import Method, chosen
from headstart.benchmark.parquet import read_columns
from headstart.benchmark.problems import Problem
from headstart.benchmark.runner import SuiteSource
from headstart.benchmark.settings import RunSettings, named_rng
from headstart.benchmark.store import stamp_of
from headstart.data import TaskData
from headstart.errors import SettingsError
from headstart.experiments import calibration
from headstart.experiments.calibration import densities_of, find
from headstart.experiments.frame import Work
from headstart.surrogates import GaussianProcess, Random

SETTINGS = RunSettings(trials=6)
GP = Method("gp", GaussianProcess(restarts=0))


def job(method: Method = GP, place: SuiteSource | None = None) -> Job:
    place = source() if place is None else place
    stamp = stamp_of(place.open(), SETTINGS, method)
    return Job(place, SETTINGS, method, "plain", "first", (), Path("nowhere"), stamp)


def drawn(problem: Problem, size: int, repetition: int) -> tuple[np.ndarray, np.ndarray]:
    places = named_rng("density", "plain", "first", size, repetition).permutation(len(problem.y))
    return places[:size], places[size:]


def test_the_density_of_a_linear_posterior_is_that_of_scipy() -> None:
    (problem, _) = suite().spaces[0].test
    densities, coverages, sizes = densities_of(job(), 2)
    assert sizes.tolist() == [5, 5, 10, 10, 20, 20]
    low, width = problem.y.min(), np.ptp(problem.y)
    for place, (size, repetition) in enumerate([(t, r) for t in (5, 10, 20) for r in range(2)]):
        seen, asked = drawn(problem, size, repetition)
        assert len(asked) == 40 - size  # the pool has no hundred rows
        data = TaskData(problem.x[seen], problem.y[seen], suite().spaces[0].columns, problem.bounds)
        # no restarts, no draws: any generator does
        posterior = GaussianProcess(restarts=0).fit(data, rng=np.random.default_rng(0))
        prediction = posterior.predict(problem.x[asked])
        origin, unit = posterior.to_response(np.array([0.0, 1.0]))
        mean, std = origin + (unit - origin) * prediction.mean, (unit - origin) * prediction.noisy_std
        y = problem.y[asked]
        scaled = stats.norm((mean - low) / width, np.maximum(std / width, 1e-6))
        assert densities[place] == pytest.approx(-scaled.logpdf((y - low) / width).mean(), rel=1e-6)
        for k, level in enumerate((0.5, 0.8, 0.95)):
            below, above = scaled.interval(level)
            inside = ((y - low) / width >= below) & ((y - low) / width <= above)
            assert coverages[place, k] == pytest.approx(inside.mean(), abs=1e-12)


def test_what_predicts_mean_and_deviation_of_what_was_seen() -> None:
    (problem, _) = suite().spaces[0].test
    densities, _, _ = densities_of(job(Method("random", Random())), 1)
    seen, asked = drawn(problem, 5, 0)
    y = problem.y / np.ptp(problem.y)
    expected = -stats.norm(y[seen].mean(), y[seen].std()).logpdf(y[asked]).mean()
    assert densities[0] == pytest.approx(expected, rel=1e-9)


def test_nothing_is_said_of_pools_that_are_too_small() -> None:
    small = suite()
    space = small.spaces[0]
    cut = tuple(replace(task, x=task.x[:12], y=task.y[:12], given={}) for task in space.test)
    tiny = tuple(replace(task, x=task.x[:5], y=task.y[:5], given={}) for task in space.test)
    for tasks, sizes in ((cut, [5, 10]), (tiny, [])):
        there = SuiteSource("s", suite=replace(small, spaces=(replace(space, test=tasks),)))
        densities, coverages, found = densities_of(job(place=there), 1)
        assert found.tolist() == sizes
        assert (len(densities), coverages.shape) == (len(sizes), (len(sizes), 3))


def test_the_slope_is_that_of_least_squares_over_tasks_of_all_sizes() -> None:
    size = np.array([5.0, 5.0, 10.0, 10.0, 20.0, 20.0])
    density = np.array([1.0, 3.0, 0.0, 2.0, -1.0, 4.0])
    assert calibration._slope([(size, density)]) == pytest.approx(stats.linregress(size, density).slope)
    # by hand: means 2, 1, 1.5 at 5, 10, 20 with mean 35 / 3
    centred = np.array([5, 10, 20]) - 35 / 3
    assert calibration._slope([(size, density)]) == pytest.approx(centred @ [2, 1, 1.5] / (centred @ centred))
    small = (np.array([5.0, 10.0]), np.array([100.0, 0.0]))  # would tilt the line
    assert calibration._slope([(size, density), small]) == calibration._slope([(size, density)])
    assert np.isnan(calibration._slope([small]))


def test_the_table_is_the_mean_over_tasks_and_repetitions(tmp_path: Path) -> None:
    found = find(Work(source(), tmp_path, methods=("random", "gp"), seeds=2))
    assert [(row[0], row[1], row[2]) for row in found.table.rows] == [
        (method, space, size)
        for method in ("random", "gp")
        for space in ("plain", "other & <odd>")
        for size in (5, 10, 20)
    ]
    (method,) = chosen(["random"], SETTINGS)
    parts = [densities_of(replace(job(method), task=task.name), 2) for task in suite().spaces[0].test]
    at_5 = np.concatenate([density[size == 5] for density, _, size in parts])
    assert found.table.rows[0][3] == pytest.approx(at_5.mean())
    assert found.table.rows[0][4] == pytest.approx(at_5.std())
    covered = np.concatenate([coverage[size == 5] for _, coverage, size in parts]).mean(axis=0)
    assert found.table.rows[0][6:] == pytest.approx(covered)
    means = found.shown["Mean over spaces"]
    both = [float(row[3]) for row in found.table.rows if (row[0], row[2]) == ("random", 5)]
    assert means.rows[0][:3] == ("random", 5, pytest.approx(np.mean(both)))


def test_another_number_of_repetitions_is_no_answer(tmp_path: Path) -> None:
    find(Work(source(), tmp_path, methods=("random",), seeds=2))
    files = sorted(tmp_path.rglob("*.parquet"))
    before = [file.read_bytes() for file in files]
    find(Work(source(), tmp_path, methods=("random",), seeds=2))  # is there
    with pytest.raises(SettingsError, match=r"was made with repetitions=2 instead of 3\. Name another folder"):
        find(Work(source(), tmp_path, methods=("random",), seeds=3))
    assert [file.read_bytes() for file in files] == before
    assert len(read_columns(files[0])["size"]) == 6


def test_setups_are_those_of_the_runner() -> None:
    setup, problem = setup_of(job())
    assert setup.surrogate == GP.surrogate
    assert problem.name == "first"
    assert setup.bounds == problem.bounds
