"""Several families of one folder as one conditional Space: rows, pools, tasks, splits, and what is refused."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headstart.benchmark.parquet import read_columns, write_columns
from headstart.benchmark.problems import Suite
from headstart.benchmark.suites.combined import combined_split, combined_suite, is_described_folder
from headstart.encoding import Encoding
from headstart.errors import DataError, SettingsError
from headstart.space import Categorical, Float, Int, Space

DEV_SUITE = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "dev-suite"
needs_dev_suite = pytest.mark.skipif(not DEV_SUITE.is_dir(), reason="../shared/data/dev-suite is not here")

SVM: dict[str, Any] = {
    "parameters": {
        "kernel": {"type": "categorical", "choices": ["rbf", "linear"]},
        "C": {"type": "float", "low": 0.01, "high": 100.0, "log": True},
        "gamma": {"type": "float", "low": 0.0, "high": 4.0, "log": False, "only_if": {"kernel": ["rbf"]}},
    },
    "split": {"train": ["a", "b", "c"], "validation": ["d"], "test": ["e", "own"]},
    "source": "here",
}
TREE: dict[str, Any] = {
    "parameters": {"depth": {"type": "int", "low": 1.0, "high": 5.0, "log": False}},
    "split": {"train": ["c", "a", "d"], "validation": ["e"], "test": ["b"]},
    "source": "here",
}
OTHER: dict[str, Any] = {"parameters": {}, "split": {"train": ["a"]}, "source": "elsewhere"}
DESCRIBED = {"other": OTHER, "svm": SVM, "tree": TREE}
TASKS = "abcde"


def svm_rows(tasks: str = TASKS) -> dict[str, list[Any]]:
    """Return three configurations of every task, the second of which task c lacks."""
    columns: dict[str, list[Any]] = {name: [] for name in ("task", "kernel", "C", "gamma", "score")}
    for number, task in enumerate([*tasks, "own"]):
        for row in (("rbf", 1.0, 3.0, 0.1), ("linear", 100.0, None, 0.2), ("rbf", 0.01, 0.0, 0.3)):
            if not (task == "c" and row[0] == "linear"):
                for name, value in zip(columns, (task, *row[:3], row[3] + number), strict=True):
                    columns[name].append(value)
    return columns


def tree_rows(tasks: str = TASKS) -> dict[str, list[Any]]:
    """Return two configurations of every task, in another order in task b."""
    columns: dict[str, list[Any]] = {"task": [], "depth": [], "score": []}
    for number, task in enumerate(tasks):
        for depth in (5.0, 2.0) if task == "b" else (2.0, 5.0):
            for name, value in zip(columns, (task, depth, depth / 10 + number), strict=True):
                columns[name].append(value)
    return columns


def write(folder: Path, described: Any = DESCRIBED, **changes: dict[str, list[Any]]) -> Path:
    (folder / "runs").mkdir(parents=True, exist_ok=True)
    (folder / "spaces.json").write_text(json.dumps(described))
    for name, columns in {"svm": svm_rows(), "tree": tree_rows(), **changes}.items():
        write_columns(folder / "runs" / f"{name}.parquet", columns, {})
    return folder


def parts(suite: Suite) -> dict[str, str]:
    (space,) = suite.spaces
    return {part: "".join(task.name for task in getattr(space, part)) for part in ("train", "validation", "test")}


def test_the_folder_is_one_space_in_which_the_algorithm_decides(tmp_path: Path) -> None:
    assert not is_described_folder(tmp_path)
    suite = combined_suite(write(tmp_path))
    assert is_described_folder(tmp_path)
    (space,) = suite.spaces
    expected = Space(
        Categorical("algorithm", ["svm", "tree"]),
        Categorical("svm.kernel", ["rbf", "linear"], when={"algorithm": "svm"}),
        Float("svm.C", 0.01, 100.0, log=True, when={"algorithm": "svm"}),
        Float("svm.gamma", 0.0, 4.0, when={"algorithm": "svm", "svm.kernel": "rbf"}),
        Int("tree.depth", 1, 5, when={"algorithm": "tree"}),
    )
    assert space.columns == Encoding(expected).columns
    #       algorithm | kernel, absent | C, absent | gamma, absent | depth, absent
    rows = [
        [1, 0, 1, 0, 0, 0.5, 0, 0.75, 0, 0, 1],
        [1, 0, 0, 1, 0, 1.0, 0, 0, 1, 0, 1],
        [1, 0, 1, 0, 0, 0.0, 0, 0.0, 0, 0, 1],
        [0, 1, 0, 0, 1, 0, 1, 0, 1, 0.25, 0],
        [0, 1, 0, 0, 1, 0, 1, 0, 1, 1.0, 0],
    ]
    a = space.train[0]
    assert a.name == "a"
    np.testing.assert_allclose(a.x, rows, atol=1e-12)
    np.testing.assert_allclose(a.y, [0.1, 0.2, 0.3, 0.2, 0.5])
    assert (suite.given, suite.scale) == (0, "honest")


def test_pools_hold_what_was_run_and_keep_one_order(tmp_path: Path) -> None:
    (space,) = combined_suite(write(tmp_path)).spaces
    tasks = {task.name: task for task in (*space.train, *space.validation, *space.test)}
    np.testing.assert_array_equal(tasks["c"].x, np.delete(tasks["a"].x, 1, axis=0))
    np.testing.assert_allclose(tasks["c"].y, [2.1, 2.3, 2.2, 2.5])
    np.testing.assert_allclose(tasks["b"].y, [1.1, 1.2, 1.3, 1.2, 1.5])  # though its file has the trees reversed
    assert tasks["a"].x is tasks["b"].x  # one array for all tasks with the same pool


def test_tasks_are_those_of_all_families_and_the_strongest_claim_holds(tmp_path: Path) -> None:
    # a, c: past in both; b: past of svm, test of tree; d: validation of svm, past of tree; e: test and validation
    assert parts(combined_suite(write(tmp_path))) == {"train": "ac", "validation": "d", "test": "be"}


@pytest.mark.parametrize(
    ("splits", "expected"),
    [
        ({"train"}, "train"),
        ({"train", "validation"}, "validation"),
        ({"test", "train"}, "test"),
        ({"validation", "test", "train"}, "test"),
    ],
)
def test_combined_split(splits: set[str], expected: str) -> None:
    assert combined_split(splits) == expected


def test_families_by_name_and_in_order(tmp_path: Path) -> None:
    write(tmp_path)
    suite = combined_suite(tmp_path, families=["tree", "svm"])
    assert suite.spaces[0].columns.kinds[:4] == ("one-hot", "one-hot", "numeric", "indicator")
    assert suite.fingerprint != combined_suite(tmp_path).fingerprint
    with pytest.raises(SettingsError, match=r"spaces\.json: there is no space 'forest'. The spaces are other, svm"):
        combined_suite(tmp_path, families=["svm", "forest"])
    with pytest.raises(SettingsError, match="at least two families are needed to choose among, got svm"):
        combined_suite(tmp_path, families=["svm"])


def test_fingerprint_depends_on_every_number(tmp_path: Path) -> None:
    before = combined_suite(write(tmp_path)).fingerprint
    assert combined_suite(tmp_path).fingerprint == before
    changed = tree_rows()
    changed["score"][0] += 1e-9
    assert combined_suite(write(tmp_path, tree=changed)).fingerprint != before
    swapped = deepcopy(DESCRIBED)
    swapped["tree"]["split"] = {"train": ["c", "a", "e"], "validation": ["d"], "test": ["b"]}
    assert combined_suite(write(tmp_path, swapped)).fingerprint == before  # e is a test task of svm: nothing changed
    swapped["tree"]["split"] = {"train": ["c", "e"], "validation": ["d"], "test": ["b", "a"]}
    assert combined_suite(write(tmp_path, swapped)).fingerprint != before


def test_fewer_configurations_are_spread_evenly_over_a_grid(tmp_path: Path) -> None:
    """Of 8 x 5 values in nested loops, a third holds every value of both about equally often."""
    grid = {"type": "int", "low": 0, "high": 7}, {"type": "int", "low": 0, "high": 4}
    described = {
        name: {"parameters": dict(zip("pq", grid, strict=True)), "split": {"test": ["t"]}, "source": "s"}
        for name in ("one", "two")
    }
    pairs = [(p, q) for p in range(8) for q in range(5)]
    rows = {"task": ["t"] * 40, "p": [p for p, _ in pairs], "q": [q for _, q in pairs], "score": list(range(40))}
    write(tmp_path, described, one=rows, two=rows)
    (space,) = combined_suite(tmp_path, most=27).spaces
    task = space.test[0]
    of_one = task.x[:, 0] == 1.0
    assert (of_one.sum(), (~of_one).sum()) == (13, 13)
    assert set(np.unique(np.round(task.x[of_one, 2] * 7))) == set(range(8))
    assert set(np.unique(np.round(task.x[of_one, 4] * 4))) == set(range(5))
    (whole,) = combined_suite(tmp_path, most=1000).spaces
    assert len(whole.test[0].y) == 80
    with pytest.raises(SettingsError, match="most must be a whole number of at least 2, got 1"):
        combined_suite(tmp_path, most=1)


def changed(family: str, **changes: Any) -> dict[str, Any]:
    found = deepcopy(DESCRIBED)
    found[family].update(changes)
    return found


def cell(rows: dict[str, list[Any]], column: str, place: int, value: Any) -> dict[str, list[Any]]:
    rows[column][place] = value
    return rows


REFUSED: dict[str, tuple[Any, dict[str, Any], str]] = {
    "no mapping": ([], {}, r"spaces\.json: must map names of spaces"),
    "no split": ({"svm": {"parameters": {}}}, {}, r"spaces\.json: space 'svm': must be an object with parameters and"),
    "part": (changed("svm", split={"past": []}), {}, r"spaces\.json: space 'svm': split must hold lists .* got 'past'"),
    "twice": (
        changed("svm", split={"train": ["a"], "test": ["a"]}),
        {},
        r"spaces\.json: space 'svm', task 'a' is in its split twice",
    ),
    "nothing shared": (changed("svm", split={"test": ["z"]}), {}, r"svm, tree share 0 tasks, none of them a test task"),
    "parameter": (
        changed("tree", parameters={"depth": 3}),
        {},
        r"spaces\.json: space 'tree', parameter 'depth': must be",
    ),
    "range": (
        changed("tree", parameters={"depth": {"type": "int", "low": 5, "high": 1}}),
        {},
        r"spaces\.json: the parameters of svm, tree make no Space. Int 'tree\.depth': low must be smaller",
    ),
    "column": (
        DESCRIBED,
        {"tree": {"task": ["a"], "score": [1.0]}},
        r"tree\.parquet: space 'tree' needs the column 'depth', got task, score",
    ),
    "no rows": (DESCRIBED, {"tree": tree_rows("abcd")}, r"tree\.parquet: space 'tree', task 'e' has no rows"),
    "score": (
        DESCRIBED,
        {"tree": cell(tree_rows(), "score", 3, float("nan"))},
        r"tree\.parquet: space 'tree', task 'b': score contains NaN",
    ),
    "words": (
        DESCRIBED,
        {"tree": {**tree_rows(), "score": ["good"] * 10}},
        r"tree\.parquet: space 'tree': score must be numbers",
    ),
    "outside": (
        DESCRIBED,
        {"tree": cell(tree_rows(), "depth", 4, 9.0)},
        r"tree\.parquet: space 'tree', task 'c': Int 'tree\.depth' must lie in",
    ),
    "missing value": (
        DESCRIBED,
        {"svm": cell(svm_rows(), "gamma", 0, None)},
        r"svm\.parquet: space 'svm', task 'a': Config: 'svm\.gamma' is missing",
    ),
    "value too many": (
        DESCRIBED,
        {"svm": cell(svm_rows(), "gamma", 1, 1.0)},
        r"svm\.parquet: space 'svm', task 'a': Config: 'svm\.gamma' applies only where svm\.kernel is 'rbf'",
    ),
}


@pytest.mark.parametrize(("described", "changes", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_wrong_is_named(tmp_path: Path, described: Any, changes: dict[str, Any], message: str) -> None:
    write(tmp_path, described, **changes)
    with pytest.raises(DataError, match=message):
        combined_suite(tmp_path, families=None if isinstance(described, list) else ["svm", "tree"])


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"spaces\.json: there is no such file. Name the folder"):
        combined_suite(tmp_path)
    write(tmp_path)
    (tmp_path / "runs" / "tree.parquet").unlink()
    with pytest.raises(DataError, match=r"tree\.parquet: there is no such file"):
        combined_suite(tmp_path)
    (tmp_path / "spaces.json").write_text("{")
    with pytest.raises(DataError, match=r"spaces\.json: cannot be read"):
        combined_suite(tmp_path)


@needs_dev_suite
def test_the_dev_suite_holds_what_its_files_hold() -> None:
    (space,) = combined_suite(DEV_SUITE).spaces
    tasks = {task.name: task for task in (*space.train, *space.validation, *space.test)}
    described = json.loads((DEV_SUITE / "spaces.json").read_text())
    families = [name for name in described if name.startswith("oboe-")]
    assert (len(space.train), len(space.validation), len(space.test)) == (38, 6, 6)
    for part in ("validation", "test"):
        targets = {task for family in families for task in described[family]["split"][part]}
        assert {task.name for task in getattr(space, part)} == targets
        assert not targets & {task.name for task in space.train}
    for place, family in enumerate(families):
        columns = read_columns(DEV_SUITE / "runs" / f"{family}.parquet")
        for name, task in tasks.items():
            scores = columns["score"][columns["task"] == name]
            own = task.y[task.x[:, place] == 1.0]
            np.testing.assert_array_equal(np.sort(own), np.sort(scores))
