"""Columns in Parquet files: what is written is read, whole or not at all."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from headstart import whole_files
from headstart.benchmark.parquet import read_columns, read_metadata, write_columns
from headstart.errors import DataError, MissingDependencyError

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

COLUMNS = {
    "task": ["a", "é", ""],
    "trial": np.array([0, 1, 2], dtype=np.int32),
    "value": np.array([0.1, -0.0, np.nan]),
    "big": np.array([2**62, -1, 0]),
}


def test_what_is_written_is_read(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "down" / "a.parquet"
    write_columns(file, COLUMNS, {"stamp": "é {}", "other": ""})
    found = read_columns(file)
    assert list(found) == list(COLUMNS)
    assert found["task"].tolist() == COLUMNS["task"]
    for name in ("trial", "value", "big"):
        assert found[name].dtype == COLUMNS[name].dtype  # type: ignore[union-attr]
        assert found[name].tobytes() == COLUMNS[name].tobytes()  # type: ignore[union-attr]
    assert read_metadata(file) == {"stamp": "é {}", "other": ""}
    assert pandas.read_parquet(file)["big"].tolist() == [2**62, -1, 0]  # others can read it
    assert [path.name for path in file.parent.iterdir()] == ["a.parquet"]


def test_without_rows_and_without_metadata(tmp_path: Path) -> None:
    pandas.DataFrame({"a": np.empty(0)}).to_parquet(tmp_path / "a.parquet", index=False)
    assert read_columns(tmp_path / "a.parquet")["a"].shape == (0,)
    write_columns(tmp_path / "b.parquet", {"a": [1]}, {})
    assert read_metadata(tmp_path / "b.parquet") == {}


def test_a_folder_named_like_a_partition_adds_no_column(tmp_path: Path) -> None:
    file = tmp_path / "space=svm" / "a.parquet"
    write_columns(file, {"a": [1]}, {})
    assert list(read_columns(file)) == ["a"]


def test_equal_columns_make_equal_files(tmp_path: Path) -> None:
    for name in "ab":
        write_columns(tmp_path / name, COLUMNS, {"stamp": "x"})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.skipif(os.name != "posix", reason="rights of files are another matter on Windows")
def test_others_may_read_it_as_any_new_file(tmp_path: Path) -> None:
    write_columns(tmp_path / "a.parquet", {"a": [1]}, {})
    (tmp_path / "b").touch()
    assert stat.S_IMODE((tmp_path / "a.parquet").stat().st_mode) == stat.S_IMODE((tmp_path / "b").stat().st_mode)


@pytest.mark.parametrize("read", [read_columns, read_metadata])
def test_what_cannot_be_read_is_named_in_one_line(read: object, tmp_path: Path) -> None:
    write_columns(tmp_path / "whole", COLUMNS, {})
    content = (tmp_path / "whole").read_bytes()
    (tmp_path / "folder").mkdir()
    (tmp_path / "none").touch()
    (tmp_path / "text").write_text("task,score\n" * 9)
    (tmp_path / "short").write_bytes(content[:-20])
    (tmp_path / "half").write_bytes(content[: len(content) // 2])
    for name in ("missing", "folder", "none", "text", "short", "half"):
        with pytest.raises(DataError) as caught:
            read(tmp_path / name)  # type: ignore[operator]
        message = str(caught.value)
        expected = "there is no such file" if name == "missing" else "is no Parquet file that can be read"
        assert message.startswith(f"{tmp_path / name}: {expected}")
        assert message.isprintable()


def test_who_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.parquet"
    write_columns(file, {"a": [1]}, {})

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(whole_files.os, "fsync", interrupted)
        with pytest.raises(KeyboardInterrupt):
            write_columns(file, {"a": [2]}, {})
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]
    assert read_columns(file)["a"].tolist() == [1]
    write_columns(file, {"a": [3]}, {})
    assert read_columns(file)["a"].tolist() == [3]


KILLED = """
import os, signal, sys
from pathlib import Path
from headstart import whole_files
from headstart.benchmark import parquet
whole_files.os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)
parquet.write_columns(Path(sys.argv[1]), {"a": [2]}, {})
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_who_is_killed_leaves_the_old_file(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    write_columns(file, {"a": [1]}, {})
    assert subprocess.run([sys.executable, "-c", KILLED, str(file)], check=False).returncode == -signal.SIGKILL
    assert read_columns(file)["a"].tolist() == [1]
    assert list(tmp_path.glob("*.parquet")) == [file]  # what is left is hidden, and has another ending


def test_a_missing_package_is_named_with_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for work in (
        lambda: read_columns(tmp_path / "a"),
        lambda: read_metadata(tmp_path / "a"),
        lambda: write_columns(tmp_path / "a", {"a": [1]}, {}),
    ):
        with pytest.raises(MissingDependencyError, match=r"Run: pip install 'headstart\[bench\]'"):
            work()
    assert list(tmp_path.iterdir()) == []
