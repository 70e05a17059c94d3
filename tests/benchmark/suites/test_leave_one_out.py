"""Folders of grids: both layouts say the same, the coarse grid is the published one, wrong files are named."""

import csv
import shutil
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headstart.arrays import Array
from headstart.benchmark.parquet import read_columns, write_columns
from headstart.benchmark.problems import Suite
from headstart.benchmark.suites.leave_one_out import coarse_grid, is_parquet_folder, is_text_folder, leave_one_out_suite
from headstart.errors import DataError

WISTUBA = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "wistuba"
needs_wistuba = pytest.mark.skipif(not WISTUBA.is_dir(), reason="../shared/data/wistuba is not here")

GAMMAS = {0: (0.5, 0.7), 1: (0,)}
GRID = np.array([[kernel, c, gamma] for kernel, c in product((0, 1), range(-2, 4)) for gamma in GAMMAS[kernel]])
"""[18, 3]: an indicator, a number that always applies, and one that does not where the indicator is 1."""
TASKS: dict[str, tuple[Array, Array]] = {
    name: (np.random.default_rng(number).random(len(GRID)), np.random.default_rng(10 + number).random(4))
    for number, name in enumerate(["A9A", "heart", "W8A"])
}
"""Scores and descriptors."""


def write_parquet(folder: Path, tasks: Mapping[str, tuple[Array, Array]] = TASKS, grid: Array = GRID) -> Path:
    """Write a space called "toy"."""
    names = [name for name in tasks for _ in grid]
    inputs = {f"f{k:02d}": np.tile(column, len(tasks)) for k, column in enumerate(grid.T)}
    scores = np.concatenate([scores for scores, _ in tasks.values()])
    write_columns(folder / "toy.parquet", {"task": names, **inputs, "score": scores}, {})
    with (folder / "toy_metafeatures.csv").open("w", newline="") as stream:
        lines = csv.writer(stream)
        lines.writerow(["task", *(f"m{k}" for k in range(4))])
        lines.writerows([name, *map(repr, descriptors.tolist())] for name, (_, descriptors) in tasks.items())
    return folder


def write_text(folder: Path, tasks: Mapping[str, tuple[Array, Array]] = TASKS, grid: Array = GRID) -> Path:
    """Write one file per data set, without extension: accuracy, hyperparameters, descriptors."""
    folder.mkdir(exist_ok=True)
    for name, (scores, descriptors) in tasks.items():
        lines = [[score, *row, *descriptors] for score, row in zip(scores, grid, strict=True)]
        (folder / name).write_text("".join(" ".join(repr(float(word)) for word in line) + "\n" for line in lines))
    return folder


def refused(folder: Path) -> str:
    with pytest.raises(DataError) as caught:
        leave_one_out_suite(folder)
    message = str(caught.value)
    assert message.startswith(str(folder))
    assert message.isprintable()
    return message


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pytest.importorskip("pyarrow")
    return write_parquet(tmp_path / "grids")


# --- what is read ----------------------------------------------------------------------------------------------------


def test_a_suite_of_parquet_files(folder: Path) -> None:
    suite = leave_one_out_suite(folder)
    assert (suite.name, suite.given, suite.scale, suite.trials) == ("grids", 0, "honest", 70)
    (space,) = suite.spaces
    assert (space.name, len(space.columns)) == ("toy", 3)
    assert (space.train, space.validation) == ((), ())
    assert [problem.name for problem in space.test] == ["A9A", "heart", "W8A"]
    for problem in space.test:
        scores, descriptors = TASKS[problem.name]
        assert np.array_equal(problem.y, scores)
        assert problem.metafeatures is not None
        assert np.array_equal(problem.metafeatures, descriptors)
        assert problem.given == {}
        # scaled by hand: kernel 0..1, c -2..3, gamma 0..0.7
        assert np.allclose(problem.x, (GRID - [0, -2, 0]) / [1, 5, 0.7], atol=1e-15)
        past = space.past_of(problem, "test")
        assert sorted(task.name for task in past) == sorted(set(TASKS) - {problem.name})
        # by hand: c has six values, kept are ranks 1 and 4 and the zero; gamma 0, .5, .7: .5 and the zero
        assert problem.past_rows is not None
        kept = GRID[problem.past_rows]
        assert sorted(map(tuple, kept.tolist())) == [
            *((0.0, c, 0.5) for c in (-1.0, 0.0, 2.0)),
            *((1.0, c, 0.0) for c in (-1.0, 0.0, 2.0)),
        ]


def test_text_and_parquet_give_the_same_problems(folder: Path, tmp_path: Path) -> None:
    (one,) = leave_one_out_suite(folder).spaces
    (other,) = leave_one_out_suite(write_text(tmp_path / "toy")).spaces
    assert (one.name, one.columns, one.leave_one_out) == (other.name, other.columns, other.leave_one_out)
    text = {problem.name: problem for problem in other.test}
    assert list(text) == sorted(text)
    assert len(one.test) == len(text) == 3
    for problem in one.test:
        same = text[problem.name]
        for name in ("x", "y", "metafeatures", "past_rows"):
            assert np.array_equal(getattr(problem, name), getattr(same, name)), name


def test_text_without_descriptors(tmp_path: Path) -> None:
    tasks = {name: (scores, np.empty(0)) for name, (scores, _) in TASKS.items()}
    folder = write_text(tmp_path / "toy", tasks)
    (folder / ".hidden").write_text("not a data set")
    (folder / "below").mkdir()
    (space,) = leave_one_out_suite(folder).spaces
    assert [problem.metafeatures for problem in space.test] == [None] * 3
    assert [problem.x.shape for problem in space.test] == [(18, 3)] * 3


def test_an_accuracy_that_never_changes_is_no_descriptor(tmp_path: Path) -> None:
    tasks = {name: (np.full(18, 0.5), descriptors) for name, (_, descriptors) in TASKS.items()}
    (space,) = leave_one_out_suite(write_text(tmp_path / "toy", tasks)).spaces
    for problem in space.test:
        assert np.array_equal(problem.y, np.full(18, 0.5))
        assert np.array_equal(problem.metafeatures, TASKS[problem.name][1])
        assert problem.x.shape == (18, 3)


def test_columns_are_scaled_over_all_tasks_and_constant_ones_are_zero(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    columns = {"task": ["a", "a", "b"], "u": [2.0, 3.0, 6.0], "v": [5, 5, 5], "score": [1.0, 2.0, 3.0]}
    write_columns(tmp_path / "s.parquet", columns, {})
    (space,) = leave_one_out_suite(tmp_path).spaces
    assert [problem.x.tolist() for problem in space.test] == [[[0.0, 0.0], [0.25, 0.0]], [[1.0, 0.0]]]
    # too few values for a coarse grid: everything is known
    assert [list(problem.past_rows) for problem in space.test if problem.past_rows is not None] == [[0, 1], [0]]


def test_which_folders_are_which(folder: Path, tmp_path: Path) -> None:
    text = write_text(tmp_path / "toy")
    assert (is_parquet_folder(folder), is_parquet_folder(text), is_text_folder(text)) == (True, False, True)
    for name, content in [("words", b"a b c\n"), ("single", b"7\n"), ("binary", b"\xff\xfe 1"), ("empty", b"")]:
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_bytes(content)
        assert not is_text_folder(tmp_path / name)
    (tmp_path / "bare").mkdir()
    assert not is_text_folder(tmp_path / "bare")


def test_coarse_grid_by_hand() -> None:
    # ranks from 0: 1 and 4 and 7 are kept, and 0 wherever it stands
    column = np.array([-3.0, -1.0, 0.0, 0.5, 0.7, 4.0, 5.0, 9.0])
    assert column[coarse_grid(column[:, None])].tolist() == [-1.0, 0.0, 0.7, 9.0]
    shuffled = np.random.default_rng(0).permutation(np.repeat(column, 3))
    assert sorted(set(shuffled[coarse_grid(shuffled[:, None])])) == [-1.0, 0.0, 0.7, 9.0]
    both = np.array(list(product(column, column)))
    assert sorted(map(tuple, both[coarse_grid(both)])) == sorted(product([-1.0, 0.0, 0.7, 9.0], repeat=2))


# --- real data -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def published() -> Suite:
    pytest.importorskip("pyarrow")
    return leave_one_out_suite(WISTUBA)


def loss_of_the_coarse_grid(suite: Suite, space: str) -> float:
    """Return by how much the best of the coarse grid is worse than the best of all, scaled, on average."""
    losses: list[float] = []
    for problem in suite.space(space).test:
        low, high = problem.bounds
        losses.append((high - problem.y[problem.past_rows].max()) / (high - low))
    return float(np.mean(losses))


@needs_wistuba
def test_the_published_grids(published: Suite) -> None:
    for name, rows, d in (("svm", 288, 6), ("adaboost", 108, 2)):
        space = published.space(name)
        assert len(space.test) == 50
        for problem in space.test:
            assert problem.x.shape == (rows, d)
            assert np.array_equal(problem.x, space.test[0].x)  # one grid in one order
            assert problem.metafeatures is not None
            assert problem.metafeatures.shape == (22,)
            assert len(space.past_of(problem, "test")) == 49


@needs_wistuba
def test_the_coarse_grid_of_the_support_vector_machines(published: Suite) -> None:
    raw = read_columns(WISTUBA / "svm.parquet")
    grid = np.stack([raw[f"f{k:02d}"] for k in range(6)], axis=1)[:288]
    for problem in published.space("svm").test:
        assert problem.past_rows is not None
        assert len(problem.past_rows) == 50
        kept = grid[problem.past_rows]
        assert kept[:, :3].sum(axis=0).tolist() == [30.0, 15.0, 5.0]
        cost, gamma, degree = np.exp2(6 * kept[:, 3]), 10 ** (4 * kept[:, 4]), 10 ** kept[:, 5]
        assert np.allclose(np.unique(cost.round(9)), [2**-4, 2**-1, 1, 4, 32])
        rbf, poly = kept[:, 0] == 1, kept[:, 1] == 1
        assert np.allclose(np.unique(gamma[rbf].round(9)), [1e-3, 0.1, 1, 2, 20, 1e3])
        assert np.allclose(np.unique(degree[poly].round(9)), [2, 5, 8])
        assert np.array_equal(gamma[~rbf], np.ones(20))
        assert np.array_equal(degree[~poly], np.ones(35))
    assert loss_of_the_coarse_grid(published, "svm") == pytest.approx(0.030, abs=5e-4)


@needs_wistuba
def test_the_coarse_grid_of_adaboost(published: Suite) -> None:
    known = [problem.past_rows for problem in published.space("adaboost").test]
    assert [len(rows) for rows in known if rows is not None] == [12] * 50
    assert loss_of_the_coarse_grid(published, "adaboost") == pytest.approx(0.048, abs=5e-4)


@needs_wistuba
def test_the_published_data_as_text(published: Suite, tmp_path: Path) -> None:
    for name in ("svm", "adaboost"):
        raw, space = read_columns(WISTUBA / f"{name}.parquet"), published.space(name)
        grid = np.stack([raw[key] for key in sorted(raw) if key.startswith("f")], axis=1)[: len(space.test[0].y)]
        tasks = {p.name: (p.y, p.metafeatures) for p in space.test[::7] if p.metafeatures is not None}
        assert len(tasks) == 8
        (text,) = leave_one_out_suite(write_text(tmp_path / name, tasks, grid)).spaces
        found = {problem.name: problem for problem in text.test}
        for problem in space.test[::7]:
            for attribute in ("x", "y", "metafeatures", "past_rows"):
                assert np.array_equal(getattr(problem, attribute), getattr(found[problem.name], attribute)), attribute


# --- fingerprints ----------------------------------------------------------------------------------------------------


def test_the_fingerprint(folder: Path, tmp_path: Path) -> None:
    first = leave_one_out_suite(folder).fingerprint
    shutil.copytree(folder, tmp_path / "elsewhere" / "other")
    assert leave_one_out_suite(tmp_path / "elsewhere" / "other").fingerprint == first

    def changed(place: int, **change: Any) -> str:
        other = tmp_path / f"changed {place}"
        other.mkdir()
        tasks = {name: (scores.copy(), descriptors.copy()) for name, (scores, descriptors) in TASKS.items()}
        for name, part in change.get("numbers", ()):
            tasks[name][part][3] += 1e-15
        if "name" in change:
            tasks = {name.replace("heart", "hart"): value for name, value in tasks.items()}
        return leave_one_out_suite(write_parquet(other, tasks, change.get("grid", GRID))).fingerprint

    grid, shifted = GRID.copy(), GRID + np.array([0, 3, 0])
    grid[4, 1] += 0.5
    found = [
        changed(0, numbers=[("heart", 0)]),
        changed(1, numbers=[("heart", 1)]),
        changed(2, name="hart"),
        changed(3, grid=grid),
        changed(4, grid=shifted),  # scaled it is the same, but other rows are the coarse grid's
    ]
    (folder / "toy.parquet").rename(folder / "play.parquet")
    found.append(leave_one_out_suite(folder).fingerprint)
    assert len({first, *found}) == 7


def test_the_fingerprint_of_text_files(tmp_path: Path) -> None:
    first = leave_one_out_suite(write_text(tmp_path / "toy")).fingerprint
    moved = tmp_path / "elsewhere" / "toy"
    shutil.copytree(tmp_path / "toy", moved)
    assert leave_one_out_suite(moved).fingerprint == first
    text = (moved / "heart").read_text()
    (moved / "heart").write_text(text.replace(" ", "  "))
    assert leave_one_out_suite(moved).fingerprint == first
    (moved / "heart").write_text(text.replace("0.5", "0.6", 1))
    assert leave_one_out_suite(moved).fingerprint != first


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"task": ["a"], "u": [0.5]},
            "s.parquet: needs the columns task, score and one per hyperparameter, got task",
        ),
        ({"task": ["a"], "score": [0.5]}, "s.parquet: needs the columns task, score and one per hyperparameter"),
        ({"u": [0.5], "score": [0.5]}, "s.parquet: needs the columns task"),
        ({"task": [], "u": [], "score": []}, "s.parquet: there are no rows"),
        ({"task": ["a"], "u": ["rbf"], "score": [1.0]}, "s.parquet: hyperparameters and score must be numbers"),
        ({"task": ["a"], "u": [0.5], "score": ["high"]}, "s.parquet: hyperparameters and score must be numbers"),
        (
            {"task": ["a", "b", "c"], "u": [0.5, float("nan"), 1.0], "score": [1.0, 2.0, 3.0]},
            "s.parquet: space 's', task 'b': hyperparameters contain NaN",
        ),
        (
            {"task": ["a", "b"], "u": [0.5, float("inf")], "score": [1.0, 2.0]},
            "s.parquet: space 's', task 'b': hyperparameters contain NaN or infinity",
        ),
        ({"task": ["a", "b"], "u": [None, 0.5], "score": [1.0, 2.0]}, "s.parquet: space 's', task 'a'"),
        (
            {"task": ["a", "b"], "u": [0.5, 0.7], "score": [1.0, float("nan")]},
            "s.parquet: space 's', task 'b': X or y contains NaN",
        ),
        ({"task": ["a\n", "b"], "u": [0.5, 0.7], "score": [1.0, 2.0]}, r"s.parquet: task 'a\\n' has characters"),
    ],
)
def test_wrong_tables(columns: dict[str, list[Any]], message: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    write_columns(tmp_path / "s.parquet", columns, {})
    found = refused(tmp_path)
    assert found.removeprefix(f"{tmp_path}/").startswith(message.replace("\\\\", "\\"))


def test_garbled_tables(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "s.parquet").write_text("task,u,score\n")
    assert "s.parquet: is no Parquet file" in refused(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,m\na,1\n", "needs a column task"),
        ("task,m\nA9A,1\nA9A,2\n", "task 'A9A' is there twice"),
        ("task,m\nA9A,high\n", "task 'A9A': descriptors must be numbers"),
        ("task,m\nA9A,\n", "task 'A9A': descriptors must be numbers"),
        ("task,m\nA9A,nan\n", "task 'A9A': descriptors must be finite"),
        ("task,m\nA9A,1,2\n", "task 'A9A': descriptors must be numbers"),
        ("task,m,n\nA9A,1\n", "task 'A9A': descriptors must be numbers"),
        ("\udcff", "cannot be read"),
        ("task,m\nA9A,1\nheart,2\n", "there is no line for task 'W8A'"),
    ],
)
def test_wrong_descriptors(text: str, message: str, folder: Path) -> None:
    (folder / "toy_metafeatures.csv").write_text(text, errors="surrogateescape")
    assert f"toy_metafeatures.csv: {message}" in refused(folder)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0.5 1 2\n0.6 1\n", "heart: must hold as many numbers in every line"),
        ("0.5 1 2\n0.6 1 x\n", "heart: must hold as many numbers in every line (could not convert string"),
        ("", "heart: there are no configurations"),
        ("\n \n", "heart: there are no configurations"),
        ("\udcff", "heart: must hold as many numbers"),
        ("0.5 1 2\n0.6 2 2\n", "heart: has 3 columns, the files before it 8"),
        ("0.5 0 1 nan 1 1 1 1\n0.4 0 2 0 1 1 1 1\n", "toy: space 'toy', task 'heart': hyperparameters contain NaN"),
        ("nan 0 1 0 1 1 1 1\n0.4 0 2 0 1 1 1 1\n", "toy: space 'toy', task 'heart': X or y contains NaN"),
    ],
)
def test_wrong_text_files(text: str, message: str, tmp_path: Path) -> None:
    folder = write_text(tmp_path / "toy")
    (folder / "heart").write_text(text, errors="surrogateescape")
    assert message in refused(folder)


def test_nothing_but_constants(tmp_path: Path) -> None:
    folder = write_text(tmp_path / "toy", {name: (value[0][:1], value[1]) for name, value in TASKS.items()}, GRID[:1])
    assert "space 'toy', task 'A9A': there are no configurations, got shape (1, 0)" in refused(folder)
