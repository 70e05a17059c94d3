"""Columns in Parquet files: the only place that talks to pyarrow."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from headstart.errors import DataError, MissingDependencyError
from headstart.whole_files import written_whole


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow  # pyright: ignore[reportMissingTypeStubs] - it ships none, and only results need it
        import pyarrow.parquet as parquet  # pyright: ignore[reportMissingTypeStubs]
    except ImportError as error:
        raise MissingDependencyError(
            "Parquet files need 'pyarrow', which is not installed. Run: pip install 'headstart[bench]'."
        ) from error
    return pyarrow, parquet


def read_columns(file: Path) -> dict[str, NDArray[Any]]:
    """Return the columns of ``file`` by name.

    Raises:
        DataError: It is no Parquet file.
    """
    _, parquet = _pyarrow()
    try:
        with parquet.ParquetFile(file) as source:  # read_table also takes folders, and columns from their names
            table = source.read()
        return {str(name): np.asarray(table.column(name).to_numpy()) for name in table.column_names}
    except FileNotFoundError as error:
        raise DataError(f"{file}: there is no such file.") from error
    except Exception as error:  # pyarrow raises what it likes on foreign files
        raise _unreadable(file, error) from error


def _unreadable(file: Path, error: Exception) -> DataError:
    return DataError(f"{file}: is no Parquet file that can be read ({' '.join(str(error).split())}).")


def read_metadata(file: Path) -> dict[str, str]:
    """Return the words that were stored with the columns of ``file``.

    Raises:
        DataError: It is no Parquet file.
    """
    _, parquet = _pyarrow()
    try:
        found = cast("Mapping[bytes, bytes]", parquet.read_schema(file).metadata or {})
    except FileNotFoundError as error:
        raise DataError(f"{file}: there is no such file.") from error
    except Exception as error:
        raise _unreadable(file, error) from error
    return {key.decode(): value.decode() for key, value in found.items()}


def write_columns(
    file: Path, columns: Mapping[str, Any], metadata: Mapping[str, str], *, distinct: Collection[str] = ()
) -> None:
    """Write ``columns`` to ``file`` in one step: whoever is killed leaves the whole file or none.

    The columns named ``distinct`` hold floats that hardly ever repeat; those are smaller byte by byte.
    """
    pyarrow, parquet = _pyarrow()
    encoding = {
        "compression": "zstd",
        "use_dictionary": [name for name in columns if name not in distinct],
        "use_byte_stream_split": [name for name in columns if name in distinct],
    }
    table = pyarrow.table(dict(columns)).replace_schema_metadata(dict(metadata))
    file.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(file) as stream:
        parquet.write_table(table, stream, **encoding)
