"""Spaces of configurations: parameters, conditions, the Space itself and its files."""

from typing import TypeAlias

Value: TypeAlias = bool | int | float | str | None
Config: TypeAlias = dict[str, Value]

__all__ = ["Config", "Value"]
