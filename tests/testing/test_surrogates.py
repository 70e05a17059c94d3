"""Every check catches a surrogate that is broken in just that way, and lets the sound one pass."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import pytest
import threadpoolctl

from headstart.acquisition import LogExpectedImprovement
from headstart.arrays import Array, Rng
from headstart.data import MetaDataset, Prediction, TaskData
from headstart.errors import DataError, HeadstartError, NotFittedError
from headstart.testing import check_surrogate, pretraining, surrogate_checks
from headstart.testing import surrogates as checks
from headstart.testing.surrogates import Check

Fit = Callable[[Any, TaskData, Rng], Any]


@dataclass(frozen=True, eq=False)
class ToyPosterior:
    """Kernel regression in units of 1/10 of a response."""

    x: Array
    y: Array
    past: tuple[Array, Array] | None
    incumbent: float

    def smooth(self, at: Array, x: Array, y: Array, width: float) -> tuple[Array, Array]:
        squared = np.square(at[:, None, :] - x[None, :, :]).sum(axis=2)
        weight = np.exp(-squared / (2 * width**2)) + 1e-12
        return (weight @ y) / weight.sum(axis=1), weight.sum(axis=1)

    def predict(self, x: Array, *, features: Array | None = None) -> Prediction:
        if x.ndim != 2 or x.shape[1] != self.x.shape[1]:
            raise DataError(f"Toy posterior: x has shape {x.shape}, was fitted on {self.x.shape[1]} columns.")
        mean, std = np.zeros(len(x)), np.ones(len(x))
        if self.past is not None:
            mean, _ = self.smooth(x, *self.past, 0.1)
            std = np.full(len(x), 0.1)
        if len(self.x):
            largest = float(np.abs(self.y).max()) or 1.0  # so that 1e30 does not swamp the rounding of the rest
            local, count = self.smooth(x, self.x, self.y / largest, 0.1)
            trust = count / (count + 0.1)
            mean = 10 * largest * local if self.past is None else (1 - trust) * mean + trust * 10 * largest * local
            std = std * np.sqrt(1.0 / (1.0 + count)) * 10 * largest
        return Prediction(mean, std)

    def to_response(self, values: Array) -> Array:
        return values / 10


@dataclass(frozen=True, kw_only=True, eq=False)
class Toy:
    """A sound surrogate; the broken ones below change one thing."""

    name: ClassVar[str] = "toy"

    past: tuple[Array, Array] | None = None
    acquisition: LogExpectedImprovement = field(default_factory=LogExpectedImprovement)

    @property
    def is_pretrained(self) -> bool:
        return self.past is not None

    @property
    def minimum_observations(self) -> int:
        return 0 if self.past is not None else 3

    def pretrain(
        self,
        past: MetaDataset,
        *,
        rng: Rng,
        validation: MetaDataset | None = None,
        budget: Any = None,
        progress: Any = None,
    ) -> Any:
        tasks = [task for task in past.tasks if len(task) and np.ptp(task.y) > 0]
        if not tasks:
            raise DataError("Toy: nothing to learn from.")
        x = np.concatenate([task.x for task in tasks])
        y = np.concatenate([(task.y - task.y.mean()) / task.y.std() for task in tasks])
        return replace(self, past=(x, y))

    def fit(self, data: TaskData, *, rng: Rng) -> Any:
        if self.past is not None and self.past[0].shape[1] != data.x.shape[1]:
            raise DataError("Toy: other columns than the past's.")
        order = np.lexsort((*data.x.T, data.y))
        best = 10 * float(data.y.max()) if len(data) else -np.inf
        return ToyPosterior(data.x[order], data.y[order], self.past, best)


@dataclass(frozen=True)
class Plain:
    """Can do what every surrogate must and nothing else."""

    name: ClassVar[str] = "plain"
    minimum_observations: int = 0
    acquisition: LogExpectedImprovement = field(default_factory=LogExpectedImprovement)

    def fit(self, data: TaskData, *, rng: Rng) -> Any:
        return Toy().fit(data, rng=rng)


class Demanding(Toy):
    def fit(self, data: TaskData, *, rng: Rng) -> Any:
        if self.past is None:
            raise NotFittedError("Demanding: call pretrain() first.")
        return super().fit(data, rng=rng)


class PretrainsInPart(Plain):
    """Lacks is_pretrained, so that nobody would ever pre-train it."""

    def pretrain(self, past: MetaDataset, *, rng: Rng) -> Any:
        return self


class DeniesItsPretraining(Toy):
    @property
    def is_pretrained(self) -> bool:
        return False


class BadName(Toy):
    name: ClassVar[str] = "Bad_Name"


class TakenName(Toy):
    name: ClassVar[str] = "gp"


@dataclass(frozen=True, kw_only=True, eq=False)
class KeepsADict(Toy):
    options: dict[str, int] = field(default_factory=lambda: {"trees": 3})


@dataclass(frozen=True, kw_only=True, eq=False)
class KeepsAGenerator(Toy):
    generator: Rng = field(default_factory=lambda: np.random.default_rng(0))


class MutatesItself(Toy):
    def fit(self, data: TaskData, *, rng: Rng) -> Any:
        object.__setattr__(self, "last", len(data))
        return super().fit(data, rng=rng)


@dataclass(frozen=True, kw_only=True, eq=False)
class WritesIntoItsArray(Toy):
    counts: Array = field(default_factory=lambda: np.zeros(1))

    def fit(self, data: TaskData, *, rng: Rng) -> Any:
        self.counts[0] += 1
        return super().fit(data, rng=rng)


class IgnoresTheGenerator(Toy):
    def fit(self, data: TaskData, *, rng: Rng) -> Any:
        posterior = super().fit(data, rng=rng)
        return replace(posterior, y=posterior.y + 1e-9 * random.random() * np.arange(len(posterior.y)))


class NeedsAnObservation(Toy):
    def fit(self, data: TaskData, *, rng: Rng) -> Any:
        return replace(super().fit(data, rng=rng), incumbent=10 * float(np.max(data.y)))


class ZeroIncumbentWithoutObservations(Toy):
    def fit(self, data: TaskData, *, rng: Rng) -> Any:
        posterior = super().fit(data, rng=rng)
        return posterior if len(data) else replace(posterior, incumbent=0.0)


class UnsortedFit(Toy):
    def fit(self, data: TaskData, *, rng: Rng) -> Any:
        weight = np.linspace(0.5, 1.0, len(data))
        return replace(super().fit(data, rng=rng), x=data.x, y=data.y * weight)


class WrongIncumbentUnits(Toy):
    def fit(self, data: TaskData, *, rng: Rng) -> Any:
        posterior = super().fit(data, rng=rng)
        return replace(posterior, incumbent=posterior.incumbent / 10)


class MinimisesInFit(Toy):
    def fit(self, data: TaskData, *, rng: Rng) -> Any:
        posterior = super().fit(data, rng=rng)
        return replace(posterior, y=-posterior.y)


class LimitsThreads(Toy):
    def fit(self, data: TaskData, *, rng: Rng) -> Any:
        threadpoolctl.threadpool_limits(1)
        return super().fit(data, rng=rng)


class MinimisesInPretraining(Toy):
    def pretrain(self, past: MetaDataset, *, rng: Rng, **others: Any) -> Any:
        learned = super().pretrain(past, rng=rng)
        return replace(learned, past=(learned.past[0], -learned.past[1]))


@dataclass(frozen=True, eq=False)
class MinimisingScores(ToyPosterior):
    def score(self, x: Array, *, features: Array | None = None, rng: Rng) -> Array:
        return -self.predict(x).mean


class MinimisesInScoring(Toy):
    def fit(self, data: TaskData, *, rng: Rng) -> Any:
        posterior = super().fit(data, rng=rng)
        return MinimisingScores(posterior.x, posterior.y, posterior.past, posterior.incumbent)


class PretrainsItself(Toy):
    def pretrain(self, past: MetaDataset, *, rng: Rng, **others: Any) -> Any:
        object.__setattr__(self, "past", super().pretrain(past, rng=rng).past)
        return self


class LearnsNothing(Toy):
    def pretrain(self, past: MetaDataset, *, rng: Rng, **others: Any) -> Any:
        return replace(self)


class PretrainsWithoutTheGenerator(Toy):
    def pretrain(self, past: MetaDataset, *, rng: Rng, **others: Any) -> Any:
        learned = super().pretrain(past, rng=rng)
        return replace(learned, past=(learned.past[0], learned.past[1] + 1e-6 * random.random()))


class ReportsTooMuch(Toy):
    def pretrain(self, past: MetaDataset, *, rng: Rng, progress: Any = None, **others: Any) -> Any:
        if progress is not None:
            progress(len(past) + 1, len(past), "more than all")
        return super().pretrain(past, rng=rng)


class TripsOverConstantTasks(Toy):
    def pretrain(self, past: MetaDataset, *, rng: Rng, **others: Any) -> Any:
        learned = super().pretrain(past, rng=rng)
        if any(len(task) and np.ptp(task.y) == 0 for task in past.tasks):
            return replace(learned, past=(learned.past[0], learned.past[1] * np.nan))
        return learned


class AcceptsOtherColumns(Toy):
    def fit(self, data: TaskData, *, rng: Rng) -> Any:
        return Toy().fit(data, rng=rng)


def bends(change: Callable[[ToyPosterior, Array, Prediction], Prediction]) -> Any:
    """Return a surrogate whose predictions are changed by ``change``."""

    @dataclass(frozen=True, eq=False)
    class Bent(ToyPosterior):
        def predict(self, x: Array, *, features: Array | None = None) -> Prediction:
            return change(self, x, super().predict(x))

    class Bends(Toy):
        def fit(self, data: TaskData, *, rng: Rng) -> Any:
            posterior = super().fit(data, rng=rng)
            return Bent(posterior.x, posterior.y, posterior.past, posterior.incumbent)

    return Bends()


def nan_if(condition: Callable[[ToyPosterior], bool]) -> Any:
    return bends(lambda own, x, found: Prediction(found.mean * np.nan, found.std) if condition(own) else found)


def has_duplicates(own: ToyPosterior) -> bool:
    return len(own.x) > 1 and len(np.unique(own.x, axis=0)) < len(own.x)


class PadsColumns(Toy):
    """Answers rows of any width."""

    def fit(self, data: TaskData, *, rng: Rng) -> Any:
        posterior = super().fit(data, rng=rng)

        @dataclass(frozen=True, eq=False)
        class Lenient(ToyPosterior):
            def predict(self, x: Array, *, features: Array | None = None) -> Prediction:
                return Prediction(np.zeros(len(x)), np.ones(len(x)))

        return Lenient(posterior.x, posterior.y, posterior.past, posterior.incumbent)


class RaisesSomethingElse(Toy):
    """Refuses rows of another width by accident, with NumPy's own error."""

    def fit(self, data: TaskData, *, rng: Rng) -> Any:
        posterior = super().fit(data, rng=rng)

        @dataclass(frozen=True, eq=False)
        class Accident(ToyPosterior):
            def predict(self, x: Array, *, features: Array | None = None) -> Prediction:
                if x.ndim != 2 or x.shape[1] != self.x.shape[1]:
                    raise ValueError("operands could not be broadcast together")
                return super().predict(x)

        return Accident(posterior.x, posterior.y, posterior.past, posterior.incumbent)


@dataclass(frozen=True, eq=False)
class NoPickle(ToyPosterior):
    def __reduce__(self) -> Any:
        return ToyPosterior, (self.x, self.y + 1.0, self.past, self.incumbent)


class ForgetsInPickles(Toy):
    def fit(self, data: TaskData, *, rng: Rng) -> Any:
        posterior = super().fit(data, rng=rng)
        return NoPickle(posterior.x, posterior.y, posterior.past, posterior.incumbent)


class IgnoresFeatures(Toy):
    """Its features come in other units than those it computes inside."""

    def features(self, x: Array) -> Array:
        return x.sum(axis=1, keepdims=True)

    def fit(self, data: TaskData, *, rng: Rng) -> Any:
        posterior = super().fit(data, rng=rng)
        return posterior if data.features is None else replace(posterior, y=posterior.y + data.features[:, 0])


def single_precision(own: ToyPosterior, x: Array, found: Prediction) -> Prediction:
    return Prediction(found.mean.astype(np.float32), found.std)  # type: ignore[arg-type]


BROKEN: list[tuple[Any, Check, str]] = [
    (BadName(), checks.check_name, "kebab-case"),
    (TakenName(), checks.check_name, "'gp' belongs to GaussianProcess"),
    (KeepsADict(), checks.check_fields_can_be_stored, r"KeepsADict\.options: dict"),
    (KeepsAGenerator(), checks.check_fields_can_be_stored, r"KeepsAGenerator\.generator: Generator"),
    (bends(lambda own, x, found: Prediction(found.mean[:, None], found.std)), checks.check_contract, "shape"),
    (bends(lambda own, x, found: Prediction(found.mean, -found.std)), checks.check_contract, "deviation is negative"),
    (bends(lambda own, x, found: Prediction(found.mean, found.std, noise=-1.0)), checks.check_contract, "the noise"),
    (bends(single_precision), checks.check_contract, "float32, must be float64"),
    (PretrainsInPart(), checks.check_contract, "not all that SupportsPretraining asks for"),
    (MutatesItself(), checks.check_settings_unchanged_by_fit, r"fit\(\) changed it"),
    (WritesIntoItsArray(), checks.check_settings_unchanged_by_fit, r"fit\(\) changed it"),
    (IgnoresTheGenerator(), checks.check_same_generator_same_answer, "equal generators differ in their mean"),
    (ZeroIncumbentWithoutObservations(), checks.check_few_observations, "must be minus infinity"),
    (
        nan_if(lambda own: len(own.y) == 1),
        checks.check_few_observations,
        "after 1 observations: the mean is not finite",
    ),
    (nan_if(lambda own: len(own.y) > 1 and np.ptp(own.y) == 0), checks.check_constant_responses, "not finite"),
    (nan_if(has_duplicates), checks.check_duplicate_rows, "not finite"),
    (nan_if(lambda own: own.x.shape[1] > 40), checks.check_columns, "with 60 columns"),
    (nan_if(lambda own: own.x.shape[1] == 1), checks.check_columns, "with 1 columns"),
    (nan_if(lambda own: bool((np.ptp(own.x, axis=0) == 0).any())), checks.check_columns, "column that never varied"),
    (nan_if(lambda own: bool((own.y > 1e29).any())), checks.check_extreme_responses, "one response of 1e30"),
    (nan_if(lambda own: bool(np.ptp(own.y) < 1e-9)), checks.check_extreme_responses, "1e-12"),
    (UnsortedFit(), checks.check_row_order, "another order of the observations"),
    (
        bends(lambda own, x, found: Prediction(found.mean - found.mean[:1], found.std)),
        checks.check_rows_are_predicted_alone,
        "among 5000 others",
    ),
    (ForgetsInPickles(), checks.check_pickling, "pickling the posterior changed its mean"),
    (PadsColumns(), checks.check_wrong_columns, "was accepted"),
    (RaisesSomethingElse(), checks.check_wrong_columns, "must raise a HeadstartError, raised ValueError"),
    (WrongIncumbentUnits(), checks.check_incumbent, r"to_response\(incumbent\) is"),
    (MinimisesInFit(), checks.check_larger_is_better, "Larger is better"),
    (LimitsThreads(), checks.check_thread_limits_restored, "left other thread limits"),
    (IgnoresFeatures(), checks.check_features_handed_in, "features handed in change the mean"),
    (PretrainsItself(), pretraining.check_pretraining_returns_a_new_recipe, r"pretrain\(\) changed it"),
    (LearnsNothing(), pretraining.check_pretraining_returns_a_new_recipe, "not is_pretrained after"),
    (DeniesItsPretraining(), pretraining.check_pretraining_returns_a_new_recipe, "not is_pretrained after"),
    (PretrainsWithoutTheGenerator(), pretraining.check_pretraining_follows_its_generator, "equal generators differ"),
    (ReportsTooMuch(), pretraining.check_pretraining_arguments, "reported 5 of 4"),
    (TripsOverConstantTasks(), pretraining.check_unhelpful_past, "with useless tasks among the past"),
    (AcceptsOtherColumns(), pretraining.check_other_columns_than_the_past, "was accepted"),
    (MinimisesInPretraining(), pretraining.check_transfer, "nothing is observed: the first pick"),
    (MinimisesInScoring(), pretraining.check_transfer, "nothing is observed: the first pick"),
]


@pytest.mark.parametrize("check", surrogate_checks(Toy()), ids=lambda check: check.__name__)
def test_the_sound_toy_passes(check: Check) -> None:
    check(Toy())


@pytest.mark.parametrize(
    ("broken", "check", "message"), BROKEN, ids=[f"{check.__name__}-{i}" for i, (_, check, _) in enumerate(BROKEN)]
)
def test_the_broken_toy_is_caught(broken: Any, check: Check, message: str) -> None:
    with threadpoolctl.threadpool_limits(limits=None), pytest.raises(AssertionError, match=message):
        check(broken)


def test_every_check_is_shown_to_fail() -> None:
    shown = {check for _, check, _ in BROKEN}
    assert shown == {*checks.ALWAYS, checks.check_features_handed_in, *pretraining.CHECKS}


def test_only_checks_that_apply_are_listed() -> None:
    listed = surrogate_checks(Plain())
    assert listed == checks.ALWAYS
    assert checks.check_features_handed_in in surrogate_checks(IgnoresFeatures())
    check_surrogate(Plain())


def test_a_recipe_that_must_be_pretrained_is_only_tried_afterwards() -> None:
    check_surrogate(Demanding())


def test_one_call_runs_every_check() -> None:
    with pytest.raises(AssertionError, match=r"pretrain\(\) changed it"):
        check_surrogate(PretrainsItself())
    assert not issubclass(AssertionError, HeadstartError)
