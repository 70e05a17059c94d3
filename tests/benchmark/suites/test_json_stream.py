"""The streaming reader agrees with json.loads wherever the text is cut into chunks, and refuses what is no table."""

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headstart.benchmark.suites import json_stream
from headstart.benchmark.suites.json_stream import space_tasks
from headstart.errors import DataError

NAMES = st.text(st.sampled_from('ab{}[]",:\\ /0é∑𝛼'), min_size=1, max_size=6)
"""Everything that means something in JSON, and characters of two, three and four bytes."""
WORDS = st.text(st.sampled_from('ab{}[]",:\\ /\n\t\x00é∑𝛼'), max_size=8)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | WORDS
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3))
TASKS = st.lists(VALUES, max_size=3) | st.dictionaries(WORDS, VALUES, max_size=3)
TABLES = st.dictionaries(NAMES, st.dictionaries(NAMES, TASKS, max_size=3), max_size=3)
ONE_FILE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None)

SMALL: dict[str, dict[str, Any]] = {
    'a "b"': {"t\\1": {"X": [[0.5, 1]], "note": 'say "]}" \\'}, "é": {"X": [], "y": {}}},
    "none": {},
    "c": {"t\\1": [[], {"": "\\\\"}]},
}


def flat(content: dict[str, dict[str, Any]]) -> list[tuple[str, str, Any]]:
    return [(space, task, value) for space, tasks in content.items() for task, value in tasks.items()]


def refused(file: Path) -> str:
    """Return the message of the only error that may come: one line that names the file."""
    with pytest.raises(DataError) as caught:
        list(space_tasks(file))
    message = str(caught.value)
    assert message.startswith(f"{file}: ")
    assert message.isprintable(), message
    return message


@pytest.fixture
def stored(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        (tmp_path / "table.json").write_text(text, encoding="utf-8", newline="")
        return tmp_path / "table.json"

    return write


def padded(text: str, seed: int) -> str:
    """Return ``text`` with white space around everything that is not inside a string."""
    choice = random.Random(seed)
    parts: list[str] = []
    for token in re.findall(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^"{}\[\],:\s]+', text):
        parts += [token, "".join(choice.choices(" \t\n\r", k=choice.randint(0, 2)))]
    return "\n " + "".join(parts)


@given(content=TABLES, chunk=st.integers(1, 40), seed=st.integers(0, 9), ascii_only=st.booleans())
@ONE_FILE
def test_agrees_with_the_parser_of_python(
    content: dict[str, Any], chunk: int, seed: int, ascii_only: bool, stored: Callable[[str], Path]
) -> None:
    file = stored(padded(json.dumps(content, ensure_ascii=ascii_only), seed))
    assert json.loads(file.read_text()) == content  # the padding changed nothing
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "CHUNK", chunk)
        found = list(space_tasks(file))
    assert found == flat(content)


@pytest.mark.parametrize("chunk", [1, 2, 3, 5, 7, 1 << 22])
def test_every_cut_of_chunks(chunk: int, stored: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "CHUNK", chunk)
    for indent in (None, 1):
        for ascii_only in (True, False):
            assert list(space_tasks(stored(json.dumps(SMALL, indent=indent, ensure_ascii=ascii_only)))) == flat(SMALL)


def test_no_more_text_is_kept_than_a_task_and_two_chunks(
    stored: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    content = {"s": {f"task {k}": {"X": [[k / 10] * 20]} for k in range(200)}}
    text = json.dumps(content)
    chunk, longest = 64, max(len(json.dumps(value)) for value in content["s"].values())
    monkeypatch.setattr(json_stream, "CHUNK", chunk)
    longest_window = 0
    original = json_stream._Reader._more

    def more(self: json_stream._Reader) -> bool:
        nonlocal longest_window
        answer = original(self)
        longest_window = max(longest_window, len(self._text))
        return answer

    monkeypatch.setattr(json_stream._Reader, "_more", more)
    assert list(space_tasks(stored(text))) == flat(content)
    assert longest < longest_window <= longest + 3 * chunk < len(text) / 10


@pytest.mark.parametrize("chunk", [1, 3, 1 << 22])
def test_cut_short_at_every_length(chunk: int, stored: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "CHUNK", chunk)
    text = json.dumps(SMALL, ensure_ascii=False)
    for length in range(len(text)):
        refused(stored(text[:length]))
    assert list(space_tasks(stored(text)))
    # inside a character of several bytes
    file = stored(text)
    file.write_bytes(text.encode()[: text.encode().index("é".encode()) + 1])
    assert "cannot be read" in refused(file)


def test_cut_short_names_space_and_task(stored: Callable[[str], Path]) -> None:
    text = '{"svm": {"heart": {"X": [[0.5'
    message = refused(stored(text))
    assert "space 'svm', task 'heart': expected the end of the task but found the end of the file" in message
    assert "space 'svm': expected '{' but found the end" in refused(stored(text[:8]))
    assert "space 'svm': expected the end of a string" in refused(stored(text[:13]))


@given(
    content=TABLES, place=st.integers(0, 400), rubbish=st.sampled_from([*'{}[]",:\\x', "\x0b", "\u00a0", "NaN", "\0"])
)
@ONE_FILE
def test_whatever_is_put_in_gives_what_python_reads_or_one_line(
    content: dict[str, Any], place: int, rubbish: str, stored: Callable[[str], Path]
) -> None:
    text = json.dumps(content, ensure_ascii=False)
    place = min(place, len(text))
    file = stored(text[:place] + rubbish + text[place:])
    try:
        found = list(space_tasks(file))
    except DataError:
        refused(file)
    else:  # then Python reads the same; NaN, which equals nothing, prints alike
        assert repr(found) == repr(flat(json.loads(file.read_text())))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected '{' but found the end of the file"),
        ("  \n", "expected '{' but found the end of the file"),
        ("[1]", r"expected '{' but found '\[1\]'"),
        ("\ufeff{}", r"expected '{' but found '\\ufeff{}'"),
        ("{} x", "expected the end of the file but found 'x'"),
        ('{"a": {}}}', "expected the end of the file but found '}'"),
        ("{} \u00a0", "expected the end of the file but found"),
        ('{"a" {}}', "space 'a': expected ':' but found '{}}'"),
        ('{"a": []}', "space 'a': expected '{' but found"),
        ('{"a": {"t": 1}}', "space 'a', task 't': expected an object but found '1}}'"),
        ('{"a": {"t": [1], }}', "space 'a': expected the name of a task in quotes but found '}}'"),
        ('{"a": {}, }', "expected the name of a space in quotes but found '}'"),
        ('{"a": {} "b": {}}', "expected ',' or '}' but found '\"b\": {}}'"),
        ("{a: {}}", "expected the name of a space in quotes but found 'a: {}}'"),
        ('{"a": {"t": [[1}', r"space 'a', task 't': expected the end of the task but found the end of the file"),
        ('{"a": {"t": [1]]}', "space 'a': expected ',' or '}' but found"),
        ('{"a": {"t": [1 2]}}', r"space 'a', task 't': is not valid JSON \(Expecting ',' delimiter\)"),
        ('{"a": {"t": [1}]}}', "space 'a', task 't': is not valid JSON"),
        ('{"a": {"t": ["\\x"]}}', r"space 'a', task 't': is not valid JSON \(Invalid \\escape"),
        ('{"a\\x": {}}', r"is not valid JSON \(Invalid \\escape"),
        ('{"a": {"t\n": []}}', "space 'a': is not valid JSON"),
        ('{"a": {}, "b": {}, "a": {}}', "space 'a' is there twice"),
        ('{"a": {}, "\\u0061": {}}', "space 'a' is there twice"),
        ('{"a": {"t": [], "t": []}}', "space 'a', task 't' is there twice"),
        ('{"": {}}', "space '' has characters that cannot be printed, or none"),
        ('{"a": {"t\\n": []}}', r"space 'a': task 't\\n' has characters that cannot be printed"),
        ('{"a": {"\\ud800": []}}', r"task '\\ud800' has characters that cannot be printed"),
        ('{"a": {"t": [' + "1" * 5000 + "]}}", "space 'a', task 't': is not valid JSON"),
        ('{"a": {"t": ' + "[" * 100_000 + "]" * 100_000 + "}}", "space 'a', task 't': is not valid JSON"),
    ],
)
def test_what_is_no_table_is_refused_in_one_line(text: str, message: str, stored: Callable[[str], Path]) -> None:
    assert re.search(message, refused(stored(text)))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    assert "there is no such file" in refused(tmp_path / "none.json")
    assert "cannot be read" in refused(tmp_path)
    (tmp_path / "binary.json").write_bytes(b'{"a": {"\xff": []}}')
    assert "cannot be read" in refused(tmp_path / "binary.json")


def test_tasks_come_before_the_end_is_read(stored: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "CHUNK", 8)
    tasks = space_tasks(stored('{"a": {"t": [1, 2], "u": [3], broken'))
    assert next(tasks) == ("a", "t", [1, 2])
    assert next(tasks) == ("a", "u", [3])
    with pytest.raises(DataError, match="space 'a': expected the name of a task"):
        next(tasks)
