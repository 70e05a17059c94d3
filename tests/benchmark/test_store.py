"""The folder of results: what is kept, what is made of it, and that nothing in it is lost."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmark.small import suite
from headstart.benchmark import store
from headstart.benchmark.curves import MEASURES, RunKey
from headstart.benchmark.methods import Method
from headstart.benchmark.parquet import read_columns
from headstart.benchmark.run import RunRecord
from headstart.benchmark.settings import RunSettings
from headstart.benchmark.store import (
    ABOUT,
    COSTS,
    RESULTS,
    Stamp,
    compile_results,
    file_name,
    file_of,
    read_results,
    read_stamp,
    refuse_mixture,
    runs_of_space,
    stored_runs,
    write_compact,
    write_run,
)
from headstart.errors import DataError, SettingsError
from headstart.surrogates import GaussianProcess

SETTINGS = RunSettings(trials=3)
STAMP = Stamp("data", SETTINGS.words(), "plain", "1")
KEYS = [RunKey(space, task, seed) for space in ("a", "b.c") for task in ("t", "..") for seed in ("test0", "test1")]


def record(number: int) -> RunRecord:
    rng = np.random.default_rng(number)
    return RunRecord(rng.integers(0, 9, 4), *(rng.random(4) for _ in range(6)))


def filled(folder: Path, methods: str = "one two") -> Path:
    for m, method in enumerate(methods.split()):
        for number, key in enumerate(KEYS):
            write_run(folder, method, key, record(100 * m + number), STAMP)
    return folder


def test_what_was_written_is_read(tmp_path: Path) -> None:
    results = read_results(filled(tmp_path))
    assert list(results.runs) == ["one", "two"]
    for m, method in enumerate(results.runs):
        assert set(results.runs[method]) == set(KEYS)
        for number, key in enumerate(KEYS):
            for name in MEASURES:
                expected = getattr(record(100 * m + number), name)
                assert np.array_equal(results.runs[method][key][name], expected), name
    assert (results.suite, results.settings) == ("data", STAMP.settings)
    assert results.methods == {"one": "plain", "two": "plain"}
    assert results.versions == ("1",)
    assert results.about == {}


NAMES = ["a/b", "..", ".", "", "50%", "a@b", "長い名前" * 50, "x" * 400, "Ä ö.csv", "con*?[x]", "a\\b"]


def test_any_name_is_a_name_of_a_file_and_comes_back(tmp_path: Path) -> None:
    names = [name for name in NAMES if name]
    for name in names:
        assert "/" not in file_name(name)
        assert len(file_name(name).encode()) < 200
        write_run(tmp_path, name, RunKey(name, name, "test0"), record(0), STAMP)
    assert len({file_name(name) for name in names}) == len(names)
    assert {(method, key) for method, key, _ in stored_runs(tmp_path)} == {
        (name, RunKey(name, name, "test0")) for name in names
    }
    assert set(read_results(tmp_path).runs) == set(names)
    for name in names:
        assert set(runs_of_space(tmp_path, name)) == {name}


def test_two_long_names_that_begin_alike_stay_two() -> None:
    assert file_name("x" * 300 + "a") != file_name("x" * 300 + "b")


def test_tables_are_made_again_only_when_runs_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(tmp_path)
    made: list[int] = []
    gathered = store._gathered

    def counting(runs: object) -> object:
        made.append(1)
        return gathered(runs)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "_gathered", counting)

    def times(change: Callable[[], object]) -> int:
        change()
        made.clear()
        first, second = read_results(tmp_path), read_results(tmp_path)
        assert {m: set(runs) for m, runs in first.runs.items()} == {m: set(runs) for m, runs in second.runs.items()}
        return len(made)

    assert times(lambda: None) == 1
    assert times(lambda: None) == 0
    assert times(lambda: write_run(tmp_path, "one", KEYS[0], record(7), STAMP)) == 1  # done again
    assert np.array_equal(read_results(tmp_path).runs["one"][KEYS[0]]["regret"], record(7).regret)
    assert times(lambda: write_run(tmp_path, "three", KEYS[0], record(8), STAMP)) == 1
    assert times(lambda: file_of(tmp_path, "three", KEYS[0]).unlink()) == 1
    assert times((tmp_path / RESULTS).unlink) == 1
    assert times((tmp_path / COSTS).unlink) == 1
    other = filled(tmp_path / "other", "two")
    compile_results(other)
    assert times(lambda: (tmp_path / RESULTS).write_bytes((other / RESULTS).read_bytes())) == 1
    assert set(read_results(tmp_path).runs) == {"one", "two"}


def test_a_run_that_is_done_again_while_others_are_read_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path)
    gathered = store._gathered

    def slow(runs: object) -> object:
        found = gathered(runs)  # type: ignore[arg-type]
        write_run(tmp_path, "one", KEYS[0], record(7), STAMP)  # by another process, after it was read here
        return found

    monkeypatch.setattr(store, "_gathered", slow)
    compile_results(tmp_path)
    monkeypatch.undo()
    assert np.array_equal(read_results(tmp_path).runs["one"][KEYS[0]]["regret"], record(7).regret)


def test_equal_runs_make_equal_tables(tmp_path: Path) -> None:
    for name in ("x", "y"):
        assert compile_results(filled(tmp_path / name)) == 2 * len(KEYS)
    assert (tmp_path / "x" / RESULTS).read_bytes() == (tmp_path / "y" / RESULTS).read_bytes()


def test_a_folder_that_cannot_be_written_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(tmp_path)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store, "write_columns", full)
    assert set(read_results(tmp_path).runs) == {"one", "two"}
    assert not (tmp_path / RESULTS).exists()


def test_a_compact_copy_has_seven_digits_and_replaces_no_results(tmp_path: Path) -> None:
    filled(tmp_path / "runs of mine")
    size = write_compact(tmp_path / "runs of mine", tmp_path / "copy")
    assert size == sum((tmp_path / "copy" / name).stat().st_size for name in (RESULTS, COSTS))
    whole, copy = read_results(tmp_path / "runs of mine"), read_results(tmp_path / "copy")
    assert copy.settings == whole.settings
    for method, runs in whole.runs.items():
        for key, measures in runs.items():
            for name in MEASURES:
                assert np.allclose(copy.runs[method][key][name], measures[name], rtol=1e-6)
    for place in (tmp_path / "runs of mine", filled(tmp_path / "others")):
        with pytest.raises(SettingsError, match="is a folder of results, which a copy would replace"):
            write_compact(tmp_path / "runs of mine", place)
    with pytest.raises(SettingsError, match="which a copy would replace"):
        write_compact(tmp_path / "copy", tmp_path / "copy")
    (tmp_path / "copy" / COSTS).unlink()
    write_compact(tmp_path / "copy", tmp_path / "copy of it")  # nobody knows the costs any more
    again = read_results(tmp_path / "copy of it").runs["one"][KEYS[0]]
    assert np.isnan(again["cpu_ms"]).all()
    assert np.array_equal(again["regret"], copy.runs["one"][KEYS[0]]["regret"])


def test_tables_without_their_runs_are_not_overwritten(tmp_path: Path) -> None:
    small = suite()
    settings = RunSettings(trials=6)
    refuse_mixture(tmp_path / "new", small, settings)
    write_compact(filled(tmp_path / "runs of mine"), tmp_path / "copy")
    with pytest.raises(SettingsError, match=r"has a results\.parquet without the runs it was made of"):
        refuse_mixture(tmp_path / "copy", small, settings)
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / ABOUT).write_text(json.dumps({"who": "somebody else"}))
    with pytest.raises(SettingsError, match=r"about\.json there is somebody else's"):
        refuse_mixture(foreign, small, settings)
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match="is no folder"):
        refuse_mixture(tmp_path / "file", small, settings)


def test_runs_of_other_settings_are_never_in_one_table(tmp_path: Path) -> None:
    filled(tmp_path, "one")
    longer = Stamp("data", RunSettings(trials=4).words(), "plain", "1")
    write_run(tmp_path, "two", KEYS[0], record(0), longer)
    with pytest.raises(DataError, match="method 'two' was run with other data or settings than 'one'"):
        read_results(tmp_path)
    write_run(tmp_path, "one", KEYS[-1], record(0), longer)
    with pytest.raises(DataError, match=r"was made of other data or with other settings than the other runs of 'one'"):
        read_results(tmp_path)


def test_all_settings_of_a_method_that_were_kept_are_told(tmp_path: Path) -> None:
    filled(tmp_path, "one")
    write_run(tmp_path, "one", KEYS[-1], record(0), Stamp("data", STAMP.settings, "changed", "2"))
    results = read_results(tmp_path)
    assert results.methods == {"one": "plain; changed"} or results.methods == {"one": "changed; plain"}
    assert set(results.versions) == {"1", "2"}


def test_damaged_and_foreign_files_are_named(tmp_path: Path) -> None:
    filled(tmp_path, "one")
    file = file_of(tmp_path, "one", KEYS[0])
    content = file.read_bytes()
    file.write_bytes(content[:50])
    for look in (lambda: read_results(tmp_path), lambda: read_stamp(file)):
        with pytest.raises(DataError, match=r"test0\.parquet.*is no"):
            look()
    middle = bytearray(content)
    middle[4:400] = bytes(396)  # the end, with the stamp, is whole
    file.write_bytes(bytes(middle))
    with pytest.raises(DataError, match=r"test0\.parquet.*Remove it: 'headstart bench run' does such runs again"):
        read_results(tmp_path)
    store.write_columns(tmp_path / "x" / RESULTS, {"a": [1, 2]}, {})
    with pytest.raises(DataError, match="is no table of headstart's results"):
        read_results(tmp_path / "x")
    other = filled(tmp_path / "y", "one")
    compile_results(other)
    write_compact(other, tmp_path / "z")
    store.write_columns(tmp_path / "z" / COSTS, {"cpu_ms": [1.0]}, {})
    with pytest.raises(DataError, match=r"costs\.parquet does not belong to results\.parquet"):
        read_results(tmp_path / "z")


def test_half_written_files_are_passed_over(tmp_path: Path) -> None:
    filled(tmp_path, "one")
    file = file_of(tmp_path, "one", KEYS[0])
    file.with_name(f".{file.name}-0123").write_bytes(b"cut off")
    file.with_name(f".{file.name}").write_bytes(b"cut off")
    assert compile_results(tmp_path) == len(KEYS)
    assert len(read_columns(tmp_path / RESULTS)["trial"]) == 4 * len(KEYS)


def test_the_version_changes_with_what_numbers_depend_on_and_nothing_else() -> None:
    home = Path(store.headstart.__file__).parent
    counted = {
        name
        for name in (file.relative_to(home).as_posix() for file in home.rglob("*.py"))
        if name.split("/")[0] not in store.WITHOUT_NUMBERS or name in store.WITH_NUMBERS
    }
    assert {"optimizer/suggestion.py", "surrogates/prior_gp.py", "benchmark/job.py", "benchmark/run.py"} <= counted
    assert not {"cli/bench.py", "benchmark/store.py", "benchmark/reports/report.py"} & counted
    assert set(store.WITH_NUMBERS) <= counted  # none was renamed
    stamp = store.stamp_of(suite(), SETTINGS, Method("gp", GaussianProcess(restarts=1)))
    other = store.stamp_of(suite(), SETTINGS, Method("gp", GaussianProcess(restarts=2)))
    assert store.difference(stamp, other) == "other settings of the method"
    assert store.difference(stamp, stamp) == ""
