"""Checks of an InitialDesign."""

import pickle
from collections.abc import Callable
from typing import Any, TypeAlias, cast

import numpy as np

from headstart.arrays import Array
from headstart.data import Candidates
from headstart.errors import NotFittedError
from headstart.protocols import InitialDesign, SupportsPretraining
from headstart.testing.answers import generator
from headstart.testing.examples import objective, past_tasks, rows, task
from headstart.testing.inspection import (
    require,
    require_equal,
    require_name,
    require_same_settings,
    require_storable,
    snapshot,
    title,
)

Check: TypeAlias = Callable[[Any], None]

FIRST_PROPOSAL = 0.10
"""How much worse than the best row the first proposal may be where past tasks share an optimum, as share of the range.

A design may propose what a past task of forty random rows liked best, so it cannot be nearer than these rows are.
"""


def initial_design_checks(design: InitialDesign) -> tuple[Check, ...]:
    """Return the checks that apply to ``design``: functions of one InitialDesign that raise AssertionError."""
    return ALWAYS + PRETRAINED if isinstance(design, SupportsPretraining) else ALWAYS


def check_initial_design(design: InitialDesign) -> None:
    """Run every check that applies.

    Raises:
        AssertionError: one fails; its message says what was expected.
    """
    for check in initial_design_checks(design):
        check(design)


def check_contract(design: Any) -> None:
    """The name is kebab-case, and who can pre-train can all that SupportsPretraining asks for."""
    require_name(design)
    complete = not hasattr(design, "pretrain") or isinstance(design, SupportsPretraining)
    require(complete, f"{title(design)}: has pretrain() but not all that SupportsPretraining asks for.")


def check_fields_can_be_stored(design: Any) -> None:
    """Recipe and pre-trained recipe are frozen dataclasses of storable types all the way down."""
    for recipe in _variants(design, 2):
        require_storable(recipe)


def check_rows(design: Any) -> None:
    """Proposals are finite rows [at most n, d] of the unit cube, whatever was observed; one of the Space at least."""
    for d in (1, 2, 6, 60):
        for recipe in _variants(design, d):
            for n in (1, 3, 8):
                for seen in (0, 4):
                    found = recipe.propose(task(seen, d), n, _space(d), rng=generator())
                    _require_rows(recipe, found, n, d)
                    require(len(found) >= 1, f"{title(recipe)}: proposed nothing of a whole Space.")


def check_number_respected(design: Any) -> None:
    """Never more than asked for: none for n = 0, and no more than the pool holds."""
    for recipe in _variants(design, 2):
        for n, size in ((0, 50), (1, 50), (8, 3), (8, 1)):
            found = recipe.propose(task(0, 2), n, _pool(size), rng=generator())
            _require_rows(recipe, found, min(n, size), 2)
        require(
            len(recipe.propose(task(0, 2), 0, _space(2), rng=generator())) == 0,
            f"{title(recipe)}: proposed rows though n = 0.",
        )


def check_pool(design: Any) -> None:
    """From a pool come rows that can be snapped to distinct rows of it, with nothing and with something observed."""
    pool = _pool(40)
    for recipe in _variants(design, 2):
        for seen in (0, 4):
            found = recipe.propose(task(seen, 2), 5, pool, rng=generator())
            _require_rows(recipe, found, 5, 2)
            require(len(found) >= 1, f"{title(recipe)}: proposed nothing of a pool of 40 rows.")


def check_proposals_are_distinct(design: Any) -> None:
    """No row is proposed twice in one go."""
    for recipe in _variants(design, 2):
        for candidates in (_space(2), _pool(40), _pool(6)):
            found = recipe.propose(task(0, 2), 6, candidates, rng=generator())
            distinct = len(np.unique(found, axis=0)) if len(found) else 0
            require(distinct == len(found), f"{title(recipe)}: {len(found)} proposals, only {distinct} distinct ones.")


def check_settings_unchanged_by_propose(design: Any) -> None:
    """Neither the recipe nor what it is given change."""
    for recipe in _variants(design, 2):
        data, candidates = task(4, 2), _pool(40)
        before, given = snapshot(recipe), snapshot((data, candidates))
        recipe.propose(data, 3, candidates, rng=generator())
        require_same_settings(before, recipe, "propose()")
        require(snapshot((data, candidates)) == given, f"{title(recipe)}: propose() changed what it was given.")


def check_same_generator_same_answer(design: Any) -> None:
    """All randomness comes from ``rng``."""
    for recipe in _variants(design, 2):
        for candidates in (_space(2), _pool(40)):
            first, second = (recipe.propose(task(3, 2), 5, candidates, rng=generator()) for _ in range(2))
            require_equal(first, second, f"{title(recipe)}: two proposals with equal generators differ.")


def check_pickling(design: Any) -> None:
    """Recipe and pre-trained recipe come back from pickle unchanged."""
    for recipe in _variants(design, 2):
        again = pickle.loads(pickle.dumps(recipe))
        require(snapshot(again) == snapshot(recipe), f"{title(recipe)}: pickling changed the recipe.")
        proposals = [each.propose(task(0, 2), 3, _pool(40), rng=generator()) for each in (recipe, again)]
        require_equal(proposals[0], proposals[1], f"{title(recipe)}: after pickling it proposes something else.")


def check_pretraining_returns_a_new_recipe(design: Any) -> None:
    """``pretrain`` changes neither the recipe nor the past; equal generators give equal results."""
    past = past_tasks(2)
    before, past_before = snapshot(design), snapshot(past)
    first, second = (design.pretrain(past, rng=generator()) for _ in range(2))
    require_same_settings(before, design, "pretrain()")
    require(snapshot(past) == past_before, f"{title(design)}: pretrain() changed the past tasks.")
    require(type(first) is type(design), f"{title(design)}: pretrain() returned a {title(first)}.")
    require(not design.is_pretrained, f"{title(design)}: is_pretrained before pretrain() was called.")
    require(first.is_pretrained, f"{title(design)}: not is_pretrained after six past tasks.")
    require(snapshot(first) == snapshot(second), f"{title(design)}: pre-trainings with equal generators differ.")


def check_transfer(design: Any) -> None:
    """Where past tasks share an optimum, the first proposal is near it; where they are negated, at the other end."""
    for sign, words in ((1.0, "past tasks share an optimum"), (-1.0, "the past tasks' objective is negated")):
        pretrained = design.pretrain(past_tasks(2, sign=sign), rng=generator())
        for candidates in (_space(2), _pool(400)):
            found = pretrained.propose(task(0, 2), 1, candidates, rng=generator())
            require(len(found) == 1, f"{title(design)}: {words}: proposed {len(found)} rows, asked for one.")
            truth = sign * objective(candidates.x)
            loss = float((truth.max() - sign * objective(found)[0]) / np.ptp(truth))
            require(
                loss <= FIRST_PROPOSAL,
                f"{title(design)}: {words}: the first proposal is {loss:.0%} of the range below the best row, at most "
                f"{FIRST_PROPOSAL:.0%} is expected. Larger is better.",
            )


def _variants(design: Any, d: int) -> list[Any]:
    """Return the design and, where it can learn, the pre-trained one; the former only if it works alone."""
    if not isinstance(design, SupportsPretraining):
        return [design]
    pretrained = design.pretrain(past_tasks(d), rng=generator())
    try:
        alone: Array = cast(InitialDesign, design).propose(task(0, d), 1, _space(d), rng=generator())
    except NotFittedError:
        return [pretrained]
    return [design, pretrained] if len(alone) else [pretrained]


def _space(d: int) -> Candidates:
    return Candidates(rows(64, d, 5), is_pool=False)


def _pool(n: int) -> Candidates:
    return Candidates(rows(n, 2, 6), is_pool=True)


def _require_rows(design: object, found: Array, n: int, d: int) -> None:
    require(isinstance(found, np.ndarray), f"{title(design)}: propose() must return an array.")  # pyright: ignore[reportUnnecessaryIsInstance]
    require(found.ndim == 2 and found.shape[1] == d, f"{title(design)}: proposals must be [n, {d}], got {found.shape}.")
    require(len(found) <= n, f"{title(design)}: {len(found)} proposals where at most {n} were possible.")
    inside = bool(np.isfinite(found).all() and (found >= 0.0).all() and (found <= 1.0).all())
    require(inside, f"{title(design)}: proposals leave the unit cube or are not finite.")


ALWAYS: tuple[Check, ...] = (
    check_contract,
    check_fields_can_be_stored,
    check_rows,
    check_number_respected,
    check_pool,
    check_proposals_are_distinct,
    check_settings_unchanged_by_propose,
    check_same_generator_same_answer,
    check_pickling,
)
PRETRAINED: tuple[Check, ...] = (check_pretraining_returns_a_new_recipe, check_transfer)
