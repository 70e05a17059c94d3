"""The folder of results: one Parquet file per run, put there whole; and two tables made of all of them.

    DIR/runs/<method>/<space>/<task>/<seed>.parquet   a run, with a stamp of what its numbers depend on
    DIR/results.parquet                               one row per method, space, task, seed and trial
    DIR/costs.parquet                                 CPU milliseconds of the same rows
    DIR/about.json                                    for people: what was run last, and on what

``results.parquet`` depends on nothing but the settings, so two folders of equal settings hold equal files; what cannot
be repeated stands in ``costs.parquet``.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias, cast
from urllib.parse import quote, unquote

import numpy as np
from numpy.typing import NDArray

import headstart
from headstart.benchmark.curves import MEASURES, Curves, RunKey, side_by_side
from headstart.benchmark.methods import Method
from headstart.benchmark.parquet import read_columns, read_metadata, write_columns
from headstart.benchmark.problems import Suite
from headstart.benchmark.run import RunRecord
from headstart.benchmark.settings import RunSettings
from headstart.errors import DataError, SettingsError

STAMP = "headstart"
RESULTS, COSTS = "results.parquet", "costs.parquet"
KEY = ("method", "space", "task", "seed", "trial")
RUNS = "runs"
ABOUT = "about.json"
"""For people: where and with what the last runs were made."""
DISTINCT = ("value", "mean", "std", "cpu_ms")
"""Columns of numbers that hardly ever repeat."""

WITHOUT_NUMBERS = ("cli", "demo", "testing", "experiments", "benchmark")
"""Packages that no number of a run depends on; of the benchmark, those below do."""
WITH_NUMBERS = tuple(f"benchmark/{name}.py" for name in ("run", "job", "settings", "problems", "past"))

LONGEST_FILE_NAME = 160
"""Characters; file systems take 255 bytes, and ends are added."""
SHORTENED = "@"
"""Stands in shortened names of files and in no other."""
NAMES = "names"
MADE_OF = "made of"
"""In the metadata of costs.parquet: which files the two tables were made of."""


@dataclass(frozen=True)
class Stamp:
    """What the numbers of a run depend on, besides its names."""

    suite: str
    """Fingerprint of the data."""
    settings: Mapping[str, str]
    method: str
    """The method's own settings."""
    version: str
    """Of headstart."""

    @property
    def text(self) -> str:
        """The stamp as it is stored."""
        return json.dumps(vars(self), sort_keys=True)


@cache
def library_version() -> str:
    """Return the version of headstart, with a fingerprint of the source that numbers depend on."""
    home = Path(headstart.__file__).parent
    digest = hashlib.sha256()
    for file in sorted(home.rglob("*.py")):
        name = file.relative_to(home).as_posix()
        if name.split("/")[0] not in WITHOUT_NUMBERS or name in WITH_NUMBERS:
            digest.update(name.encode() + file.read_bytes())
    return f"{headstart.__version__}+{digest.hexdigest()[:8]}"


def stamp_of(suite: Suite, settings: RunSettings, method: Method) -> Stamp:
    """Return what runs of ``method`` depend on."""
    return Stamp(suite.fingerprint, settings.words(), method.settings, library_version())


def file_of(folder: Path, method: str, key: RunKey) -> Path:
    """Return where a run is kept."""
    parts = [file_name(part) for part in (method, key.space, key.task, key.seed)]
    return folder.joinpath(RUNS, *parts[:-1], f"{parts[-1]}.parquet")


def file_name(name: str) -> str:
    """Return a name of files for any name."""
    # "." and ".." are no names of files
    quoted = quote(name, safe=" -_+=,")
    if len(quoted) > LONGEST_FILE_NAME:  # one letter of a language may take nine characters
        return f"{quoted[: LONGEST_FILE_NAME - 33]}{SHORTENED}{hashlib.sha256(name.encode()).hexdigest()[:32]}"
    return quoted.replace(".", "%2E") if quoted.strip(".") == "" else quoted


def write_run(folder: Path, method: str, key: RunKey, record: RunRecord, stamp: Stamp) -> None:
    """Keep a run; it is there whole or not at all."""
    trials = np.arange(len(record.regret), dtype=np.int32)
    names = json.dumps([method, key.space, key.task, key.seed])
    metadata = {STAMP: stamp.text, NAMES: names}
    write_columns(file_of(folder, method, key), {"trial": trials, **record.columns}, metadata)


def read_stamp(file: Path) -> Stamp:
    """Return what a run depends on.

    Raises:
        DataError: The file is no run.
    """
    try:
        return Stamp(**json.loads(read_metadata(file)[STAMP]))
    except (KeyError, TypeError, ValueError) as error:
        raise _no_run(file) from error


def _no_run(file: Path) -> DataError:
    return DataError(f"{file}: is no run of headstart. Remove it, or name another folder.")


def difference(stored: Stamp, wanted: Stamp) -> str:
    """Return in words what differs; nothing where nothing does."""
    if stored.suite != wanted.suite:
        return "other data"
    if stored.settings != wanted.settings:
        names = sorted({*stored.settings, *wanted.settings})
        changed = [name for name in names if stored.settings.get(name) != wanted.settings.get(name)]
        return ", ".join(
            f"{name}={stored.settings.get(name)} instead of {wanted.settings.get(name)}" for name in changed
        )
    if stored.method != wanted.method:
        return "other settings of the method"
    if stored.version != wanted.version:
        return f"headstart {stored.version} instead of {wanted.version}"
    return ""


def stored_runs(folder: Path, space: str | None = None) -> Iterator[tuple[str, RunKey, Path]]:
    """Yield method, names and file of every run, or of those of one space, in order of their names."""
    part = "*" if space is None else file_name(space)
    for file in sorted((folder / RUNS).glob(f"*/{part}/*/*.parquet")):
        if file.name.startswith("."):
            continue  # being written, or left by somebody who was killed
        parts = [*(parent.name for parent in reversed(file.parents[:3])), file.stem]
        if any(SHORTENED in part for part in parts):
            method, *names = _stored_names(file)
        else:
            method, *names = map(unquote, parts)
        yield method, RunKey(*names), file


def _stored_names(file: Path) -> list[str]:
    try:
        method, space, task, seed = json.loads(read_metadata(file)[NAMES])
    except (KeyError, TypeError, ValueError) as error:
        raise _no_run(file) from error
    return [method, space, task, seed]


def compile_results(folder: Path) -> int:
    """Make the two tables of all runs that are there, unless they are up to date, and return how many runs there are.

    Raises:
        DataError: A run cannot be read.
    """
    runs = list(stored_runs(folder))
    trace = _trace(runs)
    if runs and not _is_current(folder, trace):
        _write_tables(folder, *_gathered(runs), trace)
    return len(runs)


Stored: TypeAlias = tuple[str, RunKey, Path]


def _gathered(runs: Sequence[Stored]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return columns and metadata of the tables of ``runs``."""
    parts: list[dict[str, Any]] = []
    stamps: dict[str, dict[str, Any]] = {}
    for method, key, file in runs:
        stamp = read_stamp(file)
        try:
            columns = read_columns(file)
        except DataError as error:
            raise DataError(f"{error} Remove it: 'headstart bench run' does such runs again.") from error
        size = len(columns["trial"])
        names = {"method": method, "space": key.space, "task": key.task, "seed": key.seed}
        parts.append({**{name: [word] * size for name, word in names.items()}, **columns})
        known = stamps.setdefault(method, {**vars(stamp), "version": []})
        if stamp.suite != known["suite"] or stamp.settings != known["settings"]:
            raise DataError(
                f"{file}: was made of other data or with other settings than the other runs of '{method}'. Move it to "
                "a folder of its own."
            )
        if stamp.version not in known["version"]:
            known["version"].append(stamp.version)
        if stamp.method not in known["method"]:  # kept beside others with --on-change keep
            known["method"] += f"; {stamp.method}"
    merged = {name: _joined([part[name] for part in parts]) for name in parts[0]}
    return merged, {STAMP: json.dumps(stamps, sort_keys=True)}


def _is_current(folder: Path, trace: str) -> bool:
    """Return whether the two tables belong together and were made of the runs of that ``trace``."""
    try:
        return read_metadata(folder / COSTS).get(MADE_OF) == f"{trace} {_state(folder / RESULTS)}"
    except (DataError, OSError):
        return False


def _trace(runs: Sequence[Stored]) -> str:
    """Return what changes with every file of ``runs``; to be asked before they are read."""
    digest = hashlib.sha256()
    for method, key, file in runs:
        digest.update(f"{method}\0{key.space}\0{key.task}\0{key.seed}\0{_state(file)}\0".encode())
    return digest.hexdigest()


def _state(file: Path) -> str:
    known = file.stat()
    return f"{known.st_size}-{known.st_mtime_ns}-{known.st_ino}"


def _write_tables(folder: Path, columns: Mapping[str, Any], metadata: Mapping[str, str], trace: str = "") -> None:
    results = {name: columns[name] for name in columns if name != "cpu_ms"}
    write_columns(folder / RESULTS, results, metadata, distinct=DISTINCT)
    costs = {name: columns[name] for name in (*KEY, "cpu_ms")}
    # here and not in the other table, which depends on nothing but the settings
    origin = {MADE_OF: f"{trace} {_state(folder / RESULTS)}"} if trace else {}
    write_columns(folder / COSTS, costs, {**metadata, **origin}, distinct=DISTINCT)


def write_compact(folder: Path, out: Path, *, curves_only: bool = False) -> int:
    """Write the two tables of ``folder`` to ``out`` with seven digits instead of 16, and return their size in bytes.

    Args:
        folder: Of results.
        out: Another folder.
        curves_only: Leave predictions and times out: nine tenths of the size.

    Raises:
        SettingsError: ``out`` is a folder of results, whose digits would be lost.
    """
    if out.resolve() == folder.resolve() or (out / RUNS).exists():
        raise SettingsError(f"{out}: is a folder of results, which a copy would replace. Name another folder.")
    columns, metadata = _table(folder)
    unknown = np.full(len(columns["trial"]), np.nan)
    kept = {name: values for name, values in columns.items() if not (curves_only and name in DISTINCT)}
    digits = {name: np.asarray(kept.get(name, unknown), dtype=np.float32) for name in MEASURES}
    _write_tables(out, {**{name: columns[name] for name in KEY}, **digits}, metadata)
    # where folders lie on this machine says nothing elsewhere
    about = {name: re.sub(r"(?<![\w:/.])/(?:[^\s'/]+/)*", "", text) for name, text in _about(folder).items()}
    if about:
        (out / ABOUT).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
    return sum((out / name).stat().st_size for name in (RESULTS, COSTS))


def _joined(parts: Sequence[Any]) -> Any:
    if isinstance(parts[0], list):
        return [word for part in cast("Sequence[list[str]]", parts) for word in part]
    return np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class Results:
    """All runs of a folder."""

    runs: Mapping[str, Mapping[RunKey, Mapping[str, NDArray[Any]]]]
    """By method and names: the measures [T + 1]."""
    settings: Mapping[str, str]
    suite: str
    """Fingerprint of the data."""
    methods: Mapping[str, str]
    """Settings of every method."""
    versions: tuple[str, ...]
    """Of headstart, all that any run was made with."""
    about: Mapping[str, str]
    """Where and with what the last runs were made, in words; empty where nobody wrote it down."""

    def curves(self) -> Curves:
        """Return the runs that all methods have."""
        return side_by_side(self.runs)


def read_results(folder: Path) -> Results:
    """Return what is in a folder of results, or in a copy of its two tables.

    Raises:
        DataError: There are no results, or results of different settings.
    """
    columns, metadata = _table(folder)
    stamps: dict[str, dict[str, Any]] = json.loads(metadata.get(STAMP, "{}"))
    if not stamps or not {*KEY, "regret"} <= set(columns):
        raise DataError(f"{folder / RESULTS}: is no table of headstart's results. Name another folder.")
    first = next(iter(stamps.values()))
    for method, stamp in stamps.items():
        if stamp["suite"] != first["suite"] or stamp["settings"] != first["settings"]:
            raise DataError(
                f"{folder}: method '{method}' was run with other data or settings than '{next(iter(stamps))}' "
                f"({stamp['settings']} and {first['settings']}). Keep each in a folder of its own."
            )
    versions = tuple(dict.fromkeys(version for stamp in stamps.values() for version in stamp["version"]))
    settings = {method: str(stamp["method"]) for method, stamp in stamps.items()}
    return Results(_by_run(columns), first["settings"], str(first["suite"]), settings, versions, _about(folder))


def _about(folder: Path) -> dict[str, str]:
    try:
        found = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(name): str(value) for name, value in found.items() if isinstance(value, str)}


def _table(folder: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """Return columns and metadata of both tables; those of the runs, where runs are newer."""
    runs = list(stored_runs(folder))
    trace = _trace(runs)
    if runs and not _is_current(folder, trace):
        columns, metadata = _gathered(runs)
        with suppress(OSError):  # who may only read a folder can read its runs
            _write_tables(folder, columns, metadata, trace)
        return columns, metadata
    if not (folder / RESULTS).is_file():
        raise DataError(f"{folder}: there are no results. Name a folder that 'headstart bench run --out' has written.")
    columns = read_columns(folder / RESULTS)
    if (folder / COSTS).is_file():
        costs = read_columns(folder / COSTS)["cpu_ms"]
        if len(costs) != len(next(iter(columns.values()))):
            raise DataError(f"{folder}: {COSTS} does not belong to {RESULTS}. Copy both again, or remove {COSTS}.")
        columns["cpu_ms"] = costs
    return columns, read_metadata(folder / RESULTS)


def _by_run(columns: Mapping[str, Any]) -> dict[str, dict[RunKey, dict[str, NDArray[Any]]]]:
    starts = np.flatnonzero(columns["trial"] == 0)
    ends = np.append(starts[1:], len(columns["trial"]))
    found: dict[str, dict[RunKey, dict[str, NDArray[Any]]]] = {}
    for start, end in zip(starts, ends, strict=True):
        method, *names = (str(columns[name][start]) for name in KEY[:4])
        measures = {name: columns[name][start:end] for name in MEASURES if name in columns}
        found.setdefault(method, {})[RunKey(*names)] = measures
    return found


def runs_of_space(folder: Path, space: str) -> dict[str, dict[RunKey, dict[str, NDArray[Any]]]]:
    """Return the runs of one space by method and names, while others may still be missing."""
    found: dict[str, dict[RunKey, dict[str, NDArray[Any]]]] = {}
    for method, key, file in stored_runs(folder, space):
        columns = read_columns(file)
        found.setdefault(method, {})[key] = {name: columns[name] for name in MEASURES}
    return found


def refuse_mixture(folder: Path, suite: Suite, settings: RunSettings) -> None:
    """Refuse a folder that holds runs of other data or settings, or files that would be overwritten.

    Raises:
        SettingsError: The message says what differs.
    """
    if folder.exists() and not folder.is_dir():
        raise SettingsError(f"{folder}: is no folder. Name another with --out.")
    if (folder / ABOUT).exists() and "headstart" not in _about(folder):
        raise SettingsError(f"{folder}: {ABOUT} there is somebody else's. Name another folder with --out.")
    wanted = Stamp(suite.fingerprint, settings.words(), "", "")
    for _, _, file in stored_runs(folder):
        stored = read_stamp(file)
        found = difference(Stamp(stored.suite, stored.settings, "", ""), wanted)
        if found:
            raise SettingsError(f"{folder}: holds results with {found}. Name another folder with --out.")
        return  # all runs of a folder were checked against the first one when they were made
    if (folder / RESULTS).exists():
        raise SettingsError(
            f"{folder}: has a {RESULTS} without the runs it was made of, which would be lost. Name another folder with "
            "--out."
        )
