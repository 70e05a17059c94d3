"""Published functions have their published optima, and one number says how much tasks have in common."""

import math
import pickle

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import kendalltau

from headstart.benchmark.problems import Problem, Suite
from headstart.benchmark.suites.surfaces import (
    FAMILIES,
    HARTMANN_3,
    HARTMANN_6,
    Surface,
    branin,
    hartmann,
    member,
    moved,
)
from headstart.benchmark.suites.synthetic import SEEDS, synthetic_suite
from headstart.encoding import Encoding
from headstart.errors import SettingsError
from headstart.space import units

SMALL = {"train": 4, "validation": 1, "test": 3}


def everything(suite: Suite) -> list[Problem]:
    return [problem for space in suite.spaces for problem in (*space.train, *space.validation, *space.test)]


def test_branin_has_its_three_minima() -> None:
    minima = np.array([[-math.pi, 12.275], [math.pi, 2.275], [9.42477796, 2.475]])
    assert np.allclose(branin(minima), 0.39788735772973816, atol=1e-9)
    grid = np.stack(np.meshgrid(np.linspace(-5, 10, 301), np.linspace(0, 15, 301)), axis=2).reshape(-1, 2)
    assert branin(grid).min() >= 0.397887
    # by hand: at (0, 0) the valley is -6, so 36 + 10 (1 - 1 / 8 pi) + 10
    assert math.isclose(branin(np.zeros((1, 2)))[0], 56.0 - 10.0 / (8.0 * math.pi))


@pytest.mark.parametrize(
    ("constants", "place", "least"),
    [
        (HARTMANN_3, [0.114614, 0.555649, 0.852547], -3.86278),
        (HARTMANN_6, [0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573], -3.32237),
    ],
)
def test_hartmann_has_its_minimum(constants: tuple[np.ndarray, np.ndarray], place: list[float], least: float) -> None:
    assert hartmann(np.array([place]), *constants)[0] == pytest.approx(least, abs=2e-6)
    found = minimize(lambda x: hartmann(x[None, :], *constants)[0], place, bounds=[(0, 1)] * len(place), tol=1e-12)
    assert found.fun == pytest.approx(least, abs=5e-6)
    assert np.allclose(found.x, place, atol=1e-3)


def test_hartmann_is_the_sum_that_it_is_written_as() -> None:
    curvatures, places = HARTMANN_6
    x = np.random.default_rng(0).random(6)
    by_hand = -sum(
        weight * math.exp(-sum(a * (xj - p) ** 2 for a, p, xj in zip(curvature, place, x, strict=True)))
        for weight, curvature, place in zip((1.0, 1.2, 3.0, 3.2), curvatures, places, strict=True)
    )
    assert hartmann(x[None, :], curvatures, places)[0] == pytest.approx(by_hand, rel=1e-12)


def test_moving_keeps_the_cube_and_turns_about_its_middle() -> None:
    rng = np.random.default_rng(0)
    u = rng.random((200, 3))
    there = moved(u, rng.uniform(-3, 3, 2), rng.uniform(-0.5, 0.5, 3))
    assert there.min() >= 0.0
    assert there.max() <= 1.0
    assert np.array_equal(moved(u, np.zeros(2), np.zeros(3)), u)
    quarter = moved(np.array([[0.75, 0.5]]), np.array([np.pi / 2]), np.zeros(2))
    assert np.allclose(quarter, [[0.5, 0.75]])
    assert np.allclose(moved(np.array([[0.9, 0.2]]), np.zeros(1), np.array([0.3, -0.3])), [[0.8, 0.1]])


@pytest.mark.parametrize("name", ["branin", "hartmann-3", "hartmann-6"])
def test_the_plain_member_is_the_published_function(name: str) -> None:
    family = FAMILIES[name]
    best = {"branin": -0.39788735772973816, "hartmann-3": 3.86278, "hartmann-6": 3.32237}[name]
    assert family.extremes(family.plain)[1] == pytest.approx(best, abs=1e-5)
    if name == "branin":
        surface = member(family, 0.0, 1.0, np.random.default_rng(0))
        assert surface({"x": math.pi, "y": 2.275}) == pytest.approx(best, abs=1e-9)
        assert family.extremes(family.plain)[0] == pytest.approx(-308.12909601160663)  # in the corner (-5, 0)


def test_sinusoids_are_those_of_the_paper() -> None:
    (space,) = synthetic_suite(related=0.0, spaces=["sinusoid"], train=200, validation=0, test=0).spaces
    theta = np.array([problem.objective.evaluate.theta for problem in space.train if problem.objective])
    amplitude, phase = theta.T
    assert np.allclose(space.train[0].x[:, 0], np.linspace(0, 1, 50), atol=1e-10)
    x = np.linspace(-5, 5, 50)
    assert np.allclose(space.train[7].y, amplitude[7] * np.sin(x + phase[7]))
    # uniform on [.1, 5] and on a circle: mean, and mean of cosine and sine, within four standard errors
    assert amplitude.min() >= 0.1
    assert amplitude.max() <= 5.0
    assert abs(amplitude.mean() - 2.55) < 4 * 4.9 / math.sqrt(12 * 200)
    assert abs(np.cos(phase).mean()) < 4 / math.sqrt(2 * 200)
    assert abs(np.sin(phase).mean()) < 4 / math.sqrt(2 * 200)


def agreement(related: float) -> dict[str, float]:
    suite = synthetic_suite(related=related, train=3, validation=0, test=2)
    return {
        space.name: float(np.mean([kendalltau(past.y, target.y)[0] for past in space.train for target in space.test]))
        for space in suite.spaces
    }


def test_related_means_the_same_for_all_families() -> None:
    taus = {related: agreement(related) for related in (1.0, 0.8, 0.0, -0.8)}
    for name in FAMILIES:
        assert taus[1.0][name] == pytest.approx(1.0)
        assert 0.25 < taus[0.8][name] < 0.95
        assert -0.3 < taus[0.0][name] < 0.35
        assert taus[-0.8][name] == pytest.approx(-taus[0.8][name])


def test_an_adversarial_past_prefers_what_is_worst() -> None:
    for space in synthetic_suite(related=-1.0, **SMALL).spaces:
        for past in space.train:
            assert np.array_equal(past.y, -space.test[0].y)
            assert past.y.argmax() == space.test[0].y.argmin()
            assert past.objective is not None
            assert past.objective.high >= past.y.max()


@pytest.mark.parametrize("related", [0.4, -0.4])
def test_pools_are_what_the_objective_says(related: float) -> None:
    for problem in everything(synthetic_suite(related=related, **SMALL)):
        objective = problem.objective
        assert objective is not None
        encoding = Encoding(objective.space)
        rows = [0, 17, len(problem.y) - 1]
        configs = encoding.decode(problem.x[rows])
        assert [objective.evaluate(config) for config in configs] == pytest.approx(problem.y[rows].tolist(), rel=1e-7)
        assert objective.low <= problem.y.min()
        assert objective.high >= problem.y.max()
        assert set(problem.given) == set(SEEDS)
        assert all(len(set(chosen)) == 5 for chosen in problem.given.values())
        assert len(np.unique(problem.x, axis=0)) == len(problem.x)
        assert pickle.loads(pickle.dumps(objective.evaluate))(configs[0]) == objective.evaluate(configs[0])


@pytest.mark.parametrize("name", list(FAMILIES))
def test_extremes_are_reached_and_never_passed(name: str) -> None:
    """Against a search of another kind: many random points, and the best ones polished by Nelder and Mead."""
    family = FAMILIES[name]
    for seed in range(2):
        surface = member(family, 1.0, -1.0 if seed else 1.0, np.random.default_rng(seed))
        low, high = surface.extremes()
        u = units.from_quantiles(family.space, np.random.default_rng(seed).random((20_000, len(family.space))))
        values = surface.at(u)
        for sign, end in ((1.0, high), (-1.0, -low)):
            reached = -math.inf
            for start in u[np.argsort(-sign * values)[:8]]:
                present = np.isfinite(start)
                if name == "mixed":
                    present[:2] = False  # choices stay
                reached = max(reached, polished(surface, start, present, sign))
            assert end - 1e-3 * (high - low) < reached < end + 2e-6 * (high - low)


def polished(surface: Surface, start: np.ndarray, free: np.ndarray, sign: float) -> float:
    space = FAMILIES[surface.family].space

    def value(v: np.ndarray) -> float:
        u = np.where(np.isfinite(start), start, 0.5)
        u[free] = np.clip(v, 0.0, 1.0)
        return -sign * float(surface.at(units.masked(space, u[None, :]))[0])

    found = minimize(value, start[free], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-12, "maxfev": 1500})
    return -float(found.fun)


def test_names_alone_decide() -> None:
    whole = synthetic_suite()
    assert [space.name for space in whole.spaces] == list(FAMILIES)
    for space in whole.spaces:
        assert [len(split) for split in (space.train, space.validation, space.test)] == [20, 5, 10]
    part = synthetic_suite(spaces=["mixed", "branin"], train=2, validation=0, test=3)
    for space in part.spaces:
        for few, many in ((space.train, whole.space(space.name).train), (space.test, whole.space(space.name).test)):
            for one, other in zip(few, many, strict=False):
                assert one.name == other.name
                assert np.array_equal(one.y, other.y)
                assert np.array_equal(one.x, other.x)
                assert one.given == other.given
    assert part.fingerprint != whole.fingerprint
    few = {"spaces": ["mixed"], "train": 1, "validation": 0, "test": 1}
    assert synthetic_suite(**few).fingerprint == synthetic_suite(**few).fingerprint
    assert synthetic_suite(related=0.5, **few).fingerprint != synthetic_suite(**few).fingerprint


def test_past_tasks_are_known_in_part_and_differently() -> None:
    (space,) = synthetic_suite(spaces=["branin"], **SMALL).spaces
    known = [past.past_rows for past in space.train]
    assert all(rows is not None and len(rows) == 100 for rows in known)
    assert len({tuple(rows) for rows in known if rows is not None}) == len(known)
    assert all(target.past_rows is None for target in space.test)


@pytest.mark.parametrize("related", [1.1, -2, math.nan, "1", None, True])
def test_related_must_be_a_number_in_range(related: object) -> None:
    with pytest.raises(SettingsError, match="related must be a number from -1 to 1"):
        synthetic_suite(related=related)  # pyright: ignore[reportArgumentType]


def test_arguments_are_checked() -> None:
    with pytest.raises(SettingsError, match="there is no space 'svm'"):
        synthetic_suite(spaces=["svm"])
    with pytest.raises(SettingsError, match="train must be a whole number"):
        synthetic_suite(train=-1)
