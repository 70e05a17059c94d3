"""A Memory as a suite: which tasks count, larger is better, and what the others are to each."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from headstart import Categorical, Float, Memory, Space
from headstart.benchmark.suites import open_suite
from headstart.benchmark.suites.of_memory import memory_suite
from headstart.encoding import Encoding
from headstart.errors import DataError, MemoryStoreError

LINE = Space(Float("u", 0.0, 2.0))
PLANE = Space(Float("lr", 1e-3, 1.0, log=True), Categorical("kernel", ["rbf", "poly"]))
COUNT = 12


def tune(memory: Memory, task: str, space: Space, *, trials: int = COUNT, seed: int = 0, **words: str) -> list[float]:
    """Store random trials, and return their values."""
    rng = np.random.default_rng(seed)
    memory.create_task(task, space, **words)  # type: ignore[arg-type]
    values = [float(value) for value in rng.normal(size=trials)]
    for config, value in zip(space.sample(trials, rng=rng), values, strict=True):
        memory.add_observation(task, config, value)
    return values


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a memory with three tasks in each of two Spaces, and what does not count."""
    with Memory(tmp_path / "runs.db") as memory:
        for number, task in enumerate(("a", "b", "c")):
            tune(memory, f"line {task}", LINE, seed=number, direction="maximize" if task == "a" else "minimize")
            tune(memory, f"plane {task}", PLANE, seed=10 + number)
        tune(memory, "line with nine", LINE, trials=9)
        memory.create_task("line constant", LINE)
        for config in LINE.sample(COUNT, rng=np.random.default_rng(0)):
            memory.add_observation("line constant", config, 0.5)
        memory.create_task("line failed", LINE)
        for number, config in enumerate(LINE.sample(COUNT, rng=np.random.default_rng(1))):
            if number < 9:
                memory.add_observation("line failed", config, float(number))
            else:
                memory.add_observation("line failed", config, failed=True)
        for task in "ab":  # two tasks are too few
            tune(memory, f"lonely {task}", Space(Float("v", 0.0, 1.0)))
    return tmp_path / "runs.db"


def test_spaces_and_tasks_that_have_enough(path: Path) -> None:
    suite = memory_suite(path)
    assert (suite.name, suite.given, suite.scale, suite.trials) == (str(path), 0, "honest", COUNT)
    assert len(suite.spaces) == 2
    for space, known, word in zip(suite.spaces, (LINE, PLANE), ("line", "plane"), strict=True):
        assert space.leave_one_out
        assert space.columns == Encoding(known).columns
        assert known.fingerprint[:6] in space.name
        assert space.train == space.validation == ()
        assert [problem.name for problem in space.test] == [f"{word} {task}" for task in "abc"]
        for problem in space.test:
            assert problem.space == space.name
            others = [task.name for task in space.past_of(problem, "test")]
            assert others == [f"{word} {task}" for task in "abc" if f"{word} {task}" != problem.name]
    assert suite.spaces[0].name.startswith("u ")
    assert suite.spaces[1].name.startswith("lr-kernel ")


def test_larger_becomes_better(tmp_path: Path) -> None:
    with Memory(tmp_path / "runs.db") as memory:
        values = {
            "up": tune(memory, "up", LINE, seed=1, direction="maximize"),
            "down": tune(memory, "down", LINE, seed=2, direction="minimize"),
            "other": tune(memory, "other", LINE, seed=3),
        }
        configs = {task: [trial.config for trial in memory.observations(task)] for task in values}
    (space,) = memory_suite(tmp_path / "runs.db").spaces
    for problem in space.test:
        sign = 1.0 if problem.name == "up" else -1.0
        assert np.array_equal(problem.y, sign * np.array(values[problem.name]))
        assert np.allclose(problem.x[:, 0], [config["u"] / 2.0 for config in configs[problem.name]])  # type: ignore[operator]


def test_trials_are_at_most_fifty(tmp_path: Path) -> None:
    with Memory(tmp_path / "runs.db") as memory:
        for number, trials in enumerate((10, 20, 80)):
            tune(memory, f"task {number}", LINE, trials=trials, seed=number)
    assert memory_suite(tmp_path / "runs.db").trials == 50


def test_tasks_of_another_metric_are_another_space(tmp_path: Path) -> None:
    with Memory(tmp_path / "runs.db") as memory:
        for number, task in enumerate("abc"):
            for metric in ("loss", "seconds", ""):
                tune(memory, f"{metric}-{task}", LINE, seed=number, **({"metric": metric} if metric else {}))
        tune(memory, "lonely", LINE, metric="accuracy")
    suite = memory_suite(tmp_path / "runs.db")
    found = {space.name.split(" ")[-1]: [problem.name for problem in space.test] for space in suite.spaces}
    assert found == {
        "loss": ["loss-a", "loss-b", "loss-c"],
        "seconds": ["seconds-a", "seconds-b", "seconds-c"],
        LINE.fingerprint[:6]: ["-a", "-b", "-c"],
    }


def test_a_memory_with_too_little_says_so(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with Memory(path) as memory:
        tune(memory, "a", LINE, seed=1)
        tune(memory, "b", LINE, seed=2)
        tune(memory, "c", LINE, seed=3, trials=9)
    with pytest.raises(DataError, match="no Space has 3 tasks of one metric with at least 10") as caught:
        memory_suite(path)
    assert str(path) in str(caught.value)
    assert str(caught.value).isprintable()
    with Memory(path) as memory:
        memory.add_observation("c", LINE.sample(1, rng=np.random.default_rng(5))[0], 0.25)
    assert len(memory_suite(path).spaces[0].test) == 3


def test_what_is_no_memory_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(MemoryStoreError):
        memory_suite(tmp_path / "none.db")
    assert not (tmp_path / "none.db").exists()
    (tmp_path / "text.db").write_text("this is no memory, but a text of some length" * 50)
    with pytest.raises(MemoryStoreError) as caught:
        memory_suite(tmp_path / "text.db")
    assert str(caught.value).isprintable()


def test_a_password_is_not_part_of_the_name(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    monkeypatch.setattr(Memory, "location", "postgresql://user:***@host/runs")  # what a Memory says of itself
    assert memory_suite(path).name == "postgresql://user:***@host/runs"


def test_the_fingerprint(path: Path, tmp_path: Path) -> None:
    first = memory_suite(path)
    moved = tmp_path / "elsewhere.db"
    shutil.copy(path, moved)
    assert memory_suite(moved).fingerprint == first.fingerprint
    config = LINE.sample(1, rng=np.random.default_rng(9))[0]
    with Memory(moved) as memory:  # what is not part of the suite says nothing
        memory.add_observation("lonely a", {"v": 0.5}, 1.0)
        memory.add_observation("line a", config, failed=True)
    assert memory_suite(moved).fingerprint == first.fingerprint
    with Memory(moved) as memory:
        memory.add_observation("line a", config, 1.0)
    second = memory_suite(moved).fingerprint
    with Memory(moved) as memory:
        memory.add_observation("line with nine", config, 1.0)  # now it has ten
    third = memory_suite(moved).fingerprint
    with Memory(moved) as memory:
        memory.delete_task("plane a")
    assert len({first.fingerprint, second, third, memory_suite(moved).fingerprint}) == 4


def test_names_are_part_of_the_fingerprint(tmp_path: Path) -> None:
    found: list[str] = []
    for name in ("a", "b"):
        with Memory(tmp_path / f"{name}.db") as memory:
            for number, task in enumerate((name, "x", "y")):
                tune(memory, task, LINE, seed=number)
        found.append(memory_suite(tmp_path / f"{name}.db").fingerprint)
    assert found[0] != found[1]


def test_a_memory_is_opened_by_its_place(path: Path) -> None:
    assert open_suite(str(path)).fingerprint == memory_suite(path).fingerprint
    assert open_suite(f"sqlite:///{path}").fingerprint == memory_suite(path).fingerprint
