"""HPO-B's directory layout: versions, splits, given rows, and what is refused."""

import json
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headstart.benchmark.problems import Problem, Suite
from headstart.benchmark.run import given_rows
from headstart.benchmark.suites.hpob import Version, hpob_suite, is_hpob
from headstart.errors import DataError, SettingsError

DEV_SUITE = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "dev-suite"
needs_dev_suite = pytest.mark.skipif(not DEV_SUITE.is_dir(), reason="../shared/data/dev-suite is not here")
SEEDS = [f"test{number}" for number in range(5)]


def task(first: float, rows: int = 8, d: int = 2) -> dict[str, Any]:
    x = [[(row + column) / (rows + d) for column in range(d)] for row in range(rows)]
    return {"X": x, "y": [[first + row] for row in range(rows)]}


CONTENT: dict[str, dict[str, Any]] = {
    "meta-train-dataset": {"svm": {"a": task(1), "b": task(2)}, "tree": {"a": task(3, d=3)}},
    "meta-train-dataset-augmented": {
        "svm": {"a": task(1), "b": task(2), "more": task(9)},
        "tree": {"a": task(3, d=3)},
        "rare": {"z": task(4)},
    },
    "meta-validation-dataset": {"svm": {"c": task(5)}, "tree": {"c": task(6, d=3)}},
    "meta-test-dataset": {"tree": {"e": task(8, d=3)}, "svm": {"d": task(7), "e": task(8)}},
    "bo-initializations": {
        "svm": {"d": {"test0": [3, 0, 1], "test1": [7, 5, 4]}},
        "elsewhere": {"q": {"test0": [999]}},
    },
}


def write(folder: Path, **changes: Any) -> Path:
    """Write the layout; a change with underscores for hyphens replaces a file, None leaves it out."""
    folder.mkdir(exist_ok=True)
    for name, content in {**CONTENT, **{name.replace("_", "-"): value for name, value in changes.items()}}.items():
        if content is not None:
            (folder / f"{name}.json").write_text(json.dumps(content))
    return folder


def opened(folder: Path, version: Version = "v3") -> Suite:
    return hpob_suite(folder, version=version, cache=folder.parent / "cache")


def names(problems: tuple[Problem, ...]) -> str:
    return " ".join(problem.name for problem in problems)


def refused(folder: Path, version: Version = "v3") -> str:
    with pytest.raises(DataError) as caught:
        opened(folder, version)
    assert str(caught.value).startswith(str(folder))
    assert str(caught.value).isprintable()
    return str(caught.value).removeprefix(f"{folder}/")


def test_version_3(tmp_path: Path) -> None:
    suite = opened(write(tmp_path / "hpob"))
    assert (suite.name, suite.given, suite.scale, suite.trials) == ("hpob", 5, "oracle", 100)
    assert [space.name for space in suite.spaces] == ["tree", "svm"]  # as in the test file
    svm, tree = suite.space("svm"), suite.space("tree")
    assert (names(svm.train), names(svm.validation), names(svm.test)) == ("a b", "c", "d e")
    assert (names(tree.train), names(tree.validation), names(tree.test)) == ("a", "c", "e")
    assert (len(svm.columns), len(tree.columns)) == (2, 3)
    assert set(svm.columns.kinds) == {"numeric"}
    # a validation task is no past task of a test task, and no test task one of another
    for split in ("validation", "test"):
        for target in svm.targets(split):
            assert names(svm.past_of(target, split)) == "a b"
    assert np.array_equal(svm.test[0].x, CONTENT["meta-test-dataset"]["svm"]["d"]["X"])
    assert np.array_equal(svm.test[0].y, np.arange(7.0, 15.0))


def test_version_3_with_the_augmented_file(tmp_path: Path) -> None:
    suite = opened(write(tmp_path / "hpob", meta_train_dataset=None), "v3-augmented")
    assert [space.name for space in suite.spaces] == ["tree", "svm"]
    assert names(suite.space("svm").train) == "a b more"


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("v1", {"svm": "a b more c d e", "tree": "a c e", "rare": "z"}),
        ("v2", {"svm": "a b c d e", "tree": "a c e"}),
    ],
)
def test_versions_without_a_split(version: Version, expected: dict[str, str], tmp_path: Path) -> None:
    suite = opened(write(tmp_path / "hpob"), version)
    assert {space.name: names(space.test) for space in suite.spaces} == expected
    for space in suite.spaces:
        assert space.train == space.validation == ()
        for target in space.test:
            past = space.past_of(target, "test")
            assert set(names(past).split()) == set(names(space.test).split()) - {target.name}
            assert len(past) == len(space.test) - 1


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_a_task_of_several_files_is_never_its_own_past(version: Version, tmp_path: Path) -> None:
    twice = {"svm": {"a": task(1), "d": task(7)}}
    folder = write(tmp_path / "hpob", meta_train_dataset=twice, meta_train_dataset_augmented=twice)
    space = opened(folder, version).space("svm")
    assert sorted(names(space.test).split()) == ["a", "c", "d", "e"]
    (target,) = [problem for problem in space.test if problem.name == "d"]
    assert "d" not in names(space.past_of(target, "test")).split()
    assert sorted(target.given) == ["test0", "test1"]


@pytest.mark.parametrize("version", ["v3", "v3-augmented"])
def test_a_past_task_that_is_tuned_on_too_is_left_out_of_the_past(version: Version, tmp_path: Path) -> None:
    train = {"svm": {"a": task(1), "c": task(5), "d": task(7)}}
    validation = {"svm": {"c": task(5), "e": task(8)}}
    folder = write(
        tmp_path / "hpob",
        meta_train_dataset=train,
        meta_train_dataset_augmented=train,
        meta_validation_dataset=validation,
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        space = opened(folder, version).space("svm")
    assert (names(space.train), names(space.validation), names(space.test)) == ("a", "c", "d e")
    past_file = "meta-train-dataset-augmented.json" if version == "v3-augmented" else "meta-train-dataset.json"
    expected = [(past_file, "c"), (past_file, "d"), ("meta-validation-dataset.json", "e")]
    for warning, (file, name) in zip(caught, expected, strict=True):
        message = str(warning.message)
        assert message.startswith(f"{folder / file}: space 'svm', task '{name}' is a target in another file, too")
        assert message.isprintable()


def test_given_rows(tmp_path: Path) -> None:
    svm = opened(write(tmp_path / "hpob")).space("svm")
    target, other = svm.test
    assert dict(target.given) == {"test0": (3, 0, 1), "test1": (7, 5, 4)}
    assert dict(other.given) == {}
    assert given_rows(target, 3, "test1") == [7, 5, 4]
    assert given_rows(target, 2, "test0") == [3, 0]
    assert given_rows(target, 0, "test0") == []
    # where the file names none, or too few, they are drawn by name: different ones, the same every time
    for problem, given, seed in ((target, 5, "test0"), (target, 3, "test2"), (other, 5, "test0")):
        rows = given_rows(problem, given, seed)
        assert rows == given_rows(problem, given, seed)
        assert len(set(rows)) == given
        assert set(rows) <= set(range(8))
    assert given_rows(other, 5, "test0") != given_rows(other, 5, "test1")
    assert sorted(given_rows(other, 20, "test0")) == list(range(8))  # a pool of eight has no more


def test_without_initial_rows(tmp_path: Path) -> None:
    suite = opened(write(tmp_path / "hpob", bo_initializations=None))
    assert all(not problem.given for space in suite.spaces for problem in space.test)


@pytest.mark.parametrize(
    ("version", "missing"),
    [
        ("v3", "meta-train-dataset"),
        ("v3", "meta-validation-dataset"),
        ("v3", "meta-test-dataset"),
        ("v1", "meta-train-dataset-augmented"),
        ("v3-augmented", "meta-train-dataset-augmented"),
    ],
)
def test_missing_files(version: Version, missing: str, tmp_path: Path) -> None:
    folder = write(tmp_path / "hpob", **{missing: None})
    assert refused(folder, version).startswith(f"{missing}.json: there is no such file")
    assert is_hpob(folder) == (missing != "meta-test-dataset")


def test_files_that_a_version_does_not_need_may_be_missing(tmp_path: Path) -> None:
    folder = write(tmp_path / "hpob", meta_train_dataset_augmented=None)
    assert len(opened(folder).spaces) == len(opened(folder, "v2").spaces) == 2


def test_unknown_versions(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="version must be one of v1, v2, v3, v3-augmented, got 'v4'"):
        hpob_suite(write(tmp_path / "hpob"), version="v4", cache=tmp_path)  # type: ignore[arg-type]


@pytest.mark.parametrize("version", ["v3", "v2"])
def test_other_columns_in_another_file(version: Version, tmp_path: Path) -> None:
    folder = write(tmp_path / "hpob", meta_validation_dataset={"svm": {"c": task(5, d=4)}})
    with pytest.raises(DataError, match="space 'svm', task 'c' has 4 columns, tasks of other files 2") as caught:
        opened(folder, version)
    assert str(caught.value).startswith(f"{folder / 'meta-validation-dataset.json'}: ")


def test_wrong_tables_name_file_space_and_task(tmp_path: Path) -> None:
    wrong = {"svm": {"d": {"X": [[0.5, 0.5]], "y": [[float("nan")]]}}}
    message = refused(write(tmp_path / "hpob", meta_test_dataset=wrong))
    assert message.startswith("meta-test-dataset.json: space 'svm', task 'd': X or y contains NaN")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"test0": [0, 8]}, r"seed 'test0': initial rows must be different numbers from 0 to 7, got \[0, 8\]"),
        ({"test0": [0, 1], "test1": [-1]}, r"seed 'test1': initial rows must be .* got \[-1\]"),
        ({"test0": [2, 3, 2]}, r"different numbers from 0 to 7, got \[2, 3, 2\]"),
        ({"test0": [1.0]}, r"must map every seed to a list of whole numbers, got \{'test0': \[1\.0\]\}"),
        ({"test0": [True]}, "list of whole numbers"),
        ({"test0": ["1"]}, "list of whole numbers"),
        ({"test0": 1}, "list of whole numbers"),
        ({"test0": None}, "list of whole numbers"),
        ([1, 2], "list of whole numbers"),
    ],
)
def test_wrong_initial_rows(rows: Any, message: str, tmp_path: Path) -> None:
    folder = write(tmp_path / "hpob", bo_initializations={"svm": {"e": {"test0": [1]}, "d": rows}})
    with pytest.raises(DataError, match=message):
        opened(folder)
    assert refused(folder).startswith("bo-initializations.json: space 'svm', task 'd'")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "expected '{'"),
        ('{"svm": 3}', "space 'svm': expected '{'"),
        ('{"svm": {"d": 3}}', "space 'svm', task 'd': expected an object"),
        ('{"svm": {"d": {}, "d": {}}}', "space 'svm', task 'd' is there twice"),
        ('{"svm": {"d": {"test0": [1', "space 'svm', task 'd': expected the end"),
    ],
)
def test_garbled_initial_rows(text: str, message: str, tmp_path: Path) -> None:
    folder = write(tmp_path / "hpob")
    (folder / "bo-initializations.json").write_text(text)
    found = refused(folder)
    assert found.startswith("bo-initializations.json: ")
    assert message in found


def test_the_fingerprint(tmp_path: Path) -> None:
    first = opened(write(tmp_path / "hpob"))
    # elsewhere, under another name, without the cache
    moved = tmp_path / "elsewhere" / "other"
    shutil.copytree(tmp_path / "hpob", moved)
    assert opened(moved).fingerprint == first.fingerprint
    # files that are not read, and white space, say nothing
    (moved / "meta-train-dataset-augmented.json").unlink()
    (moved / "bo-initializations.json").write_text(json.dumps(CONTENT["bo-initializations"], indent=2))
    assert opened(moved).fingerprint == first.fingerprint

    def changed(name: str, old: str, new: str) -> str:
        text = json.dumps(CONTENT[name])
        assert old in text
        folder = tmp_path / f"{name} {old} {new}".replace("/", "")
        write(folder, **{name: json.loads(text.replace(old, new, 1))})
        return opened(folder).fingerprint

    found = [
        changed("meta-train-dataset", "0.1,", "0.11,"),
        changed("meta-train-dataset", '"b"', '"bb"'),
        changed("meta-validation-dataset", "[5]", "[4.5]"),
        changed("meta-test-dataset", "[7]", "[7.000000000000001]"),
        changed("meta-test-dataset", '"tree"', '"trees"'),
        changed("meta-test-dataset", '"e"', '"f"'),
        changed("bo-initializations", "[3, 0, 1]", "[3, 0, 2]"),
        changed("bo-initializations", "test0", "test4"),
        opened(write(tmp_path / "none", bo_initializations=None)).fingerprint,
        opened(tmp_path / "hpob", "v2").fingerprint,
        opened(tmp_path / "hpob", "v1").fingerprint,
        opened(tmp_path / "hpob", "v3-augmented").fingerprint,
    ]
    assert len({*found, first.fingerprint}) == len(found) + 1


# --- real data -------------------------------------------------------------------------------------------------------


@needs_dev_suite
def test_the_dev_suite(tmp_path: Path) -> None:
    suite = hpob_suite(DEV_SUITE, cache=tmp_path)
    sizes = {space.name: tuple(map(len, (space.train, space.validation, space.test))) for space in suite.spaces}
    oboe = dict.fromkeys(("oboe-dt", "oboe-knn", "oboe-rf", "oboe-gbt", "oboe-lsvm"), (40, 6, 6))
    assert sizes == {"svm": (34, 6, 8), "adaboost": (32, 6, 8), **oboe, "rbv2-svm": (6, 1, 3)}
    columns = {space.name: len(space.columns) for space in suite.spaces}
    assert columns == {
        "svm": 6,
        "adaboost": 2,
        "oboe-dt": 10,
        "oboe-knn": 11,
        "oboe-rf": 12,
        "oboe-gbt": 13,
        "oboe-lsvm": 10,
        "rbv2-svm": 12,
    }
    raw = json.loads((DEV_SUITE / "meta-test-dataset.json").read_text())
    starts = json.loads((DEV_SUITE / "bo-initializations.json").read_text())
    again = hpob_suite(DEV_SUITE, cache=tmp_path)  # from the cache
    assert again.fingerprint == suite.fingerprint
    for space in (*suite.spaces, *again.spaces):
        for problem in space.test:
            found = raw[space.name][problem.name]
            assert np.array_equal(problem.x, np.array(found["X"], dtype=np.float64))
            assert np.array_equal(problem.y[:, None], np.array(found["y"], dtype=np.float64))
            for seed in SEEDS:
                assert given_rows(problem, 5, seed) == starts[space.name][problem.name][seed]
            assert not {problem.name} & {task.name for task in space.past_of(problem, "test")}
