"""What can be wrong with what is stored, in words."""

import json
import math
from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter
from typing import Any

from sqlalchemy import Connection, Row, select

from headstart.errors import DataError, HeadstartError
from headstart.memory.database import DATABASE_ERRORS, Database, stored_version
from headstart.memory.queries import digest_of
from headstart.memory.records import checked_name
from headstart.memory.schema import SCHEMA_VERSION, spaces, tasks, trials
from headstart.space import Space
from headstart.space.values import shown

STATES = ("running", "complete", "failed", "abandoned")


def problems(database: Database) -> list[str]:
    """Return what is wrong with the memory of ``database``, one line each."""
    found: list[str] = []
    with database.reading() as connection:
        # What breaks one look must not hide what the others find.
        for look in (_file, _version, _spaces, _tasks, _trials):
            try:
                found.extend(look(connection))
            except DATABASE_ERRORS as error:
                found.append(database.words(error))
    return list(dict.fromkeys(found))


def _file(connection: Connection) -> Iterator[str]:
    if connection.dialect.name != "sqlite":  # a server looks after its own files and foreign keys
        return
    for (text,) in connection.exec_driver_sql("PRAGMA integrity_check"):
        lines = (line for line in text.splitlines() if line != "ok" and not line.startswith("*"))
        yield from (f"The file is damaged: {line}." for line in lines)
    for table, row, parent, _ in connection.exec_driver_sql("PRAGMA foreign_key_check"):
        yield f"Table {table}, row {row}: refers to a row of {parent} that is not there."


def _version(connection: Connection) -> Iterator[str]:
    version = stored_version(connection)
    if version != SCHEMA_VERSION:
        yield f"The schema version is {version}, this headstart reads {SCHEMA_VERSION}."


def _spaces(connection: Connection) -> Iterator[str]:
    for row in connection.execute(select(spaces)):
        space = _parsed_space(row.definition)
        if isinstance(space, str):
            yield f"Space {row.id}: cannot be read ({space})."
        elif space.fingerprint != row.fingerprint:
            yield f"Space {row.id}: the stored fingerprint is not that of its definition."
        elif digest_of(row.definition) != row.digest:
            yield f"Space {row.id}: the stored digest is not that of its definition."


def _tasks(connection: Connection) -> Iterator[str]:
    for row in connection.execute(select(tasks)):
        what = f"Task '{row.name}'"
        try:
            checked_name(row.name, "its name")
        except DataError as error:
            yield f"{what}: {error}"
        if row.direction not in ("minimize", "maximize"):
            yield f"{what}: direction is {row.direction!r}."
        if not _is_mapping(row.metadata):
            yield f"{what}: metadata is not a JSON object."
        if (row.low is None) != (row.high is None) or not (_is_number(row.low) and _is_number(row.high)):
            yield f"{what}: bounds are ({row.low!r}, {row.high!r})."
        elif row.low is not None and row.low > row.high:
            yield f"{what}: bounds are not in order."
        if not isinstance(row.revision, int) or not isinstance(row.seed, int | None):
            yield f"{what}: its revision is {shown(row.revision)} and its seed {shown(row.seed)}."


def _trials(connection: Connection) -> Iterator[str]:
    heads = {row.id: row for row in connection.execute(select(tasks, spaces.c.definition).join(spaces))}
    query = select(trials).order_by(trials.c.task_id, trials.c.number).execution_options(yield_per=1000)
    known: dict[str, Space | str] = {}
    with connection.execute(query) as result:
        for task_id, rows in groupby(result, key=attrgetter("task_id")):
            head = heads.get(task_id)
            if head is None:  # the foreign keys told it
                continue
            if head.definition not in known:
                known[head.definition] = _parsed_space(head.definition)
            yield from _trials_of(head, rows, known[head.definition])


def _trials_of(head: Row[Any], rows: Iterator[Row[Any]], space: Space | str) -> Iterator[str]:
    what = f"Task '{head.name}'"
    count = latest = told = places = 0
    for row in rows:
        if not (isinstance(row.number, int) and isinstance(row.revision, int)):
            yield f"{what}: a trial has number {shown(row.number)} and revision {shown(row.revision)}."
            continue
        yield from (f"{what}, trial {row.number}: {problem}." for problem in _trial(row, space))
        if row.number != count:
            yield f"{what}: number {count} is missing before trial {row.number}."
        count = row.number + 1
        if isinstance(row.told_order, int):
            told, places = told + 1, max(places, row.told_order + 1)
        latest = max(latest, row.revision)
    if told != places:  # no place is taken twice: the database sees to that
        yield f"{what}: the order of its {told} told trials has gaps."
    if isinstance(head.revision, int) and latest > head.revision:
        yield f"{what}: its revision is {head.revision}, but a trial has {latest}."


def _trial(row: Row[Any], space: Space | str) -> Iterator[str]:
    if row.state not in STATES:
        yield f"its state is {shown(row.state)}"
    if row.state == "complete" and row.value is None:
        yield "it is complete but has no value"
    if row.state != "complete" and row.value is not None:
        yield f"it is {row.state} but has a value"
    if not _is_number(row.value):
        yield f"its value is {shown(row.value)}, not a finite number"
    if not _is_number(row.duration) or (row.duration or 0) < 0:
        yield f"its duration is {shown(row.duration)}"
    if isinstance(row.told_order, int) != (row.state in ("complete", "failed")):
        yield f"it is {row.state}, its place in the order of tells is {shown(row.told_order)}"
    if isinstance(row.finished, float) == (row.state == "running"):
        yield f"it is {row.state}, its end is {shown(row.finished)}"
    if not isinstance(row.told_before, int):
        yield f"it knew {shown(row.told_before)} told trials"
    if not _is_mapping(row.metadata):
        yield "its metadata is not a JSON object"
    try:
        config = json.loads(row.config)
    except (ValueError, TypeError, RecursionError):
        yield "its config is not JSON"
        return
    if isinstance(space, Space):
        try:
            space.validate(config)
        except HeadstartError as error:
            yield f"its config does not fit its Space ({error})".rstrip(".")


def _parsed_space(definition: object) -> Space | str:
    if not isinstance(definition, str):
        return "it is not text"
    try:
        return Space.from_dict(json.loads(definition))
    except (HeadstartError, ValueError, TypeError, RecursionError) as error:
        return str(error)


def _is_mapping(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, TypeError, RecursionError):
        return False


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isfinite(value))
