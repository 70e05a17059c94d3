"""Objectives whose optimum is known, to be minimised. Needs nothing but Python, so that any environment can run it."""

import math
from collections.abc import Callable
from typing import Any

Config = dict[str, Any]

_A = (
    (10.0, 3.0, 17.0, 3.5, 1.7, 8.0),
    (0.05, 10.0, 17.0, 0.1, 8.0, 14.0),
    (3.0, 3.5, 1.7, 10.0, 17.0, 8.0),
    (17.0, 8.0, 0.05, 10.0, 0.1, 14.0),
)
_P = (
    (0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886),
    (0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991),
    (0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650),
    (0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381),
)
_ALPHA = (1.0, 1.2, 3.0, 3.2)


def branin(config: Config) -> float:
    x, y = config["x"], config["y"]
    valley = y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6
    return valley**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


def hartmann6(config: Config) -> float:
    x = [config[f"x{j}"] for j in range(6)]
    total = 0.0
    for alpha, a, p in zip(_ALPHA, _A, _P, strict=True):
        total += alpha * math.exp(-sum(aj * (xj - pj) ** 2 for aj, xj, pj in zip(a, x, p, strict=True)))
    return -total


def mixed(config: Config) -> float:
    """A classifier's error as it might be: three families with parameters of their own, one of them best."""
    if config["family"] == "svm":
        off = (math.log10(config["C"]) - 1.0) ** 2 / 4 + (math.log10(config["gamma"]) + 2.0) ** 2 / 2
        return 0.05 + 0.1 * off / (1 + off) + (0.02 if config["scaling"] == "none" else 0.0)
    if config["family"] == "forest":
        depth = abs(math.log2(config["depth"]) - 3.3) / 3
        return 0.08 + 0.05 * depth + 0.03 * (config["features"] - 0.4) ** 2
    return 0.15 + 0.01 * abs(math.log10(config["penalty"]) + 1)


OBJECTIVES: dict[str, tuple[Callable[[Config], float], float]] = {
    "branin": (branin, 0.39788735772973816),
    "hartmann6": (hartmann6, -3.322368011415512),
    "mixed": (mixed, 0.05),
}
"""Each with its smallest value."""
