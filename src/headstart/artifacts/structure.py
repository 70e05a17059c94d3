"""Objects as JSON and named tensors, and back, for frozen dataclasses of any kind.

None, booleans, whole numbers, strings and finite floats stand for themselves. All else is an object of JSON:

    {"float": "nan"}                                         a float that JSON lacks
    {"number": "float32", "bytes": "0000803f"}               a scalar of NumPy, little-endian
    {"tuple": [...]}
    {"array": "past.prior", "dtype": "<f8", "shape": [3], "order": "C", "writeable": false}
    {"class": "headstart.numerics.forest.Forest", "fields": {...}}
"""

import math
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields, is_dataclass
from importlib import import_module
from types import NoneType, UnionType
from typing import Any, Literal, TypeAlias, Union, cast, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from headstart.errors import ArtifactError
from headstart.space.values import shown

Json: TypeAlias = dict[str, Any]
AnyArray: TypeAlias = NDArray[Any]

HOMES = ("acquisition", "data", "encoding", "initial_designs", "metafeatures", "numerics", "surrogates")
"""Modules and packages of headstart whose classes a file may name. None of them does anything when it is imported."""
DEEPEST = 40
"""How many objects may be held inside one another."""

_CLASS = re.compile(r"headstart((?:\.[a-z][a-z0-9_]*)+)\.([A-Za-z_][A-Za-z0-9_]*)")
_NATIVE = frozenset(["<f8", "<f4", "<f2", "<i8", "<i4", "<i2", "|i1", "<u8", "<u4", "<u2", "|u1", "|b1"])
"""The dtypes that every safetensors knows; others go in as bytes."""
_NUMBERS = {np.dtype(code).type.__name__: np.dtype(code) for code in "bhilqBHILQefdg"}
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def taken_apart(value: object, place: str, tensors: dict[str, AnyArray], what: str, depth: int) -> object:
    """Return ``value`` as JSON; its arrays go into ``tensors``, named after their ``place``."""
    where = f"{what}.{place}" if place else what
    if depth > DEEPEST:
        raise ArtifactError(f"{where}: more than {DEEPEST} objects inside one another. Nest less.")
    kind = type(value)
    if value is None or kind in (bool, int):
        return value
    if isinstance(value, float) and kind is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, str) and kind is str:
        with suppress(UnicodeEncodeError):
            value.encode()
            return value
        raise ArtifactError(f"{where}: it holds a lone surrogate, which no file can keep. Use proper Unicode.")
    if isinstance(value, np.generic) and kind.__name__ in _NUMBERS:
        little = np.array(cast(Any, value)).astype(_NUMBERS[kind.__name__].newbyteorder("<"))
        return {"number": kind.__name__, "bytes": little.tobytes().hex()}
    if isinstance(value, np.ndarray) and kind is np.ndarray and cast(AnyArray, value).dtype.kind in "biuf":
        return _array_apart(cast(AnyArray, value), place or "array", tensors)
    if isinstance(value, tuple) and kind is tuple:
        items = cast("tuple[object, ...]", value)
        return {"tuple": [taken_apart(v, f"{place}[{i}]", tensors, what, depth + 1) for i, v in enumerate(items)]}
    if is_instance(cast(object, value)):
        class_name = f"{kind.__module__}.{kind.__qualname__}"
        hints = _hints(_known_class(class_name))
        held: Json = {}
        for field in fields(cast(Any, value)):
            inside, part = getattr(cast(object, value), field.name), f"{place}.{field.name}" if place else field.name
            if not _fits(inside, hints[field.name]):
                raise ArtifactError(f"{what}.{part}: {shown(inside)} does not fit its type. Correct it.")
            held[field.name] = taken_apart(inside, part, tensors, what, depth + 1)
        return {"class": class_name, "fields": held}
    raise ArtifactError(
        f"{where}: a {kind.__name__} cannot be stored. Use arrays of numbers, numbers, strings, booleans, None, tuples "
        "and frozen dataclasses of these."
    )


def is_instance(value: object) -> bool:
    """Return whether ``value`` is an instance of a dataclass."""
    return is_dataclass(value) and not isinstance(value, type)


def _array_apart(array: AnyArray, place: str, tensors: dict[str, AnyArray]) -> Json:
    # not ascontiguousarray, which gives an array without axes one
    rows = np.asarray(array, order="C")
    native = rows.dtype.str in _NATIVE
    tensors[place] = rows if native else np.frombuffer(rows.tobytes(), dtype=np.uint8)
    # the order in memory decides how BLAS adds up, and with it the last bit of a prediction
    order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    described = {"array": place, "dtype": rows.dtype.str, "shape": list(rows.shape)}
    return {**described, "order": order, "writeable": bool(array.flags.writeable)}


def put_together(stored: object, tensors: dict[str, AnyArray], depth: int) -> object:
    """Return what ``taken_apart`` has described; used tensors are taken out of ``tensors``."""
    if depth > DEEPEST:
        raise ArtifactError(f"more than {DEEPEST} objects inside one another.")
    if stored is None or isinstance(stored, bool | int | float | str):
        return stored
    described = cast(Json, stored) if isinstance(stored, dict) else {}
    match tuple(described), tuple(described.values()):
        case ("float",), (str(name),) if name in _NOT_FINITE:
            return _NOT_FINITE[name]
        case ("number", "bytes"), (str(name), str(digits)) if name in _NUMBERS:
            return np.frombuffer(bytes.fromhex(digits), dtype=_NUMBERS[name].newbyteorder("<"))[0]
        case ("tuple",), (list(),):
            return tuple(put_together(item, tensors, depth + 1) for item in cast("list[object]", described["tuple"]))
        case ("array", "dtype", "shape", "order", "writeable"), (str(name), str(), list(), "C" | "F", bool()):
            if name not in tensors:
                raise ArtifactError(f"the array {shown(name)} is missing or named twice.")
            return _array_together(tensors.pop(name), described)
        case ("class", "fields"), (str(name), dict()):
            return _object_together(name, cast(Json, described["fields"]), tensors, depth)
        case _:
            raise ArtifactError(f"{shown(cast(object, stored))} means nothing.")


def _array_together(tensor: AnyArray, described: Json) -> AnyArray:
    dtype, shape = np.dtype(described["dtype"]), tuple(described["shape"])
    if dtype.kind not in "biuf" or dtype.hasobject or dtype.fields is not None:
        raise ArtifactError(f"arrays of {dtype} are not allowed.")
    if not all(type(size) is int and size >= 0 for size in shape):
        raise ArtifactError(f"{shown(shape)} is no shape.")
    native = dtype.str in _NATIVE
    expected = (dtype, shape) if native else (np.dtype(np.uint8), (math.prod(shape) * dtype.itemsize,))
    if (tensor.dtype, tensor.shape) != expected:
        raise ArtifactError(f"an array is {tensor.dtype}{tensor.shape}, expected {expected[0]}{expected[1]}.")
    if dtype.kind == "b" and tensor.size and tensor.view(np.uint8).max() > 1:
        raise ArtifactError("an array of booleans holds something else.")
    rows = tensor if native else np.frombuffer(tensor.tobytes(), dtype=dtype).reshape(shape)
    array = np.array(rows, order=described["order"])
    array.setflags(write=described["writeable"])
    return array


def _object_together(class_name: str, described: Json, tensors: dict[str, AnyArray], depth: int) -> object:
    known = _known_class(class_name)
    hints, places = _hints(known), fields(known)
    if list(described) != [field.name for field in places]:
        raise ArtifactError(f"{known.__name__} has the fields {', '.join(hints)}, got {', '.join(described)[:200]}.")
    held = {name: put_together(inside, tensors, depth + 1) for name, inside in described.items()}
    for name, inside in held.items():
        if not _fits(inside, hints[name]):
            raise ArtifactError(f"{known.__name__}.{name}: {shown(inside)} does not fit its type.")
    return known(**{field.name: held[field.name] for field in places if field.init})


def _known_class(class_name: str) -> type[Any]:
    """Return the frozen dataclass of that full name, out of one of headstart's own modules and no other."""
    found = _CLASS.fullmatch(class_name)
    if found is None or found[1].split(".")[1] not in HOMES:
        raise ArtifactError(f"{shown(class_name)} is no class of headstart's {', '.join(HOMES)}.")
    module = f"headstart{found[1]}"
    with suppress(ModuleNotFoundError):
        import_module(module)
    known = vars(sys.modules.get(module, object)).get(found[2])
    if not (isinstance(known, type) and is_dataclass(known) and known.__module__ == module):
        raise ArtifactError(f"there is no dataclass {shown(class_name)}.")
    if known.__qualname__ != found[2] or not cast(Any, known).__dataclass_params__.frozen:
        raise ArtifactError(f"{shown(class_name)} is no frozen dataclass.")
    return known


def _hints(known: type[Any]) -> dict[str, Any]:
    try:
        hints = get_type_hints(known)
    except NameError as error:  # a type that is imported for type checkers only
        raise ArtifactError(f"{known.__name__}: {error}. Import the types of its fields at run time, too.") from None
    return {field.name: hints[field.name] for field in fields(known)}


def _fits(value: object, hint: Any) -> bool:
    """Return whether ``value`` is what the annotation ``hint`` says; an array by its kind, whatever its width."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any or hint is object:
        return True
    if origin in (Union, UnionType):
        return any(_fits(value, one) for one in arguments)
    if origin is Literal:
        return any(type(value) is type(one) and value == one for one in arguments)
    if origin is tuple:
        items = cast("tuple[object, ...]", value) if isinstance(value, tuple) else None
        if items is None or arguments[1:] == (Ellipsis,):
            return items is not None and all(_fits(item, arguments[0]) for item in items)
        return len(items) == len(arguments) and all(map(_fits, items, arguments))
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and cast(AnyArray, value).dtype.kind in _kinds(arguments)
    if origin is Callable or getattr(hint, "_is_protocol", False):
        return is_dataclass(value) and (origin is not Callable or callable(value))
    if hint is None or hint is NoneType:
        return value is None
    if hint is float or hint is int:
        allowed = (int, np.integer) if hint is int else (int, float, np.integer, np.floating)
        return isinstance(value, allowed) and not isinstance(value, bool)
    return isinstance(value, origin or hint)


def _kinds(arguments: tuple[Any, ...]) -> str:
    """Return the kinds of dtypes that ``np.ndarray[shape, np.dtype[...]]`` allows."""
    of = get_args(arguments[1]) if len(arguments) == 2 else ()
    for base, kinds in ((np.floating, "f"), (np.integer, "iu"), (np.bool_, "b")):
        if of and isinstance(of[0], type) and issubclass(of[0], base):
            return kinds
    return "biuf"
