"""How much each past task counts, from trial to trial of one real run, by what the methods themselves explain.

A diagnosis, no published figure. Every method tunes the first target of the suite's first space, in the usual protocol
and with the random numbers of the benchmark; after each choice ``explain`` is asked of the posterior that made it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headstart.arrays import Array
from headstart.benchmark.job import Job, setup_of
from headstart.benchmark.methods import chosen
from headstart.benchmark.problems import Problem
from headstart.benchmark.reports import plots
from headstart.benchmark.reports.palette import BLUE, VERMILLION
from headstart.benchmark.run import given_rows
from headstart.benchmark.settings import named_seed, usual_settings
from headstart.benchmark.store import stamp_of
from headstart.data import Explanation
from headstart.errors import MissingDependencyError, SettingsError
from headstart.experiments.frame import CsvTable, Findings, Recipe, Row, Work
from headstart.optimizer import suggestion
from headstart.optimizer.suggestion import History, PoolDomain, Setup
from headstart.protocols import Explains

METHODS = ("rgpe", "prior-gp")
TRIALS, SMOKE_TRIALS = 30, 4
SEED = "test0"
SHOWN_TASKS = 12
"""Past tasks in the picture, those that weigh most."""
OF_TARGET = "weight_of_target"
"""How methods call the weight of the new task's own model, where they have one."""
OWN = "(its own model)"


@dataclass(frozen=True, eq=False)
class Weights:
    """What a method explained after each of T trials."""

    method: str
    tasks: tuple[str, ...]
    """S past tasks."""
    values: Array
    """[S, T]"""
    own: Array
    """[T] of the new task's own model; NaN where the method has none."""


def find(work: Work) -> Findings:
    """Return the weights of all past tasks after every trial, and draw them into ``weights.png``."""
    suite, methods = work.suite, work.methods or METHODS
    space = suite.spaces[0]
    settings = usual_settings(suite, trials=SMOKE_TRIALS if work.smoke else TRIALS)
    targets = space.targets(settings.tasks)
    if not targets or not space.past_of(targets[0], settings.tasks):
        raise SettingsError(f"Experiment past-weights: space '{space.name}' has no target with past tasks.")
    found: list[Weights] = []
    work.listener.begin("run", len(methods))
    for method in chosen(methods, settings):
        stamp = stamp_of(suite, settings, method)
        job = Job(work.source, settings, method, space.name, targets[0].name, (SEED,), work.out / "runs", stamp)
        setup, problem = setup_of(job)
        explanations = explained_run(setup, problem, given_rows(problem, settings.given, SEED), settings.trials)
        found.append(weights_of(method.name, explanations))
        work.listener.step("run")
    work.listener.space_done(space.name)
    title = f"{space.name} on {targets[0].name}: weights of past tasks"
    draw(found, title, settings.given, work.out / "weights.png")
    return Findings(table=_table(found), words=_words(found, space.name, targets[0].name, settings.given))


def explained_run(setup: Setup, problem: Problem, given: Sequence[int], trials: int) -> list[Explanation]:
    """Return why each trial was chosen; it goes on after the best of the pool is found.

    Raises:
        SettingsError: The method gives no weights.
    """
    assert isinstance(setup.domain, PoolDomain)
    if setup.initial_trials > len(given):
        raise SettingsError(
            f"Experiment past-weights: '{setup.surrogate.name}' begins with a design, which knows no weights. Name "
            "methods with one model per past task."
        )
    seen, own = list(given), named_seed("trial", problem.space, problem.name, SEED)
    nothing = np.empty((0, problem.x.shape[1]))
    found: list[Explanation] = []
    for trial in range(1, min(trials, len(problem.y) - len(seen)) + 1):
        rows = tuple(seen)
        history = History(problem.x[seen], problem.y[seen], nothing, rows, (), nothing, frozenset(), rows)
        rng = np.random.default_rng([own, trial])
        posterior = suggestion.fitted(setup, history, rng=rng)
        row = int(suggestion.next_by_model(setup, posterior, history, rng=rng))  # pyright: ignore[reportArgumentType] - a row, since the domain is a pool
        explanation = posterior.explain(problem.x[row]) if isinstance(posterior, Explains) else Explanation("")
        if not explanation.weights:
            raise SettingsError(
                f"Experiment past-weights: '{setup.surrogate.name}' gives no weights of past tasks. Name methods with "
                "one model per past task."
            )
        found.append(explanation)
        seen.append(row)
    return found


def weights_of(method: str, explanations: Sequence[Explanation]) -> Weights:
    """Return the weights of all past tasks in one order, that of their names."""
    tasks = tuple(sorted(name for name, _ in explanations[0].weights))
    by_trial: list[Mapping[str, float]] = [dict(one.weights) for one in explanations]
    values = np.array([[weights[task] for weights in by_trial] for task in tasks])
    return Weights(method, tasks, values, np.array([one.numbers.get(OF_TARGET, np.nan) for one in explanations]))


def _table(found: Sequence[Weights]) -> CsvTable:
    rows: list[Row] = []
    for one in found:
        for trial in range(one.values.shape[1]):
            rows += [(one.method, trial + 1, task, float(one.values[s, trial])) for s, task in enumerate(one.tasks)]
            if np.isfinite(one.own[trial]):
                rows.append((one.method, trial + 1, OWN, float(one.own[trial])))
    return CsvTable(("method", "trial", "past_task", "weight"), tuple(rows))


def _words(found: Sequence[Weights], space: str, task: str, given: int) -> tuple[str, ...]:
    words = [
        f"One run of each method on task {task} of {space}, begun with {given} given configurations and "
        f"{len(found[0].tasks)} past tasks. The picture is weights.png.",
    ]
    for one in found:
        order = np.argsort(-np.abs(one.values[:, -1]), kind="stable")[:3]
        most = ", ".join(f"{one.tasks[int(s)]} {one.values[int(s), -1]:+.2f}" for s in order)
        own = f"; its own model weighs {one.own[-1]:.2f}" if np.isfinite(one.own[-1]) else ""
        words.append(f"{one.method} after {one.values.shape[1]} trials: most weigh {most}{own}.")
    return tuple(words)


# ---- the picture


def rows_shown(found: Sequence[Weights]) -> tuple[str, ...]:
    """Return the past tasks in the picture, the heaviest on average over methods and trials first."""
    tasks = found[0].tasks
    average = np.mean([np.abs(one.values).mean(axis=1) for one in found], axis=0)
    return tuple(tasks[int(s)] for s in np.argsort(-average, kind="stable")[:SHOWN_TASKS])


def draw(found: Sequence[Weights], title: str, given: int, path: Path) -> None:
    """Write one map per method to ``path``: past tasks over the trials after so many ``given`` configurations.

    Raises:
        MissingDependencyError: matplotlib is not installed.
    """
    try:
        from matplotlib.colors import LinearSegmentedColormap
        from matplotlib.figure import Figure  # without pyplot: no window, no global state
    except ImportError as error:
        raise MissingDependencyError(
            "The picture needs 'matplotlib', which is not installed. Run: pip install 'headstart[bench]'."
        ) from error
    shown = rows_shown(found)
    labels = [*shown, OWN] if any(np.isfinite(one.own).any() for one in found) else [*shown]
    figure: Any = Figure(figsize=(2.2 + 3.4 * len(found), 1.5 + 0.24 * len(labels)), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, len(found), sharey=True))
    colours: Any = LinearSegmentedColormap.from_list("weights", [BLUE, "white", VERMILLION])
    image: Any = None
    for axes, one in zip(panels, found, strict=True):
        values = np.stack([*(one.values[one.tasks.index(task)] for task in shown), one.own])[: len(labels)]
        trials = values.shape[1]
        image = axes.imshow(
            values,
            cmap=colours,
            vmin=-1.0,
            vmax=1.0,
            aspect="auto",
            interpolation="nearest",
            extent=(0.5, trials + 0.5, len(values) - 0.5, -0.5),
        )
        axes.set_facecolor("0.93")  # seen where there is no number
        axes.set_title(one.method, loc="left", fontsize=10)
        axes.set_xlabel(f"trial (after {given} given configurations)" if given else "trial")
        axes.set_xticks([1, *range(5, trials + 1, 5)] if trials >= 5 else range(1, trials + 1))
        axes.set_yticks(range(len(labels)), labels)
        axes.set_xticks(np.arange(1.5, trials), minor=True)
        axes.set_yticks(np.arange(0.5, len(values) - 1), minor=True)
        axes.grid(which="minor", color="white", linewidth=0.6)
        axes.tick_params(which="both", length=0)
        axes.spines[:].set_visible(False)
        if len(labels) > len(shown):
            axes.axhline(len(shown) - 0.5, color="0.35", linewidth=1.0)
            if not np.isfinite(one.own).any():
                axes.text((trials + 1) / 2, len(shown), "none", ha="center", va="center", fontsize=8, color="0.45")
    bar = figure.colorbar(image, ax=list(panels), extend="both", fraction=0.03, pad=0.015)
    bar.set_ticks([-1.0, -0.5, 0.0, 0.5, 1.0], labels=["-1", "-0.5", "0", "0.5", "1"])
    bar.ax.tick_params(length=0)
    bar.outline.set_visible(False)
    bar.set_label("weight")
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
    plots.save(figure, path)


PAST_WEIGHTS = Recipe(
    name="past-weights",
    title="Weights of the past tasks over the trials of one run",
    claim="A past task that is like the new one gains weight as the new one is observed, and the others lose theirs.",
    needs="any suite with past tasks; the first target of its first space is tuned",
    find=find,
)
