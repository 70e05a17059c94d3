"""A suite that takes milliseconds: two spaces whose tasks share an optimum."""

from pathlib import Path

import numpy as np

from headstart.benchmark.problems import Objective, Problem, Suite, SuiteSpace
from headstart.benchmark.runner import SuiteSource
from headstart.encoding import Columns, Encoding
from headstart.space import Config, Float, Space

SPACE = Space(Float("a", 0, 1), Float("b", 0, 1))
ROWS = 40


def response(x: np.ndarray, shift: float) -> np.ndarray:
    """Return [n]: a hill whose top moves a little with the task."""
    return 2.0 - (x[:, 0] - 0.3 - shift) ** 2 - 0.5 * (x[:, 1] - 0.7) ** 2


class Hill:
    """The function behind a pool."""

    def __init__(self, shift: float) -> None:
        self.shift = shift

    def __call__(self, config: Config) -> float:
        """Return the response of a configuration."""
        return float(response(Encoding(SPACE).encode([config]), self.shift)[0])


def problem(space: str, name: str, number: int, *, rows: int = ROWS, given: bool = True) -> Problem:
    """Return a task whose pool is its own."""
    rng = np.random.default_rng([number, len(space)])
    x = rng.random((rows, 2))
    shift = 0.02 * number
    y = response(x, shift)
    starts = {f"test{seed}": tuple(int(row) for row in rng.permutation(rows)[:5]) for seed in range(2)}
    objective = Objective(SPACE, Hill(shift), 0.5, 2.0)
    return Problem(space, name, x, y, starts if given else {}, objective=objective)


def suite(fingerprint: str = "small") -> Suite:
    """Return two spaces with four past, one validation and two test tasks each."""
    spaces = tuple(
        SuiteSpace(
            name,
            Columns.numeric(2),
            tuple(problem(name, f"past {k}", k) for k in range(4)),
            (problem(name, "validation", 4),),
            (problem(name, "first", 5), problem(name, "second/../..", 6)),
        )
        for name in ("plain", "other & <odd>")
    )
    return Suite("small", spaces, fingerprint, trials=6)


def source(fingerprint: str = "small") -> SuiteSource:
    """Return where processes find it: it travels with every job."""
    return SuiteSource("small", suite=suite(fingerprint))


def numbers(folder: Path) -> bytes:
    """Return the table of results, byte by byte."""
    return (folder / "results.parquet").read_bytes()
