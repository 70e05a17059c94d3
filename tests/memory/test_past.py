"""``meta_dataset``: past tasks as arrays, larger is better, read again only where something changed."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import event

from headstart.encoding import Encoding
from headstart.errors import MemoryStoreError
from headstart.memory import Memory
from headstart.memory.past import SPACES_KEPT, TASKS_AT_ONCE
from headstart.space import Categorical, Float, Int, Space

SPACE = Space(
    Float("rate", 1e-4, 1.0, log=True),
    Categorical("kernel", ["rbf", "linear"]),
    Int("degree", 2, 5, when={"kernel": "rbf"}),
)
CONFIGS = SPACE.sample(5, rng=np.random.default_rng(0))
VALUES = [0.5, -2.0, 3.25, 0.0, 1e-9]


@pytest.fixture
def memory(tmp_path: Path) -> Any:
    with Memory(tmp_path / "runs.db") as opened:
        yield opened


def _fill(memory: Memory, name: str, space: Space = SPACE, **settings: Any) -> None:
    memory.create_task(name, space, **settings)
    for config, value in zip(CONFIGS, VALUES, strict=True):
        memory.add_observation(name, config, value)


def test_a_minimised_and_a_maximised_task_stand_side_by_side(memory: Memory) -> None:
    _fill(memory, "loss", bounds=(-5.0, 9.0))
    _fill(memory, "accuracy", direction="maximize", bounds=(-5.0, 9.0))
    past = memory.meta_dataset(SPACE)
    loss, accuracy = past.tasks
    assert loss.y.tolist() == [-0.5, 2.0, -3.25, 0.0, -1e-9]
    assert accuracy.y.tolist() == VALUES
    assert loss.bounds == (-9.0, 5.0)
    assert accuracy.bounds == (-5.0, 9.0)
    assert CONFIGS[int(np.argmax(loss.y))] == CONFIGS[1]
    assert CONFIGS[int(np.argmax(accuracy.y))] == CONFIGS[2]
    assert past.columns == Encoding(SPACE).columns
    for task in past.tasks:
        assert np.array_equal(task.x, Encoding(SPACE).encode(CONFIGS))
        assert not task.x.flags.writeable


def test_rows_follow_the_numbers_of_trials_not_the_order_of_tells(memory: Memory) -> None:
    memory.create_task("t", SPACE)
    numbers = [memory.add_trial("t", config) for config in CONFIGS]
    for number in (3, 0, 4):
        memory.finish_trial("t", number, state="complete", value=float(number))
    memory.finish_trial("t", 1, state="failed")
    memory.finish_trial("t", 2, state="abandoned")
    (task,) = memory.meta_dataset(SPACE).tasks
    assert numbers == [0, 1, 2, 3, 4]
    assert task.y.tolist() == [0.0, -3.0, -4.0]
    assert np.array_equal(task.x, Encoding(SPACE).encode([CONFIGS[i] for i in (0, 3, 4)]))


def test_bounds_that_values_contradict_are_not_used(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    _fill(memory, "wrong", bounds=(0.0, 1.0))
    with caplog.at_level(logging.INFO, "headstart"):
        assert memory.meta_dataset(SPACE).tasks[0].bounds is None
    assert "Task 'wrong' has values outside its bounds" in caplog.text
    assert memory.task("wrong").bounds == (0.0, 1.0)


def test_what_is_left_out_is_logged(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    _fill(memory, "a", metric="loss")
    _fill(memory, "b", metric="time")
    _fill(memory, "c", metric="loss")
    memory.create_task("short", SPACE, metric="loss")
    with caplog.at_level(logging.INFO, "headstart"):
        past = memory.meta_dataset(SPACE, exclude="c", metric="loss")
    assert [task.name for task in past.tasks] == ["a"]
    assert "1 past tasks with 5 complete trials; left out: 1 with fewer than 2, 2 excluded or of another metric" in (
        caplog.text
    )


def test_an_empty_past_still_knows_its_columns(memory: Memory) -> None:
    past = memory.meta_dataset(SPACE)
    assert len(past) == 0
    assert past.columns == Encoding(SPACE).columns
    memory.create_task("t", SPACE)
    (task,) = memory.meta_dataset(SPACE, minimum=0).tasks
    assert task.x.shape == (0, len(Encoding(SPACE).columns))


def _trials_read(memory: Memory) -> list[str]:
    """Return the tasks that queries for trials ask for, as they run from now on."""
    read: list[str] = []

    def note(_c: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, _many: bool) -> None:
        if "trials.config" in statement and "FROM trials" in statement:
            read.append(str(parameters))

    # private on purpose: that nothing is read again cannot be seen from outside
    event.listen(memory._database._engine, "before_cursor_execute", note)  # type: ignore[reportPrivateUsage]
    return read


def test_only_changed_tasks_are_read_again(memory: Memory) -> None:
    for name in ("a", "b", "c"):
        _fill(memory, name)
    first = memory.meta_dataset(SPACE)
    read = _trials_read(memory)
    assert memory.meta_dataset(SPACE).tasks == first.tasks
    assert read == []
    memory.add_trial("b", CONFIGS[0])
    second = memory.meta_dataset(SPACE, exclude="b")
    assert read == []  # it changed, but nobody wants it
    assert second.tasks == (first.tasks[0], first.tasks[2])
    third = memory.meta_dataset(SPACE)
    assert len(read) == 1
    assert "2" in read[0]  # the identifier of b
    assert third.tasks[0] is first.tasks[0]
    assert third.tasks[1] is not first.tasks[1]
    memory.meta_dataset(SPACE)
    assert len(read) == 1


def test_changes_by_another_process_are_seen(memory: Memory, tmp_path: Path) -> None:
    _fill(memory, "a")
    assert len(memory.meta_dataset(SPACE).tasks[0]) == 5
    with Memory(tmp_path / "runs.db") as other:
        other.add_observation("a", CONFIGS[0], 7.0)
    assert memory.meta_dataset(SPACE).tasks[0].y.tolist()[-1] == -7.0


def test_arrays_of_few_spaces_are_kept(memory: Memory) -> None:
    _fill(memory, "a")
    defaults = [0.1 * (i + 1) for i in range(SPACES_KEPT + 1)]
    variants = [Space(Float("rate", 1e-4, 1.0, log=True, default=d), *SPACE.parameters[1:]) for d in defaults]
    first = [memory.meta_dataset(variant).tasks[0] for variant in variants]
    again = [memory.meta_dataset(variant).tasks[0] for variant in reversed(variants)]
    kept = [old is new for old, new in zip(reversed(first), again, strict=True)]
    assert kept == [True] * SPACES_KEPT + [False]


def test_more_tasks_than_one_query_reads(memory: Memory) -> None:
    count = TASKS_AT_ONCE + 3
    for i in range(count):
        memory.create_task(f"t{i}", SPACE)
        if i % 3:
            memory.add_observation(f"t{i}", CONFIGS[0], float(i))
    past = memory.meta_dataset(SPACE, minimum=1)
    assert [(task.name, task.y.tolist()) for task in past.tasks] == [
        (f"t{i}", [-float(i)]) for i in range(count) if i % 3
    ]


def test_a_trial_that_does_not_fit_names_its_task_and_can_be_left_out(memory: Memory, tmp_path: Path) -> None:
    import sqlite3

    _fill(memory, "good")
    _fill(memory, "bad")
    for config in ('{"rate": 5.0, "kernel": "linear"}', "[1", "1], [2", "[" * 100_000):
        connection = sqlite3.connect(tmp_path / "runs.db")
        connection.execute("UPDATE trials SET config = ? WHERE task_id = 2 AND number = 1", (config,))
        connection.execute("UPDATE tasks SET revision = revision + 1 WHERE id = 2")
        connection.commit()
        connection.close()
        with pytest.raises(MemoryStoreError, match=r"Task 'bad' has trials that do not fit .* exclude="):
            memory.meta_dataset(SPACE)
        assert [task.name for task in memory.meta_dataset(SPACE, exclude="bad").tasks] == ["good"]
