"""Checks of a Memory that threads or processes share; the others are in ``memories``."""

import math
import multiprocessing
import pickle
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, TypeAlias

from headstart.memory import Memory
from headstart.space import Categorical, Config, Float, Int, Space
from headstart.testing.inspection import require

Make: TypeAlias = Callable[[], Memory]
Check: TypeAlias = Callable[[Make], None]

SPACE = Space(
    Float("rate", 1e-4, 1.0, log=True, default=0.01),
    Int("depth", 1, 8),
    Categorical("kernel", ["rbf", "linear"]),
    Float("gamma", 0.0, 1.0, when={"kernel": "rbf"}),
)
CONFIG: Config = {"rate": 0.1, "depth": 3, "kernel": "rbf", "gamma": 0.5}

PROCESSES = 4
TELLS = 50
"""How many observations each process adds."""


def check_threads(make: Make) -> None:
    """Threads that share one Memory lose nothing."""
    with make() as memory:
        memory.create_task("t", SPACE)
        threads = [threading.Thread(target=_tell_many, args=(memory, worker, TELLS)) for worker in range(PROCESSES)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        _require_all_told(memory)


def check_another_sees_what_was_told(make: Make) -> None:
    """Whoever opens the same memory sees every change at once, and finds it all after everybody has closed."""
    with make() as memory, _another(memory) as other:
        memory.create_task("t", SPACE, seed=4)
        for i in range(3):
            number = other.add_trial("t", CONFIG)
            memory.finish_trial("t", number, state="complete", value=float(i))
            past = other.meta_dataset(SPACE, minimum=1).tasks
            require([len(task) for task in past] == [i + 1], f"The other sees {len(past)} tasks after {i + 1} tells.")
        third = _another(memory)
    with third as last:
        require(last.task("t").seed == 4 and len(last.observations("t")) == 3, "Something is gone after closing.")
        require_clean(last)


def check_processes(make: Make) -> None:
    """Processes that tell into one task at once lose nothing; numbers and the order of tells have no gaps."""
    with make() as memory:
        memory.create_task("t", SPACE)
        spawn = multiprocessing.get_context("spawn")
        workers = [spawn.Process(target=_tell_many, args=(memory, worker, TELLS)) for worker in range(PROCESSES)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
            require(worker.exitcode == 0, f"A process that told ended with {worker.exitcode}.")
        _require_all_told(memory)


def check_killed_process(make: Make) -> None:
    """All that was told before a process was killed is there, complete; the memory is sound and can be used."""
    with make() as memory:
        memory.create_task("t", SPACE)
        spawn = multiprocessing.get_context("spawn")
        for wait in (1, 7, 20):
            receiver, sender = spawn.Pipe(duplex=False)
            worker = spawn.Process(target=_tell_until_killed, args=(memory, sender))
            worker.start()
            sender.close()
            told = [receiver.recv() for _ in range(wait)]
            worker.kill()
            with suppress(EOFError, OSError):
                while True:
                    told.append(receiver.recv())
            worker.join()
            found = {seen.number: seen for seen in memory.observations("t")}
            for number, value in told:
                require(found[number].value == value, f"Trial {number} was told {value}, is stored as {found[number]}.")
            require_clean(memory)
        memory.add_observation("t", CONFIG, 1.0)


def _tell_many(memory: Memory, worker: int, n: int) -> None:
    for i in range(n):
        if i % 2:
            memory.add_observation("t", CONFIG, float(worker * n + i))
        else:
            finish(memory, memory.add_trial("t", CONFIG), "complete", float(worker * n + i))


def _tell_until_killed(memory: Memory, told: Connection) -> None:
    while True:
        number = memory.add_trial("t", CONFIG)
        finish(memory, number, "complete", number / 3)
        told.send((number, number / 3))


def _require_all_told(memory: Memory) -> None:
    found = memory.observations("t")
    expected = [float(i) for i in range(PROCESSES * TELLS)]
    require(
        sorted(_value(seen.value) for seen in found) == expected, f"{len(expected)} were told, {len(found)} are there."
    )
    require([seen.number for seen in found] == list(range(len(found))), "Numbers have gaps or repeat.")
    require(sorted(memory.told_order("t")) == list(range(len(found))), "The order of tells is not complete.")
    require_clean(memory)


def finish(memory: Memory, number: int, state: Any, value: float | None, task: str = "t") -> None:
    """Tell one trial."""
    memory.finish_trial(task, number, state=state, value=value)


def _value(value: float | None) -> float:
    return math.nan if value is None else value


def _another(memory: Memory) -> Memory:
    return pickle.loads(pickle.dumps(memory))


def require_clean(memory: Memory) -> None:
    """Require that ``check()`` has nothing to say."""
    problems = memory.check()
    require(not problems, f"check() finds: {' '.join(problems)}")


SHARED: tuple[Check, ...] = (check_another_sees_what_was_told, check_processes, check_killed_process)
"""Those that need a memory which others can open."""
