"""The "independent Gaussian process" of the transfer literature: squared-exponential kernel, zero mean, no priors."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np

from headstart.acquisition import LogExpectedImprovement
from headstart.arrays import Array, Rng, frozen
from headstart.data import Budget, MetaDataset, TaskData
from headstart.errors import DataError, NumericalError, SettingsError
from headstart.numerics.gaussian_process import (
    Hyperparameters,
    condition,
    fit_shared_hyperparameters,
    summed_negative_log_posterior,
)
from headstart.numerics.response import ResponseKind, fit_scale
from headstart.protocols import Acquisition, Progress
from headstart.space.values import shown
from headstart.surrogates.gaussian_process import (
    GaussianProcessPosterior,
    check_count,
    check_positive,
    check_response,
)

MAX_ITERATIONS = 100
"""L-BFGS iterations from each start."""
LARGEST_TASK = 256
"""Rows of a past task that pre-training looks at; fewer where there are more than ``MANY_TASKS``."""
MANY_TASKS = 60

ADAGRAD_STEP = 0.1
ADAGRAD_ACCUMULATOR = 1e-3


@dataclass(frozen=True, kw_only=True)
class GaussianProcessSE:
    """Zero-mean Gaussian process on centred responses with a squared-exponential kernel, maximum likelihood.

    The baseline of LI (Wistuba et al., DSAA 2015) and TST (Wistuba et al., ECML 2016). ``pretrain`` finds one set of
    hyperparameters for all past tasks; ``fit`` then keeps it. Without, ``fit`` finds them from the observations.
    """

    name: ClassVar[str] = "gp-se"

    optimiser: Literal["lbfgs", "adagrad"] = "lbfgs"
    """ "adagrad" is the one of the TST reference program: 100 steps from a fixed start, few of which converge."""
    response: ResponseKind = "standardise"
    """How responses are scaled, on past tasks and on the target alike; they are centred in any case."""
    restarts: int = 2
    """Random starts of L-BFGS besides the default one."""
    epochs: int = 100
    """Steps of AdaGrad."""
    noise_floor: float = 1e-4
    """Smallest noise variance that L-BFGS may choose, in scaled units."""
    refit: bool = False
    """Start from the pre-trained hyperparameters instead of keeping them."""
    hyperparameters: Hyperparameters | None = None
    """What ``pretrain`` has learned; its mean is not used."""
    minimum_observations: int = 5
    """Below this many observations the initial design is asked."""
    acquisition: Acquisition = field(default_factory=LogExpectedImprovement)
    """What it is used with unless told otherwise."""

    def __post_init__(self) -> None:
        if self.optimiser not in ("lbfgs", "adagrad"):
            raise SettingsError(
                f"GaussianProcessSE: optimiser must be 'lbfgs' or 'adagrad', got {shown(self.optimiser)}."
            )
        check_response("GaussianProcessSE", self.response)
        check_count("GaussianProcessSE", "restarts", self.restarts, 0)
        check_count("GaussianProcessSE", "epochs", self.epochs, 1)
        check_count("GaussianProcessSE", "minimum_observations", self.minimum_observations, 0)
        check_positive("GaussianProcessSE", "noise_floor", self.noise_floor)
        if self.hyperparameters is not None:
            for length in self.hyperparameters.lengths:
                check_positive("GaussianProcessSE", "hyperparameters.lengths", float(length))
            check_positive("GaussianProcessSE", "hyperparameters.variance", self.hyperparameters.variance)
            check_positive("GaussianProcessSE", "hyperparameters.noise", self.hyperparameters.noise)

    @property
    def is_pretrained(self) -> bool:
        """Whether it has learned from past tasks."""
        return self.hyperparameters is not None

    def pretrain(
        self,
        past: MetaDataset,
        *,
        rng: Rng,
        validation: MetaDataset | None = None,
        budget: Budget | None = None,
        progress: Progress | None = None,
    ) -> "GaussianProcessSE":
        """Return the same recipe with the hyperparameters that maximise the summed likelihood of the past tasks.

        Each task's responses are scaled and centred by its own. A task of one distinct response says nothing about
        length-scales and is left out; of a large one, rows evenly spaced in the order of their responses are used.
        There is nothing to stop early, so ``validation`` is not looked at. ``budget.max_steps`` counts iterations of
        all starts together.

        Raises:
            DataError: no past task has two different responses.
        """
        usable = past.informative
        if not usable:
            raise DataError(
                f"GaussianProcessSE: none of the {len(past)} past tasks has two different responses, so there is "
                "nothing to learn from. Give more past tasks, or use it without pretrain()."
            )
        rows = rows_per_task(len(usable))
        tasks = [_training_rows(task, self.response, rows) for task in usable]
        total = self.epochs if self.optimiser == "adagrad" else (1 + self.restarts) * MAX_ITERATIONS
        stop = _stop_rule(budget, progress, total)
        return replace(self, hyperparameters=self._learn(tasks, None, rng, stop))

    def fit(self, data: TaskData, *, rng: Rng) -> GaussianProcessPosterior:
        """Return the posterior given ``data``; without any observation it is the prior."""
        known, d = self.hyperparameters, data.x.shape[1]
        if known is not None and len(known.lengths) != d:
            raise DataError(
                f"GaussianProcessSE: x has {d} columns, was pre-trained on {len(known.lengths)}. "
                "Encode with the Space used for pre-training."
            )
        scale = fit_scale(self.response, data.y, data.bounds)
        z = scale.apply(data.y)
        centre = float(z.mean()) if len(z) else 0.0
        if known is None or self.refit:
            known = self._learn([(data.x, z - centre)], known, rng)
        process = condition(data.x, z, replace(known, mean=centre), kind="se")
        return GaussianProcessPosterior("GaussianProcessSE", process, scale)

    def _learn(
        self,
        tasks: Sequence[tuple[Array, Array]],
        start: Hyperparameters | None,
        rng: Rng,
        stop: Callable[[], bool] | None = None,
    ) -> Hyperparameters:
        d = tasks[0][0].shape[1]
        if self.optimiser == "adagrad":
            return adagrad(tasks, start or reference_start(d), epochs=self.epochs, stop=stop)
        return fit_shared_hyperparameters(
            tasks,
            columns=d,
            kind="se",
            mean="zero",
            restarts=self.restarts,
            rng=rng,
            start=start,
            noise_floor=self.noise_floor,
            max_iterations=MAX_ITERATIONS,
            stop=stop,
        )


def reference_start(d: int) -> Hyperparameters:
    r"""Return where the TST reference program starts: \sigma_f = 1, l_j = 1, \sigma_y = 0.001."""
    return Hyperparameters(lengths=np.ones(d), variance=1.0, noise=1e-6)


def adagrad(
    tasks: Sequence[tuple[Array, Array]],
    start: Hyperparameters,
    *,
    epochs: int = 100,
    stop: Callable[[], bool] | None = None,
) -> Hyperparameters:
    r"""Return the hyperparameters after AdaGrad ascent on the summed log marginal likelihood of centred tasks (x, y).

    As in the TST reference program: the raw parameters l_j, \sigma_f, \sigma_y are free, only their squares enter the
    kernel, the last iterate counts, and nothing keeps the noise from vanishing. An iterate whose covariance cannot be
    factorised ends the ascent, and the one before counts.
    """
    d = len(start.lengths)
    raw = np.array([*start.lengths, np.sqrt(start.variance), np.sqrt(start.noise)])
    # theta = log(l, \sigma_f^2, \sigma_y^2), so d theta / d raw = power / raw
    power = np.array([1.0] * d + [2.0, 2.0])
    accumulator = np.full(d + 2, ADAGRAD_ACCUMULATOR)
    good = raw
    for epoch in range(epochs + 1):
        try:
            _, descent = summed_negative_log_posterior(power * np.log(np.abs(raw)), tasks, kind="se", mean="zero")
        except NumericalError:
            break
        good = raw
        if epoch == epochs or (epoch > 0 and stop is not None and stop()):
            break
        ascent = -descent * power / raw
        accumulator += ascent**2
        raw = raw + ADAGRAD_STEP * ascent / np.sqrt(accumulator)
    return Hyperparameters(frozen(np.abs(good[:d])), float(good[d] ** 2), float(good[d + 1] ** 2))


def rows_per_task(tasks: int) -> int:
    """Return how many rows of each of ``tasks`` past tasks pre-training uses: the work stays that of 60 times 256."""
    return int(LARGEST_TASK * min(1.0, MANY_TASKS / tasks) ** (1.0 / 3.0))


def _training_rows(task: TaskData, response: ResponseKind, rows: int) -> tuple[Array, Array]:
    """Return x and the scaled, centred y of a past task, at most ``rows`` of each."""
    z = fit_scale(response, task.y, task.bounds).apply(task.y)
    z = z - z.mean()
    if len(z) <= rows:
        return task.x, z
    chosen = np.argsort(z, kind="stable")[np.linspace(0, len(z) - 1, rows).round().astype(np.int64)]
    return task.x[chosen], z[chosen]


def _stop_rule(budget: Budget | None, progress: Progress | None, total: int) -> Callable[[], bool]:
    """Return what is called after every iteration: it reports progress and says whether the budget is spent."""
    begin, done = time.monotonic(), 0
    max_steps = None if budget is None else budget.max_steps
    max_seconds = None if budget is None else budget.max_seconds

    def stop() -> bool:
        nonlocal done
        done += 1
        if progress is not None:
            progress(min(done, total), total, "likelihood of the past tasks")
        out_of_steps = max_steps is not None and done >= max_steps
        return out_of_steps or (max_seconds is not None and time.monotonic() - begin >= max_seconds)

    return stop
