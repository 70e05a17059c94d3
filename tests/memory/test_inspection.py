"""``check()`` finds every kind of damage, written here behind the memory's back, and is silent about a good memory."""

import sqlite3
from pathlib import Path

import pytest

from headstart.memory import Memory
from headstart.space import Float, Int, Space

SPACE = Space(Float("x", 0.0, 1.0), Int("n", 1, 9, when={"kind": 1}), Int("kind", 0, 1))
CONFIG = {"x": 0.5, "kind": 0}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a good memory: task "a" with trials 0 to 5 in every state, and an empty task "b"."""
    path = tmp_path / "runs.db"
    with Memory(path) as memory:
        memory.create_task("a", SPACE, bounds=(0.0, 9.0), seed=3, metadata={"of": "it"})
        for _ in range(4):
            memory.add_trial("a", CONFIG)
        memory.finish_trial("a", 1, state="complete", value=2.5, duration=0.5)
        memory.finish_trial("a", 2, state="failed")
        memory.finish_trial("a", 3, state="abandoned")
        memory.add_observation("a", CONFIG | {"kind": 1, "n": 3}, -0.0)
        memory.add_observation("a", CONFIG, failed=True)
        memory.create_task("b", SPACE)
    return path


def _problems(path: Path, *statements: str) -> list[str]:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA writable_schema=ON")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    with Memory(path) as memory:
        return memory.check()


def test_a_good_memory_has_no_problems(path: Path) -> None:
    assert _problems(path) == []


def _trial(number: int, change: str) -> str:
    return f"UPDATE trials SET {change} WHERE number = {number}"


DAMAGE = [
    (_trial(0, "state = 'done'"), "trial 0: its state is 'done'"),
    (_trial(1, "value = NULL"), "trial 1: it is complete but has no value"),
    (_trial(1, "value = 9e999"), "trial 1: its value is inf, not a finite number"),
    (_trial(1, "value = 'good'"), "trial 1: its value is 'good', not a finite number"),
    (_trial(1, "value = x'00'"), "trial 1: its value is b'"),
    (_trial(1, "duration = -1.0"), "trial 1: its duration is -1.0"),
    (_trial(1, "duration = 'long'"), "trial 1: its duration is 'long'"),
    (_trial(1, "told_order = NULL"), "trial 1: it is complete, its place in the order of tells is None"),
    (_trial(1, "told_order = 9"), "the order of its 4 told trials has gaps"),
    (_trial(1, "told_order = 'first'"), "trial 1: it is complete, its place in the order of tells is 'first'"),
    (_trial(1, "finished = NULL"), "trial 1: it is complete, its end is None"),
    (_trial(0, "finished = 1.5"), "trial 0: it is running, its end is 1.5"),
    (_trial(0, "told_before = 'some'"), "trial 0: it knew 'some' told trials"),
    (_trial(2, "value = 1.0"), "trial 2: it is failed but has a value"),
    (_trial(2, "metadata = '[]'"), "trial 2: its metadata is not a JSON object"),
    (_trial(2, "metadata = '{'"), "trial 2: its metadata is not a JSON object"),
    (_trial(3, "config = 'x = 1'"), "trial 3: its config is not JSON"),
    (_trial(3, "config = x'ff'"), "trial 3: its config is not JSON"),
    (_trial(3, "config = replace(hex(zeroblob(20000)), '0', '[')"), "trial 3: its config is not JSON"),
    (_trial(3, "config = '[]'"), "trial 3: its config does not fit its Space (A Config must map names"),
    (_trial(3, """config = '{"x": 2.0, "kind": 0}'"""), "trial 3: its config does not fit its Space (Float 'x' must"),
    (_trial(3, """config = '{"x": 0.2, "kind": 1}'"""), "trial 3: its config does not fit its Space (Config: 'n' is"),
    (_trial(5, "number = 7"), "Task 'a': number 5 is missing before trial 7"),
    (_trial(5, "number = 'five'"), "Task 'a': a trial has number 'five'"),
    (_trial(5, "revision = 'x'"), "and revision 'x'"),
    (_trial(5, "task_id = 77"), "refers to a row of tasks that is not there"),
    ("DELETE FROM trials WHERE number = 1", "Task 'a': number 1 is missing before trial 2"),
    ("UPDATE tasks SET revision = 1 WHERE name = 'a'", "Task 'a': its revision is 1, but a trial has 9"),
    ("UPDATE tasks SET revision = 'x' WHERE name = 'a'", "Task 'a': its revision is 'x'"),
    ("UPDATE tasks SET seed = 'x' WHERE name = 'a'", "its seed 'x'"),
    ("UPDATE tasks SET direction = 'up' WHERE name = 'a'", "Task 'a': direction is 'up'"),
    ("UPDATE tasks SET metadata = 'x' WHERE name = 'a'", "Task 'a': metadata is not a JSON object"),
    ("UPDATE tasks SET low = 10.0 WHERE name = 'a'", "Task 'a': bounds are not in order"),
    ("UPDATE tasks SET low = NULL WHERE name = 'a'", "Task 'a': bounds are (None, 9.0)"),
    ("UPDATE tasks SET low = -9e999 WHERE name = 'a'", "Task 'a': bounds are (-inf, 9.0)"),
    ("UPDATE tasks SET name = ' a' WHERE name = 'a'", "must be 1 to 200 printable characters"),
    ("UPDATE tasks SET name = x'ff' WHERE name = 'a'", "must be 1 to 200 printable characters"),
    ("UPDATE tasks SET name = CAST(x'ff61' AS TEXT) WHERE name = 'a'", "is damaged"),
    ("UPDATE tasks SET space_id = 77 WHERE name = 'b'", "refers to a row of spaces that is not there"),
    ("UPDATE spaces SET definition = '{}'", "Space 1: cannot be read"),
    ("UPDATE spaces SET definition = x'7b7d'", "Space 1: cannot be read (it is not text)"),
    ("UPDATE spaces SET fingerprint = 'x'", "Space 1: the stored fingerprint is not that of its definition"),
    ("UPDATE spaces SET digest = 'x'", "Space 1: the stored digest is not that of its definition"),
    ("UPDATE spaces SET definition = replace(definition, '9', '5')", "Space 1: the stored fingerprint is not that"),
]


@pytest.mark.parametrize(("statement", "expected"), DAMAGE, ids=[expected for _, expected in DAMAGE])
def test_damage_is_found(path: Path, statement: str, expected: str) -> None:
    problems = _problems(path, statement)
    assert any(expected in problem for problem in problems), problems
    assert all("\n" not in problem for problem in problems)
    assert len(set(problems)) == len(problems)


def test_every_problem_is_told_not_only_the_first(path: Path) -> None:
    problems = _problems(path, *(statement for statement, _ in (DAMAGE[2], DAMAGE[12], DAMAGE[30])))
    assert len(problems) == 3


def test_a_damaged_page_is_found(path: Path) -> None:
    with Memory(path) as memory:
        for i in range(200):
            memory.add_observation("b", CONFIG, float(i), metadata={"text": "m" * 300})
    content = bytearray(path.read_bytes())
    middle = len(content) // 2 // 4096 * 4096
    content[middle : middle + 4096] = b"\x05" * 4096
    path.write_bytes(content)
    with Memory(path) as memory:
        problems = memory.check()
    assert any("damaged" in problem for problem in problems), problems


def test_an_index_that_lost_a_row_is_found(path: Path) -> None:
    statement = "UPDATE sqlite_schema SET sql = 'CREATE INDEX tasks_by_space_id ON tasks (direction)' "
    problems = _problems(path, statement + "WHERE name = 'tasks_by_space_id'")
    assert any(problem.startswith("The file is damaged: row") for problem in problems), problems
