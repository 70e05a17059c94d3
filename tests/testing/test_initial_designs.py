"""Every check catches an initial design that is broken in just that way, and lets the sound one pass."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from headstart.arrays import Array, Rng
from headstart.data import Candidates, MetaDataset, TaskData, best_row
from headstart.errors import NotFittedError
from headstart.testing import check_initial_design, initial_design_checks
from headstart.testing import initial_designs as checks
from headstart.testing.initial_designs import Check


@dataclass(frozen=True, kw_only=True, eq=False)
class Toy:
    """Random candidates; after pre-training the best rows of the past first. The broken ones change one thing."""

    name: ClassVar[str] = "toy"

    best: Array | None = None

    @property
    def is_pretrained(self) -> bool:
        return self.best is not None

    def pretrain(self, past: MetaDataset, *, rng: Rng, **others: Any) -> Any:
        return replace(self, best=best_row(past.tasks))

    def propose(self, observed: TaskData, n: int, candidates: Candidates, *, rng: Rng) -> Array:
        rows = candidates.x[rng.permutation(len(candidates.x))]
        if self.best is not None:
            distance = np.square(rows[:, None, :] - self.best[None, :, :]).sum(axis=2)
            rows = rows[np.argsort(distance.min(axis=1), kind="stable")]
        return rows[:n]


class BadName(Toy):
    name: ClassVar[str] = "My Design"


@dataclass(frozen=True)
class PretrainsInPart:
    """Lacks is_pretrained, so that nobody would ever pre-train it."""

    name: ClassVar[str] = "in-part"

    def pretrain(self, past: MetaDataset, *, rng: Rng) -> Any:
        return self

    def propose(self, observed: TaskData, n: int, candidates: Candidates, *, rng: Rng) -> Array:
        return candidates.x[:n]


@dataclass(frozen=True, kw_only=True, eq=False)
class KeepsASet(Toy):
    chosen: set[int] = field(default_factory=set[int])


class MutatesItself(Toy):
    def propose(self, observed: TaskData, n: int, candidates: Candidates, *, rng: Rng) -> Array:
        object.__setattr__(self, "asked", n)
        return super().propose(observed, n, candidates, rng=rng)


class IgnoresTheGenerator(Toy):
    def propose(self, observed: TaskData, n: int, candidates: Candidates, *, rng: Rng) -> Array:
        return super().propose(observed, n, candidates, rng=np.random.default_rng(random.getrandbits(64)))


class ForgetsInPickles(Toy):
    def __reduce__(self) -> Any:
        return Toy, ()


class PretrainsItself(Toy):
    def pretrain(self, past: MetaDataset, *, rng: Rng, **others: Any) -> Any:
        object.__setattr__(self, "best", best_row(past.tasks))
        return self


class LearnsNothing(Toy):
    def pretrain(self, past: MetaDataset, *, rng: Rng, **others: Any) -> Any:
        return replace(self)


class Minimises(Toy):
    def pretrain(self, past: MetaDataset, *, rng: Rng, **others: Any) -> Any:
        return replace(self, best=best_row([TaskData(task.x, -task.y) for task in past.tasks]))


class NeedsThePast(Toy):
    def propose(self, observed: TaskData, n: int, candidates: Candidates, *, rng: Rng) -> Array:
        if self.best is None:
            raise NotFittedError("NeedsThePast: call pretrain() first.")
        return super().propose(observed, n, candidates, rng=rng)


def bends(change: Callable[[Array, int, TaskData, Candidates], Array]) -> Any:
    """Return a design whose proposals are changed by ``change``."""

    class Bends(Toy):
        def propose(self, observed: TaskData, n: int, candidates: Candidates, *, rng: Rng) -> Array:
            return change(super().propose(observed, n, candidates, rng=rng), n, observed, candidates)

    return Bends()


def nothing_of_a_pool(found: Array, n: int, observed: TaskData, candidates: Candidates) -> Array:
    return found[:0] if candidates.is_pool else found


def nan_once_observed(found: Array, n: int, observed: TaskData, candidates: Candidates) -> Array:
    return found * np.nan if candidates.is_pool and len(observed) else found


BROKEN: list[tuple[Any, Check, str]] = [
    (BadName(), checks.check_contract, "kebab-case"),
    (PretrainsInPart(), checks.check_contract, "not all that SupportsPretraining asks for"),
    (KeepsASet(), checks.check_fields_can_be_stored, r"KeepsASet\.chosen: set"),
    (bends(lambda found, n, observed, candidates: found + 0.5), checks.check_rows, "leave the unit cube"),
    (bends(lambda found, n, observed, candidates: found[:, :1].T), checks.check_rows, r"must be \[n, "),
    (bends(lambda found, n, observed, candidates: found[:0]), checks.check_rows, "proposed nothing of a whole Space"),
    (bends(lambda found, n, observed, candidates: candidates.x[:5]), checks.check_number_respected, "at most 0 were"),
    (
        bends(lambda found, n, observed, candidates: np.resize(candidates.x, (n, candidates.x.shape[1]))),
        checks.check_number_respected,
        "8 proposals where at most 3",
    ),
    (bends(nothing_of_a_pool), checks.check_pool, "proposed nothing of a pool"),
    (bends(nan_once_observed), checks.check_pool, "leave the unit cube or are not finite"),
    (
        bends(lambda found, n, observed, candidates: np.repeat(found[:1], len(found), axis=0)),
        checks.check_proposals_are_distinct,
        "6 proposals, only 1 distinct",
    ),
    (MutatesItself(), checks.check_settings_unchanged_by_propose, r"propose\(\) changed it"),
    (IgnoresTheGenerator(), checks.check_same_generator_same_answer, "equal generators differ"),
    (ForgetsInPickles(), checks.check_pickling, "pickling changed the recipe"),
    (PretrainsItself(), checks.check_pretraining_returns_a_new_recipe, r"pretrain\(\) changed it"),
    (LearnsNothing(), checks.check_pretraining_returns_a_new_recipe, "not is_pretrained after"),
    (Minimises(), checks.check_transfer, "Larger is better"),
    (LearnsNothing(), checks.check_transfer, "Larger is better"),
]


@pytest.mark.parametrize("check", initial_design_checks(Toy()), ids=lambda check: check.__name__)
def test_the_sound_toy_passes(check: Check) -> None:
    check(Toy())


@pytest.mark.parametrize(
    ("broken", "check", "message"), BROKEN, ids=[f"{check.__name__}-{i}" for i, (_, check, _) in enumerate(BROKEN)]
)
def test_the_broken_toy_is_caught(broken: Any, check: Check, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check(broken)


def test_every_check_is_shown_to_fail() -> None:
    assert {check for _, check, _ in BROKEN} == {*checks.ALWAYS, *checks.PRETRAINED}


def test_a_design_that_must_be_pretrained_is_only_tried_afterwards() -> None:
    check_initial_design(NeedsThePast())


def test_one_call_runs_every_check() -> None:
    with pytest.raises(AssertionError, match="Larger is better"):
        check_initial_design(Minimises())
