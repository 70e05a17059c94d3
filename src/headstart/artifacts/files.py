"""Files that keep a frozen dataclass: a pre-trained surrogate or design, its arrays and its settings.

One safetensors file holds both. Its arrays are the tensors, named after the fields they come from; a JSON text in its
metadata says which class, which settings and which tensor stand where. A JSON file beside it would read as well, but
two files cannot be replaced at once: a crash, or two processes that save at the same time, would leave a pair that
does not belong together.

Nothing in a file is ever executed. The classes that a file may name are the frozen dataclasses that stand in the
modules of ``structure.HOMES``; their constructors run with all their checks, and every field is compared with its
annotation. A digest finds damage; it is no signature, and whoever writes a file can compute one.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast, overload

from headstart._version import __version__
from headstart.artifacts.structure import AnyArray, Json, is_instance, put_together, taken_apart
from headstart.data import metadata_text
from headstart.errors import ArtifactError
from headstart.space.values import shown
from headstart.whole_files import written_whole

FORMAT = 1
LARGEST_FILE = 1 << 33
"""Bytes; a larger file is no artifact, and is not read."""
LARGEST_TEXT = 1 << 26
"""Characters of the JSON text; safetensors itself stops at 100 MB."""

_TEXT = "headstart.artifact"
"""The one name in the metadata, so that the same content gives the same bytes: digest, space, JSON."""

T = TypeVar("T")


@dataclass(frozen=True)
class About:
    """What an artifact says of itself."""

    class_name: str
    """Full name of the class of what it holds."""
    version: str
    """The headstart that wrote it."""
    fingerprint: str
    """What it was made from: Space, data and settings."""
    description: Mapping[str, Any]
    """What its writer wanted to say."""


def save(path: str | Path, thing: object, *, fingerprint: str, description: Mapping[str, Any] | None = None) -> None:
    """Write ``thing`` into one file, which is there completely or not at all, also after a crash.

    Args:
        path: The file, replaced if it is there. Its folder must be there.
        thing: A frozen dataclass of headstart: fields may be arrays, numbers, strings, booleans, None, tuples, and
            frozen dataclasses of these.
        fingerprint: Says what it was made from, such as a hash of Space, data and settings. ``load`` compares it.
        description: JSON values to keep with it.

    Raises:
        ArtifactError: It cannot be stored, or the file cannot be written.
    """
    what = f"Artifact {str(path)!r}"
    if not is_instance(thing):
        raise ArtifactError(f"{what}: only a frozen dataclass can be stored, got {shown(thing)}.")
    if not isinstance(cast(object, fingerprint), str):
        raise ArtifactError(f"{what}: fingerprint must be text, got {shown(fingerprint)}. Hash what it stands for.")
    tensors: dict[str, AnyArray] = {}
    content: Json = {
        "format": FORMAT,
        "version": __version__,
        "fingerprint": fingerprint,
        "description": json.loads(metadata_text(description, what)),
        "thing": taken_apart(thing, "", tensors, f"{what}: {type(thing).__name__}", 0),
    }
    try:
        text = json.dumps(content, allow_nan=False)
    except ValueError as error:  # a whole number of more digits than Python turns into text
        raise ArtifactError(f"{what}: a setting cannot be written as JSON ({error}). Use a smaller number.") from None
    if len(text) > LARGEST_TEXT:
        raise ArtifactError(
            f"{what}: settings and description take {len(text):,} characters of JSON, of which {LARGEST_TEXT:,} fit. "
            "Keep long lists of numbers in arrays."
        )
    import safetensors.numpy  # only where a file is written or read

    data = safetensors.numpy.save(tensors, {_TEXT: f"{_digest(text, tensors)} {text}"})
    try:
        with written_whole(Path(path)) as stream:
            stream.write(data)
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name, or no name
        reason = getattr(error, "strerror", None) or error
        raise ArtifactError(f"{what}: it cannot be written ({reason}). Choose another file.") from None


@overload
def load(path: str | Path, *, expected: type[T], fingerprint: str | None = None) -> T: ...
@overload
def load(path: str | Path, *, expected: None = None, fingerprint: str | None = None) -> object: ...
def load(path: str | Path, *, expected: type[Any] | None = None, fingerprint: str | None = None) -> object:
    """Return what ``save`` has written, equal to the last bit.

    Args:
        path: The file.
        expected: The class that it must hold; any when None.
        fingerprint: What it must have been made from; anything when None.

    Raises:
        ArtifactError: It is not there, not an artifact, damaged, of another version, of another class, or made from
            something else.
    """
    what = f"Artifact {str(path)!r}"
    content, tensors, digest = _read(Path(path), what)
    _refuse_stale(content, fingerprint, what)
    class_name = _class_name(content, what)
    if expected is not None and class_name != f"{expected.__module__}.{expected.__qualname__}":
        raise ArtifactError(f"{what}: it holds {class_name[:200]}, expected {expected.__name__}. Give another file.")
    unused = dict(tensors)
    try:
        thing = put_together(content["thing"], unused, 0)
        parts: dict[str, AnyArray] = {}
        again = {**content, "thing": taken_apart(thing, "", parts, what, 0)}
        # a constructor may change what it is given: the object would no longer be the one that was saved
        same = not unused and _digest(json.dumps(again, allow_nan=False), parts) == digest
    except ArtifactError as error:
        raise ArtifactError(f"{what}: it is not well formed: {error} Make it anew.") from None
    # whatever a constructor raises when it is given what it cannot take
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise ArtifactError(f"{what}: its content is refused ({reason}). Make it anew.") from None
    if not same:
        raise ArtifactError(f"{what}: {class_name[:200]} no longer is what was stored. Make it anew.")
    return thing


def about(path: str | Path) -> About:
    """Return what an artifact says of itself, also if another version has written it.

    Raises:
        ArtifactError: It is not there, not an artifact, or damaged.
    """
    what = f"Artifact {str(path)!r}"
    content, _, _ = _read(Path(path), what)
    return About(_class_name(content, what), content["version"], content["fingerprint"], content["description"])


def _digest(text: str, tensors: Mapping[str, AnyArray]) -> str:
    """Return a hash of everything that a file holds, whatever the order of its tensors."""
    total = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        total.update(json.dumps([name, tensor.dtype.str, list(tensor.shape)]).encode())
        total.update(hashlib.sha256(tensor.tobytes()).digest())
    return total.hexdigest()


def _read(path: Path, what: str) -> tuple[Json, dict[str, AnyArray], str]:
    """Return JSON content, tensors and digest of a file that is whole."""
    try:
        if path.stat().st_size > LARGEST_FILE or not path.is_file():
            raise ArtifactError(f"{what}: it is not a file of at most {LARGEST_FILE:,} bytes. Give another.")
        data = path.read_bytes()
    except (OSError, ValueError, MemoryError) as error:  # ValueError: a zero byte in the name
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise ArtifactError(f"{what}: it cannot be read ({reason}). Check the path, or make it anew.") from None
    import safetensors
    import safetensors.numpy

    try:
        tensors = safetensors.numpy.load(data)
        header = _strict_json(data[8 : 8 + int.from_bytes(data[:8], "little")].decode())
        metadata = cast(Json, cast(Json, header)["__metadata__"])
        if list(metadata) != [_TEXT] or len(metadata[_TEXT]) > LARGEST_TEXT + 65:
            raise KeyError(f"its metadata must hold {_TEXT} and nothing else")
        digest, _, text = cast(str, metadata[_TEXT]).partition(" ")
        is_whole = _digest(text, tensors) == digest
    # safetensors raises its own error, or what NumPy and its tables raise on a type that they do not know
    except (safetensors.SafetensorError, AttributeError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise ArtifactError(
            f"{what}: it is cut short, damaged, or no artifact of headstart ({_one_line(error)}). Make it anew."
        ) from None
    if not is_whole:
        raise ArtifactError(f"{what}: it is damaged: its digest does not fit its content. Make it anew.")
    return _checked_content(text, what), tensors, digest


def _checked_content(text: str, what: str) -> Json:
    try:
        content = _strict_json(text)
    except (ValueError, RecursionError) as error:
        raise ArtifactError(f"{what}: its description is no plain JSON ({_one_line(error)}). Make it anew.") from None
    shape = {"format": int, "version": str, "fingerprint": str, "description": dict, "thing": dict}
    found = cast(Json, content) if isinstance(content, dict) else {}
    if isinstance(found.get("format"), int) and found["format"] != FORMAT:
        number = shown(found["format"])
        raise ArtifactError(f"{what}: it has format {number}, this headstart reads {FORMAT}. Make it anew, or update.")
    if {name: type(held) for name, held in found.items()} != shape:
        raise ArtifactError(f"{what}: its description lacks what belongs there, or has more. Make it anew.")
    return found


def _strict_json(text: str) -> object:
    """Return what ``text`` says; JSON without NaN, and no name twice."""

    def distinct(pairs: list[tuple[str, object]]) -> Json:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError("a name stands twice")
        return found

    def refuse(name: str) -> object:
        raise ValueError(f"{name} is not JSON")

    return json.loads(text, object_pairs_hook=distinct, parse_constant=refuse)


def _refuse_stale(content: Json, fingerprint: str | None, what: str) -> None:
    if content["version"] != __version__:
        raise ArtifactError(
            f"{what}: headstart {shown(content['version'])} wrote it, this is {__version__}. Make it anew."
        )
    if fingerprint is not None and content["fingerprint"] != fingerprint:
        raise ArtifactError(
            f"{what}: it is stale: it was made from {shown(content['fingerprint'])}, now it would be "
            f"{shown(fingerprint)}. Make it anew."
        )


def _class_name(content: Json, what: str) -> str:
    name = content["thing"].get("class")
    if not isinstance(name, str):
        raise ArtifactError(f"{what}: it does not hold a dataclass. Make it anew.")
    return name


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__
