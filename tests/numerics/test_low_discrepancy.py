"""Sobol' points against the definition, against SciPy where both must agree, and by their evenness."""

import itertools

import numpy as np
import pytest
from scipy.stats import qmc

from headstart.numerics.low_discrepancy import BITS, direction_numbers, primitive_polynomials, sobol


def test_first_two_columns_are_scipys() -> None:
    """They leave no choice: van der Corput, and the only polynomial of degree 1 with m_1 = 1."""
    np.testing.assert_array_equal(sobol(256, 2, rng=None), qmc.Sobol(2, scramble=False).random(256))


def test_primitive_polynomials() -> None:
    """There are phi(2^s - 1) / s of degree s; those up to degree 4 are in every table."""
    polynomials = primitive_polynomials(100)
    assert polynomials[:7] == (0b11, 0b111, 0b1011, 0b1101, 0b10011, 0b11001, 0b100101)
    counts = [sum(p.bit_length() - 1 == degree for p in polynomials) for degree in range(1, 9)]
    assert counts == [1, 1, 2, 2, 6, 6, 18, 16]


@pytest.mark.parametrize("polynomial", primitive_polynomials(40))
def test_polynomials_generate_all_remainders(polynomial: int) -> None:
    degree = polynomial.bit_length() - 1
    state, seen = 1, set()
    while state not in seen:
        seen.add(state)
        state <<= 1
        if state >> degree:
            state ^= polynomial
    assert seen == set(range(1, 2**degree))


def test_direction_numbers_obey_the_recurrence() -> None:
    """v_k = a_1 v_{k-1} ^ ... ^ a_{s-1} v_{k-s+1} ^ v_{k-s} ^ (v_{k-s} >> s), on the numbers as binary fractions."""
    numbers = direction_numbers(30)
    for v, polynomial in zip(numbers[1:], primitive_polynomials(29), strict=True):
        s = polynomial.bit_length() - 1
        for k in range(s, BITS):
            expected = int(v[k - s]) ^ (int(v[k - s]) >> s)
            for i in range(1, s):
                if (polynomial >> (s - i)) & 1:
                    expected ^= int(v[k - i])
            assert int(v[k]) == expected
        for k, number in enumerate(v, start=1):
            assert (int(number) >> (BITS - k)) % 2 == 1  # m_k is odd
            assert int(number) < 2**BITS


@pytest.mark.parametrize("seed", [None, 0, 1])
@pytest.mark.parametrize("d", [1, 5, 60, 300])
def test_every_column_is_even(seed: int | None, d: int) -> None:
    """Among 2^k points exactly one lies in each interval of length 2^-k, also among the next 2^k."""
    points = sobol(256, d, rng=None if seed is None else np.random.default_rng(seed))
    assert points.shape == (256, d)
    for block in (points[:64], points[64:128], points[:256]):
        cells = np.sort(np.floor(block * len(block)), axis=0)
        np.testing.assert_array_equal(cells, np.tile(np.arange(len(block))[:, None], d))


@pytest.mark.parametrize("seed", [None, 3])
def test_first_two_columns_are_a_net(seed: int | None) -> None:
    """Every box 2^-a by 2^-(6 - a) holds exactly one of 64 points."""
    points = sobol(64, 2, rng=None if seed is None else np.random.default_rng(seed))
    for a in range(7):
        cells = np.floor(points * [2**a, 2 ** (6 - a)]).astype(int)
        assert len({tuple(cell) for cell in cells}) == 64


def test_pairs_are_about_as_even_as_scipys() -> None:
    """Mean centred discrepancy over all pairs of the first 20 columns, and far below that of random points."""

    def discrepancy(points: np.ndarray) -> float:
        pairs = itertools.combinations(range(20), 2)
        return float(np.mean([qmc.discrepancy(points[:, pair], method="CD") for pair in pairs]))

    ours = [discrepancy(sobol(n, 20, rng=None)) for n in (16, 32, 64, 128)]
    theirs = [discrepancy(qmc.Sobol(20, scramble=False).random(n)) for n in (16, 32, 64, 128)]
    assert np.mean(np.divide(ours, theirs)) < 1.05
    assert ours[2] < 0.3 * discrepancy(np.random.default_rng(0).random((64, 20)))


def test_scrambled_points_are_uniform_and_differ() -> None:
    first, second = (sobol(8, 3, rng=np.random.default_rng(seed)) for seed in (1, 2))
    assert not np.array_equal(first, second)
    # every single point is uniform: its mean over many scrambles is one half
    third = np.array([sobol(4, 3, rng=np.random.default_rng(seed))[2] for seed in range(600)])
    np.testing.assert_allclose(third.mean(axis=0), 0.5, atol=4 * 12**-0.5 / 600**0.5)
    np.testing.assert_allclose(third.std(axis=0), 12**-0.5, atol=0.03)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 5])
def test_few_points(n: int) -> None:
    np.testing.assert_array_equal(sobol(n, 4, rng=None), sobol(8, 4, rng=None)[:n])


def test_points_stay_below_one() -> None:
    points = sobol(4096, 3, rng=np.random.default_rng(0))
    assert points.min() >= 0
    assert points.max() < 1
