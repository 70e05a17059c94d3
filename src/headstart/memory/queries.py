"""What a Memory asks of its tables: functions of one connection, inside the caller's transaction."""

import hashlib
import json
import time
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Row, func, insert, select, update

from headstart.data import Observation, State, Trial
from headstart.errors import HeadstartError, MemoryStoreError, TaskNotFoundError, TrialError
from headstart.memory.records import LONGEST_NAME, TaskRecord, TrialCounts
from headstart.memory.schema import spaces, tasks, trials
from headstart.space import Space
from headstart.space.values import shown


class LockedTask(NamedTuple):
    """A task whose revision this transaction has counted up, which keeps other writers out of it."""

    id: int
    space_id: int
    revision: int
    trials: int
    """How many it has, which is also the next number."""
    told: int
    """How many were told, which is also the next place in the order of tells."""


class KnownSpaces:
    """The Spaces that were read from a memory. Their rows never change, and identifiers are never used again."""

    def __init__(self) -> None:
        self._spaces: dict[int, Space] = {}

    def of_task(self, connection: Connection, task_id: int, space_id: int) -> Space:
        """Return the Space of a task."""
        known = self._spaces.get(space_id)
        if known is not None:
            return known
        query = select(spaces.c.definition, tasks.c.name).join(tasks).where(tasks.c.id == task_id)
        definition, task = connection.execute(query).one()
        return self.parsed(space_id, definition, task)

    def parsed(self, space_id: int, definition: str, task: str) -> Space:
        """Return the Space that ``definition`` writes down."""
        known = self._spaces.get(space_id)
        if known is None:
            try:
                known = Space.from_dict(json.loads(definition))
            except (HeadstartError, ValueError, TypeError, RecursionError) as error:
                raise MemoryStoreError(
                    f"The stored Space of task '{task}' cannot be read ({error}). Run headstart memory check."
                ) from error
            self._spaces[space_id] = known
        return known


def definition_of(space: Space) -> str:
    """Return ``space`` as the text that is stored: defaults and order included."""
    return json.dumps(space.to_dict(), allow_nan=False)


def digest_of(definition: str) -> str:
    """Return what stands for a definition where it must be unique."""
    return hashlib.sha256(definition.encode()).hexdigest()


def store_space(connection: Connection, space: Space) -> int:
    """Return the identifier of the row that holds ``space``, made if there is none."""
    definition = definition_of(space)
    digest = digest_of(definition)
    row = {"digest": digest, "fingerprint": space.fingerprint, "definition": definition}
    query = select(spaces.c.id).where(spaces.c.digest == digest)
    stored = connection.execute(query).scalar()
    if stored is None:
        connection.execute(insert(spaces).values(row))
        stored = connection.execute(query).scalar_one()
    return stored


def task_id_of(connection: Connection, name: str) -> int:
    """Return the identifier of the task of that name."""
    task_id = connection.execute(select(tasks.c.id).where(tasks.c.name == _findable(connection, name))).scalar()
    if task_id is None:
        raise _not_found(connection, name)
    return task_id


def lock_task(connection: Connection, name: str) -> LockedTask:
    """Count the revision of a task up. Other writers of it wait from here to the end of the transaction."""
    this = tasks.c.name == _findable(connection, name)
    changes = {"revision": tasks.c.revision + 1, "changed": time.time()}
    if connection.execute(update(tasks).where(this).values(changes)).rowcount == 0:
        raise _not_found(connection, name)
    of_task = trials.c.task_id == tasks.c.id
    last_number = select(func.max(trials.c.number)).where(of_task).scalar_subquery()
    last_told = select(func.max(trials.c.told_order)).where(of_task).scalar_subquery()
    query = select(tasks.c.id, tasks.c.space_id, tasks.c.revision, last_number, last_told).where(this)
    task_id, space_id, revision, number, told = connection.execute(query).one()
    following = [0 if last is None else last + 1 for last in (number, told)]
    return LockedTask(task_id, space_id, revision, *following)


def insert_trial(connection: Connection, task: LockedTask, values: Mapping[str, Any]) -> None:
    """Store a new trial of ``task`` under the next number."""
    row = {
        "task_id": task.id,
        "number": task.trials,
        "revision": task.revision,
        "created": time.time(),
        "metadata": "{}",
        **values,
    }
    connection.execute(insert(trials).values(row))


def finish_trial(connection: Connection, task: LockedTask, number: int, outcome: Mapping[str, Any], what: str) -> None:
    """Store the outcome of a trial that is running, or of one that was abandoned and comes back with a result."""
    this = (trials.c.task_id == task.id) & (trials.c.number == number)
    before = connection.execute(select(trials.c.state).where(this)).scalar()
    if before is None:
        raise TrialError(
            f"{what}: there is no such trial; the task has {task.trials}. Use add_observation() for results from "
            "elsewhere."
        )
    is_late = before == "abandoned" and outcome["state"] != "abandoned"
    if before != "running" and not is_late:
        raise TrialError(f"{what} was told before: it is {before}. Use add_observation() for a second result.")
    told_order = None if outcome["state"] == "abandoned" else task.told
    changes = {**outcome, "told_order": told_order, "revision": task.revision, "finished": time.time()}
    connection.execute(update(trials).where(this).values(changes))


def task_records(connection: Connection, condition: ColumnElement[bool], known: KnownSpaces) -> list[TaskRecord]:
    """Return the tasks that meet ``condition`` in the order they were created."""
    counted = connection.execute(
        select(trials.c.task_id, trials.c.state, func.count(), func.min(trials.c.value), func.max(trials.c.value))
        .join(tasks, trials.c.task_id == tasks.c.id)
        .join(spaces)
        .where(condition)
        .group_by(trials.c.task_id, trials.c.state)
    )
    by_task: dict[int, dict[State, tuple[int, float | None, float | None]]] = {}
    for task_id, state, count, low, high in counted:
        by_task.setdefault(task_id, {})[state] = (count, low, high)
    query = select(tasks, spaces.c.definition).join(spaces).where(condition).order_by(tasks.c.id)
    return [_task_record(row, by_task.get(row.id, {}), known) for row in connection.execute(query)]


def _task_record(
    row: Row[Any], by_state: Mapping[State, tuple[int, float | None, float | None]], known: KnownSpaces
) -> TaskRecord:
    count = {state: summary[0] for state, summary in by_state.items()}
    _, low, high = by_state.get("complete", (0, None, None))
    return TaskRecord(
        name=row.name,
        space=known.parsed(row.space_id, row.definition, row.name),
        direction=row.direction,
        metric=row.metric,
        seed=row.seed,
        method=row.method,
        bounds=None if row.low is None else (row.low, row.high),
        metadata=_parsed(row.metadata, row.name),
        source=row.source,
        created=row.created,
        changed=row.changed,
        revision=row.revision,
        trials=TrialCounts(
            running=count.get("running", 0),
            complete=count.get("complete", 0),
            failed=count.get("failed", 0),
            abandoned=count.get("abandoned", 0),
        ),
        best=low if row.direction == "minimize" else high,
    )


def observations(connection: Connection, name: str, since: int) -> list[Observation]:
    """Return the trials of a task that changed after revision ``since``, by number."""
    columns = (trials.c.number, trials.c.config, trials.c.origin, trials.c.told_before, trials.c.state)
    query = (
        select(*columns, trials.c.value, trials.c.duration, trials.c.metadata)
        .where(trials.c.task_id == task_id_of(connection, name), trials.c.revision > since)
        .order_by(trials.c.number)
    )
    return [
        Observation(
            Trial(number, _parsed(config, name), None, origin, told_before),
            state,
            value,
            duration,
            _parsed(metadata, name),
        )
        for number, config, origin, told_before, state, value, duration, metadata in connection.execute(query)
    ]


def _parsed(text: str, task: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise MemoryStoreError(
            f"Task '{task}': stored JSON cannot be read ({error}). Run headstart memory check."
        ) from error


def task_record(connection: Connection, name: str, known: KnownSpaces) -> TaskRecord:
    """Return the task of that name."""
    found = task_records(connection, tasks.c.name == _findable(connection, name), known)
    if not found:
        raise _not_found(connection, name)
    return found[0]


def _findable(connection: Connection, name: str) -> str:
    """Return ``name`` if a task could have it: some databases refuse even to look for other text."""
    if not _is_short_text(name) or not name.isprintable():
        raise _not_found(connection, name)
    return name


def _not_found(connection: Connection, name: str) -> TaskNotFoundError:
    names = list(connection.execute(select(tasks.c.name).order_by(tasks.c.id)).scalars())
    close = get_close_matches(name, names, n=3, cutoff=0.5) if _is_short_text(name) else []
    if close:
        advice = f"The closest names are {', '.join(map(repr, close))}."
    elif names:
        advice = f"It has {len(names)}, such as {', '.join(map(repr, names[-3:]))}."
    else:
        advice = "It has none yet."
    return TaskNotFoundError(f"There is no task {shown(name)} in this memory. {advice}")


def _is_short_text(name: object) -> bool:
    return isinstance(name, str) and len(name) <= LONGEST_NAME
