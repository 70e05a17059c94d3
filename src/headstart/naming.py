"""Finding a method by the name that tables, files and the command line call it."""

from collections.abc import Collection, Iterable
from typing import ClassVar, Protocol, TypeVar

from headstart.errors import SettingsError
from headstart.space.values import shown


class Named(Protocol):
    """What a listed class must have."""

    name: ClassVar[str]


T = TypeVar("T", bound=Named)


def class_named(kind: str, name: str, classes: Iterable[type[T]]) -> type[T]:
    """Return the class whose ``name`` is ``name``; ``kind`` says what the classes are.

    Raises:
        SettingsError: There is none; the message has the closest names, and all.
    """
    by_name = {one.name: one for one in classes}
    refuse_unknown(kind, name, by_name)
    return by_name[name]


def refuse_unknown(kind: str, name: str, known: Collection[str]) -> None:
    """Refuse a name that is not among those ``known``; ``kind`` says what they are names of.

    Raises:
        SettingsError: The message has the closest names, and all.
    """
    if name in known:
        return
    from difflib import get_close_matches  # only for the message

    close = get_close_matches(str(name), known, n=3)
    hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
    raise SettingsError(f"There is no {kind} named {shown(name)}.{hint} The names are {', '.join(map(repr, known))}.")
