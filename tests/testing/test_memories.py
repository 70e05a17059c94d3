"""The suite for memories passes on every kind that there is, and fails where a memory breaks its promise."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from headstart.data import MetaDataset, Observation, TaskData
from headstart.memory import Memory
from headstart.testing import memories, memory_sharing
from headstart.testing.memories import memory_checks

KINDS: dict[str, Callable[[Path], Memory]] = {
    "file": lambda folder: Memory(folder / f"{uuid4()}.db"),
    "url": lambda folder: Memory(f"sqlite:///{folder}/{uuid4()}.db"),
    "private": lambda _: Memory(":memory:"),
}
SLOW = {memory_sharing.check_processes, memory_sharing.check_killed_process}
CASES = [
    (kind, check)
    for kind, make in KINDS.items()
    for check in (memories.ALWAYS if kind == "private" else memories.ALWAYS + memory_sharing.SHARED)
    if kind == "file" or check not in SLOW  # processes differ by the file, not by how it was named
]


@pytest.mark.parametrize(("kind", "check"), CASES, ids=[f"{kind}-{check.__name__}" for kind, check in CASES])
def test_conforms(kind: str, check: Callable[[Any], None], tmp_path: Path) -> None:
    check(lambda: KINDS[kind](tmp_path))


def test_checks_are_those_that_apply(tmp_path: Path) -> None:
    assert memory_checks(lambda: KINDS["file"](tmp_path)) == memories.ALWAYS + memory_sharing.SHARED
    assert memory_checks(lambda: KINDS["private"](tmp_path)) == memories.ALWAYS


class _WrongWay(Memory):
    def meta_dataset(self, *args: Any, **kwargs: Any) -> MetaDataset:
        past = super().meta_dataset(*args, **kwargs)
        tasks = tuple(TaskData(task.x, -task.y, task.columns, None, task.name) for task in past.tasks)
        return MetaDataset(tasks, past.columns)


class _Stale(Memory):
    def meta_dataset(self, *args: Any, **kwargs: Any) -> MetaDataset:
        kept = self.__dict__.setdefault("kept", {})
        key = repr((args, kwargs))
        if key not in kept:
            kept[key] = super().meta_dataset(*args, **kwargs)
        return kept[key]


class _Forgetful(Memory):
    def observations(self, *args: Any, **kwargs: Any) -> list[Observation]:
        return super().observations(*args, **kwargs)[:3]


class _Rounding(Memory):
    def add_observation(self, task: str, config: Any, value: Any = None, **kwargs: Any) -> int:
        rounded = value + 0.0 if isinstance(value, float) else value  # -0.0 becomes 0.0
        return super().add_observation(task, config, rounded, **kwargs)


class _ToldTwice(Memory):
    def finish_trial(self, task: str, number: int, **kwargs: Any) -> None:
        if self.observations(task)[number].state == "running":
            super().finish_trial(task, number, **kwargs)


class _AnyTask(Memory):
    def create_task(self, name: str, *args: Any, **kwargs: Any) -> Any:
        known = [task for task in self.tasks() if task.name == name]
        return known[0] if known else super().create_task(name, *args, **kwargs)


class _DeletesAll(Memory):
    def delete_task(self, name: str) -> int:
        self.task(name)
        return max(Memory.delete_task(self, task.name) for task in self.tasks())


class _SinceIgnored(Memory):
    def observations(self, task: str, *, since: int = 0) -> list[Observation]:
        return super().observations(task)


class _NeverClosed(Memory):
    def close(self) -> None:
        """Do nothing."""


DEFECTS = [
    (_WrongWay, memories.check_past),
    (_Stale, memories.check_past_is_current),
    (_Forgetful, memories.check_trials),
    (_Forgetful, memory_sharing.check_threads),
    (_Rounding, memories.check_bits_come_back),
    (_ToldTwice, memories.check_trials),
    (_AnyTask, memories.check_other_tasks_refused),
    (_DeletesAll, memories.check_delete),
    (_SinceIgnored, memories.check_since),
    (_NeverClosed, memories.check_closed),
]


@pytest.mark.parametrize(("defect", "check"), DEFECTS, ids=[f"{d.__name__}-{c.__name__}" for d, c in DEFECTS])
def test_a_defect_is_found(defect: type[Memory], check: Callable[[Any], None]) -> None:
    with pytest.raises(AssertionError):
        check(lambda: defect(":memory:"))
