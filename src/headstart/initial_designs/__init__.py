"""The first configurations, before any surrogate is used: one file each. ``__all__`` is the only list of them."""

from headstart.initial_designs.average_best import AverageBest
from headstart.initial_designs.greedy_portfolio import GreedyPortfolio
from headstart.initial_designs.sobol import Sobol
from headstart.initial_designs.uniform import Uniform
from headstart.naming import class_named
from headstart.protocols import InitialDesign

__all__ = ["AverageBest", "GreedyPortfolio", "Sobol", "Uniform"]


def initial_design_named(name: str) -> type[InitialDesign]:
    """Return the class whose ``name`` is ``name``, for example ``GreedyPortfolio`` for "portfolio".

    Raises:
        SettingsError: there is none.
    """
    classes: list[type[InitialDesign]] = [globals()[listed] for listed in __all__]
    return class_named("initial design", name, classes)
