"""Average best against its definition."""

import numpy as np
import pytest

from headstart.data import Candidates, MetaDataset, TaskData
from headstart.errors import DataError, SettingsError
from headstart.initial_designs import AverageBest, GreedyPortfolio

NOTHING = TaskData(np.empty((0, 2)), np.empty(0))


def past(x: np.ndarray, responses: np.ndarray) -> MetaDataset:
    return MetaDataset(tuple(TaskData(x, y, name=str(i)) for i, y in enumerate(responses.T)))


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("is_pool", [True, False])
def test_the_smallest_mean_error_comes_first(is_pool: bool) -> None:
    x = rng().random((20, 2))
    responses = rng(1).normal(size=(20, 4)) * [1, 10, 100, 1000]
    errors = (responses.max(axis=0) - responses) / np.ptp(responses, axis=0)
    design = AverageBest(trees=3).pretrain(past(x, responses), rng=rng())
    found = design.propose(NOTHING, 6, Candidates(x if is_pool else rng().random((9, 2)), is_pool=is_pool), rng=rng())
    np.testing.assert_array_equal(found, x[np.argsort(errors.mean(axis=1))[:6]])
    observed = TaskData(found[:2], np.zeros(2))
    after = design.propose(observed, 4, Candidates(x, is_pool=is_pool), rng=rng())
    np.testing.assert_array_equal(after, found[2:])


def test_equal_means_come_in_random_order() -> None:
    x = rng().random((4, 2))
    responses = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.0, 0.0]])
    design = AverageBest(trees=3).pretrain(past(x, responses), rng=rng())
    first = {tuple(design.propose(NOTHING, 1, Candidates(x, is_pool=True), rng=rng(seed))[0]) for seed in range(40)}
    assert first == {tuple(row) for row in x[:3]}


@pytest.mark.parametrize("kind", [AverageBest, GreedyPortfolio])
def test_of_the_past_only(kind: type[AverageBest] | type[GreedyPortfolio]) -> None:
    """A pool of which the past knows the odd rows: the best row is even, and chosen unless only the past counts."""
    x = np.linspace(0, 1, 41)[:, None] * np.ones(2)
    y = -((x[:, 0] - 0.5) ** 2)
    tasks = MetaDataset(tuple(TaskData(x[1::2], 3 * y[1::2] + k, name=str(k)) for k in range(3)))
    pool = Candidates(x, is_pool=True)
    known = {tuple(row) for row in x[1::2]}
    some = kind(rows="past", trees=3).pretrain(tasks, rng=rng()).propose(NOTHING, 30, pool, rng=rng())
    assert len(some) == 20
    assert {tuple(row) for row in some} == known
    anything = kind(trees=3).pretrain(tasks, rng=rng()).propose(NOTHING, 30, pool, rng=rng())
    assert not {tuple(row) for row in anything} <= known
    seen = TaskData(x[1::2], y[1::2])
    rest = kind(rows="past", trees=3).pretrain(tasks, rng=rng()).propose(seen, 2, pool, rng=rng())
    assert len(rest) == 2  # nothing of the past is left


def test_wrong_settings_and_spaces_are_refused() -> None:
    with pytest.raises(SettingsError, match="AverageBest: rows must be 'any' or 'past', got 'some'"):
        AverageBest(rows="some")  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="AverageBest: trees must be between"):
        AverageBest(trees=0)
    x = rng().random((5, 2))
    design = AverageBest(trees=2).pretrain(past(x, rng().random((5, 2))), rng=rng())
    with pytest.raises(DataError, match="AverageBest: candidates have 3 columns, the past tasks 2"):
        design.propose(NOTHING, 1, Candidates(np.zeros((2, 3)), is_pool=True), rng=rng())
