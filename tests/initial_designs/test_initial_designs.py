"""Every listed design passes every check that applies to it, and is found by its name."""

from collections.abc import Callable

import numpy as np
import pytest

import headstart.initial_designs
from headstart.data import Candidates, TaskData
from headstart.errors import SettingsError
from headstart.initial_designs import AverageBest, GreedyPortfolio, Sobol, Uniform, initial_design_named
from headstart.protocols import InitialDesign
from headstart.testing import initial_design_checks

DESIGNS: list[InitialDesign] = [AverageBest(trees=20), GreedyPortfolio(trees=20), Sobol(), Uniform()]
CASES = [(design, check) for design in DESIGNS for check in initial_design_checks(design)]


@pytest.mark.parametrize(("design", "check"), CASES, ids=[f"{d.name}-{c.__name__}" for d, c in CASES])
def test_conforms(design: InitialDesign, check: Callable[[InitialDesign], None]) -> None:
    check(design)


def test_every_listed_design_is_tested() -> None:
    assert [type(design).__name__ for design in DESIGNS] == headstart.initial_designs.__all__


def test_names() -> None:
    assert [initial_design_named(name) for name in ("average-best", "portfolio", "sobol", "uniform")] == [
        AverageBest,
        GreedyPortfolio,
        Sobol,
        Uniform,
    ]


def test_unknown_name_lists_the_names_and_close_ones() -> None:
    with pytest.raises(
        SettingsError, match=r"'sobl'.*Did you mean 'sobol'.*'average-best', 'portfolio', 'sobol', 'uniform'"
    ):
        initial_design_named("sobl")
    with pytest.raises(SettingsError, match="The names are"):
        initial_design_named("nothing like it")


@pytest.mark.parametrize("design", [Sobol(), Uniform()], ids=["sobol", "uniform"])
def test_pool_rows_are_distinct_unseen_and_of_the_pool(design: InitialDesign) -> None:
    """The pool repeats every row, and two of its rows were observed."""
    rows = np.random.default_rng(0).random((10, 3))
    pool = Candidates(np.repeat(rows, 3, axis=0), is_pool=True)
    observed = TaskData(rows[:2], np.zeros(2))
    found = design.propose(observed, 20, pool, rng=np.random.default_rng(1))
    assert {tuple(row) for row in found} == {tuple(row) for row in rows[2:]}
    assert len(found) == 8
    assert len(design.propose(observed, 3, pool, rng=np.random.default_rng(1))) == 3


def test_nothing_is_left_of_an_observed_pool() -> None:
    rows = np.random.default_rng(0).random((2, 3))
    for design in (Sobol(), Uniform()):
        found = design.propose(
            TaskData(rows, np.zeros(2)), 4, Candidates(rows, is_pool=True), rng=np.random.default_rng()
        )
        assert found.shape == (0, 3)


def test_sobol_on_a_pool_covers_it_better_than_uniform() -> None:
    """Largest distance of any pool row from the nearest of eight proposals, mean of 40 designs."""
    x = np.random.default_rng(0).random((400, 2))
    pool, nothing = Candidates(x, is_pool=True), TaskData(np.empty((0, 2)), np.empty(0))

    def gap(design: InitialDesign, seed: int) -> float:
        chosen = design.propose(nothing, 8, pool, rng=np.random.default_rng(seed))
        return float(np.linalg.norm(x[:, None] - chosen[None], axis=2).min(axis=1).max())

    gaps = {d.name: np.mean([gap(d, seed) for seed in range(40)]) for d in (Sobol(), Uniform())}
    assert gaps["sobol"] < 0.85 * gaps["uniform"]
