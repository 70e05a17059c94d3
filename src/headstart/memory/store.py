"""The store of Tasks with their Spaces and Observations, shared by every process that opens it."""

import time
from collections.abc import Collection, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

from sqlalchemy import Connection, delete, insert, select, true

from headstart.data import Direction, MetaDataset, Observation, State, metadata_text
from headstart.errors import DataError, MemoryStoreError
from headstart.memory import queries
from headstart.memory.database import Database
from headstart.memory.inspection import problems
from headstart.memory.past import Past
from headstart.memory.place import place_of
from headstart.memory.records import (
    TaskRecord,
    checked_bounds,
    checked_count,
    checked_direction,
    checked_duration,
    checked_name,
    checked_names,
    checked_number,
    checked_seed,
    checked_space,
    checked_text,
    config_text,
)
from headstart.memory.schema import spaces, tasks, trials
from headstart.space import Config, Space
from headstart.space.values import shown

LONGEST_TIMEOUT = 1e6
"""Seconds; SQLite counts milliseconds in 32 bits."""


class Memory:
    """Past and present Tasks in one file, or in one PostgreSQL database.

    Any number of threads and processes may use it at once. Every method that changes something has it on the disk when
    it returns, and no method leaves a lock behind. A Memory pickles as its location.
    """

    def __init__(self, location: str | Path = "headstart.db", *, create: bool = True, timeout: float = 30.0) -> None:
        """Open the memory at ``location``.

        Args:
            location: A path, ":memory:" for one that lives as long as this object, or a URL of SQLite or PostgreSQL.
            create: Whether to make it if it is not there. Its folder must be there.
            timeout: Seconds to wait for other processes that are writing.

        Raises:
            MemoryStoreError: It cannot be opened, or is not a memory, or was written by a newer headstart.
        """
        self._timeout = min(checked_duration(timeout, "Memory: timeout") or 0.0, LONGEST_TIMEOUT)
        self._place = place_of(location)
        self._database = Database(self._place, create=create, timeout=self._timeout)
        self._spaces = queries.KnownSpaces()
        self._past = Past()

    @property
    def location(self) -> str:
        """Where it is, as it was given; without a password."""
        return self._place.shown

    def close(self) -> None:
        """Close all connections. SQLite then leaves one file behind, without a log beside it."""
        self._database.close()

    def create_task(
        self,
        name: str,
        space: Space,
        *,
        direction: Direction = "minimize",
        metric: str | None = None,
        seed: int | None = None,
        method: str | None = None,
        bounds: tuple[float, float] | None = None,
        metadata: Mapping[str, Any] | None = None,
        source: str = "headstart",
    ) -> TaskRecord:
        """Return the task of that name, made if it is not there.

        A task that is there keeps all that was stored with it, its seed and Space included.

        Args:
            name: Up to 200 printable characters.
            space: Its Space. A stored one with the same fingerprint may have other defaults.
            direction: "minimize" or "maximize".
            metric: What the values measure.
            seed: Seed of the Optimizer that works on it.
            method: What the user chose.
            bounds: Lowest and highest possible value.
            metadata: JSON values to keep with it.
            source: Who brings it.

        Raises:
            MemoryStoreError: The task is there with another Space, direction or metric.
        """
        what = f"Task {shown(name)}"
        space = checked_space(space, what)
        low, high = checked_bounds(bounds, what) or (None, None)
        row = {
            "name": checked_name(name, "The name of a task"),
            "direction": checked_direction(direction, what),
            "metric": None if metric is None else checked_name(metric, f"{what}: metric"),
            "seed": checked_seed(seed, what),
            "method": None if method is None else checked_text(method, f"{what}: method"),
            "low": low,
            "high": high,
            "metadata": metadata_text(metadata, what),
            "source": checked_text(source, f"{what}: source"),
        }

        def create(connection: Connection) -> TaskRecord:
            if not queries.task_records(connection, tasks.c.name == name, self._spaces):
                now, space_id = time.time(), queries.store_space(connection, space)
                new = {**row, "space_id": space_id, "created": now, "changed": now, "revision": 0}
                connection.execute(insert(tasks).values(new))
            return queries.task_record(connection, name, self._spaces)

        with self._database.reading() as connection:
            found = queries.task_records(connection, tasks.c.name == name, self._spaces)
        stored = found[0] if found else self._database.writing(create)
        _refuse_another(stored, space, direction, metric)
        return stored

    def task(self, name: str) -> TaskRecord:
        """Return the task of that name.

        Raises:
            TaskNotFoundError: There is none; the message has the closest names.
        """
        with self._database.reading() as connection:
            return queries.task_record(connection, name, self._spaces)

    def tasks(self, space: Space | None = None) -> list[TaskRecord]:
        """Return all tasks, or those of ``space``, in the order they were created."""
        condition = true()
        if space is not None:
            condition = spaces.c.fingerprint == checked_space(space, "tasks").fingerprint
        with self._database.reading() as connection:
            return queries.task_records(connection, condition, self._spaces)

    def add_trial(self, task: str, config: Config, *, origin: str = "", told_before: int = 0) -> int:
        """Store a running trial and return its number, the next one that is free.

        Args:
            task: Name of the task.
            config: A configuration of its Space.
            origin: Who proposed it.
            told_before: How many trials had been told when it was proposed.
        """
        what = f"Task {shown(task)}, new trial"
        values = {
            "state": "running",
            "origin": checked_text(origin, f"{what}: origin"),
            "told_before": checked_count(told_before, f"{what}: told_before"),
        }

        def add(connection: Connection) -> int:
            locked = queries.lock_task(connection, task)
            text = self._config_text(connection, locked, config)
            queries.insert_trial(connection, locked, {**values, "config": text})
            return locked.trials

        return self._database.writing(add)

    def finish_trial(
        self,
        task: str,
        number: int,
        *,
        state: State,
        value: float | None = None,
        duration: float | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Store what came of a trial; it is on the disk when this returns.

        A trial that was abandoned can still be told: a late value is a value.

        Args:
            task: Name of the task.
            number: Number of the trial.
            state: "complete" (with a value), "failed" or "abandoned".
            value: In the user's own direction; finite.
            duration: Seconds.
            metadata: JSON values to keep with it.

        Raises:
            TrialError: There is no such trial, or it was told before.
        """
        what = f"Task {shown(task)}, trial {shown(number)}"
        outcome = _outcome(state, value, duration, metadata, what)
        number = checked_count(number, f"{what}: the number of a trial")
        self._database.writing(
            lambda connection: queries.finish_trial(
                connection, queries.lock_task(connection, task), number, outcome, what
            )
        )

    def add_observation(
        self,
        task: str,
        config: Config,
        value: float | None = None,
        *,
        failed: bool = False,
        origin: str = "added",
        metadata: Mapping[str, Any] | None = None,
        duration: float | None = None,
    ) -> int:
        """Store a result from elsewhere as a trial that is told already, and return its number.

        Args:
            task: Name of the task.
            config: A configuration of its Space.
            value: In the user's own direction; finite. None if it failed.
            failed: Whether the configuration has no value.
            origin: Where it comes from.
            metadata: JSON values to keep with it.
            duration: Seconds.
        """
        what = f"Task {shown(task)}, observation"
        outcome = _outcome("failed" if failed else "complete", value, duration, metadata, what)
        outcome["origin"] = checked_text(origin, f"{what}: origin")

        def add(connection: Connection) -> int:
            locked = queries.lock_task(connection, task)
            text = self._config_text(connection, locked, config)
            told = {"told_before": locked.told, "told_order": locked.told, "finished": time.time()}
            queries.insert_trial(connection, locked, {**outcome, **told, "config": text})
            return locked.trials

        return self._database.writing(add)

    def observations(self, task: str, *, since: int = 0) -> list[Observation]:
        """Return the trials of a task by number, running ones included.

        Args:
            task: Name of the task.
            since: A revision (``TaskRecord.revision``): only trials that changed after it.
        """
        since = checked_count(since, "observations: since", largest=2**63 - 1)
        with self._database.reading() as connection:
            return queries.observations(connection, task, since)

    def told_order(self, task: str) -> list[int]:
        """Return the numbers of the trials that were told (complete or failed), in the order they were told."""
        query = select(trials.c.number).order_by(trials.c.told_order)
        with self._database.reading() as connection:
            task_id = queries.task_id_of(connection, task)
            told = query.where(trials.c.task_id == task_id, trials.c.told_order.is_not(None))
            return list(connection.execute(told).scalars())

    def meta_dataset(
        self, space: Space, *, exclude: Collection[str] = (), metric: str | None = None, minimum: int = 2
    ) -> MetaDataset:
        """Return the complete trials of all tasks whose Space has the fingerprint of ``space``, larger is better.

        The arrays are kept in this object, and only tasks that changed are read again.

        Args:
            space: The Space to encode with.
            exclude: Names of tasks to leave out, such as the one being tuned.
            metric: Only tasks of this metric; all when None.
            minimum: Tasks with fewer complete trials are left out.
        """
        space, names = checked_space(space, "meta_dataset"), checked_names(exclude, "meta_dataset: exclude")
        minimum = checked_count(minimum, "meta_dataset: minimum")
        with self._database.reading() as connection:
            return self._past.read(connection, space, exclude=names, metric=metric, minimum=minimum)

    def delete_task(self, name: str) -> int:
        """Delete a task with its trials, and return how many trials it had."""

        def remove(connection: Connection) -> int:
            locked = queries.lock_task(connection, name)
            connection.execute(delete(trials).where(trials.c.task_id == locked.id))
            connection.execute(delete(tasks).where(tasks.c.id == locked.id))
            unused = spaces.c.id.not_in(select(tasks.c.space_id))
            connection.execute(delete(spaces).where(spaces.c.id == locked.space_id, unused))
            return locked.trials

        return self._database.writing(remove)

    def check(self) -> list[str]:
        """Return what is wrong with what is stored, in words; nothing when all is well. Reads everything."""
        return problems(self._database)

    def _config_text(self, connection: Connection, task: queries.LockedTask, config: Config) -> str:
        return config_text(self._spaces.of_task(connection, task.id, task.space_id).validate(config))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        if self._place.is_private:
            raise MemoryStoreError(
                "A Memory at ':memory:' lives in its process only and cannot be pickled or copied. Give it a file."
            )
        location = self._place.path or self._place.url.render_as_string(hide_password=False)
        return _reopen, (location, self._timeout)

    def __repr__(self) -> str:
        return f"Memory({self.location!r})"


def _reopen(location: str | Path, timeout: float) -> Memory:
    return Memory(location, create=False, timeout=timeout)


def _outcome(
    state: State, value: float | None, duration: float | None, metadata: Mapping[str, Any] | None, what: str
) -> dict[str, Any]:
    if not isinstance(cast("object", state), str) or state not in ("complete", "failed", "abandoned"):
        raise DataError(f"{what}: state must be complete, failed or abandoned, got {shown(state)}.")
    if state != "complete" and value is not None:
        raise DataError(f"{what}: a trial that is {state} has no value, got {shown(value)}. Put it into metadata.")
    if state == "complete" and value is None:
        raise DataError(f"{what}: a complete trial needs a value, got None. If it has none, it failed: say so.")
    return {
        "state": state,
        "value": None if value is None else checked_number(value, f"{what}: value"),
        "duration": checked_duration(duration, what),
        "metadata": metadata_text(metadata, what),
    }


def _refuse_another(stored: TaskRecord, space: Space, direction: Direction, metric: str | None) -> None:
    if stored.direction != direction:
        difference = f"direction {stored.direction}, but came with {direction}"
    elif stored.metric != metric:
        difference = f"metric {stored.metric}, but came with {metric}"
    elif stored.space.fingerprint != space.fingerprint:
        difference = f"another Space: {_difference(stored.space, space)}"
    else:
        return
    raise MemoryStoreError(
        f"Task '{stored.name}' is stored with {difference}. Give what is stored to resume it, or another task name to "
        "begin anew."
    )


def _difference(stored: Space, given: Space) -> str:
    """Return the first parameter that differs, in words; defaults do not count."""
    there, here = (
        {p.name: {key: value for key, value in p.to_dict().items() if key != "default"} for p in one}
        for one in (stored, given)
    )
    for name in [*there, *here]:
        if there.get(name) != here.get(name):
            old, new = (f"{one[name]}" if name in one else "nothing" for one in (there, here))
            return f"its '{name}' was {old:.200} and came as {new:.200}"
    return f"its fingerprint was {stored.fingerprint} and came as {given.fingerprint}"
