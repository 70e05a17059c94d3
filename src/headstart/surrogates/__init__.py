"""The methods: one file each. ``__all__`` is the only list of them."""

from headstart.naming import class_named
from headstart.protocols import Surrogate
from headstart.surrogates.gaussian_process import GaussianProcess
from headstart.surrogates.gaussian_process_se import GaussianProcessSE
from headstart.surrogates.prior_gp import PriorGP
from headstart.surrogates.random import Random
from headstart.surrogates.random_forest import RandomForest
from headstart.surrogates.rgpe import RGPE
from headstart.surrogates.scaml_gp import ScaMLGP
from headstart.surrogates.taf_r import TAFR
from headstart.surrogates.tst_m import TSTM
from headstart.surrogates.tst_r import TSTR

__all__ = [
    "RGPE",
    "TAFR",
    "TSTM",
    "TSTR",
    "GaussianProcess",
    "GaussianProcessSE",
    "PriorGP",
    "Random",
    "RandomForest",
    "ScaMLGP",
]


def surrogate_named(name: str) -> type[Surrogate]:
    """Return the class whose ``name`` is ``name``, for example ``GaussianProcess`` for "gp".

    Raises:
        SettingsError: there is none.
    """
    classes: list[type[Surrogate]] = [globals()[listed] for listed in __all__]
    return class_named("surrogate", name, classes)
