"""What a Memory stores and gives back; what every memory must do is in headstart.testing.memories."""

import copy
import json
import math
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headstart.errors import ConfigError, DataError, HeadstartError, MemoryStoreError, TaskNotFoundError, TrialError
from headstart.memory import Memory, TaskRecord, TrialCounts
from headstart.space import Categorical, Config, Float, Int, Space
from strategies import SEEDS, sampled, spaces

SPACE = Space(Float("x", 0.0, 1.0), Int("n", 1, 9), Categorical("c", ["a", "b"]))
CONFIG: Config = {"x": 0.25, "n": 3, "c": "a"}

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**40), 10**40) | FLOATS | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
NAMES = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=200)


@pytest.fixture
def memory(tmp_path: Path) -> Any:
    with Memory(tmp_path / "runs.db") as opened:
        opened.create_task("t", SPACE)
        yield opened


@pytest.fixture(scope="module")
def shared() -> Any:
    with Memory(":memory:") as opened:
        yield opened


@given(value=FLOATS, duration=st.none() | st.floats(0, allow_infinity=False), metadata=st.dictionaries(st.text(), JSON))
@settings(max_examples=150, deadline=None)
def test_values_and_metadata_come_back_bit_by_bit(
    shared: Memory, value: float, duration: float | None, metadata: dict[str, Any]
) -> None:
    shared.create_task("bits", SPACE)
    number = shared.add_observation("bits", CONFIG, value, duration=duration, metadata=metadata)
    seen = shared.observations("bits", since=shared.task("bits").revision - 1)[0]
    assert seen.number == number
    assert struct.pack("d", seen.value) == struct.pack("d", value)
    assert repr(seen.duration) == repr(duration)
    assert repr(seen.metadata) == repr(metadata)  # repr tells 0.0 from -0.0, and 1 from 1.0 and True


@given(space=spaces(), seed=SEEDS, name=NAMES)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_space_and_its_configurations_come_back(space: Space, seed: int, name: str) -> None:
    with Memory(":memory:") as memory:
        memory.create_task(name, space)
        configs = sampled(space, seed, 3)
        for config in configs:
            memory.add_observation(name, config, 1.0)
        assert memory.task(name).space == space
        found = [seen.config for seen in memory.observations(name)]
        assert repr(found) == repr(configs)
        (task,) = memory.meta_dataset(space).tasks
        assert len(task) == 3
        assert memory.check() == []


@given(
    value=st.one_of(st.text(), st.none(), st.booleans(), st.just(math.nan), st.just(math.inf), st.just(10**400), JSON),
    name=st.one_of(st.text(max_size=3), st.none(), st.integers(), st.text(min_size=201)),
    state=st.one_of(st.text(), st.sampled_from(["running", "complete", "failed"]), st.none()),
    number=st.one_of(st.integers(), FLOATS, st.none()),
)
@settings(max_examples=150, deadline=None)
def test_whatever_comes_in_is_stored_or_refused_in_words(
    shared: Memory, value: Any, name: Any, state: Any, number: Any
) -> None:
    shared.create_task("doors", SPACE)
    calls = [
        lambda: shared.create_task(name, SPACE, seed=number, bounds=value, metadata=value, method=value),
        lambda: shared.add_observation("doors", CONFIG, value, metadata=value),
        lambda: shared.add_trial(name, value, told_before=number),
        lambda: shared.finish_trial("doors", number, state=state, value=value, duration=number),
        lambda: shared.observations(name, since=number),
        lambda: shared.meta_dataset(SPACE, exclude=value, metric=name, minimum=number),
        lambda: shared.meta_dataset(value),
        lambda: shared.tasks(value),
        lambda: shared.create_task("d", value),
    ]
    for call in calls:
        try:
            call()
        except HeadstartError as error:
            assert str(error).strip()  # noqa: PT017 - anything else escapes and fails the test
    assert shared.check() == []


def test_numbers_of_other_libraries_are_numbers(memory: Memory) -> None:
    for value in (np.float32(0.1), np.int64(3), np.array(0.5), 7):
        number = memory.add_observation("t", CONFIG, value)
        assert memory.observations("t")[number].value == float(value)
    config: Any = {"x": np.float64(0.5), "n": np.int32(4), "c": np.str_("b")}
    number = memory.add_observation("t", config, 1.0, metadata={"a": np.arange(2), "b": np.float64(0.1), "c": (1, 2)})
    seen = memory.observations("t")[number]
    assert repr(seen.config) == "{'x': 0.5, 'n': 4, 'c': 'b'}"
    assert seen.metadata == {"a": [0, 1], "b": 0.1, "c": [1, 2]}


def test_messages_name_task_rule_and_advice(memory: Memory) -> None:
    with pytest.raises(TaskNotFoundError, match=r"There is no task 'T1' in this memory\. It has 1, such as 't'\."):
        memory.task("T1")
    memory.create_task("churn-2026", SPACE)
    with pytest.raises(TaskNotFoundError, match=r"The closest names are 'churn-2026'\."):
        memory.task("churn-2025")
    with pytest.raises(DataError, match=r"Task 't', observation: value must be a finite number, got nan\."):
        memory.add_observation("t", CONFIG, math.nan)
    with pytest.raises(DataError, match="a complete trial needs a value, got None"):
        memory.add_observation("t", CONFIG)
    with pytest.raises(ConfigError, match="'n' must lie in"):
        memory.add_trial("t", CONFIG | {"n": 10})
    with pytest.raises(TrialError, match=r"Task 't', trial 5: there is no such trial; the task has 0\."):
        memory.finish_trial("t", 5, state="failed")
    memory.add_observation("t", CONFIG, 1.0)
    with pytest.raises(TrialError, match=r"trial 0 was told before: it is complete\."):
        memory.finish_trial("t", 0, state="complete", value=2.0)
    assert memory.observations("t")[0].value == 1.0


def test_another_space_is_refused_naming_the_parameter(memory: Memory) -> None:
    other = Space(Float("x", 0.0, 1.0, default=0.5), Int("n", 1, 10), Categorical("c", ["a", "b"]))
    with pytest.raises(MemoryStoreError, match=r"another Space: its 'n' was .*'high': 9.* and came as .*'high': 10"):
        memory.create_task("t", other)
    with pytest.raises(MemoryStoreError, match="'extra' was nothing and came as"):
        memory.create_task("t", Space(*SPACE.parameters, Int("extra", 0, 1)))
    with pytest.raises(MemoryStoreError, match=r"direction minimize, but came with maximize\. Give what is stored"):
        memory.create_task("t", SPACE, direction="maximize")
    with pytest.raises(MemoryStoreError, match="metric None, but came with loss"):
        memory.create_task("t", SPACE, metric="loss")


def test_spaces_with_other_defaults_are_kept_apart_but_share_a_past(memory: Memory) -> None:
    other = Space(Float("x", 0.0, 1.0, default=0.5), Int("n", 1, 9), Categorical("c", ["b", "a"]))
    assert other.fingerprint == SPACE.fingerprint
    memory.create_task("u", other)
    assert memory.task("t").space == SPACE
    assert memory.task("u").space == other
    assert memory.task("u").space.default == {"x": 0.5, "n": 5, "c": "b"}
    assert [task.name for task in memory.tasks(SPACE)] == ["t", "u"]
    for name in ("t", "u"):
        for _ in range(2):
            memory.add_observation(name, CONFIG, 1.0)
    first, second = memory.meta_dataset(other).tasks
    assert np.array_equal(first.x, second.x)
    assert memory.delete_task("u") == 2
    assert memory.task("t").space == SPACE
    assert memory.check() == []


def test_records_count_and_know_the_best_in_their_direction(memory: Memory) -> None:
    memory.create_task("up", SPACE, direction="maximize")
    for name in ("t", "up"):
        for value in (2.0, -1.0, 0.5):
            memory.add_observation(name, CONFIG, value)
        memory.add_observation(name, CONFIG, failed=True)
        memory.add_trial(name, CONFIG)
    assert [task.best for task in memory.tasks()] == [-1.0, 2.0]
    assert all(task.trials == TrialCounts(running=1, complete=3, failed=1) for task in memory.tasks())
    record: TaskRecord = memory.task("t")
    assert record.trials.total == 5
    assert record.changed >= record.created
    with pytest.raises(AttributeError):
        record.best = 0.0  # type: ignore[misc]


def test_pickles_as_its_location_also_from_another_folder(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with Memory("runs.db", timeout=3) as relative:
        data = pickle.dumps(relative)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with pickle.loads(data) as again, copy.deepcopy(memory) as copied:
        again.add_observation("t", CONFIG, 1.0)
        assert len(copied.observations("t")) == len(memory.observations("t")) == 1
    (tmp_path / "runs.db").unlink()
    with pytest.raises(MemoryStoreError, match="is not there"):  # a lost memory must not come back empty
        pickle.loads(data)


def test_a_private_memory_does_not_pickle() -> None:
    with Memory(":memory:") as memory, pytest.raises(MemoryStoreError, match="cannot be pickled or copied"):
        pickle.dumps(memory)


def test_configurations_are_plain_json_in_the_file(memory: Memory, tmp_path: Path) -> None:
    import sqlite3

    memory.add_observation("t", CONFIG, 0.5)
    connection = sqlite3.connect(tmp_path / "runs.db")
    ((config,),) = connection.execute("SELECT config FROM trials").fetchall()
    connection.close()
    assert json.loads(config) == CONFIG


def test_closing_leaves_one_file(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "runs.db")
    memory.create_task("t", SPACE)
    assert (tmp_path / "runs.db-wal").stat().st_size > 0
    memory.close()
    assert [path.name for path in tmp_path.iterdir()] == ["runs.db"]


def test_a_forgotten_memory_closes_itself(tmp_path: Path) -> None:
    Memory(tmp_path / "runs.db").create_task("t", SPACE)
    assert [path.name for path in tmp_path.iterdir()] == ["runs.db"]
