"""Recipes: each makes a published figure or table again with one command, and says whether the paper's claim held."""

from headstart.experiments.calibration import CALIBRATION
from headstart.experiments.frame import Recipe
from headstart.experiments.negative_transfer import NEGATIVE_TRANSFER
from headstart.experiments.stopping import STOPPING
from headstart.experiments.tst_2 import TST_2
from headstart.experiments.tst_3 import TST_3
from headstart.experiments.weights import PAST_WEIGHTS
from headstart.naming import refuse_unknown

__all__ = ["RECIPES", "Recipe", "recipe_named"]

RECIPES = (CALIBRATION, NEGATIVE_TRANSFER, PAST_WEIGHTS, STOPPING, TST_2, TST_3)
"""All recipes, by name."""


def recipe_named(name: str) -> Recipe:
    """Return the recipe of that name.

    Raises:
        SettingsError: There is none.
    """
    by_name = {recipe.name: recipe for recipe in RECIPES}
    refuse_unknown("experiment", name, by_name)
    return by_name[name]
