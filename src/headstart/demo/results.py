"""What came out of the demo, in numbers and in one sentence that says what the numbers say."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headstart.arrays import Array
from headstart.data import Trial

CHECKPOINTS = (1, 3, 5, 10, 20)


@dataclass(frozen=True)
class Step:
    """One trial of a run."""

    trial: Trial
    value: float
    evaluation_seconds: float
    suggestion_seconds: float


@dataclass(frozen=True)
class Run:
    """The held-back task, tuned once."""

    seed: int
    method: str
    """What "auto" stood for."""
    steps: tuple[Step, ...]

    @property
    def curve(self) -> Array:
        """[trials] best error so far."""
        return np.minimum.accumulate([step.value for step in self.steps])


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """All runs, and what they cost."""

    task: str
    about: str
    past: tuple[tuple[str, int], ...]
    """Past tasks and how many trials of each were used."""
    with_memory: tuple[Run, ...]
    without_memory: tuple[Run, ...]
    error_of_defaults: float
    """Error of scikit-learn's defaults."""
    new_past_trials: int
    """Trials that were made now to fill the memory; the others were there."""
    past_evaluation_seconds: float
    wall_seconds: float
    workers: int

    @property
    def curves_with(self) -> Array:
        """[seeds, trials] best error so far with the memory."""
        return np.array([run.curve for run in self.with_memory])

    @property
    def curves_without(self) -> Array:
        """[seeds, trials] best error so far without it."""
        return np.array([run.curve for run in self.without_memory])

    @property
    def trials(self) -> int:
        """Trials of each run."""
        return len(self.with_memory[0].steps)

    @property
    def checkpoints(self) -> list[int]:
        """After how many trials the runs are compared; the end is one of them."""
        return [*(count for count in CHECKPOINTS if count < self.trials), self.trials]

    @property
    def evaluation_seconds(self) -> float:
        """Seconds of all evaluations, summed over the processes."""
        runs = (*self.with_memory, *self.without_memory)
        return self.past_evaluation_seconds + sum(step.evaluation_seconds for run in runs for step in run.steps)

    def suggestion_milliseconds(self, runs: Sequence[Run]) -> float:
        """Return the mean time of one suggestion of ``runs``, preparation of the past included."""
        return 1000 * float(np.mean([step.suggestion_seconds for run in runs for step in run.steps]))


def trials_to_reach(curve: Array, target: float) -> int | None:
    """Return after how many trials ``curve`` [trials] is at ``target`` or below; None if it never is."""
    reached = np.flatnonzero(curve <= target + 1e-12)  # means of the same errors may differ in the last bit
    return int(reached[0]) + 1 if len(reached) else None


def seeds_ahead(comparison: Comparison, trial: int) -> tuple[int, int, int]:
    """Return for how many seeds the memory was better, equal and worse after ``trial`` trials."""
    gains = comparison.curves_without[:, trial - 1] - comparison.curves_with[:, trial - 1]
    better, worse = int((gains > 1e-12).sum()), int((gains < -1e-12).sum())
    return better, len(gains) - better - worse, worse


def sentence(comparison: Comparison) -> str:
    """Return the result in plain words, whatever it is."""
    with_, without = comparison.curves_with.mean(axis=0), comparison.curves_without.mean(axis=0)
    end = float(without[-1])
    needed_without, needed_with = trials_to_reach(without, end), trials_to_reach(with_, end)
    assert needed_without is not None  # its own end
    seeds = f"mean of {len(comparison.with_memory)} seeds" if len(comparison.with_memory) > 1 else "one seed"
    if needed_with is not None and needed_with < needed_without:
        better, _, worse = seeds_ahead(comparison, needed_with)
        opening = "The memory helped" if better > worse else "The memory made no clear difference"
        return (
            f"{opening}: with it, {_trials(needed_with)} reached the error of {percent(end)} that took "
            f"{_trials(needed_without)} without it ({seeds}; at that point {better} better with it, {worse} worse)."
        )
    level = _at_the_end(float(with_[-1]), end, comparison.trials)
    if needed_with is not None and needed_with == needed_without:
        return (
            f"The memory saved no trials: with and without it, {_trials(needed_with)} "
            f"{'was' if needed_with == 1 else 'were'} needed for an error of {percent(end)}; {level} ({seeds})."
        )
    if needed_with is not None:
        return (
            f"The memory did not help: with it, the error of {percent(end)} took {_trials(needed_with)}, without it "
            f"{_trials(needed_without)}; {level} ({seeds})."
        )
    ahead = [count for count in comparison.checkpoints[:-1] if with_[count - 1] < without[count - 1] - 1e-12]
    early = f" It was ahead after {_listed(ahead)} {_word(ahead[-1])}, but" if ahead else ""
    start = f"The memory did not help in the end.{early}" if ahead else "The memory did not help:"
    return (
        f"{start} after {_trials(comparison.trials)} the error was {percent(float(with_[-1]))} with it and "
        f"{percent(end)} without it ({seeds})."
    )


def _at_the_end(with_: float, without: float, trials: int) -> str:
    if with_ < without - 1e-12:
        return f"after {_trials(trials)} it was {percent(with_)} with it"
    return f"after {_trials(trials)} both were there"


def percent(error: float) -> str:
    """Return an error as text, with two digits after the point."""
    return f"{100 * error:.2f} %"


def as_json(comparison: Comparison) -> dict[str, Any]:
    """Return everything as plain data."""
    with_, without = comparison.curves_with.mean(axis=0), comparison.curves_without.mean(axis=0)
    end = float(without[-1])
    return {
        "task": comparison.task,
        "about": comparison.about,
        "past": [{"task": name, "trials": count} for name, count in comparison.past],
        "metric": "error",
        "trials": comparison.trials,
        "error_of_defaults": comparison.error_of_defaults,
        "with_memory": _arm(comparison, comparison.with_memory, trials_to_reach(with_, end)),
        "without_memory": _arm(comparison, comparison.without_memory, trials_to_reach(without, end)),
        "result": sentence(comparison),
        "seconds": {
            "wall": round(comparison.wall_seconds, 3),
            "evaluation": round(comparison.evaluation_seconds, 3),
        },
        "processes": comparison.workers,
        "new_past_trials": comparison.new_past_trials,
    }


def _arm(comparison: Comparison, runs: Sequence[Run], needed: int | None) -> dict[str, Any]:
    curves = np.array([run.curve for run in runs])
    return {
        "method": runs[0].method,
        "mean_best_error": {str(count): float(curves[:, count - 1].mean()) for count in comparison.checkpoints},
        "trials_to_reach_the_end_without_memory": needed,
        "milliseconds_per_suggestion": round(comparison.suggestion_milliseconds(runs), 1),
        "runs": [
            {
                "seed": run.seed,
                "best_error": run.curve.tolist(),
                "best_config": min(run.steps, key=lambda step: step.value).trial.config,
            }
            for run in runs
        ],
    }


def _trials(count: int) -> str:
    return f"{count} {_word(count)}"


def _word(count: int) -> str:
    return "trial" if count == 1 else "trials"


def _listed(counts: Sequence[int]) -> str:
    *first, last = map(str, counts)
    return f"{', '.join(first)} and {last}" if first else last
