r"""TST-M: past tasks weigh by how near their descriptors are to this task's.

Two-stage transfer surrogate models (Wistuba, Schilling, Schmidt-Thieme, ECML 2016). The mathematics is in
``two_stage``; docs/ensembles-of-past-tasks.md has the equations, the errata and what the switches do.
"""

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, get_args

import numpy as np

from headstart.acquisition import LogExpectedImprovement
from headstart.arrays import Array, Rng
from headstart.data import Budget, MetaDataset, TaskData
from headstart.errors import DataError
from headstart.numerics.ranking_agreement import epanechnikov
from headstart.protocols import Acquisition, Progress
from headstart.surrogates.bandwidth import GRID, chosen_bandwidth
from headstart.surrogates.gaussian_process import GaussianProcess, GaussianProcessPosterior, check_count, check_positive
from headstart.surrogates.past_models import Subsample
from headstart.surrogates.sources import (
    ProcessRecipe,
    SourceKind,
    Sources,
    check_choice,
    check_source,
    in_own_order,
    learn_sources,
    with_metafeatures,
)
from headstart.surrogates.two_stage import (
    Preset,
    TargetResponse,
    TwoStagePosterior,
    check_two_stage,
    fit_target,
    preset_response,
    preset_weight,
)

logger = logging.getLogger(__name__)

MetafeatureScale = Literal["minmax", "none"]
NAMES_SHOWN = 5


@dataclass(frozen=True, kw_only=True, eq=False)
class TSTM:
    """Mean of all past tasks' models, weighted by descriptors, with the deviation of the target's own process.

    The weights do not change over the trials. It needs ``TaskData.metafeatures``, of past tasks and of the target.
    Without ``pretrain`` it is the plain Gaussian process.
    """

    name: ClassVar[str] = "tst-m"

    preset: Preset = "reference"
    """ "reference": what the authors' program does, and what its curve comes from: the target on its own scale, with
    weight 1. "formula": what the paper prints: weight 3/4, and the target scaled to [0, 1] like the past tasks."""
    bandwidth: float | None = None
    """Past tasks whose descriptors are so far from the target's count for nothing; 3.25 is the authors' for 22 scaled
    descriptors. None: ``pretrain`` chooses it."""
    metafeature_scale: MetafeatureScale = "minmax"
    """ "minmax": descriptors are scaled by their extremes over the past tasks, and the target's clipped to [0, 1];
    "none": they are used as they are."""
    target_weight: float | None = None
    """Of the target's own mean in the sum, 3/4 in the divisor in any case; as the preset says when None."""
    target_response: TargetResponse | None = None
    """How the target is scaled; as the preset says when None."""
    epoch_decay: int = 0
    """Steps that the target's kernel learning loses with each observation; 5 in the authors' program."""
    source: SourceKind = "gp"
    """What models a past task; forests for large or categorical ones."""
    subsample: Subsample = "uniform"
    """Which rows of a past task of more than 256 are kept."""
    trees: int | None = None
    """Trees per past task; by default 60 up to 100 past tasks, then fewer, down to 10 at 600 and more."""
    process: ProcessRecipe = field(default_factory=ProcessRecipe)
    """How kernels are learned, of past tasks and of the target."""
    past: Sources | None = None
    """Set by ``pretrain``."""
    acquisition: Acquisition = field(default_factory=lambda: LogExpectedImprovement(xi=0.01))
    """What it is used with unless told otherwise."""

    def __post_init__(self) -> None:
        check_two_stage("TSTM", self.preset, self.target_weight, self.target_response)
        check_choice("TSTM", "metafeature_scale", self.metafeature_scale, get_args(MetafeatureScale))
        check_source("TSTM", self.source, self.subsample, self.trees)
        check_count("TSTM", "epoch_decay", self.epoch_decay, 0)
        if self.bandwidth is not None:
            check_positive("TSTM", "bandwidth", self.bandwidth)

    @property
    def is_pretrained(self) -> bool:
        """Whether it has learned from past tasks."""
        return self.past is not None

    @property
    def minimum_observations(self) -> int:
        """0 with a past: the first proposal is what similar past tasks like best on average."""
        return 0 if self.past is not None else GaussianProcess().minimum_observations

    def pretrain(
        self,
        past: MetaDataset,
        *,
        rng: Rng,
        validation: MetaDataset | None = None,
        budget: Budget | None = None,
        progress: Progress | None = None,
    ) -> "TSTM":
        r"""Return the recipe with one model per past task that has descriptors, and with a bandwidth if it had none.

        A bandwidth is chosen from \sqrt{m} {0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1}, m descriptors, by runs on
        ``validation`` tasks, or on held-out past tasks; nothing else needs them, and nothing a ``budget``. Tasks with
        fewer than two observations or without any variation say nothing and are left out; so are those without
        descriptors, which a warning names.

        Raises:
            DataError: No past task has descriptors, or not all have as many.
        """
        informative = past.informative
        tasks = _described(informative)
        if not tasks:
            return replace(self, past=None)
        m = len(_metafeatures(tasks[0]))
        learned = learn_sources(
            tasks,
            source=self.source,
            response="standardise" if self.response == "standardise" else "minmax",
            recipe=self.process,
            subsample=self.subsample,
            trees=self.trees,
            rng=rng,
            progress=progress,
        )
        sources = with_metafeatures(learned, tasks)
        bandwidth = self.bandwidth
        if bandwidth is None:
            bandwidth = chosen_bandwidth(
                lambda some, value: replace(self, past=some, bandwidth=value),
                sources,
                tasks,
                None if validation is None else MetaDataset(_described(validation.informative), validation.columns),
                [math.sqrt(m) * value for value in GRID],
                rng=rng,
                progress=progress,
            )
        return replace(self, past=sources, bandwidth=bandwidth)

    @property
    def response(self) -> TargetResponse:
        """How the target is scaled."""
        return preset_response(self.preset, self.target_response)

    def features(self, x: Array) -> Array:
        """Return [k, S]: every past task's prediction; no columns without a past."""
        return self.past.means(x) if self.past is not None else np.empty((len(x), 0))

    def fit(self, data: TaskData, *, rng: Rng) -> TwoStagePosterior | GaussianProcessPosterior:
        """Return the posterior given ``data``.

        Raises:
            DataError: The target has no descriptors, or not as many as the past tasks.
        """
        past = self.past
        if past is None:
            return GaussianProcess().fit(data, rng=rng)
        data = in_own_order(data)
        past.check_rows(data.x, f"TSTM: TaskData '{data.name}'")
        m = past.metafeatures.shape[1]
        if data.metafeatures is None or len(data.metafeatures) != m:
            got = "none" if data.metafeatures is None else str(len(data.metafeatures))
            raise DataError(
                f"TSTM: TaskData '{data.name}' needs {m} metafeatures like the past tasks, got {got}. "
                "Give them, or use 'tst-r', which goes by the observations."
            )
        distances = metafeature_distances(past.metafeatures, data.metafeatures, self.metafeature_scale)
        bandwidth = math.sqrt(m) * GRID[-1] if self.bandwidth is None else self.bandwidth
        weights = epanechnikov(distances / bandwidth)
        target = fit_target(data, self.process, self.response, epoch_decay=self.epoch_decay, rng=rng)
        weight = preset_weight(self.preset, self.target_weight)
        return TwoStagePosterior("TSTM", past, weights, weight, target, f"the distance of their {m} descriptors")


def metafeature_distances(past: Array, target: Array, scale: MetafeatureScale) -> Array:
    """Return Euclidean distances [S] of the descriptors ``target`` [m] from those of past tasks [S, m]."""
    if scale == "minmax":
        low, width = past.min(axis=0), np.ptp(past, axis=0)
        # a descriptor that never varied says nothing of what a difference in it means
        unit = np.where(width > 0.0, width, np.inf)
        past, target = (past - low) / unit, np.clip((target - low) / unit, 0.0, 1.0)
    return np.sqrt(((past - target) ** 2).sum(axis=1))


def _metafeatures(task: TaskData) -> Array:
    return task.metafeatures if task.metafeatures is not None else np.empty(0)


def _described(tasks: Sequence[TaskData]) -> tuple[TaskData, ...]:
    """Return the tasks that have descriptors, all equally many; name those that have none."""
    found = tuple(task for task in tasks if len(_metafeatures(task)))
    missing = [task.name for task in tasks if not len(_metafeatures(task))]
    listed = ", ".join(repr(name) for name in missing[:NAMES_SHOWN]) + (", ..." if len(missing) > NAMES_SHOWN else "")
    if missing and not found:
        raise DataError(
            f"TSTM: none of the {len(tasks)} past tasks has metafeatures ({listed}). "
            "Give them, or use 'tst-r', which needs none."
        )
    if missing:
        logger.warning(
            "TSTM: %d of %d past tasks have no metafeatures and are left out: %s", len(missing), len(tasks), listed
        )
    for task in found:
        if len(_metafeatures(task)) != len(_metafeatures(found[0])):
            raise DataError(
                f"TSTM: past task '{task.name}' has {len(_metafeatures(task))} metafeatures, '{found[0].name}' has "
                f"{len(_metafeatures(found[0]))}. Describe every task by the same ones."
            )
    return found
