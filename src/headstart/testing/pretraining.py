"""Checks of what a Surrogate learns from past tasks."""

from collections.abc import Callable
from typing import Any

import numpy as np

from headstart.arrays import Array
from headstart.data import Budget, MetaDataset
from headstart.errors import HeadstartError
from headstart.protocols import Surrogate
from headstart.testing.answers import generator, require_refusal, require_sound, scores
from headstart.testing.examples import objective, past_tasks, rows, task, with_responses
from headstart.testing.inspection import require, require_equal, require_same_settings, snapshot, title

PICKS = 12
"""Trials of the known-answer check."""
FIRST_PICK, BEST_PICK = 0.10, 0.05
"""How much worse than the best row a pick may be, as shares of the objective's range.

The first counts where nothing was observed (forty rows per past task do not place the optimum better), the best of all
picks always. One row in ten is as good as the first, one in twenty as the second; the wrong way costs nearly 1.
"""


def check_pretraining_returns_a_new_recipe(surrogate: Any) -> None:
    """``pretrain`` changes neither the recipe nor the past; what it returns is the same kind of thing."""
    past = past_tasks(2)
    before, past_before = snapshot(surrogate), snapshot(past)
    pretrained = surrogate.pretrain(past, rng=generator())
    require_same_settings(before, surrogate, "pretrain()")
    require(snapshot(past) == past_before, f"{title(surrogate)}: pretrain() changed the past tasks.")
    require(type(pretrained) is type(surrogate), f"{title(surrogate)}: pretrain() returned a {title(pretrained)}.")
    require(not surrogate.is_pretrained, f"{title(surrogate)}: is_pretrained before pretrain() was called.")
    require(pretrained.is_pretrained, f"{title(surrogate)}: not is_pretrained after six past tasks.")


def check_pretraining_follows_its_generator(surrogate: Any) -> None:
    """Two pre-trainings with equal generators agree to the last bit."""
    first, second = (surrogate.pretrain(past_tasks(2), rng=generator()) for _ in range(2))
    require(snapshot(first) == snapshot(second), f"{title(surrogate)}: two pre-trainings with equal generators differ.")
    x = rows(40, 2, 1)
    means = [each.fit(task(8, 2), rng=generator()).predict(x).mean for each in (first, second)]
    require_equal(means[0], means[1], f"{title(surrogate)}: equally pre-trained recipes predict differently.")


def check_pretraining_arguments(surrogate: Any) -> None:
    """A validation set, a budget of one step and a progress report are accepted; the report stays within its total."""
    reports: list[tuple[int, int, str]] = []

    def progress(done: int, total: int, message: str) -> None:
        reports.append((done, total, message))

    past = past_tasks(2)
    validation = MetaDataset(past.tasks[:2], columns=past.columns)
    quick = surrogate.pretrain(
        MetaDataset(past.tasks[2:], columns=past.columns),
        rng=generator(),
        validation=validation,
        budget=Budget(max_steps=1),
        progress=progress,
    )
    require_sound(quick, quick.fit(task(8, 2), rng=generator()), rows(20, 2, 1), "after one step of pre-training")
    for done, total, message in reports:
        require(0 <= done <= total and message, f"{title(surrogate)}: reported {done} of {total}: {message!r}.")


def check_unhelpful_past(surrogate: Any) -> None:
    """One past task suffices; empty, single and constant ones among others do no harm; alone they may be refused."""
    past = past_tasks(2)
    one = past.tasks[0]
    useless = (
        with_responses(rows(0, 2), np.empty(0), "empty"),
        with_responses(rows(1, 2), np.ones(1), "single"),
        with_responses(rows(8, 2), np.ones(8), "constant"),
    )
    for tasks, words in (((one,), "one past task"), ((*useless, *past.tasks), "useless tasks among the past")):
        pretrained = surrogate.pretrain(MetaDataset(tasks), rng=generator())
        require_sound(pretrained, pretrained.fit(task(8, 2), rng=generator()), rows(20, 2, 1), f"with {words}")
    try:
        pretrained = surrogate.pretrain(MetaDataset(useless), rng=generator())
    except HeadstartError:
        return
    require_sound(pretrained, pretrained.fit(task(8, 2), rng=generator()), rows(20, 2, 1), "with a useless past")


def check_other_columns_than_the_past(surrogate: Any) -> None:
    """A recipe pre-trained on three columns refuses observations of two."""
    pretrained = surrogate.pretrain(past_tasks(3), rng=generator())
    require_refusal(
        pretrained, "fit() on 2 columns after a past of 3", lambda: pretrained.fit(task(8, 2), rng=generator())
    )


def check_transfer(surrogate: Any) -> None:
    """Where past tasks share an optimum, the picks are near it; where the objective is negated, at the other end.

    A method that maximises the wrong way, in pre-training, fitting or scoring, fails in both directions.
    """
    for sign, words in ((1.0, "past tasks share an optimum"), (-1.0, "the past tasks' objective is negated")):
        pretrained = surrogate.pretrain(past_tasks(2, sign=sign), rng=generator())
        truth = sign * objective(_POOL)
        losses = _losses(pretrained, truth)
        if pretrained.minimum_observations == 0:
            require(
                losses[0] <= FIRST_PICK,
                f"{title(surrogate)}: {words}, and nothing is observed: the first pick is {losses[0]:.0%} of the range "
                f"below the best row, at most {FIRST_PICK:.0%} is expected. Larger is better.",
            )
        require(
            min(losses) <= BEST_PICK,
            f"{title(surrogate)}: {words}: the best of {PICKS} picks is {min(losses):.0%} of the range below the best "
            f"row, at most {BEST_PICK:.0%} is expected. Larger is better.",
        )


_POOL = rows(400, 2, 3000)


def _losses(pretrained: Surrogate, truth: Array) -> list[float]:
    """Return how far below the best row each pick is, as a share of the range; observed rows are not picked again."""
    middling = np.flatnonzero(truth < np.quantile(truth, 0.7))  # so that no answer is given away
    seen = list(middling[: pretrained.minimum_observations])
    rng = generator()
    losses: list[float] = []
    for _ in range(PICKS):
        posterior = pretrained.fit(with_responses(_POOL[seen], truth[seen]), rng=rng)
        found = scores(pretrained, posterior, _POOL, rng)
        found[seen] = -np.inf
        seen.append(int(np.argmax(found)))
        losses.append(float((truth.max() - truth[seen[-1]]) / np.ptp(truth)))
    return losses


CHECKS: tuple[Callable[[Any], None], ...] = (
    check_pretraining_returns_a_new_recipe,
    check_pretraining_follows_its_generator,
    check_pretraining_arguments,
    check_unhelpful_past,
    check_other_columns_than_the_past,
    check_transfer,
)
