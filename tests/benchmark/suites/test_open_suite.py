"""One address for every kind of suite."""

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from headstart.benchmark.parquet import write_columns
from headstart.benchmark.suites import open_suite
from headstart.errors import DataError, HeadstartError


def table(*responses: float) -> dict[str, Any]:
    rows = [[place / len(responses)] for place in range(len(responses))]
    return {"X": rows, "y": [[response] for response in responses]}


def hpob(folder: Path, **tasks: dict[str, Any]) -> Path:
    """Write HPO-B's layout with one task in each part."""
    folder.mkdir()
    for part in ("train", "validation", "test"):
        task = tasks.get(part, table(1, 2, 3))
        (folder / f"meta-{part}-dataset.json").write_text(json.dumps({"svm": {part: task}}))
    return folder


def messages(address: Path, **arguments: Any) -> list[str]:
    """Return what opening warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        open_suite(str(address), **arguments)
    return [str(warning.message) for warning in caught]


def test_a_folder_in_hpob_layout(tmp_path: Path) -> None:
    folder = hpob(tmp_path / "suite")
    suite = open_suite(str(folder), cache=tmp_path / "cache")
    assert [problem.name for problem in suite.space("svm").test] == ["test"]
    suite = open_suite(str(folder), version="v2", cache=tmp_path / "cache")
    assert [problem.name for problem in suite.space("svm").test] == ["train", "validation", "test"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "suite"]


def test_folders_of_grids(tmp_path: Path) -> None:
    (tmp_path / "heart").write_text("0.5 1 2 7\n0.6 2 2 7\n0.7 3 1 7\n")
    (tmp_path / "iris").write_text("0.8 1 2 5\n0.6 2 2 5\n0.9 3 1 5\n")
    (space,) = open_suite(str(tmp_path)).spaces
    assert (space.name, [problem.name for problem in space.test]) == (tmp_path.name, ["heart", "iris"])
    assert [problem.metafeatures.tolist() for problem in space.test if problem.metafeatures is not None] == [[7], [5]]
    pytest.importorskip("pyarrow")
    columns = {"task": ["a", "a", "b"], "u": [1.0, 2.0, 3.0], "score": [1.0, 2.0, 3.0]}
    write_columns(tmp_path / "toy.parquet", columns, {})
    with pytest.warns(UserWarning, match="y is constant"):
        (space,) = open_suite(str(tmp_path)).spaces
    assert (space.name, [problem.name for problem in space.test]) == ("toy", ["a", "b"])


@pytest.mark.parametrize("part", ["validation", "test"])
def test_constant_targets_are_warned_of(part: str, tmp_path: Path) -> None:
    folder = hpob(tmp_path / "suite", **{part: table(0.25, 0.25, 0.25), "train": table(1, 1)})
    (message,) = messages(folder, cache=tmp_path / "cache")
    assert message.startswith(f"{folder}: space 'svm', task '{part}': y is constant (0.25)")
    assert message.isprintable()
    # and again from the cache
    assert messages(folder, cache=tmp_path / "cache") == [message]


def test_a_constant_past_task_is_a_past_task_like_others(tmp_path: Path) -> None:
    assert messages(hpob(tmp_path / "suite", train=table(1, 1)), cache=tmp_path / "cache") == []
    assert len(messages(tmp_path / "suite", cache=tmp_path / "cache", version="v2")) == 1


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "is no suite. A folder must hold meta-test-dataset.json"),
        ({"readme": "some words"}, "is no suite"),
        ({"meta-train-dataset.json": "{}"}, "is no suite. A folder must hold meta-test-dataset.json"),
        ({"meta-test-dataset.json": "{}"}, "meta-train-dataset.json: there is no such file"),
        ({"heart": "0.5 1 2\n0.6 1\n"}, "heart: must hold as many numbers in every line"),
        ({"heart": "nan 1\n0.5 2\n"}, "task 'heart': X or y contains NaN"),
    ],
)
def test_folders_that_are_no_suite(files: dict[str, str], message: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for name, text in files.items():
        (tmp_path / "folder" / name).write_text(text)
    with pytest.raises(DataError) as caught:
        open_suite(str(tmp_path / "folder"), cache=tmp_path / "cache")
    assert str(caught.value).startswith(str(tmp_path / "folder"))
    assert message in str(caught.value)
    assert str(caught.value).isprintable()


def test_addresses_of_nothing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none: there is no such folder or memory\. Give a folder"):
        open_suite(str(tmp_path / "none"))
    (tmp_path / "notes.txt").write_text("no memory" * 200)
    with pytest.raises(HeadstartError) as caught:
        open_suite(str(tmp_path / "notes.txt"))
    assert str(caught.value).isprintable()


def test_a_cache_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    for address in ("sklearn", str(hpob(tmp_path / "suite"))):
        with pytest.raises(DataError, match="XDG_CACHE_HOME") as caught:
            open_suite(address, cache=tmp_path / "taken")
        assert str(caught.value).isprintable()


def test_made_suites_have_names() -> None:
    assert {space.name for space in open_suite("synthetic").spaces}


def test_a_synthetic_suite_takes_how_related_its_tasks_are() -> None:
    alike, contrary = open_suite("synthetic:1"), open_suite("synthetic:-1")
    assert alike.fingerprint != contrary.fingerprint != open_suite("synthetic").fingerprint
    for wrong in ("synthetic:", "synthetic:much", "synthetic:2"):
        with pytest.raises(HeadstartError, match=r"from -1 to 1"):
            open_suite(wrong)
