"""Fill a memory with past tasks, then tune the one that was held back, with the memory and without it.

Past tasks are filled by random search. The runs that are compared are the same Optimizer with the same seeds; one is
given the past, the other is not. What they learn of the held-back task reaches no memory before all of them are done.
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from headstart.data import MetaDataset, Observation
from headstart.demo.results import Comparison, Run, Step
from headstart.demo.tasks import METRIC, SPACE, TASKS, task_named
from headstart.errors import SettingsError
from headstart.memory import Memory, TaskRecord
from headstart.optimizer import Optimizer
from headstart.processes import Report, Workers

logger = logging.getLogger(__name__)

SOURCE = "demo"
TUNED = "-tuned"
"""Ends the name under which the memory keeps one of the compared runs."""

Phase = Callable[[str, int], None]
"""Called when a phase begins, with its description and its number of steps."""


@dataclass(frozen=True, kw_only=True)
class DemoSettings:
    """What the demo does."""

    memory: str | Path
    """Where past tasks are kept; complete ones are used again."""
    task: str = "digits-ten"
    """Which task is held back."""
    past: tuple[str, ...] = field(default_factory=lambda: tuple(task.name for task in TASKS))
    """The past tasks; the one held back does not count even if it is named."""
    past_trials: int = 40
    """Trials of each past task."""
    seeds: int = 5
    """How often the held-back task is tuned, with the memory and without."""
    trials: int = 20
    """Trials of each of these runs."""
    seed: int = 0
    """The first seed."""
    workers: int = 1

    def __post_init__(self) -> None:
        task_named(self.task)
        if str(self.memory) == ":memory:":
            raise SettingsError(
                "Demo: the memory must be one that several processes can open, got ':memory:'. Give a file."
            )
        for name, lowest in (("past_trials", 2), ("seeds", 1), ("trials", 1), ("seed", 0), ("workers", 1)):
            if getattr(self, name) < lowest:
                raise SettingsError(f"Demo: {name} must be at least {lowest}, got {getattr(self, name)}.")

    @property
    def past_names(self) -> tuple[str, ...]:
        """The past tasks without the one held back."""
        return tuple(name for name in self.past if name != self.task)


@dataclass(frozen=True)
class FillJob:
    """Tune one past task by random search, in the memory, up to so many trials."""

    location: str | Path
    task: str
    trials: int

    def run(self, report: Report) -> float:
        """Return the seconds spent on evaluations."""
        with Memory(self.location, create=False) as memory:
            missing = self.trials - _told(memory.task(self.task))
            if missing <= 0:
                return 0.0
            optimizer = Optimizer(SPACE, task=self.task, memory=memory)  # resumes with its own seed and method
            new: list[Observation] = []

            def count(_: Optimizer, observation: Observation) -> None:
                new.append(observation)
                report("past", observation.value)

            optimizer.optimize(task_named(self.task).objective(), n_trials=missing, callbacks=[count])
            return sum(one.duration or 0.0 for one in new)


@dataclass(frozen=True)
class RunJob:
    """Tune the held-back task once."""

    task: str
    past: MetaDataset | None
    trials: int
    seed: int

    def run(self, report: Report) -> Run:
        """Return every step of it."""
        objective = task_named(self.task).objective()
        start = time.perf_counter()
        optimizer = Optimizer(SPACE, task=self.task, past=self.past, metric=METRIC, seed=self.seed)
        steps: list[Step] = []
        best = float("inf")
        for _ in range(self.trials):
            trial = optimizer.ask()
            asked = time.perf_counter()
            value = objective(trial.config)
            evaluated = time.perf_counter()
            optimizer.tell(trial, value, duration=evaluated - asked)
            told = time.perf_counter()
            # the first step carries what it cost to prepare the past
            steps.append(Step(trial, value, evaluated - asked, told - start - (evaluated - asked)))
            start, best = told, min(best, value)
            report("without" if self.past is None else "with", best)
        return Run(self.seed, optimizer.method, tuple(steps))


@dataclass(frozen=True)
class DefaultsJob:
    """Evaluate what scikit-learn does when nobody tunes it."""

    task: str

    def run(self, report: Report) -> float:
        """Return the error."""
        return task_named(self.task).error_of_defaults()


def run_demo(settings: DemoSettings, *, phase: Phase, report: Report) -> Comparison:
    """Return what came out; the memory has the past tasks and one of the runs afterwards.

    Args:
        settings: What to do.
        phase: Called when a phase begins.
        report: Called after every trial.
    """
    began = time.perf_counter()
    with Memory(settings.memory) as memory, Workers(settings.workers) as workers:
        missing = _prepare(memory, settings)
        phase(_described_filling(missing, settings), sum(missing.values()))
        jobs = [FillJob(settings.memory, name, settings.past_trials) for name in settings.past_names]
        filling = sum(workers.run(jobs, report)) if any(missing.values()) else 0.0
        past = _past(memory, settings)
        seeds = "one seed" if settings.seeds == 1 else f"{settings.seeds} seeds"
        phase(
            f"Tuning {settings.task} with the memory and without, {seeds}",
            2 * settings.seeds * settings.trials,
        )
        defaults, pairs = _compare(workers, past, settings, report)
        _keep(memory, settings, pairs[0][0])
        return Comparison(
            task=settings.task,
            about=task_named(settings.task).about,
            past=tuple((task.name, len(task)) for task in past.tasks),
            with_memory=tuple(run for run, _ in pairs),
            without_memory=tuple(run for _, run in pairs),
            error_of_defaults=defaults,
            new_past_trials=sum(missing.values()),
            past_evaluation_seconds=filling,
            wall_seconds=time.perf_counter() - began,
            workers=settings.workers,
        )


def _prepare(memory: Memory, settings: DemoSettings) -> dict[str, int]:
    """Make the past tasks, in order, and return how many trials each still needs."""
    missing: dict[str, int] = {}
    for place, task in enumerate(TASKS):
        if task.name not in settings.past_names:
            continue
        # created here and not by the workers: their order decides the order in which the past is learned
        record = memory.create_task(
            task.name,
            SPACE,
            metric=METRIC,
            seed=settings.seed + place,
            method="random",
            metadata={"about": task.about},
            source=SOURCE,
        )
        missing[task.name] = max(0, settings.past_trials - _told(record))
    return missing


def _described_filling(missing: dict[str, int], settings: DemoSettings) -> str:
    if not any(missing.values()):
        return f"The past is there already: {len(missing)} tasks in {settings.memory}"
    return f"Filling the memory: {len(missing)} past tasks, {settings.past_trials} trials of random search each"


def _past(memory: Memory, settings: DemoSettings) -> MetaDataset:
    """Return the past tasks and nothing else: neither the held-back task nor earlier runs of it."""
    others = {record.name for record in memory.tasks(SPACE)} - set(settings.past_names)
    return memory.meta_dataset(SPACE, exclude=others, metric=METRIC)


def _compare(
    workers: Workers, past: MetaDataset, settings: DemoSettings, report: Report
) -> tuple[float, list[tuple[Run, Run]]]:
    """Return the error of the defaults, and the runs with the memory and without for each seed."""
    seeds = range(settings.seed, settings.seed + settings.seeds)
    arms: Sequence[MetaDataset | None] = (past, None)
    jobs = [RunJob(settings.task, arm, settings.trials, seed) for seed in seeds for arm in arms]
    runs = workers.run(jobs, report)
    (defaults,) = workers.run([DefaultsJob(settings.task)], report)
    return defaults, list(zip(runs[::2], runs[1::2], strict=True))


def _keep(memory: Memory, settings: DemoSettings, run: Run) -> None:
    """Store a run with the memory as a task of its own, unless an earlier demo has done so."""
    name = settings.task + TUNED
    record = memory.create_task(
        name,
        SPACE,
        metric=METRIC,
        seed=run.seed,
        method="auto",
        metadata={"about": f"{task_named(settings.task).about}; the demo's first run with the memory"},
        source=SOURCE,
    )
    if record.trials.total:
        logger.info("Task '%s' is there already and is left as it is", name)
        return
    for step in run.steps:
        trial = step.trial
        number = memory.add_trial(name, trial.config, origin=trial.origin, told_before=trial.told_before)
        memory.finish_trial(name, number, state="complete", value=step.value, duration=step.evaluation_seconds)


def _told(record: TaskRecord) -> int:
    return record.trials.complete + record.trials.failed
