r"""Families of functions whose members differ by a few parameters; larger is better.

Notation: u [n, P] units of configurations, NaN where a parameter does not apply; theta [k] the parameters of a member.

    sinusoid     a sin(x + b) on [-5, 5]; theta = (a, b)
    branin, hartmann-3, hartmann-6
                 c g(fold(R (u - 1/2) + 1/2 + s)) + l with the published function g, a rotation R, a shift s, a unit c
                 and a level l; ``fold`` reflects at the walls of the cube; theta = (angles of R, s, log c, l)
    mixed        1 - error of three kinds of classifiers with parameters of their own: a level for each, what scaling
                 the inputs is worth to it, and a bowl around its best setting; theta = (levels, worths, settings)
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from headstart.arrays import Array, Rng
from headstart.numerics.low_discrepancy import sobol
from headstart.space import Categorical, Config, Float, Int, Space, units

Theta = Array


@dataclass(frozen=True, eq=False)
class Family:
    """Functions of one Space."""

    name: str
    space: Space
    plain: Theta
    """[k] the member around which the others lie: the published function where there is one."""
    draw: Callable[[Rng], Theta]
    """Draws a member that has nothing in common with ``plain`` but the family."""
    evaluate: Callable[[Array, Theta], Array]
    """Responses [n] at units [n, P]."""
    extremes: Callable[[Theta], tuple[float, float]]
    """Lowest and highest response of a member."""
    rows: int
    """How many configurations a pool has."""


@dataclass(frozen=True)
class Surface:
    """One member of a family, upright or negated, as a function of a Config. It pickles as its few numbers."""

    family: str
    theta: tuple[float, ...]
    sign: float
    """1, or -1: the best configuration is then the worst."""

    def __call__(self, config: Config) -> float:
        """Return the response."""
        return float(self.at(units.from_configs(FAMILIES[self.family].space, [config]))[0])

    def at(self, u: Array) -> Array:
        """Return responses [n] at units [n, P]."""
        return self.sign * FAMILIES[self.family].evaluate(u, np.array(self.theta))

    def extremes(self) -> tuple[float, float]:
        """Return lowest and highest response."""
        low, high = FAMILIES[self.family].extremes(np.array(self.theta))
        return (low, high) if self.sign > 0 else (-high, -low)


def member(family: Family, individuality: float, sign: float, rng: Rng) -> Surface:
    """Return the member at ``individuality`` of the way, 0 to 1, from the plain one to one that is drawn."""
    theta = family.plain + individuality * (family.draw(rng) - family.plain)
    return Surface(family.name, tuple(theta.tolist()), sign)


def branin(x: Array) -> Array:
    """Return [n]: Branin's function at ``x`` [n, 2] in [-5, 10] x [0, 15]; smaller is better."""
    first, second = x.T
    valley = second - 5.1 / (4.0 * np.pi**2) * first**2 + 5.0 / np.pi * first - 6.0
    return valley**2 + 10.0 * (1.0 - 1.0 / (8.0 * np.pi)) * np.cos(first) + 10.0


HARTMANN_WEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])
HARTMANN_3 = (
    np.array([[3.0, 10.0, 30.0], [0.1, 10.0, 35.0], [3.0, 10.0, 30.0], [0.1, 10.0, 35.0]]),
    1e-4 * np.array([[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]]),
)
HARTMANN_6 = (
    np.array(
        [
            [10.0, 3.0, 17.0, 3.5, 1.7, 8.0],
            [0.05, 10.0, 17.0, 0.1, 8.0, 14.0],
            [3.0, 3.5, 1.7, 10.0, 17.0, 8.0],
            [17.0, 8.0, 0.05, 10.0, 0.1, 14.0],
        ]
    ),
    1e-4
    * np.array(
        [
            [1312, 1696, 5569, 124, 8283, 5886],
            [2329, 4135, 8307, 3736, 1004, 9991],
            [2348, 1451, 3522, 2883, 3047, 6650],
            [4047, 8828, 8732, 5743, 1091, 381],
        ]
    ),
)


def hartmann(x: Array, curvatures: Array, places: Array) -> Array:
    """Return [n]: Hartmann's function at ``x`` [n, d] in the unit cube; smaller is better."""
    # a (x - p)^2 multiplied out: four times as quick for many rows
    distances = x**2 @ curvatures.T - 2.0 * x @ (curvatures * places).T + (curvatures * places**2).sum(axis=1)
    return -(HARTMANN_WEIGHTS * np.exp(-distances)).sum(axis=1)


def moved(u: Array, angles: Array, shift: Array) -> Array:
    """Return [n, d]: rows rotated about the middle of the cube, shifted, and reflected back into it.

    There is one angle for each two neighbouring columns.
    """
    v = u - 0.5
    for j, angle in enumerate(angles):
        first, second = v[:, j].copy(), v[:, j + 1].copy()
        v[:, j] = np.cos(angle) * first - np.sin(angle) * second
        v[:, j + 1] = np.sin(angle) * first + np.cos(angle) * second
    v = np.mod(v + 0.5 + shift, 2.0)
    return np.where(v > 1.0, 2.0 - v, v)


def _smooth(name: str, space: Space, function: Callable[[Array], Array], spread: float, rows: int) -> Family:
    """Return the family of ``function`` on the unit cube, larger is better, whose values differ by about ``spread``."""
    d = len(space)

    def draw(rng: Rng) -> Theta:
        angles, shift = rng.uniform(-np.pi, np.pi, d - 1), rng.uniform(-0.5, 0.5, d)
        return np.array([*angles, *shift, rng.uniform(-1.0, 1.0), rng.normal(0.0, spread)])

    def plain_values(u: Array, theta: Theta) -> Array:
        return function(moved(u, theta[: d - 1], theta[d - 1 : 2 * d - 1]))

    def evaluate(u: Array, theta: Theta) -> Array:
        return np.exp(theta[-2]) * plain_values(u, theta) + theta[-1]

    def extremes(theta: Theta) -> tuple[float, float]:
        low = -_largest(lambda u: -plain_values(u, theta), d)
        high = _largest(lambda u: plain_values(u, theta), d)
        return float(np.exp(theta[-2]) * low + theta[-1]), float(np.exp(theta[-2]) * high + theta[-1])

    return Family(name, space, np.zeros(2 * d + 1), draw, evaluate, extremes, rows)


SEARCH_ROWS, SEARCH_STARTS = 4096, 12
SMALLEST_STEP = 1e-5


def _largest(function: Callable[[Array], Array], d: int) -> float:
    """Return the largest value in the unit cube that a fixed search finds: even points, then steps along the axes.

    At a smooth maximum it is right to about 1e-9 of the range; on a crease, where a wall reflects, to about 1e-6.
    """
    x = sobol(SEARCH_ROWS, d, rng=None)
    y = function(x)
    best = np.argsort(-y, kind="stable")[:SEARCH_STARTS]
    x, y = x[best], y[best]
    steps = np.full(len(x), 0.05)
    axes = np.concatenate([np.eye(d), -np.eye(d)])
    while steps.max() > SMALLEST_STEP:
        tried = np.clip(x[:, None, :] + steps[:, None, None] * axes, 0.0, 1.0)
        values = function(tried.reshape(-1, d)).reshape(len(x), -1)
        chosen = values.argmax(axis=1)
        found = values[np.arange(len(x)), chosen]
        better = found > y
        x = np.where(better[:, None], tried[np.arange(len(x)), chosen], x)
        y = np.where(better, found, y)
        # longer steps after a success: the way along a rotated valley is long
        steps = np.minimum(np.where(better, 1.5 * steps, 0.4 * steps), 0.1)
    return float(y.max())


def _sinusoid_values(u: Array, theta: Theta) -> Array:
    return theta[0] * np.sin(10.0 * u[:, 0] - 5.0 + theta[1])


_FAMILY = Categorical("family", ["svm", "forest", "linear"])
_SCALING = Categorical("scaling", ["none", "standard"])
_DEPTH = Int("depth", 1, 64, log=True, when={"family": "forest"})
MIXED_SPACE = Space(
    _FAMILY,
    _SCALING,
    Float("C", 1e-3, 1e3, log=True, when={"family": "svm"}),
    Float("gamma", 1e-4, 1e1, log=True, when={"family": "svm"}),
    _DEPTH,
    Float("features", 0.1, 1.0, when={"family": "forest"}),
    Float("penalty", 1e-4, 1e2, log=True, when={"family": "linear"}),
)
_FIRST_NUMBER = 2
_OWNED = ((0, 1), (2, 3), (4,))
"""Which of the five numbers each kind of classifier has."""
_BOWL, _DEEPEST = 8.0, 0.3
"""How steep a bowl is, and the error far away from its middle."""


def _mixed_values(u: Array, theta: Theta) -> Array:
    levels, worths, best = theta[:3], theta[3:6], theta[6:]
    kind = _FAMILY.places(u[:, 0]).astype(np.int64)
    unscaled = _SCALING.places(u[:, 1]) == 0
    off = _BOWL * np.nansum((u[:, _FIRST_NUMBER:] - best) ** 2, axis=1)
    return 1.0 - (levels[kind] + worths[kind] * unscaled + _DEEPEST * off / (1.0 + off))


def _mixed_extremes(theta: Theta) -> tuple[float, float]:
    """Return the exact ones: a bowl is lowest in its middle, or beside it for whole numbers, and highest at ends."""
    levels, worths, best = theta[:3], theta[3:6], theta[6:]
    grid = [
        _DEPTH.units(list(range(_DEPTH.low, _DEPTH.high + 1))) if j == 2 else np.array([0.0, 1.0]) for j in range(5)
    ]
    nearest = [((grid[j] - best[j]) ** 2).min() if j == 2 else 0.0 for j in range(5)]
    farthest = [((grid[j] - best[j]) ** 2).max() for j in range(5)]
    errors: list[float] = []
    for kind, owned in enumerate(_OWNED):
        for unscaled in (0.0, 1.0):
            for distances in (nearest, farthest):
                off = _BOWL * sum(distances[j] for j in owned)
                errors.append(float(levels[kind] + worths[kind] * unscaled + _DEEPEST * off / (1.0 + off)))
    return 1.0 - max(errors), 1.0 - min(errors)


def _draw_mixed(rng: Rng) -> Theta:
    return np.array([*rng.uniform(0.05, 0.25, 3), *rng.uniform(-0.08, 0.08, 3), *rng.uniform(0.0, 1.0, 5)])


_BRANIN_SPACE = Space(Float("x", -5.0, 10.0), Float("y", 0.0, 15.0))


def _hartmann_space(d: int) -> Space:
    return Space(*(Float(f"x{j + 1}", 0.0, 1.0) for j in range(d)))


FAMILIES = {
    family.name: family
    for family in (
        Family(
            "sinusoid",
            Space(Float("x", -5.0, 5.0)),
            np.array([1.0, 0.0]),
            lambda rng: np.array([rng.uniform(0.1, 5.0), rng.uniform(-np.pi, np.pi)]),
            _sinusoid_values,
            lambda theta: (-float(theta[0]), float(theta[0])),  # the interval is longer than a period
            50,
        ),
        _smooth("branin", _BRANIN_SPACE, lambda u: -branin(u * 15.0 + np.array([-5.0, 0.0])), 50.0, 400),
        _smooth("hartmann-3", _hartmann_space(3), lambda u: -hartmann(u, *HARTMANN_3), 1.0, 600),
        _smooth("hartmann-6", _hartmann_space(6), lambda u: -hartmann(u, *HARTMANN_6), 1.0, 1000),
        Family(
            "mixed",
            MIXED_SPACE,
            np.array([0.05, 0.08, 0.15, 0.05, 0.0, 0.02, 0.7, 0.4, 0.6, 0.3, 0.5]),
            _draw_mixed,
            _mixed_values,
            _mixed_extremes,
            600,
        ),
    )
}
