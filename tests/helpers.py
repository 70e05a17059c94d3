"""What several test modules share."""

import headstart.surrogates
from headstart.protocols import Surrogate
from headstart.surrogates import GaussianProcess, PriorGP, RandomForest

QUICK: dict[str, Surrogate] = {
    "PriorGP": PriorGP(trees=10, gate=GaussianProcess(restarts=0)),
    "RandomForest": RandomForest(trees=10),
}
"""Settings that make a method quick where its defaults are not; everything else is tested as users get it."""


def every_surrogate() -> list[Surrogate]:
    """Return one recipe of each listed class, quick ones where the defaults are slow."""
    classes = headstart.surrogates.__all__
    return [QUICK[listed] if listed in QUICK else getattr(headstart.surrogates, listed)() for listed in classes]
