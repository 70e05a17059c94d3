"""The greedy portfolio against its definition, on tables small enough to search by hand."""

import numpy as np
import pytest

from headstart.data import Candidates, MetaDataset, TaskData
from headstart.errors import DataError, SettingsError
from headstart.initial_designs import GreedyPortfolio, Sobol
from headstart.initial_designs.greedy_portfolio import greedy_choice

NOTHING = TaskData(np.empty((0, 2)), np.empty(0))


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def table(seed: int, rows: int = 30, tasks: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Return rows x and responses [rows, tasks] of tasks that were all evaluated at the same rows."""
    return rng(seed).random((rows, 2)), rng(seed + 50).normal(size=(rows, tasks)) * np.arange(1, tasks + 1)


def meta(x: np.ndarray, responses: np.ndarray) -> MetaDataset:
    return MetaDataset(tuple(TaskData(x, y, name=str(i)) for i, y in enumerate(responses.T)))


def errors_of(responses: np.ndarray) -> np.ndarray:
    return (responses.max(axis=0) - responses) / np.ptp(responses, axis=0)


def by_hand(errors: np.ndarray, chosen: list[int], n: int) -> list[int]:
    """Return ``n`` more places, each the one whose addition gives the smallest sum of best errors."""
    chosen = list(chosen)
    first = len(chosen)
    for _ in range(n):
        totals = {}
        for place in range(len(errors)):
            if place not in chosen:
                totals[place] = sum(min(errors[c, task] for c in [*chosen, place]) for task in range(errors.shape[1]))
        chosen.append(min(totals, key=lambda place: totals[place]))
    return chosen[first:]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("is_pool", [True, False])
def test_choice_is_the_greedy_one(seed: int, is_pool: bool) -> None:
    x, responses = table(seed)
    design = GreedyPortfolio(trees=3).pretrain(meta(x, responses), rng=rng())
    found = design.propose(NOTHING, 4, Candidates(x if is_pool else rng().random((9, 2)), is_pool=is_pool), rng=rng())
    np.testing.assert_array_equal(found, x[by_hand(errors_of(responses), [], 4)])


@pytest.mark.parametrize("is_pool", [True, False])
def test_observed_configurations_count_as_chosen(is_pool: bool) -> None:
    x, responses = table(1)
    design = GreedyPortfolio(trees=3).pretrain(meta(x, responses), rng=rng())
    seen = [4, 17]
    observed = TaskData(x[seen], np.zeros(2))
    found = design.propose(observed, 3, Candidates(x, is_pool=is_pool), rng=rng())
    expected = by_hand(errors_of(responses), seen, 3)
    np.testing.assert_array_equal(found, x[expected])
    assert expected != by_hand(errors_of(responses), [], 3)  # else the test says nothing


def test_two_groups_of_tasks_each_get_their_configuration() -> None:
    """The row that is second best everywhere comes first, then the specialists; the mean would rank them last."""
    x = rng().random((5, 2))
    responses = np.array(
        [[0.85, 0.85, 0.85, 0.85], [1, 1, 0, 0], [0, 0, 1, 1], [0.7, 0.7, 0.7, 0.7], [0.8, 0.8, 0.8, 0.8]]
    )
    design = GreedyPortfolio(trees=3).pretrain(meta(x, responses), rng=rng())
    found = design.propose(NOTHING, 3, Candidates(x, is_pool=True), rng=rng())
    np.testing.assert_array_equal(found[0], x[0])
    assert {tuple(row) for row in found[1:]} == {tuple(x[1]), tuple(x[2])}


def test_scales_of_the_tasks_do_not_matter() -> None:
    x, responses = table(2)
    plain, scaled = (
        GreedyPortfolio(trees=3).pretrain(meta(x, y), rng=rng()) for y in (responses, 1e6 * responses - 3e7)
    )
    pool = Candidates(x, is_pool=True)
    np.testing.assert_array_equal(
        plain.propose(NOTHING, 5, pool, rng=rng()), scaled.propose(NOTHING, 5, pool, rng=rng())
    )


def test_once_every_task_is_solved_the_mean_decides() -> None:
    errors = np.array([[0.0, 0.0], [0.5, 0.5], [0.2, 0.4], [0.9, 0.1]])
    assert greedy_choice(errors, np.ones(2), 4, rng=rng())[:2] == [0, 2]


def test_ties_are_broken_by_chance() -> None:
    errors = np.array([[0.5, 0.5], [0.5, 0.5], [0.9, 0.9]])
    assert {greedy_choice(errors, np.ones(2), 1, rng=rng(seed))[0] for seed in range(30)} == {0, 1}


def test_more_than_there_are() -> None:
    errors = rng().random((3, 2))
    assert sorted(greedy_choice(errors, np.ones(2), 10, rng=rng())) == [0, 1, 2]
    assert greedy_choice(np.empty((0, 2)), np.ones(2), 3, rng=rng()) == []


def test_many_past_rows_are_cut_to_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    x, responses = table(3)
    monkeypatch.setattr("headstart.initial_designs.past_errors.LARGEST_CHOICE", 12)
    design = GreedyPortfolio(trees=3).pretrain(meta(x, responses), rng=rng())
    best = np.unique(x[np.argsort(-responses, axis=0)[:2].ravel()], axis=0)
    assert design.past is not None
    np.testing.assert_array_equal(design.past.rows, best)


def test_without_a_past_it_is_sobol() -> None:
    constant = MetaDataset((TaskData(rng().random((5, 2)), np.zeros(5)),))
    design = GreedyPortfolio().pretrain(constant, rng=rng())
    pool = Candidates(rng().random((20, 2)), is_pool=True)
    np.testing.assert_array_equal(
        design.propose(NOTHING, 4, pool, rng=rng(2)), Sobol().propose(NOTHING, 4, pool, rng=rng(2))
    )


def test_wrong_settings_and_rows() -> None:
    with pytest.raises(SettingsError, match="trees must be between"):
        GreedyPortfolio(trees=0)
    design = GreedyPortfolio(trees=3).pretrain(meta(*table(0)), rng=rng())
    with pytest.raises(DataError, match="candidates have 3 columns, the past tasks 2"):
        design.propose(
            TaskData(np.empty((0, 3)), np.empty(0)), 2, Candidates(rng().random((4, 3)), is_pool=True), rng=rng()
        )
