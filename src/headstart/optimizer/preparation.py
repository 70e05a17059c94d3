"""What is decided once per Optimizer: the surrogate, learned from the past, the initial design and the domain."""

import logging
from dataclasses import dataclass, replace
from typing import TypeVar, cast

from headstart import initial_designs, surrogates
from headstart.arrays import Array, Rng
from headstart.data import MetaDataset
from headstart.encoding import Columns, Encoding
from headstart.errors import DataError
from headstart.optimizer.suggestion import REFERENCE_ROWS, PoolDomain, Setup, SpaceDomain, reference_of
from headstart.protocols import Acquisition, InitialDesign, SupportsFeatures, SupportsPretraining, Surrogate
from headstart.search import Reference

logger = logging.getLogger(__name__)

DESIGN_TRIALS = 5
"""How many observations a design that somebody chose gives, even where the surrogate needs none."""

TRIALS_PER_CHOICE, MOST_DESIGN_TRIALS = 3, 12
"""A design goes on until every choice of a parameter had three trials on average, or for twelve trials."""

T = TypeVar("T", Surrogate, InitialDesign)


@dataclass(frozen=True)
class Choices:
    """What the user chose."""

    method: str | Surrogate
    initial_design: str | InitialDesign
    initial_trials: int | None
    acquisition: Acquisition | None
    bounds: tuple[float, float] | None
    """Larger is better."""
    metafeatures: Array | None = None
    """Descriptors of the task."""


def prepared(
    choices: Choices, past: MetaDataset | None, *, encoding: Encoding | None, pool: PoolDomain | None, rng: Rng
) -> Setup:
    """Return what decides every suggestion.

    Args:
        choices: The user's.
        past: Past tasks; those that say nothing are left out.
        encoding: Of the Space; only a pool of rows has none.
        pool: The only configurations that may be asked, if any.
        rng: For whatever is learned or drawn.
    """
    columns = pool.columns if pool is not None else cast("Encoding", encoding).columns
    past = useful(past, columns)
    reference = None if pool is not None else reference_of(cast("Encoding", encoding), past, rng=rng)
    if past is not None and past.reference is None:
        rows = pool.x if pool is not None else cast("Reference", reference).x[:REFERENCE_ROWS]
        past = MetaDataset(past.tasks, past.columns, rows)
    method = automatic(past) if choices.method == "auto" else choices.method
    recipe = surrogates.surrogate_named(method)() if isinstance(method, str) else method
    surrogate = _learned(recipe, past, rng)
    design = choices.initial_design
    is_chosen = design != "auto"
    if design == "auto":
        design = "uniform" if isinstance(surrogate, surrogates.Random) else "sobol"
    design = initial_designs.initial_design_named(design)() if isinstance(design, str) else design
    initial_trials = choices.initial_trials
    if initial_trials is None:
        initial_trials = max(surrogate.minimum_observations, DESIGN_TRIALS if is_chosen else 0)
        if initial_trials > 0:
            initial_trials = max(initial_trials, _trials_for_choices(columns))
    knows = surrogate if isinstance(surrogate, SupportsFeatures) else None
    if pool is not None:
        domain = replace(pool, features=knows.features(pool.x) if knows else None)
    else:
        known = cast("Reference", reference)
        known = replace(known, features=knows.features(known.x) if knows else None)
        domain = SpaceDomain(cast("Encoding", encoding), known)
    logger.info("%s, %d past tasks", surrogate.name, 0 if past is None else len(past))
    acquisition = choices.acquisition if choices.acquisition is not None else surrogate.acquisition
    design = _learned(design, past, rng)
    return Setup(surrogate, acquisition, design, initial_trials, domain, choices.bounds, choices.metafeatures)


def _learned(recipe: T, past: MetaDataset | None, rng: Rng) -> T:
    """Return ``recipe`` with what it learns from the past, where it can and has not yet."""
    if past is None or not isinstance(recipe, SupportsPretraining) or recipe.is_pretrained:
        return recipe
    return cast("T", recipe.pretrain(past, rng=rng))


def _trials_for_choices(columns: Columns) -> int:
    """Return how many trials it takes to see every choice of the largest parameter a few times.

    A model that has seen a choice fail once or twice, with other values that were bad, may leave it alone for good.
    """
    groups = [group for group, kind in zip(columns.groups, columns.kinds, strict=True) if kind == "one-hot"]
    choices = max((groups.count(group) for group in set(groups)), default=0)
    return min(TRIALS_PER_CHOICE * choices, MOST_DESIGN_TRIALS)


def automatic(past: MetaDataset | None) -> str:
    """Return the name of the method that "auto" stands for, given the past tasks that are useful."""
    return "gp" if past is None else "prior-gp"


def useful(past: MetaDataset | None, columns: Columns) -> MetaDataset | None:
    """Return the past tasks that have at least two values that differ; None without any.

    Raises:
        DataError: They are of another Space.
    """
    if past is None:
        return None
    if past.columns is not None and len(past.columns) != len(columns):
        raise DataError(
            f"Optimizer: the past tasks have {len(past.columns)} columns, this task has {len(columns)}. "
            "Encode them with the Space of this task."
        )
    return MetaDataset(past.informative, columns, past.reference) if past.informative else None
