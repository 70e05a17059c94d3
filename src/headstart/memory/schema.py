"""The tables of a memory, version 1.

Times are seconds since 1970 in UTC as floats, configurations and metadata are JSON text, and a float is stored so that
its bits come back. ``revision`` counts the changes of a task's trials: the task carries the latest, each trial the one
of its own last change, so that what is new since a revision can be asked for.
"""

from typing import Any

from sqlalchemy import BigInteger, Column, Double, ForeignKey, Integer, MetaData, Table, Text, UniqueConstraint
from sqlalchemy.types import TypeEngine, UserDefinedType

SCHEMA_VERSION = 1


class _Untyped(UserDefinedType[float]):
    """A SQLite column without a declared type."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        """Return what stands after the column's name: nothing."""
        return ""


# SQLite keeps a whole number in a REAL column as an integer, which turns -0.0 into 0.0. Without a declared type the
# eight bytes stay as they are.
_EXACT: TypeEngine[float] = Double[float]().with_variant(_Untyped(), "sqlite")

# Named constraints can be changed by a later version on every database.
metadata = MetaData(
    naming_convention={
        "pk": "%(table_name)s_pk",
        "uq": "%(table_name)s_%(column_0_N_name)s_unique",
        "fk": "%(table_name)s_%(column_0_name)s_fk",
        "ix": "%(table_name)s_by_%(column_0_name)s",
    }
)

meta = Table(
    "meta",
    metadata,
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),
)

# Identifiers are never used twice (AUTOINCREMENT), so that a cache by identifier cannot confuse a deleted task with a
# later one.
spaces = Table(
    "spaces",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("digest", Text, nullable=False, unique=True),  # of the definition, whose text is too long for an index
    Column("fingerprint", Text, nullable=False, index=True),
    Column("definition", Text, nullable=False),
    sqlite_autoincrement=True,
)

tasks = Table(
    "tasks",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("space_id", Integer, ForeignKey("spaces.id"), nullable=False, index=True),
    Column("direction", Text, nullable=False),
    Column("metric", Text),
    Column("seed", BigInteger),
    Column("method", Text),
    Column("low", _EXACT),
    Column("high", _EXACT),
    Column("metadata", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("created", Double, nullable=False),
    Column("changed", Double, nullable=False),
    Column("revision", BigInteger, nullable=False),
    sqlite_autoincrement=True,
)

trials = Table(
    "trials",
    metadata,
    Column("id", BigInteger().with_variant(Integer(), "sqlite"), primary_key=True),
    Column("task_id", Integer, ForeignKey("tasks.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("config", Text, nullable=False),
    Column("value", _EXACT),
    Column("duration", _EXACT),
    Column("metadata", Text, nullable=False),
    Column("origin", Text, nullable=False),
    Column("told_before", Integer, nullable=False),
    Column("told_order", Integer),
    Column("revision", BigInteger, nullable=False),
    Column("created", Double, nullable=False),
    Column("finished", Double),
    Column("worker", Text),  # who holds a running trial; not used yet
    UniqueConstraint("task_id", "number"),
    UniqueConstraint("task_id", "told_order"),
)
