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

_STRUCTURE = re.compile(r'["\[\]{}]')


def space_tasks(file: Path) -> Iterator[tuple[str, str, Any]]:
    """Yield space, task and parsed value for every task of ``file``, in order.

    Raises:
        DataError: The file cannot be read, is not of that form, or names a space or a task twice.
    """
    try:
        with file.open(encoding="utf-8") as stream:
            reader = _Reader(stream, file)
            spaces: set[str] = set()
            for space in reader.members():
                reader.check_new(space, spaces, "space")
                tasks: set[str] = set()
                for task in reader.members():
                    reader.check_new(task, tasks, f"space '{space}', task")
                    yield space, task, reader.value(space, task)
            reader.end()
    except FileNotFoundError as error:
        raise DataError(f"{file}: there is no such file. Name the folder that holds the benchmark's files.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{file}: cannot be read ({error}).") from error


class _Reader:
    """A window on the text that moves on; the only state is what has been read and not used yet."""

    def __init__(self, stream: TextIO, file: Path) -> None:
        self._stream, self._file = stream, file
        self._text, self._at = "", 0

    def members(self) -> Iterator[str]:
        """Yield the keys of the object that begins here; the caller reads each value before it asks for the next."""
        self._expect("{")
        if self._peek() == "}":
            self._at += 1
            return
        while True:
            if self._peek() != '"':
                raise self._malformed("a name in quotes")
            yield self._parsed(self._until_end_of_string(self._at))
            after = self._peek()
            self._at += 1
            if after == "}":
                return
            if after != ",":
                raise self._malformed("a comma or a closing brace")

    def value(self, space: str, task: str) -> Any:
        """Return the value that begins here, parsed."""
        try:
            return self._parsed(self._until_end_of_value())
        except json.JSONDecodeError as error:
            raise DataError(f"{self._file}: space '{space}', task '{task}' is not valid JSON ({error.msg}).") from error

    def check_new(self, name: str, known: set[str], what: str) -> None:
        """Go on behind the colon of a key, which must be new."""
        if name in known:
            raise DataError(f"{self._file}: {what} '{name}' is there twice. Leave one of them out.")
        known.add(name)
        self._expect(":")

    def end(self) -> None:
        """Require that nothing follows."""
        if self._peek():
            raise self._malformed("the end of the file")

    def _more(self) -> bool:
        """Read on, dropping what was used; False at the end of the file."""
        chunk = self._stream.read(CHUNK)
        self._text = self._text[self._at :] + chunk
        self._at = 0
        return bool(chunk)

    def _peek(self) -> str:
        """Return the next character that is not white space; nothing at the end."""
        while True:
            while self._at < len(self._text):
                if not self._text[self._at].isspace():
                    return self._text[self._at]
                self._at += 1
            if not self._more():
                return ""

    def _expect(self, character: str) -> None:
        if self._peek() != character:
            raise self._malformed(repr(character))
        self._at += 1

    def _parsed(self, end: int) -> Any:
        text = self._text[self._at : end]
        self._at = end
        return json.loads(text)

    def _until_end_of_string(self, start: int) -> int:
        """Return the place behind the string that begins at ``start``."""
        place = start + 1
        while True:
            quote = self._text.find('"', place)
            if quote < 0:
                # the window may move: places count from its beginning
                behind, place = self._at, max(len(self._text), place)
                if not self._more():
                    raise self._malformed("the end of a string")
                start, place = start - behind, place - behind
                continue
            backslashes = len(self._text[start + 1 : quote]) - len(self._text[start + 1 : quote].rstrip("\\"))
            if backslashes % 2 == 0:
                return quote + 1
            place = quote + 1

    def _until_end_of_value(self) -> int:
        """Return the place behind the object or array that begins here."""
        if self._peek() not in ("{", "["):
            raise self._malformed("an object")
        depth, place = 0, self._at
        while True:
            found = _STRUCTURE.search(self._text, place)
            if found is None:
                behind, place = self._at, len(self._text)
                if not self._more():
                    raise self._malformed("the end of a task")
                place -= behind
                continue
            if found[0] == '"':
                place = self._until_end_of_string(found.start())  # of the window as it is afterwards
                continue
            depth += 1 if found[0] in "[{" else -1
            place = found.end()
            if depth == 0:
                return place

    def _malformed(self, expected: str) -> DataError:
        here = self._text[self._at : self._at + 30]
        return DataError(
            f"{self._file}: expected {expected} but found {here!r}. The file must be one JSON object "
            "{space: {task: {...}}}; download it again if it was cut short."
        )
