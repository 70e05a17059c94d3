"""Checks of a Surrogate and of the posteriors it gives; those about past tasks are in ``pretraining``."""

import pickle
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias, cast

import numpy as np

import headstart.surrogates
from headstart.data import TaskData
from headstart.protocols import (
    Explains,
    InvertsResponse,
    ScoresItself,
    SupportsFeatures,
    SupportsPretraining,
    Surrogate,
)
from headstart.testing import pretraining
from headstart.testing.answers import generator, require_refusal, require_sound, scores, variants
from headstart.testing.examples import columns_of, objective, past_tasks, rows, task, with_responses
from headstart.testing.inspection import (
    require,
    require_close,
    require_equal,
    require_name,
    require_same_settings,
    require_storable,
    snapshot,
    title,
)

Check: TypeAlias = Callable[[Any], None]

ROW_ORDER_TOLERANCE = 1e-3
"""How far a prediction may move, in deviations of all predictions, when the observations come in another order.

Sums round differently, and an optimiser may then stop a little elsewhere. Methods that sort first move by nothing.
"""


def surrogate_checks(surrogate: Surrogate) -> tuple[Check, ...]:
    """Return the checks that apply to ``surrogate``: functions of one Surrogate that raise AssertionError."""
    checks = ALWAYS
    if isinstance(surrogate, SupportsFeatures):
        checks += (check_features_handed_in,)
    if isinstance(surrogate, SupportsPretraining):
        checks += pretraining.CHECKS
    return checks


def check_surrogate(surrogate: Surrogate) -> None:
    """Run every check that applies.

    Raises:
        AssertionError: one fails; its message says what was expected.
    """
    for check in surrogate_checks(surrogate):
        check(surrogate)


def check_name(surrogate: Surrogate) -> None:
    """The name is kebab-case and nobody else's in headstart."""
    require_name(surrogate)
    for listed in headstart.surrogates.__all__:
        other = getattr(headstart.surrogates, listed)
        taken = other is not type(surrogate) and other.name == surrogate.name
        require(not taken, f"{title(surrogate)}: the name {surrogate.name!r} belongs to {listed} already.")


def check_fields_can_be_stored(surrogate: Surrogate) -> None:
    """Recipe and pre-trained recipe are frozen dataclasses of storable types all the way down."""
    for recipe in variants(surrogate, 2):
        require_storable(recipe)


def check_contract(surrogate: Surrogate) -> None:
    """Attributes, shapes and types are those of the protocols; a Prediction has one entry per row."""
    for recipe in variants(surrogate, 3):
        least = recipe.minimum_observations
        require(type(least) is int and least >= 0, f"{title(recipe)}: minimum_observations is {least!r}.")
        require(callable(recipe.acquisition), f"{title(recipe)}: acquisition must be callable.")
        complete = not hasattr(recipe, "pretrain") or isinstance(recipe, SupportsPretraining)
        require(complete, f"{title(recipe)}: has pretrain() but not all that SupportsPretraining asks for.")
        posterior = recipe.fit(task(12, 3), rng=generator())
        for attribute in ("incumbent", "predict"):
            require(hasattr(posterior, attribute), f"{title(recipe)}: what fit() returns has no {attribute}.")
        require(np.ndim(posterior.incumbent) == 0, f"{title(recipe)}: incumbent must be one number.")
        for k in (0, 1, 50):
            require_sound(recipe, posterior, rows(k, 3, 1), f"at {k} rows")
        if isinstance(posterior, Explains):
            explanation = posterior.explain(rows(1, 3, 1)[0])
            weights = [weight for _, weight in explanation.weights]
            require(explanation.summary.strip(), f"{title(recipe)}: explain() has an empty summary.")
            require(weights == sorted(weights, reverse=True), f"{title(recipe)}: explain() weights: largest first.")


def check_settings_unchanged_by_fit(surrogate: Surrogate) -> None:
    """Neither the recipe nor the data change while fitting, predicting and scoring; nor does the posterior."""
    for recipe in variants(surrogate, 2):
        data = task(12, 2)
        before, data_before = snapshot(recipe), snapshot(data)
        posterior = recipe.fit(data, rng=generator())
        require_same_settings(before, recipe, "fit()")
        posterior_before = snapshot(posterior)
        scores(recipe, posterior, rows(20, 2, 1), generator())
        require_same_settings(before, recipe, "predict() or score()")
        require_same_settings(posterior_before, posterior, "predict() or score()")
        require(snapshot(data) == data_before, f"{title(recipe)}: fit() changed the TaskData it was given.")


def check_same_generator_same_answer(surrogate: Surrogate) -> None:
    """All randomness comes from ``rng``: two fits with equal generators agree to the last bit."""
    x = rows(40, 2, 1)
    for recipe in variants(surrogate, 2):
        first, second = (recipe.fit(task(12, 2), rng=generator()) for _ in range(2))
        message = f"{title(recipe)}: two fits with equal generators differ in their"
        a, b = first.predict(x), second.predict(x)
        require_equal(a.mean, b.mean, f"{message} mean.")
        require_equal(a.std, b.std, f"{message} deviation.")
        require_equal(
            scores(recipe, first, x, generator()), scores(recipe, second, x, generator()), f"{message} scores."
        )


def check_few_observations(surrogate: Surrogate) -> None:
    """Nothing, one or two observations still give finite answers; without any the incumbent is minus infinity."""
    for recipe in variants(surrogate, 3):
        for n in (0, 1, 2):
            posterior = recipe.fit(task(n, 3), rng=generator())
            require_sound(recipe, posterior, rows(30, 3, 1), f"after {n} observations")
        nothing = recipe.fit(task(0, 3), rng=generator())
        require(
            nothing.incumbent == -np.inf,
            f"{title(recipe)}: without observations incumbent must be minus infinity, got {nothing.incumbent}.",
        )


def check_constant_responses(surrogate: Surrogate) -> None:
    """Equal responses, whatever their value, are no error."""
    x = rows(9, 3)
    for recipe in variants(surrogate, 3):
        for value in (0.0, 1.0, 0.1 * 3, -1e-12, 1e9, -1e30):
            posterior = recipe.fit(with_responses(x, np.full(9, value)), rng=generator())
            require_sound(recipe, posterior, rows(30, 3, 1), f"where every response is {value:g}")


def check_duplicate_rows(surrogate: Surrogate) -> None:
    """The same row several times, with equal or different responses, is no error; nor are only such rows."""
    x = rows(5, 3)
    y = objective(x)
    cases = {
        "every row three times": (np.tile(x, (3, 1)), np.tile(y, 3)),
        "one row with different responses": (np.concatenate([x, x]), np.concatenate([y, y + 0.3])),
        "a single row ten times": (np.tile(x[:1], (10, 1)), np.linspace(0.0, 1.0, 10)),
    }
    for recipe in variants(surrogate, 3):
        for words, (rows_, responses) in cases.items():
            posterior = recipe.fit(with_responses(rows_, responses), rng=generator())
            require_sound(recipe, posterior, np.concatenate([x, rows(30, 3, 1)]), f"given {words}")


def check_columns(surrogate: Surrogate) -> None:
    """One to sixty columns, among them one-hot and indicator ones, and columns that never vary."""
    for d in (1, 2, 6, 17, 60):
        for recipe in variants(surrogate, d):
            posterior = recipe.fit(task(12, d), rng=generator())
            require_sound(recipe, posterior, rows(30, d, 1), f"with {d} columns")
    x = rows(12, 3)
    x[:, 1] = 0.5
    for recipe in variants(surrogate, 3):
        posterior = recipe.fit(with_responses(x, objective(x)), rng=generator())
        require_sound(recipe, posterior, rows(30, 3, 1), "with a column that never varied")


def check_extreme_responses(surrogate: Surrogate) -> None:
    """Outliers on either side, tiny and huge units, huge offsets, and known bounds give finite answers."""
    x = rows(12, 3)
    y = objective(x)
    one = np.arange(12) == 4
    cases = {
        "with one response of -1e30": (np.where(one, -1e30, y), None),
        "with one response of 1e30": (np.where(one, 1e30, y), None),
        "with responses of either sign near 1e30": (1e30 * (y - y.mean()), None),
        "with responses of 1e-12": (1e-12 * y, None),
        "with an offset of 1e9": (1e9 + 1e-3 * y, None),
        "with an offset of -1e15": (-1e15 + y, None),
        "with known bounds": (y, (-1.1, 1.1)),
        "with far bounds": (y, (-1e6, 1e6)),
    }
    for recipe in variants(surrogate, 3):
        for words, (responses, bounds) in cases.items():
            data = TaskData(x, responses, columns=columns_of(3), bounds=bounds, metafeatures=np.array([0.5, 0.1, 0.9]))
            require_sound(recipe, recipe.fit(data, rng=generator()), rows(30, 3, 1), words)


def check_row_order(surrogate: Surrogate, *, tolerance: float = ROW_ORDER_TOLERANCE) -> None:
    """The order of the observations does not matter, up to ``tolerance`` deviations of all predictions."""
    data = task(25, 2)
    order = np.random.default_rng(3).permutation(25)
    shuffled = with_responses(data.x[order], data.y[order])
    x = rows(40, 2, 1)
    for recipe in variants(surrogate, 2):
        a = recipe.fit(data, rng=generator()).predict(x)
        b = recipe.fit(shuffled, rng=generator()).predict(x)
        unit = tolerance * float(a.mean.std() + a.std.max())
        message = f"{title(recipe)}: another order of the observations moves the"
        require_close(a.mean, b.mean, unit, f"{message} mean.")
        require_close(a.std, b.std, unit, f"{message} deviation.")


def check_rows_are_predicted_alone(surrogate: Surrogate) -> None:
    """A row's prediction does not depend on which other rows are asked with it, nor on how many."""
    x = rows(5000, 2, 1)
    some = np.array([4999, 0, 1, 2047, 2048, 4095, 4096])
    for recipe in variants(surrogate, 2):
        posterior = recipe.fit(task(12, 2), rng=generator())
        together, alone = posterior.predict(x), posterior.predict(x[some])
        unit = 1e-7 * float(together.mean.std() + together.std.max())
        message = f"{title(recipe)}: a row asked among 5000 others gets another"
        require_close(together.mean[some], alone.mean, unit, f"{message} mean.")
        # near an observation a deviation is the root of a difference, so half of its digits are rounding
        require_close(together.std[some], alone.std, 100 * unit, f"{message} deviation.")


def check_pickling(surrogate: Surrogate) -> None:
    """Recipe, pre-trained recipe and posterior come back from pickle unchanged: worker processes need it."""
    x = rows(40, 2, 1)
    for recipe in variants(surrogate, 2):
        again = pickle.loads(pickle.dumps(recipe))
        require(snapshot(again) == snapshot(recipe), f"{title(recipe)}: pickling changed the recipe.")
        posterior = recipe.fit(task(12, 2), rng=generator())
        copy = pickle.loads(pickle.dumps(posterior))
        message = f"{title(recipe)}: pickling the posterior changed its"
        require_equal(posterior.predict(x).mean, copy.predict(x).mean, f"{message} mean.")
        require_equal(posterior.predict(x).std, copy.predict(x).std, f"{message} deviation.")
        require(posterior.incumbent == copy.incumbent, f"{message} incumbent.")


def check_wrong_columns(surrogate: Surrogate) -> None:
    """Rows of another Space are refused by a HeadstartError, never by an answer."""
    for recipe in variants(surrogate, 3):
        for n in (0, 12):
            posterior = recipe.fit(task(n, 3), rng=generator())
            for x in (rows(5, 2), rows(5, 4), rows(5, 3)[0]):
                require_refusal(recipe, f"predict() at shape {x.shape} after 3 columns", partial(posterior.predict, x))


def check_incumbent(surrogate: Surrogate) -> None:
    """The incumbent is the best response in the units of ``predict``, and ``to_response`` keeps the order."""
    data = task(15, 2)
    best = int(np.argmax(data.y))
    for offset, unit in ((0.0, 1.0), (1e3, 50.0)):
        y = offset + unit * data.y
        for recipe in variants(surrogate, 2):
            posterior = recipe.fit(with_responses(data.x, y), rng=generator())
            if isinstance(posterior, InvertsResponse):
                back = float(posterior.to_response(np.array([posterior.incumbent]))[0])
                require(
                    abs(back - y[best]) <= 1e-6 * unit,
                    f"{title(recipe)}: to_response(incumbent) is {back:g}, the best response is {y[best]:g}. State the "
                    "incumbent in the units of predict().",
                )
                spread = abs(posterior.incumbent) + 1.0
                ladder = posterior.to_response(posterior.incumbent + spread * np.linspace(-3.0, 3.0, 61))
                require(bool((np.diff(ladder) >= 0.0).all()), f"{title(recipe)}: to_response() reverses the order.")
            elif not isinstance(posterior, ScoresItself):
                prediction = posterior.predict(data.x[best : best + 1])
                distance = abs(posterior.incumbent - float(prediction.mean[0]))
                require(
                    distance <= 6.0 * float(prediction.noisy_std[0]) + 1e-6 * abs(posterior.incumbent),
                    f"{title(recipe)}: the incumbent {posterior.incumbent:g} is far from what predict() says of the "
                    f"best observation, {float(prediction.mean[0]):g}. State it in the units of predict().",
                )


def check_larger_is_better(surrogate: Surrogate) -> None:
    """Good rows are not predicted below bad ones, whichever end of the objective is the good one."""
    x = rows(200, 2, 1)
    for recipe in variants(surrogate, 2):
        for sign in (1.0, -1.0):
            mean = recipe.fit(task(30, 2, sign=sign), rng=generator()).predict(x).mean
            order = np.argsort(sign * objective(x))
            worst, best = float(mean[order[:20]].mean()), float(mean[order[-20:]].mean())
            require(
                best >= worst,
                f"{title(recipe)}: predicts {best:g} for the best rows and {worst:g} for the worst. Larger is better.",
            )


def check_thread_limits_restored(surrogate: Surrogate) -> None:
    """Whoever limits the threads of BLAS or OpenMP sets them back."""
    from threadpoolctl import threadpool_info, threadpool_limits  # pyright: ignore[reportMissingTypeStubs]

    def threads() -> dict[str, int]:
        libraries = cast(list[dict[str, Any]], threadpool_info())
        return {str(library["filepath"]): int(library["num_threads"]) for library in libraries}

    with threadpool_limits(limits=2):  # a limit of 1 left behind shows even where the machine has one core
        before = threads()
        for recipe in variants(surrogate, 2, past_tasks(2, tasks=2, n=10)):
            posterior = recipe.fit(task(6, 2), rng=generator())
            scores(recipe, posterior, rows(10, 2, 1), generator())
        after = threads()
    changed = [path for path, count in before.items() if after.get(path, count) != count]
    require(not changed, f"{title(surrogate)}: left other thread limits than it found in {', '.join(changed)}.")


def check_features_handed_in(surrogate: Surrogate) -> None:
    """Features that the caller computed once give the same posterior and the same answers as those computed inside."""
    x, data = rows(40, 2, 1), task(12, 2)
    for recipe in variants(surrogate, 2):
        if not isinstance(recipe, SupportsFeatures):
            continue
        own, there = recipe.features(data.x), recipe.features(x)
        require(own.ndim == 2 and len(own) == 12, f"{title(recipe)}: features() must be [n, p], got {own.shape}.")
        require(bool(np.isfinite(own).all()), f"{title(recipe)}: features() are not finite.")
        given = TaskData(data.x, data.y, columns=data.columns, metafeatures=data.metafeatures, features=own)
        a, b = (recipe.fit(each, rng=generator()) for each in (data, given))
        unit = 1e-9 * float(a.predict(x).mean.std() + a.predict(x).std.max())
        message = f"{title(recipe)}: features handed in change the"
        require_close(a.predict(x).mean, b.predict(x, features=there).mean, unit, f"{message} mean.")
        require_close(a.predict(x).std, b.predict(x, features=there).std, 100 * unit, f"{message} deviation.")
        if isinstance(a, ScoresItself) and isinstance(b, ScoresItself):
            inside, outside = a.score(x, rng=generator()), b.score(x, features=there, rng=generator())
            require_close(inside, outside, 1e-6 * (1.0 + float(np.abs(inside).max())), f"{message} scores.")


ALWAYS: tuple[Check, ...] = (
    check_name,
    check_fields_can_be_stored,
    check_contract,
    check_settings_unchanged_by_fit,
    check_same_generator_same_answer,
    check_few_observations,
    check_constant_responses,
    check_duplicate_rows,
    check_columns,
    check_extreme_responses,
    check_row_order,
    check_rows_are_predicted_alone,
    check_pickling,
    check_wrong_columns,
    check_incumbent,
    check_larger_is_better,
    check_thread_limits_restored,
)
