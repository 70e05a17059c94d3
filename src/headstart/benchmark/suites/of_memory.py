"""A Memory as a suite: "my past tasks, leave one out", to rank the methods on one's own history.

The pool of a task is what was evaluated of it: a method may only choose among these configurations, whose values are
known. All other tasks of the same Space are its past.
"""

import hashlib
from pathlib import Path

from headstart.benchmark.problems import Problem, Suite, SuiteSpace
from headstart.errors import DataError
from headstart.memory import Memory

LEAST_TASKS = 3
"""Of a Space: one is left out, and one past task alone says little."""
LEAST_TRIALS = 10
"""Complete ones of a task: among fewer configurations there is nothing to choose."""


def memory_suite(location: str | Path) -> Suite:
    """Return the suite of all Spaces of a memory that have enough tasks with enough trials.

    Raises:
        MemoryStoreError: The memory cannot be opened.
        DataError: It has too little in it.
    """
    with Memory(location, create=False) as memory:
        location = memory.location  # without a password: the name of a suite is written into files
        records = memory.tasks()
        # a task's past has its metric, as in the Optimizer
        known = {(record.space.fingerprint, record.metric): record.space for record in records}
        spaces: list[SuiteSpace] = []
        digest = hashlib.sha256()
        for (fingerprint, metric), space in known.items():
            others = [record.name for record in records if record.metric != metric]
            past = memory.meta_dataset(space, exclude=others)
            tasks = [task for task in past.informative if len(task) >= LEAST_TRIALS]
            if len(tasks) < LEAST_TASKS:
                continue
            assert past.columns is not None  # a MetaDataset always has them
            name = _name(space.names, fingerprint, metric)
            digest.update("".join([name, *(f"{task.name}\0{len(task)}" for task in tasks)]).encode())
            for task in tasks:
                digest.update(task.x.tobytes() + task.y.tobytes())
            problems = tuple(Problem(name, task.name, task.x, task.y) for task in tasks)
            spaces.append(SuiteSpace(name, past.columns, (), (), problems, leave_one_out=True))
    if not spaces:
        raise DataError(
            f"Memory {location}: no Space has {LEAST_TASKS} tasks of one metric with at least {LEAST_TRIALS} complete "
            f"trials of different values each; it has {len(records)} tasks. Tune more tasks, or name another suite."
        )
    trials = min(50, max(len(problem.y) for space in spaces for problem in space.test))
    return Suite(location, tuple(spaces), digest.hexdigest()[:16], given=0, scale="honest", trials=trials)


def _name(parameters: tuple[str, ...], fingerprint: str, metric: str | None) -> str:
    """Return what tables call a Space, which has no name: its first parameters, its fingerprint and the metric."""
    words = "-".join(parameters[:3]) + ("-…" if len(parameters) > 3 else "")
    return f"{words[:40]} {fingerprint[:6]}" + (f" {metric}" if metric else "")
