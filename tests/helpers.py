"""What several test modules share."""

import headstart.surrogates
from headstart.protocols import Surrogate
from headstart.surrogates import TAFR, TSTM, TSTR, GaussianProcess, PriorGP, RandomForest

QUICK: dict[str, Surrogate] = {
    "PriorGP": PriorGP(trees=10, gate=GaussianProcess(restarts=0)),
    "RandomForest": RandomForest(trees=10),
    "TAFR": TAFR(bandwidth=0.1),
    "TSTR": TSTR(bandwidth=0.1),
    # its weights never look at the observations, so six past tasks that are all alike outweigh them for good; but one
    # check asks that thirty observations win against a past that misleads. Only the nearest past task counts here.
    "TSTM": TSTM(bandwidth=0.3),
}
"""Settings that make a method quick, or fit for the checks, where its defaults are not; everything else is tested as
users get it."""


def every_surrogate() -> list[Surrogate]:
    """Return one recipe of each listed class, quick ones where the defaults are slow."""
    classes = headstart.surrogates.__all__
    return [QUICK[listed] if listed in QUICK else getattr(headstart.surrogates, listed)() for listed in classes]
