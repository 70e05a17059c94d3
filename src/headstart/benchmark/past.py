"""The past that a method learns from in a benchmark: as it is, or made to mislead.

Notation: S past tasks, N rows of a pool, d columns.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from headstart.arrays import Array, Rng
from headstart.benchmark.problems import Problem, Split, SuiteSpace
from headstart.benchmark.settings import RunSettings, named_rng
from headstart.data import MetaDataset, TaskData
from headstart.numerics.forest import grow, predict_groups

REFERENCE_ROWS = 2048
"""How many rows of all pools stand for a Space, where the pools differ."""
COMPARED, FEWEST_SHARED = 100, 30
"""Configurations on which two tasks are compared; how many of them both must have for no model to be needed."""
KEPT_SHARE = 0.1
"""Of the past tasks, where only those are kept that agree least with the targets."""
TREES = 50


@dataclass(frozen=True, eq=False)
class PastOf:
    """The past of one or several targets."""

    key: str
    """Targets with the same key share it."""
    problems: tuple[Problem, ...]
    targets: tuple[Problem, ...]
    validation: tuple[Problem, ...] = ()
    """Tasks on which a method may choose what it does not learn; never a target."""


def past_of(space: SuiteSpace, target: Problem, settings: RunSettings) -> PastOf:
    """Return the past of ``target``: its own where targets are one another's past, else that of all targets."""
    targets = (target,) if space.leave_one_out else space.targets(settings.tasks)
    key = f"{space.name}\0{target.name}" if space.leave_one_out else space.name
    problems = space.past_of(target, settings.tasks)
    if settings.past_tasks is not None and settings.past_tasks < len(problems):
        order = named_rng("past tasks", key).permutation(len(problems))
        places = sorted(int(place) for place in order[: settings.past_tasks])
        problems = tuple(problems[place] for place in places)
    if settings.past == "least-correlated" and problems:
        problems = _misleading(space, (key, settings.tasks, settings.past_tasks), problems, targets)
    has_validation = settings.tasks == "test" and not space.leave_one_out
    return PastOf(key, problems, targets, space.validation if has_validation else ())


_least: WeakKeyDictionary[SuiteSpace, dict[tuple[str, Split, int | None], tuple[int, ...]]] = WeakKeyDictionary()
"""Which past tasks agree least: every job on a Space asks for the same comparison of all its tasks."""


def _misleading(
    space: SuiteSpace, key: tuple[str, Split, int | None], past: Sequence[Problem], targets: Sequence[Problem]
) -> tuple[Problem, ...]:
    known = _least.setdefault(space, {})
    if key not in known:
        kept = least_correlated(past, targets)
        known[key] = tuple(place for place, problem in enumerate(past) if any(problem is one for one in kept))
    return tuple(past[place] for place in known[key])


def past_data(past: PastOf, space: SuiteSpace, settings: RunSettings) -> MetaDataset | None:
    """Return the past as a method sees it; None where there is none."""
    if not past.problems:
        return None
    return MetaDataset(_as_seen(past.problems, space, settings), space.columns, reference_rows(past.targets))


def validation_data(past: PastOf, space: SuiteSpace, settings: RunSettings) -> MetaDataset | None:
    """Return the validation tasks as a method sees them: as past tasks, since that is what they are; None without."""
    if not past.validation:
        return None
    return MetaDataset(_as_seen(past.validation, space, settings), space.columns)


def _as_seen(problems: Sequence[Problem], space: SuiteSpace, settings: RunSettings) -> tuple[TaskData, ...]:
    tasks: list[TaskData] = []
    for problem in problems:
        rows = np.arange(len(problem.y)) if problem.past_rows is None else problem.past_rows
        if settings.past_rows is not None and settings.past_rows < len(rows):
            chosen = named_rng("past rows", problem.space, problem.name).permutation(len(rows))[: settings.past_rows]
            rows = rows[np.sort(chosen)]
        x, y = problem.x[rows], np.asarray(problem.y[rows])
        if settings.past == "permuted":
            y = named_rng("permuted", problem.space, problem.name).permutation(y)
        bounds = problem.bounds if settings.scale == "oracle" else None
        if settings.past == "negated":
            y, bounds = -y, None if bounds is None else (-bounds[1], -bounds[0])
        tasks.append(TaskData(x, y, space.columns, bounds, problem.name, problem.metafeatures))
    return tuple(tasks)


def reference_rows(targets: Sequence[Problem]) -> Array:
    """Return rows that stand for the Space: the pool, where all targets have the same, else rows of all pools."""
    first = targets[0].x
    if all(problem.x is first or np.array_equal(problem.x, first) for problem in targets):
        return np.asarray(first)
    rows = np.unique(np.concatenate([problem.x for problem in targets]), axis=0)
    if len(rows) <= REFERENCE_ROWS:
        return rows
    rng = named_rng("reference", targets[0].space)
    return rows[np.sort(rng.choice(len(rows), REFERENCE_ROWS, replace=False))]


def least_correlated(past: Sequence[Problem], targets: Sequence[Problem]) -> tuple[Problem, ...]:
    """Return the tenth of the past, at least one task, whose mean rank correlation with the targets is smallest.

    Kendall's tau-b between the responses of a past task and a target at 100 configurations, averaged over the targets
    (DKLM, section 6.5). Where the two share at least 30 configurations, those are compared; else a forest of each
    predicts the responses at 100 configurations of both pools. Smallest is signed: tasks that contradict come first.
    A diagnosis only, since it looks at what the targets' responses are.
    """
    means = [float(np.mean([rank_correlation(task, target) for target in targets])) for task in past]
    kept = max(1, math.ceil(KEPT_SHARE * len(past)))
    smallest = sorted(int(place) for place in np.argsort(means, kind="stable")[:kept])
    return tuple(past[place] for place in smallest)


def rank_correlation(one: Problem, other: Problem) -> float:
    """Return Kendall's tau-b between two tasks; 0 where a task is constant."""
    from scipy.stats import kendalltau  # two seconds to import

    rng = named_rng("tau", one.space, one.name, other.name)
    a, b = _shared_responses(one, other)
    if len(a) >= FEWEST_SHARED:
        places = rng.permutation(len(a))[:COMPARED]
        a, b = a[places], b[places]
    else:
        union = np.concatenate([one.x, other.x])
        rows = union[rng.choice(len(union), min(COMPARED, len(union)), replace=False)]
        a, b = _predicted(one, rows, rng), _predicted(other, rows, rng)
    if np.ptp(a) == 0.0 or np.ptp(b) == 0.0:
        return 0.0
    return float(kendalltau(a, b, variant="b").statistic)


def _shared_responses(one: Problem, other: Problem) -> tuple[Array, Array]:
    """Return the responses of both at the configurations that both have, rows rounded to nine digits."""
    known = {row.tobytes(): y for row, y in zip(np.round(one.x, 9) + 0.0, one.y, strict=True)}
    pairs = [
        (known[row.tobytes()], y)
        for row, y in zip(np.round(other.x, 9) + 0.0, other.y, strict=True)
        if row.tobytes() in known
    ]
    return np.array([a for a, _ in pairs]), np.array([b for _, b in pairs])


def _predicted(problem: Problem, rows: Array, rng: Rng) -> Array:
    forest = grow(
        np.asarray(problem.x),
        np.asarray(problem.y),
        trees=TREES,
        rng=rng,
        extremely_random=False,
        bootstrap=True,
        max_features=1.0,
        min_leaf=1,
    )
    return predict_groups(forest, rows, 1)[:, 0]
