"""Checks of a Memory, wherever it keeps its data.

A check is a function of one argument, ``make``, which opens a new and empty Memory each time it is called:

    check_memory(lambda: Memory(f"{folder}/{uuid4()}.db"))

Some checks start processes by spawning them, so a script that runs all of them needs ``if __name__ == "__main__"``.
"""

import math
import pickle
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from headstart.encoding import Encoding
from headstart.errors import HeadstartError, MemoryStoreError, TaskNotFoundError
from headstart.memory import Memory
from headstart.space import Categorical, Constant, Float, Int, Space, Value
from headstart.testing import memory_sharing
from headstart.testing.inspection import require, require_equal
from headstart.testing.memory_sharing import CONFIG, SPACE, Check, Make, finish, require_clean

NUMBERS = (
    0.0,
    -0.0,
    0.1 + 0.2,
    -1.5,
    5e-324,
    2.2250738585072014e-308,
    1.7976931348623157e308,
    1e22,
    2.0**53 + 2,
    math.pi,
)
"""Floats whose bits a text or a rounding column would change."""
NAMES = ("a", "x'); DROP TABLE trials; --", '"%s" {0} \\ /../..', "Größe 1/2", "名前 🚀", "a" * 200, "A", "None")
"""Names that must come back as they are, each a task of its own."""


def memory_checks(make: Make) -> tuple[Check, ...]:
    """Return the checks that apply: those that open a memory twice do not where it lives in one process only."""
    with make() as memory:
        return ALWAYS + memory_sharing.SHARED if _is_shared(memory) else ALWAYS


def check_memory(make: Make) -> None:
    """Run every check that applies.

    Raises:
        AssertionError: one fails; its message says what was expected.
    """
    for check in memory_checks(make):
        check(make)


def check_empty(make: Make) -> None:
    """A new memory has no tasks, no past and no problems, and names what it was asked for in vain."""
    with make() as memory:
        require(memory.tasks() == [], f"A new memory has tasks: {memory.tasks()}.")
        require(len(memory.meta_dataset(SPACE)) == 0, "A new memory has a past.")
        for use in (memory.task, memory.observations, memory.told_order, memory.delete_task):
            _require_error(TaskNotFoundError, lambda use=use: use("nobody"), f"{use.__name__}() of no task")
        require_clean(memory)


def check_task_comes_back(make: Make) -> None:
    """All that was said of a task comes back; creating it again keeps what is stored."""
    with make() as memory:
        said: dict[str, Any] = {"metric": "loss", "seed": 2**63 - 1, "method": "gp", "bounds": (-0.0, 1e300)}
        more: dict[str, Any] = {"metadata": {"rows": 150, "of": ["a", None]}, "source": "elsewhere"}
        made = memory.create_task("one", SPACE, direction="maximize", **said, **more)
        again = memory.create_task("one", SPACE, direction="maximize", metric="loss", seed=3, method="rf")
        for record in (made, again, memory.task("one"), memory.tasks()[0]):
            found = {name: getattr(record, name) for name in (*said, *more)}
            require(found == said | more, f"A task was stored with {said | more} and came back with {found}.")
            require((record.name, record.direction) == ("one", "maximize"), f"Another task came back: {record}.")
            require(record.space == SPACE, f"The Space came back as {record.space}.")
            require(record.created > 0 and record.created == record.changed, "created and changed differ at first.")
            require(record.trials.total == 0 and record.best is None, f"A new task has trials: {record.trials}.")
        require_clean(memory)


def check_names(make: Make) -> None:
    """Any printable name is one, whatever a database or a shell would make of it."""
    with make() as memory:
        for name in NAMES:
            memory.create_task(name, SPACE)
        for i, name in enumerate(NAMES):
            memory.add_observation(name, CONFIG, float(i))
        require([task.name for task in memory.tasks()] == list(NAMES), "Names changed, or their order did.")
        values = [[seen.value for seen in memory.observations(name)] for name in NAMES]
        require(values == [[float(i)] for i in range(len(NAMES))], f"Values went to other names: {values}.")
        for name in NAMES[::2]:
            memory.delete_task(name)
        require([task.name for task in memory.tasks()] == list(NAMES[1::2]), "Deleting hit other names.")
        require_clean(memory)


def check_other_tasks_refused(make: Make) -> None:
    """A name that is taken is refused to another Space, direction or metric; other defaults and orders are the same."""
    with make() as memory:
        memory.create_task("one", SPACE, metric="loss")
        wider = Space(*SPACE.parameters[:1], Int("depth", 1, 9), *SPACE.parameters[2:])
        cases: dict[str, Callable[[], object]] = {
            "another Space": lambda: memory.create_task("one", wider, metric="loss"),
            "another direction": lambda: memory.create_task("one", SPACE, metric="loss", direction="maximize"),
            "another metric": lambda: memory.create_task("one", SPACE, metric="time"),
            "no metric": lambda: memory.create_task("one", SPACE),
        }
        for words, use in cases.items():
            _require_error(MemoryStoreError, use, f"create_task() with {words}")
        same = Space(*reversed(SPACE.parameters[1:]), Float("rate", 1e-4, 1.0, log=True, default=0.5))
        require(memory.create_task("one", same, metric="loss").space == SPACE, "The stored Space was replaced.")
        require(len(memory.tasks(same)) == 1 and not memory.tasks(wider), "tasks() must go by the fingerprint.")
        require_clean(memory)


def check_bits_come_back(make: Make) -> None:
    """Values, durations, configurations and metadata come back bit by bit."""
    choices: list[Value] = [None, True, "", "x\u0000y\n'\"\\", "🚀", 10**30, *NUMBERS[2:8]]
    space = Space(Categorical("choice", choices), Constant("c", 0.1 + 0.2), Float("x", -1e299, 1e299))
    metadata = {"": {"n": None, "list": [True, 10**30, "\u0000\ud800", *NUMBERS]}, "名": "前"}
    with make() as memory:
        memory.create_task("bits", space)
        sent = [
            (value, abs(value), {"choice": choice, "c": 0.1 + 0.2, "x": x})
            for value, choice, x in zip(NUMBERS, choices, (*NUMBERS[:5], *NUMBERS[8:], 1e22, -1e299, 7.0), strict=False)
        ]
        for value, duration, config in sent:
            memory.add_observation("bits", config, value, duration=duration, metadata=metadata)
        found = memory.observations("bits")
        require(len(found) == len(sent), f"{len(sent)} were stored, {len(found)} came back.")
        for (value, duration, config), seen in zip(sent, found, strict=True):
            require(_bits(seen.value) == _bits(value), f"The value {value!r} came back as {seen.value!r}.")
            require(
                _bits(seen.duration) == _bits(duration), f"The duration {duration!r} came back as {seen.duration!r}."
            )
            require(_exactly(seen.config) == _exactly(config), f"{config} came back as {seen.config}.")
            require(_exactly(seen.metadata) == _exactly(metadata), f"{metadata} came back as {seen.metadata}.")
        require_clean(memory)


def check_trials(make: Make) -> None:
    """Trials are numbered from 0, told in any order and once; what was abandoned may still be told."""
    with make() as memory:
        memory.create_task("t", SPACE)
        numbers = [memory.add_trial("t", CONFIG, origin="gp", told_before=2) for _ in range(4)]
        require(numbers == [0, 1, 2, 3], f"Trials are numbered {numbers}, not from 0 without gaps.")
        memory.finish_trial("t", 2, state="complete", value=3.0, duration=0.5, metadata={"epoch": 7})
        memory.finish_trial("t", 0, state="failed", metadata={"why": "memory"})
        memory.finish_trial("t", 1, state="abandoned")
        require(memory.add_observation("t", CONFIG, 5.0) == 4, "An observation must get the next number.")
        require(memory.add_observation("t", CONFIG, failed=True) == 5, "An observation must get the next number.")
        memory.finish_trial("t", 1, state="complete", value=1.0)
        order = memory.told_order("t")
        require(order == [2, 0, 4, 5, 1], f"Told in the order 2, 0, 4, 5, 1; came back as {order}.")
        found = memory.observations("t")
        states = [(seen.number, seen.state, seen.value) for seen in found]
        expected = [(0, "failed", None), (1, "complete", 1.0), (2, "complete", 3.0)]
        expected += [(3, "running", None), (4, "complete", 5.0), (5, "failed", None)]
        require(states == expected, f"Trials came back as {states}.")
        require(found[2].trial.origin == "gp" and found[2].trial.told_before == 2, "origin or told_before changed.")
        require(found[2].metadata == {"epoch": 7} and found[2].duration == 0.5, "metadata or duration changed.")
        require([seen.trial.told_before for seen in found[4:]] == [2, 3], "An added one knows all told before it.")
        for number, state in ((2, "complete"), (0, "failed"), (1, "abandoned"), (6, "failed"), (2**31 - 1, "failed")):
            value = 1.0 if state == "complete" else None
            _require_error(HeadstartError, lambda n=number, s=state, v=value: finish(memory, n, s, v), f"tell {number}")
        record = memory.task("t")
        counts = (record.trials.running, record.trials.complete, record.trials.failed, record.trials.abandoned)
        require(counts == (1, 3, 2, 0), f"Counted {counts} trials, expected (1, 3, 2, 0).")
        require(record.best == 1.0, f"The best of 3, 5 and 1 is 1 where smaller is better, got {record.best}.")
        require_clean(memory)


def check_since(make: Make) -> None:
    """``observations(since=revision)`` gives exactly the trials that changed after it."""
    with make() as memory:
        memory.create_task("t", SPACE)
        memory.create_task("other", SPACE)
        require(memory.observations("t", since=0) == [], "A new task has no changes.")
        changes: list[tuple[Callable[[], object], int]] = [
            (lambda: memory.add_trial("t", CONFIG), 0),
            (lambda: memory.add_trial("t", CONFIG), 1),
            (lambda: finish(memory, 0, "complete", 1.0), 0),
            (lambda: memory.add_observation("t", CONFIG, 2.0), 2),
            (lambda: finish(memory, 1, "failed", None), 1),
        ]
        for change, number in changes:
            before = memory.task("t").revision
            memory.add_observation("other", CONFIG, 0.0)
            require(memory.observations("t", since=before) == [], "A change of another task counts.")
            change()
            found = [seen.number for seen in memory.observations("t", since=before)]
            require(found == [number], f"Only trial {number} changed, observations(since=) gives {found}.")
        require_clean(memory)


def check_refusals_change_nothing(make: Make) -> None:
    """What cannot be stored is refused with a HeadstartError and leaves nothing behind."""
    with make() as memory:
        memory.create_task("t", SPACE)
        memory.add_trial("t", CONFIG)
        cases: list[Callable[[], object]] = [
            *(lambda v=v: memory.add_observation("t", CONFIG, v) for v in _no_values()),
            *(lambda v=v: memory.finish_trial("t", 0, state="complete", value=v) for v in _no_values()),
            *(lambda n=n: memory.create_task(n, SPACE) for n in _no_names()),
            *(lambda c=c: memory.add_trial("t", c) for c in _no_configs()),
            *(lambda m=m: memory.add_observation("t", CONFIG, 1.0, metadata=m) for m in _no_metadata()),
            lambda: memory.add_observation("t", CONFIG, 1.0, duration=-1.0),
            lambda: memory.add_observation("t", CONFIG, 1.0, failed=True),
            lambda: memory.finish_trial("t", 0, state="failed", value=1.0),
            lambda: memory.finish_trial("t", 0, state="running"),
            lambda: memory.finish_trial("t", -1, state="failed"),
            lambda: memory.create_task("u", SPACE, bounds=(2.0, 1.0)),
            lambda: memory.create_task("u", SPACE, seed=2**63),
            lambda: memory.create_task("u", SPACE, metric=""),
            lambda: memory.add_trial("nobody", CONFIG),
        ]
        before = memory.task("t")
        for i, case in enumerate(cases):
            _require_error(HeadstartError, case, f"bad input {i}")
        require(memory.task("t") == before, "A refused call changed the task.")
        require([task.name for task in memory.tasks()] == ["t"], "A refused task is there.")
        require([seen.state for seen in memory.observations("t")] == ["running"], "A refused trial is there.")
        require_clean(memory)


def check_past(make: Make) -> None:
    """``meta_dataset`` has the complete trials of every task of the Space, larger is better whatever the direction."""
    rng = np.random.default_rng(0)
    configs = SPACE.sample(6, rng=rng)
    values = rng.normal(size=6)
    with make() as memory:
        memory.create_task("down", SPACE, metric="loss", bounds=(-10.0, 20.0))
        memory.create_task("up", SPACE, direction="maximize", metric="accuracy", bounds=(-10.0, 20.0))
        memory.create_task("elsewhere", Space(Float("rate", 0.0, 1.0)))
        memory.create_task("short", SPACE)
        for config, value in zip(configs, values.tolist(), strict=True):
            for name in ("down", "up"):
                memory.add_observation(name, config, value)
                memory.add_observation(name, config, failed=True)
                memory.add_trial(name, config)
        memory.add_observation("short", configs[0], 1.0)
        memory.add_observation("elsewhere", {"rate": 0.5}, 1.0)
        past = memory.meta_dataset(SPACE)
        require([task.name for task in past.tasks] == ["down", "up"], f"Past tasks: {[t.name for t in past.tasks]}.")
        down, up = past.tasks
        for task in (down, up):
            require_equal(task.x, Encoding(SPACE).encode(configs), f"{task.name}: x differs from the encoded ones.")
        require_equal(up.y, values, "A maximised task must keep its values.")
        require_equal(down.y, -values, "A minimised task must turn its values round: larger is better.")
        require(up.bounds == (-10.0, 20.0) and down.bounds == (-20.0, 10.0), f"bounds: {up.bounds}, {down.bounds}.")
        wanted: list[tuple[dict[str, Any], list[str]]] = [
            ({"exclude": ["up"]}, ["down"]),
            ({"exclude": {"down", "nobody"}}, ["up"]),
            ({"metric": "accuracy"}, ["up"]),
            ({"metric": "time"}, []),
            ({"minimum": 1}, ["down", "up", "short"]),
            ({"minimum": 0}, ["down", "up", "short"]),
            ({"minimum": 7}, []),
        ]
        for arguments, names in wanted:
            found = [task.name for task in memory.meta_dataset(SPACE, **arguments).tasks]
            require(found == names, f"meta_dataset({arguments}) gives {found}, expected {names}.")
        require_clean(memory)


def check_past_is_current(make: Make) -> None:
    """``meta_dataset`` keeps arrays only as long as nothing in the task changed."""
    rng = np.random.default_rng(1)
    with make() as memory:
        for name in ("a", "b", "c"):
            memory.create_task(name, SPACE)
            for config in SPACE.sample(3, rng=rng):
                memory.add_observation(name, config, float(rng.normal()))
        first = memory.meta_dataset(SPACE)
        number = memory.add_trial("b", CONFIG)
        finish(memory, number, "complete", 9.0, task="b")
        second = memory.meta_dataset(SPACE)
        require([len(task) for task in second.tasks] == [3, 4, 3], "A tell is missing from the past.")
        require(second.tasks[1].y[-1] == -9.0, "The value just told is missing from the past.")
        for old, new in zip((first.tasks[0], first.tasks[2]), (second.tasks[0], second.tasks[2]), strict=True):
            require(old is new, f"Task {old.name} did not change but was read again.")
        # as many changes as the last one that was deleted had, so that only its identity tells them apart
        memory.delete_task("c")
        memory.create_task("c", SPACE)
        for value in (1.0, 2.0, 3.0):
            memory.add_observation("c", CONFIG, value)
        third = memory.meta_dataset(SPACE)
        require([task.name for task in third.tasks] == ["a", "b", "c"], "A task made anew is not in its place.")
        require_equal(third.tasks[2].y, np.array([-1.0, -2.0, -3.0]), "A task made anew has its predecessor's values.")
        again = memory.meta_dataset(Space(*reversed(SPACE.parameters)))
        require(len(again) == 3, "The order of parameters must not matter.")
        require_equal(
            again.tasks[1].x,
            Encoding(Space(*reversed(SPACE.parameters))).encode([seen.config for seen in _complete(memory, "b")]),
            "Encoded with another order than that of the Space given.",
        )
        require_clean(memory)


def check_delete(make: Make) -> None:
    """A deleted task is gone with its trials and no other; its name is free."""
    with make() as memory:
        for name in ("a", "b"):
            memory.create_task(name, SPACE)
            memory.add_observation(name, CONFIG, 1.0)
        memory.add_trial("a", CONFIG)
        require(memory.delete_task("a") == 2, "delete_task() returns how many trials there were.")
        require([task.name for task in memory.tasks()] == ["b"], "Another task was deleted, too.")
        _require_error(TaskNotFoundError, lambda: memory.add_trial("a", CONFIG), "a trial of a deleted task")
        memory.create_task("a", Space(Float("x", 0.0, 1.0)))
        require(memory.observations("a") == [], "The new task has trials of the deleted one.")
        require(memory.delete_task("a") == 0 and memory.delete_task("b") == 1, "Wrong counts.")
        require(memory.tasks() == [], "Not all is gone.")
        require_clean(memory)


def check_closed(make: Make) -> None:
    """A closed Memory says so; closing twice is no error."""
    memory = make()
    memory.create_task("t", SPACE)
    memory.close()
    memory.close()
    _require_error(MemoryStoreError, memory.tasks, "a closed Memory")


def _complete(memory: Memory, task: str) -> list[Any]:
    return [seen for seen in memory.observations(task) if seen.state == "complete"]


def _is_shared(memory: Memory) -> bool:
    try:
        pickle.dumps(memory)
    except MemoryStoreError:
        return False
    return True


def _require_error(kind: type[Exception], use: Callable[[], object], what: str) -> None:
    try:
        use()
    except kind as error:
        require("\n" not in str(error) and str(error).strip(), f"{what}: the message is not one line: {error}")
    else:
        require(False, f"{what}: expected a {kind.__name__}, nothing was raised.")


def _bits(number: float | None) -> bytes:
    return b"" if number is None else struct.pack(">d", number)


def _exactly(value: Any) -> str:
    """Return text that is equal for equal JSON values only: repr tells 1 from 1.0 and True, and 0.0 from -0.0."""
    return repr(value)


def _no_values() -> list[Any]:
    return [None, math.nan, math.inf, -math.inf, "1", b"1", True, 10**400, [1.0], np.array([1.0]), np.bool_(True), 1j]


def _no_names() -> list[Any]:
    return ["", " ", " a", "a ", "a\nb", "\0", "\ud800", "a" * 201, None, 3, b"a", ["a"]]


def _no_configs() -> list[Any]:
    others: list[Any] = [{}, None, [], CONFIG | {"depth": 9}, CONFIG | {"rate": math.nan}, CONFIG | {"depth": True}]
    return [*others, CONFIG | {"kernel": "linear"}, CONFIG | {"unknown": 1}, {"rate": 0.1}]


def _no_metadata() -> list[Any]:
    circle: dict[str, Any] = {}
    circle["self"] = circle
    deep: Any = 0
    for _ in range(100_000):
        deep = [deep]
    return [{"x": math.nan}, {"x": math.inf}, {"x": {1, 2}}, {"x": b""}, {1: 2}, [1], "x", 3, circle, {"deep": deep}]


ALWAYS: tuple[Check, ...] = (
    check_empty,
    check_task_comes_back,
    check_names,
    check_other_tasks_refused,
    check_bits_come_back,
    check_trials,
    check_since,
    check_refusals_change_nothing,
    check_past,
    check_past_is_current,
    check_delete,
    check_closed,
    memory_sharing.check_threads,
)
