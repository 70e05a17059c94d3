"""Tasks, trials and Spaces as plain data: one form for every ``--json``, written in docs/cli.md."""

from typing import Any

from headstart.cli.terminal import iso
from headstart.data import Observation
from headstart.memory import TaskRecord
from headstart.space import Categorical, Constant, Parameter, Space


def task_data(record: TaskRecord) -> dict[str, Any]:
    """Return a task without its trials."""
    counts = record.trials
    return {
        "task": record.name,
        "direction": record.direction,
        "metric": record.metric,
        "best": record.best,
        "trials": {
            "complete": counts.complete,
            "failed": counts.failed,
            "running": counts.running,
            "abandoned": counts.abandoned,
            "total": counts.total,
        },
        "method": record.method,
        "seed": record.seed,
        "bounds": None if record.bounds is None else list(record.bounds),
        "source": record.source,
        "created": iso(record.created),
        "changed": iso(record.changed),
        "metadata": dict(record.metadata),
        "space": {"fingerprint": record.space.fingerprint, "parameters": list(record.space.names)},
    }


def observation_data(observation: Observation) -> dict[str, Any]:
    """Return a trial with what came of it."""
    return {
        "number": observation.number,
        "state": observation.state,
        "value": observation.value,
        "config": observation.config,
        "origin": observation.trial.origin,
        "duration": observation.duration,
        "metadata": dict(observation.metadata),
    }


def space_data(space: Space) -> dict[str, Any]:
    """Return a Space as in its own files, with its fingerprint and size."""
    finite = space.size < 1e15  # beyond it, floats no longer count
    return {
        "fingerprint": space.fingerprint,
        "configurations": int(space.size) if finite else None,
        **space.to_dict(),
    }


def parameter_row(parameter: Parameter) -> tuple[str, str, str, str, str]:
    """Return name, type, values, default and condition of a parameter, for a table."""
    described = parameter.to_dict()
    kind = (
        f"{described['type']}{', log' if described.get('log') else ''}{', ordered' if described.get('ordered') else ''}"
    )
    if isinstance(parameter, Constant):
        values = _shown(parameter.value)
    elif isinstance(parameter, Categorical):
        values = ", ".join(_shown(choice) for choice in parameter.choices)
    else:
        values = f"{parameter.low!r} to {parameter.high!r}"
    default = _shown(described["default"]) if "default" in described else ""
    conditions = [
        f"{parent} is {' or '.join(_shown(value) for value in allowed)}"
        for parent, allowed in described.get("when", {}).items()
    ]
    return parameter.name, kind, values, default, ", and ".join(conditions)


PARAMETER_COLUMNS = ("parameter", "type", "values", "default", "applies where")


def _shown(value: object) -> str:
    return value if isinstance(value, str) else repr(value)
