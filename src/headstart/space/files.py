"""Spaces as plain data, JSON and TOML: one schema, written in docs/spaces.md."""

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast

from headstart.errors import HeadstartError, SpaceError
from headstart.space.parameters import Categorical, Constant, Float, Int, Parameter
from headstart.space.values import shown

KEYS: dict[str, tuple[set[str], set[str]]] = {
    "float": ({"low", "high"}, {"log", "default", "when"}),
    "int": ({"low", "high"}, {"log", "default", "when"}),
    "categorical": ({"choices"}, {"ordered", "default", "when"}),
    "constant": ({"value"}, {"when"}),
}
"""What the description of each type must and may have."""

NULL = {"null": True}
"""How None is written where a format has no word for it (TOML)."""

LARGEST_FILE = 10_000_000


def parameters_from_dict(described: Mapping[str, Any]) -> list[Parameter]:
    """Return the parameters that plain data describes."""
    if not isinstance(cast("object", described), Mapping) or set(described) != {"parameters"}:
        raise SpaceError(
            f'A Space is described as {{"parameters": {{name: description}}}}, got {shown(described)}. '
            "See docs/spaces.md."
        )
    parameters = described["parameters"]
    if not isinstance(parameters, Mapping):
        raise SpaceError(f"Space: parameters must map names to descriptions, got {shown(parameters)}.")
    return [_parameter(name, one) for name, one in cast("Mapping[Any, Any]", parameters).items()]


def _parameter(name: Any, described: Any) -> Parameter:
    what = f"Parameter {shown(name)}"
    if not isinstance(described, Mapping):
        raise SpaceError(
            f'{what}: its description must be a table such as {{"type": "float", ...}}, got {shown(described)}.'
        )
    given = {key: _without_null(value) for key, value in cast("Mapping[Any, Any]", described).items()}
    kind = given.pop("type", None)
    if not isinstance(kind, str) or kind not in KEYS:
        raise SpaceError(f"{what}: type must be one of {', '.join(KEYS)}, got {shown(kind)}.")
    required, optional = KEYS[kind]
    for key in given:
        if key not in required | optional:
            close = get_close_matches(str(key), required | optional, n=1)
            advice = (
                f"Did you mean '{close[0]}'?" if close else f"It may have {', '.join(sorted(required | optional))}."
            )
            raise SpaceError(f"{what}: a {kind} has no {shown(key)}. {advice}")
    missing = sorted(required - set(given))
    if missing:
        raise SpaceError(f"{what}: '{missing[0]}' is missing. A {kind} needs {', '.join(sorted(required))}.")
    has_default = "default" in given
    if kind == "constant":
        return Constant(name, given["value"], when=given.get("when", ()))
    if kind == "categorical":
        choices = given["choices"]
        if has_default and given["default"] is None and None not in choices:
            raise SpaceError(f"{what}: its default is null, which is no choice. Leave it out, or name a choice.")
        return Categorical(name, **given)
    if has_default and given["default"] is None:
        raise SpaceError(f"{what}: its default must be a number, got null. Leave it out where there is none.")
    return Float(name, **given) if kind == "float" else Int(name, **given)


def _without_null(value: Any) -> Any:
    if isinstance(value, Mapping) and value == NULL:
        return None
    if isinstance(value, list):
        return [_without_null(item) for item in cast("list[Any]", value)]
    if isinstance(value, Mapping):
        return {key: _without_null(item) for key, item in cast("Mapping[Any, Any]", value).items()}
    return value


def fingerprint(parameters: Sequence[Parameter]) -> str:
    """Return 32 hexadecimal digits that tell Spaces apart; order of parameters, unordered choices, defaults do not."""
    described = {parameter.name: _essence(parameter) for parameter in parameters}
    text = json.dumps(described, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _essence(parameter: Parameter) -> dict[str, Any]:
    described = {key: value for key, value in parameter.to_dict().items() if key != "default"}
    if isinstance(parameter, Categorical) and not parameter.ordered:
        described["choices"] = sorted(map(_sortable, parameter.choices))
    described["when"] = {parent: sorted(map(_sortable, values)) for parent, values in described.get("when", {}).items()}
    return described


def _sortable(value: object) -> str:
    # 1 and 1.0 are one value
    return json.dumps(int(value) if isinstance(value, float) and value.is_integer() else value)


def read(path: Path) -> dict[str, Any]:
    """Return the plain data in a TOML or JSON file."""
    kind = _kind(path)
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise SpaceError(f"{path}: the file is larger than {LARGEST_FILE // 10**6} MB. It cannot be a Space.")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise SpaceError(f"{path} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise SpaceError(f"{path} is not text in UTF-8.") from error
    try:
        if kind == "json":
            return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_unique_keys)
        import tomllib  # only where a TOML file is read

        return tomllib.loads(text)
    except HeadstartError as error:
        raise SpaceError(f"{path}: {error}") from None
    except (ValueError, RecursionError) as error:  # both decoders raise subclasses of ValueError
        raise SpaceError(f"{path} is not valid {kind.upper()}: {error}.") from None


def write(path: Path, described: Mapping[str, Any]) -> None:
    """Write plain data to a TOML or JSON file."""
    text = to_toml(described) if _kind(path) == "toml" else json.dumps(described, indent=2, ensure_ascii=False) + "\n"
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SpaceError(f"{path} cannot be written: {error.strerror or error}.") from error


def _kind(path: Path) -> str:
    kind = path.suffix.lower().lstrip(".")
    if kind not in ("toml", "json"):
        raise SpaceError(f"{path}: a Space is kept in a file that ends in .toml or .json. Rename it.")
    return kind


def _refuse_constant(word: str) -> float:
    raise SpaceError(f"{word} is no value of a Space. Give a finite number.")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise SpaceError(f"'{twice}' stands there twice.")
    return found


def to_toml(described: Mapping[str, Any]) -> str:
    """Return a described Space as TOML: one table per parameter."""
    tables: list[str] = []
    for name, one in described["parameters"].items():
        lines = [f"[parameters.{_toml_key(name)}]", *(f"{_toml_key(k)} = {_toml(v)}" for k, v in one.items())]
        tables.append("\n".join(lines) + "\n")
    return "\n".join(tables)


def _toml_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key, flags=re.ASCII) else _toml(key)


def _toml(value: Any) -> str:
    if value is None:
        return "{ null = true }"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        text = repr(value)
        assert math.isfinite(value)  # parameters refuse others
        return text if any(mark in text for mark in ".e") else f"{text}.0"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        # TOML's basic strings are JSON's, but for the delete character
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list):
        return f"[{', '.join(_toml(item) for item in cast('list[Any]', value))}]"
    return f"{{ {', '.join(f'{_toml_key(key)} = {_toml(item)}' for key, item in value.items())} }}"
