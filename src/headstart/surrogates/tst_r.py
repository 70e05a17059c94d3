r"""TST-R: past tasks weigh by how well their models rank this task's observations.

Two-stage transfer surrogate models (Wistuba, Schilling, Schmidt-Thieme, ECML 2016). The mathematics is in
``two_stage``; docs/ensembles-of-past-tasks.md has the equations, the errata and what the switches do.
"""

from dataclasses import dataclass, field, replace
from typing import ClassVar, get_args

import numpy as np

from headstart.acquisition import LogExpectedImprovement
from headstart.arrays import Array, Rng
from headstart.data import Budget, MetaDataset, TaskData
from headstart.protocols import Acquisition, Progress
from headstart.surrogates.bandwidth import DEFAULT, GRID, chosen_bandwidth
from headstart.surrogates.gaussian_process import (
    GaussianProcess,
    GaussianProcessPosterior,
    check_count,
    check_positive,
)
from headstart.surrogates.past_models import Subsample
from headstart.surrogates.sources import (
    ProcessRecipe,
    SourceKind,
    Sources,
    check_choice,
    check_source,
    in_own_order,
    learn_sources,
)
from headstart.surrogates.two_stage import (
    Distance,
    Preset,
    TargetResponse,
    TwoStagePosterior,
    check_two_stage,
    fit_target,
    preset_response,
    preset_weight,
    ranking_similarity,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class TSTR:
    """Mean of all past tasks' models, weighted by rank agreement, with the deviation of the target's own process.

    Its first proposal is the row that past tasks like best on average, so it needs no initial design. Without
    ``pretrain`` it is the plain Gaussian process.
    """

    name: ClassVar[str] = "tst-r"

    preset: Preset = "reference"
    """ "reference": what the authors' program does, and what its curve comes from: the target on its own scale, with
    weight 1. "formula": what the paper prints: weight 3/4, and the target scaled to [0, 1] like the past tasks."""
    bandwidth: float | None = None
    """Past tasks that misrank so large a share of the pairs count for nothing; None: ``pretrain`` chooses it. The
    authors' is 0.1 on their data of support vector machines, and 0.9 on the others."""
    distance: Distance = "discordance"
    """ "euclidean" is the norm that the paper prints: any misranked pair is farther than a usual bandwidth."""
    target_weight: float | None = None
    """Of the target's own mean in the sum, 3/4 in the divisor in any case; as the preset says when None."""
    target_response: TargetResponse | None = None
    """How the target is scaled; as the preset says when None."""
    epoch_decay: int = 0
    """Steps that the target's kernel learning loses with each observation; 5 in the authors' program, whose kernel
    therefore stays at its start from trial 22 on."""
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
        check_two_stage("TSTR", self.preset, self.target_weight, self.target_response)
        check_choice("TSTR", "distance", self.distance, get_args(Distance))
        check_source("TSTR", self.source, self.subsample, self.trees)
        check_count("TSTR", "epoch_decay", self.epoch_decay, 0)
        if self.bandwidth is not None:
            check_positive("TSTR", "bandwidth", self.bandwidth)

    @property
    def is_pretrained(self) -> bool:
        """Whether it has learned from past tasks."""
        return self.past is not None

    @property
    def minimum_observations(self) -> int:
        """0 with a past: the first proposal is the past's favourite."""
        return 0 if self.past is not None else GaussianProcess().minimum_observations

    def pretrain(
        self,
        past: MetaDataset,
        *,
        rng: Rng,
        validation: MetaDataset | None = None,
        budget: Budget | None = None,
        progress: Progress | None = None,
    ) -> "TSTR":
        """Return the recipe with one model per past task, and with a bandwidth if it had none.

        A bandwidth is chosen from {0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1} by runs on ``validation`` tasks, or on held
        out past tasks; nothing else needs them, and nothing a ``budget``. Tasks with fewer than two observations or
        without any variation say nothing and are left out.
        """
        tasks = past.informative
        if not tasks:
            return replace(self, past=None)
        sources = learn_sources(
            tasks,
            source=self.source,
            response="standardise" if self.response == "standardise" else "minmax",
            recipe=self.process,
            subsample=self.subsample,
            trees=self.trees,
            rng=rng,
            progress=progress,
        )
        bandwidth = self.bandwidth
        if bandwidth is None:
            bandwidth = chosen_bandwidth(
                lambda some, value: replace(self, past=some, bandwidth=value),
                sources,
                tasks,
                validation,
                GRID,
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
        """Return the posterior given ``data``."""
        past = self.past
        if past is None:
            return GaussianProcess().fit(data, rng=rng)
        data = in_own_order(data)
        features = past.features_or(data.features, data.x, f"TSTR: TaskData '{data.name}'")
        target = fit_target(data, self.process, self.response, epoch_decay=self.epoch_decay, rng=rng)
        fitted = target.predict(data.x)[0] if self.distance == "euclidean" else None
        bandwidth = DEFAULT if self.bandwidth is None else self.bandwidth
        weights = ranking_similarity(features, data.y, bandwidth=bandwidth, distance=self.distance, fitted=fitted)
        why = f"how they rank the {len(data)} configurations observed" if len(data) > 1 else "nothing yet, so all alike"
        weight = preset_weight(self.preset, self.target_weight)
        return TwoStagePosterior("TSTR", past, weights, weight, target, why)
