"""CPU milliseconds that the runner itself costs per trial: random choices from a pool of 1,000 rows.

    python tests/speed/runner.py

Everything but the method counts: history, recording, writing, compiling the tables. Median of several rounds.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from headstart.benchmark.methods import chosen
from headstart.benchmark.problems import Problem, Suite, SuiteSpace
from headstart.benchmark.runner import SuiteSource, run
from headstart.benchmark.settings import usual_settings
from headstart.encoding import Columns

ROWS, COLUMNS, TRIALS = 1000, 8, 100


def suite(tasks: int) -> Suite:
    """Return tasks whose best row is hardly ever found, so that runs are of full length."""
    rng = np.random.default_rng(0)
    problems = tuple(Problem("space", f"task {k}", rng.random((ROWS, COLUMNS)), rng.random(ROWS)) for k in range(tasks))
    return Suite("speed", (SuiteSpace("space", Columns.numeric(COLUMNS), (), (), problems),), "speed", trials=TRIALS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tasks", type=int, default=20)
    arguments = parser.parse_args()
    source = SuiteSource("speed", suite=suite(arguments.tasks))
    settings = usual_settings(source.open())
    methods = chosen(["random"], settings)
    costs: list[float] = []
    for _ in range(arguments.rounds + 1):
        with tempfile.TemporaryDirectory() as folder:
            began = time.process_time()
            run(source, methods, settings, Path(folder), seeds=2)
            costs.append(1000 * (time.process_time() - began) / (2 * arguments.tasks * TRIALS))
    print(f"{np.median(costs[1:]):.3f} CPU ms a trial (rounds: {', '.join(f'{cost:.3f}' for cost in costs[1:])})")


if __name__ == "__main__":
    main()
