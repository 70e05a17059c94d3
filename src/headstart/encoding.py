"""The one bridge between Configs and arrays: rows of the unit cube."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from headstart.errors import DataError

ColumnKind: TypeAlias = Literal["numeric", "one-hot", "indicator"]


@dataclass(frozen=True)
class Columns:
    """What a surrogate may know of the encoded columns."""

    kinds: tuple[ColumnKind, ...]
    """One per column."""
    groups: tuple[int, ...]
    """Which parameter (its place in the Space) each column belongs to."""

    def __post_init__(self) -> None:
        if len(self.kinds) != len(self.groups):
            raise DataError(
                f"Columns: got {len(self.kinds)} kinds but {len(self.groups)} groups. Give one of each per column."
            )

    @classmethod
    def numeric(cls, d: int) -> "Columns":
        """Return ``d`` plain numeric columns, each its own parameter."""
        return cls(("numeric",) * d, tuple(range(d)))

    def __len__(self) -> int:
        return len(self.kinds)
