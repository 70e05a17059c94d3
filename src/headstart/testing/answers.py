"""How the checks use a Surrogate as the Optimizer would, and what every answer must be."""

from collections.abc import Callable
from typing import Any

import numpy as np

from headstart.acquisition import ThompsonSampling
from headstart.arrays import Array, Rng
from headstart.data import MetaDataset, Prediction
from headstart.errors import HeadstartError, NotFittedError
from headstart.protocols import Posterior, ScoresItself, SupportsPretraining, Surrogate
from headstart.testing.examples import past_tasks, task
from headstart.testing.inspection import require, title


def generator(seed: int = 7) -> Rng:
    """Return a generator in a known state."""
    return np.random.default_rng(seed)


def variants(surrogate: Surrogate, d: int, past: MetaDataset | None = None) -> list[Surrogate]:
    """Return the recipe and, where it can learn from past tasks, the one pre-trained on ``past``.

    A recipe that refuses to fit before it was pre-trained (NotFittedError) counts only afterwards.
    """
    if not isinstance(surrogate, SupportsPretraining):
        return [surrogate]
    pretrained = surrogate.pretrain(past or past_tasks(d), rng=generator())
    try:
        surrogate.fit(task(3, d), rng=generator())
    except NotFittedError:
        return [pretrained]
    return [surrogate, pretrained]


def scores(recipe: Surrogate, posterior: Posterior, x: Array, rng: Rng) -> Array:
    """Return [k]: what the search would maximise."""
    if isinstance(posterior, ScoresItself):
        return posterior.score(x, rng=rng)
    if isinstance(recipe.acquisition, ThompsonSampling):
        return recipe.acquisition.draw(posterior.predict(x), rng=rng)
    return recipe.acquisition(posterior.predict(x), posterior.incumbent)


def require_sound(recipe: Surrogate, posterior: Posterior, x: Array, where: str) -> None:
    """Require finite means, deviations >= 0 and finite scores, one per row of ``x``."""
    prediction: Any = posterior.predict(x)
    what = f"{title(recipe)} {where}:"
    require(isinstance(prediction, Prediction), f"{what} predict() must return a Prediction.")
    for part in ("mean", "std"):
        values = getattr(prediction, part)
        require(isinstance(values, np.ndarray), f"{what} the {part} must be an array.")
        require(values.shape == (len(x),), f"{what} the {part} has shape {values.shape} for {len(x)} rows.")
        require(values.dtype == np.float64, f"{what} the {part} is {values.dtype}, must be float64.")
        require(bool(np.isfinite(values).all()), f"{what} the {part} is not finite everywhere.")
    require(bool((prediction.std >= 0.0).all()), f"{what} the deviation is negative somewhere.")
    require(np.isfinite(prediction.noise) and prediction.noise >= 0.0, f"{what} the noise is {prediction.noise}.")
    require(not np.isnan(posterior.incumbent) and posterior.incumbent < np.inf, f"{what} bad incumbent.")
    if len(x):
        found = scores(recipe, posterior, x, generator())
        require(found.shape == (len(x),), f"{what} the scores have shape {found.shape} for {len(x)} rows.")
        require(bool(np.isfinite(found).all()), f"{what} the scores are not finite everywhere.")


def require_refusal(recipe: object, what: str, action: Callable[[], object]) -> None:
    """Require that ``action`` raises a HeadstartError."""
    try:
        action()
    except HeadstartError:
        return
    except Exception as error:
        message = f"{title(recipe)}: {what} must raise a HeadstartError, raised {title(error)}: {error}"
        raise AssertionError(message) from error
    raise AssertionError(f"{title(recipe)}: {what} must raise a HeadstartError, was accepted.")
