"""The contracts between the parts: what a Surrogate, a Posterior, an InitialDesign and an Acquisition can do.

A capability is a protocol of its own; the Optimizer asks with ``isinstance``. Surrogates are frozen recipes: ``fit``
and ``pretrain`` return new objects and change nothing.
"""

from collections.abc import Callable
from typing import ClassVar, Protocol, TypeAlias, runtime_checkable

from headstart.arrays import Array, Rng
from headstart.data import Budget, Candidates, Explanation, MetaDataset, Prediction, TaskData

Acquisition: TypeAlias = Callable[[Prediction, float], Array]
"""Prediction and incumbent to scores [k], larger is better; a frozen settings object."""


class Progress(Protocol):
    """Called during long work."""

    def __call__(self, done: int, total: int, message: str) -> None:
        """Report that ``done`` of ``total`` steps are finished."""
        ...


@runtime_checkable
class Posterior(Protocol):
    """A fitted Surrogate."""

    @property
    def incumbent(self) -> float:
        """Best observed value, in the units of ``predict``; minus infinity when nothing was observed."""
        ...

    def predict(self, x: Array, *, features: Array | None = None) -> Prediction:
        """Predict at rows ``x`` [k, d]; ``features`` [k, p] saves computing them again."""
        ...


class Surrogate(Protocol):
    """A frozen recipe for a model, or a pre-trained one."""

    name: ClassVar[str]
    """What the command line, tables and files call it."""

    @property
    def minimum_observations(self) -> int:
        """Below this many observations the Optimizer asks the initial design."""
        ...

    @property
    def acquisition(self) -> Acquisition:
        """The acquisition it is used with unless told otherwise."""
        ...

    def fit(self, data: TaskData, *, rng: Rng) -> Posterior:
        """Return the posterior given ``data``; leaves this object as it is."""
        ...


@runtime_checkable
class SupportsPretraining(Protocol):
    """A Surrogate or InitialDesign that learns from past tasks."""

    @property
    def is_pretrained(self) -> bool:
        """Whether it has."""
        ...

    def pretrain(
        self,
        past: MetaDataset,
        *,
        rng: Rng,
        validation: MetaDataset | None = None,
        budget: Budget | None = None,
        progress: Progress | None = None,
    ) -> "Surrogate":
        """Return the same recipe with what it learned from ``past``."""
        ...


@runtime_checkable
class SupportsFeatures(Protocol):
    """A Surrogate whose past enters only through fixed functions of the row."""

    def features(self, x: Array) -> Array:
        """Return [k, p], for example every past task's prediction."""
        ...


@runtime_checkable
class ScoresItself(Protocol):
    """A posterior that brings its own acquisition."""

    def score(self, x: Array, *, features: Array | None = None, rng: Rng) -> Array:
        """Return scores [k], larger is better."""
        ...


@runtime_checkable
class SamplesJointly(Protocol):
    """A posterior that draws whole functions."""

    def sample(self, x: Array, n: int, rng: Rng) -> Array:
        """Return ``n`` joint draws [n, k] at rows ``x`` [k, d]."""
        ...


@runtime_checkable
class InvertsResponse(Protocol):
    """A posterior that can state its units in the units of the data: needed to believe a prediction."""

    def to_response(self, values: Array) -> Array:
        """Turn values in the units of ``predict`` into responses."""
        ...


@runtime_checkable
class Explains(Protocol):
    """A posterior that can say why."""

    def explain(self, x: Array) -> Explanation:
        """Explain the prediction at one row ``x`` [d]."""
        ...


class InitialDesign(Protocol):
    """Gives the first configurations, before any surrogate is used."""

    name: ClassVar[str]

    def propose(self, observed: TaskData, n: int, candidates: Candidates, *, rng: Rng) -> Array:
        """Return up to ``n`` rows [n, d], best first; the caller snaps them to the pool or decodes them."""
        ...
