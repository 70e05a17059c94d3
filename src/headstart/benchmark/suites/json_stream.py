"""Reading {space: {task: value}} from a JSON file of any size, one task at a time.

The benchmark's tables are single JSON objects of gigabytes. The reader below keeps no more text than one task's, and
hands each task to the JSON parser of Python as a whole.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from headstart.errors import DataError

CHUNK = 1 << 22
"""Characters read at once."""

_SPACE = " \t\n\r"
"""What JSON calls white space; str.isspace() knows more."""
_STRUCTURE = re.compile(r'["\[\]{}]')
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


def space_tasks(file: Path) -> Iterator[tuple[str, str, Any]]:
    """Yield space, task and parsed value for every task of ``file``, in order.

    Raises:
        DataError: The file cannot be read, is not of that form, or names a space or a task twice.
    """
    try:
        with file.open(encoding="utf-8") as stream:
            reader = _Reader(stream, file)
            for space in reader.members("space"):
                for task in reader.members("task"):
                    yield space, task, reader.value()
            reader.end()
    except FileNotFoundError as error:
        raise DataError(f"{file}: there is no such file. Name the folder that holds the benchmark's files.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{file}: cannot be read ({error}).") from error


class _Reader:
    """A window on the text that moves on; the only state is what has been read and not used yet, and the names."""

    def __init__(self, stream: TextIO, file: Path) -> None:
        self._stream, self._file = stream, file
        self._text, self._at = "", 0
        self._inside: list[str] = []

    def members(self, what: str) -> Iterator[str]:
        """Yield the keys of the object that begins here; the caller reads each value before it asks for the next."""
        known: set[str] = set()
        self._expect("{")
        if self._peek() == "}":
            self._expect("}")
            return
        last = ","
        while last == ",":
            self._drop_used()
            if self._peek() != '"':
                raise self._malformed(f"the name of a {what} in quotes")
            name = self._parsed(self._end_of_string(self._at))
            if not (name and name.isprintable()):  # names stand in messages, tables and names of files
                raise DataError(f"{self._where}: {what} {name!a} has characters that cannot be printed, or none.")
            self._inside.append(f"{what} '{name}'")
            if name in known:
                raise DataError(f"{self._where} is there twice. Leave one of them out.")
            known.add(name)
            self._expect(":")
            yield name
            self._inside.pop()
            last = self._expect(",", "}")

    def value(self) -> Any:
        """Return the value that begins here, parsed."""
        return self._parsed(self._end_of_value())

    def end(self) -> None:
        """Require that nothing follows."""
        if self._peek():
            raise self._malformed("the end of the file")

    @property
    def _where(self) -> str:
        return f"{self._file}: {', '.join(self._inside)}" if self._inside else str(self._file)

    def _more(self) -> bool:
        """Read on; False at the end of the file."""
        chunk = self._stream.read(CHUNK)
        self._text += chunk
        return bool(chunk)

    def _drop_used(self) -> None:
        """Forget what was read and used, now and then: between two calls no place of the window moves."""
        if self._at >= CHUNK:
            self._text, self._at = self._text[self._at :], 0

    def _peek(self) -> str:
        """Return the next character that is not white space; nothing at the end."""
        while self._at < len(self._text) or self._more():
            if self._text[self._at] not in _SPACE:
                return self._text[self._at]
            self._at += 1
        return ""

    def _expect(self, *characters: str) -> str:
        found = self._peek()
        if found not in characters:
            raise self._malformed(" or ".join(map(repr, characters)))
        self._at += 1
        return found

    def _parsed(self, end: int) -> Any:
        text = self._text[self._at : end]
        self._at = end
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:  # ValueError: also for numbers of thousands of digits
            raise DataError(f"{self._where}: is not valid JSON ({getattr(error, 'msg', error)}).") from error

    def _end_of_string(self, start: int) -> int:
        """Return the place behind the string that begins at ``start``."""
        while (found := _STRING.match(self._text, start)) is None:
            if not self._more():
                raise self._malformed("the end of a string", cut=True)
        return found.end()

    def _end_of_value(self) -> int:
        """Return the place behind the object or array that begins here."""
        if self._peek() not in ("{", "["):
            raise self._malformed("an object")
        depth, place = 0, self._at
        while True:
            found = _STRUCTURE.search(self._text, place)
            if found is None:
                place = len(self._text)
                if not self._more():
                    raise self._malformed("the end of the task", cut=True)
            elif found[0] == '"':
                place = self._end_of_string(found.start())
            else:
                depth += 1 if found[0] in "[{" else -1
                place = found.end()
                if depth == 0:
                    return place

    def _malformed(self, expected: str, *, cut: bool = False) -> DataError:
        here = "" if cut else self._text[self._at : self._at + 30]
        return DataError(
            f"{self._where}: expected {expected} but found {ascii(here) if here else 'the end of the file'}. The file "
            "must be one JSON object {space: {task: {...}}}; download it again if it was cut short."
        )
