"""The past tasks of a Space as arrays, read again only where something changed.

A task is read when it is new or when its revision is another than the one that was read. Rows are streamed and each
task's configurations are parsed and encoded together.
"""

import json
import logging
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

import numpy as np
from sqlalchemy import Connection, select

from headstart.arrays import Array
from headstart.data import MetaDataset, TaskData
from headstart.encoding import Encoding
from headstart.errors import HeadstartError, MemoryStoreError
from headstart.memory.queries import definition_of
from headstart.memory.schema import spaces, tasks, trials
from headstart.space import Config, Space

logger = logging.getLogger(__name__)

TASKS_AT_ONCE = 200
"""How many tasks one query reads."""
SPACES_KEPT = 4
"""For how many Spaces the arrays are kept."""


@dataclass(frozen=True)
class _Head:
    id: int
    name: str
    revision: int
    direction: str
    metric: str | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class _Read:
    revision: int
    data: TaskData


class Past:
    """The arrays that were read, by Space and task."""

    def __init__(self) -> None:
        self._spaces: dict[str, dict[int, _Read]] = {}

    def read(
        self,
        connection: Connection,
        space: Space,
        *,
        exclude: Collection[str],
        metric: str | None,
        minimum: int,
    ) -> MetaDataset:
        """Return the past tasks of ``space`` in the order they were created."""
        encoding, definition = Encoding(space), definition_of(space)
        heads = _heads(connection, space.fingerprint)
        known = self._spaces.get(definition, {})
        # Rebuilt rather than changed: threads may share it, and deleted tasks drop out.
        kept = {head.id: known[head.id] for head in heads if head.id in known}
        wanted = [h for h in heads if h.name not in exclude and (metric is None or h.metric == metric)]
        stale = [head for head in wanted if head.id not in kept or kept[head.id].revision != head.revision]
        for head, configs, values in _complete(connection, stale):
            kept[head.id] = _Read(head.revision, _encoded(head, configs, values, encoding))
        self._keep(definition, kept)
        found = [kept[head.id].data for head in wanted]
        used = tuple(data for data in found if len(data) >= minimum)
        logger.info(
            "%d past tasks with %d complete trials; left out: %d with fewer than %d, %d excluded or of another metric",
            len(used),
            sum(len(data) for data in used),
            len(found) - len(used),
            minimum,
            len(heads) - len(wanted),
        )
        return MetaDataset(used, encoding.columns)

    def _keep(self, definition: str, kept: dict[int, _Read]) -> None:
        others = [(key, value) for key, value in self._spaces.items() if key != definition]
        self._spaces = dict([*others[-(SPACES_KEPT - 1) :], (definition, kept)])


def _heads(connection: Connection, fingerprint: str) -> list[_Head]:
    columns = (tasks.c.id, tasks.c.name, tasks.c.revision, tasks.c.direction, tasks.c.metric, tasks.c.low, tasks.c.high)
    query = select(*columns).join(spaces).where(spaces.c.fingerprint == fingerprint).order_by(tasks.c.id)
    return [_Head(*row) for row in connection.execute(query)]


def _complete(connection: Connection, heads: Sequence[_Head]) -> Iterator[tuple[_Head, list[str], list[float]]]:
    """Yield every task with the configurations, as JSON, and the values of its complete trials, by number."""
    for start in range(0, len(heads), TASKS_AT_ONCE):
        chunk = {head.id: head for head in heads[start : start + TASKS_AT_ONCE]}
        query = (
            select(trials.c.task_id, trials.c.config, trials.c.value)
            .where(trials.c.task_id.in_(list(chunk)), trials.c.state == "complete", trials.c.value.is_not(None))
            .order_by(trials.c.task_id, trials.c.number)
            .execution_options(yield_per=1000)
        )
        with connection.execute(query) as result:
            for task_id, rows in groupby(result, key=itemgetter(0)):
                found = list(rows)
                yield chunk.pop(task_id), [row[1] for row in found], [row[2] for row in found]
        for head in chunk.values():  # nothing complete
            yield head, [], []


def _encoded(head: _Head, configs: list[str], values: list[float], encoding: Encoding) -> TaskData:
    try:
        parsed: list[Config] = json.loads(f"[{','.join(configs)}]")
        raw = np.array(values, dtype=np.float64)
        y = raw if head.direction == "maximize" else -raw
        return TaskData(encoding.encode(parsed), y, encoding.columns, _bounds(head, raw), head.name)
    except (HeadstartError, ValueError, TypeError, RecursionError) as error:
        raise MemoryStoreError(
            f"Task '{head.name}' has trials that do not fit its Space ({error}). Run headstart memory check, or leave "
            "the task out with exclude=."
        ) from error


def _bounds(head: _Head, values: Array) -> tuple[float, float] | None:
    """Return the bounds, larger is better; None where the values themselves contradict them."""
    if head.low is None or head.high is None:
        return None
    if len(values) and (values.min() < head.low or values.max() > head.high):
        logger.info("Task '%s' has values outside its bounds; the bounds are not used", head.name)
        return None
    return (head.low, head.high) if head.direction == "maximize" else (-head.high, -head.low)
