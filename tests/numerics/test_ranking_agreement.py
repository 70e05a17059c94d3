"""Agreement of rankings against hand-counted pairs and a loop."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.numerics.ranking_agreement import (
    discordance,
    epanechnikov,
    misranked_left_out,
    misranked_pairs,
    ranking_distance,
)


def test_discordance_by_hand() -> None:
    y = np.array([1.0, 2.0, 3.0, 4.0])
    same, reversed_, one_swap = y * 10 - 7, -y, np.array([2.0, 1.0, 3.0, 4.0])
    found = discordance(np.stack([same, reversed_, one_swap], axis=1), y)
    np.testing.assert_allclose(found, [0, 1, 1 / 6])


def test_a_tie_in_one_of_both_counts_half() -> None:
    """[y_1 < y_2] xor [f_1 < f_2] is true in exactly one of the two orders of such a pair."""
    y = np.array([1.0, 1.0, 2.0])
    tie_in_y = np.array([5.0, 6.0, 7.0])
    tie_in_both = np.array([5.0, 5.0, 7.0])
    tie_in_f = np.array([5.0, 5.0, 5.0])
    found = discordance(np.stack([tie_in_y, tie_in_both, tie_in_f], axis=1), y)
    # of three pairs: one half wrong; none; two half wrong
    np.testing.assert_allclose(found, [0.5 / 3, 0, 1 / 3])


@given(st.integers(0, 100), st.integers(2, 9))
def test_discordance_is_the_mean_over_ordered_pairs(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    f, y = rng.integers(4, size=(n, 3)).astype(float), rng.integers(4, size=n).astype(float)
    literal = np.mean([(y[i] < y[j]) ^ (f[i] < f[j]) for i, j in permutations(range(n), 2)], axis=0)
    np.testing.assert_allclose(discordance(f, y), literal)
    order = rng.permutation(n)
    np.testing.assert_allclose(discordance(f[order], y[order]), literal)


def test_many_models_are_counted_in_pieces() -> None:
    rng = np.random.default_rng(0)
    f, y = rng.random((300, 50)), rng.random(300)
    np.testing.assert_allclose(discordance(f, y), misranked_pairs(f, y).sum(axis=0) / (300 * 299), rtol=1e-6)
    assert discordance(f[:1], y[:1]).tolist() == [0.0] * 50
    assert discordance(f[:0], y[:0]).tolist() == [0.0] * 50


def test_left_out_predictions_are_compared_with_the_observed_others() -> None:
    y, f = np.array([1.0, 2.0]), np.array([[3.0], [2.5]])
    # 3.0 at the first claims to be above the observed 2.0: wrong. 2.5 at the second is above the observed 1.0: right
    assert misranked_left_out(f, y).tolist() == [[1.0]]
    assert misranked_pairs(f, y).tolist() == [[2.0]]


def test_ranking_distance_is_the_norm_of_the_printed_vectors() -> None:
    rng = np.random.default_rng(3)
    f, target = rng.integers(5, size=(7, 4)).astype(float), rng.integers(5, size=7).astype(float)
    vector = (target[:, None] > target).astype(float).ravel()
    vectors = [(column[:, None] > column).astype(float).ravel() for column in f.T]
    expected = [np.linalg.norm(vector - other) for other in vectors]
    np.testing.assert_allclose(ranking_distance(f, target), expected)


def test_epanechnikov() -> None:
    np.testing.assert_allclose(epanechnikov(np.array([0.0, 0.5, 1.0, 1.0001, 7.0])), [0.75, 0.5625, 0, 0, 0])
    assert epanechnikov(np.array([np.inf]))[0] == pytest.approx(0.0)
