"""The first configurations, before any surrogate is used: one file each. ``__all__`` is the only list of them."""

from headstart.errors import SettingsError
from headstart.initial_designs.greedy_portfolio import GreedyPortfolio
from headstart.initial_designs.sobol import Sobol
from headstart.initial_designs.uniform import Uniform
from headstart.protocols import InitialDesign
from headstart.space.values import shown

__all__ = ["GreedyPortfolio", "Sobol", "Uniform"]


def initial_design_named(name: str) -> type[InitialDesign]:
    """Return the class whose ``name`` is ``name``, for example ``GreedyPortfolio`` for "portfolio".

    Raises:
        SettingsError: there is none.
    """
    from difflib import get_close_matches  # only for the message

    classes: dict[str, type[InitialDesign]] = {globals()[listed].name: globals()[listed] for listed in __all__}
    if name in classes:
        return classes[name]
    close = get_close_matches(str(name), classes, n=3)
    hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
    raise SettingsError(
        f"There is no initial design named {shown(name)}.{hint} The names are {', '.join(map(repr, classes))}."
    )
