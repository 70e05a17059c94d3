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
        records = memory.tasks()
        known = {record.space.fingerprint: record.space for record in records}
        spaces: list[SuiteSpace] = []
        digest = hashlib.sha256()
        for fingerprint, space in known.items():
            past = memory.meta_dataset(space)
            tasks = [task for task in past.informative if len(task) >= LEAST_TRIALS]
            if len(tasks) < LEAST_TASKS:
                continue
            assert past.columns is not None  # a MetaDataset always has them
            name = _name(space.names, fingerprint)
            digest.update("".join([name, *(f"{task.name}\0{len(task)}" for task in tasks)]).encode())
            for task in tasks:
                digest.update(task.x.tobytes() + task.y.tobytes())
            problems = tuple(Problem(name, task.name, task.x, task.y) for task in tasks)
            spaces.append(SuiteSpace(name, past.columns, (), (), problems, leave_one_out=True))
    if not spaces:
        raise DataError(
            f"Memory {location}: no Space has {LEAST_TASKS} tasks with at least {LEAST_TRIALS} complete trials of "
            f"different values each; it has {len(records)} tasks. Tune more tasks, or name another suite."
        )
    trials = min(50, max(len(problem.y) for space in spaces for problem in space.test))
    return Suite(str(location), tuple(spaces), digest.hexdigest()[:16], given=0, scale="honest", trials=trials)


def _name(parameters: tuple[str, ...], fingerprint: str) -> str:
    """Return what tables call a Space, which has no name: its first parameters and its fingerprint."""
    words = "-".join(parameters[:3]) + ("-…" if len(parameters) > 3 else "")
    return f"{words[:40]} {fingerprint[:6]}"
