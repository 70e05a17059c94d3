"""The methods: one file each. ``__all__`` is the only list of them."""

from headstart.errors import SettingsError
from headstart.protocols import Surrogate
from headstart.space.values import shown
from headstart.surrogates.gaussian_process import GaussianProcess
from headstart.surrogates.gaussian_process_se import GaussianProcessSE
from headstart.surrogates.prior_gp import PriorGP
from headstart.surrogates.random import Random
from headstart.surrogates.random_forest import RandomForest

__all__ = ["GaussianProcess", "GaussianProcessSE", "PriorGP", "Random", "RandomForest"]


def surrogate_named(name: str) -> type[Surrogate]:
    """Return the class whose ``name`` is ``name``, for example ``GaussianProcess`` for "gp".

    Raises:
        SettingsError: there is none.
    """
    from difflib import get_close_matches  # only for the message

    classes: dict[str, type[Surrogate]] = {globals()[listed].name: globals()[listed] for listed in __all__}
    if name in classes:
        return classes[name]
    close = get_close_matches(str(name), classes, n=3)
    hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
    raise SettingsError(
        f"There is no surrogate named {shown(name)}.{hint} The names are {', '.join(map(repr, classes))}."
    )
